// Rotates head vectors: every pair by its token's angle.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/detail/checked_operand.hpp"
#include "posenc/rotation/detail/rotate_views.hpp"
#include "posenc/rotation/operand.hpp"
#include "posenc/rotation/rotary_block.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Rotates the pairs of each head vector x[t][h] by the angles of token t:
///
///     x' = x cos - y sin,   y' = x sin + y cos          [Su 2021, 3.2.2]
///
/// in one pass over each operand: norm, rotation, scale, rounding, and the write to its target.
///
///     rotate<halves>(q, rows);                            in place
///     rotate<halves>(k, cache, rows);                     to other memory, in another type
///     rotate<interleaved, halves>(k, cache, rows);        to another layout
///
///     heads_view const k_cache(q8_0{}, k_pages, shape, slots), v_cache(...);
///     rotate(rows,                                        a layer's step, in one call
///            rotated<halves>(q).norm({w_q, 1e-6f}).scale(s),   queries stay in place
///            rotated<halves>(k, k_cache).norm({w_k, 1e-6f}),   keys go into pages
///            unrotated(v, v_cache));                           values do not rotate
///     rotate(unrotated(v, v_cache));                      no rows, if nothing rotates
///     rotate(tasks(4, pool), rows, ...);                  on threads: rotate_in_tasks.hpp
///
/// Heads: [tokens][heads][head_dim], views of numbers or in a format, at strides or in pages, or a
/// head_sink of yours. rows: [tokens], of rows/, or [heads of rows][tokens]: head h of H heads has
/// the rows of head h / (H / heads of rows). They are float, or double for heads of doubles.
/// Arithmetic is in the type of the rows, rounded once to the target's. Rotates rows.rotary_dim()
/// dims, the first ones unless `block` says otherwise. All other dims, and pairs of frequency 0,
/// are left alone in place, and copied otherwise. rows.inverse() undoes it. A token with a negative
/// slot in the source or the target is left out. Any split by tokens, heads or tasks gives the same
/// bits; between CPUs with and without fused multiply-add, the last bit may differ. Allocates
/// nothing.
///
/// Throws std::invalid_argument, before anything is changed, unless
///
/// - there is one row per token, and the shapes of source and target agree (without rows, operands
///   may have any tokens); heads are a multiple of the heads of rows
/// - slots are within pages; in a format they are distinct (numbers keep the last token's)
/// - the rotary block lies within the head, of at most 4096 dims where heads go through L1: to or
///   from a format or a struct of yours, with rounding points, or with a norm that is not the usual
///   one (RMS before the rotation, eps inside the root, weights as they are)
/// - source and target are the same heads in the same layout, or do not overlap
/// - what an operand writes overlaps nothing that another reads or writes
///
/// Not checked: the memory of your own sinks. Rows, weights and slots must not overlap what is
/// written either.
template <class Rows, rotary_operand First, rotary_operand... More>
void rotate(Rows const& rows, First const& first,
            More const&... more) requires(!rotary_operand<Rows> && !detail::splits_work<Rows>) {
  detail::for_checked(rows, detail::rotate_each, first, more...);
}
/// rotate for operands that do not rotate: norm, scale, transform, another type or format. See
/// above.
template <rotary_operand First, rotary_operand... More>
void rotate(First const& first, More const&... more) {
  detail::for_checked(detail::no_rows(), detail::rotate_each, first, more...);
}
/// From source to target, see above: to other memory, another type, another layout.
template <class From = void, class To = From, any_heads Source, class Target, class Rows>
void rotate(Source const& source, Target const& target, Rows const& rows,
            rotary_block block = rotary_block::first()) {
  detail::rotate_view_to<From, To>(source, target, rows, block);
}
/// In place, see above. Layout: halves or interleaved.
template <class Layout = void, any_heads V, class Rows>
void rotate(V const& heads, Rows const& rows, rotary_block block = rotary_block::first()) {
  detail::rotate_view<Layout>(heads, rows, block);
}

/// Whatever else is given.
template <class...>
void rotate(...) = delete;  // posenc: rotate takes views and rows, or rows and operands

}}  // namespace posenc
