// The rotary kernel. It rotates some heads of some tokens, and keeps a token's cosines and sines in
// registers from head to head.
//
// Loop nest: tokens, columns of pairs, heads, groups of pairs. A column is as wide as the registers
// allow; within it, memory is read in the order of its addresses.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/fetch_ahead.hpp"
#include "posenc/rotation/rotate_pairs.hpp"
#include "posenc/rotation/token_heads.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Calls each(0), each(1) ... each(Count - 1): unrolled, or g++ keeps arrays of registers in
/// memory.
template <std::size_t Count>
[[gnu::always_inline]] inline void unrolled(auto const& each) noexcept {
  [&]<std::size_t... I>(std::index_sequence<I...>) POSENC_INLINED { (each(I), ...); }
  (std::make_index_sequence<Count>{});
}

/// Advances by `pairs` pairs.
template <class From, class To>
void move_pairs(auto& at, std::size_t pairs) noexcept {
  at.move(static_cast<std::ptrdiff_t>(From::x_index(pairs, 0)),
          static_cast<std::ptrdiff_t>(To::x_index(pairs, 0)));
}

/// Groups of pairs in a column: as many as fit into the registers with their cosines and sines.
template <class Group>
using column_widths = std::conditional_t<
    Group::registers <= (has_32_registers ? 1 : 0), std::index_sequence<16, 8, 4, 3, 2, 1>,
    std::conditional_t<
        Group::registers <= (has_32_registers ? 2 : 0), std::index_sequence<8, 4, 3, 2, 1>,
        std::conditional_t<Group::registers <= (has_32_registers ? 4 : 2),
                           std::index_sequence<4, 3, 2, 1>, std::index_sequence<2, 1>>>>;

// Rotates columns of `Groups` groups of pairs, as many as fit between `pair` and `last`; returns
// where they end.
template <class From, class To, class Group, std::size_t Groups, class Tokens>
[[gnu::noinline]] std::size_t columns(Tokens const& some, std::size_t pair,
                                      std::size_t last) noexcept {
  constexpr auto width = Groups * Group::pairs;
  auto const all = some.pairs, stop = pair + (last - pair) / width * width;
  auto const *cos = some.cos, *sin = cos + all;
  for (auto column : tokens_of(some)) {
    move_pairs<From, To>(column, pair);
    for (auto i = pair; i < stop; i += width, move_pairs<From, To>(column, width)) {
      Group groups[Groups];
      unrolled<Groups>([&](std::size_t j) POSENC_INLINED {
        groups[j].load(cos + i + j * Group::pairs, sin + i + j * Group::pairs);
      });
#if defined(__clang__)
#pragma clang loop unroll(disable)  // clang 14 would keep 50 addresses in memory
#endif
      for (auto const& at : heads_of(some, column)) {
        if (some.ahead) fetch_ahead<From>(at.from, width, all);
        typename Group::numbers numbers[Groups];
        unrolled<Groups>([&](std::size_t j) POSENC_INLINED {
          Group::begin(at, j * Group::pairs, all, numbers[j]);
        });
        unrolled<Groups>([&](std::size_t j) POSENC_INLINED {
          groups[j].finish(at, j * Group::pairs, all, numbers[j]);
          groups[j].write(at, j * Group::pairs, all, numbers[j]);
        });
      }
    }
    cos += some.cos_token, sin += some.cos_token;
  }
  return stop;
}

// The tail: more than one group of pairs and less than two, as two groups that overlap. Both are
// read before either is written, so the shared pairs are written twice with the same bits.
template <class From, class To, class Group, class Tokens>
[[gnu::noinline]] void overlapping_groups(Tokens const& some, std::size_t pair,
                                          std::size_t last) noexcept {
  auto const all = some.pairs, second = last - Group::pairs;
  auto const *cos = some.cos, *sin = cos + all;
  for (auto const& first : tokens_of(some)) {
    Group groups[2];
    groups[0].load(cos + pair, sin + pair), groups[1].load(cos + second, sin + second);
    for (auto const& at : heads_of(some, first)) {
      typename Group::numbers x, y;
      Group::begin(at, pair, all, x), Group::begin(at, second, all, y);
      groups[0].finish(at, pair, all, x), groups[1].finish(at, second, all, y);
      groups[0].write(at, pair, all, x), groups[1].write(at, second, all, y);
    }
    cos += some.cos_token, sin += some.cos_token;
  }
}

// Without registers, or with too few pairs for one.
template <class From, class To, class Single, class Tokens>
[[gnu::noinline]] void one_by_one(Tokens const& some, std::size_t pair, std::size_t last) noexcept {
  auto const all = some.pairs;
  auto const *cos = some.cos, *sin = cos + all;
  for (auto const& first : tokens_of(some)) {
    for (auto const& at : heads_of(some, first)) {
      for (auto i = pair; i < last; ++i) {
        Single one;
        typename Single::numbers x_y;
        one.load(cos + i, sin + i);
        Single::begin(at, i, all, x_y), one.finish(at, i, all, x_y), one.write(at, i, all, x_y);
      }
    }
    cos += some.cos_token, sin += some.cos_token;
  }
}

// All pairs from `pair` on in groups of registers; returns where they end.
template <class From, class To, class Group, std::size_t... Groups, class Tokens>
std::size_t by_registers(std::index_sequence<Groups...>, Tokens const& some, std::size_t pair,
                         std::size_t last) noexcept {
  if (last - pair < Group::pairs) return pair;
  bool const overlap = (last - pair) % Group::pairs != 0;
  auto const stop = overlap ? last - Group::pairs - (last - pair) % Group::pairs : last;
  ((stop - pair >= Groups * Group::pairs
        ? void(pair = columns<From, To, Group, Groups>(some, pair, stop))
        : void()),
   ...);
  if (overlap) overlapping_groups<From, To, Group>(some, pair, last);
  return last;
}

