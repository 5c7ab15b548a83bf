#include "posenc/analysis/running_moments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "numbers.hpp"
#include "tolerance.hpp"

namespace {

using posenc::running_moments;

running_moments of(std::vector<double> const& numbers) {
  running_moments result;
  for (auto const x : numbers) result.add(x);
  return result;
}

/// The error of Welford's recurrence: n roundings of the numbers in the mean, and of the mean,
/// relative to the spread, in the spread. [Chan 1983]
struct tolerances {
  double mean, spread;
};

tolerances of_moments(std::size_t n, double largest, double spread) {
  auto const roundings = (static_cast<double>(n) + 2) * tolerance::unit_roundoff<double>();
  return {roundings * largest, spread == 0 ? 0 : roundings * (spread + largest)};
}

void expect_moments(std::vector<double> const& numbers) {
  auto const n = static_cast<long double>(numbers.size());
  long double mean = 0, squares = 0;
  for (long double const x : numbers) mean += x / n;
  for (long double const x : numbers) squares += (x - mean) * (x - mean) / n;
  auto const spread = static_cast<double>(std::sqrt(squares));
  auto const [low, high] = std::ranges::minmax(numbers);
  auto const tolerance =
      of_moments(numbers.size(), std::max(std::abs(low), std::abs(high)), spread);
  auto const actual = of(numbers);
  EXPECT_EQ(actual.count(), numbers.size());
  EXPECT_EQ(actual.low(), low);
  EXPECT_EQ(actual.high(), high);
  EXPECT_NEAR(actual.mean(), static_cast<double>(mean), tolerance.mean);
  EXPECT_NEAR(actual.spread(), spread, tolerance.spread);
}

TEST(running_moments, are_the_textbooks) {
  for (std::size_t const count : {1u, 2u, 3u, 10u, 1000u})
    expect_moments(numbers::random<double>(count, count));
  expect_moments({-3, -3, -3});
  expect_moments({5, -5});
  expect_moments({1e-100, 2e-100, 4e100});
}

TEST(running_moments, numbers_far_from_0_lose_nothing) {
  auto numbers = numbers::random<double>(1000);
  for (auto& x : numbers) x += 1e9;
  expect_moments(numbers);
}

TEST(running_moments, the_spread_is_that_of_the_numbers_themselves) {
  EXPECT_EQ(of({1, 3}).spread(), 1);  // a sample's would be sqrt 2
}

TEST(running_moments, of_one_number_are_itself_and_no_spread) {
  for (double const x : {0.0, -7.25, 1e300}) {
    auto const one = of({x});
    EXPECT_EQ(one.count(), 1u);
    EXPECT_EQ(one.mean(), x);
    EXPECT_EQ(one.low(), x);
    EXPECT_EQ(one.high(), x);
    EXPECT_EQ(one.spread(), 0);
  }
}

TEST(running_moments, of_no_numbers_are_0) {
  running_moments const none;
  EXPECT_EQ(none.count(), 0u);
  EXPECT_EQ(none.mean(), 0);
  EXPECT_EQ(none.spread(), 0);
  EXPECT_EQ(none.low(), 0);
  EXPECT_EQ(none.high(), 0);
}

}  // namespace
