// From floats to codes of 8 bits and back: what all formats of the cache are made of.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "posenc/core/compiler.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/registers.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Calls each(i) for i < n, in blocks that compilers compute in registers.
template <std::size_t Block = 32>
[[gnu::always_inline]] inline void each_of(std::size_t n, auto const& each) noexcept {
  auto const whole = n / Block * Block;
  for (std::size_t i = 0; i < whole; i += Block)
    for (std::size_t j = 0; j < Block; ++j) each(i + j);
  for (auto i = whole; i < n; ++i) each(i);
}

/// to[i] = the low byte of code(x[i]). By way of a block of its own: bytes may be anyone's, and
/// compilers would take x to change as they are written.
[[gnu::always_inline]] inline void write_codes(std::span<float const> x, std::byte* to,
                                               auto const& code) noexcept {
  constexpr std::size_t block = 32;
  auto const whole = x.size() / block * block;
  for (std::size_t i = 0; i < whole; i += block) {
    std::uint8_t codes[block];
    for (std::size_t j = 0; j < block; ++j) codes[j] = static_cast<std::uint8_t>(code(x[i + j]));
    std::memcpy(to + i, codes, block);
  }
  for (auto i = whole; i < x.size(); ++i) to[i] = static_cast<std::byte>(code(x[i]));
}

/// Within [least, most].
[[gnu::always_inline]] constexpr std::int32_t limited(std::int32_t code, std::int32_t least,
                                                      std::int32_t most) noexcept {
  auto const above = code > least ? code : least;
  return above < most ? above : most;
}

