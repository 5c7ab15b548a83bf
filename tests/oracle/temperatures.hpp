#pragma once

/// Inverse temperatures that depend on the length of a row or on the position of its query, as
/// papers and models define them.

#include <cmath>
#include <cstdint>

#include "wide.hpp"

namespace oracle {

/// [Nakanishi 2025]: s ln n + b, for at least two keys.
inline double ssmax_beta(std::uint64_t keys, double s, double b) {
  return static_cast<double>(static_cast<wide>(s) * log(static_cast<wide>(keys)) +
                             static_cast<wide>(b));
}

/// [Su 2021]: the logarithm of n to base L, but at least 1; n counts from 1.
inline double log_n_beta(std::int64_t n, std::int64_t trained) {
  if (n <= trained) return 1.0;
  return static_cast<double>(log(static_cast<wide>(n)) / log(static_cast<wide>(trained)));
}

/// Llama 4 (offset 1) and Mistral (offset 0), in integers, so that the step is exact: 1 + scale
/// ln(1 + (p + offset) div length).
inline double position_beta(std::int64_t position, double scale, std::int64_t length,
                            std::int64_t offset) {
  const std::int64_t steps = position + offset < 0 ? 0 : (position + offset) / length;
  return static_cast<double>(1.0L +
                             static_cast<wide>(scale) * log(1.0L + static_cast<wide>(steps)));
}

/// [Peng 2023]: the square of 0.1 ln s + 1.
inline double yarn_beta(double factor) {
  const wide magnitude = wide(1) / 10 * log(static_cast<wide>(factor)) + 1.0L;
  return static_cast<double>(magnitude * magnitude);
}

}  // namespace oracle
