// The two products of attention for few queries, as in decoding: keys and values are read once, in
// place.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <vector>

#include "posenc/attention/scattered_heads.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Rows of numbers with a stride.
template <class T>
struct strided_rows {
  T* numbers;
  std::ptrdiff_t stride;
  T* operator[](std::size_t row) const noexcept {
    return numbers + static_cast<std::ptrdiff_t>(row) * stride;
  }
  strided_rows from(std::size_t row) const noexcept { return {(*this)[row], stride}; }
  strided_rows beside(std::size_t column) const noexcept { return {numbers + column, stride}; }
};

/// The same for rows that are anywhere: offsets[row] from `numbers`.
template <class T>
struct scattered_rows {
  T* numbers;
  std::ptrdiff_t const* offsets;
  T* operator[](std::size_t row) const noexcept { return numbers + offsets[row]; }
  scattered_rows from(std::size_t row) const noexcept { return {numbers, offsets + row}; }
  scattered_rows beside(std::size_t column) const noexcept { return {numbers + column, offsets}; }
};

/// Reads 8 tokens of each head in turn, which is nearly sequential in memory for any head stride,
/// and prefetches 3 heads ahead. More tokens would evict each other: tokens of one head may share a
/// few sets of L1. A longer prefetch distance fills the line fill buffers. Measured (bench,
/// decode): 4 and 16 tokens, 1 and 8 heads, and prefetching within the arithmetic were all slower.
inline constexpr std::size_t tokens_at_once = 8, heads_ahead = 3;

/// scores[r][s] = scale * <q[r], k[s]> for Rows queries and Keys keys.
template <std::size_t Rows, std::size_t Keys, std::floating_point T, class S>
[[gnu::always_inline]] inline void few_by_few_scores(strided_rows<T> scores, T scale,
                                                     strided_rows<T const> q, auto const& k,
                                                     std::size_t dims) noexcept {
  using number = typename lanes<T>::number;
  constexpr auto size = lanes<T>::size;
  number products[Rows * Keys];
  std::array<T, Rows * Keys> sums;
  std::fill_n(products, Rows * Keys, number(T{0}));
  std::size_t i = 0;
  for (; i + size <= dims; i += size) {
    number queries[Rows];
    for (std::size_t r = 0; r < Rows; ++r) queries[r] = lanes<T>::load(q[r] + i);
    for (std::size_t s = 0; s < Keys; ++s) {
      auto const key = lanes<S>::load(k[s] + i);
      for (std::size_t r = 0; r < Rows; ++r)
        products[r * Keys + s] = lanes<T>::multiply_add(queries[r], key, products[r * Keys + s]);
    }
  }
  if constexpr (Rows * Keys == size) {
    lanes<T>::store(sums.data(), lanes<T>::sums(products));
  } else {
    for (std::size_t n = 0; n < sums.size(); ++n) sums[n] = lanes<T>::sum(products[n]);
  }
  for (; i < dims; ++i) {
    for (std::size_t s = 0; s < Keys; ++s) {
      for (std::size_t r = 0; r < Rows; ++r) sums[r * Keys + s] += q[r][i] * load(k[s][i]);
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t s = 0; s < Keys; ++s) scores[r][s] = scale * sums[r * Keys + s];
  }
}

/// The same for any number of keys, in groups whose sums fill one register.
template <std::size_t Rows, std::floating_point T, class S>
void few_scores(strided_rows<T> scores, T scale, strided_rows<T const> q, auto const& k,
                std::size_t keys, std::size_t dims) noexcept {
  constexpr std::size_t together = lanes<T>::size % Rows == 0 ? lanes<T>::size / Rows : 1;
  std::size_t s = 0;
  for (; s + together <= keys; s += together)
    few_by_few_scores<Rows, together, T, S>(scores.beside(s), scale, q, k.from(s), dims);
  for (; s < keys; ++s)
    few_by_few_scores<Rows, 1, T, S>(scores.beside(s), scale, q, k.from(s), dims);
}

/// outputs[r] += sum_s weights[r][s] v[s] for Rows queries, and Width registers of each value.
template <std::size_t Rows, std::size_t Width, std::floating_point T, class S>
[[gnu::always_inline]] inline void few_by_few_outputs(strided_rows<T> outputs,
                                                      strided_rows<T const> weights, auto const& v,
                                                      std::size_t keys) noexcept {
  constexpr std::size_t size = lanes<T>::size;
  typename lanes<T>::number sums[Rows][Width];
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t j = 0; j < Width; ++j) sums[r][j] = lanes<T>::load(outputs[r] + j * size);
  }
  for (std::size_t s = 0; s < keys; ++s) {
    for (std::size_t j = 0; j < Width; ++j) {
      auto const value = lanes<S>::load(v[s] + j * size);
      for (std::size_t r = 0; r < Rows; ++r) {
        sums[r][j] =
            lanes<T>::multiply_add(typename lanes<T>::number(weights[r][s]), value, sums[r][j]);
      }
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t j = 0; j < Width; ++j) lanes<T>::store(outputs[r] + j * size, sums[r][j]);
  }
}

