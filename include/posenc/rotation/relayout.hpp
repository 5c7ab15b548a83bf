// From one pair layout to the other: head vectors, cached keys, and the weights that make them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <numeric>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The permutation between layouts: dim d of a head in layout To is dim result[d] of the same head
/// in layout From. The functions below apply it; use it to gather tensors of other kinds.
///
///     interleaved -> halves, 8 of 8 dims           0 2 4 6 1 3 5 7
///     halves -> interleaved, the last 4 of 6       0 1 2 4 3 5
///
/// If both queries and keys are converted, scores stay the same; from then on rotate them with To.
/// Throws std::invalid_argument unless rotary_dim is even and positive and the block lies within
/// the head.
template <pair_layout From, pair_layout To>
std::vector<std::size_t> relayout_order(std::size_t head_dim, std::size_t rotary_dim,
                                        rotary_block block = rotary_block::first()) {
  detail::require(rotary_dim % 2 == 0 && rotary_dim > 0,
                  "relayout: rotary_dim must be even and positive, got ", rotary_dim);
  auto const first = block.first_dim(head_dim, rotary_dim), pairs = rotary_dim / 2;

  std::vector<std::size_t> order(head_dim);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    order[first + To::x_index(pair, pairs)] = first + From::x_index(pair, pairs);
    order[first + To::y_index(pair, pairs)] = first + From::y_index(pair, pairs);
  }
  return order;
}

/// A projection's weights in memory, [heads * head_dim][columns], row-major.
struct rows_shape {
  std::size_t heads = 0,     ///< whose head_dim rows follow one another
      head_dim = 0,          ///< rows of a head
      columns = 0,           ///< numbers in a row
      row_stride = columns;  ///< in elements
};

/// A span, vector or array of what can be moved bit by bit: numbers, quantised blocks, bytes.
template <class R>
concept movable_elements = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::copyable<std::ranges::range_value_t<R>> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<R>> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// Both are double, or neither is: T stores the numbers of S with at most one rounding.
template <class T, class S>
concept stores_numbers_of =
    writable<T> && storable<S> && std::same_as<arithmetic_t<T>, arithmetic_t<S>>;

namespace detail {

/// rows[d] = the old rows[order[d]]. `before` has capacity for all of them.
template <class T>
void reorder_rows(T* rows, std::size_t row_stride, std::size_t columns,
                  std::span<std::size_t const> order, std::vector<T>& before) {
  before.clear();
  for (std::size_t d = 0; d < order.size(); ++d)
    before.insert(before.end(), rows + d * row_stride, rows + d * row_stride + columns);
  for (std::size_t d = 0; d < order.size(); ++d) {
    auto const row = before.begin() + static_cast<std::ptrdiff_t>(order[d] * columns);
    if (order[d] != d)
      std::copy(row, row + static_cast<std::ptrdiff_t>(columns), rows + d * row_stride);
  }
}

}  // namespace detail

/// Copies head vectors in layout From to others in layout To: [tokens][heads][head_dim], any
/// strides. Moves rotary_dim dims, the first ones unless `block` says otherwise, and copies the
/// others. Keeps bits, or rounds once to another storage format. Allocates head_dim indices.
/// Throws std::invalid_argument, before anything is changed, as relayout_order does, and unless the
/// shapes agree and do not overlap.
template <pair_layout From, pair_layout To, storable S, stores_numbers_of<S> T>
void relayout(heads_view<S> const& from, heads_view<T> const& to, std::size_t rotary_dim,
              rotary_block block = rotary_block::first()) {
  detail::require(from.shape() == to.shape(),
                  "relayout: from and to must have the same shape, got ", from.tokens(), " x ",
                  from.heads(), " x ", from.head_dim(), " and ", to.tokens(), " x ", to.heads(),
                  " x ", to.head_dim());
  auto const order = relayout_order<From, To>(to.head_dim(), rotary_dim, block);
  detail::require(!detail::may_overlap(from, to),
                  "relayout: from and to must not overlap in memory");
  for (std::size_t token = 0; token < to.tokens(); ++token)
    for (std::size_t head = 0; head < to.heads(); ++head) {
      auto const source = from(token, head);
      auto const target = to(token, head);
      for (std::size_t d = 0; d < order.size(); ++d) {
        if constexpr (std::same_as<storage_format_t<S>, storage_format_t<T>>) {
          target[d] = detail::bit_cast<T>(source[order[d]]);
        } else {
          store(target[d], load(source[order[d]]));
        }
      }
    }
}

