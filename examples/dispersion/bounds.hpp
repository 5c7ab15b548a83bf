// What softmax can do at most, and must do at least, with n scores that differ by `spread`: its
// inverse temperature times delta.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace bounds {

/// The largest weight, of one score above all others: e^spread / (e^spread + n - 1).
inline double most(double spread, double n) { return 1 / (1 + (n - 1) * std::exp(-spread)); }

/// The smallest weight, of one score below all others: 1 / (1 + (n - 1) e^spread).
inline double least(double spread, double n) {
  return std::exp(-spread) / (std::exp(-spread) + n - 1);
}

/// The same as published, above most() throughout: e^spread / n, and 1 where that says nothing.
/// [Velickovic 2024, Lemma 2.1]
inline double most_as_published(double spread, double n) {
  return std::exp(std::min(spread - std::log(n), 0.0));
}

/// The first n at which most() is below eps: n - 1 > e^spread (1 - eps) / eps.
inline double keys_below(double eps, double spread) {
  return std::floor(1 + std::exp(spread) * (1 - eps) / eps) + 1;
}

/// And most_as_published(): n > e^spread / eps.
inline double keys_below_as_published(double eps, double spread) {
  return std::floor(std::exp(spread) / eps) + 1;
}

/// The spread that a weight of 1 - eps takes: what most() says, solved for it. It grows as ln n
/// does.
inline double spread_for(double eps, double n) { return std::log((n - 1) * (1 - eps) / eps); }

/// Whether float weights of n keys lie from the smallest to the largest within them. Bounds hold of
/// exact numbers; a float weight is off by the rounding of beta, of a difference of scores and of
/// their product, of the exponential, 2 + spread roundings, of up to 16 terms and a few registers
/// that are summed in float before the rest is in double, and of the share. Below e^-87 it is 0.
inline bool hold(double spread, double n, double smallest, double largest) {
  auto const rounding = (23 + 4 * spread) * 0x1p-24 + n * 0x1p-53,
             lost = 2.0 * static_cast<double>(std::numeric_limits<float>::min());
  auto const below = [&](double low, double high) { return low <= high * (1 + rounding) + lost; };
  return below(least(spread, n), smallest) && below(smallest, 1 / n) && below(1 / n, largest) &&
         below(largest, most(spread, n));
}

}  // namespace bounds