/// The same for whole values.
template <std::size_t Rows, std::floating_point T, class S>
void few_outputs(strided_rows<T> outputs, strided_rows<T const> weights, auto const& v,
                 std::size_t keys, std::size_t dims) noexcept {
  constexpr std::size_t size = lanes<T>::size, wide = has_32_registers ? 4 : 2;
  std::size_t i = 0;
  for (; i + wide * size <= dims; i += wide * size)
    few_by_few_outputs<Rows, wide, T, S>(outputs.beside(i), weights, v.beside(i), keys);
  for (; i + size <= dims; i += size)
    few_by_few_outputs<Rows, 1, T, S>(outputs.beside(i), weights, v.beside(i), keys);
  for (; i < dims; ++i) {
    for (std::size_t r = 0; r < Rows; ++r) {
      for (std::size_t s = 0; s < keys; ++s) outputs[r][i] += weights[r][s] * load(v[s][i]);
    }
  }
}

/// Calls few(constant, row) for four rows at a time, then for one.
void in_fours(std::size_t rows, auto const& few) {
  std::size_t row = 0;
  for (; row + 4 <= rows; row += 4) few(std::integral_constant<std::size_t, 4>(), row);
  for (; row < rows; ++row) few(std::integral_constant<std::size_t, 1>(), row);
}

/// Calls some(head, first token, tokens) for the whole cache, in reading order.
template <class Heads>
void for_tokens_at_once(Heads const& cache, auto const& some) {
  constexpr std::size_t line = 64 / sizeof(typename Heads::element_type);
  auto const end_of = [&](std::size_t first) {
    return std::min(first + tokens_at_once, cache.tokens());
  };
  for (std::size_t first = 0; first < cache.tokens(); first += tokens_at_once) {
    for (std::size_t head = 0; head < cache.heads(); ++head) {
      auto const later = head + heads_ahead,
                 first_later = first + later / cache.heads() * tokens_at_once;
      for (auto token = first_later; token < end_of(first_later); ++token) {
        auto const* const numbers = cache(token, later % cache.heads()).data();
        for (std::size_t i = 0; i < cache.head_dim(); i += line) __builtin_prefetch(numbers + i);
      }
      some(head, first, end_of(first) - first);
    }
  }
}

/// A range of tokens of one head.
template <class S>
strided_rows<S const> rows_from(heads_view<S const> const& x, std::size_t head, std::size_t token) {
  return {x(token, head).data(), x.strides().token};
}
template <class S>
scattered_rows<S> rows_from(scattered_heads<S> const& x, std::size_t head, std::size_t token) {
  return {x.of_head(head), x.offsets(token)};
}

/// scores = scale * q k^T, [heads][rows][keys] and q [heads][rows][head_dim] dense, for the same
/// few rows of every head.
template <std::floating_point T, class S>
void few_scores(T* scores, T scale, T const* q, std::size_t rows, auto const& k) {
  auto const keys = k.tokens(), dims = k.head_dim();
  auto const stride = static_cast<std::ptrdiff_t>(keys),
             dim_stride = static_cast<std::ptrdiff_t>(dims);
  for_tokens_at_once(k, [&](std::size_t head, std::size_t first, std::size_t tokens) {
    in_fours(rows, [&](auto few, std::size_t row) {
      auto const at = head * rows + row;
      few_scores<few, T, S>({scores + at * keys + first, stride}, scale,
                            {q + at * dims, dim_stride}, rows_from(k, head, first), tokens, dims);
    });
  });
}

/// Values are summed in runs of this length, then the sums of the runs, so that rounding errors do
/// not grow with the cache.
inline constexpr std::size_t summed_at_once = 512;

/// outputs += weights v, [heads][rows][value_dim] and weights [heads][rows][keys] dense, of which
/// these are the keys from `first_key` on.
template <std::floating_point T, class S>
void few_outputs(T* outputs, T const* weights, std::size_t rows, auto const& v, std::size_t keys,
                 std::size_t first_key) {
  auto const dims = v.head_dim();
  auto const stride = static_cast<std::ptrdiff_t>(keys),
             dim_stride = static_cast<std::ptrdiff_t>(dims);
  for_tokens_at_once(v, [&](std::size_t head, std::size_t first, std::size_t tokens) {
    in_fours(rows, [&](auto few, std::size_t row) {
      auto const at = head * rows + row;
      few_outputs<few, T, S>({outputs + at * dims, dim_stride},
                             {weights + at * keys + first_key + first, stride},
                             rows_from(v, head, first), tokens, dims);
    });
  });
}

template <std::floating_point T, class S>
void few_outputs(T* outputs, T const* weights, std::size_t rows, auto const& v) {
  if (v.tokens() <= summed_at_once)
    return few_outputs<T, S>(outputs, weights, rows, v, v.tokens(), 0);
  std::vector<T> sums(v.heads() * rows * v.head_dim());
  for (std::size_t first = 0; first < v.tokens(); first += summed_at_once) {
    std::ranges::fill(sums, T{0});
    few_outputs<T, S>(sums.data(), weights, rows,
                      v.slice_tokens(first, std::min(summed_at_once, v.tokens() - first)),
                      v.tokens(), first);
    std::transform(sums.begin(), sums.end(), outputs, outputs, std::plus<T>());
  }
}

}  // namespace posenc::detail
