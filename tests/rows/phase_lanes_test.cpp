#include "posenc/rows/detail/phase_lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "golden/llama2_angles.hpp"
#include "oracle/angle.hpp"
#include "oracle/rotary.hpp"
#include "posenc/rows/phase.hpp"

namespace {

using posenc::cos_sin;
using posenc::phase;
using posenc::phase_step;
using posenc::phase_steps;
using posenc::detail::phase_lanes;
using posenc::detail::phases_at;
using phases = std::array<phase, phase_lanes::size>;
using doubles = std::array<double, phase_lanes::size>;

phases stored(phase_lanes::bits const& x) {
  phases result;
  std::memcpy(result.data(), &x, sizeof result);
  return result;
}

doubles stored(phase_lanes::number const& x) {
  doubles result;
  phase_lanes::store(result.data(), x);
  return result;
}

// Positions of every magnitude and sign.
phases random_phases(std::mt19937_64& random) {
  phases result;
  for (auto& x : result) {
    x = random() >> (random() & 63);
    if (random() % 2 == 0) x = 0 - x;
  }
  return result;
}

std::vector<std::int64_t> positions() {
  std::vector<std::int64_t> result{0,
                                   1,
                                   -1,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min(),
                                   (1ll << 32) - 1,
                                   1ll << 32,
                                   -(1ll << 32)};
  std::mt19937_64 random(5);
  for (int bits = 1; bits < 64; ++bits)
    result.push_back(static_cast<std::int64_t>(random() >> (64 - bits)) * (bits % 2 == 0 ? 1 : -1));
  return result;
}

TEST(phase_lanes, multiply_as_words_do) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    auto const a = random_phases(random), b = random_phases(random);
    auto const x = phase_lanes::load_bits(a.data()), y = phase_lanes::load_bits(b.data());
    auto const halves = stored(phase_lanes::product_of_lower_halves(x, y)),
               whole = stored(phase_lanes::product(x, y, false));
    auto const narrow =
        stored(phase_lanes::product(x & phase_lanes::bits(phase{0xffff'ffff}), y, true));
    for (std::size_t k = 0; k < phase_lanes::size; ++k) {
      ASSERT_EQ(halves[k], (a[k] & 0xffff'ffff) * (b[k] & 0xffff'ffff));
      ASSERT_EQ(whole[k], a[k] * b[k]);
      ASSERT_EQ(narrow[k], (a[k] & 0xffff'ffff) * b[k]);
    }
  }
}

TEST(phase_lanes, round_once_to_a_number) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    auto a = random_phases(random);
    if (i < 4)
      a.fill(std::array<phase, 4>{0, phase{1} << 63, ~phase{0},
                                  ~phase{0} >> 1}[static_cast<std::size_t>(i)]);
    auto const rounded = stored(phase_lanes::signed_number(phase_lanes::load_bits(a.data())));
    for (std::size_t k = 0; k < phase_lanes::size; ++k)
      ASSERT_EQ(rounded[k], static_cast<double>(static_cast<std::int64_t>(a[k]))) << a[k];
  }
}

TEST(phase_lanes, are_stored_as_floats_rounded) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 1000; ++i) {
    doubles x, y;
    for (auto* list : {&x, &y})
      for (auto& number : *list)
        number = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63);
    std::array<float, 2 * phase_lanes::size + 1> all;
    all.back() = 7;
    phase_lanes::store(all.data(), phase_lanes::load(x.data()), phase_lanes::load(y.data()));
    for (std::size_t k = 0; k < phase_lanes::size; ++k) {
      ASSERT_EQ(all[k], static_cast<float>(x[k]));
      ASSERT_EQ(all[phase_lanes::size + k], static_cast<float>(y[k]));
    }
    ASSERT_EQ(all.back(), 7);
  }
}

