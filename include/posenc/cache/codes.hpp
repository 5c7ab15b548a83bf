// From floats to codes of 8 bits and back, in registers: what all formats of the cache are made of.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "posenc/core/bit_cast.hpp"
#include "posenc/core/compiler.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/for_bytes.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/registers.hpp"

POSENC_QUIET_BEGIN

namespace posenc::inline POSENC_TARGET::detail {

/// The bits of one number, or of a register of them.
template <class Number>
struct code_bits : scalar_bits {};
/// A register of floats, or one where there are none.
using code_lanes = lanes<float>;

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
template <class Arch>
struct code_bits<xsimd::batch<float, Arch>> : register_bits<xsimd::batch<float, Arch>> {};

template <class Number, class Arch>
[[gnu::always_inline]] inline auto signed_bits(xsimd::batch<Number, Arch> const& x) noexcept {
  return bits_as<std::int32_t>(x);
}
template <class Arch>
[[gnu::always_inline]] inline auto number_of(xsimd::batch<std::int32_t, Arch> const& x) noexcept {
  return bits_as<float>(x);
}
template <class Arch>
[[gnu::always_inline]] inline auto greater(xsimd::batch<std::int32_t, Arch> const& x,
                                           xsimd::batch<std::int32_t, Arch> const& y) noexcept {
  return xsimd::max(x, y);
}
/// yes where a < b, both below 2^31, else no.
template <class Arch, class U32 = xsimd::batch<std::uint32_t, Arch>>
[[gnu::always_inline]] inline U32 where_below(xsimd::batch<std::uint32_t, Arch> const& a,
                                              std::type_identity_t<U32> const& b,
                                              std::type_identity_t<U32> const& yes,
                                              std::type_identity_t<U32> const& no) noexcept {
  auto const chosen =
      xsimd::select(signed_bits(a) < signed_bits(b), signed_bits(yes), signed_bits(no));
  return bits_as<std::uint32_t>(chosen);
}
/// The less of two, both below 2^31.
template <class Arch, class U32 = xsimd::batch<std::uint32_t, Arch>>
[[gnu::always_inline]] inline U32 less_of(xsimd::batch<std::uint32_t, Arch> const& a,
                                          std::type_identity_t<U32> const& b) noexcept {
  return bits_as<std::uint32_t>(xsimd::min(signed_bits(a), signed_bits(b)));
}
/// The more of two, both below 2^31.
template <class Arch, class U32 = xsimd::batch<std::uint32_t, Arch>>
[[gnu::always_inline]] inline U32 more_of(xsimd::batch<std::uint32_t, Arch> const& a,
                                          std::type_identity_t<U32> const& b) noexcept {
  return bits_as<std::uint32_t>(xsimd::max(signed_bits(a), signed_bits(b)));
}
template <class I, class Arch>
[[gnu::always_inline]] inline auto limited(xsimd::batch<I, Arch> const& code, std::int32_t least,
                                           std::int32_t most) noexcept {
  using integers = xsimd::batch<std::int32_t, Arch>;
  return xsimd::min(xsimd::max(signed_bits(code), integers(least)), integers(most));
}
template <class Arch>
[[gnu::always_inline]] inline auto towards_zero(xsimd::batch<float, Arch> const& x) noexcept {
  return xsimd::to_int(x);
}
template <class Arch>
[[gnu::always_inline]] inline auto product(xsimd::batch<float, Arch> const& x, float y) noexcept {
  auto result = x * xsimd::batch<float, Arch>(y);
  as_written(result);
  return result;
}
template <class Arch, class Batch = xsimd::batch<float, Arch>>
[[gnu::always_inline]] inline Batch multiply_add(xsimd::batch<float, Arch> const& a, Batch const& b,
                                                 Batch const& c) noexcept {
  return register_arithmetic<float, Batch>::multiply_add(a, b, c);
}
template <class Arch>
[[gnu::always_inline]] inline auto signed_number(
    xsimd::batch<std::uint32_t, Arch> const& code) noexcept {
  return xsimd::to_float((signed_bits(code) << 24) >> 24);
}
template <class Arch>
[[gnu::always_inline]] inline auto unsigned_number(
    xsimd::batch<std::uint32_t, Arch> const& code) noexcept {
  return xsimd::to_float(signed_bits(code));
}
#endif

/// The bits of a number, and back; the greater of two.
[[gnu::always_inline]] constexpr std::int32_t signed_bits(float x) noexcept {
  return bit_cast<std::int32_t>(x);
}
[[gnu::always_inline]] constexpr float number_of(std::int32_t bits) noexcept {
  return bit_cast<float>(bits);
}
[[gnu::always_inline]] constexpr std::int32_t greater(std::int32_t x, std::int32_t y) noexcept {
  return x < y ? y : x;
}
/// The same of one number. product: rounded before what follows.
[[gnu::always_inline]] constexpr std::uint32_t where_below(std::uint32_t a, std::uint32_t b,
                                                           std::uint32_t yes,
                                                           std::uint32_t no) noexcept {
  return choose(below(a, b), yes, no);
}
[[gnu::always_inline]] constexpr std::uint32_t less_of(std::uint32_t a, std::uint32_t b) noexcept {
  return where_below(a, b, a, b);
}
[[gnu::always_inline]] constexpr std::uint32_t more_of(std::uint32_t a, std::uint32_t b) noexcept {
  return where_below(a, b, b, a);
}
[[gnu::always_inline]] constexpr std::int32_t limited(std::uint32_t code, std::int32_t least,
                                                      std::int32_t most) noexcept {
  auto const x = static_cast<std::int32_t>(code), above = x > least ? x : least;
  return above < most ? above : most;
}
[[gnu::always_inline]] constexpr std::uint32_t towards_zero(float x) noexcept {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(x));
}
[[gnu::always_inline]] inline float product(float x, float y) noexcept {
  auto result = x * y;
  as_written(result);
  return result;
}
/// The number that a code is, as int8 and as uint8: of its lowest 8 bits, which are all it has.
[[gnu::always_inline]] constexpr float signed_number(std::uint32_t code) noexcept {
  return static_cast<float>(static_cast<std::int8_t>(code));
}
[[gnu::always_inline]] constexpr float unsigned_number(std::uint32_t code) noexcept {
  return static_cast<float>(static_cast<std::int32_t>(code));
}

