// The rotary kernel. It rotates the heads of one token and keeps their cosines and sines in
// registers from head to head.
//
// Loop nest: blocks of heads, columns of pairs, heads, groups of pairs. A column is as wide as the
// registers allow. A block is all heads; only beyond the cache, and if one column does not hold the
// whole row, it is few heads, so that memory is read almost in the order of its addresses.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "posenc/core/target.hpp"
#include "posenc/rotation/rotate_pairs.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Shape and strides of one token's heads. Fused: norm weights or gains are applied. Ahead:
/// prefetch, for data beyond L2.
template <class S, class T, bool Fused, bool Ahead>
struct token_shape {
  using from_type = S;
  using to_type = T;
  using real = arithmetic_t<T>;
  using cursor_type = cursor<S, T, Fused>;
  static constexpr bool fused = Fused, ahead = Ahead, has_registers = lanes<S>::size > 1;
  /// Widths of columns in groups of pairs, in the order in which they are tried.
  using widths = std::conditional_t<has_32_registers, std::index_sequence<8, 4, 3, 2, 1>,
                                    std::index_sequence<4, 3, 2, 1>>;

  std::ptrdiff_t from_stride, to_stride;
  std::size_t heads, head_dim, first_dim, pairs;
};

/// Heads per block beyond the cache. With 16 registers, reloading cosines and sines for every head
/// costs more than the jumps in memory.
inline constexpr std::size_t few_heads = has_32_registers ? 1 : 4;

/// Prefetches 8 KiB ahead: far enough to hide memory latency, near enough to stay in L1.
template <class S>
void fetch_ahead(S const* from, std::size_t count) noexcept {
  auto const first = reinterpret_cast<std::uintptr_t>(from) + 8192;
  for (std::size_t i = 0; i < count * sizeof(S); i += 64)
    // NOLINTNEXTLINE(performance-no-int-to-ptr): beyond the array
    __builtin_prefetch(reinterpret_cast<void const*>(first + i));
}
template <class Layout, class S>
void fetch_pairs_ahead(S const* pair, std::size_t count, std::size_t all) noexcept {
  if constexpr (std::same_as<Layout, interleaved>) return fetch_ahead(pair, 2 * count);
  fetch_ahead(pair, count), fetch_ahead(pair + all, count);
}

/// Advances by `pairs` pairs.
template <class From, class To>
void move_pairs(auto& at, std::size_t pairs) noexcept {
  at.move(static_cast<std::ptrdiff_t>(From::x_index(pairs, 0)),
          static_cast<std::ptrdiff_t>(To::x_index(pairs, 0)));
}

// Rotates columns of `Groups` groups of pairs, as many as fit between `pair` and `last`; returns
// where they end. `at` is dim 0 of head 0.
template <class From, class To, class Group, std::size_t Groups, class Shape, class Real>
[[gnu::noinline]] std::size_t columns(Shape const& shape, typename Shape::cursor_type at,
                                      Real const* cos, Real const* sin, std::size_t pair,
                                      std::size_t last, std::size_t block) noexcept {
  constexpr auto width = Groups * Group::pairs;
  auto const from_stride = shape.from_stride, to_stride = shape.to_stride;
  auto const heads = shape.heads, all = shape.pairs;
  auto const first_dim = static_cast<std::ptrdiff_t>(shape.first_dim);
  auto const stop = pair + (last - pair) / width * width;
  at.move(first_dim, first_dim);
  move_pairs<From, To>(at, pair);
  for (std::size_t head = 0; head < heads; head += block) {
    auto const count = std::min(block, heads - head);
    auto column = at;
    for (auto i = pair; i < stop; i += width, move_pairs<From, To>(column, width)) {
      Group groups[Groups];
      for (std::size_t j = 0; j < Groups; ++j)
        groups[j].load(cos + i + j * Group::pairs, sin + i + j * Group::pairs);
      auto numbers = column;
      for (std::size_t n = 0; n < count; ++n, numbers.next_head(from_stride, to_stride)) {
        if constexpr (Shape::ahead) fetch_pairs_ahead<From>(numbers.from, width, all);
        for (std::size_t j = 0; j < Groups; ++j)
          groups[j].write(numbers, j * Group::pairs, all,
                          groups[j].rotated(numbers, j * Group::pairs, all));
      }
    }
    at.next_head(from_stride, to_stride, static_cast<std::ptrdiff_t>(count));
  }
  return stop;
}

