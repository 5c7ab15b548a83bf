// The two products of attention for a few rows of queries, as decoding has them: keys and values are read once, where they lie.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "posenc/core/heads_view.hpp"
#include "posenc/rotation/lanes.hpp"

namespace posenc::detail {

/// Rows of numbers, a stride apart.
template <class T>
struct strided_rows {
  T* numbers;
  std::ptrdiff_t stride;
  T* operator[](std::size_t row) const noexcept { return numbers + static_cast<std::ptrdiff_t>(row) * stride; }
  strided_rows from(std::size_t row) const noexcept { return {(*this)[row], stride}; }
};

/// So many tokens of a cache are read head by head before the next ones: their pages stay known to the CPU. Meanwhile the next but so many
/// are fetched, for where heads lie apart it foresees nothing.
inline constexpr std::size_t tokens_at_once = 16;

/// scores[r][s] = scale * <q[r], k[s]> for Rows queries.
template <std::size_t Rows, std::floating_point T, class S>
void few_scores(strided_rows<T> scores, T scale, strided_rows<T const> q, strided_rows<S const> k, std::size_t keys,
                std::size_t dims) noexcept {
  using number = typename lanes<T>::number;
  constexpr auto size = lanes<T>::size;
  for (std::size_t s = 0; s < keys; ++s) {
    number sums[Rows];
    T rest[Rows] = {};
    std::fill_n(sums, Rows, number(T{0}));
    auto const* const key = k[s];
    std::size_t i = 0;
    for (; i + size <= dims; i += size) {
      auto const of_key = lanes<S>::load(key + i);
      for (std::size_t r = 0; r < Rows; ++r) sums[r] = lanes<T>::multiply_add(lanes<T>::load(q[r] + i), of_key, sums[r]);
    }
    for (; i < dims; ++i) {
      for (std::size_t r = 0; r < Rows; ++r) rest[r] += q[r][i] * load(key[i]);
    }
    for (std::size_t r = 0; r < Rows; ++r) scores[r][s] = scale * (lanes<T>::sum(sums[r]) + rest[r]);
  }
}

/// outputs[r] += sum_s weights[r][s] v[s] for Rows queries; a few registers of every value at a time.
template <std::size_t Rows, std::floating_point T, class S>
void few_outputs(strided_rows<T> outputs, strided_rows<T const> weights, strided_rows<S const> v, std::size_t keys,
                 std::size_t dims) noexcept {
  using number = typename lanes<T>::number;
  constexpr std::size_t size = lanes<T>::size, wide = many_registers ? 4 : 2;
  std::size_t i = 0;
  auto const columns = [&]<std::size_t Width>(std::integral_constant<std::size_t, Width>) {
    for (; i + Width * size <= dims; i += Width * size) {
      number sums[Rows][Width];
      for (std::size_t r = 0; r < Rows; ++r) {
        for (std::size_t j = 0; j < Width; ++j) sums[r][j] = lanes<T>::load(outputs[r] + i + j * size);
      }
      for (std::size_t s = 0; s < keys; ++s) {
        auto const* const value = v[s] + i;
        for (std::size_t j = 0; j < Width; ++j) {
          auto const of_value = lanes<S>::load(value + j * size);
          for (std::size_t r = 0; r < Rows; ++r) sums[r][j] = lanes<T>::multiply_add(number(weights[r][s]), of_value, sums[r][j]);
        }
      }
      for (std::size_t r = 0; r < Rows; ++r) {
        for (std::size_t j = 0; j < Width; ++j) lanes<T>::store(outputs[r] + i + j * size, sums[r][j]);
      }
    }
  };
  columns(std::integral_constant<std::size_t, wide>());
  columns(std::integral_constant<std::size_t, 1>());
  for (; i < dims; ++i) {
    for (std::size_t r = 0; r < Rows; ++r) {
      for (std::size_t s = 0; s < keys; ++s) outputs[r][i] += weights[r][s] * load(v[s][i]);
    }
  }
}

/// Calls few(constant, row) for rows in fours, then one by one.
void in_fours(std::size_t rows, auto const& few) {
  std::size_t row = 0;
  for (; row + 4 <= rows; row += 4) few(std::integral_constant<std::size_t, 4>(), row);
  for (; row < rows; ++row) few(std::integral_constant<std::size_t, 1>(), row);
}

/// Calls some(head, first token, tokens) for all of a cache, in the order in which it is read, and fetches what comes next.
template <class S>
void for_tokens_at_once(heads_view<S> const& cache, auto const& some) {
  constexpr std::size_t line = 64 / sizeof(S);
  for (std::size_t first = 0; first < cache.tokens(); first += tokens_at_once) {
    auto const tokens = std::min(tokens_at_once, cache.tokens() - first), next = first + tokens_at_once;
    for (std::size_t head = 0; head < cache.heads(); ++head) {
      for (std::size_t token = next; token < std::min(next + tokens_at_once, cache.tokens()); ++token) {
        auto const row = cache(token, head);
        for (std::size_t i = 0; i < row.size(); i += line) __builtin_prefetch(row.data() + i);
      }
      some(head, first, tokens);
    }
  }
}

/// One head of some tokens.
template <class S>
strided_rows<S const> rows_from(heads_view<S const> const& x, std::size_t head, std::size_t token) {
  return {x(token, head).data(), x.strides().token};
}

/// scores = scale * q k^T, [heads][rows][keys] and q [heads][rows][head_dim] dense, for the same few rows of every head.
template <std::floating_point T, class S>
void few_scores(T* scores, T scale, T const* q, std::size_t rows, heads_view<S const> const& k) {
  auto const keys = k.tokens(), dims = k.head_dim();
  auto const stride = static_cast<std::ptrdiff_t>(keys), dim_stride = static_cast<std::ptrdiff_t>(dims);
  for_tokens_at_once(k, [&](std::size_t head, std::size_t first, std::size_t tokens) {
    in_fours(rows, [&](auto few, std::size_t row) {
      auto const at = head * rows + row;
      few_scores<few, T, S>({scores + at * keys + first, stride}, scale, {q + at * dims, dim_stride}, rows_from(k, head, first), tokens,
                            dims);
    });
  });
}

/// outputs += weights v, [heads][rows][value_dim] and weights [heads][rows][keys] dense.
template <std::floating_point T, class S>
void few_outputs(T* outputs, T const* weights, std::size_t rows, heads_view<S const> const& v) {
  auto const keys = v.tokens(), dims = v.head_dim();
  auto const stride = static_cast<std::ptrdiff_t>(keys), dim_stride = static_cast<std::ptrdiff_t>(dims);
  for_tokens_at_once(v, [&](std::size_t head, std::size_t first, std::size_t tokens) {
    in_fours(rows, [&](auto few, std::size_t row) {
      auto const at = head * rows + row;
      few_outputs<few, T, S>({outputs + at * dims, dim_stride}, {weights + at * keys + first, stride}, rows_from(v, head, first), tokens,
                             dims);
    });
  });
}

}  // namespace posenc::detail
