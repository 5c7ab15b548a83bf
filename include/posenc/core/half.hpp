// IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits. A storage format; arithmetic is
// in float.
#pragma once

#include <cstdint>

#include "posenc/core/scalar_bits.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// A binary16 number as its bits; bit-compatible with _Float16, CUDA's __half and ggml_fp16_t.
/// From float: rounded once, to nearest even; infinity from 65520 on; subnormals are kept; NaN
/// gives a quiet NaN. To float: exact. Both hold on CPUs that flush subnormal floats to zero, too.
struct half {
  std::uint16_t bits;  ///< sign, 5 bits of exponent, 10 of fraction

  /// The conversions, for one number or for a register; the 16 bits are in the low half of 32.
  template <class Bits>
  [[gnu::always_inline]] static constexpr typename Bits::number decode(
      typename Bits::bits bits) noexcept {
    using u32 = typename Bits::bits;
    auto const sign = (bits & u32(0x8000u)) << 16;
    auto const shifted = (bits & u32(0x7fffu)) << 13;
    auto const rebias = u32(112u << 23);
    auto const normal = shifted + rebias;
    // Subnormal: put the fraction behind a leading 1 of weight 2^-14, then subtract 2^-14. This
    // leaves fraction * 2^-24.
    auto const leading = Bits::as_number(shifted | u32(smallest_normal));
    auto const subnormal = Bits::as_bits(leading - Bits::as_number(u32(smallest_normal)));
    auto const not_finite = normal + rebias;
    auto const finite = detail::choose(detail::below(shifted, u32(1u << 23)), subnormal, normal);
    return Bits::as_number(
        sign | detail::choose(detail::below(shifted, u32(31u << 23)), finite, not_finite));
  }

  /// From a number to its bits.
  template <class Bits>
  [[gnu::always_inline]] static constexpr typename Bits::bits encode(
      typename Bits::number number) noexcept {
    using u32 = typename Bits::bits;
    auto const all = Bits::as_bits(number);
    auto const sign = (all >> 16) & u32(0x8000u);
    auto const magnitude = all & u32(0x7fff'ffffu);
    auto const odd = (magnitude >> 13) & u32(1u);
    // Rounding may carry into the exponent.
    auto const normal = (magnitude - u32(112u << 23) + u32(0xfffu) + odd) >> 13;
    // Subnormal: adding 1/2 rounds to a multiple of 2^-24, the smallest half.
    auto const one_half = u32(0x3f00'0000u);
    auto const subnormal =
        Bits::as_bits(Bits::as_number(magnitude) + Bits::as_number(one_half)) - one_half;
    auto const quiet_nan = u32(0x7e00u) | ((magnitude >> 13) & u32(0x3ffu));
    auto const finite =
        detail::choose(detail::below(magnitude, u32(smallest_normal)), subnormal, normal);
    // Infinity from 2^16 on.
    auto const ordered =
        detail::choose(detail::below(magnitude, u32(0x4780'0000u)), finite, u32(0x7c00u));
    return sign | detail::choose(detail::below(u32(0x7f80'0000u), magnitude), quiet_nan, ordered);
  }

  half() = default;
  /// Rounded to nearest even.
  constexpr explicit half(float number) noexcept
      : bits(static_cast<std::uint16_t>(encode<detail::scalar_bits>(number))) {}
  /// Exact.
  constexpr explicit operator float() const noexcept { return decode<detail::scalar_bits>(bits); }

  /// Of the same bits.
  static constexpr half from_bits(std::uint16_t bits) noexcept {
    half result{};
    result.bits = bits;
    return result;
  }
  /// As floats compare: +0 equals -0, and NaN nothing.
  friend constexpr bool operator==(half a, half b) noexcept { return float(a) == float(b); }

 private:
  static constexpr std::uint32_t smallest_normal = 0x3880'0000u;  // 2^-14, as the bits of a float
};

}  // namespace posenc