// The tail: more than one group of pairs and less than two, as two groups that overlap. Both are
// read before either is written, so the shared pairs are written twice with the same bits.
template <class From, class To, class Group, class Shape, class Real>
[[gnu::noinline]] void overlapping_groups(Shape const& shape, typename Shape::cursor_type at,
                                          Real const* cos, Real const* sin, std::size_t pair,
                                          std::size_t last) noexcept {
  auto const from_stride = shape.from_stride, to_stride = shape.to_stride;
  auto const heads = shape.heads, all = shape.pairs, second = last - Group::pairs;
  auto const first_dim = static_cast<std::ptrdiff_t>(shape.first_dim);
  at.move(first_dim, first_dim);
  Group groups[2];
  groups[0].load(cos + pair, sin + pair), groups[1].load(cos + second, sin + second);
  for (std::size_t head = 0; head < heads; ++head, at.next_head(from_stride, to_stride)) {
    auto const x = groups[0].rotated(at, pair, all), y = groups[1].rotated(at, second, all);
    groups[0].write(at, pair, all, x), groups[1].write(at, second, all, y);
  }
}

// Without registers, or with too few pairs for one.
template <class From, class To, class Single, class Shape, class Real>
[[gnu::noinline]] void one_by_one(Shape const& shape, typename Shape::cursor_type at,
                                  Real const* cos, Real const* sin, std::size_t pair,
                                  std::size_t last) noexcept {
  auto const from_stride = shape.from_stride, to_stride = shape.to_stride;
  auto const heads = shape.heads, all = shape.pairs;
  auto const first_dim = static_cast<std::ptrdiff_t>(shape.first_dim);
  at.move(first_dim, first_dim);
  for (std::size_t head = 0; head < heads; ++head, at.next_head(from_stride, to_stride)) {
    for (auto i = pair; i < last; ++i) {
      Single one;
      one.load(cos + i, sin + i);
      one.write(at, i, all, one.rotated(at, i, all));
    }
  }
}

// All pairs from `pair` on in groups of registers; returns where they end.
template <class From, class To, class Group, std::size_t... Groups, class Shape, class Real>
std::size_t by_registers(std::index_sequence<Groups...>, Shape const& shape,
                         typename Shape::cursor_type const& at, Real const* cos, Real const* sin,
                         std::size_t pair, std::size_t last) noexcept {
  if (last - pair < Group::pairs) return pair;
  constexpr auto widest = std::max({Groups...}) * Group::pairs;
  auto const block = Shape::ahead && last - pair > widest ? few_heads : shape.heads;
  bool const overlap = (last - pair) % Group::pairs != 0;
  auto const stop = overlap ? last - Group::pairs - (last - pair) % Group::pairs : last;
  ((stop - pair >= Groups * Group::pairs
        ? void(pair = columns<From, To, Group, Groups>(shape, at, cos, sin, pair, stop, block))
        : void()),
   ...);
  if (overlap) overlapping_groups<From, To, Group>(shape, at, cos, sin, pair, last);
  return last;
}

