// The RMS norm of a head before its rotation.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>

#include "posenc/core/target.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/multiply_add.hpp"

namespace posenc::inline POSENC_TARGET {

/// x_i w_i / sqrt(sum x^2 / n + eps) for a head x of n dims [Zhang 2019], applied before the
/// rotation in Qwen 3 and Gemma 3. (Gemma's w is 1 + its stored weight.) The weights must outlive
/// the rotation. Squares are summed in its arithmetic: in float, |x| above 1e19 overflows.
template <std::floating_point Real>
struct rms_norm {
  std::span<Real const> weight;  ///< [head_dim], or empty for 1
  Real eps;                      ///< added to the mean of squares
};

namespace detail {

template <class S>
arithmetic_t<S> sum_of_squares(S const* head, std::size_t count) noexcept {
  arithmetic_t<S> sum = 0;
  std::size_t i = 0;
  if constexpr (lanes<S>::size > 1) {
    using number = typename lanes<S>::number;
    number sums[2] = {number(0), number(0)};
    for (; i + 2 * lanes<S>::size <= count; i += 2 * lanes<S>::size) {
      number x[2];
      if constexpr (lanes<S>::free_deinterleave) {
        lanes<S>::load_pairs(head + i, x[0], x[1]);
      } else {
        halves::load<lanes<S>>(head + i, 0, lanes<S>::size, x[0], x[1]);
      }
      for (std::size_t j = 0; j < 2; ++j) sums[j] = lanes<S>::multiply_add(x[j], x[j], sums[j]);
    }
    sum = lanes<S>::sum(sums[0] + sums[1]);
  }
  for (; i < count; ++i) sum = multiply_add(posenc::load(head[i]), posenc::load(head[i]), sum);
  return sum;
}

/// scale / sqrt(mean square + eps) for up to Most heads: the gain that the rotation applies to
/// each.
template <class Real, std::size_t Most>
struct head_gains {
  static_assert(Most % lanes<Real>::size == 0);
  Real values[Most];

  template <class S>
  void compute(S const* head, std::ptrdiff_t stride, std::size_t heads, std::size_t head_dim,
               Real eps, Real scale) noexcept {
    for (std::size_t i = 0; i < heads; ++i)
      values[i] = sum_of_squares(head + static_cast<std::ptrdiff_t>(i) * stride, head_dim);
    std::fill(values + heads, values + Most, Real{1});
    using arithmetic_lanes = lanes<Real>;
    using number = typename arithmetic_lanes::number;
    for (std::size_t i = 0; i < heads; i += arithmetic_lanes::size) {
      auto const mean_square =
          arithmetic_lanes::load(values + i) / number(static_cast<Real>(head_dim));
      arithmetic_lanes::store(
          values + i, number(scale) / arithmetic_lanes::square_root(mean_square + number(eps)));
    }
  }
};

}  // namespace detail
}  // namespace posenc