/// to[i] = the low byte of code(x[i]); code is called with a register of numbers or with one.
[[gnu::always_inline]] inline void write_codes(std::span<float const> x, std::byte* to,
                                               auto const& code) noexcept {
  auto const rest = several_lanes<code_lanes> ? x.size() % code_lanes::size : x.size(),
             whole = x.size() - rest;
  if constexpr (several_lanes<code_lanes>) {
    constexpr auto size = code_lanes::size;
    auto const at = [&](std::size_t i)
                        POSENC_INLINED { return code(code_lanes::load(x.data() + i)); };
    std::size_t i = 0;
    if constexpr (requires(decltype(at(0).data) y) { store_bytes(to, y, y, y, y); }) {
      for (; whole - i >= 4 * size; i += 4 * size) {
        auto const a = at(i), b = at(i + size), c = at(i + 2 * size), d = at(i + 3 * size);
        store_bytes(to + i, a.data, b.data, c.data, d.data);
      }
    }
    for (; i < whole; i += size) {
      auto const codes = at(i);
      if constexpr (requires { store_bytes(to, codes.data); }) {
        store_bytes(to + i, codes.data);
      } else {
        typename decltype(codes)::value_type wide[size];
        codes.store_unaligned(wide);
        for (std::size_t j = 0; j < size; ++j) to[i + j] = static_cast<std::byte>(wide[j]);
      }
    }
  }
  for (std::size_t i = 0; i < rest; ++i) to[whole + i] = static_cast<std::byte>(code(x[whole + i]));
}
/// x[i] = number(code i); number is called with a register of codes, of 32 bits each, or with one.
template <class Lanes = code_lanes>
[[gnu::always_inline]] inline void read_codes(std::byte const* from, std::span<float> x,
                                              auto const& number) noexcept {
  auto const rest = several_lanes<Lanes> ? x.size() % Lanes::size : x.size(),
             whole = x.size() - rest;
  if constexpr (several_lanes<Lanes>) {
    for (std::size_t i = 0; i < whole; i += Lanes::size) {
      typename code_bits<typename Lanes::number>::bits codes;
      if constexpr (requires { load_bytes(from, codes.data); }) {
        load_bytes(from + i, codes.data);
      } else {
        std::uint32_t wide[Lanes::size];
        for (std::size_t j = 0; j < Lanes::size; ++j)
          wide[j] = static_cast<std::uint8_t>(from[i + j]);
        codes = decltype(codes)::load_unaligned(wide);
      }
      Lanes::store(x.data() + i, number(codes));
    }
  }
  for (std::size_t i = 0; i < rest; ++i)
    x[whole + i] = number(std::uint32_t{static_cast<std::uint8_t>(from[whole + i])});
}

/// Codes of int8, each times the scale.
[[gnu::always_inline]] inline void read_signed(std::byte const* from, std::span<float> x,
                                               float scale) noexcept {
  read_codes(from, x,
             [&](auto const& code) POSENC_INLINED { return product(signed_number(code), scale); });
}

/// The nearest integer, ties to even, plus nearest_of_0, for |x| < 2^22. Greater x, up to infinity,
/// give greater results; NaN gives one with a low byte of 0. The sum is read as an integer, so that
/// -ffast-math does not take it apart.
inline constexpr std::int32_t nearest_of_0 = 0x4b40'0000;
template <class Number>
[[gnu::always_inline]] constexpr auto nearest(Number const& x) noexcept {
  return code_bits<Number>::as_bits(x + Number(0x1.8p23f));  // whose last bit has the weight 1
}
/// x, or 512 of its sign if that is less: of any number, then, nearest is right.
template <class Number>
[[gnu::always_inline]] constexpr Number within_512(Number const& x) noexcept {
  using b = code_bits<Number>;
  using u32 = typename b::bits;
  auto const all = b::as_bits(x), m = all & u32(0x7fff'ffffu), most = b::as_bits(Number(512.0f));
  return b::as_number(where_below(m, most, m, most) | (all & u32(0x8000'0000u)));
}
/// x rounded towards zero, for |x| < 512. Infinity and NaN give a low byte of 0, as x86 converts
/// them.
template <class Number>
[[gnu::always_inline]] constexpr auto truncated_to_integer(Number const& x) noexcept {
#if defined(__SSE2__)
  if constexpr (!std::same_as<Number, float>) return towards_zero(x);
#endif
  return towards_zero(within_512(x));
}
/// The nearest integer, ties away from zero, as C's roundf. For the same x.
template <class Number>
[[gnu::always_inline]] constexpr auto nearest_away(Number const& x) noexcept {
  using b = code_bits<Number>;
  // Just below 1/2: the sum of that and a number just below 1/2 must not round to 1.
  auto const below_half = b::as_bits(Number(0x1.fffffep-2f)),
             sign = b::as_bits(x) & typename b::bits(0x8000'0000u);
  return truncated_to_integer(x + b::as_number(below_half | sign));
}

}  // namespace posenc::detail

POSENC_QUIET_END
