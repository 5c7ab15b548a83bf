// ln(e^a + e^b).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// -infinity, ln 0.
template <std::floating_point T>
inline constexpr T negative_infinity = static_cast<T>(std::bit_cast<float>(0xff80'0000u));

/// Compares bits (core/fast_math.hpp).
constexpr bool is_negative_infinity(float x) noexcept {
  return std::bit_cast<std::uint32_t>(x) == 0xff80'0000;
}
constexpr bool is_negative_infinity(double x) noexcept {
  return std::bit_cast<std::uint64_t>(x) == 0xfff0'0000'0000'0000;
}

/// ln(e^a + e^b). Either may be -infinity. No overflow, whatever their difference.
inline double log_add_exp(double a, double b) noexcept {
  if (is_negative_infinity(a)) return b;
  if (is_negative_infinity(b)) return a;
  auto const [less, more] = std::minmax(a, b);
  return more + std::log1p(std::exp(less - more));
}

}  // namespace posenc::detail
