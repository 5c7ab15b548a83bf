// What the conversions of 16-bit floats need: bit operations on one float or on a register of
// floats.
#pragma once

#include <bit>
#include <cstdint>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// One float and its bits; simd/lanes.hpp has a register of them.
struct scalar_bits {
  using bits = std::uint32_t;
  using number = float;
  static constexpr bits as_bits(number x) noexcept { return std::bit_cast<bits>(x); }
  static constexpr number as_number(bits x) noexcept { return std::bit_cast<number>(x); }
};

/// All ones if a < b, else 0; a and b are below 2^31.
template <class Bits>
constexpr Bits below(Bits const& a, Bits const& b) noexcept {
  return Bits(0u) - ((a - b) >> 31);
}

/// `yes` if the condition is all ones, `no` if it is 0.
template <class Bits>
constexpr Bits choose(Bits const& condition, Bits const& yes, Bits const& no) noexcept {
  return no ^ ((yes ^ no) & condition);
}

}  // namespace posenc::detail
