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

}  // namespace posenc::detail

POSENC_QUIET_END

#endif
