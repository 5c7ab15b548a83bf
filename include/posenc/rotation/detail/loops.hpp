// The loops over tokens, heads and pairs.
//
// In columns: tokens, columns, heads. A column has as many pairs as fit into the registers with
// their cosines and sines, which stay there from head to head.
// In order: tokens, heads, pairs. Memory is read in the order of its addresses; cosines and sines
// are read anew for each head, from L1.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <utility>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/detail/arithmetic.hpp"
#include "posenc/rotation/detail/heads_in_memory.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/registers.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Neighbouring groups. Tail: one more overlaps the last of them, `tail` pairs behind the first. It
/// is read before that one is written, so that the shared pairs are written twice with the same
/// bits.
template <class Group, std::size_t Count, bool Tail>
struct groups {
  Group all[Count + Tail];

  POSENC_ALWAYS_INLINE static std::size_t place(std::size_t j, std::size_t tail) noexcept {
    return Tail && j == Count ? tail : j * Group::pairs;
  }
  template <class Real>
  POSENC_ALWAYS_INLINE void load(Real const* cos, Real const* sin, std::size_t tail) noexcept {
    unrolled<Count + Tail>([&](std::size_t j) POSENC_INLINED {
      all[j].load(cos + place(j, tail), sin + place(j, tail));
    });
  }
  POSENC_ALWAYS_INLINE void rotate(auto const& at, std::size_t pairs,
                                   std::size_t tail) const noexcept {
    typename Group::numbers numbers[Count + Tail];
    unrolled<Count + Tail>(
        [&](std::size_t j) POSENC_INLINED { Group::begin(at, place(j, tail), pairs, numbers[j]); });
    if constexpr (Tail) all[Count].finish(at, tail, pairs, numbers[Count]);
    // In fours, x before y: the CPU writes neighbours together.
    unrolled<Count>([&](std::size_t j) POSENC_INLINED {
      all[j].finish(at, place(j, tail), pairs, numbers[j]);
      Group::write_x(at, place(j, tail), pairs, numbers[j]);
      if (j % 4 != 3 && j + 1 != Count) return;
      unrolled<4>([&](std::size_t k) POSENC_INLINED {
        auto const before = j - j % 4 + k;
        if (before <= j) Group::write_y(at, place(before, tail), pairs, numbers[before]);
      });
    });
    if constexpr (Tail) {
      Group::write_x(at, tail, pairs, numbers[Count]);
      Group::write_y(at, tail, pairs, numbers[Count]);
    }
  }
};

/// Groups in the widest column; the same if a partial group follows.
template <class Group>
inline constexpr std::size_t most_groups = std::max<std::size_t>(1, (has_32_registers ? 16 : 8) /
                                                                        Group::registers);
template <class Group>
inline constexpr std::size_t most_before_tail = has_32_registers&& most_groups<Group> >= 4 ? 2 : 1;

/// Whether one column holds them.
template <class Group>
constexpr bool is_one_column(std::size_t pairs) noexcept {
  auto const count = pairs / Group::pairs;
  if (pairs % Group::pairs != 0) return count >= 1 && count <= most_before_tail<Group>;
  return count <= most_groups<Group> && (count == 3 || (count & (count - 1)) == 0);
}

/// The one body: rotates a column, `Count` groups of each of some heads of a token, by cosines and
/// sines that stay in registers.
template <class From, class Group, std::size_t Count, bool Tail = false, class Heads, class Real>
POSENC_ALWAYS_INLINE inline void rotate_column(Heads const& heads, Real const* cos, Real const* sin,
                                               std::size_t pairs, std::size_t tail = 0) noexcept {
  groups<Group, Count, Tail> group;
  group.load(cos, sin, tail);
  // Else clang 14 keeps 50 addresses in memory.
  POSENC_NOT_UNROLLED
  for (auto const& at : heads)
    group.rotate(at, std::same_as<From, halves> && Count + Tail > 4 ? opaque(pairs) : pairs, tail);
}

// Rotates columns of `Count` groups of pairs, as many as fit between `pair` and `last`; returns
// where they end. Tail: one column, up to `last`.
template <class From, class To, class Group, std::size_t Count, bool Tail = false, class Heads>
[[gnu::noinline]] std::size_t columns(Heads const& work, std::size_t pair,
                                      std::size_t last) noexcept {
  constexpr auto width = Count * Group::pairs;
  auto const pairs = work.pairs, stop = pair + (last - pair) / width * width,
             tail = last - pair - Group::pairs;
  auto const *cos = work.cos, *sin = cos + pairs;
  POSENC_NOT_UNROLLED
  for (auto column : tokens_of(work)) {
    move_pairs<From, To>(column, pair);
    for (auto i = pair; i < stop; i += width, move_pairs<From, To>(column, width))
      rotate_column<From, Group, Count, Tail>(heads_of(work, column), cos + i, sin + i, pairs,
                                              tail);
    cos += work.cos_token, sin += work.cos_token;
  }
  return stop;
}

