#pragma once

/// Tolerances from the arithmetic: the largest error of rounding to a format, of a dot product in
/// it, and so on.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>

#include "oracle/wide.hpp"
#include "posenc/heads/storage.hpp"

namespace tolerance {

/// The largest relative error of rounding once to the format of T: 2^-53, 2^-24, 2^-11 or 2^-8.
template <posenc::storable T>
constexpr double unit_roundoff() {
  using format = posenc::storage_format_t<T>;
  if constexpr (std::same_as<format, double>) return 0x1p-53;
  if constexpr (std::same_as<format, float>) return 0x1p-24;
  if constexpr (std::same_as<format, posenc::half>) return 0x1p-11;
  if constexpr (std::same_as<format, posenc::bfloat16>) return 0x1p-8;
}

/// The largest absolute error of storing `value` as T, subnormals included.
template <posenc::storable T>
double of_storing(double value) {
  constexpr double half_of_smallest =
      std::same_as<posenc::storage_format_t<T>, posenc::half> ? 0x1p-25 : 0x1p-127;
  return std::abs(value) * unit_roundoff<T>() + half_of_smallest;
}

/// The error of x cos - y sin in the arithmetic of T, then stored as T: four roundings of at most
/// |x| + |y|, then one of the result.
template <posenc::storable T>
double of_rotating(double x, double y, double result) {
  auto const arithmetic =
      4 * unit_roundoff<posenc::arithmetic_t<T>>() * (std::abs(x) + std::abs(y));
  return arithmetic + of_storing<T>(std::abs(result) + arithmetic);
}

/// The error of a cosine or sine that the library promises, in the arithmetic of T.
template <posenc::storable T>
constexpr double of_cosine() {
  return std::same_as<posenc::arithmetic_t<T>, double> ? 3e-16 : 3e-8;
}

/// The error of the phase of an integer position, in radians: the frequency is truncated at 2^-96
/// turns, the result at 2^-64. Plus that of an oracle: a phase of up to pi radians is rounded twice
/// (pi epsilons), a direction has functions and products (two).
inline double of_phase(double position) {
  return 2 * std::numbers::pi * (std::abs(position) * 0x1p-96 + 0x1p-64) +
         (std::numbers::pi + 2) * oracle::wide_epsilon;
}

/// The error of the angle position * base^exponent if the power was rounded to double: 4 ULP
/// (vectors under -ffast-math), and the rounding of the exponent.
inline double of_angle(double position, double inv_freq) {
  return std::abs(position) * inv_freq * unit_roundoff<double>() *
         (8 + 2 * std::abs(std::log(inv_freq)));
}

/// The error of a rotated number of the pair (x, y): that of the cosines, of the arithmetic, and of
/// storing it.
template <posenc::storable T>
double of_rotated(double x, double y, double result, double attention_factor = 1) {
  return attention_factor * of_cosine<T>() * (std::abs(x) + std::abs(y)) +
         of_rotating<T>(attention_factor * x, attention_factor * y, result);
}

/// The relative error of the gain scale / sqrt(sum x^2 / n + eps) of n numbers in the arithmetic of
/// T: half that of the sum, in any order; then the mean, eps, the root and the quotient, of which a
/// fast mode may estimate the last two.
template <posenc::storable T>
double of_gain(std::size_t n) {
  return ((static_cast<double>(n) + 2) / 2 + 8) * unit_roundoff<posenc::arithmetic_t<T>>();
}

/// The error of a number of the pair (x, y), multiplied by a weight (one rounding), rotated, and
/// multiplied by a gain whose error is gain_error.
template <posenc::storable T>
double of_amplified(double x, double y, double result, double gain, double gain_error,
                    double attention_factor = 1) {
  constexpr auto u = unit_roundoff<posenc::arithmetic_t<T>>();
  auto const rotated = attention_factor * (std::abs(x) + std::abs(y)) * (of_cosine<T>() + 5 * u);
  auto const amplified = std::abs(gain) * rotated + std::abs(result) * (gain_error + u);
  return amplified + of_storing<T>(std::abs(result) + amplified);
}

/// The relative error of base^exponent for |exponent| <= 1: 4 ULP of std::pow (which vectorised
/// ones under -ffast-math promise), and |ln base| times the rounding of the exponent.
inline double of_power(double base) {
  return (8 + std::abs(std::log(base))) * unit_roundoff<double>();
}

/// The error of a dot product of n terms whose magnitudes sum to `magnitude`, summed in any order.
template <std::floating_point T>
double of_dot_product(std::size_t n, double magnitude) {
  return (static_cast<double>(n) + 2) * unit_roundoff<T>() * magnitude;
}

/// The error of e^exponent in double, from an exponent with two roundings: 4 ULP (vectors under
/// -ffast-math).
inline double of_exponential(double value, double exponent) {
  return value * unit_roundoff<double>() * (8 + 2 * std::abs(exponent));
}

/// The relative error of e^x, x <= 0, and of a sum of these over `keys` keys, in the arithmetic of
/// T: three roundings of the exponent, (2 + |x|) of the exponential; up to 16 registers of 16
/// numbers are summed in T, the rest in double.
template <std::floating_point T>
double of_exponentials(double exponent, std::size_t keys) {
  return (24 + 4 * std::abs(exponent)) * unit_roundoff<T>() +
         static_cast<double>(keys) * unit_roundoff<double>();
}

/// The error of a softmax weight e^exponent / Z over `keys` keys: the exponential; the sum, whose
/// exponents average at most ln(keys); and the product with its reciprocal. Weights below 1.5 times
/// the smallest normal number are 0.
template <std::floating_point T>
double of_weight(double weight, double exponent, std::size_t keys) {
  auto const average = std::log(static_cast<double>(keys) + 1);
  auto const relative =
      of_exponentials<T>(exponent, 1) + of_exponentials<T>(average, keys) + 3 * unit_roundoff<T>();
  return weight * relative + 2 * std::numeric_limits<T>::min();
}

/// The error of a softmax weight if every score has an error of score_error: e^score_error each of
/// numerator and denominator, in opposite directions.
inline double of_weight_by_scores(double weight, double score_error) {
  return weight * std::expm1(2 * score_error);
}

/// The error of an entropy ln Z - W / Z from sums over `keys` keys in the arithmetic of T. Z and W
/// / Z have the errors of exponentials, whose exponents average, under the weights, at most L =
/// ln(keys), and their squares at most (L + 1)^2 + 1; W is at most L Z.
template <std::floating_point T = double>
double of_entropy(double entropy, std::size_t keys) {
  auto const average = std::log(static_cast<double>(keys) + 1);
  auto const of_z = of_exponentials<T>(average, keys);
  auto const of_w = average * of_exponentials<T>(0, keys) +
                    4 * ((average + 1) * (average + 1) + 1) * unit_roundoff<T>();
  return (of_z + of_w) * 2 + entropy * (2 * of_z + 4 * unit_roundoff<double>()) + 1e-300;
}

}  // namespace tolerance
