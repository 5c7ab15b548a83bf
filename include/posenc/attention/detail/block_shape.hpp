// The rows that attention computes together, and what they see.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "posenc/attention/detail/visible_keys.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/tile.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The rows of a block, [kv heads][queries][group]. Each spans the hull of the key ranges of all
/// queries of the block.
struct block_shape {
  std::span<token_range const> ranges;  ///< of each query
  token_range keys;                     ///< their hull
  std::size_t kv_heads, group;
  std::span<token_range const> of_tiles = {};  ///< what each tile_rows rows see, or not found yet

  std::size_t queries() const noexcept { return ranges.size(); }
  std::size_t rows_of_head() const noexcept { return queries() * group; }
  std::size_t rows() const noexcept { return kv_heads * rows_of_head(); }
  std::size_t seen() const noexcept { return keys.last - keys.first; }
  /// The hull of what `count` rows of one kv head see, from a multiple of `count` on.
  token_range seen_by(std::size_t row, std::size_t count) const noexcept {
    if (count <= tile_rows && !of_tiles.empty()) return of_tiles[row / tile_rows];
    auto const first = row / group, last = (std::min(row + count, rows()) - 1) / group + 1;
    return hull(ranges.subspan(first, last - first));
  }
};

}}}  // namespace posenc::detail
