// The two products of attention for few queries, as in decoding: keys and values are read once, in
// place, a few tokens at a time.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Where some tokens of a head are, and how many bytes after them are tokens that are read a little
/// later, to be prefetched; 0 if none are.
template <class S>
struct token_block {
  static constexpr std::size_t most = std::max<std::size_t>(lanes<S>::size, 16);
  std::array<S const*, most> tokens{};
  std::size_t count = 0;
  std::uintptr_t ahead = 0;
};

/// Prefetches are in step with the arithmetic, this many bytes ahead of it, in caches of at least
/// so many bytes. Smaller ones are read from L2 or L3: a Zen 4 takes as long either way, a Zen 5 up
/// to 1.3 times as long with prefetches.
inline constexpr std::size_t prefetched_ahead = 16'384, prefetched_from = 4 << 20;

/// Prefetches Count numbers into L2, `ahead` bytes after the first of them, at any address; none if
/// `ahead` is 0.
template <std::size_t Count, class S>
[[gnu::always_inline]] inline void prefetch(S const* numbers, std::uintptr_t ahead) noexcept {
  for (std::size_t i = 0; ahead != 0 && i < Count; i += 64 / sizeof(S)) {
    auto const address = reinterpret_cast<std::uintptr_t>(numbers + i) + ahead;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): in another token, perhaps of another page
    prefetch_into_l2(reinterpret_cast<void const*>(address));
  }
}

/// Calls some(head, first token, block) for blocks of some tokens of a cache, from `from` to before
/// `to`, in reading order.
template <class Heads>
[[gnu::always_inline]] inline void for_blocks(Heads const& cache, std::size_t from, std::size_t to,
                                              std::size_t tokens_at_once, auto const& some) {
  using S = std::remove_const_t<typename Heads::element_type>;
  if (cache.heads() == 0) return;
  auto const tokens = cache.tokens(), bytes = cache.heads() * cache.head_dim() * sizeof(S);
  auto const ahead = tokens * bytes < prefetched_from
                         ? tokens
                         : std::max(tokens_at_once, prefetched_ahead / bytes);
  token_block<S> block;
  auto const address = [&](std::size_t token) {
    return reinterpret_cast<std::uintptr_t>(cache(token, 0).data());
  };
  for (auto first = from; first < to; first += tokens_at_once) {
    block.count = std::min(tokens_at_once, to - first);
    block.ahead =
        first + ahead + block.count <= tokens ? address(first + ahead) - address(first) : 0;
    for (std::size_t head = 0; head < cache.heads(); ++head) {
      for (std::size_t t = 0; t < block.count; ++t) block.tokens[t] = cache(first + t, head).data();
      some(head, first, block);
    }
  }
}

/// Calls few(constant, row) for four rows at a time, then for one.
void in_fours(std::size_t rows, auto const& few) {
  std::size_t row = 0;
  for (; row + 4 <= rows; row += 4) few(std::integral_constant<std::size_t, 4>(), row);
  for (; row < rows; ++row) few(std::integral_constant<std::size_t, 1>(), row);
}

/// Scores and weights of this many tokens are dense while blocks of them are computed. Whole rows,
/// one per head, would be read in as many places at once, too many for the CPU to prefetch.
inline constexpr std::size_t near_tokens = 64;

