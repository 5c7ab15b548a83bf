// Attention to keys that were split: partial results become one.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>

#include "posenc/attention/attention.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The result of attention to the keys of both: with weights w = e^(log_sum_exp - the larger one),
/// outputs are (w_a a + w_b b) / (w_a + w_b), and log_sum_exp is ln(e^a + e^b). Associative up to
/// rounding, so shards of several machines (ring attention) or pieces of a cache may be merged in
/// any order. Scores and weights are not kept. Exact for rules of site 4 that do not depend on
/// other keys (a constant, by position), since each part has its own statistics; and for sinks if
/// only one part has them, even one without keys. Both results must be of the same queries, heads
/// and values. Throws std::invalid_argument unless both have as many rows and outputs.
template <std::floating_point T>
[[nodiscard]] attention_result<T> merge(attention_result<T> const& a,
                                        attention_result<T> const& b) {
  auto const rows = a.log_sum_exp.size();
  detail::require(b.log_sum_exp.size() == rows && b.outputs.size() == a.outputs.size(),
                  "merge: both must have as many rows and outputs, got ", rows, " and ",
                  a.outputs.size(), " for ", b.log_sum_exp.size(), " and ", b.outputs.size());
  detail::require(rows == 0 ? a.outputs.empty() : a.outputs.size() % rows == 0,
                  "merge: rows must have as many outputs each, got ", a.outputs.size(), " of ",
                  rows, " rows");
  attention_result<T> both{a.outputs, a.log_sum_exp, {}, {}};
  auto const value_dim = rows == 0 ? 0 : a.outputs.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    auto const x = a.log_sum_exp[row], y = b.log_sum_exp[row];
    if (is_masked(y)) continue;
    auto const larger = is_masked(x) ? y : std::max(x, y);
    auto const of_a = is_masked(x) ? 0 : std::exp(x - larger), of_b = std::exp(y - larger),
               sum = of_a + of_b;
    both.log_sum_exp[row] = larger + std::log(sum);
    for (std::size_t i = row * value_dim; i < (row + 1) * value_dim; ++i) {
      auto const share = [&](double weight, T output) {
        return weight == 0 ? 0 : weight * static_cast<double>(output);
      };
      both.outputs[i] =
          static_cast<T>((share(of_a, a.outputs[i]) + share(of_b, b.outputs[i])) / sum);
    }
  }
  return both;
}

}}  // namespace posenc
