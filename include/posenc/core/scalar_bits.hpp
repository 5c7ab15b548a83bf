// The few operations on 32-bit words that converting 16-bit floats takes, for one word or for a register of them.
#pragma once

#include <bit>
#include <cstdint>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// One word; rotation/lanes.hpp has a register of them.
struct scalar_bits {
  using bits = std::uint32_t;
  using number = float;
  static constexpr bits as_bits(number x) noexcept { return std::bit_cast<bits>(x); }
  static constexpr number as_number(bits x) noexcept { return std::bit_cast<number>(x); }
};

/// All ones where a < b, else 0; both below 2^31.
template <class Bits>
constexpr Bits below(Bits const& a, Bits const& b) noexcept {
  return Bits(0u) - ((a - b) >> 31);
}

/// `yes` where the condition is all ones, `no` where it is 0.
template <class Bits>
constexpr Bits choose(Bits const& condition, Bits const& yes, Bits const& no) noexcept {
  return no ^ ((yes ^ no) & condition);
}

}  // namespace posenc::detail
