// What site 4 sees of a row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Statistics of one row of masked scores x at temperature 1, with p = softmax(x), taken in one pass over it.
struct row_statistics {
  std::size_t keys = 0;    ///< how many are not masked; if none, the rest is 0
  double max = 0;          ///< largest score
  double log_sum_exp = 0;  ///< ln sum_s exp(x_s)
  double entropy = 0;      ///< H = -sum_s p_s ln p_s, in nats: 0 (one key has it all) to ln(keys) (uniform)
  std::size_t head = 0;    ///< index of the query head
  std::int64_t query_position = 0;
};

}  // namespace posenc
