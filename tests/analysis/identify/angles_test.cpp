#include "posenc/analysis/identify/angles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "non_numbers.hpp"
#include "oracle/wide.hpp"
#include "rejects.hpp"

namespace {

using posenc::cos_sin_view, posenc::pair_range;

/// Rows, [tokens][2][pairs].
template <class Real>
cos_sin_view<Real> view(std::vector<Real> const& rows, std::size_t pairs = 1) {
  return {rows.data(), rows.size() / (2 * pairs), pairs, {}};
}

template <class Real>
std::vector<Real> rows_of(double f, std::vector<double> const& positions) {
  std::vector<Real> rows;
  for (oracle::wide const p : positions) {
    auto const sine = oracle::sine(p * f), cosine = oracle::cosine(p * f);
    rows.insert(rows.end(), {static_cast<Real>(cosine), static_cast<Real>(sine)});
  }
  return rows;
}

/// What rows of a frequency at these positions, the smallest first, tell of it.
template <class Real>
posenc::detail::measured_frequency measured(double f, std::vector<double> const& positions,
                                            double u) {
  auto const rows = rows_of<Real>(f, positions);
  std::vector<std::size_t> order(positions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return posenc::detail::frequency_of_rows(view(rows), positions, order, 0, u);
}

TEST(angles, all_have_one_length) {
  std::vector<double> const two_pairs{2.5, 0, 0, 2.5, 1.5, 2, -2, -1.5};
  EXPECT_EQ(posenc::detail::length_of_rows(view(two_pairs, 2)), 2.5);
  auto const message = [](std::vector<double> const& rows) {
    return message_of([&] { posenc::detail::length_of_rows(view(rows)); });
  };
  // Of lengths 64 + x and 64 - x the mean is 64: x may be 1.
  std::vector<double> const of_64{65, 0, 0, 63};
  EXPECT_EQ(posenc::detail::length_of_rows(view(of_64)), 64);
  EXPECT_EQ(message({0, 65.25, 62.75, 0}),
            "posenc: identify_rows: all (cos, sin) must be of one length, the attention factor 64, "
            "got 65.25 at token 0, pair 0");
  EXPECT_EQ(message({0, 0}),
            "posenc: identify_rows: all (cos, sin) must be of one length, the attention factor 0, "
            "got 0 at token 0, pair 0");
  EXPECT_EQ(message({1, 0, infinity(), 0}),
            "posenc: identify_rows: cosines and sines must be finite, got infinity and 0 at token "
            "1, pair 0");
}

TEST(angles, tell_a_frequency_within_its_tolerance) {
  for (auto const f : {3.1, 1.0, 0.3, 1e-3, 1e-7, -0.3}) {
    for (auto const& positions :
         {std::vector{1.0}, std::vector{-1.0, 2.0, 5.0}, std::vector{0.5, 3.0, 100.0, 1e4, 1e6}}) {
      auto const in_double = measured<double>(f, positions, 0x1p-53);
      // The turns, their sum with an angle and the quotient are rounded too, to doubles.
      EXPECT_LE(std::abs(in_double.inv_freq - f), in_double.tolerance + std::abs(f) * 3 * 0x1p-53)
          << f;
      EXPECT_LE(in_double.tolerance, 3 * 0x1p-53 * std::max(1.0, std::abs(f)));
      auto const in_float = measured<float>(f, positions, 0x1p-24);
      EXPECT_LE(std::abs(in_float.inv_freq - f), in_float.tolerance) << f;
    }
  }
}

TEST(angles, of_small_ones_are_as_precise_as_their_sines) {
  auto const found = measured<double>(1e-7, {1}, 0x1p-53);
  EXPECT_DOUBLE_EQ(found.tolerance, 3e-7 * 0x1p-53);
  EXPECT_DOUBLE_EQ(measured<double>(2.5, {1}, 0x1p-53).tolerance, (2 + 2.5) * 0x1p-53);
}

TEST(angles, of_farther_positions_tell_more_until_a_turn_may_be_missed) {
  auto const tolerance = [](std::vector<double> const& positions) {
    return measured<float>(0.7, positions, 0x1p-24).tolerance;
  };
  auto const near = tolerance({1}), far = tolerance({1, 1000});
  EXPECT_LT(far, near / 2);
  EXPECT_EQ(tolerance({1, 1.01 / near}), near);
  EXPECT_LT(tolerance({1, 0.99 / near}), near);
  // The tolerance of 1 would allow an error of turns at 10^9.
  EXPECT_NEAR(measured<float>(0.7, {1, 1e9}, 0x1p-24).inv_freq, 0.7, near);
}

TEST(angles, of_the_position_that_tells_most_count) {
  // 2 f is almost a turn, 3 f a turn and a half.
  auto const two = measured<float>(3.1, {1, 2}, 0x1p-24),
             three = measured<float>(3.1, {1, 2, 3}, 0x1p-24);
  EXPECT_EQ(three.tolerance, two.tolerance);
  EXPECT_LT(two.tolerance, measured<float>(3.1, {1, 3}, 0x1p-24).tolerance);
}

TEST(angles, of_a_pair_that_stands_tell_0) {
  auto const found = measured<float>(0, {1, 10}, 0x1p-24);
  EXPECT_EQ(found.inv_freq, 0);
  EXPECT_EQ(found.tolerance, 0);
}

}  // namespace