/// In place, for example on cached keys, rotated or not. Keeps every bit. Allocates one head more.
template <pair_layout From, pair_layout To, writable T>
void relayout(heads_view<T> const& x, std::size_t rotary_dim,
              rotary_block block = rotary_block::first()) {
  auto const order = relayout_order<From, To>(x.head_dim(), rotary_dim, block);
  std::vector<T> before;
  before.reserve(order.size());
  for (std::size_t token = 0; token < x.tokens(); ++token)
    for (std::size_t head = 0; head < x.heads(); ++head)
      detail::reorder_rows(x(token, head).data(), 1, 1, order, before);
}

/// Permutes the rows of a projection W_q or W_k in place: W x had layout From in each head, and has
/// To from then on. A bias is a projection with one column, and the weights of a norm over the head
/// are one with one head.
///
///     relayout_rows<interleaved, halves>(w_q, {.heads = 32, .head_dim = 128, .columns = 4096},
///                                        128);        Llama, from Meta's to Hugging Face's
///
/// Moves rotary_dim rows of each head, the first ones unless `block` says otherwise, bit by bit:
/// whole blocks of a quantised row too. Allocates the rows of one head and head_dim indices.
/// Throws std::invalid_argument, before anything is changed, as relayout_order does, and unless
/// head_dim and columns are positive, rows do not overlap, and there are heads * head_dim of them.
template <pair_layout From, pair_layout To, movable_elements Weights>
void relayout_rows(Weights&& weights, rows_shape const& shape, std::size_t rotary_dim,
                   rotary_block block = rotary_block::first()) {
  auto const [heads, head_dim, columns, row_stride] = shape;
  std::span const elements(weights);
  detail::require(head_dim > 0 && columns > 0,
                  "relayout_rows: head_dim and columns must be positive, got ", head_dim, " and ",
                  columns);
  detail::require(row_stride >= columns,
                  "relayout_rows: row_stride must be at least the number of columns, ", columns,
                  ", got ", row_stride);
  auto const rows = elements.size() < columns ? 0 : (elements.size() - columns) / row_stride + 1;
  detail::require(rows % head_dim == 0 && rows / head_dim == heads,
                  "relayout_rows: weights must have one row for each of ", heads, " x ", head_dim,
                  " dims, got ", rows, " rows in ", elements.size(), " elements");
  detail::require(rows == 0 || elements.data() != nullptr,
                  "relayout_rows: weights must not be null for ", rows, " rows");
  auto const order = relayout_order<From, To>(head_dim, rotary_dim, block);

  std::vector<std::ranges::range_value_t<Weights>> before;
  before.reserve(head_dim * columns);
  for (std::size_t head = 0; head < heads; ++head)
    detail::reorder_rows(elements.data() + head * head_dim * row_stride, row_stride, columns, order,
                         before);
}

/// One head vector, in place. Throws and allocates as relayout_rows does for one column.
template <pair_layout From, pair_layout To, movable_elements Head>
void relayout(Head&& head, std::size_t rotary_dim, rotary_block block = rotary_block::first()) {
  relayout_rows<From, To>(head, {.heads = 1, .head_dim = std::ranges::size(head), .columns = 1},
                          rotary_dim, block);
}

}}  // namespace posenc
