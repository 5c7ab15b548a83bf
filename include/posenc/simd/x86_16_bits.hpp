// What xsimd lacks for half and bfloat16 on x86: the CPU's own conversions, one overload for each
// width of register.
#pragma once

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/intrinsics.hpp"

#if defined(__SSE2__) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

// Loads and stores of contiguous halves, where the CPU converts them.
#if defined(__AVX512F__)
inline void load_halves(void const* from, __m512& x) noexcept {
  x = _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<__m256i const*>(from)));
}
inline void store_halves(void* to, __m512 x) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_cvtps_ph(x, 0));
}
#endif
#if defined(__F16C__)
inline void load_halves(void const* from, __m256& x) noexcept {
  x = _mm256_cvtph_ps(_mm_loadu_si128(static_cast<__m128i const*>(from)));
}
inline void load_halves(void const* from, __m128& x) noexcept {
  x = _mm_cvtph_ps(_mm_loadl_epi64(static_cast<__m128i const*>(from)));
}
inline void store_halves(void* to, __m256 x) noexcept {
  auto converted = _mm256_cvtps_ph(x, 0);
#if defined(__clang__)
  asm("" : "+v"(converted));  // Zen 4 takes thrice as long to convert to memory
#endif
  _mm_storeu_si128(static_cast<__m128i*>(to), converted);
}
inline void store_halves(void* to, __m128 x) noexcept {
  _mm_storel_epi64(static_cast<__m128i*>(to), _mm_cvtps_ph(x, 0));
}
#endif

// Loads of contiguous 16-bit integers as 32 bits. g++ would store the halves of a register and load
// them as one, which is not forwarded.
#if defined(__AVX512F__)
inline void load_wider(void const* from, __m512i& x) noexcept {
  x = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<__m256i const*>(from)));
}
#endif
#if defined(__AVX2__)
inline void load_wider(void const* from, __m256i& x) noexcept {
  x = _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<__m128i const*>(from)));
}
inline void load_wider(void const* from, __m128i& x) noexcept {
  x = _mm_cvtepu16_epi32(_mm_loadl_epi64(static_cast<__m128i const*>(from)));
}
#endif

// Stores of 32-bit integers below 2^16 as 16 bits.
#if defined(__AVX512F__)
inline void store_narrower(void* to, __m512i x) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_cvtepi32_epi16(x));
}
#endif
#if defined(__AVX2__)
inline void store_narrower(void* to, __m256i x) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(to),
                   _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
}
#endif
inline void store_narrower(void* to, __m128i x) noexcept {
  auto const words = _mm_srai_epi32(_mm_slli_epi32(x, 16), 16);  // as signed words
  _mm_storel_epi64(static_cast<__m128i*>(to), _mm_packs_epi32(words, words));
}

// Whether any number is NaN. An instruction by name: under -ffast-math compilers assume none is.
#if defined(__GNUC__) && !defined(__AVX__)
inline bool any_nan(__m128 x, __m128 y) noexcept {
  asm("{cmpunordps %1, %0|cmpunordps %0, %1}" : "+x"(x) : "x"(y));
  return _mm_movemask_ps(x) != 0;
}
#endif
#if defined(__AVX2__) && defined(__GNUC__)
inline bool any_nan(__m256 x, __m256 y) noexcept {
  __m256 unordered;
  asm("{vcmpunordps %2, %1, %0|vcmpunordps %0, %1, %2}" : "=x"(unordered) : "x"(x), "x"(y));
  return _mm256_movemask_ps(unordered) != 0;
}
#endif
#if defined(__AVX512F__) && defined(__GNUC__)
inline bool any_nan(__m512 x, __m512 y) noexcept {
  __mmask16 unordered;
  asm("{vcmpunordps %2, %1, %0|vcmpunordps %0, %1, %2}" : "=k"(unordered) : "v"(x), "v"(y));
  return unordered != 0;
}
#endif

#if defined(__AVX512BF16__)
// Makes clang load here. Else it may do so behind the next branch, and the CPU starts later.
inline void load_here([[maybe_unused]] __m512i& words) noexcept {
#if defined(__clang__)
  asm volatile("" : "+v"(words));
#endif
}
// The CPU rounds to bfloat16 but flushes subnormal results to zero. Where a rounded word is zero or
// subnormal, its number is rounded in integers.
inline __mmask32 tiny(__m512i words) noexcept {
  auto const exponent = _mm512_set1_epi16(0x7f80);
#if defined(__clang__)  // which would take two instructions
  __mmask32 result;
  asm("{vptestnmw %2, %1, %0|vptestnmw %0, %1, %2}" : "=k"(result) : "v"(words), "v"(exponent));
  return result;
#else
  return _mm512_testn_epi16_mask(words, exponent);
#endif
}
inline __m512i bfloat16_words(__m512 first, __m512 last) noexcept {
  auto const words = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(last, first));
  auto const subnormal = tiny(words);
  if (subnormal == 0) [[likely]]
    return words;
  auto const round = [](__m512 x) {
    auto const bits = _mm512_castps_si512(x),
               odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    return _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  };
  auto const upper =
      _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                       25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  return _mm512_mask_mov_epi16(words, subnormal,
                               _mm512_permutex2var_epi16(round(first), upper, round(last)));
}
inline void store_bfloat16(void* to, __m512 x) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_castsi512_si256(bfloat16_words(x, x)));
}
inline void store_bfloat16(void* to, __m512 first, __m512 last) noexcept {
  _mm512_storeu_si512(to, bfloat16_words(first, last));
}
inline void store_bfloat16_pairs(void* to, __m512 x, __m512 y) noexcept {
  auto const alternating =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(alternating, bfloat16_words(x, y)));
}
#endif
#if defined(__AVX512BF16__) && defined(__AVX512VBMI__)
// The first and the last words as floats.
inline void load_bfloat16(void const* from, __m512& first, __m512& last) noexcept {
  constexpr __mmask64 upper = 0xcccc'cccc'cccc'cccc;
  auto const place =
      _mm512_set_epi32(0x1f1e'1f1e, 0x1d1c'1d1c, 0x1b1a'1b1a, 0x1918'1918, 0x1716'1716, 0x1514'1514,
                       0x1312'1312, 0x1110'1110, 0x0f0e'0f0e, 0x0d0c'0d0c, 0x0b0a'0b0a, 0x0908'0908,
                       0x0706'0706, 0x0504'0504, 0x0302'0302, 0x0100'0100);
  auto const later = _mm512_add_epi8(place, _mm512_set1_epi8(32));
  auto words = _mm512_loadu_si512(from);
  load_here(words);
  first = _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi8(upper, place, words));
  last = _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi8(upper, later, words));
}
#endif

}}}  // namespace posenc::detail

POSENC_QUIET_END

#endif
