// The two products of attention for few queries, as in decoding: keys and values are read once, in
// place, a few tokens at a time.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "posenc/attention/cache_blocks.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Scores and weights of this many tokens are dense while blocks of them are computed. Whole rows,
/// one a head, would be read in as many places at once, too many for the CPU to prefetch.
inline constexpr std::size_t near_tokens = 64;

/// scores[r][s] = scale * <q[r], k[s]> for Rows queries and Keys keys, from key `first` of the
/// block on. q: a row is `dims` long, in the order of S; scores: [Rows][near_tokens].
template <std::size_t Rows, std::size_t Keys, std::floating_point T, class S>
[[gnu::always_inline]] inline void few_by_few_scores(T* scores, T scale, T const* q,
                                                     token_block<S> const& k, std::size_t first,
                                                     std::size_t dims) noexcept {
  using number = typename lanes<T>::number;
  constexpr auto size = lanes<T>::size;
  number products[Rows * Keys], x[Keys];
  std::array<T, Rows * Keys> sums;
  std::fill_n(products, Rows * Keys, number(T{0}));
  std::size_t i = 0;
  auto const add = [&](T const* queries, number const* of_keys) {
    for (std::size_t r = 0; r < Rows; ++r) {
      auto const query = lanes<T>::load(queries + r * dims);
      for (std::size_t s = 0; s < Keys; ++s)
        products[r * Keys + s] = lanes<T>::multiply_add(query, of_keys[s], products[r * Keys + s]);
    }
  };
  // Loads the first or the second of two registers of a key. For one row, g++ makes faster code if
  // both are loaded.
  auto const load_one_of_two = [](S const* key, bool second) POSENC_INLINED {
    if constexpr (!loads_pairs<S> && Rows > 1) {
      return lanes<S>::load(key + (second ? size : 0));
    } else {
      number of_two[2];
      load_two<S>(key, of_two[0], of_two[1]);
      return of_two[second];
    }
  };
  for (; i + 2 * size <= dims; i += 2 * size) {
    // One register of each key after the other: both at once are more than there is room for.
    for (std::size_t s = 0; s < Keys; ++s) x[s] = load_one_of_two(k.tokens[first + s] + i, false);
    for (std::size_t s = 0; k.ahead != 0 && s < Keys; ++s)
      prefetch<2 * size>(k.tokens[first + s] + i, k.ahead);
    add(q + i, x);
    for (std::size_t s = 0; s < Keys; ++s) x[s] = load_one_of_two(k.tokens[first + s] + i, true);
    add(q + i + size, x);
  }
  for (; i + size <= dims; i += size) {
    for (std::size_t s = 0; s < Keys; ++s) x[s] = lanes<S>::load(k.tokens[first + s] + i);
    add(q + i, x);
  }
  if constexpr (Rows * Keys == size) {
    lanes<T>::store(sums.data(), number(scale) * lanes<T>::sums(products));
  } else {
    for (std::size_t n = 0; n < sums.size(); ++n) sums[n] = scale * lanes<T>::sum(products[n]);
  }
  for (; i < dims; ++i) {
    for (std::size_t s = 0; s < Keys; ++s) {
      auto const key = scale * load(k.tokens[first + s][i]);
      for (std::size_t r = 0; r < Rows; ++r) sums[r * Keys + s] += q[r * dims + i] * key;
    }
  }
  for (std::size_t r = 0; r < Rows; ++r)
    std::copy_n(sums.data() + r * Keys, Keys, scores + r * near_tokens + first);
}

/// scores = scale * q k^T, [heads][rows][keys] and q [heads][rows][head_dim] dense, for the same
/// few rows of every head. As many keys are read at once as make a register of scores with four
/// rows, or else with one. Memory, aligned: queries [heads][rows][head_dim], near
/// [heads][rows][near_tokens].
template <std::floating_point T, class S>
void few_scores(T* scores, T scale, T const* q, std::size_t rows, auto const& k, T* queries,
                T* near) noexcept {
  constexpr std::size_t size = lanes<T>::size;
  auto const keys = k.tokens(), dims = k.head_dim(), columns = k.heads() * rows;
  std::copy_n(q, columns * dims, queries);
  if constexpr (loads_pairs<S>) {
    typename lanes<T>::number x, y;
    for (std::size_t c = 0; c < columns; ++c) {
      for (auto i = c * dims; i + 2 * size <= (c + 1) * dims; i += 2 * size) {
        load_two<S>(q + i, x, y);
        lanes<T>::store(queries + i, x), lanes<T>::store(queries + i + size, y);
      }
    }
  }
  auto const at_once = rows % 4 == 0 ? std::max<std::size_t>(size / 4, 1) : size;
  for (std::size_t from = 0; from < keys; from += near_tokens) {
    auto const to = std::min(from + near_tokens, keys);
    for_blocks(k, from, to, at_once,
               [&](std::size_t head, std::size_t first, token_block<S> const& block) {
                 in_fours(rows, [&](auto few, std::size_t row) {
                   constexpr std::size_t together = size % few == 0 ? size / few : 1;
                   auto const column = head * rows + row;
                   auto* const x = near + column * near_tokens + first - from;
                   auto const* const y = queries + column * dims;
                   std::size_t s = 0;
                   for (; s + together <= block.count; s += together)
                     few_by_few_scores<few, together, T, S>(x, scale, y, block, s, dims);
                   for (; s < block.count; ++s)
                     few_by_few_scores<few, 1, T, S>(x, scale, y, block, s, dims);
                 });
               });
    for (std::size_t c = 0; c < columns; ++c)
      std::copy_n(near + c * near_tokens, to - from, scores + c * keys + from);
  }
}
template <std::floating_point T, class S>
void few_scores(T* scores, T scale, T const* q, std::size_t rows, auto const& k) {
  auto const columns = k.heads() * rows;
  aligned_numbers<T> queries(columns * k.head_dim()), near(columns * near_tokens);
  few_scores<T, S>(scores, scale, q, rows, k, queries.data(), near.data());
}

