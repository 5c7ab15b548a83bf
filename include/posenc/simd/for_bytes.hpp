// The low bytes of 32-bit integers, which codes of 8 bits are: the CPU's own instructions, one
// overload for each width of register.
#pragma once

#include <cstring>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/intrinsics.hpp"

#if defined(__SSE2__) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

POSENC_QUIET_BEGIN

namespace posenc::inline POSENC_TARGET::detail {

// The low bytes, stored; bytes, loaded as 32-bit integers.
#if defined(__AVX512F__)
inline void store_bytes(void* to, __m512i x) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(to), _mm512_cvtepi32_epi8(x));
}
inline void load_bytes(void const* from, __m512i& x) noexcept {
  x = _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<__m128i const*>(from)));
}
#endif
inline void store_bytes(void* to, __m128i x) noexcept {
  auto const bytes = _mm_and_si128(x, _mm_set1_epi32(0xff)), words = _mm_packs_epi32(bytes, bytes);
  auto const four = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
  std::memcpy(to, &four, 4);
}
inline void load_bytes(void const* from, __m128i& x) noexcept {
  int four;
  std::memcpy(&four, from, 4);
  auto const zero = _mm_setzero_si128();
  x = _mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(four), zero), zero);
}
#if defined(__AVX2__)
inline void store_bytes(void* to, __m256i x) noexcept {
  auto const bytes = _mm256_and_si256(x, _mm256_set1_epi32(0xff));
  auto const words =
      _mm_packs_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  _mm_storel_epi64(static_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}
inline void load_bytes(void const* from, __m256i& x) noexcept {
  x = _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<__m128i const*>(from)));
}
#endif

// The low bytes of four registers, one after another.
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
inline void store_bytes(void* to, __m256i a, __m256i b, __m256i c, __m256i d) noexcept {
  auto const low = [](__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi32(0xff)); };
  auto const fours =
      _mm256_packus_epi16(_mm256_packs_epi32(low(a), low(b)), _mm256_packs_epi32(low(c), low(d)));
  auto const order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(fours, order));
}
#endif
inline void store_bytes(void* to, __m128i a, __m128i b, __m128i c, __m128i d) noexcept {
  auto const low = [](__m128i x) { return _mm_and_si128(x, _mm_set1_epi32(0xff)); };
  _mm_storeu_si128(static_cast<__m128i*>(to), _mm_packus_epi16(_mm_packs_epi32(low(a), low(b)),
                                                               _mm_packs_epi32(low(c), low(d))));
}

}  // namespace posenc::detail

POSENC_QUIET_END

#endif
