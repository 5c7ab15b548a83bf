#pragma once

/// What rotation does to correlated Gaussian queries and keys, in closed form; the independent case
/// is
/// [Barbero 2024, Proposition 3.2] and the identical case is the all-ones curve of its figure 2.

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>

#include "angle.hpp"

namespace oracle {

/// a(r) = (1/h) sum_k cos(r g_k) over the h frequencies g: the score of two equal, evenly spread
/// vectors at distance r, divided by its value at distance 0.
inline double all_ones_kernel(wide distance, std::span<const double> inv_freq) {
  wide sum = 0;
  for (const double frequency : inv_freq) sum += direction_at(distance, frequency).cos;
  return static_cast<double>(sum / static_cast<wide>(inv_freq.size()));
}

/// E[q^T R^r k] = rho d a(r), for q ~ N(0, I_d), k = rho q + sqrt(1 - rho^2) z, z ~ N(0, I_d)
/// independent, d = 2h.
inline double correlated_mean(double rho, wide distance, std::span<const double> inv_freq) {
  return rho * 2.0 * static_cast<double>(inv_freq.size()) * all_ones_kernel(distance, inv_freq);
}

/// Var[q^T R^r k] = 4 rho^2 sum_k cos^2(r g_k) + (1 - rho^2) d, for the same q and k.
inline double correlated_variance(double rho, wide distance, std::span<const double> inv_freq) {
  wide squares = 0;
  for (const double frequency : inv_freq) {
    const wide c = direction_at(distance, frequency).cos;
    squares += c * c;
  }
  const wide square = static_cast<wide>(rho) * rho;
  return static_cast<double>(4 * square * squares +
                             (1 - square) * 2 * static_cast<wide>(inv_freq.size()));
}

/// The first integer distance below `limit` with a(r) < 0, if any. Summed in f64, since a scan
/// needs about 1e8 cosines; only the sign matters, and below 1e6 the error is under 1e-8.
inline std::optional<std::size_t> first_negative_distance(std::span<const double> inv_freq,
                                                          std::size_t limit) {
  for (std::size_t r = 0; r < limit; ++r) {
    double sum = 0;
    for (const double frequency : inv_freq) sum += std::cos(static_cast<double>(r) * frequency);
    if (sum < 0.0) return r;
  }
  return std::nullopt;
}

}  // namespace oracle
