// The few operations on 32-bit words that converting 16-bit floats takes: here for one word, in rotation/lanes.hpp for a register.
#pragma once

#include <bit>
#include <cstdint>

namespace posenc::detail {

struct word {
  using bits = std::uint32_t;
  using number = float;
  static constexpr bits as_bits(number x) noexcept { return std::bit_cast<bits>(x); }
  static constexpr number as_number(bits x) noexcept { return std::bit_cast<number>(x); }
  static constexpr bits select(bool condition, bits yes, bits no) noexcept { return condition ? yes : no; }
};

}  // namespace posenc::detail
