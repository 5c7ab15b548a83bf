// Rotates head vectors: every pair by its token's angle.
#pragma once

#include "posenc/core/heads_view.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/checked.hpp"
#include "posenc/rotation/cut.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotation.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// Rotates in place what rotate_whole_blocks leaves. Not inlined, so that its views stay in
/// registers there.
template <class Layout, class View, class Rows>
[[gnu::noinline]] void rotate_in_place(View const& heads, Rows const& rows, rotary_block block) {
  auto const& view = view_of<View>(rows);
  head_factors<arithmetic_t<typename View::element_type>> const factors;
  auto const c = check_in_place<Layout>(heads, block, factors, view);
  if (heads.heads() != 0 && heads.tokens() != 0)
    rotate_cut(c, {0, heads.tokens(), 0, heads.heads()});
}

}  // namespace detail

/// Rotates the pairs of each head vector x[t][h] by the angles of token t:
///
///     x' = x cos - y sin,   y' = x sin + y cos          [Su 2021, 3.2.2]
///
///     rotate<halves>(q, rows);                            in place
///     rotate<halves>(k, cache, rows);                     to other memory, in another type
///     rotate<interleaved, halves>(k, cache, rows);        to another layout
///     rotate(rows,                                        q and k in one pass over each,
///            rotation_of<halves>(q).norm({w_q, 1e-6f}).scale(s),            with norm and scale
///            rotation_of<halves>(k, paged_heads(pages, shape, slots)).norm({w_k, 1e-6f}));
///
/// Heads: [tokens][heads][head_dim], any strides, any storable type. rows: [tokens], of rows/;
/// float, or double for heads of doubles. Arithmetic is in their type, rounded once to the
/// target's. Rotates rows.rotary_dim() dims, the first ones unless `block` says otherwise. All
/// other dims, and pairs of frequency 0, are left alone in place, and copied otherwise.
/// rows.inverse() undoes it. Any split by tokens or heads gives the same bits; between CPUs with
/// and without fused multiply-add, the last bit may differ. Allocates nothing. Throws
/// std::invalid_argument, before anything is changed, unless there is one row per token, the shapes
/// agree, the block lies within the head, and heads that are written overlap no others. Not
/// checked: rows, weights and slots must not overlap them either.
template <class Rows, detail::set_of_heads First, detail::set_of_heads... More>
void rotate(Rows const& rows, First const& first, More const&... more) {
  if constexpr (detail::are_right<Rows, First>()) {
    auto const& view = detail::view_of<First>(rows);
    [&](auto const&... checked) {
      detail::check_apart(first, more...);
      (detail::rotate_all(checked), ...);
    }(first.check(view), more.check(view)...);
  }
}

/// From source to target, see above: to other memory, another type, another layout.
template <class From = void, class To = From, heads_of_tokens Source, heads_of_tokens Target,
          class Rows>
void rotate(Source const& source, Target const& target, Rows const& rows,
            rotary_block block = rotary_block::first()) {
  if constexpr (detail::are_right<From, To, Source, Target>() &&
                detail::are_right<Rows, Target>()) {
    auto const& view = detail::view_of<Target>(rows);
    detail::rotate_all(detail::check<From, To, false>(source, target, block, {}, view));
  }
}

/// In place, see above. Layout: halves or interleaved.
template <class Layout = void, heads_of_tokens V, class Rows>
void rotate(V const& heads, Rows const& rows, rotary_block block = rotary_block::first()) {
  if constexpr (detail::are_right<Layout, Layout, V, V>() && detail::are_right<Rows, V>()) {
    auto const& view = detail::view_of<V>(rows);
    auto const dim = heads.head_dim(), rotary = view.rotary_dim();
    if (view.tokens() != heads.tokens() || heads.heads() == 0 || !block.fits(dim, rotary) ||
        !detail::rotate_whole_blocks<Layout>(heads, view, block.first_dim(dim, rotary)))
      detail::rotate_in_place<Layout>(heads, rows, block);
  }
}

}  // namespace posenc
