// Rotates head vectors in place: every pair by its token's angle.
#pragma once

#include <cstddef>
#include <type_traits>

#include "posenc/core/heads_view.hpp"
#include "posenc/rotation/cos_sin_rows.hpp"
#include "posenc/rotation/lanes.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"

namespace posenc {
namespace detail {

// (x + iy)(c + is), for the pairs from `pair` on while whole groups of Lanes::size fit; answers where it stopped.
template <class Layout, class Lanes, class T, class Real>
std::size_t rotate_pairs(T* block, std::size_t pairs, Real const* cos, Real const* sin, std::size_t pair, std::size_t last) noexcept {
  for (; pair + Lanes::size <= last; pair += Lanes::size) {
    typename Lanes::number x, y;
    Layout::template load<Lanes>(block, pair, pairs, x, y);
    auto const c = Lanes::load_row(cos + pair), s = Lanes::load_row(sin + pair);
    Layout::template store<Lanes>(block, pair, pairs, Lanes::multiply_subtract(x, c, y * s), Lanes::multiply_add(x, s, y * c));
  }
  return pair;
}

}  // namespace detail

/// Rotates the pairs of each head vector x[t][h] by the angles of token t:
///
///     x' = x cos - y sin,   y' = x sin + y cos          [Su 2021, 3.2.2]
///
/// x: [tokens][heads][head_dim], any strides, any storable type. rows: [tokens], float or, for doubles, double.
/// Rotates rows.rotary_dim() dims, the first ones unless `block` says otherwise; the other dims, and pairs of frequency 0, are not
/// touched. Arithmetic is in the type of the rows, rounded once to T. Splitting the work by tokens or heads gives the same bits.
/// Throws std::invalid_argument, before anything is changed, unless the tokens agree and the block lies within the head.
/// Undo with rows.inverse(). Allocates nothing.
template <pair_layout Layout, writable T>
void rotate(heads_view<T> const& x, std::type_identity_t<cos_sin_view<arithmetic_t<T>>> const& rows,
            rotary_block block = rotary_block::first()) {
  detail::require(rows.tokens() == x.tokens(), "rotate: there must be one row a token, got ", rows.tokens(), " rows for ", x.tokens(),
                  " tokens");
  auto const rotated = block.of(x, rows.rotary_dim());
  for (std::size_t token = 0; token < rotated.tokens(); ++token) {
    auto const* const cos = rows.cos(token).data();
    auto const* const sin = rows.sin(token).data();
    for (std::size_t head = 0; head < rotated.heads(); ++head) {
      auto* const pairs = rotated(token, head).data();
      for (auto const [first, last] : rows.turning()) {
        auto const rest = detail::rotate_pairs<Layout, detail::lanes<T>>(pairs, rows.pairs(), cos, sin, first, last);
        detail::rotate_pairs<Layout, detail::one_lane<T>>(pairs, rows.pairs(), cos, sin, rest, last);
      }
    }
  }
}

}  // namespace posenc