// The same in narrower and narrower registers, for fewer pairs than a register holds.
template <class From, class To, class T, std::size_t Size, class Tokens>
std::size_t by_narrower_registers(Tokens const& some, std::size_t pair, std::size_t last) noexcept {
  if constexpr (Size > 1) {
    using narrow = typename narrow_lanes<T, Size>::type;
    if constexpr (!std::is_void_v<narrow>)
      pair = by_registers<From, To, narrow_rotation<From, To, narrow>>(std::index_sequence<1>{},
                                                                       some, pair, last);
    if (pair < last) pair = by_narrower_registers<From, To, T, Size / 2>(some, pair, last);
  }
  return pair;
}

template <class From, class To, class Tokens>
void rotate_range(Tokens const& some, pair_range range) noexcept {
  using S = typename Tokens::from_type;
  using T = typename Tokens::to_type;
  auto [pair, last] = range;
  if constexpr (Tokens::has_registers) {
    using group = typename fastest_rotation<From, To, S, T>::type;
    pair = by_registers<From, To, group>(column_widths<group>{}, some, pair, last);
    if constexpr (group::pairs > lanes<S>::size) {
      using smaller = rotate_pairs<From, To, lanes<S>, lanes<T>>;
      pair = by_registers<From, To, smaller>(std::index_sequence<1>{}, some, pair, last);
    }
    if constexpr (std::same_as<S, T> && std::floating_point<storage_format_t<S>>) {
      if (pair < last)
        pair = by_narrower_registers<From, To, S, lanes<S>::size / 2>(some, pair, last);
    }
  }
  if (pair < last)
    one_by_one<From, To, rotate_pairs<From, To, one_lane<S>, one_lane<T>>>(some, pair, last);
}

/// Whether one column holds `pairs` pairs.
template <class From, class To, class S, class T>
constexpr bool is_one_column(std::size_t pairs) noexcept {
  if constexpr (lanes<S>::size == 1) {
    return true;
  } else {
    using group = typename fastest_rotation<From, To, S, T>::type;
    return [&]<std::size_t... Groups>(std::index_sequence<Groups...>) {
      return ((pairs == Groups * group::pairs) || ...);
    }
    (column_widths<group>{});
  }
}

// Copies neighbouring dims that are not rotated, `first` being relative to the rotary block.
template <class Tokens>
void copy_dims(Tokens const& some, std::ptrdiff_t first, std::size_t count) noexcept {
  using S = typename Tokens::from_type;
  using T = typename Tokens::to_type;
  if (count == 0) return;
  for (auto head : tokens_of(some)) {
    head.move(first, first);
    for (auto at : heads_of(some, head)) {
      if constexpr (std::same_as<S, T> && !Tokens::fused) {
        std::copy_n(at.from, count, at.to);
      } else {
        auto left = count;
        auto const copy_by = [&]<class In, class Out>(In, Out) {
          constexpr auto size = static_cast<std::ptrdiff_t>(In::size);
          for (; left >= In::size; left -= In::size, at.move(size, size)) copy<In, Out>(at);
        };
        if constexpr (Tokens::has_registers) copy_by(lanes<S>{}, lanes<T>{});
        copy_by(one_lane<S>{}, one_lane<T>{});
      }
    }
  }
}

// Copies pairs that are not rotated, to another layout if need be.
template <class From, class To, class Tokens>
void copy_range(Tokens const& some, pair_range range) noexcept {
  using S = typename Tokens::from_type;
  using T = typename Tokens::to_type;
  auto pair = range.first;
  auto const last = range.last, count = last - pair;
  if (count == 0) return;
  if constexpr (!std::same_as<From, To>) {
    if constexpr (Tokens::has_registers)
      pair = by_registers<From, To, copy_pairs<From, To, lanes<S>, lanes<T>>>(
          std::index_sequence<1>{}, some, pair, last);
    one_by_one<From, To, copy_pairs<From, To, one_lane<S>, one_lane<T>>>(some, pair, last);
  } else {
    auto const x = static_cast<std::ptrdiff_t>(From::x_index(pair, some.pairs)),
               y = static_cast<std::ptrdiff_t>(From::y_index(pair, some.pairs));
    if constexpr (std::same_as<From, interleaved>) return copy_dims(some, x, 2 * count);
    copy_dims(some, x, count);
    copy_dims(some, y, count);
  }
}

// copies: dims that are not rotated are copied or scaled too (out of place, or fused).
template <class From, class To, class Tokens>
void rotate_tokens(Tokens const& some, std::span<pair_range const> rotated_pairs,
                   bool copies) noexcept {
  std::size_t done = 0;
  for (auto const range : rotated_pairs) {
    if (copies) copy_range<From, To>(some, {done, range.first});
    rotate_range<From, To>(some, range);
    done = range.last;
  }
  if (!copies) return;
  copy_range<From, To>(some, {done, some.pairs});
  auto const before = some.first_dim, block = 2 * some.pairs;
  copy_dims(some, -static_cast<std::ptrdiff_t>(before), before);
  copy_dims(some, static_cast<std::ptrdiff_t>(block), some.head_dim - before - block);
}

}  // namespace posenc::detail
