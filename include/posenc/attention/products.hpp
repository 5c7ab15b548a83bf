// The two matrix products of attention. (Eigen)
#pragma once

// clang and g++ 12 warn of Eigen, g++ of its own AVX-512 headers within it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wunused-variable"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Core>
#pragma GCC diagnostic pop

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/attention/decode_products.hpp"
#include "posenc/attention/scattered_heads.hpp"
#include "posenc/attention/visible_keys.hpp"
#include "posenc/core/bit_cast.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/target.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Rows of a matrix, from one to the next `stride` numbers.
template <class T>
auto rows_of(T* numbers, std::size_t rows, std::size_t columns, std::ptrdiff_t stride) {
  using matrix =
      Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using map = Eigen::Map<std::conditional_t<std::is_const_v<T>, matrix const, matrix>,
                         Eigen::Unaligned, Eigen::OuterStride<>>;
  return map(numbers, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns),
             Eigen::OuterStride<>(stride));
}
template <class T>
auto dense_rows(T* numbers, std::size_t rows, std::size_t columns) {
  return rows_of(numbers, rows, columns, static_cast<std::ptrdiff_t>(columns));
}
/// A range of tokens of a view with one head, one row per token.
template <class T>
auto token_rows(heads_view<T> const& head, token_range tokens) {
  return rows_of(head(tokens.first, 0).data(), tokens.last - tokens.first, head.head_dim(),
                 head.strides().token);
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

/// What heads that are read are stored as: numbers, or a format.
template <class Heads>
struct stored_element {
  using type = std::remove_const_t<typename Heads::element_type>;
};
template <encoded_source Heads>
struct stored_element<Heads> {
  using type = typename Heads::format_type;
};
template <class Heads>
using element_of = typename stored_element<Heads>::type;

/// Up to this many rows per kv head, keys and values are read in place, all kv heads at once;
/// beyond, a packed GEMM pays.
inline constexpr std::size_t few_rows = 8;

/// Calls product(first row, rows, first key within the block, keys, those keys as tokens) for
/// rectangles that cover what queries see, whose ends 32 rows share; numbers are Eigen's Index.
void for_rectangles(block_shape const& b, auto const& product) {
  in_rectangles(b.ranges, std::max<std::size_t>(32 / b.group, 1),
                [&](std::size_t query, std::size_t queries, token_range const& keys) {
                  auto const index = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
                  product(index(query * b.group), index(queries * b.group),
                          index(keys.first - b.keys.first), index(keys.last - keys.first), keys);
                });
}

/// to += scale a b. Eigen sums the terms of a small product in an order that goes by the address of
/// `to`; here the same numbers give the same bits wherever they are.
void add_product(auto&& to, auto scale, auto const& a, auto const& b) {
  if (a.rows() + a.cols() + b.cols() >= EIGEN_GEMM_TO_COEFFBASED_THRESHOLD) {
    to.noalias() += scale * a * b;
    return;
  }
  for (Eigen::Index i = 0; i < to.rows(); ++i) {
    for (Eigen::Index j = 0; j < to.cols(); ++j) {
      decltype(scale) sum = 0;
      for (Eigen::Index n = 0; n < a.cols(); ++n) sum += a(i, n) * b(n, j);
      to(i, j) += scale * sum;
    }
  }
}

/// scores = scale * q k^T, within the rectangles; elsewhere scores are unspecified. q:
/// [rows][head_dim] dense; k: all tokens of the kv heads.
template <std::floating_point T, class Heads>
void multiply_scores(T* scores, T scale, T const* q, Heads const& k, block_shape const& b) {
  if (b.rows_of_head() <= few_rows) {
    std::vector<T> near(b.rows() * near_tokens);
    few_scores<T, element_of<Heads>>(scores, scale, q, b.rows_of_head(),
                                     k.slice_tokens(b.keys.first, b.seen()), near.data());
  } else if constexpr (std::same_as<Heads, heads_view<T const>>) {  // one kv head
    auto all = dense_rows(scores, b.rows(), b.seen());
    auto const queries = dense_rows(q, b.rows(), k.head_dim());
    for_rectangles(b, [&](auto row, auto rows, auto column, auto columns, token_range const& keys) {
      auto to = all.block(row, column, rows, columns);
      to.setZero();
      add_product(to, scale, queries.middleRows(row, rows), token_rows(k, keys).transpose());
    });
  }
}

/// Tests exponent bits; branch-free, so that it vectorises.
template <std::floating_point T>
bool all_finite(std::span<T const> numbers) noexcept {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr auto infinity = static_cast<bits>(detail::bit_cast<bits>(masked_score<T>) << 1);
  bits highest = 0;
  for (auto const x : numbers)
    highest = std::max(highest, static_cast<bits>(detail::bit_cast<bits>(x) << 1));
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
    std::vector<T> sums(b.rows() * dims), near(b.rows() * near_tokens);
    few_outputs<T, element_of<Heads>>(outputs, weights, b.rows_of_head(),
                                      v.slice_tokens(b.keys.first, b.seen()), sums.data(),
                                      near.data());
  } else if constexpr (std::same_as<Heads, heads_view<T const>>) {
    auto all = dense_rows(outputs, b.rows(), dims);
    auto const of_keys = dense_rows(weights, b.rows(), b.seen());
    for_rectangles(b, [&](auto row, auto rows, auto column, auto columns, token_range const& keys) {
      add_product(all.middleRows(row, rows), T{1}, of_keys.block(row, column, rows, columns),
                  token_rows(v, keys));
    });
  }
  for (std::size_t row = 0; shares != nullptr && row < b.rows(); ++row) {
    for (auto& x : std::span(outputs + row * dims, dims)) x *= static_cast<T>(shares[row]);
  }
  if (all_finite(std::span<T const>(outputs, b.rows() * dims))) return;
  std::vector<double> sums(dims);
  std::vector<T> value(dims);
  for (std::size_t row = 0; row < b.rows(); ++row) {
    std::span<T> const output(outputs + row * dims, dims);
    if (all_finite(std::span<T const>(output))) continue;
    std::ranges::fill(sums, 0);
    auto const [first, last] = b.ranges[row % b.rows_of_head() / b.group];
    for (auto s = first; s < last; ++s) {
      auto const weight = static_cast<double>(weights[row * b.seen() + s - b.keys.first]) *
                          (shares == nullptr ? 1 : shares[row]);
      if (weight == 0) continue;
      read_head(v, s, row / b.rows_of_head(), value.data());
      for (std::size_t i = 0; i < dims; ++i) sums[i] += weight * static_cast<double>(value[i]);
    }
    std::ranges::transform(sums, output.begin(), [](double x) { return static_cast<T>(x); });
  }
}

/// sums += factors^T rows, of one kv head. Factors are 0 where a row does not see a key; the row
/// may be NaN there, and is then left out.
template <std::floating_point T>
void add_transposed_product(heads_view<T> const& sums, T const* factors, T const* rows,
                            block_shape const& b) {
  auto const dims = sums.head_dim();
  auto const of_keys = dense_rows(factors, b.rows(), b.seen());
  auto const all = dense_rows(rows, b.rows(), dims);
  if (b.rows() <= few_rows || !all_finite(std::span(rows, b.rows() * dims))) {
    for (Eigen::Index row = 0; row < all.rows(); ++row) {
      for (std::size_t s = 0; s < b.seen(); ++s) {
        auto const factor = of_keys(row, static_cast<Eigen::Index>(s));
        if (factor != 0)
          dense_rows(sums(b.keys.first + s, 0).data(), 1, dims) += factor * all.middleRows(row, 1);
      }
    }
    return;
  }
  for_rectangles(b, [&](auto row, auto count, auto column, auto columns, token_range const& keys) {
    add_product(token_rows(sums, keys), T{1},
                of_keys.block(row, column, count, columns).transpose(), all.middleRows(row, count));
  });
}

}  // namespace posenc::detail
