// Rotates head vectors in place: every pair by its token's angle.
#pragma once

#include <cstddef>
#include <type_traits>

#include "posenc/core/heads_view.hpp"
#include "posenc/rotation/cos_sin_rows.hpp"
#include "posenc/rotation/kernel.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"

namespace posenc {
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
  for (std::size_t token = 0; token < rotated.tokens() && rotated.heads() > 0; ++token) {
    detail::token_heads<T> const heads{rotated(token, 0).data(), rotated.strides().head, rotated.heads(), rows.pairs()};
    for (auto const turning : rows.turning()) {
      detail::rotate_heads<Layout>(heads, rows.cos(token).data(), rows.sin(token).data(), turning);
    }
  }
}

}  // namespace posenc
