#include "posenc/frequency/phase_step.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "golden/llama2_angles.hpp"
#include "oracle/angle.hpp"
#include "oracle/fixed_point.hpp"
#include "oracle/rotary.hpp"
#include "tolerance.hpp"

namespace {

using posenc::phase;
using posenc::phase_step;

constexpr auto farthest = std::numeric_limits<std::int64_t>::max(),
               farthest_back = std::numeric_limits<std::int64_t>::min();

oracle::wide radians(phase angle) {
  return static_cast<oracle::wide>(static_cast<std::int64_t>(angle)) * (2 * oracle::pi * 0x1p-64);
}

// The distance of a phase from a direction, in radians.
double distance(phase angle, oracle::direction from) {
  auto const cos = oracle::cosine(radians(angle)), sin = oracle::sine(radians(angle));
  return std::abs(std::atan2(static_cast<double>(sin * from.cos - cos * from.sin),
                             static_cast<double>(cos * from.cos + sin * from.sin)));
}

// The largest error of a sum of phases, in units of 2^-64 turns.
std::uint64_t difference(phase a, phase b) { return std::min(a - b, b - a); }

// Positions of every magnitude up to 2^63 and either sign.
std::vector<std::int64_t> positions() {
  std::vector<std::int64_t> result{
      0,         1,           -1, 2, 1'000'000, farthest, -farthest, farthest_back, (1ll << 32) - 1,
      1ll << 32, -(1ll << 32)};
  std::mt19937_64 random(3);
  for (int bits = 1; bits < 64; ++bits)
    for (int i = 0; i < 4; ++i)
      result.push_back(static_cast<std::int64_t>(random() >> (64 - bits)) * (i % 2 == 0 ? 1 : -1));
  return result;
}

// Frequencies of models, round ones, and the extremes that a phase_step allows.
std::vector<double> inv_freqs() {
  auto result = oracle::inv_freq(128, 5e5);
  for (double const more : {0.0, -0.0, 0x1p64, 0x1.fffffffffffffp63, 12345.678, 1e9, 1e-18, 1e-25,
                            0x1p-96, 0x1p-500, 0x1p-1022, 0x1p-1074})
    result.push_back(more);
  return result;
}

TEST(phase_step, lands_where_exact_arithmetic_does) {
  for (auto const inv_freq : inv_freqs())
    for (auto const n : positions()) {
      auto const exact =
          oracle::direction_at(static_cast<oracle::wide>(n), static_cast<oracle::wide>(inv_freq));
      ASSERT_LE(distance(phase_step(inv_freq).at(n), exact),
                tolerance::of_phase(static_cast<double>(n)))
          << n << " * " << inv_freq;
    }
}

TEST(phase_step, lands_at_the_angles_known_of_llama_2) {
  for (auto const& [position, pair, cos, sin] : golden::llama2_angles)
    for (auto const& [known_pair, inv_freq] : golden::llama2_frequencies) {
      if (known_pair != pair) continue;
      auto const angle = phase_step(inv_freq).at(std::int64_t{position});
      constexpr double of_golden =
          std::numeric_limits<long double>::digits == 53 ? 0x1p-53 : 0;  // written as long double
      EXPECT_LE(distance(angle, {cos, sin}),
                tolerance::of_phase(static_cast<double>(position)) + of_golden);
    }
}

TEST(phase_step, of_a_sum_is_the_sum) {
  for (auto const inv_freq : inv_freqs()) {
    phase_step const step(inv_freq);
    for (auto const a : positions())
      for (std::int64_t const b : {1ll, -1ll, 4096ll, -(1ll << 40)}) {
        if (b > 0 ? a > farthest - b : a < farthest_back - b) continue;
        ASSERT_LE(difference(step.at(a) + step.at(b), step.at(a + b)), 1u)
            << inv_freq << " * (" << a << " + " << b << ")";
      }
  }
}

TEST(phase_step, of_the_opposite_position_is_the_opposite) {
  for (auto const inv_freq : inv_freqs())
    for (auto const n : positions())
      if (n != farthest_back) {
        ASSERT_LE(difference(phase_step(inv_freq).at(-n), 0 - phase_step(inv_freq).at(n)), 1u)
            << n << " * " << inv_freq;
      }
}

TEST(phase_step, of_nothing_is_nothing) {
  for (auto const n : positions())
    for (double const none : {0.0, -0.0}) EXPECT_EQ(phase_step(none).at(n), 0u) << n;
  for (auto const inv_freq : inv_freqs())
    EXPECT_EQ(phase_step(inv_freq).at(std::int64_t{0}), 0u) << inv_freq;
}

TEST(phase_step, of_a_whole_position_is_the_same_from_a_double) {
  for (auto const inv_freq : inv_freqs())
    for (auto const n : positions()) {
      auto const whole = static_cast<double>(n);
      if (whole < 0x1p63) {
        ASSERT_EQ(phase_step(inv_freq).at(whole),
                  phase_step(inv_freq).at(static_cast<std::int64_t>(whole)))
            << n << " * " << inv_freq;
      }
    }
}

TEST(phase_step, of_a_fractional_position_is_right_to_a_rounding_of_its_fraction) {
  std::mt19937_64 random(4);
  for (auto const inv_freq : inv_freqs()) {
    if (inv_freq > 1e9) continue;  // where the fraction alone turns too often for a double to tell
    for (int i = 0; i < 500; ++i) {
      auto const position = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                                       -63 + static_cast<int>(random() % 50));
      auto const fraction = position - std::floor(position);
      auto const exact = oracle::direction_at(static_cast<oracle::wide>(position),
                                              static_cast<oracle::wide>(inv_freq));
      // The frequency in turns is rounded twice, the product once, a negative position's fraction
      // once; the sum is truncated at 2^-63.
      auto const bound = 4 * tolerance::unit_roundoff<double>() * fraction * inv_freq +
                         tolerance::of_phase(position) + 2 * std::numbers::pi * 0x1p-63;
      ASSERT_LE(distance(phase_step(inv_freq).at(position), exact), bound)
          << position << " * " << inv_freq;
    }
  }
}

