// bfloat16: the upper half of a float. A storage format; arithmetic is in float.
#pragma once

#include <cstdint>

#include "posenc/core/scalar_bits.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// A bfloat16 number as its bits; bit-compatible with __bf16, CUDA's __nv_bfloat16 and ggml_bf16_t.
/// From float: rounded once, to nearest even; subnormals are kept; NaN gives a quiet NaN. To float:
/// exact.
struct bfloat16 {
  std::uint16_t bits;  ///< sign, 8 bits of exponent, 7 of fraction

  /// The conversions, for one number or for a register; the 16 bits are in the low half of 32.
  template <class Bits>
  [[gnu::always_inline]] static constexpr typename Bits::number decode(
      typename Bits::bits bits) noexcept {
    return Bits::as_number(bits << 16);
  }

  /// From a number to its bits.
  template <class Bits>
  [[gnu::always_inline]] static constexpr typename Bits::bits encode(
      typename Bits::number number) noexcept {
    using u32 = typename Bits::bits;
    auto const all = Bits::as_bits(number);
    auto const is_nan = detail::below(u32(0x7f80'0000u), all & u32(0x7fff'ffffu));
    return detail::choose(is_nan, (all >> 16) | u32(0x40u), rounded<u32>(all) >> 16);
  }
  /// The bits of a number that is not NaN, above others.
  template <class U32>
  [[gnu::always_inline]] static constexpr U32 rounded(U32 const& all) noexcept {
    return all + U32(0x7fffu) + ((all >> 16) & U32(1u));
  }

  bfloat16() = default;
  /// Rounded to nearest even.
  constexpr explicit bfloat16(float number) noexcept
      : bits(static_cast<std::uint16_t>(encode<detail::scalar_bits>(number))) {}
  /// Exact.
  constexpr explicit operator float() const noexcept { return decode<detail::scalar_bits>(bits); }

  /// Of the same bits.
  static constexpr bfloat16 from_bits(std::uint16_t bits) noexcept {
    bfloat16 result{};
    result.bits = bits;
    return result;
  }
  /// As floats compare: +0 equals -0, and NaN nothing.
  friend constexpr bool operator==(bfloat16 a, bfloat16 b) noexcept { return float(a) == float(b); }
};

}  // namespace posenc
