// The rotary kernel: all pairs of some heads of some tokens, in registers as wide as they fit.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/by_registers.hpp"
#include "posenc/rotation/columns.hpp"
#include "posenc/rotation/fastest_rotation.hpp"
#include "posenc/rotation/in_order.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotate_apart.hpp"
#include "posenc/rotation/rotate_pairs.hpp"
#include "posenc/rotation/token_heads.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET::detail {

// All pairs from `pair` on in narrower and narrower registers, for fewer pairs than a register
// holds.
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

// Rotates whole registers of pairs of tokens with one head; returns the first pair that is left.
// Columns gain nothing there: they keep cosines and sines for a next head.
template <class From, class To, class Tokens>
[[gnu::noinline]] std::size_t head_by_head(Tokens const& some, std::size_t pair,
                                           std::size_t last) noexcept {
  using S = typename Tokens::from_type;
  using group = rotate_pairs<From, To, lanes<S>, lanes<typename Tokens::to_type>>;
  auto const all = some.pairs, stop = pair + (last - pair) / group::pairs * group::pairs;
  auto const *cos = some.cos, *sin = cos + all;
  POSENC_NOT_UNROLLED
  for (auto at : tokens_of(some)) {
    move_pairs<From, To>(at, pair);
    POSENC_NOT_UNROLLED
    for (auto i = pair; i < stop; i += group::pairs, move_pairs<From, To>(at, group::pairs)) {
      group one;
      typename group::numbers x_y;
      one.load(cos + i, sin + i);
      group::begin(at, 0, all, x_y), one.finish(at, 0, all, x_y), one.write(at, 0, all, x_y);
    }
    cos += some.cos_token, sin += some.cos_token;
  }
  return stop;
}

template <class From, class To, class Tokens>
[[gnu::noinline]] void in_some_columns(Tokens const& some, pair_range range) noexcept {
  using S = typename Tokens::from_type;
  using T = typename Tokens::to_type;
  auto [pair, last] = range;
  if constexpr (Tokens::has_registers) {
    using group = typename fastest_rotation<From, To, S, T>::type;
    using wide_group = typename wide_rotation<From, To, S, T>::type;
    if constexpr (may_go_in_order<wide_group>) {
      if (some.pace.in_order) pair = in_order<From, To, wide_group>(some, pair, last);
    }
    if constexpr (Tokens::has_narrow_registers) {
      if (some.pace.head_by_head) pair = head_by_head<From, To>(some, pair, last);
    }
    if constexpr (!std::same_as<wide_group, group>) {
      if (some.pace.apart && last - pair > widest_column<group>)
        pair = widest_columns<From, To, wide_group>(some, pair, last);
    }
    pair = by_registers<From, To, group>(column_widths<group>{}, some, pair, last);
    if constexpr (group::pairs > lanes<S>::size) {
      using smaller = rotate_pairs<From, To, lanes<S>, lanes<T>>;
      pair = by_registers<From, To, smaller>(std::index_sequence<1>{}, some, pair, last);
    }
    if constexpr (Tokens::has_narrow_registers) {
      if (pair < last)
        pair = by_narrower_registers<From, To, S, lanes<S>::size / 2>(some, pair, last);
    }
  }
  if constexpr (Tokens::has_registers) {
    without_registers<From, To>(some, pair, last);
  } else {
    one_by_one<From, To, rotate_pairs<From, To, one_lane<S>, one_lane<T>>>(some, pair, last);
  }
}

// Rotates the pairs if one column of so many groups holds them; false: none does.
template <class From, class To, class Group, std::size_t... Groups, class Tokens>
[[gnu::always_inline]] inline bool in_one_column(std::index_sequence<Groups...>, Tokens const& some,
                                                 pair_range range) noexcept {
  auto const [pair, last] = range;
  return ((last - pair == Groups * Group::pairs &&
           (whole_columns<From, To, Group, Groups>(some, pair, last), true)) ||
          ...);
}

// One column holds the pairs most often. It is called here, before anything needs a saved register.
template <class From, class To, class Tokens>
[[gnu::noinline]] void rotate_range(Tokens const& some, pair_range range) noexcept {
  if constexpr (Tokens::has_registers) {
    using S = typename Tokens::from_type;
    using group = typename fastest_rotation<From, To, S, typename Tokens::to_type>::type;
    bool const columns = !Tokens::has_narrow_registers || !some.pace.head_by_head;
    if (columns && in_one_column<From, To, group>(column_widths<group>{}, some, range)) return;
  }
  in_some_columns<From, To>(some, range);
}

/// Whether one column holds `pairs` pairs.
template <class From, class To, class S, class T>
constexpr bool is_one_column(std::size_t pairs, pace const& pace) noexcept {
  if constexpr (lanes<S>::size == 1) {
    return true;
  } else {
    using group = typename fastest_rotation<From, To, S, T>::type;
    using wide_group = typename wide_rotation<From, To, S, T>::type;
    return is_column<group>(pairs) || (pace.apart && pairs == widest_column<wide_group>);
  }
}

// Copies neighbouring dims that are not rotated, `first` being relative to the rotary block.
template <class Tokens>
[[gnu::noinline]] void copy_dims(Tokens const& some, std::ptrdiff_t first,
                                 std::size_t count) noexcept {
  using S = typename Tokens::from_type;
  using T = typename Tokens::to_type;
  if (count == 0) return;
  POSENC_NOT_UNROLLED
  for (auto head : tokens_of(some)) {
    head.move(first, first);
    POSENC_NOT_UNROLLED
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
[[gnu::noinline]] void rotate_tokens(Tokens const& some, std::span<pair_range const> rotated_pairs,
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
