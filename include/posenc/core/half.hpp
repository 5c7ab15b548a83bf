// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits; a storage format, arithmetic is done in float.
#pragma once

#include <cstdint>

#include "posenc/core/target.hpp"
#include "posenc/core/word.hpp"

namespace posenc::inline POSENC_TARGET {

/// A binary16 number by its bits; bit-compatible with _Float16, CUDA's __half and ggml_fp16_t.
/// From float: rounded once, to nearest even; from 65520 on infinity; subnormals exact; NaN stays a (quiet) NaN.
/// To float: exact. Both are right under -ffast-math and where the CPU flushes subnormal floats to zero.
struct half {
  std::uint16_t bits;

  /// The conversions for whatever Word computes on at a time; the 16 bits stand in the low half of each word.
  template <class Word>
  [[gnu::always_inline]] static constexpr typename Word::number decode(typename Word::bits bits) noexcept {
    using word = typename Word::bits;
    auto const sign = (bits & word(0x8000u)) << 16;
    auto const shifted = (bits & word(0x7fffu)) << 13;
    auto const rebias = word(112u << 23);
    auto const normal = shifted + rebias;
    // Subnormal: fraction * 2^-24 is what a leading one of 2^-14 and that fraction behind it exceed 2^-14 by.
    auto const leading = Word::as_number(shifted | word(smallest_normal));
    auto const subnormal = Word::as_bits(leading - Word::as_number(word(smallest_normal)));
    auto const not_finite = normal + rebias;
    auto const finite = detail::choose(detail::below(shifted, word(1u << 23)), subnormal, normal);
    return Word::as_number(sign | detail::choose(detail::below(shifted, word(31u << 23)), finite, not_finite));
  }

  template <class Word>
  [[gnu::always_inline]] static constexpr typename Word::bits encode(typename Word::number number) noexcept {
    using word = typename Word::bits;
    auto const all = Word::as_bits(number);
    auto const sign = (all >> 16) & word(0x8000u);
    auto const magnitude = all & word(0x7fff'ffffu);
    auto const odd = (magnitude >> 13) & word(1u);
    auto const normal = (magnitude - word(112u << 23) + word(0xfffu) + odd) >> 13;  // a carry runs into the exponent, as it should
    // Subnormal: adding 1/2 makes the float unit round, for there its ULP is 2^-24, the smallest half.
    auto const one_half = word(0x3f00'0000u);
    auto const subnormal = Word::as_bits(Word::as_number(magnitude) + Word::as_number(one_half)) - one_half;
    auto const quiet_nan = word(0x7e00u) | ((magnitude >> 13) & word(0x3ffu));
    auto const finite = detail::choose(detail::below(magnitude, word(smallest_normal)), subnormal, normal);
    auto const ordered = detail::choose(detail::below(magnitude, word(0x4780'0000u)), finite, word(0x7c00u));  // from 2^16 on infinity
    return sign | detail::choose(detail::below(word(0x7f80'0000u), magnitude), quiet_nan, ordered);
  }

  half() = default;
  constexpr explicit half(float number) noexcept : bits(static_cast<std::uint16_t>(encode<detail::word>(number))) {}
  constexpr explicit operator float() const noexcept { return decode<detail::word>(bits); }

  static constexpr half from_bits(std::uint16_t bits) noexcept {
    half result{};
    result.bits = bits;
    return result;
  }
  friend constexpr bool operator==(half a, half b) noexcept { return float(a) == float(b); }

 private:
  static constexpr std::uint32_t smallest_normal = 0x3880'0000u;  // 2^-14, as the bits of a float
};

}  // namespace posenc
