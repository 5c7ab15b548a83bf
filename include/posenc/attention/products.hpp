// The two matrix products of attention. (Eigen)
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // g++ 12 warns of its own AVX-512 headers within Eigen
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Core>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/attention/decode_products.hpp"
#include "posenc/attention/visible_keys.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/target.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc::inline POSENC_TARGET::detail {

template <class T>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Rows of a matrix with a stride.
template <class T>
using rows_of = Eigen::Map<
    std::conditional_t<std::is_const_v<T>, matrix<std::remove_const_t<T>> const, matrix<T>>,
    Eigen::Unaligned, Eigen::OuterStride<>>;

template <class T>
rows_of<T> dense_rows(T* numbers, std::size_t rows, std::size_t columns) {
  return {numbers, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns),
          Eigen::OuterStride<>(static_cast<Eigen::Index>(columns))};
}

/// A range of tokens of a view with one head, one row per token.
template <class T>
rows_of<T const> token_rows(heads_view<T const> const& head, token_range tokens) {
  return {head(tokens.first, 0).data(), static_cast<Eigen::Index>(tokens.last - tokens.first),
          static_cast<Eigen::Index>(head.head_dim()), Eigen::OuterStride<>(head.strides().token)};
}

/// The rows of a block, [kv heads][queries][group]. Each spans the hull of the key ranges of all
/// queries of the block.
struct block_shape {
  std::span<token_range const> ranges;  ///< of each query
  token_range keys;                     ///< their hull
  std::size_t kv_heads, group;

  std::size_t queries() const noexcept { return ranges.size(); }
  std::size_t rows_of_head() const noexcept { return queries() * group; }
  std::size_t rows() const noexcept { return kv_heads * rows_of_head(); }
  std::size_t seen() const noexcept { return keys.last - keys.first; }
};

/// What heads that are read are stored as.
template <class Heads>
using element_of = std::remove_const_t<typename Heads::element_type>;

/// Up to this many rows per kv head, keys and values are read in place, all kv heads at once;
/// beyond, a packed GEMM pays.
inline constexpr std::size_t few_rows = 8;

/// This many rows share the end of a rectangle.
inline constexpr std::size_t rows_of_edge = 32;

/// Calls product(first row, rows, first key within the block, keys, those keys as tokens) for
/// rectangles that cover what queries see; numbers are Eigen's Index.
void for_rectangles(block_shape const& b, auto const& product) {
  in_rectangles(b.ranges, std::max<std::size_t>(rows_of_edge / b.group, 1),
                [&](std::size_t query, std::size_t queries, token_range const& keys) {
                  auto const index = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
                  product(index(query * b.group), index(queries * b.group),
                          index(keys.first - b.keys.first), index(keys.last - keys.first), keys);
                });
}

/// to = scale a b, or to += a b. Eigen sums the terms of a small product in an order that goes by
/// the address of `to`; here the same numbers give the same bits wherever they are.
template <bool Add>
void multiply(auto&& to, auto scale, auto const& a, auto const& b) {
  if (a.rows() + a.cols() + b.cols() >= EIGEN_GEMM_TO_COEFFBASED_THRESHOLD) {
    if constexpr (Add) {
      to.noalias() += scale * a * b;
    } else {
      to.noalias() = scale * a * b;
    }
    return;
  }
  for (Eigen::Index i = 0; i < to.rows(); ++i) {
    for (Eigen::Index j = 0; j < to.cols(); ++j) {
      decltype(scale) sum = 0;
      for (Eigen::Index n = 0; n < a.cols(); ++n) sum += a(i, n) * b(n, j);
      to(i, j) = Add ? to(i, j) + scale * sum : scale * sum;
    }
  }
}

/// scores = scale * q k^T, within the rectangles; elsewhere scores are unspecified. q:
/// [rows][head_dim] dense; k: all tokens of the kv heads.
template <std::floating_point T, class Heads>
void multiply_scores(T* scores, T scale, T const* q, Heads const& k, block_shape const& b) {
  if (b.rows_of_head() <= few_rows)
    return few_scores<T, element_of<Heads>>(scores, scale, q, b.rows_of_head(),
                                            k.slice_tokens(b.keys.first, b.seen()));
  if constexpr (std::same_as<Heads, heads_view<T const>>) {  // one kv head
    auto all = dense_rows(scores, b.rows(), b.seen());
    auto const queries = dense_rows(q, b.rows(), k.head_dim());
    for_rectangles(b, [&](auto row, auto rows, auto column, auto columns, token_range const& keys) {
      multiply<false>(all.block(row, column, rows, columns), scale, queries.middleRows(row, rows),
                      token_rows(k, keys).transpose());
    });
  }
}

