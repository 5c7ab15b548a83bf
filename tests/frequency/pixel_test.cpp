#include "posenc/frequency/pixel.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <numbers>
#include <string>
#include <vector>

#include "close_to.hpp"
#include "non_numbers.hpp"
#include "oracle/wide.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

// torch.linspace(1, max_freq / 2, dim // 2) * pi.
TEST(pixel, has_the_known_values) {
  expect_close(pixel(8),
               {3.1415926535897931, 7.3303828583761843, 11.519173063162574, 15.707963267948966},
               2 * tolerance::unit_roundoff<double>());
  expect_close(pixel(2, 7), {3.1415926535897931}, tolerance::unit_roundoff<double>());
}

TEST(pixel, follows_its_formula) {
  for (std::size_t const dim : {4u, 6u, 32u, 128u}) {
    for (double const max_freq : {0.5, 2.0, 10.0, 256.0}) {
      std::vector<double> expected;
      for (std::size_t i = 0; i < dim / 2; ++i) {
        auto const step = static_cast<oracle::wide>(i) / static_cast<oracle::wide>(dim / 2 - 1);
        expected.push_back(static_cast<double>(
            oracle::pi * (1 + step * (static_cast<oracle::wide>(max_freq) / 2 - 1))));
      }
      expect_close(pixel(dim, max_freq), expected, 4 * tolerance::unit_roundoff<double>());
    }
  }
}

TEST(pixel, turns_by_the_coordinate) {
  std::vector<double> const corners{-1, 0, 1};
  auto const rows = cos_sin_rows(pixel(2), corners);
  EXPECT_NEAR(rows.cos(0)[0], -1, 1e-7);
  EXPECT_EQ(rows.cos(1)[0], 1);
  EXPECT_NEAR(rows.cos(2)[0], -1, 1e-7);
}

TEST(pixel, refuses_odd_dims_and_what_is_no_frequency) {
  EXPECT_EQ(message_of([] { pixel(7); }),
            "posenc: pixel: dim must be even, positive and at most 2^24, got 7");
  EXPECT_EQ(message_of([] { pixel(0); }),
            "posenc: pixel: dim must be even, positive and at most 2^24, got 0");
  std::string const must = "posenc: pixel: max_freq must be finite and positive, got ";
  EXPECT_EQ(message_of([] { pixel(8, 0); }), must + "0");
  EXPECT_EQ(message_of([] { pixel(8, not_a_number()); }), must + "NaN");
}

}  // namespace
