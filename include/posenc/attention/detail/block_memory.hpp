// The memory in which a worker computes a block, cut from memory of the caller.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/few_products.hpp"
#include "posenc/attention/detail/key_parts.hpp"
#include "posenc/attention/detail/tile_panels.hpp"
#include "posenc/attention/detail/visible_keys.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The most rows of a block, unless one query has more.
inline constexpr std::size_t rows_of_block = 144;
constexpr std::size_t queries_of_block(std::size_t group) noexcept {
  return std::max<std::size_t>(rows_of_block / group, 1);
}

/// How large the blocks are that a worker computes.
struct block_sizes {
  std::size_t queries,  ///< of a block
      kv_heads,         ///< of a block
      blocks,           ///< whose queries are encoded at a time
      columns,          ///< keys of a row of scores
      keys;             ///< that are encoded at a time
};

/// The memory in which blocks are computed.
template <std::floating_point T, class Encoding>
struct score_memory {
  T *queries, *scores;
  std::int64_t* positions = nullptr;  ///< of the keys, if they are counted
  token_range *ranges, *of_tiles;     ///< of each query, of each tile_rows rows
  std::size_t queries_of_block;       ///< numbers

  score_memory(scratch& memory, attention_arguments const& given, block_sizes const& sizes) {
    auto const rows = sizes.kv_heads * sizes.queries * given.group;
    queries_of_block = rows * given.head_dim;
    queries = memory.take<T>(sizes.blocks, queries_of_block);
    scores = memory.take<T>(rows, sizes.columns);
    ranges = memory.take<token_range>(sizes.queries);
    of_tiles = memory.take<token_range>(rows / tile_rows + 1);
    if constexpr (acts_on_scores<Encoding>)
      positions = memory.take<std::int64_t>(given.key_positions.is_counted() ? sizes.columns : 0);
  }
};

/// Whether keys, and values, are rounded for the products of many rows.
struct rounded_sides {
  bool keys = false, values = false;
};

/// The memory in which one worker computes.
template <std::floating_point T>
struct block_memory {
  T *keys, *values, *exponentials, *outputs;  ///< outputs: of a part
  double* shares;    ///< 1 / the sum of the exponentials of a part, of each row
  scaled_sum* sums;  ///< the sums
  tile_panels<T> key_panels, value_panels;
  few_memory<T> few;
  partial_rows<T> rows;  ///< [blocks][rows]

  block_memory(scratch& memory, attention_arguments const& given, block_sizes const& sizes,
               bool in_place, rounded_sides const& rounds, bool has_temperature) {
    auto const count = sizes.kv_heads * sizes.queries * given.group;
    keys = memory.take<T>(sizes.keys, given.head_dim);
    values = memory.take<T>(sizes.keys, given.value_dim);
    exponentials = memory.take<T>(has_temperature ? sizes.columns : 0);
    outputs = memory.take<T>(count, given.value_dim);
    shares = memory.take<double>(count);
    sums = memory.take<scaled_sum>(count);
    rows = {memory, sizes.blocks * count, given.value_dim};
    if (in_place)
      few = {memory, sizes.kv_heads, sizes.queries * given.group, given.head_dim, given.value_dim};
    if (!in_place && !rounds.keys)
      key_panels = {memory, sizes.keys, given.head_dim, sizes.blocks > 1};
    if (!in_place && !rounds.values)
      value_panels = {memory, sizes.keys, given.value_dim, sizes.blocks > 1};
  }
};

}}}  // namespace posenc::detail
