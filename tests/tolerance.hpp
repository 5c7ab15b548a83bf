#pragma once

/// Tolerances come from the arithmetic: what rounding to a format, or a dot product in it, may cost at most.

#include <cmath>
#include <concepts>
#include <cstddef>

#include "posenc/core/storage.hpp"

namespace tolerance {

/// Largest relative error of rounding once to the format of T: 2^-53, 2^-24, 2^-11 or 2^-8.
template <posenc::storable T>
constexpr double unit_roundoff() {
  using format = posenc::storage_format_t<T>;
  if constexpr (std::same_as<format, double>) return 0x1p-53;
  if constexpr (std::same_as<format, float>) return 0x1p-24;
  if constexpr (std::same_as<format, posenc::half>) return 0x1p-11;
  if constexpr (std::same_as<format, posenc::bfloat16>) return 0x1p-8;
}

/// Largest absolute error of storing `value` as T, subnormals included.
template <posenc::storable T>
double of_storing(double value) {
  constexpr double half_of_smallest = std::same_as<posenc::storage_format_t<T>, posenc::half> ? 0x1p-25 : 0x1p-127;
  return std::abs(value) * unit_roundoff<T>() + half_of_smallest;
}

/// x cos - y sin in the arithmetic of T, then stored as T: four roundings of at most |x| + |y|, then one of the result.
template <posenc::storable T>
double of_rotating(double x, double y, double result) {
  auto const arithmetic = 4 * unit_roundoff<posenc::arithmetic_t<T>>() * (std::abs(x) + std::abs(y));
  return arithmetic + of_storing<T>(std::abs(result) + arithmetic);
}

/// A dot product of n terms whose magnitudes sum to `magnitude`, summed in any order.
template <std::floating_point T>
double of_dot_product(std::size_t n, double magnitude) {
  return (static_cast<double>(n) + 2) * unit_roundoff<T>() * magnitude;
}

}  // namespace tolerance
