// The last touch to outputs, however their products were made: shares, and sums that came out NaN.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "posenc/attention/detail/block_shape.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/detail/finite_scores.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// outputs[row] *= shares[row], unless null. A row that comes out infinite or NaN is summed again,
/// in double and over the keys that it sees: hidden values may be anything, NaN included, and the
/// sum before its share may overflow T. v: all tokens of the kv heads.
template <std::floating_point T, class Heads>
void finish_outputs(T* outputs, T const* weights, Heads const& v, block_shape const& b,
                    double const* shares) {
  auto const dims = v.head_dim();
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
      v.read(s, row / b.rows_of_head(), value);
      for (std::size_t i = 0; i < dims; ++i) sums[i] += weight * static_cast<double>(value[i]);
    }
    std::ranges::transform(sums, output.begin(), [](double x) { return static_cast<T>(x); });
  }
}

}}}  // namespace posenc::detail
