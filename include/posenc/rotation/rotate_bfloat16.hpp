// A group of pairs of bfloat16, rotated in registers and rounded by the CPU, which flushes
// subnormal results to zero. A test of the numbers read, not of all results, tells where there may
// be any.
//
// x' = x c - y s: y s is rounded to float, then the difference. A number of 2^e and above is a
// whole multiple of 2^(e - 7) in bfloat16, and of 2^(e - 23) in float. Let x and y be 0 or at least
// 2^-63, and c and s 0 or at least 2^-33, in magnitude. Then x c and y s are whole multiples of
// 2^(-63 - 7) 2^(-33 - 23) = 2^-126, the smallest normal number. Rounding y s leaves it one: below
// 2^-102 it has 24 bits and is exact, and floats from there on are such multiples. So x' is 0 or at
// least 2^-126: never subnormal. The same holds of y' = x s + y c.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotate_pairs.hpp"
#include "posenc/simd/lanes.hpp"

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

namespace posenc::inline POSENC_TARGET::detail {

/// Two registers a and b of 16-bit words: in halves a holds x and b holds y, in interleaved each
/// holds pairs. Each is widened to two registers of floats.
template <class Layout, class In, class Out>
struct rotate_bfloat16 {
  static constexpr std::size_t pairs = 2 * In::size, registers = 4;
  using number = typename In::number;
  using bits = typename In::bits;
  rotate_pairs<halves, halves, In, Out> parts[2];
  template <class Real>
  void load(Real const* cos, Real const* sin) noexcept {
    using order = std::conditional_t<is_split, order_of_words, halves>;
    using arithmetic_lanes = typename In::arithmetic_lanes;
    order::template load<arithmetic_lanes>(cos, 0, In::size, parts[0].c, parts[1].c);
    order::template load<arithmetic_lanes>(sin, 0, In::size, parts[0].s, parts[1].s);
  }

  /// From memory, for one head: see register_arithmetic::kept.
  [[gnu::always_inline]] rotate_bfloat16 kept() const noexcept {
    return {{parts[0].kept(), parts[1].kept()}};
  }

  /// What tells tiny numbers.
  class bound {
   public:
    [[gnu::always_inline]] void add(rotate_bfloat16 const& group) noexcept {
      for (auto const& part : group.parts) add(part.c), add(part.s);
    }
    /// A number that has none of these bits is below 2^-63: tiny, but for 0. If a cosine or sine of
    /// any group is too small, there are no bits.
    [[gnu::always_inline]] bits large() const noexcept {
      if (xsimd::any(smallest_ < bits(2 * 0x2f00'0000u - 1))) [[unlikely]]  // below 2^-33
        return bits(0u);
      return In::kept(bits(0x6000'6000u));
    }

   private:
    [[gnu::always_inline]] void add(number const& x) noexcept {
      auto const all = register_bits::as_bits(x);
      smallest_ = xsimd::min(smallest_, all + all - bits(1u));  // 0 gives the largest
    }
    bits smallest_ = bits(0xffff'ffffu);
  };

  struct numbers {
    bits a, b;
    number a0, a1, b0, b1;
  };

  [[gnu::always_inline]] static void begin(auto const& at, std::size_t pair, std::size_t all,
                                           numbers& n) noexcept {
    n.a = load_words(at.from + Layout::x_index(pair, all));
  }
  [[gnu::always_inline]] void finish(auto at, std::size_t pair, std::size_t all,
                                     numbers& n) const noexcept {
    auto const to_a = static_cast<std::ptrdiff_t>(Layout::x_index(pair, all)),
               to_b = static_cast<std::ptrdiff_t>(from_a_to_b(all));
    n.b = load_words(at.from + to_a + to_b);
    widen(n.a, n.a0, n.a1), widen(n.b, n.b0, n.b1);
    at.move(to_a, to_a), apply_weights(at, n.a0, n.a1);
    at.move(to_b, to_b), apply_weights(at, n.b0, n.b1);
    if constexpr (is_split) {
      parts[0].multiply(n.a0, n.b0), parts[1].multiply(n.a1, n.b1);
    } else {
      parts[0].multiply(n.a0, n.a1), parts[1].multiply(n.b0, n.b1);
    }
    at.apply_gain(n.a0, n.a1, n.b0, n.b1);
    In::computed(n.a0), In::computed(n.a1), In::computed(n.b0), In::computed(n.b1);
  }
  [[gnu::always_inline]] static bool has_tiny(numbers const& n, bits const& large) noexcept {
    return any_tiny(n.a.data, n.b.data, large.data);
  }
  /// Unless any is tiny.
  [[gnu::always_inline]] static void write(auto const& at, std::size_t pair, std::size_t all,
                                           numbers const& n) noexcept {
    auto* const a = at.to + Layout::x_index(pair, all);
    auto* const b = a + from_a_to_b(all);
    if constexpr (requires { at.weights; }) {  // the numbers rotated are not those read
      order_of_words::template store<Out>(a, 0, In::size, n.a0, n.a1);
      order_of_words::template store<Out>(b, 0, In::size, n.b0, n.b1);
    } else if constexpr (in_order) {
      store_bfloat16(a, n.a0.data, n.a1.data), store_bfloat16(b, n.b0.data, n.b1.data);
    } else {
      store_bfloat16_pairs(a, n.a0.data, n.a1.data), store_bfloat16_pairs(b, n.b0.data, n.b1.data);
    }
  }

 private:
  // The words in order, or those of even index in one register and those of odd index in another,
  // which need a shuffle when they are stored.
  static constexpr bool is_split = std::same_as<Layout, halves>,
                        in_order = is_split && requires(bits a, number x) {
    widen_bfloat16(a.data, x.data, x.data);
  };
  using order_of_words = std::conditional_t<in_order, halves, interleaved>;

  static std::size_t from_a_to_b(std::size_t all) noexcept { return is_split ? all : pairs; }
  [[gnu::always_inline]] static bits load_words(auto const* from) noexcept {
    return In::kept(bits::load_unaligned(reinterpret_cast<std::uint32_t const*>(from)));
  }
  [[gnu::always_inline]] static void widen(bits const& words, number& x, number& y) noexcept {
    if constexpr (in_order) {
      widen_bfloat16(words.data, x.data, y.data);
    } else {
      In::split(words, x, y);
    }
  }
  [[gnu::always_inline]] static void apply_weights(auto const& at, number& x, number& y) noexcept {
    at.template apply_weights<order_of_words, typename In::arithmetic_lanes>(0, In::size, x, y);
  }
};

}  // namespace posenc::detail

#endif
