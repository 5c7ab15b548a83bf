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

#include "posenc/core/heads_view.hpp"
#include "posenc/core/require.hpp"

namespace posenc::detail {

template <class T>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Rows that lie somewhere, a stride apart: a head of a view, one row a token.
template <class T>
using rows_of = Eigen::Map<matrix<T> const, Eigen::Unaligned, Eigen::OuterStride<>>;

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

/// So few rows of queries are multiplied one by one with a few keys at a time, which are then read once from memory: a decode step. More
/// rows are worth a product that first packs the keys.
inline constexpr Eigen::Index few_rows = 8, keys_at_a_time = 256;

/// scores = scale * q k^T
template <class T>
void multiply_scores(matrix<T>& scores, T scale, rows_of<T> const& q, rows_of<T> const& k) {
  scores.resize(q.rows(), k.rows());
  if (q.rows() > few_rows) return void(scores.noalias() = scale * q * k.transpose());
  for (Eigen::Index s = 0; s < k.rows(); s += keys_at_a_time) {
    auto const count = std::min(keys_at_a_time, k.rows() - s);
    for (Eigen::Index t = 0; t < q.rows(); ++t) {
      scores.row(t).segment(s, count).transpose().noalias() = scale * (k.middleRows(s, count) * q.row(t).transpose());
    }
  }
}

/// outputs = weights v. A value that is not seen may be anything, NaN included: a row that shows it is summed anew over what is seen.
template <class T>
void multiply_outputs(matrix<T>& outputs, matrix<T> const& weights, rows_of<T> const& v) {
  if (weights.rows() > few_rows) {
    outputs.noalias() = weights * v;
  } else {
    outputs.setZero(weights.rows(), v.cols());
    for (Eigen::Index s = 0; s < v.rows(); s += keys_at_a_time) {
      auto const count = std::min(keys_at_a_time, v.rows() - s);
      for (Eigen::Index t = 0; t < weights.rows(); ++t) {
        outputs.row(t).noalias() += weights.row(t).segment(s, count) * v.middleRows(s, count);
      }
    }
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
