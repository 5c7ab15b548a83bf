#include "posenc/core/detail/two_doubles.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "oracle/fixed_point.hpp"

namespace {

using posenc::detail::two_doubles, oracle::fixed_point;

fixed_point exact(two_doubles const& x) { return fixed_point(x.high) + fixed_point(x.low); }

std::mt19937_64 bits(3);

/// Magnitudes 2^-20 to 2^20, of either sign unless said otherwise.
two_doubles random_number(bool positive = false) {
  auto const spread = [] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  auto const high = std::ldexp(1 + spread(), static_cast<int>(bits() % 40) - 20);
  two_doubles const x(high, high * 0x1p-54 * (2 * spread() - 1));
  return positive || bits() % 2 == 0 ? x : -x;
}

/// The error relative to the result, or to `scale` if that is larger.
void expect_near(two_doubles const& actual, fixed_point const& expected, double bound,
                 double scale = 0) {
  EXPECT_LE(std::abs((exact(actual) - expected).number()),
            bound * std::max(std::abs(expected.number()), scale));
  EXPECT_EQ(actual.high, actual.high + actual.low) << "the nearest double";
}

TEST(two_doubles, have_a_hundred_places_of_sums_products_and_quotients) {
  for (int i = 0; i < 3000; ++i) {
    auto const a = random_number(), b = random_number();
    auto const nearly_a = two_doubles(-a.high, a.low);
    expect_near(a + b, exact(a) + exact(b), 0x1p-104);
    expect_near(a - b, exact(a) - exact(b), 0x1p-104);
    expect_near(a + nearly_a, exact(a) + exact(nearly_a), 0x1p-104);
    expect_near(a * b, exact(a) * exact(b), 0x1p-102);
    expect_near(a / b, oracle::quotient(exact(a), exact(b)), 0x1p-101);
  }
}

TEST(two_doubles, have_a_hundred_places_of_exponentials_logarithms_and_powers) {
  for (int i = 0; i < 400; ++i) {
    auto const x = random_number(true), y = random_number() * 0x1p-16;
    if (std::abs(y.high) < 16)
      expect_near(exp(y), oracle::exp(exact(y)), 0x1p-102 + std::abs(y.high) * 0x1p-105);
    expect_near(log(x), oracle::log(exact(x)), 0x1p-102, 1);
    auto const logarithm = exact(y) * oracle::log(exact(x));
    if (std::abs(logarithm.number()) < 30)
      expect_near(pow(x, y), oracle::exp(logarithm), (1 + std::abs(logarithm.number())) * 0x1p-101);
  }
  EXPECT_EQ(exp(two_doubles(0.0)).high, 1);
  EXPECT_EQ(exp(two_doubles(0.0)).low, 0);
  EXPECT_EQ(pow(two_doubles(1.0), -0.25).high, 1);
  EXPECT_EQ(pow(two_doubles(1.0), -0.25).low, 0);
  EXPECT_EQ(log(two_doubles(1.0)).high, 0);
  EXPECT_EQ(log(two_doubles(1.0)).low, 0);
  expect_near(posenc::detail::two_pi(), oracle::pi_in_fixed_point() + oracle::pi_in_fixed_point(),
              0x1p-104);
}

/// 2^n is beyond the range of fixed-point numbers, so the logarithm of 2^n x is checked as a sum.
TEST(two_doubles, have_a_hundred_places_of_logarithms_wherever_doubles_end) {
  auto const ln2 = oracle::log(fixed_point(2.0));
  auto const times = [](fixed_point const& x, int n) {
    auto const product = x * fixed_point(std::abs(static_cast<double>(n)));
    return n < 0 ? -product : product;
  };
  for (int const n : {-1022, -1000, -970, -100, 100, 970, 1000, 1023}) {
    for (double const mantissa : {1.0, 1.1, 1.3999, 1.5, 1.99}) {
      expect_near(log(two_doubles(std::ldexp(mantissa, n))),
                  oracle::log(fixed_point(mantissa)) + times(ln2, n), 0x1p-102, 1);
    }
  }
}

TEST(two_doubles, have_exponentials_of_whatever_is_a_number) {
  for (double const low : {-747.0, -1e10, -1e38, -1e300}) {
    EXPECT_EQ(exp(two_doubles(low)).high, 0) << low;
    EXPECT_EQ(exp(two_doubles(low)).low, 0) << low;
  }
  for (double const high : {709.0, 711.0, 1e10, 1e300}) {
    EXPECT_NEAR(exp(two_doubles(high)).high, std::exp(709.0), std::exp(709.0) * 1e-15) << high;
    EXPECT_LE(std::abs(exp(two_doubles(high)).low), std::exp(709.0) * 0x1p-53) << high;
  }
}

}  // namespace
