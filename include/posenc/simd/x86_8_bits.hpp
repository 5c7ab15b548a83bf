// What xsimd lacks for integers of 8 bits and E4M3 on x86: the CPU's own instructions, one overload
// for each width of register.
#pragma once

#include <cstdint>
#include <cstring>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/intrinsics.hpp"

#if defined(__SSE2__) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

// Bytes as integers of 32 bits: zero-extended, or with their sign.
#if defined(__AVX512F__)
inline void load_bytes(std::uint8_t const* from, __m512i& x) noexcept {
  x = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(from)));
}
inline void load_bytes(std::int8_t const* from, __m512i& x) noexcept {
  x = _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(from)));
}
#endif
#if defined(__AVX2__)
inline void load_bytes(std::uint8_t const* from, __m256i& x) noexcept {
  x = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(from)));
}
inline void load_bytes(std::int8_t const* from, __m256i& x) noexcept {
  x = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(from)));
}
#endif
// Each byte four times.
inline __m128i each_four_times(void const* from) noexcept {
  int four;
  std::memcpy(&four, from, 4);
  auto const bytes = _mm_cvtsi32_si128(four), words = _mm_unpacklo_epi8(bytes, bytes);
  return _mm_unpacklo_epi16(words, words);
}
inline void load_bytes(std::uint8_t const* from, __m128i& x) noexcept {
  x = _mm_srli_epi32(each_four_times(from), 24);
}
inline void load_bytes(std::int8_t const* from, __m128i& x) noexcept {
  x = _mm_srai_epi32(each_four_times(from), 24);
}

// Each byte in two neighbours of 32 bits, whose low 4 bits are its low and its high ones.
#if defined(__AVX512F__)
inline void load_byte_pairs(void const* from, __m512i& x) noexcept {
  auto const bytes = _mm512_cvtepu8_epi64(_mm_loadl_epi64(static_cast<__m128i const*>(from)));
  x = _mm512_or_si512(bytes, _mm512_slli_epi64(bytes, 28));
}
#endif
#if defined(__AVX2__)
inline void load_byte_pairs(void const* from, __m256i& x) noexcept {
  int four;
  std::memcpy(&four, from, 4);
  auto const bytes = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
  x = _mm256_or_si256(bytes, _mm256_slli_epi64(bytes, 28));
}
#endif
inline void load_byte_pairs(void const* from, __m128i& x) noexcept {
  std::uint16_t two;
  std::memcpy(&two, from, 2);
  auto const bytes = _mm_set_epi32(0, two >> 8, 0, two & 0xff);
  x = _mm_or_si128(bytes, _mm_slli_epi64(bytes, 28));
}

// The numbers of a table of 16 at the low 4 bits of each index.
#if defined(__AVX512F__)
inline __m512 look_up(__m512i index, __m512 table) noexcept {
  return _mm512_permutexvar_ps(index, table);
}
#endif

// The low bytes of integers of 32 bits, of one register, and of four, one after another.
#if defined(__AVX512F__)
inline void store_bytes(void* to, __m512i x) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(to), _mm512_cvtepi32_epi8(x));
}
#endif
#if defined(__AVX512VBMI__)
inline void store_bytes(void* to, __m512i a, __m512i b, __m512i c, __m512i d) noexcept {
  constexpr __mmask64 upper = 0xffff'ffff'0000'0000;
  auto const place =
      _mm512_set_epi32(0x7c78'7470, 0x6c68'6460, 0x5c58'5450, 0x4c48'4440, 0x3c38'3430, 0x2c28'2420,
                       0x1c18'1410, 0x0c08'0400, 0x7c78'7470, 0x6c68'6460, 0x5c58'5450, 0x4c48'4440,
                       0x3c38'3430, 0x2c28'2420, 0x1c18'1410, 0x0c08'0400);
  auto const first = _mm512_permutex2var_epi8(a, place, b),
             last = _mm512_permutex2var_epi8(c, place, d);
  _mm512_storeu_si512(to, _mm512_mask_mov_epi8(first, upper, last));
}
#endif
#if defined(__AVX2__)
inline void store_bytes(void* to, __m256i x) noexcept {
  auto const bytes = _mm256_and_si256(x, _mm256_set1_epi32(0xff));
  auto const words =
      _mm_packs_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  _mm_storel_epi64(static_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}
inline void store_bytes(void* to, __m256i a, __m256i b, __m256i c, __m256i d) noexcept {
  auto const low = [](__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi32(0xff)); };
  auto const fours =
      _mm256_packus_epi16(_mm256_packs_epi32(low(a), low(b)), _mm256_packs_epi32(low(c), low(d)));
  auto const order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(fours, order));
}
#endif
inline __m128i low_bytes(__m128i a, __m128i b, __m128i c, __m128i d) noexcept {
  auto const low = [](__m128i x) { return _mm_and_si128(x, _mm_set1_epi32(0xff)); };
  return _mm_packus_epi16(_mm_packs_epi32(low(a), low(b)), _mm_packs_epi32(low(c), low(d)));
}
inline void store_bytes(void* to, __m128i a, __m128i b, __m128i c, __m128i d) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(to), low_bytes(a, b, c, d));
}
inline void store_bytes(void* to, __m128i x) noexcept {
  auto const four = _mm_cvtsi128_si32(low_bytes(x, x, x, x));
  std::memcpy(to, &four, 4);
}

// E4M3 as halves of the same sign, exponent and fraction bits: 2^-8 times the number, exactly. Bit
// 14 of a word, its sign again, is cleared; of NaN, whose lower bits are ones, a carry flips it.
#if defined(__AVX512F__) && defined(__AVX2__)
inline void load_e4m3(void const* from, __m512& x) noexcept {
  auto const bytes = _mm_loadu_si128(static_cast<__m128i const*>(from));
  auto const words = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7),
             sum = _mm256_add_epi16(words, _mm256_set1_epi16(0x80)),
             second = _mm256_set1_epi16(0x4000);
#if defined(__AVX512VL__)
  x = _mm512_cvtph_ps(_mm256_ternarylogic_epi64(words, sum, second, 0x78));
#else
  x = _mm512_cvtph_ps(_mm256_xor_si256(words, _mm256_and_si256(sum, second)));
#endif
}
#endif
#if defined(__F16C__) && defined(__AVX2__)
inline void load_e4m3(void const* from, __m256& x) noexcept {
  auto const bytes = _mm_loadl_epi64(static_cast<__m128i const*>(from));
  auto const words = _mm_slli_epi16(_mm_cvtepi8_epi16(bytes), 7),
             sum = _mm_add_epi16(words, _mm_set1_epi16(0x80));
  x = _mm256_cvtph_ps(_mm_xor_si128(words, _mm_and_si128(sum, _mm_set1_epi16(0x4000))));
}

// A half of these bits, as a float, in every lane.
#if defined(__AVX512F__)
inline void broadcast_half(std::uint16_t bits, __m512& x) noexcept {
  x = _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<short>(bits)));
}
#endif
inline void broadcast_half(std::uint16_t bits, __m256& x) noexcept {
  x = _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(bits)));
}
#endif

}}}  // namespace posenc::detail

POSENC_QUIET_END

#endif