template <class From, class To, class Shape, class Real>
void rotate_range(Shape const& shape, typename Shape::cursor_type const& at, Real const* cos,
                  Real const* sin, pair_range range) noexcept {
  using S = typename Shape::from_type;
  using T = typename Shape::to_type;
  auto [pair, last] = range;
  if constexpr (Shape::has_registers) {
    using group = typename fastest_rotation<From, To, S, T>::type;
    pair = by_registers<From, To, group>(typename Shape::widths{}, shape, at, cos, sin, pair, last);
    if constexpr (group::pairs > lanes<S>::size) {
      using smaller = rotate_pairs<From, To, lanes<S>, lanes<T>>;
      pair = by_registers<From, To, smaller>(std::index_sequence<1>{}, shape, at, cos, sin, pair,
                                             last);
    }
  }
  if (pair < last)
    one_by_one<From, To, rotate_pairs<From, To, one_lane<S>, one_lane<T>>>(shape, at, cos, sin,
                                                                           pair, last);
}

// Copies neighbouring dims that are not rotated.
template <class Shape>
void copy_dims(Shape const& shape, typename Shape::cursor_type at, std::size_t first,
               std::size_t count) noexcept {
  using S = typename Shape::from_type;
  using T = typename Shape::to_type;
  if (count == 0) return;
  at.move(static_cast<std::ptrdiff_t>(first), static_cast<std::ptrdiff_t>(first));
  for (std::size_t head = 0; head < shape.heads;
       ++head, at.next_head(shape.from_stride, shape.to_stride)) {
    if constexpr (std::same_as<S, T> && !Shape::fused) {
      std::copy_n(at.from, count, at.to);
    } else {
      auto numbers = at;
      auto left = count;
      auto const copy_by = [&]<class In, class Out>(In, Out) {
        constexpr auto size = static_cast<std::ptrdiff_t>(In::size);
        for (; left >= In::size; left -= In::size, numbers.move(size, size)) copy<In, Out>(numbers);
      };
      if constexpr (Shape::has_registers) copy_by(lanes<S>{}, lanes<T>{});
      copy_by(one_lane<S>{}, one_lane<T>{});
    }
  }
}

// Copies pairs that are not rotated, to another layout if need be.
template <class From, class To, class Shape, class Real>
void copy_range(Shape const& shape, typename Shape::cursor_type const& at,
                [[maybe_unused]] Real const* cos, pair_range range) noexcept {
  using S = typename Shape::from_type;
  using T = typename Shape::to_type;
  auto pair = range.first;
  auto const last = range.last, count = last - pair;
  if (count == 0) return;
  if constexpr (!std::same_as<From, To>) {
    if constexpr (Shape::has_registers)
      pair = by_registers<From, To, copy_pairs<From, To, lanes<S>, lanes<T>>>(
          std::index_sequence<1>{}, shape, at, cos, cos, pair, last);
    one_by_one<From, To, copy_pairs<From, To, one_lane<S>, one_lane<T>>>(shape, at, cos, cos, pair,
                                                                         last);
  } else if constexpr (std::same_as<From, interleaved>) {
    copy_dims(shape, at, shape.first_dim + 2 * pair, 2 * count);
  } else {
    copy_dims(shape, at, shape.first_dim + pair, count);
    copy_dims(shape, at, shape.first_dim + shape.pairs + pair, count);
  }
}

// All heads of one token. copies: dims that are not rotated are copied or scaled too (out of place,
// or fused).
template <class From, class To, class Shape, class Real>
void rotate_token(Shape const& shape, typename Shape::cursor_type const& at, Real const* cos,
                  Real const* sin, std::span<pair_range const> rotated_pairs,
                  bool copies) noexcept {
  std::size_t done = 0;
  for (auto const range : rotated_pairs) {
    if (copies) copy_range<From, To>(shape, at, cos, {done, range.first});
    rotate_range<From, To>(shape, at, cos, sin, range);
    done = range.last;
  }
  if (!copies) return;
  copy_range<From, To>(shape, at, cos, {done, shape.pairs});
  copy_dims(shape, at, 0, shape.first_dim);
  auto const behind = shape.first_dim + 2 * shape.pairs;
  copy_dims(shape, at, behind, shape.head_dim - behind);
}

}  // namespace posenc::detail
