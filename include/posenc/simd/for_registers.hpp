// What xsimd lacks for registers of float and double on x86: the CPU's own instructions, one
// overload for each width of register.
#pragma once

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"

#if defined(__SSE2__) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
#if defined(__AVX__)
#include <immintrin.h>
#else
#include <emmintrin.h>  // immintrin.h takes g++ a third of a second
#endif

POSENC_QUIET_BEGIN

namespace posenc::inline POSENC_TARGET::detail {

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

// Loads of floats as doubles, and stores of doubles as floats, rounded once.
#if defined(__AVX512F__)
inline void load_floats(float const* from, __m512d& x) noexcept {
  x = _mm512_cvtps_pd(_mm256_loadu_ps(from));
}
inline void store_floats(float* to, __m512d x) noexcept {
  _mm256_storeu_ps(to, _mm512_cvtpd_ps(x));
}
#endif
#if defined(__AVX__)
inline void load_floats(float const* from, __m256d& x) noexcept {
  x = _mm256_cvtps_pd(_mm_loadu_ps(from));
}
inline void store_floats(float* to, __m256d x) noexcept { _mm_storeu_ps(to, _mm256_cvtpd_ps(x)); }
#endif

// x0 x1 ... xn -> x0 x0 x1 x1 ...: the first and the last half of that.
#if defined(__AVX2__)
inline void each_twice(__m256 x, __m256& low, __m256& high) noexcept {
  auto const pairs = _mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8);  // x0 x1 x4 x5 x2 x3 x6 x7
  low = _mm256_unpacklo_ps(_mm256_castpd_ps(pairs), _mm256_castpd_ps(pairs));
  high = _mm256_unpackhi_ps(_mm256_castpd_ps(pairs), _mm256_castpd_ps(pairs));
}
#endif
// x0 x1 x2 x3 ... -> x1 x0 x3 x2 ... xsimd uses an instruction for any order, which takes a
// register for it and longer.
#if defined(__AVX__)
inline __m256 swapped(__m256 x) noexcept { return _mm256_permute_ps(x, 0xb1); }
#endif

// deinterleave: from two registers p and q of pairs x0 y0 x1 y1 ..., all x in one register and all
// y in another. They are not in the order of the pairs, since no number leaves its 128 bits: that
// takes two instructions. interleave: back again, in two more. as_deinterleaved: a number a pair,
// in that order.
#if defined(__AVX512F__)
inline void deinterleave(__m512 p, __m512 q, __m512& x, __m512& y) noexcept {
  x = _mm512_shuffle_ps(p, q, 0x88), y = _mm512_shuffle_ps(p, q, 0xdd);
}
inline void interleave(__m512 x, __m512 y, __m512& p, __m512& q) noexcept {
  p = _mm512_unpacklo_ps(x, y), q = _mm512_unpackhi_ps(x, y);
}
inline __m512d as_deinterleaved(__m512d x) noexcept {
  return _mm512_permutexvar_pd(_mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0), x);
}
inline __m512 as_deinterleaved(__m512 x) noexcept {
  return _mm512_castpd_ps(as_deinterleaved(_mm512_castps_pd(x)));
}
inline void deinterleave(__m512d p, __m512d q, __m512d& x, __m512d& y) noexcept {
  x = _mm512_unpacklo_pd(p, q), y = _mm512_unpackhi_pd(p, q);
}
inline void interleave(__m512d x, __m512d y, __m512d& p, __m512d& q) noexcept {
  deinterleave(x, y, p, q);
}
#endif
#if defined(__AVX2__)
inline void deinterleave(__m256 p, __m256 q, __m256& x, __m256& y) noexcept {
  x = _mm256_shuffle_ps(p, q, 0x88), y = _mm256_shuffle_ps(p, q, 0xdd);
}
inline void interleave(__m256 x, __m256 y, __m256& p, __m256& q) noexcept {
  p = _mm256_unpacklo_ps(x, y), q = _mm256_unpackhi_ps(x, y);
}
inline __m256d as_deinterleaved(__m256d x) noexcept { return _mm256_permute4x64_pd(x, 0xd8); }
inline __m256 as_deinterleaved(__m256 x) noexcept {
  return _mm256_castpd_ps(as_deinterleaved(_mm256_castps_pd(x)));
}
inline void deinterleave(__m256d p, __m256d q, __m256d& x, __m256d& y) noexcept {
  x = _mm256_unpacklo_pd(p, q), y = _mm256_unpackhi_pd(p, q);
}
inline void interleave(__m256d x, __m256d y, __m256d& p, __m256d& q) noexcept {
  deinterleave(x, y, p, q);
}
#endif
inline void deinterleave(__m128 p, __m128 q, __m128& x, __m128& y) noexcept {
  x = _mm_shuffle_ps(p, q, 0x88), y = _mm_shuffle_ps(p, q, 0xdd);
}
inline void interleave(__m128 x, __m128 y, __m128& p, __m128& q) noexcept {
  p = _mm_unpacklo_ps(x, y), q = _mm_unpackhi_ps(x, y);
}
inline __m128 as_deinterleaved(__m128 x) noexcept { return x; }
inline void deinterleave(__m128d p, __m128d q, __m128d& x, __m128d& y) noexcept {
  x = _mm_unpacklo_pd(p, q), y = _mm_unpackhi_pd(p, q);
}
inline void interleave(__m128d x, __m128d y, __m128d& p, __m128d& q) noexcept {
  deinterleave(x, y, p, q);
}
inline __m128d as_deinterleaved(__m128d x) noexcept { return x; }

}  // namespace posenc::detail

POSENC_QUIET_END

#endif
