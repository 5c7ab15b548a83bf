// Sites 1 to 3: the masked scores of all queries, a block of them at a time.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/attention/visible_keys.hpp"
#include "posenc/core/adjust_scores.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Some tokens and heads of a view as dense numbers, [tokens][heads][head_dim], to be computed
/// with.
template <class T, class S>
heads_view<T> copied(T* to, heads_view<S> const& x) {
  heads_view<T> const copy(to, x.shape());
  for (std::size_t token = 0; token < x.tokens(); ++token) {
    for (std::size_t head = 0; head < x.heads(); ++head) {
      auto const numbers = x(token, head);
      if constexpr (std::same_as<std::remove_const_t<S>, T>) {
        to = std::ranges::copy(numbers, to).out;
      } else {
        to = std::ranges::transform(numbers, to, [](S const& number) { return load(number); }).out;
      }
    }
  }
  return copy;
}
template <class T, class S>
heads_view<T> copied(std::vector<T>& numbers, heads_view<S> const& x) {
  numbers.resize(x.tokens() * x.heads() * x.head_dim());
  return copied(numbers.data(), x);
}

/// What is computed with, T, of heads that are not changed: themselves if they are stored so.
template <class T, class S>
heads_view<T const> as_computed(std::vector<T>& numbers, heads_view<S> const& x) {
  if constexpr (std::same_as<std::remove_const_t<S>, T>) {
    return x;
  } else {
    return copied<T>(numbers, x);
  }
}

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
};

template <std::floating_point T, class Encoding>
class score_blocks {
 public:
  score_blocks(prepared_encoding<T, Encoding> const& step, attention_arguments const& given,
               score_memory<T>& memory)
      : encoding_(step.encoding()),
        step_(step),
        given_(given),
        visible_(given.visible, given.query_positions, given.key_positions),
        memory_(memory) {
    memory_.ranges.resize(given.queries);
    for (std::size_t t = 0; t < given.queries; ++t) memory_.ranges[t] = visible_.around(t);
  }

  /// Whether keys are read as they lie, since no site changes them.
  bool reads_keys() const noexcept {
    return !(acts_on_embeddings<Encoding> || acts_on_queries_and_keys<Encoding>) ||
           step_.keys_are_encoded();
  }
  /// Whether queries are so few that keys and values are read where they lie, all kv heads at once.
  bool few() const noexcept { return given_.queries * given_.group <= few_rows; }

  /// How many queries make a block.
  std::size_t queries() const noexcept {
    return std::max<std::size_t>(rows_of_block / given_.group, 1);
  }

  /// Keys of one kv head, [keys][1][head_dim], with their positions in them.
  template <class K>
  heads_view<T const> encoded_keys(std::vector<T>& numbers, heads_view<K> const& k) const {
    if (reads_keys()) return as_computed<T>(numbers, k);
    auto const copy = copied<T>(numbers, k);
    if constexpr (acts_on_embeddings<Encoding>)
      encoding_.embed(copy, step_.key_positions());  // (1) embeddings
    if constexpr (acts_on_queries_and_keys<Encoding>)
      step_.encode_keys(copy);  // (2) queries and keys
    return copy;
  }

  /// The block of queries from `first` on, of the heads of k, which are kv heads from `kv_head` on.
  /// q: all queries, all heads. False if they see no key.
  template <class Q, class K>
  bool compute(heads_view<Q> const& q, std::size_t first, heads_view<K const> const& k,
               std::size_t kv_head) {
    auto const count = std::min(queries(), given_.queries - first);
    first_ = first, kv_head_ = kv_head;
    auto const ranges = std::span<token_range const>(memory_.ranges).subspan(first, count);
    shape_ = {ranges, hull(ranges), k.heads(), given_.group};
    if (shape_.seen() == 0) return false;
    [[maybe_unused]] auto const positions = step_.query_positions().subspan(first, count);
    memory_.queries.resize(shape_.rows() * given_.head_dim);
    for (std::size_t i = 0; i < k.heads(); ++i) {
      auto const part =
          q.slice_tokens(first, count).slice_heads((kv_head + i) * given_.group, given_.group);
      auto const copy =
          copied<T>(memory_.queries.data() + i * shape_.rows_of_head() * given_.head_dim, part);
      if constexpr (acts_on_embeddings<Encoding>)
        encoding_.embed(copy, positions);  // (1) embeddings
      if constexpr (acts_on_queries_and_keys<Encoding>)
        step_.encode_queries(copy, first);  // (2) queries and keys
    }
    if (memory_.scores.empty() || memory_.scores.size() < shape_.rows() * shape_.seen())
      memory_.scores.resize(largest_block(k.heads()));
    multiply_scores<T, K>(memory_.scores.data(), static_cast<T>(given_.scale),
                          memory_.queries.data(), k, shape_);
    for (std::size_t i = 0; i < shape_.rows(); ++i) {
      auto const row = (*this)[i];
      if constexpr (acts_on_scores<Encoding>) adjust(row, i);  // (3) scores
      visible_.hide(row.query, row.keys, row.scores);
    }
    return true;
  }

  /// The weights of a row that stand in the place of its scores: 0 where it does not see, whatever
  /// NaN elsewhere in the row made of them.
  void clear_hidden(block_row<T> const& row) const noexcept {
    visible_.hide(row.query, row.keys, row.scores, T{0});
  }

  block_shape const& shape() const noexcept { return shape_; }
  /// [rows][seen]; beside what a row may see it is not set
  T* data() noexcept { return memory_.scores.data(); }
  /// [rows][head_dim]
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
  static constexpr std::size_t rows_of_block = 256;

  void adjust(block_row<T> const& row, std::size_t i) const {
    step_.adjust_scores(score_row<T>{
        row.scores, row.head, given_.query_positions[row.query],
        positions_view(given_.key_positions).subspan(row.keys.first, row.scores.size()),
        std::span<T const>(memory_.queries).subspan(i * given_.head_dim, given_.head_dim)});
  }

  std::size_t largest_block(std::size_t kv_heads) const {
    std::size_t most = 0;
    for (std::size_t first = 0; first < given_.queries; first += queries()) {
      auto const ranges = std::span<token_range const>(memory_.ranges)
                              .subspan(first, std::min(queries(), given_.queries - first));
      auto const [from, to] = hull(ranges);
      most = std::max(most, ranges.size() * (to - from));
    }
    return most * kv_heads * given_.group;
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
