// What xsimd lacks for registers of float and double: the CPU's own instructions, one overload for
// each width of register.
#pragma once

#include <cstdint>
#include <cstring>

#include "posenc/core/target.hpp"

#if defined(__SSE2__) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
#include <immintrin.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // g++ 12 warns of its own AVX headers
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

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
  _mm_storeu_si128(static_cast<__m128i*>(to), _mm256_cvtps_ph(x, 0));
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

// Stores of bfloat16, where the CPU rounds to it; it flushes subnormals to zero.
#if defined(__AVX512BF16__)
inline void store_bfloat16(void* to, __m512 x) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
}
inline void store_bfloat16_pairs(void* to, __m512 x, __m512 y) noexcept {
  auto const alternating =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(
                              alternating, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(y, x))));
}
// Whether any number is subnormal. By bits: the CPU may be told to take subnormals for zeros.
inline bool any_subnormal(__m512 x, __m512 y) noexcept {
  auto const exponent = _mm512_set1_epi32(0x7f80'0000), magnitude = _mm512_set1_epi32(0x7fff'ffff);
  auto const tiny_x = _mm512_testn_epi32_mask(_mm512_castps_si512(x), exponent),
             tiny_y = _mm512_testn_epi32_mask(_mm512_castps_si512(y), exponent);
  if ((tiny_x | tiny_y) == 0) [[likely]]
    return false;
  return (_mm512_mask_test_epi32_mask(tiny_x, _mm512_castps_si512(x), magnitude) |
          _mm512_mask_test_epi32_mask(tiny_y, _mm512_castps_si512(y), magnitude)) != 0;
}
#endif

// x0 x1 ... xn -> x0 x0 x1 x1 ...: the first and the last half of that.
#if defined(__AVX512F__)
inline void each_twice(__m512 x, __m512& low, __m512& high) noexcept {
  auto const first = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  low = _mm512_permutexvar_ps(first, x);
  high = _mm512_permutexvar_ps(_mm512_add_epi32(first, _mm512_set1_epi32(8)), x);
}
inline void each_twice(__m512d x, __m512d& low, __m512d& high) noexcept {
  auto const first = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
  low = _mm512_permutexvar_pd(first, x);
  high = _mm512_permutexvar_pd(_mm512_add_epi64(first, _mm512_set1_epi64(4)), x);
}
#endif
#if defined(__AVX2__)
inline void each_twice(__m256 x, __m256& low, __m256& high) noexcept {
  auto const pairs = _mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8);  // x0 x1 x4 x5 x2 x3 x6 x7
  low = _mm256_unpacklo_ps(_mm256_castpd_ps(pairs), _mm256_castpd_ps(pairs));
  high = _mm256_unpackhi_ps(_mm256_castpd_ps(pairs), _mm256_castpd_ps(pairs));
}
inline void each_twice(__m256d x, __m256d& low, __m256d& high) noexcept {
  low = _mm256_permute4x64_pd(x, 0x50), high = _mm256_permute4x64_pd(x, 0xfa);
}
#endif

inline void each_twice(__m128 x, __m128& low, __m128& high) noexcept {
  low = _mm_unpacklo_ps(x, x), high = _mm_unpackhi_ps(x, x);
}
inline void each_twice(__m128d x, __m128d& low, __m128d& high) noexcept {
  low = _mm_unpacklo_pd(x, x), high = _mm_unpackhi_pd(x, x);
}

}  // namespace posenc::detail

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif

#if defined(__AARCH64EL__) && defined(__ARM_NEON) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
#include <arm_neon.h>

namespace posenc::inline POSENC_TARGET::detail {

inline void load_halves(void const* from, float32x4_t& x) noexcept {
  uint16x4_t bits;
  std::memcpy(&bits, from, sizeof bits);
  x = vcvt_f32_f16(vreinterpret_f16_u16(bits));
}
inline void store_halves(void* to, float32x4_t x) noexcept {
  auto const bits = vreinterpret_u16_f16(vcvt_f16_f32(x));
  std::memcpy(to, &bits, sizeof bits);
}

// xsimd 8.1 shifts by a constant in a function, which g++ calls.
inline void load_bfloat16(void const* from, float32x4_t& x) noexcept {
  uint16x4_t bits;
  std::memcpy(&bits, from, sizeof bits);
  x = vreinterpretq_f32_u32(vshll_n_u16(bits, 16));
}
inline void load_bfloat16_pairs(void const* from, float32x4_t& x, float32x4_t& y) noexcept {
  uint32x4_t both;
  std::memcpy(&both, from, sizeof both);
  x = vreinterpretq_f32_u32(vshlq_n_u32(both, 16));
  y = vreinterpretq_f32_u32(vandq_u32(both, vdupq_n_u32(0xffff'0000)));
}

// To nearest even, by the rules of bfloat16.
inline uint16x4_t bfloat16_bits(float32x4_t x) noexcept {
  auto const bits = vreinterpretq_u32_f32(x),
             odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  auto const rounded = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
  auto const is_nan =
      vcgtq_u32(vandq_u32(bits, vdupq_n_u32(0x7fff'ffff)), vdupq_n_u32(0x7f80'0000));
  return vshrn_n_u32(vbslq_u32(is_nan, vorrq_u32(bits, vdupq_n_u32(0x40'0000)), rounded), 16);
}
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
// Whether the CPU's instruction does the same: told so, it flushes subnormals to zero.
inline bool none_tiny(float32x4_t x, float32x4_t y) noexcept {
  auto const exponent = vdupq_n_u32(0x7f80'0000);
  return vminvq_u32(vminq_u32(vandq_u32(vreinterpretq_u32_f32(x), exponent),
                              vandq_u32(vreinterpretq_u32_f32(y), exponent))) != 0;
}
#endif
inline void store_bfloat16(void* to, float32x4_t x) noexcept {
  auto bits = bfloat16_bits(x);
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  if (none_tiny(x, x)) [[likely]]
    bits = vreinterpret_u16_bf16(vcvt_bf16_f32(x));
#endif
  std::memcpy(to, &bits, sizeof bits);
}
inline void store_bfloat16_pairs(void* to, float32x4_t x, float32x4_t y) noexcept {
  auto first = bfloat16_bits(x), second = bfloat16_bits(y);
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  if (none_tiny(x, y)) [[likely]]
    first = vreinterpret_u16_bf16(vcvt_bf16_f32(x)),
    second = vreinterpret_u16_bf16(vcvt_bf16_f32(y));
#endif
  auto const both = vzip1q_u16(vcombine_u16(first, first), vcombine_u16(second, second));
  std::memcpy(to, &both, sizeof both);
}
// Both store subnormals, too.
inline bool any_subnormal(float32x4_t, float32x4_t) noexcept { return false; }

inline void each_twice(float32x4_t x, float32x4_t& low, float32x4_t& high) noexcept {
  low = vzip1q_f32(x, x), high = vzip2q_f32(x, x);
}
inline void each_twice(float64x2_t x, float64x2_t& low, float64x2_t& high) noexcept {
  low = vzip1q_f64(x, x), high = vzip2q_f64(x, x);
}

}  // namespace posenc::detail

#endif