/// sums[r] += sum_s weights[r][s] values[s] of Rows queries, for Width registers of each value.
/// sums: a row is `dims` long, in the order of S; weights: [Rows][near_tokens].
template <std::size_t Rows, std::size_t Width, std::floating_point T, class S>
[[gnu::always_inline]] inline void add_values(T* sums, std::size_t dims, T const* weights,
                                              token_block<S> const& v,
                                              std::size_t column) noexcept {
  using number = typename lanes<T>::number;
  constexpr std::size_t size = lanes<T>::size;
  number of_rows[Rows][Width], value[Width];
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t j = 0; j < Width; ++j)
      of_rows[r][j] = lanes<T>::load(sums + r * dims + column + j * size);
  }
  for (std::size_t s = 0; s < v.count; ++s) {
    if constexpr (Width == 1) {
      value[0] = lanes<S>::load(v.tokens[s] + column);
    } else {
      for (std::size_t j = 0; j < Width; j += 2)
        load_two<S>(v.tokens[s] + column + j * size, value[j], value[j + 1]);
      if (v.ahead != 0) prefetch<Width * size>(v.tokens[s] + column, v.ahead);
    }
    for (std::size_t r = 0; r < Rows; ++r) {
      number const weight(weights[r * near_tokens + s]);
      for (std::size_t j = 0; j < Width; ++j)
        of_rows[r][j] = lanes<T>::multiply_add(weight, value[j], of_rows[r][j]);
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t j = 0; j < Width; ++j)
      lanes<T>::store(sums + r * dims + column + j * size, of_rows[r][j]);
  }
}

/// The same for whole values.
template <std::size_t Rows, std::floating_point T, class S>
void add_values(T* sums, std::size_t dims, T const* weights, token_block<S> const& v) noexcept {
  constexpr std::size_t size = lanes<T>::size, wide = has_32_registers ? 4 : 2;
  std::size_t i = 0;
  for (; i + wide * size <= dims; i += wide * size)
    add_values<Rows, wide, T, S>(sums, dims, weights, v, i);
  if constexpr (wide > 2) {
    for (; i + 2 * size <= dims; i += 2 * size)
      add_values<Rows, 2, T, S>(sums, dims, weights, v, i);
  }
  for (; i + size <= dims; i += size) add_values<Rows, 1, T, S>(sums, dims, weights, v, i);
  for (; i < dims; ++i) {
    for (std::size_t r = 0; r < Rows; ++r) {
      for (std::size_t s = 0; s < v.count; ++s)
        sums[r * dims + i] += weights[r * near_tokens + s] * load(v.tokens[s][i]);
    }
  }
}

/// outputs += sums, which are in the order of S, [columns][dims].
template <std::floating_point T, class S>
void add_in_order(T* outputs, T const* sums, std::size_t columns, std::size_t dims) noexcept {
  constexpr std::size_t size = lanes<T>::size;
  for (std::size_t c = 0; c < columns; ++c) {
    auto* const to = outputs + c * dims;
    auto const* const from = sums + c * dims;
    typename lanes<T>::number x, y;
    std::size_t i = 0;
    for (; i + 2 * size <= dims; i += 2 * size) {
      load_two<S>(to + i, x, y);
      store_two<S>(to + i, x + lanes<T>::load(from + i), y + lanes<T>::load(from + i + size));
    }
    for (; i < dims; ++i) to[i] += from[i];
  }
}

/// outputs += weights v, [heads][rows][value_dim] and weights [heads][rows][keys] dense. Values are
/// read 8 tokens at a time, or 16 of half the size, and summed in runs of 512, then the sums of the
/// runs, so that rounding errors do not grow with the cache. Memory, aligned: sums
/// [heads][rows][value_dim], near as above.
template <std::floating_point T, class S>
void few_outputs(T* outputs, T const* weights, std::size_t rows, auto const& v, T* sums,
                 T* near) noexcept {
  constexpr std::size_t tokens_at_once = sizeof(S) == 2 ? 16 : 8, summed_at_once = 512;
  static_assert(summed_at_once % near_tokens == 0);
  auto const keys = v.tokens(), dims = v.head_dim(), columns = v.heads() * rows;
  for (std::size_t from = 0; from < keys; from += near_tokens) {
    auto const to = std::min(from + near_tokens, keys);
    if (from % summed_at_once == 0) std::fill_n(sums, columns * dims, T{0});
    for (std::size_t c = 0; c < columns; ++c)
      std::copy_n(weights + c * keys + from, to - from, near + c * near_tokens);
    for_blocks(v, from, to, tokens_at_once,
               [&](std::size_t head, std::size_t first, token_block<S> const& block) {
                 in_fours(rows, [&](auto few, std::size_t row) {
                   auto const column = head * rows + row;
                   add_values<few, T, S>(sums + column * dims, dims,
                                         near + column * near_tokens + first - from, block);
                 });
               });
    if (to % summed_at_once == 0 || to == keys) add_in_order<T, S>(outputs, sums, columns, dims);
  }
}
template <std::floating_point T, class S>
void few_outputs(T* outputs, T const* weights, std::size_t rows, auto const& v) {
  auto const columns = v.heads() * rows;
  aligned_numbers<T> sums(columns * v.head_dim()), near(columns * near_tokens);
  few_outputs<T, S>(outputs, weights, rows, v, sums.data(), near.data());
}

}  // namespace posenc::detail
