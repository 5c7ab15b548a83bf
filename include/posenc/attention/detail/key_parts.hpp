// Sums of softmax over parts of the keys, added in the order of the keys.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>

#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/softmax/row_exponentials.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Rows, each over some of its keys: the sum of their exponentials, and the outputs as if they were
/// all its keys.
template <std::floating_point T>
struct partial_rows {
  scaled_sum* sums = nullptr;  ///< [rows]
  T* outputs = nullptr;        ///< [rows][value_dim]
  std::size_t value_dim = 0;

  partial_rows() = default;
  partial_rows(scratch& memory, std::size_t rows, std::size_t dim) : value_dim(dim) {
    sums = memory.take<scaled_sum>(rows);
    outputs = memory.take<T>(rows, dim);
  }
  /// Those from a row on.
  partial_rows from(std::size_t row) const noexcept {
    auto rows = *this;
    rows.sums += row;
    rows.outputs += row * value_dim;
    return rows;
  }
  /// Rows of no keys.
  void clear(std::size_t rows) const noexcept {
    std::fill_n(sums, rows, scaled_sum(1, std::numeric_limits<double>::lowest(), 0));
    std::fill_n(outputs, rows * value_dim, T{0});
  }

  /// Adds to a row what other keys give it: with w = e^(largest - the larger one) sum, outputs are
  /// (w a + w' b) / (w + w').
  void add(std::size_t row, scaled_sum const& sum, T const* others) const noexcept {
    if (sum.sum == 0) return;
    auto* const to = outputs + row * value_dim;
    if (sums[row].sum == 0) {
      sums[row] = sum;
      std::copy_n(others, value_dim, to);
      return;
    }
    auto const before = sums[row];
    auto const less = std::exp(-std::abs(before.largest - sum.largest));  // the larger one's is 1
    auto const w = before.sum * (before.largest < sum.largest ? less : 1),
               of_others = sum.sum * (before.largest < sum.largest ? 1 : less), all = w + of_others;
    sums[row].largest = std::max(before.largest, sum.largest);
    sums[row].sum = all;
    auto const mine = static_cast<T>(w / all), theirs = static_cast<T>(of_others / all);
    if (mine == 0) {
      std::transform(others, others + value_dim, to, [&](T x) { return theirs * x; });
    } else if (theirs == 0) {
      for (std::size_t i = 0; i < value_dim; ++i) to[i] *= mine;
    } else {
      for (std::size_t i = 0; i < value_dim; ++i) to[i] = mine * to[i] + theirs * others[i];
    }
  }

  /// Multiplies the outputs of a row by the share that a sink leaves.
  void leave_share(std::size_t row, double sink) const noexcept {
    if (is_masked(sink)) return;
    auto const left = static_cast<T>(sums[row].sum * share_of(sums[row], sink).share);
    for (auto& x : std::span(outputs + row * value_dim, value_dim)) x *= left;
  }
};

}}}  // namespace posenc::detail
