// The statistics of a row of scores, from which site 4 computes its inverse temperature.
#pragma once

#include <cstddef>
#include <cstdint>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// The statistics of one row of masked scores x at temperature 1, with p = softmax(x), from one
/// pass over it.
struct row_statistics {
  std::size_t keys = 0;    ///< keys that are not masked; if 0, so is all else
  double max = 0;          ///< largest score
  double log_sum_exp = 0;  ///< ln sum_s exp(x_s)
  /// H = -sum_s p_s ln p_s, in nats: 0 (one-hot) to ln(keys) (uniform). [Velickovic 2024] has
  /// ln(p_s + 1e-9), up to 1e-9 a key less: adaptive_temperature subtracts that itself.
  double entropy = 0;
  std::size_t head = 0;             ///< index of the query head
  std::int64_t query_position = 0;  ///< as the caller counts
};

}  // namespace posenc
