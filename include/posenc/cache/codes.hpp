// From floats to codes of 8 bits and back: what all formats of the cache are made of.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Calls each(i) for i < n, in blocks that compilers compute in registers.
template <std::size_t Block = 32>
[[gnu::always_inline]] inline void each_of(std::size_t n, auto const& each) noexcept {
  std::size_t i = 0;
  for (; i + Block <= n; i += Block)
    for (std::size_t j = 0; j < Block; ++j) each(i + j);
  for (; i < n; ++i) each(i);
}

/// Within [least, most]; NaN stays.
[[gnu::always_inline]] constexpr float limited(float x, float least, float most) noexcept {
  auto const above = x < least ? least : x;
  return above > most ? most : above;
}

/// The nearest integer, ties to even, for |x| < 2^22; of infinity times 0, a multiple of 256. In
/// integers: compilers keep it as it stands under -ffast-math, and compute it in registers.
[[gnu::always_inline]] constexpr std::int32_t nearest(float x) noexcept {
  constexpr float ones = 0x1.8p23f;  // whose last bit has the weight 1
  return std::bit_cast<std::int32_t>(x + ones) - std::bit_cast<std::int32_t>(ones);
}
/// The nearest integer, ties away from zero, as C's roundf.
[[gnu::always_inline]] constexpr std::int32_t nearest_away(float x) noexcept {
  auto const even = nearest(x);
  auto const rest = x - static_cast<float>(even);  // exact
  return even + (rest == 0.5f && x > 0 ? 1 : 0) - (rest == -0.5f && x < 0 ? 1 : 0);
}
/// Towards zero, as a conversion in C.
[[gnu::always_inline]] constexpr std::int32_t truncated_to_integer(float x) noexcept {
  auto const even = nearest(x);
  auto const rest = x - static_cast<float>(even);  // exact
  return even - (rest < 0 && x > 0 ? 1 : 0) + (rest > 0 && x < 0 ? 1 : 0);
}

/// The largest magnitude, compared as bits: NaN is larger than infinity.
[[gnu::always_inline]] inline float largest_magnitude(std::span<float const> x) noexcept {
  std::int32_t most = 0;
  each_of(x.size(), [&](std::size_t i) {
    auto const bits = std::bit_cast<std::int32_t>(x[i]) & 0x7fff'ffff;
    most = bits > most ? bits : most;
  });
  return std::bit_cast<float>(most);
}

/// The least and the largest number, in the order of bits: NaN is beyond infinity, -0 before 0.
struct extremes {
  float least, most;
  [[gnu::always_inline]] explicit extremes(std::span<float const> x) noexcept {
    // Magnitudes of negative numbers, turned round: integers in the order of the numbers.
    auto const ordered = [](std::int32_t bits) { return bits ^ ((bits >> 31) & 0x7fff'ffff); };
    std::int32_t low = 0x7fff'ffff, high = -0x7fff'ffff - 1;
    each_of(x.size(), [&](std::size_t i) {
      auto const place = ordered(std::bit_cast<std::int32_t>(x[i]));
      low = place < low ? place : low, high = place > high ? place : high;
    });
    least = std::bit_cast<float>(ordered(low)), most = std::bit_cast<float>(ordered(high));
  }
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
