// Columns of pairs: a token's cosines and sines stay in registers from head to head.
//
// The loops, from the outermost: over tokens, columns, heads, groups of pairs. A column has as many
// pairs as fit into the registers with their cosines and sines. Within it, memory is read in the
// order of its addresses.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/fetch_ahead.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/token_heads.hpp"
#include "posenc/simd/registers.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Calls each(0), each(1) ... each(Count - 1): unrolled, or g++ keeps arrays of registers in
/// memory.
template <std::size_t Count>
[[gnu::always_inline]] inline void unrolled(auto const& each) noexcept {
  [&]<std::size_t... I>(std::index_sequence<I...>) POSENC_INLINED { (each(I), ...); }
  (std::make_index_sequence<Count>{});
}

/// The same with first(0) ... first(3), then(0) ... then(3), first(4) ...
template <std::size_t Count>
[[gnu::always_inline]] inline void unrolled_in_fours(auto const& first, auto const& then) noexcept {
  unrolled<Count>([&](std::size_t i) POSENC_INLINED {
    first(i);
    auto const four = i - i % 4;
    if (i % 4 == 3 || i + 1 == Count)
      unrolled<4>([&](std::size_t j) POSENC_INLINED {
        if (four + j <= i) then(four + j);
      });
  });
}

/// Advances by `pairs` pairs.
template <class From, class To>
void move_pairs(auto& at, std::size_t pairs) noexcept {
  at.move(static_cast<std::ptrdiff_t>(From::x_index(pairs, 0)),
          static_cast<std::ptrdiff_t>(To::x_index(pairs, 0)));
}

/// How many groups of pairs a column may have, the most first: with their cosines and sines, they
/// fit into the registers.
template <class Group>
using column_widths = std::conditional_t<
    Group::registers <= (has_32_registers ? 1 : 0), std::index_sequence<16, 8, 4, 3, 2, 1>,
    std::conditional_t<
        Group::registers <= (has_32_registers ? 2 : 0), std::index_sequence<8, 4, 3, 2, 1>,
        std::conditional_t<Group::registers <= (has_32_registers ? 4 : 2),
                           std::index_sequence<4, 3, 2, 1>,
                           std::conditional_t<Group::registers <= 8, std::index_sequence<2, 1>,
                                              std::index_sequence<1>>>>>;

/// Pairs in the widest column.
template <class Group>
inline constexpr std::size_t widest_column = [] {
  return []<std::size_t Most, std::size_t... Fewer>(std::index_sequence<Most, Fewer...>) {
    return Most * Group::pairs;
  }
  (column_widths<Group>{});
}();

/// Whole groups in the widest column that ends with a part of a group.
template <class Group>
inline constexpr std::size_t most_before_tail = !has_32_registers || Group::registers > 4 ? 1 : 2;

template <class Group>
constexpr bool is_column(std::size_t pairs) noexcept {
  auto const groups = pairs / Group::pairs;
  if (pairs % Group::pairs != 0) return groups >= 1 && groups <= most_before_tail<Group>;
  return [&]<std::size_t... Groups>(std::index_sequence<Groups...>) {
    return ((groups == Groups) || ...);
  }
  (column_widths<Group>{});
}

/// A group that can write x and y of halves in two steps.
template <class Group>
concept writes_halves = requires {
  requires Group::writes_halves;
};

// Rotates columns of `Groups` groups of pairs, as many as fit between `pair` and `last`; returns
// where they end. Tail: one column, with fewer pairs than a group behind it, up to `last`. They are
// the end of a group that overlaps the one before: it is read before that one is written, so that
// the shared pairs are written twice with the same bits.
template <class From, class To, class Group, std::size_t Groups, bool Tail = false, class Tokens>
[[gnu::noinline]] std::size_t columns(Tokens const& some, std::size_t pair,
                                      std::size_t last) noexcept {
  constexpr auto width = Groups * Group::pairs;
  auto const pairs = some.pairs, stop = pair + (last - pair) / width * width,
             tail = last - pair - Group::pairs;
  auto const *cos = some.cos, *sin = cos + pairs;
  POSENC_NOT_UNROLLED
  for (auto column : tokens_of(some)) {
    move_pairs<From, To>(column, pair);
    for (auto i = pair; i < stop; i += width, move_pairs<From, To>(column, width)) {
      Group groups[Groups + Tail];
      unrolled<Groups>([&](std::size_t j) POSENC_INLINED {
        groups[j].load(cos + i + j * Group::pairs, sin + i + j * Group::pairs);
      });
      if constexpr (Tail) groups[Groups].load(cos + i + tail, sin + i + tail);
      // Else clang 14 keeps 50 addresses in memory.
      POSENC_NOT_UNROLLED
      for (auto const& at : heads_of(some, column)) {
        auto const all =
            std::same_as<From, halves> && Groups + Tail > 4 ? anew_in_each_turn(pairs) : pairs;
        if (some.pace.ahead) fetch_ahead<From>(at.from, width, all);
        typename Group::numbers numbers[Groups + Tail];
        if constexpr (Tail) {
          Group::begin(at, tail, all, numbers[Groups]);
          groups[Groups].finish(at, tail, all, numbers[Groups]);
        }
        unrolled<Groups>([&](std::size_t j) POSENC_INLINED {
          Group::begin(at, j * Group::pairs, all, numbers[j]);
        });
        unrolled_in_fours<Groups>(
            [&](std::size_t j) POSENC_INLINED {
              groups[j].finish(at, j * Group::pairs, all, numbers[j]);
              if constexpr (writes_halves<Group>) {
                Group::write_x(at, j * Group::pairs, numbers[j]);
              } else {
                groups[j].write(at, j * Group::pairs, all, numbers[j]);
              }
            },
            [&](std::size_t j) POSENC_INLINED {
              if constexpr (writes_halves<Group>)
                Group::write_y(at, j * Group::pairs, all, numbers[j]);
            });
        if constexpr (Tail) groups[Groups].write(at, tail, all, numbers[Groups]);
      }
    }
    cos += some.cos_token, sin += some.cos_token;
  }
  return stop;
}

template <class From, class To, class Group>
std::size_t widest_columns(auto const& some, std::size_t pair, std::size_t last) noexcept {
  return columns<From, To, Group, widest_column<Group> / Group::pairs>(some, pair, last);
}

}  // namespace posenc::detail
