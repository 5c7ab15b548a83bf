// Codes of 4 bits, two in a byte: to numbers and back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/lanes.hpp"

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Calls act(Lanes(), i) for `count` things, Lanes::size at a time: registers, then the rest.
POSENC_ALWAYS_INLINE inline void in_lanes(std::size_t count, auto const& act) noexcept {
  // As counts: g++ warns of a tail that begins where the registers end.
  auto const rest = several_lanes<code_lanes> ? count % code_lanes::size : count,
             whole = count - rest;
  if constexpr (several_lanes<code_lanes>) {
    for (std::size_t i = 0; i < whole; i += code_lanes::size) act(code_lanes(), i);
  }
  for (std::size_t i = 0; i < rest; ++i) act(one_lane<float>(), whole + i);
}

/// to[i] = low | high << 4, of the codes of {low, high} = two(Lanes(), i), the numbers of `bytes`
/// bytes from the i-th on. code: of a number or a register, within [0, 15].
POSENC_ALWAYS_INLINE inline void write_nibbles(std::size_t bytes, std::byte* to, auto const& two,
                                               auto const& code) noexcept {
  in_lanes(bytes, [&]<class Lanes>(Lanes, std::size_t i) POSENC_INLINED {
    auto const numbers = two(Lanes(), i);
    auto const low = bits_as<std::uint32_t>(code(numbers.first)),
               high = bits_as<std::uint32_t>(code(numbers.second));
    store_codes(to + i, low | (high << 4));
  });
}

/// Codes i, i + 1 ... of a head whose byte j has codes 2 j and 2 j + 1, the low one first:
/// Lanes::size of them, where i is even unless that is 1.
template <class Lanes>
POSENC_ALWAYS_INLINE inline auto load_nibbles(std::byte const* from, std::size_t i) noexcept {
  using bits = typename code_bits<typename Lanes::number>::bits;
  auto const* const bytes = reinterpret_cast<std::uint8_t const*>(from) + i / 2;
  if constexpr (!several_lanes<Lanes>) {
    return static_cast<bits>(i % 2 == 0 ? *bytes & 15 : *bytes >> 4);
  } else if constexpr (requires(bits x) { load_byte_pairs(bytes, x.data); }) {
    bits x;
    load_byte_pairs(bytes, x.data);
    return bits(x & bits(15u));
  } else {
    std::array<std::uint32_t, Lanes::size> wide;
    for (std::size_t j = 0; j < wide.size(); j += 2) {
      wide[j] = bytes[j / 2] & 15u;
      wide[j + 1] = bytes[j / 2] >> 4;
    }
    return bits::load_unaligned(wide.data());
  }
}

/// (code - zero) factor, of the low or the high 4 bits of each byte.
template <class Lanes, class Number = typename Lanes::number>
POSENC_ALWAYS_INLINE inline Number read_nibbles(auto const& bytes, bool are_high, float zero,
                                                Number const& factor) noexcept {
  using bits = typename code_bits<Number>::bits;
  if constexpr (requires { look_up(bytes.data, factor.data); }) {
    static constexpr float all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    auto const table = (Number::load_unaligned(all) - Number(zero)) * factor;
    return look_up((are_high ? bits(bytes >> 4) : bytes).data, table.data);
  } else {
    auto const codes = are_high ? bits(bytes >> 4) : bits(bytes & bits(15u));
    return (float_of(codes) - Number(zero)) * factor;
  }
}

/// (code - zero) factor, of codes of 5 bits. The lowest bits of `fifths` are the fifth bits of the
/// codes, that of lane 0 first.
template <class Lanes, class Number = typename Lanes::number>
POSENC_ALWAYS_INLINE inline Number read_with_fifths(auto const& bytes, bool are_high,
                                                    std::uint32_t fifths, float zero,
                                                    Number const& factor) noexcept {
  using bits = typename code_bits<Number>::bits;
  bits const nibbles = are_high ? bits(bytes >> 4) : bits(bytes & bits(15u));
  if constexpr (!several_lanes<Lanes>) {
    return (float_of(nibbles | (fifths & 1u) << 4) - Number(zero)) * factor;
  } else if constexpr (requires { with_fifths(nibbles.data, fifths); }) {
    return (float_of(bits(with_fifths(nibbles.data, fifths))) - Number(zero)) * factor;
  } else {
    static constexpr auto lane = [] {
      std::array<std::uint32_t, Lanes::size> each{};
      for (std::size_t i = 0; i < each.size(); ++i) each[i] = 1u << i;
      return each;
    }();
    bits const own = bits(fifths) & bits::load_unaligned(lane.data()),
               codes = nibbles | where_below(bits(0u), own, bits(16u), bits(0u));
    return (float_of(codes) - Number(zero)) * factor;
  }
}

/// The numbers of a table of 16, of the low or the high 4 bits of each byte.
template <class Lanes, class Number = typename Lanes::number>
POSENC_ALWAYS_INLINE inline Number read_by_table(auto const& bytes, bool are_high,
                                                 std::array<float, 16> const& table) noexcept {
  using bits = typename code_bits<Number>::bits;
  bits const nibbles = are_high ? bits(bytes >> 4) : bits(bytes & bits(15u));
  if constexpr (!several_lanes<Lanes>) {
    return table[nibbles];
  } else if constexpr (requires(Number x) { look_up(nibbles.data, x.data); }) {
    return look_up(nibbles.data, Number::load_unaligned(table.data()).data);
  } else if constexpr (requires(Number x) { look_up(nibbles.data, x.data, x.data); }) {
    return look_up(nibbles.data, Number::load_unaligned(table.data()).data,
                   Number::load_unaligned(table.data() + 8).data);
  } else {
    std::array<std::uint32_t, Lanes::size> each;
    std::array<float, Lanes::size> numbers;
    nibbles.store_unaligned(each.data());
    for (std::size_t i = 0; i < each.size(); ++i) numbers[i] = table[each[i]];
    return Number::load_unaligned(numbers.data());
  }
}

}}}  // namespace posenc::detail

POSENC_QUIET_END
