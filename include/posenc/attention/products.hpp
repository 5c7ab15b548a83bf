// The two matrix products of attention, of one key-value head. (Eigen)
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
#include <cstddef>
#include <span>
#include <vector>

#include "posenc/attention/few_rows.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/require.hpp"

namespace posenc::detail {

template <class T>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Rows that lie somewhere, a stride apart: a head of a view, one row a token.
template <class T>
using rows_of = Eigen::Map<matrix<T> const, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Dense rows in memory that is made once for the largest of them: another size each time would be other memory each time.
template <class T>
using block_of = Eigen::Map<matrix<T>>;

template <class T>
block_of<T> block(std::vector<T>& numbers, std::size_t rows, std::size_t columns) {
  if (numbers.size() < rows * columns) numbers.resize(rows * columns);
  return {numbers.data(), static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns)};
}

/// The one head of a view.
template <class T>
rows_of<T> head_rows(heads_view<T const> const& head) {
  return {head.tokens() == 0 ? nullptr : head(0, 0).data(), static_cast<Eigen::Index>(head.tokens()),
          static_cast<Eigen::Index>(head.head_dim()), Eigen::OuterStride<>(head.strides().token)};
}

/// So many rows of dense numbers.
template <class T>
rows_of<T> dense_rows(std::vector<T> const& numbers, std::size_t rows) {
  auto const dims = static_cast<Eigen::Index>(numbers.size() / rows);
  return {numbers.data(), static_cast<Eigen::Index>(rows), dims, Eigen::OuterStride<>(dims)};
}

/// Some of the rows.
template <class T>
rows_of<T> middle_rows(rows_of<T> const& rows, std::size_t first, std::size_t count) {
  return {rows.data() + static_cast<Eigen::Index>(first) * rows.outerStride(), static_cast<Eigen::Index>(count), rows.cols(),
          Eigen::OuterStride<>(rows.outerStride())};
}

/// So few rows of queries read the keys as they lie. More are worth a product that first packs them.
inline constexpr Eigen::Index few_rows = 8;

template <class T>
strided_rows<T const> strided(rows_of<T> const& rows) {
  return {rows.data(), rows.outerStride()};
}

/// scores = scale * q k^T
template <class T>
void multiply_scores(block_of<T> scores, T scale, rows_of<T> const& q, rows_of<T> const& k) {
  if (q.rows() > few_rows) return void(scores.noalias() = scale * q * k.transpose());
  auto const keys = static_cast<std::size_t>(k.rows()), dims = static_cast<std::size_t>(k.cols());
  in_fours(static_cast<std::size_t>(q.rows()), [&](auto few, std::size_t row) {
    auto const stride = static_cast<std::ptrdiff_t>(keys);
    few_scores<few, T>({scores.data() + static_cast<std::ptrdiff_t>(row) * stride, stride}, scale, {strided(q)[row], q.outerStride()},
                       strided(k), keys, dims);
  });
}

/// outputs = weights v. A value that is not seen may be anything, NaN included: a row that shows it is summed anew over what is seen.
template <class T>
void multiply_outputs(block_of<T> outputs, block_of<T> const& weights, rows_of<T> const& v) {
  if (weights.rows() > few_rows) {
    outputs.noalias() = weights * v;
  } else {
    auto const keys = static_cast<std::size_t>(v.rows()), dims = static_cast<std::size_t>(v.cols());
    in_fours(static_cast<std::size_t>(weights.rows()), [&](auto few, std::size_t row) {
      few_outputs<few, T>({outputs.data() + row * dims, outputs.cols()}, {weights.data() + row * keys, weights.cols()}, strided(v), keys,
                          dims);
    });
  }
  for (Eigen::Index t = 0; t < outputs.rows(); ++t) {
    std::span<T const> const row(outputs.data() + t * outputs.cols(), static_cast<std::size_t>(outputs.cols()));
    if (std::ranges::all_of(row, [](T x) { return is_finite(static_cast<double>(x)); })) continue;
    outputs.row(t).setZero();
    for (Eigen::Index s = 0; s < weights.cols(); ++s) {
      if (weights(t, s) != 0) outputs.row(t) += weights(t, s) * v.row(s);
    }
  }
}

}  // namespace posenc::detail
