// Rotates head vectors: every pair by its token's angle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "posenc/core/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/detail/slot_search.hpp"
#include "posenc/heads/heads_in_format.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/overlap.hpp"
#include "posenc/rotation/detail/checked.hpp"
#include "posenc/rotation/detail/cut.hpp"
#include "posenc/rotation/detail/step.hpp"
#include "posenc/rotation/head_sink.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/operand.hpp"
#include "posenc/rotation/rotary_block.hpp"

namespace posenc { inline namespace POSENC_TARGET {
namespace detail {

template <class H>
concept rotary_operand = requires {
  requires H::is_operand;
};

/// Throws as rotate says, of two operands.
void check_apart(auto const& a, auto const& b) {
  auto const apart = [](auto const& x, auto const& y) {
    require(!may_overlap(x, y),
            "rotate: heads that one rotation of a call writes must not overlap those of another");
  };
  for_each_sink(b.target(), [&](auto const& to) { apart(a.source(), to); });
  for_each_sink(a.target(), [&](auto const& to) {
    apart(b.source(), to);
    for_each_sink(b.target(), [&](auto const& other) { apart(to, other); });
  });
}
template <class First, class... More>
void check_all_apart(First const& first, More const&... more) {
  (check_apart(first, more), ...);
  if constexpr (sizeof...(more) > 1) check_all_apart(more...);
}

/// An operand that passed.
template <class Operand>
struct checked_operand {
  Operand const& heads;
  cos_sin_view<typename Operand::real> const& rows;
  bool in_place;
  std::size_t first_dim;

  [[gnu::always_inline]] checked_operand(Operand const& operand,
                                         cos_sin_view<typename Operand::real> const& view)
      : heads(operand),
        rows(view),
        in_place(operand.check(view)),
        first_dim(operand.first_dim(view)) {}

