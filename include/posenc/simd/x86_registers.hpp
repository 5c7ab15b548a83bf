// What xsimd lacks for registers of float and double on x86: the CPU's own instructions, one
// overload for each width of register.
#pragma once

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/intrinsics.hpp"

#if defined(__SSE2__) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

// a * b + c with one rounding. xsimd rounds twice on AVX-512 (8.1), and where XSIMD_DEFAULT_ARCH
// names an instruction set without FMA; clang does not fuse the two.
#if defined(__AVX512F__)
inline __m512 fused(__m512 a, __m512 b, __m512 c) noexcept { return _mm512_fmadd_ps(a, b, c); }
inline __m512d fused(__m512d a, __m512d b, __m512d c) noexcept { return _mm512_fmadd_pd(a, b, c); }
#endif
#if defined(__FMA__)
inline __m256 fused(__m256 a, __m256 b, __m256 c) noexcept { return _mm256_fmadd_ps(a, b, c); }
inline __m256d fused(__m256d a, __m256d b, __m256d c) noexcept { return _mm256_fmadd_pd(a, b, c); }
inline __m128 fused(__m128 a, __m128 b, __m128 c) noexcept { return _mm_fmadd_ps(a, b, c); }
inline __m128d fused(__m128d a, __m128d b, __m128d c) noexcept { return _mm_fmadd_pd(a, b, c); }
#endif

// Loads of floats as doubles; stores of doubles as floats, rounded once; x0 x1 x2 x3 ... -> x1 x0
// x3 x2 ..., for which xsimd takes a register more. Of doubles too: clang would take them for
// floats.
#if defined(__AVX512F__)
inline void load_floats(float const* from, __m512d& x) noexcept {
  x = _mm512_cvtps_pd(_mm256_loadu_ps(from));
}
inline void store_floats(float* to, __m512d x) noexcept {
  _mm256_storeu_ps(to, _mm512_cvtpd_ps(x));
}
inline __m512 swapped(__m512 x) noexcept { return _mm512_permute_ps(x, 0xb1); }
inline __m512d swapped(__m512d x) noexcept { return _mm512_permute_pd(x, 0x55); }
#endif
#if defined(__AVX__)
inline void load_floats(float const* from, __m256d& x) noexcept {
  x = _mm256_cvtps_pd(_mm_loadu_ps(from));
}
inline void store_floats(float* to, __m256d x) noexcept { _mm_storeu_ps(to, _mm256_cvtpd_ps(x)); }
inline __m256 swapped(__m256 x) noexcept { return _mm256_permute_ps(x, 0xb1); }
inline __m256d swapped(__m256d x) noexcept { return _mm256_permute_pd(x, 0x5); }
#endif

// a0 b0 a1 b1 ..., the first half in a, the second in b.
#if defined(__AVX512F__)
inline void zip(__m512& a, __m512& b) noexcept {
  auto const first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  auto const second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
  auto const x = _mm512_permutex2var_ps(a, first, b);
  b = _mm512_permutex2var_ps(a, second, b), a = x;
}
inline void zip(__m512d& a, __m512d& b) noexcept {
  auto const first = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
  auto const second = _mm512_add_epi64(first, _mm512_set1_epi64(4));
  auto const x = _mm512_permutex2var_pd(a, first, b);
  b = _mm512_permutex2var_pd(a, second, b), a = x;
}
#endif
#if defined(__AVX__)
inline void zip(__m256& a, __m256& b) noexcept {
  auto const low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
  a = _mm256_permute2f128_ps(low, high, 0x20), b = _mm256_permute2f128_ps(low, high, 0x31);
}
inline void zip(__m256d& a, __m256d& b) noexcept {
  auto const low = _mm256_unpacklo_pd(a, b), high = _mm256_unpackhi_pd(a, b);
  a = _mm256_permute2f128_pd(low, high, 0x20), b = _mm256_permute2f128_pd(low, high, 0x31);
}
#endif
inline void zip(__m128& a, __m128& b) noexcept {
  auto const x = _mm_unpacklo_ps(a, b);
  b = _mm_unpackhi_ps(a, b), a = x;
}
inline void zip(__m128d& a, __m128d& b) noexcept {
  auto const x = _mm_unpacklo_pd(a, b);
  b = _mm_unpackhi_pd(a, b), a = x;
}

// For phases: products of 64-bit integers, of their lower halves and modulo 2^64; 64-bit integers
// to doubles, rounded once; two registers of doubles to floats.
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
inline __m128i halves_product(__m128i a, __m128i b) noexcept { return _mm_mul_epu32(a, b); }
inline __m128 to_floats(__m128d x, __m128d y) noexcept {
  return _mm_movelh_ps(_mm_cvtpd_ps(x), _mm_cvtpd_ps(y));
}

}}}  // namespace posenc::detail

POSENC_QUIET_END

#endif