// Rotates whole rotary blocks of one column, in place. As its own function: constants, and six
// arguments in registers, make a decode step 20 % faster.
template <class Layout, class Group, std::size_t Count, class T, class Real>
[[gnu::noinline]] void whole_blocks(T* block, Real const* cos, std::size_t heads,
                                    std::ptrdiff_t head_stride, std::size_t tokens,
                                    std::ptrdiff_t token_stride) noexcept {
  constexpr auto pairs = Count * Group::pairs;
  POSENC_NOT_UNROLLED
  for (; tokens != 0; --tokens, block += token_stride, cos += 2 * pairs)
    rotate_column<Layout, Group, Count>(
        cursors{cursor<T, T, false>{block, block}, heads, head_stride, head_stride}, cos,
        cos + pairs, pairs);
}

/// A cursor with the weights of a whole head in registers.
template <class Group, std::size_t Count, class Cursor>
struct weighted_cursor : Cursor {
  typename Group::numbers of_groups[Count];

  POSENC_ALWAYS_INLINE explicit weighted_cursor(Cursor const& at) noexcept : Cursor(at) {
    unrolled<Count>([&](std::size_t j) POSENC_INLINED {
      Group::load_weights(at.weights, j * Group::pairs, Count * Group::pairs, of_groups[j]);
    });
  }
  template <class>
  POSENC_ALWAYS_INLINE void apply_weights(std::size_t pair, std::size_t,
                                          typename Group::numbers& n) const noexcept {
    n *= of_groups[pair / Group::pairs];
  }
};

// Rotates heads of one token, each of one column. As its own function: the places of its groups are
// constants here, so that g++ has registers for all addresses.
template <class From, class Group, std::size_t Count, class Heads>
[[gnu::noinline]] void whole_heads(Heads const& work) noexcept {
  constexpr auto pairs = Count * Group::pairs;
  auto const rotate = [&](auto const& first) POSENC_INLINED {
    rotate_column<From, Group, Count>(heads_of(work, first), work.cos, work.cos + pairs, pairs);
  };
  if (has_32_registers && work.first.weights != nullptr)
    return rotate(weighted_cursor<Group, Count, decltype(work.first)>(work.first));
  rotate(work.first);
}

// Rotates the pairs from `pair` on, at least as many as a group has, in columns, the widest first.
template <class From, class To, class Group, std::size_t Most = most_groups<Group>>
void in_columns(auto const& work, std::size_t pair, std::size_t last) noexcept {
  constexpr auto most = std::min(Most, most_before_tail<Group>);
  auto const whole = (last - pair) / Group::pairs, rest = (last - pair) % Group::pairs,
             stop = rest == 0 ? last : last - rest - (whole > most ? 1 : whole) * Group::pairs;
  [&]<std::size_t... Count>(std::index_sequence<Count...>) POSENC_INLINED {
    auto const by = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) POSENC_INLINED {
      if constexpr (N <= Most) {
        if (stop - pair >= N * Group::pairs) pair = columns<From, To, Group, N>(work, pair, stop);
      }
    };
    (by(std::integral_constant<std::size_t, Count>()), ...);
  }
  (std::index_sequence<16, 8, 4, 3, 2, 1>());
  if (rest == 0) return;
  most == 1 || last - pair < 2 * Group::pairs
      ? columns<From, To, Group, 1, true>(work, pair, last)
      : columns<From, To, Group, most, true>(work, pair, last);
}

// Rotates the pairs from `pair` on, whole groups and, if Tail, fewer pairs than one has, in order.
template <class From, class To, class Group, bool Tail, class Heads>
[[gnu::noinline]] void in_order(Heads const& work, std::size_t pair, std::size_t last) noexcept {
  constexpr auto width = Group::pairs;
  auto const pairs = work.pairs, rest = (last - pair) % width, whole = (last - pair) / width - Tail;
  auto const* cos = work.cos + pair;
  auto token = work.first;
  move_pairs<From, To>(token, pair);
  auto head = token;
  auto heads = work.heads;
  for (auto tokens = work.tokens;;) {
    auto at = head;
    auto const* c = cos;
    auto const by = [&]<std::size_t Count>(std::integral_constant<std::size_t, Count>)
                        POSENC_INLINED {
                          groups<Group, Count, false> both;
                          both.load(c, c + pairs, 0);
                          both.rotate(at, pairs, 0);
                          c += Count * width;
                          move_pairs<From, To>(at, Count * width);
                        };
    auto left = whole;
    if constexpr (Group::registers <= 2) {
      POSENC_NOT_UNROLLED
      for (; left >= 2; left -= 2) by(std::integral_constant<std::size_t, 2>());
    }
    POSENC_NOT_UNROLLED
    for (; left != 0; --left) by(std::integral_constant<std::size_t, 1>());
    if constexpr (Tail) {
      groups<Group, 1, true> ends;
      ends.load(c, c + pairs, rest);
      ends.rotate(at, pairs, rest);
    }
    if (--heads != 0) {
      head.next_head(work.from_head, work.to_head);
    } else {
      if (--tokens == 0) return;
      token.next_head(work.from_token, work.to_token);
      head = token;
      heads = work.heads;
      cos += work.cos_token;
    }
  }
}

