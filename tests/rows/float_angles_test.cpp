#include "posenc/rows/float_angles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "golden/float_angles.hpp"
#include "non_numbers.hpp"
#include "oracle/angle.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using posenc::float_angle_rows;
using posenc::frequencies;
using posenc::geometric;

TEST(float_angle_rows, have_the_known_bits) {
  for (auto const& known : golden::float_angles) {
    auto const rows =
        float_angle_rows(geometric(128, known.base), std::vector{known.position, -known.position});
    EXPECT_EQ(rows.cos(0)[known.pair], known.cos) << known.position << " * " << known.inv_freq;
    EXPECT_EQ(rows.sin(0)[known.pair], known.sin) << known.position << " * " << known.inv_freq;
    EXPECT_EQ(rows.cos(1)[known.pair], known.cos);
    EXPECT_EQ(rows.sin(1)[known.pair], -known.sin);
  }
}

TEST(float_angle_rows, are_of_the_product_rounded_to_float) {
  std::vector<std::int64_t> const positions{
      0, 1, 1000, 131071, 1048575, -1048575, (1ll << 24) + 1, (1ll << 62) + 1};
  for (auto const base : {1e4, 5e5}) {
    for (double const factor : {1.0, 1.19023807}) {
      auto const g = geometric(128, base);
      frequencies const f({g.inv_freq().begin(), g.inv_freq().end()}, factor);
      auto const rows = float_angle_rows(f, positions);
      for (std::size_t token = 0; token < positions.size(); ++token) {
        for (std::size_t i = 0; i < f.pairs(); ++i) {
          float const volatile position = static_cast<float>(positions[token]),
                               inv_freq = static_cast<float>(f.inv_freq()[i]);
          float const volatile angle = position * inv_freq;
          auto const scale = static_cast<double>(static_cast<float>(factor));
          auto const bound = scale * (tolerance::of_cosine<float>() +
                                      (factor == 1 ? 0 : tolerance::unit_roundoff<float>()));
          EXPECT_NEAR(static_cast<double>(rows.cos(token)[i]),
                      scale * static_cast<double>(oracle::cosine(angle)), bound);
          EXPECT_NEAR(static_cast<double>(rows.sin(token)[i]),
                      scale * static_cast<double>(oracle::sine(angle)), bound);
        }
      }
    }
  }
}

// Measured with Hugging Face's code for base 1e4: 4.2e-3 at 131071, 2.5e-2 at 1048575.
TEST(float_angle_rows, are_not_exact) {
  std::vector<int> const positions{1000, 131071, 1048575};
  double const least[] = {1e-6, 2e-3, 1e-2}, most[] = {1e-4, 2e-2, 0.1};
  auto const f = geometric(128, 1e4);
  auto const rows = float_angle_rows(f, positions);
  posenc::cos_sin_rows const exact(f, positions);
  for (std::size_t token = 0; token < positions.size(); ++token) {
    double worst = 0;
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      worst = std::max({worst,
                        std::abs(static_cast<double>(rows.cos(token)[i]) -
                                 static_cast<double>(exact.cos(token)[i])),
                        std::abs(static_cast<double>(rows.sin(token)[i]) -
                                 static_cast<double>(exact.sin(token)[i]))});
    }
    EXPECT_GT(worst, least[token]);
    EXPECT_LT(worst, most[token]);
  }
}

TEST(float_angle_rows, take_fractional_positions_as_floats) {
  auto const f = geometric(8, 1e4);
  auto const rows = float_angle_rows(f, std::vector{0.1, 1.0 / 3});
  auto const floats = float_angle_rows(f, std::vector{0.1f, static_cast<float>(1.0 / 3)});
  for (std::size_t token = 0; token < 2; ++token)
    for (std::size_t i = 0; i < f.pairs(); ++i) EXPECT_EQ(rows.sin(token)[i], floats.sin(token)[i]);
}

TEST(float_angle_rows, leave_alone_the_pairs_of_frequency_0) {
  auto const rows = float_angle_rows(frequencies({1, 0}), std::vector{3});
  ASSERT_EQ(rows.view().rotated_pairs().size(), 1u);
  EXPECT_EQ(rows.view().rotated_pairs()[0].last, 1u);
  EXPECT_EQ(rows.cos(0)[1], 1);
  EXPECT_EQ(rows.sin(0)[1], 0);
}

TEST(float_angle_rows, stand_the_greatest_angle) {
  auto const rows = float_angle_rows(frequencies({0x1p64}), std::vector{-0x1p63});
  auto const angle = -0x1p127L;
  EXPECT_NEAR(static_cast<double>(rows.cos(0)[0]), static_cast<double>(oracle::cosine(angle)),
              tolerance::of_cosine<float>());
  EXPECT_NEAR(static_cast<double>(rows.sin(0)[0]), static_cast<double>(oracle::sine(angle)),
              tolerance::of_cosine<float>());
}

TEST(float_angle_rows, refuse_a_position_that_is_no_number) {
  EXPECT_EQ(message_of([] {
              float_angle_rows(geometric(8, 1e4), std::vector{0.0, not_a_number()});
            }),
            "posenc: float_angle_rows: a position must be finite and within [-2^63, 2^63), got NaN "
            "at token 1");
}

}  // namespace
