// From rows of cosines and sines to the frequencies behind them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The length of all (cos, sin): the attention factor. Throws unless all are within 2^-6 of it.
template <class Real>
double length_of_rows(cos_sin_view<Real> const& rows) {
  auto const length = [&](std::size_t token, std::size_t pair) {
    auto const c = static_cast<double>(rows.cos(token)[pair]),
               s = static_cast<double>(rows.sin(token)[pair]);
    require(is_finite(c) && is_finite(s), "identify_rows: cosines and sines must be finite, got ",
            c, " and ", s, " at token ", token, ", pair ", pair);
    return std::sqrt(c * c + s * s);
  };
  double sum = 0;
  for (std::size_t token = 0; token < rows.tokens(); ++token) {
    for (std::size_t pair = 0; pair < rows.pairs(); ++pair) sum += length(token, pair);
  }
  auto const mean = sum / static_cast<double>(rows.tokens() * rows.pairs());
  for (std::size_t token = 0; token < rows.tokens(); ++token) {
    for (std::size_t pair = 0; pair < rows.pairs(); ++pair) {
      auto const one = length(token, pair);
      require(std::abs(one - mean) <= mean * 0x1p-6 && mean > 0,
              "identify_rows: all (cos, sin) must be of one length, the attention factor ", mean,
              ", got ", one, " at token ", token, ", pair ", pair);
    }
  }
  return mean;
}

struct measured_frequency {
  double inv_freq, tolerance;  ///< absolute
};

/// The angles of one pair, unwrapped from the smallest position to the largest as long as a turn
/// cannot be missed. `order`: tokens by the magnitude of their positions, without 0. u: unit
/// roundoff of the rows, and of the product of position and frequency.
template <class Real>
measured_frequency frequency_of_rows(cos_sin_view<Real> const& rows,
                                     std::vector<double> const& positions,
                                     std::vector<std::size_t> const& order, std::size_t pair,
                                     double u) {
  auto const angle = [&](std::size_t token) {
    return std::atan2(static_cast<double>(rows.sin(token)[pair]),
                      static_cast<double>(rows.cos(token)[pair]));
  };
  // Small angles are as precise, relatively, as their sines.
  auto const error = [&](std::size_t token, double f) {
    auto const reduced = std::abs(angle(token));
    return 2 * u * std::min(reduced, 1.0) + u * std::abs(positions[token] * f);
  };
  measured_frequency best{angle(order[0]) / positions[order[0]], 0};
  best.tolerance = error(order[0], best.inv_freq) / std::abs(positions[order[0]]);
  for (auto const token : order) {
    auto const p = positions[token];
    if (std::abs(p) * best.tolerance > 1) break;
    auto const expected = p * best.inv_freq, turn = 2 * std::numbers::pi;
    auto const unwrapped = angle(token) + turn * std::round((expected - angle(token)) / turn);
    measured_frequency const now{unwrapped / p, error(token, unwrapped / p) / std::abs(p)};
    if (now.tolerance < best.tolerance) best = now;
  }
  return best;
}

}  // namespace posenc::detail