// Rotates one pair at a time: where there are no registers, or fewer pairs than one holds.
template <class From, class To, class Single, class Heads>
[[gnu::noinline]] void one_by_one(Heads const& work, std::size_t pair, std::size_t last) noexcept {
  auto const pairs = work.pairs;
  auto const *cos = work.cos, *sin = cos + pairs;
  for (auto const& first : tokens_of(work)) {
    for (auto const& at : heads_of(work, first)) {
      for (auto i = pair; i < last; ++i) {
        // If registers took the others, vectors of up to 15 pairs would be several KB of code.
        auto const all = Heads::has_registers && !Heads::fused ? opaque(pairs) : pairs;
        Single one;
        typename Single::numbers x_y;
        one.load(cos + i, sin + i);
        Single::begin(at, i, all, x_y), one.finish(at, i, all, x_y);
        Single::write_x(at, i, all, x_y), Single::write_y(at, i, all, x_y);
      }
    }
    cos += work.cos_token, sin += work.cos_token;
  }
}

// Rotates fewer pairs than a group has, in the widest register that they fill.
template <class From, class To, class S, class T, class In = lanes<S>, class Out = lanes<T>>
void few_pairs(auto const& work, std::size_t pair, std::size_t last) noexcept {
  if constexpr (In::size < 4) {
    one_by_one<From, To, rotate_pairs<From, To, one_lane<S>, one_lane<T>>>(work, pair, last);
  } else {
    using group = group_of_lanes<From, To, In, Out>;
    if constexpr (group::pairs < group_of<From, To, S, T>::pairs)
      if (last - pair >= In::size) return in_columns<From, To, group, 1>(work, pair, last);
    few_pairs<From, To, S, T, typename In::narrower, typename Out::narrower>(work, pair, last);
  }
}

// Copies neighbouring dims that do not rotate, counted from the rotary block.
template <class Heads>
[[gnu::noinline]] void copy_dims(Heads const& work, std::size_t from, std::size_t to,
                                 std::size_t count) noexcept {
  using S = typename Heads::from_type;
  using T = typename Heads::to_type;
  if (count == 0) return;
  POSENC_NOT_UNROLLED
  for (auto head : tokens_of(work)) {
    head.move(static_cast<std::ptrdiff_t>(from), static_cast<std::ptrdiff_t>(to));
    POSENC_NOT_UNROLLED
    for (auto at : heads_of(work, head)) {
      if constexpr (std::same_as<S, T> && !Heads::fused) {
        std::copy_n(at.from, count, at.to);
      } else {
        auto left = count;
        auto const copy_by = [&]<class In, class Out>(In, Out) {
          constexpr auto size = static_cast<std::ptrdiff_t>(In::size);
          for (; left >= In::size; left -= In::size, at.move(size, size)) copy<In, Out>(at);
        };
        if constexpr (Heads::has_registers) copy_by(lanes<S>{}, lanes<T>{});
        copy_by(one_lane<S>{}, one_lane<T>{});
      }
    }
  }
}

// Copies pairs that are not rotated, one at a time to another layout.
template <class From, class To, class Heads>
void copy_range(Heads const& work, std::size_t pair, std::size_t last) noexcept {
  auto const step = std::same_as<From, To> ? last - pair : 1;
  for (; pair < last; pair += step) {
    auto const x = From::x_index(pair, work.pairs), to_x = To::x_index(pair, work.pairs);
    if constexpr (std::same_as<From, interleaved> && std::same_as<To, interleaved>) {
      copy_dims(work, x, to_x, 2 * step);
    } else {
      copy_dims(work, x, to_x, step);
      copy_dims(work, From::y_index(pair, work.pairs), To::y_index(pair, work.pairs), step);
    }
  }
}

}}}  // namespace posenc::detail
