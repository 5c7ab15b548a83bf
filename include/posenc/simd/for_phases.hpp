// What xsimd lacks for phases: 64-bit integers and their doubles.
#pragma once

#include <cstdint>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/registers.hpp"

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

POSENC_QUIET_BEGIN

namespace posenc::inline POSENC_TARGET::detail {

// For each register width: the product of the lower halves of 64-bit integers; that of the whole,
// modulo 2^64; 64-bit integers to doubles, rounded once; two registers of doubles to floats.
#if defined(__AVX512F__)
inline __m512i halves_product(__m512i a, __m512i b) noexcept { return _mm512_mul_epu32(a, b); }
#endif
#if defined(__AVX512DQ__)
inline __m512i whole_product(__m512i a, __m512i b) noexcept { return _mm512_mullo_epi64(a, b); }
inline __m512d to_doubles(__m512i x) noexcept { return _mm512_cvtepi64_pd(x); }
inline __m512 to_floats(__m512d x, __m512d y) noexcept {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x)), _mm512_cvtpd_ps(y), 1);
}
#endif
#if defined(__AVX2__)
inline __m256i halves_product(__m256i a, __m256i b) noexcept { return _mm256_mul_epu32(a, b); }
#endif
#if defined(__AVX__)
inline __m256 to_floats(__m256d x, __m256d y) noexcept {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(x)), _mm256_cvtpd_ps(y), 1);
}
#endif
#if defined(__SSE2__)
inline __m128i halves_product(__m128i a, __m128i b) noexcept { return _mm_mul_epu32(a, b); }
inline __m128 to_floats(__m128d x, __m128d y) noexcept {
  return _mm_movelh_ps(_mm_cvtpd_ps(x), _mm_cvtpd_ps(y));
}
#endif

// Swaps where the second highest bit of x is set; the upper halves of x, then those of y.
#if defined(__AVX512DQ__)
inline void swap_by(__m512i x, __m512d& a, __m512d& b) noexcept {
  auto const swap = _mm512_test_epi64_mask(x, _mm512_set1_epi64(std::int64_t{1} << 62));
  auto const first = a;
  a = _mm512_mask_blend_pd(swap, a, b), b = _mm512_mask_blend_pd(swap, b, first);
}
inline void swap_by(__m512i x, __m512& a, __m512& b) noexcept {
  auto const swap = _mm512_test_epi32_mask(x, _mm512_set1_epi32(1 << 30));
  auto const first = a;
  a = _mm512_mask_blend_ps(swap, a, b), b = _mm512_mask_blend_ps(swap, b, first);
}
inline __m512i upper_halves(__m512i x, __m512i y) noexcept {
  return _mm512_permutex2var_epi32(
      x, _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1), y);
}
#endif
#if defined(__AVX2__)
inline void swap_by(__m256i x, __m256d& a, __m256d& b) noexcept {
  auto const swap = _mm256_castsi256_pd(_mm256_slli_epi64(x, 1));
  auto const first = a;
  a = _mm256_blendv_pd(a, b, swap), b = _mm256_blendv_pd(b, first, swap);
}
inline void swap_by(__m256i x, __m256& a, __m256& b) noexcept {
  auto const swap = _mm256_castsi256_ps(_mm256_slli_epi32(x, 1));
  auto const first = a;
  a = _mm256_blendv_ps(a, b, swap), b = _mm256_blendv_ps(b, first, swap);
}
inline __m256i upper_halves(__m256i x, __m256i y) noexcept {
  auto const mixed = _mm256_shuffle_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(y), 0xdd);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8);
}
#endif

}  // namespace posenc::detail

POSENC_QUIET_END

#endif
