#include "posenc/simd/sigmoids.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc::detail;

TEST(sigmoids, are_within_6_roundings_and_one_more_for_each_of_the_exponent) {
  numbers::in_float_and_double([]<class T>() {
    std::vector<T> row;
    for (int i = -50'000; i <= 50'000; i += oracle::wide_cost)
      row.push_back(static_cast<T>(i * 1.3e-2));
    sigmoids<T> sigmoid(row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      auto const x = static_cast<oracle::wide>(row[i]);
      auto const expected = static_cast<double>(1 / (1 + oracle::exp(-x)));
      auto const bound =
          (6 + std::abs(static_cast<double>(x))) * tolerance::unit_roundoff<double>() * expected;
      ASSERT_NEAR(sigmoid(i), expected, bound) << row[i];
    }
  });
}

TEST(sigmoids, come_in_any_order_and_of_a_row_of_any_size) {
  for (std::size_t size = 1; size < 20; ++size) {
    auto const row = numbers::random<float>(size);
    sigmoids<float> up(row), down(row);
    std::vector<double> rising(size), falling(size);
    for (std::size_t i = 0; i < size; ++i) rising[i] = up(i);
    for (std::size_t i = size; i-- > 0;) falling[i] = down(i);
    EXPECT_TRUE(numbers::same_bits(rising, falling));
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(rising[i] > 0.5, row[i] > 0);
  }
}

TEST(sigmoids, have_known_values_and_are_0_of_what_is_no_number) {
  std::vector<double> const row{0, 800, -800, minus_infinity(), infinity(), not_a_number()};
  sigmoids<double> sigmoid(row);
  std::vector<double> all;
  for (std::size_t i = 0; i < row.size(); ++i) all.push_back(sigmoid(i));
  EXPECT_EQ(all, (std::vector<double>{0.5, 1, 0, 0, 0, 0}));
}

}  // namespace