/// scores[r][s] = scale * <q[r], k[s]> for Rows queries and Keys keys, from key `first` of the
/// block on. q: a row is `dims` long; scores: [Rows][near_tokens].
template <std::size_t Rows, std::size_t Keys, std::floating_point T, class S>
[[gnu::always_inline]] inline void few_by_few_scores(T* scores, T scale, T const* q,
                                                     token_block<S> const& k, std::size_t first,
                                                     std::size_t dims) noexcept {
  using number = typename lanes<T>::number;
  constexpr auto size = lanes<T>::size;
  number products[Rows * Keys];
  std::array<T, Rows * Keys> sums;
  std::fill_n(products, Rows * Keys, number(T{0}));
  std::size_t i = 0;
  auto const add = [&](std::size_t at) POSENC_INLINED {
    number x[Keys];
    for (std::size_t s = 0; s < Keys; ++s) x[s] = lanes<S>::load(k.tokens[first + s] + at);
    for (std::size_t r = 0; r < Rows; ++r) {
      auto const query = lanes<T>::load(q + r * dims + at);
      for (std::size_t s = 0; s < Keys; ++s)
        products[r * Keys + s] = lanes<T>::multiply_add(query, x[s], products[r * Keys + s]);
    }
  };
  for (; i + 2 * size <= dims; i += 2 * size) {
    for (std::size_t s = 0; s < Keys; ++s) prefetch<2 * size>(k.tokens[first + s] + i, k.ahead);
    add(i), add(i + size);
  }
  if (i + size <= dims) add(i), i += size;
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
/// rows, or else with one. Memory: near [heads][rows][near_tokens].
template <std::floating_point T, class S>
void few_scores(T* scores, T scale, T const* q, std::size_t rows, auto const& k, T* near) noexcept {
  constexpr std::size_t size = lanes<T>::size;
  auto const keys = k.tokens(), dims = k.head_dim(), columns = k.heads() * rows;
  auto const at_once = rows % 4 == 0 ? std::max<std::size_t>(size / 4, 1) : size;
  for (std::size_t from = 0; from < keys; from += near_tokens) {
    auto const to = std::min(from + near_tokens, keys);
    for_blocks(k, from, to, at_once,
               [&](std::size_t head, std::size_t first, token_block<S> const& block) {
                 in_fours(rows, [&](auto few, std::size_t row) {
                   constexpr std::size_t together = size % few == 0 ? size / few : 1;
                   auto const column = head * rows + row;
                   auto* const x = near + column * near_tokens + first - from;
                   std::size_t s = 0;
                   for (; s + together <= block.count; s += together)
                     few_by_few_scores<few, together>(x, scale, q + column * dims, block, s, dims);
                   for (; s < block.count; ++s)
                     few_by_few_scores<few, 1>(x, scale, q + column * dims, block, s, dims);
                 });
               });
    for (std::size_t c = 0; c < columns; ++c)
      std::copy_n(near + c * near_tokens, to - from, scores + c * keys + from);
  }
}

/// sums[r] += sum_s weights[r][s] values[s] of Rows queries, for Width registers of each value.
/// sums: a row is `dims` long; weights: [Rows][near_tokens].
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
    for (std::size_t j = 0; j < Width; ++j)
      value[j] = lanes<S>::load(v.tokens[s] + column + j * size);
    prefetch<Width * size>(v.tokens[s] + column, v.ahead);
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
    add_values<Rows, wide>(sums, dims, weights, v, i);
  for (; i + size <= dims; i += size) add_values<Rows, 1>(sums, dims, weights, v, i);
  for (; i < dims; ++i) {
    for (std::size_t r = 0; r < Rows; ++r) {
      for (std::size_t s = 0; s < v.count; ++s)
        sums[r * dims + i] += weights[r * near_tokens + s] * load(v.tokens[s][i]);
    }
  }
}

/// outputs += weights v, [heads][rows][value_dim] and weights [heads][rows][keys] dense. Values are
/// read 8 tokens at a time, or 16 of half the size, and summed in runs of 512, then the sums of the
/// runs, so that rounding errors do not grow with the cache. Memory: sums [heads][rows][value_dim],
/// near as above.
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
                   add_values<few>(sums + column * dims, dims,
                                   near + column * near_tokens + first - from, block);
                 });
               });
    if (to % summed_at_once != 0 && to != keys) continue;
    for (std::size_t n = 0; n < columns * dims; ++n) outputs[n] += sums[n];
  }
}

}  // namespace posenc::detail
