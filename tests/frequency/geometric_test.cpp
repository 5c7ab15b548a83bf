#include "posenc/frequency/geometric.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>

#include "golden/frequency_rules.hpp"
#include "golden/wavelengths.hpp"
#include "non_numbers.hpp"
#include "oracle/rotary.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using posenc::frequencies;
using posenc::geometric;
using posenc::geometric_inclusive;

constexpr double bases[] = {1e4, 5e5, 1e6, 1.5e5, 2, 1, 0.5};
constexpr std::size_t next_dim = oracle::wide_cost > 1 ? 14 : 2;

void expect_relative(double got, double expected, double tolerance) {
  EXPECT_NEAR(got, expected, tolerance * expected);
}

TEST(geometric, has_the_known_values) {
  for (auto const& [dim, base, pair, inv_freq] : golden::default_values) {
    EXPECT_NEAR(geometric(dim, base).inv_freq()[pair], inv_freq,
                tolerance::of_power(base) * inv_freq)
        << base << ", pair " << pair;
  }
}

TEST(geometric, agrees_with_the_definition) {
  for (auto const base : bases) {
    for (std::size_t dim = 2; dim <= 520; dim += next_dim) {
      auto const f = geometric(dim, base);
      auto const expected = oracle::inv_freq(dim, base);
      ASSERT_EQ(f.rotary_dim(), dim);
      ASSERT_EQ(f.attention_factor(), 1);
      for (std::size_t i = 0; i < expected.size(); ++i)
        expect_relative(f.inv_freq()[i], expected[i], tolerance::of_power(base));
    }
  }
}

TEST(geometric, starts_at_one_radian_per_position) {
  for (auto const base : bases) EXPECT_EQ(geometric(128, base).inv_freq()[0], 1);
}

TEST(geometric, slowest_pairs_of_common_models_have_the_wavelengths_known) {
  for (auto const& [head_dim, base, inv_freq, wavelength, zero_crossing, minimum] :
       golden::slowest_pairs) {
    auto const slowest = geometric(head_dim, base).inv_freq().back();
    auto const tolerance = tolerance::of_power(base);
    expect_relative(slowest, inv_freq, tolerance);
    expect_relative(2 * std::numbers::pi / slowest, wavelength, tolerance);
    expect_relative(std::numbers::pi / 2 / slowest, zero_crossing, tolerance);
    expect_relative(std::numbers::pi / slowest, minimum, tolerance);
  }
}

TEST(geometric, passes_the_checkpoints) {
  for (auto const& [head_dim, base, pair, inv_freq, wavelength] : golden::checkpoints) {
    auto const got = geometric(head_dim, base).inv_freq()[pair];
    expect_relative(got, inv_freq, tolerance::of_power(base));
    expect_relative(2 * std::numbers::pi / got, wavelength, tolerance::of_power(base));
  }
}

TEST(geometric_inclusive, agrees_with_the_definition) {
  for (auto const base : bases) {
    for (std::size_t dim = 4; dim <= 520; dim += next_dim) {
      auto const f = geometric_inclusive(dim, base);
      ASSERT_EQ(f.rotary_dim(), dim);
      auto const steps = static_cast<oracle::wide>(dim) / 2 - 1;
      for (std::size_t i = 0; i < f.pairs(); ++i) {
        auto const expected =
            oracle::pow(static_cast<oracle::wide>(base), -static_cast<oracle::wide>(i) / steps);
        expect_relative(f.inv_freq()[i], static_cast<double>(expected), tolerance::of_power(base));
      }
    }
  }
}

TEST(geometric_inclusive, includes_both_ends) {
  for (auto const base : bases) {
    for (std::size_t dim = 4; dim <= 520; dim += 2) {
      auto const f = geometric_inclusive(dim, base);
      EXPECT_EQ(f.inv_freq().front(), 1);
      expect_relative(f.inv_freq().back(), 1 / base, tolerance::of_power(base));
    }
  }
}

TEST(geometric_inclusive, of_a_single_pair_is_1) {
  EXPECT_EQ(geometric_inclusive(2, 1e4).inv_freq()[0], 1);
}

// Both rules, each with the name that begins its errors.
void for_both_rules(auto&& check) {
  check("geometric", [](std::size_t dim, double base) { return geometric(dim, base); });
  check("geometric_inclusive",
        [](std::size_t dim, double base) { return geometric_inclusive(dim, base); });
}

TEST(geometric, dimension_must_be_even_and_positive) {
  for_both_rules([](std::string const& name, auto rule) {
    for (std::size_t const dim :
         {std::size_t{0}, std::size_t{1}, std::size_t{127}, ~std::size_t{0}})
      EXPECT_EQ(message_of([&] { rule(dim, 1e4); }),
                "posenc: " + name + ": the dimension must be even and positive, got " +
                    std::to_string(dim));
  });
}

TEST(geometric, dimension_must_be_at_most_2_to_the_24) {
  for_both_rules([](std::string const& name, auto rule) {
    EXPECT_EQ(message_of([&] { rule((1u << 24) + 2, 1e4); }),
              "posenc: " + name + ": the dimension must be at most 2^24, got 16777218");
    EXPECT_NE(message_of([&] { rule(~std::size_t{1}, 1e4); }), "");
  });
}

TEST(geometric, base_must_be_finite_and_positive) {
  for_both_rules([](std::string const& name, auto rule) {
    auto const must = "posenc: " + name + ": base must be finite and positive, got ";
    EXPECT_EQ(message_of([&] { rule(128, 0); }), must + "0");
    EXPECT_EQ(message_of([&] { rule(128, -1e4); }), must + "-10000");
    EXPECT_EQ(message_of([&] { rule(128, not_a_number()); }), must + "NaN");
    EXPECT_EQ(message_of([&] { rule(128, infinity()); }), must + "infinity");
  });
}

/// The reciprocals of these bases are beyond the range of doubles.
TEST(geometric, takes_the_least_bases) {
#if defined(__FAST_MATH__)
  GTEST_SKIP() << "-ffast-math may take subnormal numbers for 0";
#endif
  for (double const base : {1e-309, 5e-324}) {
    auto const f = geometric(2, base);
    EXPECT_EQ(f.inv_freq()[0], 1);
    EXPECT_EQ(f.rest()[0], 0);
    EXPECT_EQ(message_of([&] { geometric_inclusive(4, base); }).substr(0, 78),
              "posenc: frequencies: inv_freq must be in [0, 2^64] radians per position, got 8");
  }
}

}  // namespace
