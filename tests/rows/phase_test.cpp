#include "posenc/rows/phase.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "golden/llama2_angles.hpp"
#include "oracle/angle.hpp"

namespace {

using posenc::cos_sin;
using posenc::phase;
using posenc::phase_step;

// The documented error of cos_sin.
constexpr double of_cos_sin = 2.5e-16;

oracle::wide radians(phase angle) {
  return static_cast<oracle::wide>(static_cast<std::int64_t>(angle)) * (2 * oracle::pi * 0x1p-64);
}

TEST(cos_sin, is_within_its_bound_everywhere) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 400'000 / oracle::wide_cost; ++i) {
    // Anywhere; and, at every scale, near the eight points where quadrants or the reduction meet.
    auto const seam = random() << 61, off = random() >> (random() & 63);
    auto const angle = i % 4 == 0 ? seam + off : i % 4 == 1 ? seam - off : random();
    auto const [cos, sin] = cos_sin(angle);
    ASSERT_NEAR(cos, static_cast<double>(oracle::cosine(radians(angle))), of_cos_sin) << angle;
    ASSERT_NEAR(sin, static_cast<double>(oracle::sine(radians(angle))), of_cos_sin) << angle;
  }
}

TEST(cos_sin, is_exact_on_the_axes) {
  constexpr int expected[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  for (phase quarter = 0; quarter < 4; ++quarter) {
    EXPECT_EQ(cos_sin(quarter << 62).cos, expected[quarter][0]);
    EXPECT_EQ(cos_sin(quarter << 62).sin, expected[quarter][1]);
  }
}

TEST(cos_sin, of_the_opposite_angle_mirrors) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    auto const angle = random();
    EXPECT_EQ(cos_sin(angle).cos, cos_sin(0 - angle).cos);
    EXPECT_EQ(cos_sin(angle).sin, -cos_sin(0 - angle).sin);
    EXPECT_EQ(cos_sin(angle).cos, -cos_sin(angle + (phase{1} << 63)).cos);
  }
}

TEST(cos_sin, is_known_at_compile_time) {
  static_assert(cos_sin(0).cos == 1 && cos_sin(phase{1} << 62).sin == 1);
}

TEST(cos_sin, has_the_values_known_of_llama_2) {
  for (auto const& [position, pair, cos, sin] : golden::llama2_angles)
    for (auto const& [known_pair, inv_freq] : golden::llama2_frequencies) {
      if (known_pair != pair) continue;
      auto const angle = phase_step(inv_freq).at(std::int64_t{position});
      EXPECT_NEAR(cos_sin(angle).cos, static_cast<double>(cos), of_cos_sin);
      EXPECT_NEAR(cos_sin(angle).sin, static_cast<double>(sin), of_cos_sin);
    }
}

}  // namespace