// Both compute the same products; under -ffast-math the compiler may contract them differently.
template <class Real>
void expect_stored_cosines_and_sines(phases const& x, phases const& y, double factor) {
  std::array<Real, 2 * phase_lanes::size + 1> cos, sin;
  cos.back() = sin.back() = 7;
  posenc::detail::store_cos_sin(cos.data(), sin.data(), phase_lanes::load_bits(x.data()),
                                phase_lanes::load_bits(y.data()), phase_lanes::number(factor));
  for (std::size_t k = 0; k < 2 * phase_lanes::size; ++k) {
    auto const angle = k < phase_lanes::size ? x[k] : y[k - phase_lanes::size];
    auto const [c, s] = cos_sin(angle);
#if defined(__FAST_MATH__)
    auto const bound = factor * (5e-16 + (sizeof(Real) == 4 ? 0x1p-24 : 0));
    ASSERT_NEAR(cos[k], c * factor, bound) << angle;
    ASSERT_NEAR(sin[k], s * factor, bound) << angle;
#else
    ASSERT_EQ(cos[k], static_cast<Real>(c * factor)) << angle;
    ASSERT_EQ(sin[k], static_cast<Real>(s * factor)) << angle;
    ASSERT_EQ(std::signbit(cos[k]), std::signbit(c)) << angle;
    ASSERT_EQ(std::signbit(sin[k]), std::signbit(s)) << angle;
#endif
  }
  EXPECT_EQ(cos.back(), 7);
  EXPECT_EQ(sin.back(), 7);
}

TEST(phase_lanes, are_stored_as_the_cosines_and_sines_of_each_phase) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 20'000; ++i) {
    auto x = random_phases(random), y = random_phases(random);
    for (auto& angle : y) angle += random() << 61;  // near where quadrants and the reduction meet
    for (auto const factor : {1.0, 1.25, 0.7}) {
      expect_stored_cosines_and_sines<float>(x, y, factor);
      expect_stored_cosines_and_sines<double>(x, y, factor);
    }
  }
}

TEST(phase_steps, land_where_each_step_does) {
  auto inv_freq = oracle::inv_freq(38, 1e4);  // 19: no multiple of a register
#if defined(__FAST_MATH__)
  inv_freq[4] = 0;                              // of 2^64 radians no fraction is to be had there
  constexpr auto of_fraction = phase{1} << 20;  // some roundings of 12345.678 radians
#else
  inv_freq[4] = 0x1p64;
  constexpr phase of_fraction = 0;
#endif
  inv_freq[3] = 0, inv_freq[5] = 0x1p-96, inv_freq[6] = 12345.678;
  phase_steps const steps(inv_freq);
  ASSERT_EQ(steps.pairs(), inv_freq.size());
  auto const expect = [&](std::size_t pair, phases const& angles, auto position, phase apart = 0) {
    for (std::size_t k = 0; k < phase_lanes::size; ++k) {
      auto const expected =
          pair + k < inv_freq.size() ? phase_step(inv_freq[pair + k]).at(position) : 0;
      ASSERT_LE(std::min(angles[k] - expected, expected - angles[k]), apart)
          << position << ", " << pair + k;
    }
  };
  for (auto const n : positions()) {
    for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
      expect(pair, stored(phases_at(steps, n)(pair)), n);
      expect(pair, stored(phases_at(steps, static_cast<std::uint32_t>(n))(pair)),
             std::int64_t{static_cast<std::uint32_t>(n)});
      auto const fractional = static_cast<double>(n / 4) + 0.375;
      expect(pair, stored(phases_at(steps, fractional)(pair)), fractional, of_fraction);
    }
  }
}

// A file for one target may read what a file for another target made. AddressSanitizer sees reads
// beyond the end; otherwise the test reads what is there.
TEST(phase_steps, may_be_read_by_registers_of_any_width) {
  std::vector<double> const inv_freq(1, 0.5);
  phase_steps const steps(inv_freq);
  constexpr std::size_t widest = phase_steps::padding + 1;
  for (std::size_t pair = 1; pair + phase_lanes::size <= widest; ++pair) {
    EXPECT_EQ(stored(phases_at(steps, std::int64_t{3})(pair)), phases{}) << pair;
    EXPECT_EQ(stored(phases_at(steps, std::uint32_t{3})(pair)), phases{}) << pair;
    EXPECT_EQ(stored(phases_at(steps, 3.5)(pair)), phases{}) << pair;
  }
}

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