/// The nearest integer, ties to even, for |x| < 2^22; larger for larger ones, up to infinity; of
/// NaN, a multiple of 256. In integers: compilers keep it as it stands under -ffast-math, and
/// compute it in registers.
[[gnu::always_inline]] constexpr std::int32_t nearest(float x) noexcept {
  constexpr float ones = 0x1.8p23f;  // whose last bit has the weight 1
  return static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(x + ones) -
                                   std::bit_cast<std::uint32_t>(ones));
}
/// x, or 512 of its sign if that is less: of any number, then, nearest is right.
[[gnu::always_inline]] constexpr float within_512(float x) noexcept {
  auto const all = std::bit_cast<std::int32_t>(x), m = all & 0x7fff'ffff,
             most = std::bit_cast<std::int32_t>(512.0f);
  return std::bit_cast<float>((m < most ? m : most) | (all & (-0x7fff'ffff - 1)));
}
/// Towards zero, for |x| < 512; of larger ones, infinity and NaN, an integer of low byte 0.
[[gnu::always_inline]] constexpr std::int32_t truncated_to_integer(float x) noexcept {
  return static_cast<std::int32_t>(within_512(x));
}
/// The nearest integer, ties away from zero, as C's roundf; within 512, as above.
[[gnu::always_inline]] constexpr std::int32_t nearest_away(float x) noexcept {
  // Just below 1/2: the sum of that and a number just below 1/2 must not round to 1.
  constexpr auto below_half = std::bit_cast<std::uint32_t>(0x1.fffffep-2f);
  auto const sign = std::bit_cast<std::uint32_t>(x) & 0x8000'0000u;
  return truncated_to_integer(x + std::bit_cast<float>(below_half | sign));
}

/// The least and the most of place(bits), of integers in a register or alone.
struct extremes {
  std::int32_t least = 0x7fff'ffff, most = -0x7fff'ffff - 1;

  template <class Lanes = lanes<float>>
  [[gnu::always_inline]] extremes(std::span<float const> x, auto const& place) noexcept {
    auto const whole = x.size() / Lanes::size * Lanes::size;
    auto const take = [&](std::int32_t low, std::int32_t high) POSENC_INLINED {
      least = low < least ? low : least, most = high > most ? high : most;
    };
    if constexpr (several_lanes<Lanes>) {
      using number = typename Lanes::number;
      using integers = xsimd::batch<std::int32_t, typename number::arch_type>;
      integers low(least), high(most);
      for (std::size_t i = 0; i < whole; i += Lanes::size) {
        auto const bits = place(bits_as<std::int32_t>(number(Lanes::load(x.data() + i))));
        low = xsimd::min(low, bits), high = xsimd::max(high, bits);
      }
      std::int32_t lows[Lanes::size], highs[Lanes::size];
      low.store_unaligned(lows), high.store_unaligned(highs);
      for (std::size_t j = 0; j < Lanes::size; ++j) take(lows[j], highs[j]);
    }
    for (auto i = several_lanes<Lanes> ? whole : 0; i < x.size(); ++i) {
      auto const bits = place(std::bit_cast<std::int32_t>(x[i]));
      take(bits, bits);
    }
  }
};

/// The largest magnitude, compared as bits: NaN is larger than infinity.
[[gnu::always_inline]] inline float largest_magnitude(std::span<float const> x) noexcept {
  auto const magnitude = [](auto bits)
                             POSENC_INLINED { return bits & decltype(bits)(0x7fff'ffff); };
  return std::bit_cast<float>(extremes(x, magnitude).most);
}
/// Integers in the order of the numbers whose bits these are, and back; NaN is beyond infinity.
inline constexpr auto ordered = [](auto bits) POSENC_INLINED {
  return bits ^ ((bits >> 31) & decltype(bits)(0x7fff'ffff));
};

/// E4M3 of OCP: 1 sign bit, 4 exponent bits of bias 7, 3 fraction bits. The largest number is 448,
/// the least normal one 2^-6, the least one 2^-9; no infinity; NaN is 0x7f and 0xff.
struct e4m3_codes {
  using u32 = std::uint32_t;
  static constexpr u32 most = 0x43e0'0000, rebias = 120u << 23, least_normal = 121u << 23,
                       infinity = 0x7f80'0000, magnitude_bits = 0x7fff'ffff;

  [[gnu::always_inline]] static constexpr u32 magnitude(u32 all) noexcept {
    auto const m = all & magnitude_bits;
    return choose(below(most, m), most, m);
  }
  /// To the nearest, ties to even; beyond 448, 448; NaN gives NaN. As CPUs and GPUs convert with
  /// saturation. flush: below 2^-6, zero.
  [[gnu::always_inline]] static constexpr u32 to_nearest(float x, bool flush = false) noexcept {
    constexpr u32 leading = 0x4680'0000;  // 2^14, whose last bit has the weight 2^-9
    auto const all = std::bit_cast<u32>(x), sign = (all >> 24) & 0x80u, m = magnitude(all),
               normal = (m - rebias + 0x7'ffffu + ((m >> 20) & 1u)) >> 20,
               subnormal =
                   std::bit_cast<u32>(std::bit_cast<float>(m) + std::bit_cast<float>(leading)) -
                   leading;
    auto const finite = choose(below(m, least_normal), flush ? 0 : subnormal, normal);
    return sign | choose(below(infinity, all & magnitude_bits), u32{0x7f}, finite);
  }
  /// Towards zero, as vLLM's writer for CPUs: below 2^-6 rounded to a multiple of 2^-29 first, by
  /// the product that it makes; -0 gives 0, and NaN 448.
  [[gnu::always_inline]] static constexpr u32 towards_zero(float x) noexcept {
    constexpr u32 leading = least_normal;  // 2^-6, whose last bit has the weight 2^-29
    auto const all = std::bit_cast<u32>(x), m = magnitude(all), normal = (m - rebias) >> 20,
               subnormal =
                   (std::bit_cast<u32>(std::bit_cast<float>(m) + std::bit_cast<float>(leading)) -
                    leading) >>
                   20,
               is_nan = below(infinity, all & magnitude_bits),
               signs = below(u32{0}, m) & ~is_nan & 0x80u;
    return ((all >> 24) & signs) | choose(below(m, least_normal), subnormal, normal);
  }
  /// Exact.
  [[gnu::always_inline]] static constexpr float number(u32 code) noexcept {
    auto const sign = (code & 0x80u) << 24, shifted = (code & 0x7fu) << 20;
    // Subnormal: the fraction behind a leading 1 of weight 2^-6, less 2^-6.
    auto const subnormal = std::bit_cast<u32>(std::bit_cast<float>(shifted | least_normal) -
                                              std::bit_cast<float>(least_normal));
    auto const finite = choose(below(shifted, 1u << 23), subnormal, shifted + rebias);
    return std::bit_cast<float>(sign |
                                choose(below(u32{0x7eu << 20}, shifted), u32{0x7fc0'0000}, finite));
  }
};

/// A number at any address.
template <class Number>
[[gnu::always_inline]] inline Number number_at(std::byte const* from) noexcept {
  Number x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
template <class Number>
[[gnu::always_inline]] inline void put(std::byte* to, Number x) noexcept {
  std::memcpy(to, &x, sizeof x);
}

}  // namespace posenc::detail
