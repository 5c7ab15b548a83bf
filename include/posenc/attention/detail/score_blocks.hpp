// Sites 2 and 3: the masked scores of a block of queries, with the keys of a range.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/detail/block_memory.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/dense_heads.hpp"
#include "posenc/attention/detail/products.hpp"
#include "posenc/attention/detail/visible_keys.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/heads/storage.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// One row of a block.
template <class T>
struct block_row {
  std::size_t query, head;  ///< of all queries, of all heads
  token_range keys;         ///< what it may see
  std::span<T> scores;      ///< of those keys
};

/// Whether keys are read in place, because no site changes them.
template <class Encoding>
bool reads_keys(attention_arguments const& given) noexcept {
  return !acts_on_queries_and_keys<Encoding> || given.keys_are_encoded;
}

template <std::floating_point T, class Encoding>
class score_blocks {
 public:
  score_blocks(prepared_sites<T, Encoding> const& step, attention_arguments const& given,
               missing_tokens const& missing, block_sizes const& sizes, scratch& memory)
      : step_(step),
        given_(given),
        sizes_(sizes),
        visible_(given, missing),
        memory_(memory, given, sizes) {}

  /// The encoded keys of one kv head from token `first` on, [tokens][1][head_dim].
  heads_view<T const> encoded_keys(T* numbers, auto const& k, std::size_t first,
                                   std::size_t kv_head) {
    if (reads_keys<Encoding>(given_)) return as_computed<T>(numbers, k);
    auto const encoded = copied<T>(numbers, k);
    if constexpr (acts_on_queries_and_keys<Encoding>)
      encode_keys(step_.of_keys(), encoded, first, kv_head);  // (2) queries and keys
    return encoded;
  }

  /// Encodes the queries of block i of the blocks that are computed together: `count` queries from
  /// `first` on, of `kv_heads` kv heads from `kv_head` on. q has all queries and heads.
  void encode(std::size_t i, auto const& q, std::size_t first, std::size_t count,
              std::size_t kv_head, std::size_t kv_heads) {
    auto const of_query = given_.group * given_.head_dim;
    for (std::size_t n = 0; n < kv_heads; ++n) {
      auto const at = i * memory_.queries_of_block + n * count * of_query,
                 head = (kv_head + n) * given_.group;
      auto const encoded = copied<T>(memory_.queries + at,
                                     q.slice_tokens(first, count).slice_heads(head, given_.group));
      if constexpr (acts_on_queries_and_keys<Encoding>) {
        if (!given_.queries_are_encoded)
          encode_queries(step_.of_queries(), encoded, step_.first_query() + first, head);  // (2)
      }
    }
  }

  /// Turns to block i, as it was encoded, and to the keys of `among` that its queries see. False if
  /// they see none.
  bool see(std::size_t i, std::size_t first, std::size_t count, std::size_t kv_head,
           std::size_t kv_heads, token_range among) {
    block_ = i, first_ = first, kv_head_ = kv_head;
    // For all heads if workers take groups of them, so that bits do not depend on the groups.
    bool const in_groups = sizes_.keys == 0;
    auto const head = in_groups ? 0 : kv_head * given_.group,
               heads = in_groups ? given_.heads : kv_heads * given_.group;
    for (std::size_t t = 0; t < count; ++t)
      memory_.ranges[t] = visible_.around(first + t, head, heads, among);
    auto const ranges = std::span<token_range const>(memory_.ranges, count);
    shape_ = {ranges, hull(ranges), kv_heads, given_.group};
    if (kv_heads == 1) {
      std::size_t tiles = 0;
      for (std::size_t row = 0; row < shape_.rows(); row += tile_rows)
        memory_.of_tiles[tiles++] = shape_.seen_by(row, tile_rows);
      shape_.of_tiles = {memory_.of_tiles, tiles};
    }
    return shape_.seen() != 0;
  }

  /// scale <q, k> of the block, [rows][seen], before site 3, for the keys of k: all tokens of the
  /// block's kv heads, or panels of some tokens of one. products: few_memory, for all tokens.
  void multiply(T* scores, auto&& k, auto&... products) {
    auto const scale = static_cast<T>(given_.scale);
    multiply_scores(scores, scale, encoded_queries(), k, shape_, products...);
  }

  /// (3) scores, and the mask.
  void adjust() {
    positions_view positions;
    if constexpr (acts_on_scores<Encoding>) positions = listed_positions();
    for (std::size_t i = 0; i < shape_.rows(); ++i) {
      auto const row = (*this)[i];
      if constexpr (acts_on_scores<Encoding>)
        step_.adjust_scores(score_row_of(i, row.scores, positions));  // (3)
      visible_.mask_scores(row.query, row.head, row.keys, row.scores);
    }
  }

  /// The positions of the keys that the block sees.
  positions_view listed_positions() const noexcept {
    return given_.key_positions.part(shape_.keys.first, shape_.seen()).listed(memory_.positions);
  }
  /// Row i of the block as site 3 sees it, over scores of the keys that it may see. positions:
  /// those of the block.
  template <class S>
  score_row<S> score_row_of(std::size_t i, std::span<S> scores, positions_view positions) {
    auto const row = (*this)[i];
    std::span<T const> const query(encoded_queries() + i * given_.head_dim, given_.head_dim);
    auto const count = row.keys.last - row.keys.first;
    return row_with_sides<T>(
        given_, scores, query, row.query, row.head, row.keys,
        positions.subspan(count == 0 ? 0 : row.keys.first - shape_.keys.first, count));
  }

  /// Sets hidden weights to 0 in a row whose scores have become weights: a NaN of the row may have
  /// spread to them.
  void clear_hidden(block_row<T> const& row) const noexcept {
    visible_.hide(row.query, row.head, row.keys, row.scores, T{0});
  }

  block_shape const& shape() const noexcept { return shape_; }
  block_sizes const& sizes() const noexcept { return sizes_; }
  visible_keys const& visible() const noexcept { return visible_; }
  /// [rows][seen]; beside what a row may see it is not set
  T* data() noexcept { return memory_.scores; }
  /// [rows][head_dim]
  T const* encoded_queries() const noexcept { return encoded_queries(block_); }
  T const* encoded_queries(std::size_t block) const noexcept {
    return memory_.queries + block * memory_.queries_of_block;
  }

  block_row<T> operator[](std::size_t row) noexcept {
    auto const of_head = row % shape_.rows_of_head(), query = of_head / shape_.group;
    auto const [first, last] = shape_.ranges[query];
    auto* const scores =
        memory_.scores + row * shape_.seen() + (first == last ? 0 : first - shape_.keys.first);
    return {first_ + query,
            (kv_head_ + row / shape_.rows_of_head()) * shape_.group + of_head % shape_.group,
            {first, last},
            {scores, last - first}};
  }

 private:
  prepared_sites<T, Encoding> const& step_;
  attention_arguments const& given_;
  block_sizes sizes_;
  visible_keys visible_;
  score_memory<T, Encoding> memory_;
  std::size_t block_ = 0, first_ = 0, kv_head_ = 0;
  block_shape shape_ = {};
};

}}}  // namespace posenc::detail
