#pragma once

/// ALiBi [Press 2022, section 3], after get_slopes of the authors' code
/// (ofirpress/attention_with_linear_biases).

#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

#include "wide.hpp"

namespace oracle {

/// The slopes of every head. For a power of two, the geometric sequence that starts at
/// 2^(-max_bias/heads) and has that ratio. Otherwise the slopes of the next lower power of two,
/// then every other slope of twice that power.
inline std::vector<double> alibi_slopes(std::size_t heads, double max_bias = 8) {
  std::vector<double> slopes;
  if (std::has_single_bit(heads)) {
    const wide exponent = static_cast<wide>(max_bias) / static_cast<wide>(heads);
    for (std::size_t i = 1; i <= heads; ++i)
      slopes.push_back(static_cast<double>(exp2(-exponent * static_cast<wide>(i))));
    return slopes;
  }
  if (heads == 0) return slopes;
  const std::size_t closest = std::bit_floor(heads);
  slopes = alibi_slopes(closest, max_bias);
  const std::vector<double> finer = alibi_slopes(2 * closest, max_bias);
  for (std::size_t i = 0; slopes.size() < heads; i += 2) slopes.push_back(finer[i]);
  return slopes;
}

/// The slope of one head; head < heads.
inline double slope(std::size_t head, std::size_t heads, double max_bias = 8) {
  return alibi_slopes(heads, max_bias).at(head);
}

/// The bias on the scaled score: -slope |q - k|, symmetric, so that it also serves attention
/// without a mask.
inline double bias(std::size_t head, std::size_t heads, double query_position, double key_position,
                   double max_bias = 8) {
  return -slope(head, heads, max_bias) * std::abs(query_position - key_position);
}

}  // namespace oracle
