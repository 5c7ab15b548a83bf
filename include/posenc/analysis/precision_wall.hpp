// Up to which position, and for which bases, numbers tell positions apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "posenc/analysis/precision_budget.hpp"
#include "posenc/core/fast_math.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/heads/storage.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The largest error of a rotated pair that is stored as T, relative to the pair's length; it turns
/// the pair by at most its arcsine, in radians. The sum of
///
///     the error of the angle      float_angles{}.bound(inv_freq, position): grows with position
///     rotating in float           1.9e-7: of cosine and sine, two products and their sum
///     rounding to T               2^-8 for bfloat16, 2^-11 for half, none for float
///
/// With exact angles the bound is the same at every position. For heads of double, 6.2e-16 stands
/// in place of 1.9e-7. The bound holds for rows of cos_sin_rows and float_angle_rows without an
/// attention factor, and for numbers that are not subnormal in T. Throws std::invalid_argument
/// unless angle_error is finite and not negative.
template <storable T>
double rotation_bound(double angle_error) {
  detail::require_not_negative("rotation_bound", "angle_error", angle_error);
  using real = arithmetic_t<T>;
  constexpr double u = detail::unit_roundoff<real>(), of_cosine = u == 0x1p-53 ? 2.5e-16 : 3e-8,
                   root = std::numbers::sqrt2;
  // Each number is x cos - y sin: products are off by u (|x cos| + |y sin|) <= u length, their sum
  // by u of itself.
  auto const rotated = std::min(angle_error, 2.0) + root * of_cosine + (1 + root + 1e-6) * u;
  return std::same_as<storage_format_t<T>, real>
             ? rotated
             : rotated + (1 + rotated) * detail::unit_roundoff<T>();
}

/// How many tokens apart two keys must be for one pair of dims to tell for certain which is the
/// farther one. A token changes the score of a pair by at most 2 sin(inv_freq / 2) |q| |k|, and
/// rounding the two keys to T changes the difference of their scores by at most 2 e |q| |k|, e =
/// rotation_bound<T>(angle_error). So scores of keys that are nearer than
///
///     n = 2 asin(e) / inv_freq     2^-7 / inv_freq for bfloat16, 2^-10 for half, 2^-21.4 for float
///
/// may be equal or in the wrong order. At most 1: the pair tells neighbours apart. Infinite if it
/// does not rotate, or if e is 1 or more. Rounding attains 0.9 of it for bfloat16 and half. Keys
/// half a turn apart or more are for slower pairs. Throws std::invalid_argument unless both
/// arguments are finite and not negative.
template <storable T>
double tokens_told_apart(double inv_freq, double angle_error = 0) {
  detail::require_not_negative("tokens_told_apart", "inv_freq", inv_freq);
  auto const error = rotation_bound<T>(angle_error);
  if (inv_freq == 0 || error >= 1) return std::numeric_limits<double>::infinity();
  return 2 * std::asin(error) / inv_freq;
}

/// How many pairs of dims tell neighbouring tokens apart in exact angles, of keys stored as T: 24
/// of 64 in bfloat16 for base 500,000, 34 in half, 64 in float.
template <storable T>
std::size_t neighbours_told_apart(frequencies const& f) {
  return static_cast<std::size_t>(std::ranges::count_if(
      f.inv_freq(), [](double inv_freq) { return tokens_told_apart<T>(inv_freq) <= 1; }));
}

/// The largest base and the longest context of precision_wall.
struct precision_walls {
  double base;     ///< the largest base
  double context;  ///< in tokens: the longest context that has a base at all
};

/// The "precision wall" of Liu 2026 (arXiv 2602.10959), for phases of type Phase, with eps the
/// distance from 1 to the next number of it:
///
///     base < 1 / eps                                    or a step of the slowest pair is lost
///     base >= context / acos(cosine^(1 / layers))       or the slowest pair drifts too far
///     context = acos(cosine^(1 / layers)) / eps         where both leave no base
///
/// 8,388,608 is that base for float, 1024 for half, 128 for bfloat16; with 32 layers and a cosine
/// of 0.8, float's context is 990,000 tokens. It holds where steps of 1 / base are added, in Phase,
/// to a phase of about 1. posenc adds none: its angles are exact. Engines with float angles form a
/// product, which is off by position * 2^-23 tokens for any base. Cosines and sines in a table of
/// type Phase do lose steps of slow pairs, but other pairs keep them: see tokens_told_apart. Throws
/// std::invalid_argument unless cosine is in (0, 1) and there is a layer.
template <storable Phase = float>
precision_walls precision_wall(double cosine, std::size_t layers) {
  detail::require(is_finite(cosine) && cosine > 0 && cosine < 1,
                  "precision_wall: cosine must be in (0, 1), got ", cosine);
  detail::require(layers > 0, "precision_wall: there must be at least one layer, got 0");
  auto const base = 1 / (2 * detail::unit_roundoff<Phase>());
  return {base, base * std::acos(std::pow(cosine, 1 / static_cast<double>(layers)))};
}

}}  // namespace posenc