  void run(part_of_heads const& part) const {
    if constexpr (Operand::is_plain) {
      rotate_part(checked_heads<typename Operand::from_layout, typename Operand::to_layout,
                                Operand::is_scaled, typename Operand::source_type,
                                typename Operand::target_type>{heads.source(), heads.target(),
                                                               heads.scale(), rows, first_dim,
                                                               Operand::is_scaled || !in_place},
                  part);
    } else if (part.tokens != 0 && part.heads != 0) {
      step<Operand>(heads, rows, first_dim).run(part);
    }
  }
  void run() const { run({0, rows.tokens(), 0, heads.source().heads()}); }
};

/// Throws if a slot in a format would be written twice, in the order of tasks. What keys and values
/// share is looked at once.
template <class... Operands>
void check_slots(Operands const&... operands) {
  std::span<std::int64_t const> checked;
  auto const check = [&]<class To>(To const& to) {
    if constexpr (heads_in_format<To>) {
      auto const slots = to.slots();
      if (slots.data() == checked.data() && slots.size() == checked.size()) return;
      require_each_slot_once(slots), checked = slots;
    }
  };
  (for_each_sink(operands.target(), check), ...);
}

/// Checks operands, alone and with each other, then runs them: run(checked operands ...).
template <class Rows, class Run, class First, class... More>
[[gnu::always_inline]] inline void check_and_run(Rows const& rows, Run const& run,
                                                 First const& first, More const&... more) {
  auto const& view = view_of<First>(rows);
  [&](auto const&... checked) POSENC_INLINED {
    check_slots(first, more...);
    if constexpr (sizeof...(more) > 0) check_all_apart(first, more...);
    run(checked...);
  }(checked_operand<First>(first, view), checked_operand<More>(more, view)...);
}

/// Rotates in place what rotate_whole_blocks leaves. Not inlined, so that its views stay in
/// registers there.
template <class Layout, class View, class Rows>
[[gnu::noinline]] void rotate_in_place(View const& heads, Rows const& rows, rotary_block block) {
  using real = arithmetic_t<typename View::element_type>;
  constexpr real one = 1;
  auto const& view = view_of<View>(rows);
  require(view.tokens() == heads.tokens(), "rotate: there must be one row per token, got ",
          view.tokens(), " rows for ", heads.tokens(), " tokens");
  auto const first_dim = block.first_dim(heads.head_dim(), view.rotary_dim());
  if (heads.heads() != 0 && heads.tokens() != 0)
    rotate_cut(checked_heads<Layout, Layout, false, View, View, true>{heads, heads, one, view,
                                                                      first_dim, false},
               {0, heads.tokens(), 0, heads.heads()});
}

}  // namespace detail

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
///     rotate(tasks(4, pool), rows, ...);                  in tasks: rotate_in_tasks.hpp
///
/// Heads: [tokens][heads][head_dim], views of numbers or in a format, at strides or in pages, or a
/// head_sink of yours. rows: [tokens], of rows/; float, or double for heads of doubles. Arithmetic
/// is in their type, rounded once to the target's. Rotates rows.rotary_dim() dims, the first ones
/// unless `block` says otherwise. All other dims, and pairs of frequency 0, are left alone in
/// place, and copied otherwise. rows.inverse() undoes it. A token with a negative slot in the
/// source or the target is left out. Any split by tokens, heads or tasks gives the same bits;
/// between CPUs with and without fused multiply-add, the last bit may differ. Allocates nothing.
///
/// Throws std::invalid_argument, before anything is changed, unless
///
/// - there is one row per token, and the shapes of source and target agree
/// - slots are within pages; in a format they are distinct (numbers keep the last token's)
/// - the rotary block lies within the head, of at most 4096 dims where heads go through L1: to or
///   from a format or a struct of yours, with rounding points, or with a norm that is not the usual
///   one (RMS before the rotation, eps inside the root, weights as they are)
/// - source and target are the same heads in the same layout, or do not overlap
/// - what an operand writes overlaps nothing that another reads or writes
///
/// Not checked: the memory of your own sinks. Rows, weights and slots must not overlap what is
/// written either.
template <class Rows, detail::rotary_operand First, detail::rotary_operand... More>
void rotate(Rows const& rows, First const& first, More const&... more) {
  if constexpr (detail::are_right<Rows, First>())
    detail::check_and_run(
        rows, [](auto const&... checked) { (checked.run(), ...); }, first, more...);
}

/// From source to target, see above: to other memory, another type, another layout.
template <class From = void, class To = From, any_heads Source, class Target, class Rows>
void rotate(Source const& source, Target const& target, Rows const& rows,
            rotary_block block = rotary_block::first()) {
  if constexpr (detail::are_right<From, To, Source, Target>()) {
    if constexpr (heads_of_numbers<Source> && heads_of_numbers<Target> &&
                  detail::are_right<Rows, Source>()) {
      // Copies of the views, which an operand keeps, would cost as much as rotating a few heads.
      auto const& view = detail::view_of<Source>(rows);
      constexpr typename detail::real_of<Source>::type one = 1;
      bool const in_place =
          detail::check_heads<std::same_as<From, To>>(source, target, view.tokens(), true);
      detail::rotate_part(
          detail::checked_heads<From, To, false, Source, Target>{
              source, target, one, view, block.first_dim(source.head_dim(), view.rotary_dim()),
              !in_place},
          {0, source.tokens(), 0, source.heads()});
    } else {
      rotate(rows, rotated<From, To>(source, target).block(block));
    }
  }
}
/// In place, see above. Layout: halves or interleaved.
template <class Layout = void, any_heads V, class Rows>
void rotate(V const& heads, Rows const& rows, rotary_block block = rotary_block::first()) {
  if constexpr (detail::are_right<Layout, Layout, V, V>() && detail::are_right<Rows, V>()) {
    if constexpr (heads_of_numbers<V>) {
      auto const& view = detail::view_of<V>(rows);
      auto const dim = heads.head_dim(), rotary = view.rotary_dim();
      if (view.tokens() != heads.tokens() || heads.heads() == 0 || !block.fits(dim, rotary) ||
          !detail::rotate_whole_blocks<Layout>(heads, view, block.first_dim(dim, rotary)))
        detail::rotate_in_place<Layout>(heads, rows, block);
    } else {
      rotate(rows, rotated<Layout>(heads).block(block));
    }
  }
}

/// Whatever else is given.
template <class...>
void rotate(...) = delete;  // posenc: rotate takes views and rows, or rows and operands

}}  // namespace posenc