TEST(phase_step, is_known_at_compile_time) {
  static_assert(phase_step(0).at(std::int64_t{7}) == 0);
  static_assert(phase_step(0x1.fffp-1022, 0x1p-1074).at(std::int64_t{7}) == 0, "no shift by 64");
  static_assert(phase_step(1).at(std::int64_t{1}) == 0x28be'60db'9391'054a,
                "1 radian is 1 / 2 pi turns");
}

/// Against integers of 384 bits.
TEST(phase_step, counts_what_rounding_has_left_of_the_frequency) {
  using oracle::fixed_point;
  auto const turn = oracle::pi_in_fixed_point() + oracle::pi_in_fixed_point();
  for (double const inv_freq : {1.0, 0.3, 1e-9, 0x1p-70, 0x1p-4, 12345.6}) {
    for (double const part : {1.0, -1.0, 0.3, -0.77, 0x1p-30, -0x1p-50, 0x1p-80, 0.0}) {
      auto const rest = part * inv_freq * 0x1p-54;
      auto const frequency = oracle::quotient(fixed_point(inv_freq) + fixed_point(rest), turn);
      for (std::int64_t const n : {std::int64_t{1}, std::int64_t{-3}, std::int64_t{1} << 31,
                                   (std::int64_t{1} << 45) + 12345}) {
        auto const got =
            static_cast<double>(static_cast<std::int64_t>(phase_step(inv_freq, rest).at(n))) *
            0x1p-64;
        auto off = frequency * fixed_point::whole(n) - fixed_point(got);
        for (int i = 0; i < 3; ++i)
          off = off - fixed_point(std::nearbyint(off.number()));  // whole turns
        // Plus the rounding of half a turn to double.
        EXPECT_LE(std::abs(off.number()),
                  std::abs(static_cast<double>(n)) * 0x1p-96 + 0x1p-64 + 0x1p-54)
            << n << " * " << inv_freq;
      }
    }
  }
  constexpr auto half_a_place =
      phase_step(1, 0x1p-53).at(std::int64_t{1} << 53) - phase_step(1).at(std::int64_t{1} << 53);
  EXPECT_NEAR(static_cast<double>(half_a_place) * 0x1p-64, 1 / (2 * std::numbers::pi), 0x1p-42)
      << "a radian";
  constexpr auto less =
      phase_step(1).at(std::int64_t{1} << 54) - phase_step(1, -0x1p-54).at(std::int64_t{1} << 54);
  EXPECT_NEAR(static_cast<double>(less) * 0x1p-64, 1 / (2 * std::numbers::pi), 0x1p-41);
}

using posenc::phase_steps;

TEST(phase_steps, have_the_step_of_each_pair) {
  std::vector<double> const inv_freq{1, 0.3, 0, 12345.678}, rest{0x1p-54, -0x1p-57, 0, 0};
  phase_steps const steps(inv_freq, rest);
  ASSERT_EQ(steps.pairs(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    phase_step const step(inv_freq[i], rest[i]);
    EXPECT_EQ(steps.high()[i], step.at(std::int64_t{1})) << i;
    // Places 65 to 96, one place further up each.
    EXPECT_EQ((steps.high()[i] << 32) + steps.low()[i], step.at(std::int64_t{1} << 32)) << i;
    EXPECT_DOUBLE_EQ(steps.turns()[i], inv_freq[i] / 6.283185307179586) << i;
  }
}

TEST(phase_steps, are_laid_out_alike_for_registers_of_any_width) {
  static_assert(phase_steps::padding == 15, "16 doubles are 1024 bits; the same for all targets");
  for (std::size_t pairs = 1; pairs < 20; ++pairs) {
    phase_steps const steps(std::vector<double>(pairs, 0.5));
    for (auto i = pairs; i < pairs + phase_steps::padding; ++i) {
      EXPECT_EQ(steps.high()[i], 0u);
      EXPECT_EQ(steps.low()[i], 0u);
      EXPECT_EQ(steps.turns()[i], 0);
    }
    auto const begins_a_line = [](auto const* list) {
      return reinterpret_cast<std::uintptr_t>(list) % 64 == 0;
    };
    EXPECT_TRUE(begins_a_line(steps.high()) && begins_a_line(steps.low()) &&
                begins_a_line(steps.turns()));
  }
}

}  // namespace
