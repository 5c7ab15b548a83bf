// The arithmetic of a group of neighbouring pairs of one head in registers: rotated,
// (x + iy)(c + is).
//
// A group begins (reads what comes first in memory), finishes (reads the rest and computes) and
// writes. If groups overlap in place, all finish before one writes.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "posenc/core/target.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// x' = x c - y s,  y' = x s + y c, with x and y in separate registers.
template <class From, class To, class In, class Out>
struct rotate_pairs {
  static constexpr std::size_t pairs = In::size, registers = 2 * In::registers;
  using arithmetic_lanes = typename In::arithmetic_lanes;
  using number = typename In::number;
  number c, s;
  struct numbers {
    number x, y;
    POSENC_ALWAYS_INLINE void operator*=(numbers const& w) noexcept { x = x * w.x, y = y * w.y; }
  };

  template <class Real>
  POSENC_ALWAYS_INLINE void load(Real const* cos, Real const* sin) noexcept {
    c = arithmetic_lanes::load(cos), s = arithmetic_lanes::load(sin);
  }
  /// Reads the pairs from `pair` on, relative to the cursor, of `all` pairs of the rotary block. In
  /// halves only x is read: memory is read in the order of addresses.
  POSENC_ALWAYS_INLINE static void begin(auto const& at, std::size_t pair, std::size_t all,
                                         numbers& n) noexcept {
    auto const first = From::x_index(pair, all);
    at.template ask_ahead<pairs>(first);
    at.template ask_ahead<pairs>(first + (std::same_as<From, halves> ? all : pairs));
    if constexpr (std::same_as<From, halves>) {
      n.x = In::load(at.from + pair);
    } else {
      From::template load<In>(at.from, pair, all, n.x, n.y);
    }
  }
  POSENC_ALWAYS_INLINE void finish(auto const& at, std::size_t pair, std::size_t all,
                                   numbers& n) const noexcept {
    if constexpr (std::same_as<From, halves>) n.y = In::load(at.from + all + pair);
    at.template apply_weights<rotate_pairs>(pair, all, n);
    auto const x = In::multiply_subtract(n.x, c, n.y * s);
    n.y = In::multiply_add(n.y, c, n.x * s);
    n.x = x;
    at.apply_gain(n.x, n.y);
  }
  /// The norm's weights of these pairs.
  template <class Real>
  POSENC_ALWAYS_INLINE static void load_weights(Real const* weights, std::size_t pair,
                                                std::size_t all, numbers& n) noexcept {
    From::template load<arithmetic_lanes>(weights, pair, all, n.x, n.y);
  }
  /// Writes x first, where that is a whole half; else all at last.
  static constexpr bool x_alone = std::same_as<To, halves>;
  POSENC_ALWAYS_INLINE static void write_x(auto const& at, std::size_t pair, std::size_t,
                                           numbers const& n) noexcept {
    if constexpr (x_alone) Out::store(at.to + pair, n.x);
  }
  POSENC_ALWAYS_INLINE static void write_y(auto const& at, std::size_t pair, std::size_t all,
                                           numbers const& n) noexcept {
    if constexpr (x_alone) {
      Out::store(at.to + all + pair, n.y);
    } else {
      To::template store<Out>(at.to, pair, all, n.x, n.y);
    }
  }
};

/// Interleaved pairs as in memory, x0 y0 x1 y1 ...: the same product, with x and y in one register.
template <class In, class Out>
struct rotate_side_by_side {
  static constexpr std::size_t pairs = In::size;
  /// Registers of halves may spill to memory: conversions leave time for loads.
  static constexpr std::size_t registers =
      has_32_registers && In::converts && In::size == 8 ? 2 : 4;
  using arithmetic_lanes = typename In::arithmetic_lanes;
  typename In::number c[2], s[2];  // c0 c0 c1 c1 ..., -s0 s0 -s1 s1 ...
  struct numbers {
    typename In::number x_y[2];
    POSENC_ALWAYS_INLINE void operator*=(numbers const& w) noexcept {
      for (std::size_t i = 0; i < 2; ++i) x_y[i] = x_y[i] * w.x_y[i];
    }
  };

