// What site 3 works on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// The scores of one query of one head against its keys, with all that a rule may depend on.
template <class T>
struct score_row {
  std::span<T> scores;   ///< [keys], scale * <q, k>; changed in place; the mask comes afterwards
  std::size_t head = 0;  ///< index of the query head
  std::int64_t query_position = 0;
  positions_view key_positions;  ///< [keys]
  std::span<T const>
      query;  ///< [head_dim], after site 2, before scaling: for context-dependent rules
};

}  // namespace posenc
