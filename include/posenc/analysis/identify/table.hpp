// A table of frequencies of unknown origin, and how well another agrees with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The largest relative error of base^exponent in arithmetic of unit roundoff u: 4 ULP of the
/// power, and that of an exponent whose product with ln(base) is ln(value).
inline double error_of_power(double value, double u) { return (8 + std::abs(std::log(value))) * u; }

/// inv_freq with a tolerance each. Zeros have none.
struct frequency_table {
  std::vector<double> value, tolerance;  ///< tolerance: absolute
  double unit_roundoff;
  std::vector<double> likely_bases;  ///< tried first

  /// Numbers rounded to a storage of unit roundoff u, computed in float or better (in the storage
  /// itself if that is finer).
  frequency_table(std::vector<double> numbers, double u, std::vector<double> bases)
      : value(std::move(numbers)), unit_roundoff(u), likely_bases(std::move(bases)) {
    for (auto const x : value)
      tolerance.push_back(x == 0 ? 0 : x * (u + error_of_power(x, std::min(u, 0x1p-24))));
  }
  frequency_table(std::vector<double> numbers, std::vector<double> tolerances,
                  std::vector<double> bases)
      : value(std::move(numbers)),
        tolerance(std::move(tolerances)),
        unit_roundoff(0),
        likely_bases(std::move(bases)) {
    unit_roundoff = 1;
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i] != 0) unit_roundoff = std::min(unit_roundoff, tolerance[i] / value[i]);
    }
  }

  std::size_t pairs() const noexcept { return value.size(); }

  /// Pairs before the zeros at the end.
  std::size_t rotated() const noexcept {
    auto n = value.size();
    while (n > 0 && value[n - 1] == 0) --n;
    return n;
  }

  frequency_table part(std::size_t first, std::size_t count) const {
    auto result = *this;
    auto const cut = [&](std::vector<double>& list) {
      auto const begin = list.begin() + static_cast<std::ptrdiff_t>(first);
      list = std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    cut(result.value), cut(result.tolerance);
    return result;
  }

  /// The error of a pair in units of its tolerance, at most 1e30.
  double misfit(std::size_t i, double made) const noexcept {
    auto const error = std::abs(made - value[i]);
    if (error <= tolerance[i]) return tolerance[i] == 0 ? 0 : error / tolerance[i];
    return error < tolerance[i] * 1e30 ? error / tolerance[i] : 1e30;
  }
  double misfit(std::span<double const> made) const noexcept {
    double largest = 0;
    for (std::size_t i = 0; i < pairs(); ++i) largest = std::max(largest, misfit(i, made[i]));
    return largest;
  }

  double relative_error(std::span<double const> made) const noexcept {
    double largest = 0;
    for (std::size_t i = 0; i < pairs(); ++i) {
      if (made[i] != value[i]) {
        auto const error = value[i] == 0 ? 1 : std::abs(made[i] - value[i]) / value[i];
        largest = std::max(largest, error);
      }
    }
    return largest;
  }

  /// An ULP is 2 u times the power of 2 at or below the number.
  double ulps(std::span<double const> made) const noexcept {
    double largest = 0;
    for (std::size_t i = 0; i < pairs(); ++i) {
      auto const at = value[i] == 0 ? made[i] : value[i];
      if (made[i] == value[i]) continue;
      auto const ulp = 2 * unit_roundoff * std::exp2(std::floor(std::log2(at)));
      largest = std::max(largest, std::abs(made[i] - value[i]) / ulp);
    }
    return largest;
  }
};

}  // namespace posenc::detail