  template <class Real>
  POSENC_ALWAYS_INLINE void load(Real const* cos, Real const* sin) noexcept {
    alignas(64) static constexpr auto signs = [] {
      std::array<Real, pairs> result{};
      for (std::size_t i = 0; i < pairs; ++i) result[i] = i % 2 == 0 ? Real{-1} : Real{1};
      return result;
    }();
    auto const sign = arithmetic_lanes::load(signs.data());
    auto const all_c = arithmetic_lanes::load(cos), all_s = arithmetic_lanes::load(sin);
    c[0] = In::template in_order<each_twice<0>>(all_c);
    c[1] = In::template in_order<each_twice<1>>(all_c);
    s[0] = In::template in_order<each_twice<0>>(all_s) * sign;
    s[1] = In::template in_order<each_twice<1>>(all_s) * sign;
  }
  POSENC_ALWAYS_INLINE static void begin(auto const&, std::size_t, std::size_t, numbers&) noexcept {
  }
  POSENC_ALWAYS_INLINE void finish(auto const& at, std::size_t pair, std::size_t,
                                   numbers& n) const noexcept {
    auto& x_y = n.x_y;
    for (std::size_t i = 0; i < 2; ++i) {
      at.template ask_ahead<pairs>(2 * pair + i * pairs);
      x_y[i] = In::load(at.from + 2 * pair + i * pairs);
    }
    at.template apply_weights<rotate_side_by_side>(pair, 0, n);
    for (std::size_t i = 0; i < 2; ++i)
      x_y[i] =
          In::multiply_add(x_y[i], c[i], In::template in_order<neighbours_swapped>(x_y[i]) * s[i]);
    at.apply_gain(x_y[0], x_y[1]);
  }
  template <class Real>
  POSENC_ALWAYS_INLINE static void load_weights(Real const* weights, std::size_t pair, std::size_t,
                                                numbers& n) noexcept {
    for (std::size_t i = 0; i < 2; ++i)
      n.x_y[i] = arithmetic_lanes::load(weights + 2 * pair + i * pairs);
  }
  static void write_x(auto const&, std::size_t, std::size_t, numbers const&) noexcept {}
  POSENC_ALWAYS_INLINE static void write_y(auto const& at, std::size_t pair, std::size_t,
                                           numbers const& n) noexcept {
    for (std::size_t i = 0; i < 2; ++i) Out::store(at.to + 2 * pair + i * pairs, n.x_y[i]);
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

/// The fastest group of a register of In and Out.
template <class From, class To, class In, class Out>
using group_of_lanes =
    std::conditional_t<std::same_as<From, halves> || !std::same_as<From, To> ||
                           In::free_deinterleave || Out::free_deinterleave,
                       rotate_pairs<From, To, In, Out>, rotate_side_by_side<In, Out>>;

/// The fastest group of numbers that are stored as S and written as T.
template <class From, class To, class S, class T>
constexpr auto choose_group() noexcept {
#if !defined(POSENC_NO_REGISTERS)
  using In = lanes<S>;
  using Out = lanes<T>;
  constexpr bool stay = std::same_as<From, To>;
  if constexpr (stay && In::converts && Out::converts && In::size == 16) {
    // In 256 bits: 512 take 1.2 to 1.4 of the time on the one CPU that was measured.
    using group = group_of_lanes<From, To, typename In::narrower, typename Out::narrower>;
    return std::type_identity<group>();
  } else if constexpr (stay && In::free_deinterleave && Out::free_deinterleave &&
                       std::same_as<From, halves>) {
    return std::type_identity<rotate_pairs<From, To, word_lanes<S>, word_lanes<T>>>();
  } else {
    return std::type_identity<group_of_lanes<From, To, In, Out>>();
  }
#endif
}
template <class From, class To, class S, class T>
using group_of = typename decltype(choose_group<From, To, S, T>())::type;

}}}  // namespace posenc::detail
