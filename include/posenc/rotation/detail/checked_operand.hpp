// Operands of a rotation that passed their checks, alone and with each other; parts of them run.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/heads/detail/slot_search.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/overlap.hpp"
#include "posenc/rotation/detail/checks.hpp"
#include "posenc/rotation/detail/cut.hpp"
#include "posenc/rotation/detail/heads_of_rows.hpp"
#include "posenc/rotation/detail/number_rotation.hpp"
#include "posenc/rotation/detail/step.hpp"
#include "posenc/rotation/head_sink.hpp"
#include "posenc/rotation/operand.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// An operand that passed.
template <class Operand>
struct checked_operand {
  Operand const& heads;
  cos_sin_view<typename Operand::real> const& rows;
  bool in_place;
  std::size_t first_dim;

  POSENC_ALWAYS_INLINE checked_operand(Operand const& operand,
                                       cos_sin_view<typename Operand::real> const& view)
      : heads(operand),
        rows(view),
        in_place(operand.check(view)),
        first_dim(operand.first_dim(view)) {}

  void rotate(part_of_heads const& part) const {
    if constexpr (Operand::is_plain) {
      for_heads_of_rows(
          rows, heads.source().heads(), part, [this](auto const& own, part_of_heads const& some) {
            rotate_part(
                number_rotation<typename Operand::from_layout, typename Operand::to_layout,
                                Operand::is_scaled, typename Operand::source_type,
                                typename Operand::target_type>{heads.source(), heads.target(),
                                                               heads.scale(), own, first_dim,
                                                               Operand::is_scaled || !in_place},
                some);
          });
    } else if (part.tokens != 0 && part.heads != 0) {
      step<Operand>(heads, rows, first_dim).run(part);
    }
  }
  void rotate_all() const { rotate({0, rows.tokens(), 0, heads.source().heads()}); }
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

/// Throws if a slot in a format would be written twice, in the order of tasks. Slots that
/// keys and values share are looked at once.
template <class... Operands>
void check_slots(Operands const&... operands) {
  std::span<std::int64_t const> checked;
  auto const check = [&]<class To>(To const& to) {
    if constexpr (heads_in_format<To>) {
      auto const slots = to.slots();
      if (slots.data() == checked.data() && slots.size() == checked.size()) return;
      require_each_slot_once(slots, "rotate");
      checked = slots;
    }
  };
  (for_each_sink(operands.target(), check), ...);
}

/// In place of rows, where nothing rotates.
struct no_rows {};

/// The rows of one operand: the rows that all operands get, or none for each of its tokens.
template <class Rows>
struct rows_of_each {
  Rows const& rows;
  template <class Operand>
  POSENC_ALWAYS_INLINE Rows const& of(Operand const&) const noexcept {
    return rows;
  }
};
template <>
struct rows_of_each<no_rows> {
  template <class Operand>
  cos_sin_view<typename Operand::real> of(Operand const& operand) const noexcept {
    return {nullptr, operand.source().tokens(), 0, std::span<pair_range const>()};
  }
};

/// Checks operands, alone and with each other, then calls act(checked operands ...).
template <class First, class... More>
POSENC_ALWAYS_INLINE inline void check_then(auto const& rows, auto const& act, First const& first,
                                            More const&... more) {
  [&](auto const&... checked) POSENC_INLINED {
    check_slots(first, more...);
    if constexpr (sizeof...(more) > 0) check_all_apart(first, more...);
    act(checked...);
  }(checked_operand<First>(first, rows.of(first)), checked_operand<More>(more, rows.of(more))...);
}

/// The same where the types of rows and operands are right.
template <class Rows, class First, class... More>
POSENC_ALWAYS_INLINE inline void for_checked(Rows const& rows, auto const& act, First const& first,
                                             More const&... more) {
  if constexpr (std::same_as<Rows, no_rows>) {
    constexpr bool none_rotates = !(First::rotates || ... || More::rotates);
    static_assert(none_rotates, "posenc: heads that rotate must have rows: rotate(rows, ...)");
    if constexpr (none_rotates) check_then(rows_of_each<no_rows>(), act, first, more...);
  } else if constexpr (are_right<Rows, First>()) {
    auto const& view = view_of<First>(rows);
    check_then(rows_of_each<cos_sin_view<typename First::real>>{view}, act, first, more...);
  }
}

/// Rotates all of each operand.
inline constexpr auto rotate_each = [](auto const&... checked) { (checked.rotate_all(), ...); };

}}}  // namespace posenc::detail
