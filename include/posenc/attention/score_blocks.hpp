// Sites 2 and 3: the masked scores of all queries, a block of them at a time.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/dense_heads.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/attention/visible_keys.hpp"
#include "posenc/core/adjust_scores.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// One row of a block.
template <class T>
struct block_row {
  std::size_t query, head;  ///< of all queries, of all heads
  token_range keys;         ///< what it may see
  std::span<T> scores;      ///< of those keys
};

/// What blocks are computed in, kept from one call to the next.
template <std::floating_point T>
struct score_memory {
  std::vector<token_range> ranges;  ///< of each query
  std::vector<T> queries, scores;
  std::vector<T> raw;                                ///< what is encoded to another width
  std::vector<T> far_keys, far_queries, far_scores;  ///< where scores are near and far
};

/// Whether keys are read in place, because no site changes them.
template <class Encoding>
bool reads_keys(attention_arguments const& given) noexcept {
  return !acts_on_queries_and_keys<Encoding> || given.keys_are_encoded;
}
/// Whether this is decoding: keys are read in place, and rows of each kv head are few.
template <class Encoding>
bool reads_in_place(attention_arguments const& given) noexcept {
  return reads_keys<Encoding>(given) && given.queries * given.group <= few_rows;
}

template <std::floating_point T, class Encoding>
class score_blocks {
 public:
  score_blocks(prepared_encoding<T, Encoding> const& step, attention_arguments const& given,
               score_memory<T>& memory)
      : encoding_(step.encoding()),
        step_(step),
        given_(given),
        visible_(given.mask, given.query_positions, given.key_positions),
        memory_(memory) {
    memory_.ranges.resize(given.queries);
    see({0, given.keys});
  }

  /// Limits the keys that every query sees to a range, until the next call.
  void see(token_range keys) {
    for (std::size_t t = 0; t < given_.queries; ++t) memory_.ranges[t] = visible_.around(t, keys);
  }
  /// How many queries make a block.
  std::size_t queries() const noexcept {
    return std::max<std::size_t>(rows_of_block / given_.group, 1);
  }

  /// The encoded keys of one kv head, [keys][1][product_dim]; for far scores, far_keys() as well.
  heads_view<T const> encoded_keys(std::vector<T>& numbers, auto const& k, std::size_t kv_head) {
    if (reads_keys<Encoding>(given_)) return as_computed<T>(numbers, k);
    if constexpr (changes_head_dim<Encoding>) {
      numbers.resize(k.tokens() * given_.product_dim);
      heads_view<T> const encoded(numbers.data(), {k.tokens(), 1, given_.product_dim});
      step_.of_keys().encode_keys(heads_view<T const>(copied<T>(memory_.raw, k)), encoded, 0,
                                  kv_head);  // (2) queries and keys
      return encoded;
    } else {
      auto const encoded = copied<T>(numbers, k);
      if constexpr (scores_near_and_far<Encoding>)
        encode_keys(step_.of_keys().far(), copied<T>(memory_.far_keys, encoded), 0, kv_head);
      if constexpr (acts_on_queries_and_keys<Encoding>)
        encode_keys(step_.of_keys(), encoded, 0, kv_head);  // (2) queries and keys
      return encoded;
    }
  }

  /// Computes the masked scores of the block of queries from `first` on, for the heads of k: kv
  /// heads from `kv_head` on. q has all queries and heads. False if they see no key.
  template <class Q>
  bool compute(heads_view<Q> const& q, std::size_t first, auto&& k, std::size_t kv_head) {
    auto const count = std::min(queries(), given_.queries - first);
    first_ = first, kv_head_ = kv_head;
    auto const ranges = std::span<token_range const>(memory_.ranges).subspan(first, count);
    shape_ = {ranges, hull(ranges), k.heads(), given_.group};
    if (shape_.seen() == 0) return false;
    memory_.queries.resize(shape_.rows() * given_.product_dim);
    if constexpr (scores_near_and_far<Encoding>) memory_.far_queries.resize(memory_.queries.size());
    for (std::size_t i = 0; i < k.heads(); ++i)
      encode(q.slice_tokens(first, count), (kv_head + i) * given_.group, i);
    if (memory_.scores.size() < shape_.rows() * shape_.seen())
      memory_.scores.resize(shape_.rows() * shape_.seen());
    multiply(memory_.scores.data(), k);
    for (std::size_t i = 0; i < shape_.rows(); ++i) {
      auto const row = (*this)[i];
      if constexpr (acts_on_scores<Encoding>)
        step_.adjust_scores(score_row_of(i, row.scores));  // (3)
      visible_.hide(row.query, row.keys, row.scores);
    }
    return true;
  }

