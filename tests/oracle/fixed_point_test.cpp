#include "oracle/fixed_point.hpp"

#include <gtest/gtest.h>

namespace {

using oracle::fixed_point;

/// The error, as a double.
void expect_near(fixed_point const& actual, fixed_point const& expected) {
  EXPECT_LT(std::abs((actual - expected).number()), 0x1p-240);
}

TEST(oracle_fixed_point, holds_doubles_and_whole_numbers) {
  for (double const x : {0.0, 1.0, -1.0, 0.1, -1e-20, 12345.678, 0x1p62, -0x1.8p60})
    EXPECT_EQ(fixed_point(x).number(), x);
  EXPECT_EQ((fixed_point::whole(-7) * fixed_point(0.125)).number(), -0.875);
  EXPECT_EQ((fixed_point::whole(1) / 3 * fixed_point::whole(3) - fixed_point::whole(1)).number(),
            -0x1p-320);
}

TEST(oracle_fixed_point, functions_hold_the_laws_that_make_them) {
  expect_near(oracle::exp(fixed_point()), fixed_point::whole(1));
  expect_near(oracle::exp(fixed_point(0.3)) * oracle::exp(fixed_point(1.7)),
              oracle::exp(fixed_point(0.3) + fixed_point(1.7)));
  EXPECT_EQ(oracle::exp(fixed_point::whole(1)).number(), std::numbers::e);
  expect_near(oracle::exp(oracle::log(fixed_point(1e4))), fixed_point(1e4));
  expect_near(oracle::log(fixed_point::whole(6)),
              oracle::log(fixed_point::whole(2)) + oracle::log(fixed_point::whole(3)));
  EXPECT_EQ(oracle::log(fixed_point::whole(2)).number(), std::numbers::ln2);
  expect_near(oracle::quotient(fixed_point(2.5), fixed_point(7.75)) * fixed_point(7.75),
              fixed_point(2.5));
  EXPECT_EQ(oracle::pi_in_fixed_point().number(), std::numbers::pi);
  EXPECT_EQ((oracle::pi_in_fixed_point() - fixed_point(std::numbers::pi)).number(),
            1.2246467991473532e-16);
  for (double const angle : {0.0, 1.0, -3.0, 1e6, -0x1p62}) {
    auto const [cos, sin] = oracle::cos_sin(fixed_point(angle));
    expect_near(cos * cos + sin * sin, fixed_point::whole(1));
    auto const [next_cos, next_sin] =
        oracle::cos_sin(fixed_point(angle) + oracle::pi_in_fixed_point() / 3);
    expect_near(next_cos, cos / 2 - sin * oracle::cos_sin(oracle::pi_in_fixed_point() / 3).second);
  }
  EXPECT_EQ(oracle::cos_sin(fixed_point::whole(2)).second.number(), std::sin(2.0));
}

}  // namespace
