// A group of neighbouring pairs of one head in registers: rotated, (x + iy)(c + is), or copied.
#pragma once

#include <concepts>
#include <cstddef>

#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

// clang-format off

/// The CPU converts the numbers as they are loaded and stored, in no other registers.
template <class Lanes>
concept converted_by_cpu = requires { requires Lanes::converts; };

// clang-format on

/// x' = x c - y s,  y' = x s + y c, with x and y in separate registers.
template <class From, class To, class In, class Out>
struct rotate_pairs {
  static constexpr std::size_t pairs = In::size;
  /// That a group takes: for cosines and sines, and as many again for conversions.
  static constexpr std::size_t registers =
      std::same_as<In, typename In::arithmetic_lanes> || converted_by_cpu<In> ? 2 : 4;
  typename In::number c, s;

  template <class Real>
  void load(Real const* cos, Real const* sin) noexcept {
    c = In::arithmetic_lanes::load(cos), s = In::arithmetic_lanes::load(sin);
  }

  /// From memory, for one head: see register_arithmetic::kept.
  [[gnu::always_inline]] rotate_pairs kept() const noexcept {
    rotate_pairs result;
    result.c = In::arithmetic_lanes::kept(c), result.s = In::arithmetic_lanes::kept(s);
    return result;
  }

  struct numbers {
    typename In::number x, y;
  };

  /// Reads the pairs from `pair` on, relative to the cursor, of `all` pairs of the rotary block:
  /// of halves x alone, since a whole half is read before the other, in the order of addresses.
  [[gnu::always_inline]] static void begin(auto const& at, std::size_t pair, std::size_t all,
                                           numbers& n) noexcept {
    if constexpr (std::same_as<From, halves>) {
      n.x = In::load(at.from + pair);
    } else {
      From::template load<In>(at.from, pair, all, n.x, n.y);
    }
  }
  /// Reads the rest and rotates.
  [[gnu::always_inline]] void finish(auto const& at, std::size_t pair, std::size_t all,
                                     numbers& n) const noexcept {
    if constexpr (std::same_as<From, halves>) n.y = In::load(at.from + all + pair);
    at.template apply_weights<From, typename In::arithmetic_lanes>(pair, all, n.x, n.y);
    multiply(n.x, n.y);
    at.apply_gain(n.x, n.y);
  }
  [[gnu::always_inline]] void write(auto const& at, std::size_t pair, std::size_t all,
                                    numbers const& n) const noexcept {
    To::template store<Out>(at.to, pair, all, n.x, n.y);
  }
  /// The same in two steps, in halves.
  static constexpr bool writes_halves = std::same_as<From, halves> && std::same_as<To, halves>;
  [[gnu::always_inline]] static void write_x(auto const& at, std::size_t pair,
                                             numbers const& n) noexcept {
    Out::store(at.to + pair, n.x);
  }
  [[gnu::always_inline]] static void write_y(auto const& at, std::size_t pair, std::size_t all,
                                             numbers const& n) noexcept {
    Out::store(at.to + all + pair, n.y);
  }

  [[gnu::always_inline]] void multiply(typename In::number& x,
                                       typename In::number& y) const noexcept {
    auto const rotated = In::multiply_subtract(x, c, y * s);
    y = In::multiply_add(y, c, x * s);
    x = rotated;
  }
};

/// Pairs of frequency 0.
template <class From, class To, class In, class Out>
struct copy_pairs {
  static constexpr std::size_t pairs = In::size, registers = 0;
  using numbers = typename rotate_pairs<From, To, In, Out>::numbers;

  void load(auto const*, auto const*) noexcept {}
  [[gnu::always_inline]] static void begin(auto const&, std::size_t, std::size_t,
                                           numbers&) noexcept {}
  [[gnu::always_inline]] static void finish(auto const& at, std::size_t pair, std::size_t all,
                                            numbers& n) noexcept {
    From::template load<In>(at.from, pair, all, n.x, n.y);
    at.template apply_weights<From, typename In::arithmetic_lanes>(pair, all, n.x, n.y);
    at.apply_gain(n.x, n.y);
  }
  [[gnu::always_inline]] void write(auto const& at, std::size_t pair, std::size_t all,
                                    numbers const& n) const noexcept {
    To::template store<Out>(at.to, pair, all, n.x, n.y);
  }
};

/// A register of neighbouring dims that are not rotated.
template <class In, class Out>
void copy(auto const& at) noexcept {
  auto x = In::load(at.from);
  at.template apply_weights<typename In::arithmetic_lanes>(x);
  at.apply_gain(x);
  Out::store(at.to, x);
}

