#pragma once

/// Laws of 16-bit floats: their conversions agree with arithmetic on values, by bits.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "core/float_modes.hpp"
#include "oracle/float16.hpp"

namespace float16 {

inline constexpr std::uint32_t infinite_float = 0x7f80'0000;

inline bool is_nan(std::uint32_t float_bits) { return (float_bits & 0x7fff'ffff) > infinite_float; }

/// The smallest code, without its sign, of an infinity or NaN.
inline std::uint32_t infinite_code(oracle::format16 format) {
  return static_cast<std::uint32_t>((format.exponent_count - 1) * format.fraction_count);
}

/// The float bits of a code: the oracle for finite numbers; infinities stay infinite, and NaNs keep
/// sign and fraction.
inline std::uint32_t decoded(std::uint16_t code, oracle::format16 format) {
  std::uint32_t const magnitude = code & 0x7fffu, sign = (code & 0x8000u) << 16;
  if (magnitude < infinite_code(format))
    return std::bit_cast<std::uint32_t>(oracle::decode16(code, format));
  auto const fraction = magnitude - infinite_code(format);
  return sign | infinite_float |
         fraction * (0x80'0000u / static_cast<std::uint32_t>(format.fraction_count));
}

/// The code of a float that is not NaN. The sign is taken from the bits: -ffast-math treats -0 as
/// 0.
inline std::uint16_t encoded(std::uint32_t float_bits, oracle::format16 format) {
  std::uint32_t const magnitude = float_bits & 0x7fff'ffff, sign = float_bits >> 16 & 0x8000;
  auto const code = magnitude == infinite_float
                        ? infinite_code(format)
                        : oracle::encode16(std::bit_cast<float>(magnitude), format);
  return static_cast<std::uint16_t>(sign | code);
}

/// Exact if b is the code after a.
inline float halfway(float a, float b) {
  return static_cast<float>((static_cast<double>(a) + static_cast<double>(b)) / 2);
}

/// Floats whose rounding may go wrong, of either sign: every code, every midpoint between two
/// codes, and two floats to each side of these, from the smallest subnormals to beyond the
/// overflow; infinities and NaNs; and a million random ones.
inline std::vector<std::uint32_t> rounding_cases(oracle::format16 format) {
  std::vector<std::uint32_t> cases;
  auto const add_around = [&](std::uint32_t bits) {
    for (std::uint32_t near = bits - 2; near != bits + 3; ++near)
      cases.insert(cases.end(), {near, near ^ 0x8000'0000});
  };
  ieee_arithmetic const exact;
  for (std::uint32_t code = 0; code < infinite_code(format); ++code) {
    auto const here = decoded(static_cast<std::uint16_t>(code), format),
               next = decoded(static_cast<std::uint16_t>(code + 1), format);
    add_around(here);
    if (next != infinite_float)
      add_around(std::bit_cast<std::uint32_t>(
          halfway(std::bit_cast<float>(here), std::bit_cast<float>(next))));
  }
  // The largest number, and half an ULP beyond it.
  auto const below = static_cast<std::uint16_t>(infinite_code(format) - 1),
             before = static_cast<std::uint16_t>(below - 1);
  auto const largest = decoded(below, format);
  add_around(largest + (largest - decoded(before, format)) / 2);
  add_around(infinite_float);
  add_around(0x7fc0'0000);
  std::mt19937 random(16);
  for (int i = 0; i < 1'000'000; ++i) cases.push_back(static_cast<std::uint32_t>(random()));
  // And as many in the format's own range and just beyond, where random bits seldom fall.
  auto const smallest = decoded(1, format), octaves = 0x0200'0000u;
  std::uniform_int_distribution<std::uint32_t> within(smallest > octaves ? smallest - octaves : 0,
                                                      std::min(largest + octaves, infinite_float));
  for (int i = 0; i < 1'000'000; ++i)
    cases.push_back(within(random) | (static_cast<std::uint32_t>(i & 1) << 31));
  return cases;
}

/// Number's conversion to float, for all 65,536 codes.
template <class Number>
void expect_exact_decoding(oracle::format16 format) {
  std::vector<std::uint32_t> got(65536);
  for (std::uint32_t code = 0; code < 65536; ++code)
    got[code] =
        std::bit_cast<std::uint32_t>(float(Number::from_bits(static_cast<std::uint16_t>(code))));
  ieee_arithmetic const exact;
  for (std::uint32_t code = 0; code < 65536; ++code)
    ASSERT_EQ(got[code], decoded(static_cast<std::uint16_t>(code), format)) << "code " << code;
}

/// Number's conversion from float: the nearest code, ties to even; for NaN, a quiet NaN of the same
/// sign.
template <class Number>
void expect_nearest_encoding(oracle::format16 format) {
  auto const cases = rounding_cases(format);
  std::vector<std::uint16_t> got;
  for (auto const bits : cases) got.push_back(Number(std::bit_cast<float>(bits)).bits);
  ieee_arithmetic const exact;
  auto const quiet = infinite_code(format) | static_cast<std::uint32_t>(format.fraction_count) / 2;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (is_nan(cases[i])) {
      ASSERT_EQ(got[i] & (0x8000u | quiet), (cases[i] >> 16 & 0x8000u) | quiet)
          << "float bits " << std::hex << cases[i];
    } else {
      ASSERT_EQ(got[i], encoded(cases[i], format)) << "float bits " << std::hex << cases[i];
    }
  }
}

/// To float and back, all 65,536 codes: the same code, except that signalling NaNs become quiet.
template <class Number>
void expect_round_trip(oracle::format16 format) {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    bool const nan = (code & 0x7fff) > infinite_code(format);
    auto const quiet = nan ? static_cast<std::uint32_t>(format.fraction_count) / 2 : 0;
    ASSERT_EQ(Number(float(Number::from_bits(static_cast<std::uint16_t>(code)))).bits, code | quiet)
        << "code " << code;
  }
}

}  // namespace float16
