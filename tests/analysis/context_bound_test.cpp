#include "posenc/analysis/context_bound.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "golden/all_ones_kernel.hpp"
#include "golden/rope_decay.hpp"
#include "golden/wavelengths.hpp"
#include "oracle/gaussian.hpp"
#include "oracle/rotary.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(context_bound, is_the_first_negative_distance) {
  for (auto const& [head_dim, base, distance] : golden::first_negatives) {
    if (distance > 30'000) continue;
    EXPECT_EQ(context_bound(geometric(head_dim, base), 100'000).context, distance);
    EXPECT_EQ(context_bound(geometric(head_dim, base), distance).context, std::nullopt);
  }
}

TEST(context_bound, of_p_rope_is_certain_from_a_half_on) {
  EXPECT_EQ(context_bound(geometric(128, 1e4), 10).certain, -1);
  EXPECT_EQ(context_bound(truncated(geometric(256, 1e4), 0.75), 10).certain, -0.5);
  EXPECT_EQ(context_bound(truncated(geometric(512, 1e6), 0.25), 10).certain, 0.5);
  auto const half = truncated(geometric(128, 1e4), 0.5);
  auto const found = context_bound(half, 1'000'000);
  EXPECT_EQ(found.certain, 0);
  EXPECT_EQ(found.context, std::nullopt);
  for (std::int64_t r = 0; r < 5000; ++r) EXPECT_GE(mean_cosine(half, r), 0) << r;
}

TEST(context_bound, has_the_longest_wavelength) {
  for (auto const& [head_dim, base, inv_freq, wavelength, zero_crossing, minimum] :
       golden::slowest_pairs)
    EXPECT_NEAR(context_bound(geometric(head_dim, base), 1).longest_wavelength, wavelength,
                1e-12 * wavelength);
  // 0.75 of 128 pairs drops 1e-3 and keeps up to 5846.957 tokens a turn.
  EXPECT_NEAR(context_bound(truncated(geometric(256, 1e4), 0.75), 1).longest_wavelength, 5846.957,
              5e-4);
  EXPECT_FALSE(is_finite(context_bound(truncated(geometric(256, 1e4), 0), 1).longest_wavelength));
}

TEST(smallest_base, is_the_known_one) {
  for (auto const& [length, base] : golden::smallest_bases) {
    auto const found = smallest_base(128, length);
    EXPECT_NEAR(found, base, golden::error_of_smallest_bases * base) << length;
    EXPECT_EQ(first_negative_distance(geometric(128, found), length), std::nullopt);
    EXPECT_NE(first_negative_distance(geometric(128, found * (1 - 2e-7)), length), std::nullopt);
  }
}

/// The first base of a grid that holds.
double by_grid(std::size_t dim, std::size_t length, double ratio) {
  for (double base = 1;; base *= ratio) {
    if (!oracle::first_negative_distance(oracle::inv_freq(dim, base), length)) return base;
  }
}

TEST(smallest_base, is_what_a_grid_finds) {
  for (std::size_t const dim : {4u, 6u, 16u}) {
    for (std::size_t const length : {3u, 10u, 40u}) {
      constexpr double ratio = 1.0005;
      auto const of_grid = by_grid(dim, length, ratio), found = smallest_base(dim, length);
      EXPECT_LE(found, of_grid * (1 + 1e-12)) << dim << " " << length;
      EXPECT_GE(found * ratio, of_grid) << dim << " " << length;
    }
  }
}

TEST(smallest_base, of_lengths_that_any_base_holds_for_is_1) {
  EXPECT_EQ(smallest_base(128, 1), 1);
  EXPECT_EQ(smallest_base(128, 2), 1) << "cos(1) is positive, cos(2) is not";
  EXPECT_GT(smallest_base(128, 3), 1);
}

TEST(smallest_base, what_holds_is_no_interval) {
  EXPECT_LT(smallest_base(128, 2048), 11'587.5);
  EXPECT_EQ(context_bound(geometric(128, 11'587.5), 2048).context, std::nullopt);
  EXPECT_EQ(context_bound(geometric(128, 12'000), 4096).context, 1554u);
}

TEST(smallest_base, bad_input_is_rejected) {
  EXPECT_EQ(message_of([] { context_bound(geometric(4, 10), 0); }),
            "posenc: context_bound: reach must be positive, got 0");
  for (std::size_t const dim : {0u, 2u, 5u})
    EXPECT_EQ(message_of([=] { smallest_base(dim, 10); }),
              "posenc: smallest_base: dim must be even and at least 4, got " + std::to_string(dim));
  EXPECT_EQ(message_of([] { smallest_base(4, 0); }),
            "posenc: smallest_base: length must be positive and at most 2^24, got 0");
  EXPECT_EQ(message_of([] { smallest_base(4, (std::size_t{1} << 24) + 1); }),
            "posenc: smallest_base: length must be positive and at most 2^24, got 16777217");
}

}  // namespace
