// The two products of attention for a few rows of queries, as decoding has them: keys and values are read once.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>

#include "posenc/rotation/lanes.hpp"

namespace posenc::detail {

/// Rows of numbers, a stride apart.
template <class T>
struct strided_rows {
  T* numbers;
  std::ptrdiff_t stride;
  T* operator[](std::size_t row) const noexcept { return numbers + static_cast<std::ptrdiff_t>(row) * stride; }
};

/// How many rows ahead are fetched: neighbouring rows of a head may lie pages apart, where the CPU foresees nothing.
inline constexpr std::size_t ahead = 32;

/// scores[r][s] = scale * <q[r], k[s]> for Rows queries.
template <std::size_t Rows, std::floating_point T>
void few_scores(strided_rows<T> scores, T scale, strided_rows<T const> q, strided_rows<T const> k, std::size_t keys,
                std::size_t dims) noexcept {
  using number = typename lanes<T>::number;
  constexpr auto size = lanes<T>::size;
  for (std::size_t s = 0; s < keys; ++s) {
    number sums[Rows];
    T rest[Rows] = {};
    std::fill_n(sums, Rows, number(T{0}));
    auto const* const key = k[s];
    std::size_t i = 0;
    auto const* const later = k[std::min(s + ahead, keys - 1)];
    for (; i + size <= dims; i += size) {
      __builtin_prefetch(later + i);
      auto const of_key = lanes<T>::load(key + i);
      for (std::size_t r = 0; r < Rows; ++r) sums[r] = lanes<T>::multiply_add(lanes<T>::load(q[r] + i), of_key, sums[r]);
    }
    for (; i < dims; ++i) {
      for (std::size_t r = 0; r < Rows; ++r) rest[r] += q[r][i] * key[i];
    }
    for (std::size_t r = 0; r < Rows; ++r) scores[r][s] = scale * (lanes<T>::sum(sums[r]) + rest[r]);
  }
}

/// outputs[r] = sum_s weights[r][s] v[s] for Rows queries; a few registers of every value at a time.
template <std::size_t Rows, std::floating_point T>
void few_outputs(strided_rows<T> outputs, strided_rows<T const> weights, strided_rows<T const> v, std::size_t keys,
                 std::size_t dims) noexcept {
  using number = typename lanes<T>::number;
  constexpr std::size_t size = lanes<T>::size, wide = many_registers ? 4 : 2;
  std::size_t i = 0;
  auto const columns = [&]<std::size_t Width>(std::integral_constant<std::size_t, Width>) {
    for (; i + Width * size <= dims; i += Width * size) {
      number sums[Rows][Width];
      for (auto& row : sums) std::fill_n(row, Width, number(T{0}));
      for (std::size_t s = 0; s < keys; ++s) {
        auto const* const value = v[s] + i;
        auto const* const later = v[std::min(s + ahead, keys - 1)] + i;
        for (std::size_t j = 0; j < Width; ++j) {
          __builtin_prefetch(later + j * size);
          auto const of_value = lanes<T>::load(value + j * size);
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
      T sum = 0;
      for (std::size_t s = 0; s < keys; ++s) sum += weights[r][s] * v[s][i];
      outputs[r][i] = sum;
    }
  }
}

/// Calls few(constant, row) for rows in fours, then one by one.
void in_fours(std::size_t rows, auto const& few) {
  std::size_t row = 0;
  for (; row + 4 <= rows; row += 4) few(std::integral_constant<std::size_t, 4>(), row);
  for (; row < rows; ++row) few(std::integral_constant<std::size_t, 1>(), row);
}

}  // namespace posenc::detail
