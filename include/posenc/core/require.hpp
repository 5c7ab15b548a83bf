// Bad input gets one clear error: what must hold, and what was given.
#pragma once

#include <bit>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// True unless x is infinite or NaN. Reads the bits, so that it holds under -ffast-math too, where std::isfinite does not.
constexpr bool is_finite(double x) noexcept {
  constexpr auto exponent = std::uint64_t{0x7ff} << 52;
  return (std::bit_cast<std::uint64_t>(x) & exponent) != exponent;
}

namespace detail {

inline std::string shown(std::string_view text) { return std::string(text); }

inline std::string shown(std::integral auto number) { return std::to_string(number); }

inline std::string shown(double number) {
  if (!is_finite(number)) {
    auto const bits = std::bit_cast<std::uint64_t>(number);
    return bits << 12 != 0 ? "NaN" : bits >> 63 != 0 ? "-infinity" : "infinity";
  }
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void refuse(Parts const&... parts) {
  throw std::invalid_argument(("posenc: " + ... + shown(parts)));
}

/// Throws std::invalid_argument with the parts joined, numbers in their shortest exact form, unless `holds`.
template <class... Parts>
[[gnu::always_inline]] constexpr void require(bool holds, Parts const&... parts) {
  if (!holds) [[unlikely]]
    refuse(parts...);
}

}  // namespace detail
}  // namespace posenc