/// Interleaved pairs as in memory, x0 y0 x1 y1 ...: the same product, with x and y in one register.
template <class In, class Out>
struct rotate_side_by_side {
  static constexpr std::size_t pairs = In::size;
  /// Of halves in 256 bits: most stay in memory in the widest columns. Their loads are free beside
  /// conversions, and whole rows are read in the order of addresses.
  static constexpr std::size_t registers = splits_512_bits && converted_by_cpu<In> ? 1 : 4;
  typename In::number c[2], s[2];  // c0 c0 c1 c1 ..., -s0 s0 -s1 s1 ...

  template <class Real>
  void load(Real const* cos, Real const* sin) noexcept {
    using arithmetic_lanes = typename In::arithmetic_lanes;
    alignas(64) Real signs[pairs];
    for (std::size_t i = 0; i < pairs; ++i) signs[i] = i % 2 == 0 ? Real{-1} : Real{1};
    auto const sign = arithmetic_lanes::load(signs);
    arithmetic_lanes::duplicated(arithmetic_lanes::load(cos), c[0], c[1]);
    arithmetic_lanes::duplicated(arithmetic_lanes::load(sin), s[0], s[1]);
    s[0] = s[0] * sign, s[1] = s[1] * sign;
  }
  [[gnu::always_inline]] rotate_side_by_side kept() const noexcept {
    rotate_side_by_side result;
    for (std::size_t i = 0; i < 2; ++i) {
      result.c[i] = In::arithmetic_lanes::kept(c[i]);
      result.s[i] = In::arithmetic_lanes::kept(s[i]);
    }
    return result;
  }

  struct numbers {
    typename In::number x_y[2];
  };

  [[gnu::always_inline]] static void begin(auto const&, std::size_t, std::size_t,
                                           numbers&) noexcept {}
  [[gnu::always_inline]] void finish(auto const& at, std::size_t pair, std::size_t,
                                     numbers& n) const noexcept {
    auto& x_y = n.x_y;
    for (std::size_t i = 0; i < 2; ++i) x_y[i] = In::load(at.from + 2 * pair + i * pairs);
    // The weights of the two registers are neighbours, as in halves.
    at.template apply_weights<halves, typename In::arithmetic_lanes>(2 * pair, pairs, x_y[0],
                                                                     x_y[1]);
    for (std::size_t i = 0; i < 2; ++i)
      x_y[i] = In::multiply_add(x_y[i], c[i], In::neighbours_swapped(x_y[i]) * s[i]);
    at.apply_gain(x_y[0], x_y[1]);
  }
  [[gnu::always_inline]] void write(auto const& at, std::size_t pair, std::size_t,
                                    numbers const& n) const noexcept {
    for (std::size_t i = 0; i < 2; ++i) Out::store(at.to + 2 * pair + i * pairs, n.x_y[i]);
  }
};

/// Halves of 16-bit numbers: two per 32-bit word; even and odd pairs separate with a mask and a
/// shift, at no cost.
template <class In, class Out>
struct rotate_even_and_odd {
  static constexpr std::size_t pairs = 2 * In::size;
  /// Conversions of type half that are computed take all of 16.
  static constexpr std::size_t registers = In::computes_halves && !has_32_registers ? 16 : 8;
  rotate_pairs<halves, halves, In, Out> even, odd;

  template <class Real>
  void load(Real const* cos, Real const* sin) noexcept {
    In::arithmetic_lanes::load_pairs(cos, even.c, odd.c);
    In::arithmetic_lanes::load_pairs(sin, even.s, odd.s);
  }
  [[gnu::always_inline]] rotate_even_and_odd kept() const noexcept {
    return {even.kept(), odd.kept()};
  }

  struct numbers {
    typename In::number x_even, x_odd, y_even, y_odd;
  };

  [[gnu::always_inline]] static void begin(auto const&, std::size_t, std::size_t,
                                           numbers&) noexcept {}
  [[gnu::always_inline]] void finish(auto at, std::size_t pair, std::size_t all,
                                     numbers& n) const noexcept {
    auto const to_x = static_cast<std::ptrdiff_t>(pair), to_y = static_cast<std::ptrdiff_t>(all);
    at.move(to_x, to_x);
    In::load_pairs(at.from, n.x_even, n.x_odd);
    at.template apply_weights<interleaved, typename In::arithmetic_lanes>(0, 0, n.x_even, n.x_odd);
    at.move(to_y, to_y);
    In::load_pairs(at.from, n.y_even, n.y_odd);
    at.template apply_weights<interleaved, typename In::arithmetic_lanes>(0, 0, n.y_even, n.y_odd);
    even.multiply(n.x_even, n.y_even);
    odd.multiply(n.x_odd, n.y_odd);
    at.apply_gain(n.x_even, n.x_odd, n.y_even, n.y_odd);
  }
  [[gnu::always_inline]] void write(auto const& at, std::size_t pair, std::size_t all,
                                    numbers const& n) const noexcept {
    Out::store_pairs(at.to + pair, n.x_even, n.x_odd);
    Out::store_pairs(at.to + all + pair, n.y_even, n.y_odd);
  }
};

}  // namespace posenc::detail
