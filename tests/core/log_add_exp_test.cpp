#include "posenc/core/log_add_exp.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using posenc::detail::log_add_exp;

TEST(log_add_exp, is_the_logarithm_of_both) {
  for (double const a : {-40.0, -1.0, 0.0, 0.5, 30.0}) {
    for (double const b : {-3.0, 0.0, 2.0}) {
      auto const exact = static_cast<double>(std::log(std::exp(static_cast<long double>(a)) + std::exp(static_cast<long double>(b))));
      EXPECT_NEAR(log_add_exp(a, b), exact, 4 * std::numeric_limits<double>::epsilon() * (1 + std::abs(exact)));
    }
  }
  EXPECT_EQ(log_add_exp(800, -800), 800) << "without leaving the range of numbers";
}

TEST(log_add_exp, of_nothing_is_the_other) {
  constexpr auto nothing = std::numeric_limits<double>::lowest();
  EXPECT_EQ(log_add_exp(nothing, 2), 2);
  EXPECT_EQ(log_add_exp(-1e300, nothing), -1e300);
  EXPECT_EQ(log_add_exp(nothing, nothing), nothing);
}

}  // namespace
