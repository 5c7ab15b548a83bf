#include "posenc/simd/logarithm.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "numbers.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc::detail;

double log_1_plus_of(double x) {
  std::array<double, lanes<double>::size> numbers;
  numbers.fill(x);
  lanes<double>::store(numbers.data(),
                       log_1_plus(lanes<double>(), lanes<double>::load(numbers.data())));
  for (auto const number : numbers)
    EXPECT_EQ(std::memcmp(&number, &numbers[0], sizeof number), 0) << "every lane alike";
  return numbers[0];
}

/// ln(1 + x) by the series of its inverse hyperbolic tangent, or by ln: long double has no room to
/// spare in 1 + x for a small x.
oracle::wide expected_of(double number) {
  auto const x = static_cast<oracle::wide>(number);
  if (number > 0.01) return oracle::log(1 + x);
  auto const s = x / (2 + x);
  oracle::wide sum = 0, power = s;
  for (int j = 1; j < 20; j += 2, power = power * s * s) sum = sum + 2 * power / j;
  return sum;
}

TEST(logarithm, is_within_8_roundings) {
  auto const expect = [](double x) {
    auto const expected = expected_of(x);
    ASSERT_LE(
        static_cast<double>(oracle::abs(static_cast<oracle::wide>(log_1_plus_of(x)) - expected)),
        8 * tolerance::unit_roundoff<double>() * static_cast<double>(expected))
        << x;
  };
  for (int i = 0; i < 100'000; ++i) {
    expect(i);                         // distances
    expect(i * 2e-5);                  // around where k changes
    expect(std::exp2(i * 1e-2 - 60));  // magnitudes, to 2^940
  }
}

TEST(logarithm, of_0_is_0) { EXPECT_EQ(log_1_plus_of(0), 0); }

}  // namespace
