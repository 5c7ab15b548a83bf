// From floats to codes of 8 bits and back. Each function is of one number, or of a register of
// them: numbers are floats, codes and bits are integers of 32 bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/multiply_add.hpp"
#include "posenc/simd/registers.hpp"

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// A register of floats, or one where there are none.
using code_lanes = lanes<float>;

/// The bits of one number, or of a register of them.
template <class Number>
struct code_bits : scalar_bits {};

template <class To, class From>
requires std::is_arithmetic_v<From> POSENC_ALWAYS_INLINE constexpr To bits_as(From x) noexcept {
  return detail::bit_cast<To>(x);
}

#if !defined(POSENC_NO_REGISTERS)
template <class Arch>
struct code_bits<vectors::batch<float, Arch>> : register_bits<vectors::batch<float, Arch>> {};

template <class Arch, class Batch = vectors::batch<float, Arch>>
POSENC_ALWAYS_INLINE inline Batch multiply_add(vectors::batch<float, Arch> const& a, Batch const& b,
                                               Batch const& c) noexcept {
  return register_arithmetic<float, Batch>::multiply_add(a, b, c);
}
#endif

/// The greater and the less of two integers. For registers, xsimd's functions are found by their
/// arguments.
template <class Code>
POSENC_ALWAYS_INLINE constexpr Code greater(Code const& x,
                                            std::type_identity_t<Code> const& y) noexcept {
  if constexpr (std::is_arithmetic_v<Code>) {
    return x < y ? y : x;
  } else {
    return max(x, y);
  }
}
template <class Code>
POSENC_ALWAYS_INLINE constexpr Code less(Code const& x,
                                         std::type_identity_t<Code> const& y) noexcept {
  if constexpr (std::is_arithmetic_v<Code>) {
    return x < y ? x : y;
  } else {
    return min(x, y);
  }
}
/// For bits below 2^31.
template <class U32>
POSENC_ALWAYS_INLINE constexpr U32 more_of(U32 const& a,
                                           std::type_identity_t<U32> const& b) noexcept {
  return bits_as<std::uint32_t>(greater(bits_as<std::int32_t>(a), bits_as<std::int32_t>(b)));
}
template <class U32>
POSENC_ALWAYS_INLINE constexpr U32 less_of(U32 const& a,
                                           std::type_identity_t<U32> const& b) noexcept {
  return bits_as<std::uint32_t>(less(bits_as<std::int32_t>(a), bits_as<std::int32_t>(b)));
}
/// yes where a < b, both below 2^31, else no.
template <class U32>
POSENC_ALWAYS_INLINE constexpr U32 where_below(U32 const& a, std::type_identity_t<U32> const& b,
                                               std::type_identity_t<U32> const& yes,
                                               std::type_identity_t<U32> const& no) noexcept {
  if constexpr (std::is_arithmetic_v<U32>) {
    return choose(below(a, b), yes, no);
  } else {
    auto const i32 = [](U32 const& x) { return bits_as<std::int32_t>(x); };
    return bits_as<std::uint32_t>(chosen(i32(a) < i32(b), i32(yes), i32(no)));
  }
}
/// Bits of floats to integers that have the order of floats, with NaN beyond infinity; and back.
template <class I32>
POSENC_ALWAYS_INLINE constexpr I32 ordered(I32 const& bits) noexcept {
  return bits ^ ((bits >> 31) & I32(0x7fff'ffff));
}
/// 1 where x >= bound, else 0.
template <class I32>
POSENC_ALWAYS_INLINE constexpr I32 not_below(I32 const& x, std::int32_t bound) noexcept {
  if constexpr (std::is_arithmetic_v<I32>) {
    return x < bound ? 0 : 1;
  } else {
    return chosen(x < I32(bound), I32(0), I32(1));
  }
}
/// Within [least, most].
template <class Code>
POSENC_ALWAYS_INLINE constexpr auto limited(Code const& code, std::int32_t least,
                                            std::int32_t most) noexcept {
  using i32 = decltype(bits_as<std::int32_t>(code));
  return less(greater(bits_as<std::int32_t>(code), i32(least)), i32(most));
}

/// x y, rounded before what follows: never fused with an addition.
template <class Number>
POSENC_ALWAYS_INLINE inline Number product(Number const& x, float y) noexcept {
  auto result = x * Number(y);
  as_written(result);
  return result;
}
/// The number that an integer of 32 bits is.
template <class Code>
POSENC_ALWAYS_INLINE constexpr auto float_of(Code const& code) noexcept {
  if constexpr (std::is_arithmetic_v<Code>) {
    return static_cast<float>(bits_as<std::int32_t>(code));
  } else {
    return to_float(bits_as<std::int32_t>(code));
  }
}

/// The nearest integer, ties to even, plus nearest_of_0, for |x| < 2^22. Greater x, up to infinity,
/// give greater results; NaN gives one with a low byte of 0. The sum is read as an integer, so that
/// -ffast-math does not take it apart.
inline constexpr std::int32_t nearest_of_0 = 0x4b40'0000;
template <class Number>
POSENC_ALWAYS_INLINE constexpr auto nearest(Number const& x) noexcept {
  return code_bits<Number>::as_bits(x + Number(0x1.8p23f));  // whose last bit has the weight 1
}
/// Clamps x to [-512, 512], the range where nearest() is right. NaN becomes 512.
template <class Number>
POSENC_ALWAYS_INLINE constexpr Number within_512(Number const& x) noexcept {
  using b = code_bits<Number>;
  using u32 = typename b::bits;
  auto const all = b::as_bits(x), m = all & u32(0x7fff'ffffu), most = b::as_bits(Number(512.0f)),
             sign = where_below(m, u32(0x7f80'0001u), all & u32(0x8000'0000u), u32(0u));
  return b::as_number(less_of(m, most) | sign);
}
/// x rounded towards zero, for |x| < 512. Infinity and NaN give a low byte of 0, as x86 converts
/// them.
template <class Number>
POSENC_ALWAYS_INLINE constexpr auto truncated_to_integer(Number const& x) noexcept {
  if constexpr (std::is_arithmetic_v<Number>) {
    return static_cast<std::int32_t>(within_512(x));
  } else {
#if defined(__SSE2__)
    return to_int(x);
#else
    return to_int(within_512(x));
#endif
  }
}
/// The nearest integer, ties away from zero, as C's roundf. For the same x.
template <class Number>
POSENC_ALWAYS_INLINE constexpr auto nearest_away(Number const& x) noexcept {
  using b = code_bits<Number>;
  // Just below 1/2: the sum of that and a number just below 1/2 must not round to 1.
  auto const below_half = b::as_bits(Number(0x1.fffffep-2f)),
             sign = b::as_bits(x) & typename b::bits(0x8000'0000u);
  return truncated_to_integer(x + b::as_number(below_half | sign));
}

/// to[i] = the low byte of code i.
template <class Code>
POSENC_ALWAYS_INLINE inline void store_codes(std::byte* to, Code const& codes) noexcept {
  if constexpr (std::is_arithmetic_v<Code>) {
    *to = static_cast<std::byte>(codes);
  } else if constexpr (requires { store_bytes(to, codes.data); }) {
    store_bytes(to, codes.data);
  } else {
    typename Code::value_type wide[Code::size];
    codes.store_unaligned(wide);
    for (std::size_t j = 0; j < Code::size; ++j) to[j] = static_cast<std::byte>(wide[j]);
  }
}
/// to[i] = the low byte of code(x[i]).
POSENC_ALWAYS_INLINE inline void write_codes(std::span<float const> x, std::byte* to,
                                             auto const& code) noexcept {
  std::size_t i = 0;
  if constexpr (several_lanes<code_lanes>) {
    constexpr auto size = code_lanes::size;
    auto const whole = x.size() - x.size() % size;
    auto const at = [&](std::size_t first)
                        POSENC_INLINED { return code(code_lanes::load(x.data() + first)); };
    if constexpr (requires(decltype(at(0).data) y) { store_bytes(to, y, y, y, y); }) {
      for (; whole - i >= 4 * size; i += 4 * size) {
        auto const a = at(i), b = at(i + size), c = at(i + 2 * size), d = at(i + 3 * size);
        store_bytes(to + i, a.data, b.data, c.data, d.data);
      }
    }
    for (; i < whole; i += size) store_codes(to + i, at(i));
  }
  for (; i < x.size(); ++i) store_codes(to + i, code(x[i]));
}

/// Codes of Integer, which is int8 or uint8: Lanes::size of them.
template <class Integer, class Lanes>
POSENC_ALWAYS_INLINE inline auto load_codes(std::byte const* from) noexcept {
  using bits = typename code_bits<typename Lanes::number>::bits;
  auto const* const codes = reinterpret_cast<Integer const*>(from);
  if constexpr (!several_lanes<Lanes>) {
    return static_cast<bits>(*codes);
  } else if constexpr (requires(bits x) { load_bytes(codes, x.data); }) {
    bits x;
    load_bytes(codes, x.data);
    return x;
  } else {
    std::array<std::uint32_t, Lanes::size> wide;
    for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<std::uint32_t>(codes[i]);
    return bits::load_unaligned(wide.data());
  }
}
/// These as numbers.
template <class Integer, class Lanes>
POSENC_ALWAYS_INLINE inline typename Lanes::number integers(std::byte const* from) noexcept {
  return float_of(load_codes<Integer, Lanes>(from));
}
/// x[i] = number(code i).
template <class Integer = std::uint8_t>
POSENC_ALWAYS_INLINE inline void read_codes(std::byte const* from, std::span<float> x,
                                            auto const& number) noexcept {
  // As counts: g++ warns of a tail that begins where the registers end.
  auto const rest = several_lanes<code_lanes> ? x.size() % code_lanes::size : x.size(),
             whole = x.size() - rest;
  if constexpr (several_lanes<code_lanes>) {
    for (std::size_t i = 0; i < whole; i += code_lanes::size)
      code_lanes::store(x.data() + i, number(load_codes<Integer, code_lanes>(from + i)));
  }
  for (std::size_t i = 0; i < rest; ++i)
    x[whole + i] = number(load_codes<Integer, one_lane<float>>(from + whole + i));
}
/// Codes of int8, each times the scale.
POSENC_ALWAYS_INLINE inline void read_signed(std::byte const* from, std::span<float> x,
                                             float scale) noexcept {
  read_codes<std::int8_t>(
      from, x, [&](auto const& code) POSENC_INLINED { return product(float_of(code), scale); });
}

/// A half at any address, as a float, in every lane.
template <class Lanes, class Number = typename Lanes::number>
POSENC_ALWAYS_INLINE inline Number half_everywhere(std::byte const* from) noexcept {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  if constexpr (requires(Number x) { broadcast_half(bits, x.data); }) {
    Number x;
    broadcast_half(bits, x.data);
    return x;
  } else {
    return Number(static_cast<float>(half::from_bits(bits)));
  }
}

}}}  // namespace posenc::detail

POSENC_QUIET_END
