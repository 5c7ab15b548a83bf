// Interleaved pairs in registers, x and y of two registers apart, for CPUs that shuffle fast.
#pragma once

#include <concepts>
#include <cstddef>

#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/fastest_rotation.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotate_pairs.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The same product as rotate_side_by_side, with half as many cosines and sines: columns are twice
/// as wide, for twice as many shuffles.
template <class In, class Out>
struct rotate_apart {
  static constexpr std::size_t pairs = In::size, registers = 2;
  static constexpr bool available = requires(typename In::number x) {
    apart(x.data, x.data, x.data, x.data);
  };
  rotate_pairs<interleaved, interleaved, In, Out> together;

  template <class Real>
  void load(Real const* cos, Real const* sin) noexcept {
    using arithmetic_lanes = typename In::arithmetic_lanes;
    typename In::number low, high;
    arithmetic_lanes::duplicated(arithmetic_lanes::load(cos), low, high);
    apart(low.data, high.data, together.c.data, low.data);
    arithmetic_lanes::duplicated(arithmetic_lanes::load(sin), low, high);
    apart(low.data, high.data, together.s.data, low.data);
  }
  [[gnu::always_inline]] rotate_apart kept() const noexcept { return {together.kept()}; }

  struct numbers {
    typename In::number x, y;
  };

  [[gnu::always_inline]] static void begin(auto const&, std::size_t, std::size_t,
                                           numbers&) noexcept {}
  [[gnu::always_inline]] void finish(auto const& at, std::size_t pair, std::size_t,
                                     numbers& n) const noexcept {
    auto p = In::load(at.from + 2 * pair), q = In::load(at.from + 2 * pair + pairs);
    at.template apply_weights<halves, typename In::arithmetic_lanes>(2 * pair, pairs, p, q);
    apart(p.data, q.data, n.x.data, n.y.data);
    together.multiply(n.x, n.y);
    at.apply_gain(n.x, n.y);
  }
  [[gnu::always_inline]] void write(auto const& at, std::size_t pair, std::size_t,
                                    numbers const& n) const noexcept {
    typename In::number p, q;
    in_turns(n.x.data, n.y.data, p.data, q.data);
    Out::store(at.to + 2 * pair, p), Out::store(at.to + 2 * pair + pairs, q);
  }
};

/// The fastest one of more pairs than a column of it holds, where the CPU shuffles fast.
template <class From, class To, class S, class T>
struct wide_rotation : fastest_rotation<From, To, S, T> {};
template <class S, both_in_order<S> T>
requires(std::floating_point<storage_format_t<S>>&& rotate_apart<
         lanes<S>, lanes<T>>::available) struct wide_rotation<interleaved, interleaved, S, T> {
  using type = rotate_apart<lanes<S>, lanes<T>>;
};

}  // namespace posenc::detail
