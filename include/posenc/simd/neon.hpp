// Functions of registers, by the CPU's own instructions, for 64-bit ARM.
#pragma once

#include <cstring>

#include "posenc/core/target.hpp"

#if defined(__AARCH64EL__) && defined(__ARM_NEON) && !defined(POSENC_NO_REGISTERS)
#include <arm_neon.h>

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

// a b + c, square roots and quotients, each rounded once: xsimd 8.1 estimates the last two.
inline float32x4_t fused(float32x4_t a, float32x4_t b, float32x4_t c) noexcept {
  return vfmaq_f32(c, a, b);
}
inline float64x2_t fused(float64x2_t a, float64x2_t b, float64x2_t c) noexcept {
  return vfmaq_f64(c, a, b);
}
inline float32x4_t root(float32x4_t x) noexcept { return vsqrtq_f32(x); }
inline float64x2_t root(float64x2_t x) noexcept { return vsqrtq_f64(x); }
inline float32x4_t quotient_of(float32x4_t a, float32x4_t b) noexcept { return vdivq_f32(a, b); }

// The greater of two numbers, NaN where either is. Sums of lanes, neighbours first; of as many
// registers as one has lanes, in their order. Whether a bit of a register is 1.
inline float32x4_t larger_of(float32x4_t a, float32x4_t b) noexcept { return vmaxq_f32(a, b); }
inline float64x2_t larger_of(float64x2_t a, float64x2_t b) noexcept { return vmaxq_f64(a, b); }
inline float total(float32x4_t x) noexcept { return vaddvq_f32(x); }
inline double total(float64x2_t x) noexcept { return vaddvq_f64(x); }
inline float32x4_t totals(float32x4_t const* x) noexcept {
  return vpaddq_f32(vpaddq_f32(x[0], x[1]), vpaddq_f32(x[2], x[3]));
}
inline float64x2_t totals(float64x2_t const* x) noexcept { return vpaddq_f64(x[0], x[1]); }
inline bool any_bit(uint32x4_t x) noexcept { return vmaxvq_u32(x) != 0; }

// a0 b0 a1 b1 ..., the first half in a, the second in b.
inline void zip(float32x4_t& a, float32x4_t& b) noexcept {
  auto const x = vzip1q_f32(a, b);
  b = vzip2q_f32(a, b);
  a = x;
}

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

}}}  // namespace posenc::detail

#endif