/// Tests exponent bits; branch-free, so that it vectorises.
template <std::floating_point T>
bool all_finite(std::span<T const> numbers) noexcept {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr auto infinity = static_cast<bits>(std::bit_cast<bits>(masked_score<T>) << 1);
  bits highest = 0;
  for (auto const x : numbers)
    highest = std::max(highest, static_cast<bits>(std::bit_cast<bits>(x) << 1));
  return highest < infinity;
}

/// outputs[row] = shares[row] weights[row] v; without shares if null. A row that comes out infinite
/// or NaN is summed again, in double and over the keys that it sees: hidden values may be anything,
/// NaN included, and the sum before its share may overflow T.
template <std::floating_point T, class Heads>
void multiply_outputs(T* outputs, T const* weights, Heads const& v, block_shape const& b,
                      double const* shares = nullptr) {
  auto const dims = v.head_dim();
  std::fill_n(outputs, b.rows() * dims, T{0});
  if (b.rows_of_head() <= few_rows) {
    few_outputs<T, element_of<Heads>>(outputs, weights, b.rows_of_head(),
                                      v.slice_tokens(b.keys.first, b.seen()));
  } else if constexpr (std::same_as<Heads, heads_view<T const>>) {
    auto all = dense_rows(outputs, b.rows(), dims);
    auto const of_keys = dense_rows(weights, b.rows(), b.seen());
    for_rectangles(b, [&](auto row, auto rows, auto column, auto columns, token_range const& keys) {
      multiply<true>(all.middleRows(row, rows), T{1}, of_keys.block(row, column, rows, columns),
                     token_rows(v, keys));
    });
  }
  for (std::size_t row = 0; shares != nullptr && row < b.rows(); ++row) {
    for (auto& x : std::span(outputs + row * dims, dims)) x *= static_cast<T>(shares[row]);
  }
  if (all_finite(std::span<T const>(outputs, b.rows() * dims))) return;
  std::vector<double> sums(dims);
  for (std::size_t row = 0; row < b.rows(); ++row) {
    std::span<T> const output(outputs + row * dims, dims);
    if (all_finite(std::span<T const>(output))) continue;
    std::ranges::fill(sums, 0);
    auto const [first, last] = b.ranges[row % b.rows_of_head() / b.group];
    for (auto s = first; s < last; ++s) {
      auto const weight = static_cast<double>(weights[row * b.seen() + s - b.keys.first]) *
                          (shares == nullptr ? 1 : shares[row]);
      if (weight == 0) continue;
      auto const value = v(s, row / b.rows_of_head());
      for (std::size_t i = 0; i < dims; ++i)
        sums[i] += weight * static_cast<double>(load(value[i]));
    }
    std::ranges::transform(sums, output.begin(), [](double x) { return static_cast<T>(x); });
  }
}

/// sums[s] += factors[row][s] rows[row] for keys s of one kv head, skipping factors of 0.
template <std::floating_point T>
void add_row(heads_view<T> const& sums, T const* factors, T const* rows, block_shape const& b,
             std::size_t row) {
  auto const numbers = dense_rows(rows + row * sums.head_dim(), 1, sums.head_dim());
  for (std::size_t s = 0; s < b.seen(); ++s) {
    auto const factor = factors[row * b.seen() + s];
    if (factor != 0)
      dense_rows(sums(b.keys.first + s, 0).data(), 1, sums.head_dim()) += factor * numbers;
  }
}

/// sums += factors^T rows, of one kv head. Factors are 0 where a row does not see a key; the row
/// may be NaN there.
template <std::floating_point T>
void add_transposed_product(heads_view<T> const& sums, T const* factors, T const* rows,
                            block_shape const& b) {
  if (b.rows() <= few_rows) {
    for (std::size_t row = 0; row < b.rows(); ++row) add_row(sums, factors, rows, b, row);
    return;
  }
  auto const dims = sums.head_dim();
  std::vector<T> finite;
  for (std::size_t row = 0; row < b.rows(); ++row) {
    if (all_finite(std::span(rows + row * dims, dims))) continue;
    add_row(sums, factors, rows, b, row);
    if (finite.empty()) finite.assign(rows, rows + b.rows() * dims);
    std::fill_n(finite.data() + row * dims, dims, T{0});
  }
  auto const of_keys = dense_rows(factors, b.rows(), b.seen());
  auto const all = dense_rows(finite.empty() ? rows : std::as_const(finite).data(), b.rows(), dims);
  for_rectangles(b, [&](auto row, auto count, auto column, auto columns, token_range const& keys) {
    rows_of<T> some(sums(keys.first, 0).data(), columns, all.cols(),
                    Eigen::OuterStride<>(sums.strides().token));
    multiply<true>(some, T{1}, of_keys.block(row, column, count, columns).transpose(),
                   all.middleRows(row, count));
  });
}

}  // namespace posenc::detail
