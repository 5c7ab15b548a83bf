// A softmax over keys that are split: the parts of a row, added in the order of keys.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>

#include "posenc/core/scratch.hpp"
#include "posenc/core/target.hpp"
#include "posenc/softmax/row_exponentials.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Rows, each over some of its keys: the sum of their exponentials, and the outputs as if they were
/// all its keys.
template <std::floating_point T>
struct partial_rows {
  scaled_sum* sums = nullptr;  ///< [rows]
  T* outputs = nullptr;        ///< [rows][value_dim]
  std::size_t value_dim = 0;

  partial_rows() = default;
  partial_rows(scratch& memory, std::size_t rows, std::size_t dim) : value_dim(dim) {
    sums = memory.take<scaled_sum>(rows), outputs = memory.take<T>(rows, dim);
  }
  /// Those from a row on.
  partial_rows from(std::size_t row) const noexcept {
    auto rows = *this;
    rows.sums += row, rows.outputs += row * value_dim;
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
    auto& all = sums[row];
    auto* const to = outputs + row * value_dim;
    if (sum.sum == 0) return;
    auto const before = all;
    all.add(sum);
    auto const share_of = [&](scaled_sum const& some) {
      return static_cast<T>(some.sum == 0 ? 0
                                          : std::exp(some.largest - all.largest) * some.sum / all.sum);
    };
    auto const mine = share_of(before), theirs = share_of(sum);
    if (mine == 0) {
      std::transform(others, others + value_dim, to, [&](T x) { return theirs * x; });
    } else if (theirs == 0) {
      for (std::size_t i = 0; i < value_dim; ++i) to[i] *= mine;
    } else {
      for (std::size_t i = 0; i < value_dim; ++i) to[i] = mine * to[i] + theirs * others[i];
    }
  }

  /// Multiplies the outputs by the share that a sink leaves, and returns the row's log_sum_exp.
  double finish(std::size_t row, double sink) const noexcept {
    auto const& all = sums[row];
    auto const [log_sum_exp, share] = share_of(all, sink);
    auto const left = static_cast<T>(all.sum * share);
    for (std::size_t i = 0; !is_masked(sink) && i < value_dim; ++i)
      outputs[row * value_dim + i] *= left;
    return log_sum_exp;
  }
};

}  // namespace posenc::detail