  /// scale <q, k> of the block, [rows][seen], before site 3.
  void multiply(T* scores, auto&& k) {
    auto const scale = static_cast<T>(given_.scale);
    multiply_scores(scores, scale, std::as_const(memory_.queries).data(), k, shape_);
    if constexpr (scores_near_and_far<Encoding>) {
      memory_.far_scores.resize(shape_.rows() * shape_.seen());
      tile_panels<T> far(far_keys());
      multiply_scores(memory_.far_scores.data(), scale, memory_.far_queries.data(), far, shape_);
      for_each_far([&](std::size_t at) { scores[at] = memory_.far_scores[at]; });
    }
  }

  /// Calls act(index in [rows][seen]) for every score that is a far one.
  void for_each_far(auto&& act) const requires(scores_near_and_far<Encoding>) {
    for (std::size_t i = 0; i < shape_.rows(); ++i) {
      auto const query = i % shape_.rows_of_head() / shape_.group;
      auto const [first, last] = shape_.ranges[query];
      for (auto s = first; s < last; ++s) {
        if (!encoding_.is_near(given_.query_positions[first_ + query], given_.key_positions[s]))
          act(i * shape_.seen() + s - shape_.keys.first);
      }
    }
  }

  /// What far scores are made of: keys of the kv head, and [rows][product_dim].
  heads_view<T const> far_keys() const {
    return {memory_.far_keys.data(), {given_.keys, 1, given_.product_dim}};
  }
  std::vector<T> const& far_queries() const noexcept { return memory_.far_queries; }

  /// Row i of the block as site 3 sees it, over scores of the keys that it may see.
  template <class S>
  score_row<S> score_row_of(std::size_t i, std::span<S> scores) {
    auto const row = (*this)[i];
    auto const query =
        std::span<T const>(memory_.queries).subspan(i * given_.product_dim, given_.product_dim);
    return row_with_sides<T>(given_, scores, query, row.query, row.head, row.keys);
  }

  /// Sets hidden weights to 0 in a row whose scores have become weights: a NaN of the row may have
  /// spread to them.
  void clear_hidden(block_row<T> const& row) const noexcept {
    visible_.hide(row.query, row.keys, row.scores, T{0});
  }

  block_shape const& shape() const noexcept { return shape_; }
  /// [rows][seen]; beside what a row may see it is not set
  T* data() noexcept { return memory_.scores.data(); }
  /// [rows][product_dim]
  std::vector<T> const& encoded_queries() const noexcept { return memory_.queries; }

  block_row<T> operator[](std::size_t row) noexcept {
    auto const of_head = row % shape_.rows_of_head(), query = of_head / shape_.group;
    auto const [first, last] = shape_.ranges[query];
    auto* const scores = memory_.scores.data() + row * shape_.seen() +
                         (first == last ? 0 : first - shape_.keys.first);
    return {first_ + query,
            (kv_head_ + row / shape_.rows_of_head()) * shape_.group + of_head % shape_.group,
            {first, last},
            {scores, last - first}};
  }

 private:
  static constexpr std::size_t rows_of_block = 144;

  // Queries of the heads that share a kv head, the i-th of the block.
  template <class Q>
  void encode(heads_view<Q> const& q, std::size_t head, std::size_t i) {
    auto const part = q.slice_heads(head, given_.group);
    auto const at = i * shape_.rows_of_head() * given_.product_dim,
               token = step_.first_query() + first_;
    if constexpr (changes_head_dim<Encoding>) {
      heads_view<T> const encoded(memory_.queries.data() + at,
                                  {part.tokens(), part.heads(), given_.product_dim});
      step_.of_queries().encode_queries(heads_view<T const>(copied<T>(memory_.raw, part)), encoded,
                                        token, head);  // (2) queries and keys
    } else {
      auto const encoded = copied<T>(memory_.queries.data() + at, part);
      if constexpr (scores_near_and_far<Encoding>)
        encode_queries(step_.of_queries().far(),
                       copied<T>(memory_.far_queries.data() + at, encoded), token, head);
      if constexpr (acts_on_queries_and_keys<Encoding>) {
        if (!given_.queries_are_encoded)
          encode_queries(step_.of_queries(), encoded, token, head);  // (2)
      }
    }
  }

  Encoding const& encoding_;
  prepared_encoding<T, Encoding> const& step_;
  attention_arguments const& given_;
  visible_keys visible_;
  score_memory<T>& memory_;
  std::size_t first_ = 0, kv_head_ = 0;
  block_shape shape_ = {};
};

}  // namespace posenc::detail
