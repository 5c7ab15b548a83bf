#pragma once

/// IEEE half and bfloat16, decoded and encoded by arithmetic on values, not by moving bits.

#include <cmath>
#include <cstdint>
#include <limits>

namespace oracle {

/// A 16-bit binary format: sign, exponent field, fraction field. Its values are fraction *
/// 2^(smallest_exponent) when the exponent field e is 0, and (2^fraction_bits + fraction) *
/// 2^(smallest_exponent + e - 1) otherwise.
struct format16 {
  int fraction_count;     ///< how many fractions: 2^fraction_bits
  int exponent_count;     ///< how many exponents: 2^exponent_bits; the last is for infinity and NaN
  int smallest_exponent;  ///< log2 of the smallest positive value
};

inline constexpr format16 half_format{1024, 32, -24};
inline constexpr format16 bfloat16_format{128, 256, -133};

/// The value of the fields; any NaN becomes the quiet NaN.
inline float decode16(std::uint16_t code, format16 format) {
  const int fraction = code % format.fraction_count;
  const int exponent = code / format.fraction_count % format.exponent_count;
  const float sign = code / format.fraction_count / format.exponent_count == 1 ? -1.0F : 1.0F;
  if (exponent == format.exponent_count - 1)
    return fraction == 0 ? sign * std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  // In double: the functions of float of some C libraries have no subnormal floats.
  const double magnitude =
      exponent == 0
          ? std::ldexp(static_cast<double>(fraction), format.smallest_exponent)
          : std::ldexp(format.fraction_count + fraction, format.smallest_exponent + exponent - 1);
  return sign * static_cast<float>(magnitude);
}

/// The nearest code, ties to the even one; from halfway past the largest finite value on, infinity.
/// A NaN becomes a quiet NaN that keeps its sign.
inline std::uint16_t encode16(float value, format16 format) {
  const int sign = std::signbit(value) ? format.fraction_count * format.exponent_count : 0;
  const int infinity = (format.exponent_count - 1) * format.fraction_count;
  if (std::isnan(value))
    return static_cast<std::uint16_t>(sign + infinity + format.fraction_count / 2);
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign + infinity);

  // The exponent field e whose spacing, 2^(smallest_exponent + max(e, 1) - 1), holds at this
  // magnitude.
  const double magnitude = std::abs(static_cast<double>(value));
  int exponent = 1;
  const double normal =
      std::ldexp(static_cast<double>(format.fraction_count), format.smallest_exponent);
  if (magnitude >= normal) exponent += std::ilogb(magnitude) - std::ilogb(normal);

  // Codes of one sign count upwards through the values, so the neighbours are `below` and the next
  // integer.
  const double steps = std::ldexp(magnitude, -(format.smallest_exponent + exponent - 1));  // exact
  const int below = static_cast<int>(std::floor(steps));
  const double rest = steps - below;  // exact, in [0, 1)
  const int code = below + (exponent - 1) * format.fraction_count;
  const bool up = rest > 0.5 || (rest == 0.5 && code % 2 == 1);
  const int rounded = code + (up ? 1 : 0);
  return static_cast<std::uint16_t>(sign + (rounded < infinity ? rounded : infinity));
}

inline float decode_half(std::uint16_t code) { return decode16(code, half_format); }
inline float decode_bfloat16(std::uint16_t code) { return decode16(code, bfloat16_format); }
inline std::uint16_t encode_half(float value) { return encode16(value, half_format); }
inline std::uint16_t encode_bfloat16(float value) { return encode16(value, bfloat16_format); }

}  // namespace oracle
