// The rotary kernel: the heads of one token, its cosines and sines kept in registers from head to head.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "posenc/rotation/cos_sin_rows.hpp"
#include "posenc/rotation/lanes.hpp"
#include "posenc/rotation/layout.hpp"

namespace posenc::detail {

/// Turns neighbouring pairs, the same ones of every head: (x + iy)(c + is), with x and y in registers of their own.
template <class Layout, class Lanes>
struct turn {
  static constexpr std::size_t pairs = Lanes::size;
  typename Lanes::number c, s;

  template <class Real>
  void load(Real const* cos, Real const* sin) noexcept {
    c = Lanes::load_row(cos), s = Lanes::load_row(sin);
  }

  /// `block`: the rotary block of a head, of `all` pairs; `pair`: the first one to turn.
  template <class T>
  void apply(T* block, std::size_t pair, std::size_t all) const noexcept {
    typename Lanes::number x, y;
    Layout::template load<Lanes>(block, pair, all, x, y);
    multiply(x, y);
    Layout::template store<Lanes>(block, pair, all, x, y);
  }

  void multiply(typename Lanes::number& x, typename Lanes::number& y) const noexcept {
    auto const turned = Lanes::multiply_subtract(x, c, y * s);
    y = Lanes::multiply_add(y, c, x * s);
    x = turned;
  }
};

/// Interleaved pairs that lie in a register as they lie in memory, x0 y0 x1 y1 ...: the same product, both halves in one register.
template <class Lanes>
struct turn_side_by_side {
  static constexpr std::size_t pairs = Lanes::size;
  typename Lanes::number c[2], s[2];  // c0 c0 c1 c1 ..., -s0 s0 -s1 s1 ...

  template <class Real>
  void load(Real const* cos, Real const* sin) noexcept {
    Real both[2 * pairs];
    auto const cosines = Lanes::load_row(cos), sines = Lanes::load_row(sin);
    lanes<Real>::store_pairs(both, cosines, cosines);
    c[0] = Lanes::load_row(both), c[1] = Lanes::load_row(both + pairs);
    lanes<Real>::store_pairs(both, -sines, sines);
    s[0] = Lanes::load_row(both), s[1] = Lanes::load_row(both + pairs);
  }

  template <class T>
  void apply(T* block, std::size_t pair, std::size_t) const noexcept {
    for (std::size_t i = 0; i < 2; ++i) {
      auto* const at = block + 2 * pair + i * pairs;
      auto const x_y = Lanes::load(at);
      Lanes::store(at, Lanes::multiply_add(x_y, c[i], Lanes::neighbours_swapped(x_y) * s[i]));
    }
  }
};

/// Halves of 16-bit numbers: two to a word, they come apart into even and odd pairs for nothing.
template <class Lanes>
struct turn_even_and_odd {
  static constexpr std::size_t pairs = 2 * Lanes::size;
  turn<halves, Lanes> even, odd;

  template <class Real>
  void load(Real const* cos, Real const* sin) noexcept {
    lanes<Real>::load_pairs(cos, even.c, odd.c);
    lanes<Real>::load_pairs(sin, even.s, odd.s);
  }

  template <class T>
  void apply(T* block, std::size_t pair, std::size_t all) const noexcept {
    typename Lanes::number x_even, x_odd, y_even, y_odd;
    Lanes::load_pairs(block + pair, x_even, x_odd);
    Lanes::load_pairs(block + all + pair, y_even, y_odd);
    even.multiply(x_even, y_even);
    odd.multiply(x_odd, y_odd);
    Lanes::store_pairs(block + pair, x_even, x_odd);
    Lanes::store_pairs(block + all + pair, y_even, y_odd);
  }
};

/// The quickest way for numbers of type T, if there are registers at all.
template <class Layout, class T, class Lanes = lanes<T>>
using quickest_turn = std::conditional_t<std::same_as<Layout, interleaved>,
                                         std::conditional_t<Lanes::apart, turn<interleaved, Lanes>, turn_side_by_side<Lanes>>,
                                         std::conditional_t<Lanes::apart, turn_even_and_odd<Lanes>, turn<halves, Lanes>>>;

/// The rotary blocks of the heads of one token, one every `stride` elements.
template <class T>
struct token_heads {
  T* first;
  std::ptrdiff_t stride;
  std::size_t heads, pairs;

  T* operator[](std::size_t head) const noexcept { return first + static_cast<std::ptrdiff_t>(head) * stride; }
};

// Turns columns of `Turns` groups of pairs, from `pair` on while they fit below `last`; answers where it stopped.
template <class Turn, std::size_t Turns, class T, class Real>
std::size_t rotate_columns(token_heads<T> const& x, Real const* cos, Real const* sin, std::size_t pair, std::size_t last) noexcept {
  for (; pair + Turns * Turn::pairs <= last; pair += Turns * Turn::pairs) {
    Turn turns[Turns];
    for (std::size_t i = 0; i < Turns; ++i) turns[i].load(cos + pair + i * Turn::pairs, sin + pair + i * Turn::pairs);
    for (std::size_t head = 0; head < x.heads; ++head) {
      for (std::size_t i = 0; i < Turns; ++i) turns[i].apply(x[head], pair + i * Turn::pairs, x.pairs);
    }
  }
  return pair;
}

// What is left for one lane: a tail, or everything where there are no registers. Head by head, so that it stays in cache order.
template <class Layout, class T, class Real>
void rotate_rest(token_heads<T> const& x, Real const* cos, Real const* sin, std::size_t pair, std::size_t last) noexcept {
  for (std::size_t head = 0; head < x.heads; ++head) {
    for (auto i = pair; i < last; ++i) turn<Layout, one_lane<T>>{cos[i], sin[i]}.apply(x[head], i, x.pairs);
  }
}

template <class Layout, class T, class Real>
void rotate_heads(token_heads<T> const& x, Real const* cos, Real const* sin, pair_range turning) noexcept {
  auto [pair, last] = turning;
  if constexpr (lanes<T>::size > 1) {
    using group = quickest_turn<Layout, T>;
    pair = rotate_columns<group, 4>(x, cos, sin, pair, last);
    pair = rotate_columns<group, 1>(x, cos, sin, pair, last);
    if constexpr (group::pairs > lanes<T>::size) pair = rotate_columns<turn<Layout, lanes<T>>, 1>(x, cos, sin, pair, last);
  }
  rotate_rest<Layout>(x, cos, sin, pair, last);
}

}  // namespace posenc::detail
