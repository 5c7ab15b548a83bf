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

/// The squares of the first dims of a head, as many as return says, in a register of sums.
template <class S>
[[gnu::always_inline]] inline std::size_t add_squares(S const* head, std::size_t count,
                                                      typename lanes<S>::number& sum) noexcept {
  typename lanes<S>::number sums[2] = {arithmetic_t<S>(0), arithmetic_t<S>(0)};
  std::size_t i = 0;
  for (; i + 2 * lanes<S>::size <= count; i += 2 * lanes<S>::size) {
    typename lanes<S>::number x[2];
    if constexpr (lanes<S>::size == 1) {
      x[0] = posenc::load(head[i]), x[1] = posenc::load(head[i + 1]);
    } else if constexpr (lanes<S>::free_deinterleave) {
      lanes<S>::load_pairs(head + i, x[0], x[1]);
    } else {
      halves::load<lanes<S>>(head + i, 0, lanes<S>::size, x[0], x[1]);
    }
    for (std::size_t j = 0; j < 2; ++j) sums[j] = lanes<S>::multiply_add(x[j], x[j], sums[j]);
  }
  sum = sums[0] + sums[1];
  return i;
}

/// scale / sqrt(mean square + eps) for up to Most heads: the gain that the rotation applies to
/// each. As many heads at a time as a register has numbers.
template <class Real, std::size_t Most>
struct head_gains {
  static_assert(Most % lanes<Real>::size == 0);
  Real values[Most];

  template <class S>
  void compute(S const* head, std::ptrdiff_t stride, std::size_t heads, std::size_t head_dim,
               Real eps, Real scale) noexcept {
    using arithmetic_lanes = lanes<Real>;
    using number = typename arithmetic_lanes::number;
    constexpr auto size = arithmetic_lanes::size;
    for (std::size_t first = 0; first < heads; first += size) {
      auto const count = std::min(size, heads - first);
      number squares[size];
      Real rest[size] = {};
      std::size_t done = 0;
      for (std::size_t i = 0; i < count; ++i, head += stride)
        done = add_squares(head, head_dim, squares[i]);
      for (auto i = count; i < size; ++i) squares[i] = squares[0];  // zeros would call memset
      auto sum = arithmetic_lanes::sums(squares);
      if (done < head_dim) {
        head -= static_cast<std::ptrdiff_t>(count) * stride;
        for (std::size_t i = 0; i < count; ++i, head += stride) {
          for (auto j = done; j < head_dim; ++j)
            rest[i] = multiply_add(posenc::load(head[j]), posenc::load(head[j]), rest[i]);
        }
        sum = sum + arithmetic_lanes::load(rest);
      }
      auto const mean_square = sum / number(static_cast<Real>(head_dim));
      arithmetic_lanes::store(
          values + first, number(scale) / arithmetic_lanes::square_root(mean_square + number(eps)));
    }
  }
};

/// The sum of the squares of a head.
template <class S>
arithmetic_t<S> sum_of_squares(S const* head, std::size_t count) noexcept {
  typename lanes<S>::number sums;
  auto const done = add_squares(head, count, sums);
  auto sum = lanes<S>::sum(sums);
  for (auto i = done; i < count; ++i)
    sum = multiply_add(posenc::load(head[i]), posenc::load(head[i]), sum);
  return sum;
}

}  // namespace detail
}  // namespace posenc
