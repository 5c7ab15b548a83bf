// Whether weights in float keep to what softmax can do at most, and must do at least.
#pragma once

#include <cstddef>
#include <limits>

#include "posenc/analysis/dispersion.hpp"

namespace dispersion {

/// Whether float weights of n keys lie from the smallest to the largest within them. Bounds hold of
/// exact numbers; a float weight is off by the rounding of beta, of a difference of scores and of
/// their product, of the exponential, 2 + spread roundings, of up to 16 terms and a few registers
/// that are summed in float before the rest is in double, and of the share. Below e^-87 it is 0.
inline bool within_bounds(double spread, std::size_t keys, double smallest, double largest) {
  auto const of_weights = posenc::dispersion(spread, keys);
  auto const n = static_cast<double>(keys);
  auto const rounding = (23 + 4 * spread) * 0x1p-24 + n * 0x1p-53,
             lost = 2.0 * static_cast<double>(std::numeric_limits<float>::min());
  auto const below = [&](double low, double high) { return low <= high * (1 + rounding) + lost; };
  return below(of_weights.least, smallest) && below(smallest, 1 / n) && below(1 / n, largest) &&
         below(largest, of_weights.most);
}

}  // namespace dispersion
