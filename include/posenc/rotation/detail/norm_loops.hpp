// The arithmetic of a head's norm: gains for the kernel, or the norm alone; and what rounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/head_norm.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/multiply_add.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The squares of the first dims of a head, as many as return says, in a register of sums.
template <class S>
POSENC_ALWAYS_INLINE inline std::size_t add_squares(S const* head, std::size_t count,
                                                    typename lanes<S>::number& sum) noexcept {
  typename lanes<S>::number sums[2] = {arithmetic_t<S>(0), arithmetic_t<S>(0)};
  std::size_t i = 0;
  for (; i + 2 * lanes<S>::size <= count; i += 2 * lanes<S>::size) {
    typename lanes<S>::number x[2];
    if constexpr (lanes<S>::size == 1) {
      x[0] = posenc::load(head[i]);
      x[1] = posenc::load(head[i + 1]);
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

/// Rounds to T, or to nothing.
template <class T, class Real>
void round_to([[maybe_unused]] std::span<Real> x, [[maybe_unused]] bool here) noexcept {
  if constexpr (storable<T>) {
    if (here)
      each_of(x.size(),
              [&](std::size_t i) { x[i] = static_cast<Real>(storage_format_t<T>(x[i])); });
  }
}

/// Norms a head. Round: what is rounded to, or nothing.
template <class Round, class W, class Real>
void apply_norm(head_norm<W> const& norm, std::span<Real> head,
                rounding_points const& points) noexcept {
  auto const squares = sum_of_squares(head.data(), head.size());
  auto const r = norm.kind == norm_kind::rms ? squares / static_cast<Real>(head.size()) : squares;
  auto const root = norm.eps_place == norm_eps::inside    ? std::sqrt(r + norm.eps)
                    : norm.eps_place == norm_eps::outside ? std::sqrt(r) + norm.eps
                                                          : std::max(std::sqrt(r), norm.eps);
  auto const gain = 1 / root;
  each_of(head.size(), [&](std::size_t i) { head[i] *= gain; });
  round_to<Round>(head, points.normalised);
  if (!norm.weight.empty()) {
    auto const one = norm.plus_one ? Real{1} : Real{0};
    each_of(head.size(), [&](std::size_t i) { head[i] *= load(norm.weight[i]) + one; });
  }
  round_to<Round>(head, points.norm);
}

/// Rotates the rotary block of a head, which begins at first_dim, pair by pair, each operation
/// rounded where it shall be.
template <class Round, class From, class To, class Real>
void rotate_rounded(cos_sin_view<Real> const& rows, std::size_t token, std::size_t first_dim,
                    std::span<Real const> from, std::span<Real> to,
                    rounding_points const& points) noexcept {
  auto const rounded = [](bool here, Real x) POSENC_INLINED {
    return here ? static_cast<Real>(storage_format_t<Round>(x)) : x;
  };
  std::ranges::copy(from, to.begin());
  auto const pairs = rows.pairs();
  auto const cos = rows.cos(token), sin = rows.sin(token);
  for (std::size_t i = 0; i < pairs; ++i) {
    auto const c = rounded(points.cosines, cos[i]), s = rounded(points.cosines, sin[i]);
    auto const x = from[first_dim + From::x_index(i, pairs)],
               y = from[first_dim + From::y_index(i, pairs)];
    auto const product = [&](Real a, Real b) { return rounded(points.products, stored(a * b)); };
    to[first_dim + To::x_index(i, pairs)] = rounded(points.products, product(x, c) - product(y, s));
    to[first_dim + To::y_index(i, pairs)] = rounded(points.products, product(y, c) + product(x, s));
  }
}

}}}  // namespace posenc::detail
