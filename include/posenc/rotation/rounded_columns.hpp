// Rotates columns of pairs that the CPU rounds. It rounds tiny numbers wrongly: a column stops at a
// head that holds one, and one function for all columns rotates the rest of that head. If each
// group did so itself, the code would be half as large again.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/columns.hpp"
#include "posenc/rotation/fetch_ahead.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/token_heads.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// A group that the CPU rounds, unless a number of it is tiny.
template <class Group, class Tokens>
concept rounded_unless_tiny = !Tokens::fused && requires {
  typename Group::bound;
};

/// Calls each(0), each(1), ... until one returns false. Returns how many returned true.
template <std::size_t Count>
[[gnu::always_inline]] inline std::size_t unrolled_while(auto const& each) noexcept {
  std::size_t done = 0;
  [&]<std::size_t... I>(std::index_sequence<I...>) POSENC_INLINED {
    static_cast<void>(((each(I) && (++done, true)) && ...));
  }
  (std::make_index_sequence<Count>{});
  return done;
}

// Rotates pairs [pair, last) of a column of one head, and does not let the CPU round them. from, to
// and cos: of the first pair of the column. Defined in by_registers.hpp, whose columns it takes.
template <class From, class To, class Tokens>
void rest_of_head(Tokens const& some, typename Tokens::from_type const* from,
                  typename Tokens::to_type* to, decltype(Tokens::cos) cos, std::size_t pair,
                  std::size_t last) noexcept;

// Rotates one column of `heads`, and advances them. If a head holds a tiny number, it stops at that
// head, and returns how many of the head's groups it has rotated; else it returns Groups.
// last_group: the first pair of the last group, counted from the first pair of the column.
template <class From, class To, class Group, std::size_t Groups, bool Overlaps, class Tokens>
[[gnu::always_inline]] inline std::size_t rotate_until_tiny(Tokens const& some, auto& heads,
                                                            decltype(Tokens::cos) cos,
                                                            std::size_t last_group) noexcept {
  auto const pairs = some.pairs;
  auto const* sin = cos + pairs;
  auto const at_group = [&](std::size_t j) POSENC_INLINED {
    return Overlaps && j + 1 == Groups ? last_group : j * Group::pairs;
  };
  Group groups[Groups];
  typename Group::bound bound;
  unrolled<Groups>([&](std::size_t j) POSENC_INLINED {
    groups[j].load(cos + at_group(j), sin + at_group(j));
    bound.add(groups[j]);
  });
  auto const large = bound.large();
  // Else clang 14 keeps 50 addresses in memory.
  POSENC_NOT_UNROLLED
  for (; heads.left != 0; ++heads) {
    auto const& at = heads.at;
    if (some.pace.ahead) fetch_ahead<From>(at.from, Groups * Group::pairs, pairs);
    typename Group::numbers numbers[Groups];
    auto const finish = [&](std::size_t j) POSENC_INLINED {
      groups[j].finish(at, at_group(j), pairs, numbers[j]);
    };
    unrolled<Groups>([&](std::size_t j)
                         POSENC_INLINED { Group::begin(at, at_group(j), pairs, numbers[j]); });
    auto const written = unrolled_while<Groups>([&](std::size_t j) POSENC_INLINED {
      if (!Overlaps || j + 1 < Groups) finish(j);
      if (Overlaps && j + 2 == Groups) finish(j + 1);
      if (Group::has_tiny(numbers[j], large)) [[unlikely]]
        return false;
      Group::write(at, at_group(j), pairs, numbers[j]);
      return true;
    });
    if (written < Groups) [[unlikely]]
      return written;
  }
  return Groups;
}

/// Whether there is one column at most: only of the widest ones there may be more.
template <class Group, std::size_t Groups>
inline constexpr bool is_one_column_of = widest_column<Group> / Group::pairs > Groups;
/// Whether its last group may overlap the one before.
template <class Group, std::size_t Groups>
inline constexpr bool overlaps = Groups > 1 && Groups <= most_before_tail<Group> + 1;

// As `columns`. Of the widest columns there may be several; a narrower one is the only one, and
// ends at `last`. Its last group may overlap the group before, so that it needs no tail: the CPU
// reads both groups before it writes either, and writes the same bits twice to the pairs that they
// share.
template <class From, class To, class Group, std::size_t Groups, class Tokens>
[[gnu::noinline]] std::size_t rounded_columns(Tokens const& some, std::size_t pair,
                                              std::size_t last) noexcept {
  constexpr bool is_one = is_one_column_of<Group, Groups>;
  constexpr auto width = Groups * Group::pairs;
  auto const of_column = is_one ? last - pair : width,
             stop = is_one ? last : pair + (last - pair) / width * width,
             last_group = of_column - Group::pairs;
  auto const* cos = some.cos;
  POSENC_NOT_UNROLLED
  for (auto column : tokens_of(some)) {
    move_pairs<From, To>(column, pair);
    for (auto i = pair; i < stop; i += of_column, move_pairs<From, To>(column, width)) {
      for (auto heads = heads_of(some, column);; ++heads) {
        auto const written = rotate_until_tiny<From, To, Group, Groups, overlaps<Group, Groups>>(
            some, heads, cos + i, last_group);
        if (heads.left == 0) break;
        rest_of_head<From, To>(some, heads.at.from, heads.at.to, cos + i, written * Group::pairs,
                               of_column);
      }
    }
    cos += some.cos_token;
  }
  return stop;
}

}  // namespace posenc::detail
