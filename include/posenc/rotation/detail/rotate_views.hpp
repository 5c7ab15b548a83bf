// Views that are rotated in place, or one to another, with nothing else done to them.
//
// Copies of the views, which an operand keeps, would cost as much as rotating a few heads.
#pragma once

#include <concepts>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/detail/checked_operand.hpp"
#include "posenc/rotation/detail/checks.hpp"
#include "posenc/rotation/detail/cut.hpp"
#include "posenc/rotation/detail/heads_of_rows.hpp"
#include "posenc/rotation/detail/number_rotation.hpp"
#include "posenc/rotation/operand.hpp"
#include "posenc/rotation/rotary_block.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// As rotate of a source, a target and rows.
template <class From, class To, class Source, class Target, class Rows>
void rotate_view_to(Source const& source, Target const& target, Rows const& rows,
                    rotary_block block) {
  if constexpr (are_right<From, To, Source, Target>()) {
    if constexpr (!heads_of_numbers<Source> || !heads_of_numbers<Target>) {
      for_checked(rows, rotate_each, rotated<From, To>(source, target).block(block));
    } else if constexpr (are_right<Rows, Source>()) {
      auto const& view = view_of<Source>(rows);
      constexpr typename real_of<Source>::type one = 1;
      bool const in_place =
          check_heads<std::same_as<From, To>>(source, target, view.tokens(), true);
      auto const first_dim = block.first_dim(source.head_dim(), view.rotary_dim());
      check_heads_of_rows(view, source.heads());
      for_heads_of_rows(view, source.heads(), {0, source.tokens(), 0, source.heads()},
                        [&](auto const& own, part_of_heads const& part) {
                          rotate_part(
                              number_rotation<From, To, false, Source, Target>{
                                  source, target, one, own, first_dim, !in_place},
                              part);
                        });
    }
  }
}

/// Rotates in place what rotate_whole_blocks leaves. Not inlined, so that its views stay in
/// registers there.
template <class Layout, class View, class Rows>
[[gnu::noinline]] void rotate_cut_view(View const& heads, Rows const& rows, rotary_block block) {
  using real = arithmetic_t<typename View::element_type>;
  constexpr real one = 1;
  auto const& view = view_of<View>(rows);
  require(view.tokens() == heads.tokens(), "rotate: there must be one row per token, got ",
          view.tokens(), " rows for ", heads.tokens(), " tokens");
  auto const first_dim = block.first_dim(heads.head_dim(), view.rotary_dim());
  check_heads_of_rows(view, heads.heads());
  if (heads.heads() != 0 && heads.tokens() != 0)
    for_heads_of_rows(view, heads.heads(), {0, heads.tokens(), 0, heads.heads()},
                      [&](auto const& own, part_of_heads const& part) {
                        rotate_cut(
                            number_rotation<Layout, Layout, false, View, View, true>{
                                heads, heads, one, own, first_dim, false},
                            part);
                      });
}

/// As rotate of a view and rows.
template <class Layout, class V, class Rows>
POSENC_ALWAYS_INLINE inline void rotate_view(V const& heads, Rows const& rows, rotary_block block) {
  if constexpr (are_right<Layout, Layout, V, V>() && are_right<Rows, V>()) {
    if constexpr (heads_of_numbers<V>) {
      auto const& view = view_of<V>(rows);
      auto const dim = heads.head_dim(), rotary = view.rotary_dim();
      if (view.tokens() != heads.tokens() || heads.heads() == 0 || !block.fits(dim, rotary) ||
          !rotate_whole_blocks<Layout>(heads, view, block.first_dim(dim, rotary)))
        rotate_cut_view<Layout>(heads, rows, block);
    } else {
      for_checked(rows, rotate_each, rotated<Layout>(heads).block(block));
    }
  }
}

}}}  // namespace posenc::detail
