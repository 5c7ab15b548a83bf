#pragma once

/// A vector written by the library, compared with the oracle.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numbers.hpp"
#include "oracle/sinusoidal_forms.hpp"
#include "tolerance.hpp"

namespace rows_of_forms {

template <class T, class Encoding, class Position>
std::vector<T> written(Encoding const& encoding, Position position) {
  std::vector<T> row(encoding.dim(), T(7.0F));
  encoding.write(position, std::span(row));
  return row;
}

/// The error of an angle: the rounding of its frequency, a power of a base up to 1e6 with an
/// exponent in [-1, 0] times a scale (8 + ln 1e6 + 2 half ULP, see tolerance::of_power); that of a
/// coordinate (6); and that of a fractional position (4).
template <class T, class Encoding, class Position>
void expect_row(Encoding const& encoding, Position position,
                oracle::sinusoidal_forms_row const& expected, double scale = 1) {
  auto const row = numbers::exact(written<T>(encoding, position));
  ASSERT_EQ(row.size(), expected.numbers.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    auto const number = scale * expected.numbers[i];
    auto const turned = (tolerance::of_power(1e6) + 12 * tolerance::unit_roundoff<double>()) *
                        std::abs(expected.angles[i]);
    EXPECT_NEAR(
        row[i], number,
        std::abs(scale) * (turned + tolerance::of_cosine<T>()) + tolerance::of_storing<T>(number))
        << "position " << position << ", at " << i << " of " << row.size();
  }
}

}  // namespace rows_of_forms
