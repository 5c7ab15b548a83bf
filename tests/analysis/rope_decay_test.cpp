#include "posenc/analysis/rope_decay.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <optional>

#include "golden/all_ones_kernel.hpp"
#include "golden/rope_decay.hpp"
#include "non_numbers.hpp"
#include "oracle/gaussian.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

// The error of an angle is that of its frequency.
double error_at(std::int64_t distance, double base) {
  return 1e-15 + std::abs(static_cast<double>(distance)) * tolerance::unit_roundoff<double>() *
                     (8 + 2 * std::log(base));
}

TEST(rope_decay, mean_cosine_has_the_known_values) {
  for (auto const& [head_dim, base, distance, value] : golden::kernel_values) {
    auto const r = static_cast<std::int64_t>(distance);
    EXPECT_NEAR(mean_cosine(geometric(head_dim, base), r), value, error_at(r, base));
    EXPECT_EQ(mean_cosine(geometric(head_dim, base), r),
              mean_cosine(geometric(head_dim, base), -r));
  }
}

TEST(rope_decay, roformer_bound_has_the_known_values) {
  for (auto const& [dim, distance, bound] : golden::roformer_values) {
    EXPECT_NEAR(roformer_bound(geometric(dim, 1e4), distance), bound,
                static_cast<double>(dim) * error_at(distance, 1e4))
        << distance;
  }
}

TEST(rope_decay, roformer_bound_is_a_bound_and_loose) {
  auto const f = geometric(128, 1e4);
  for (std::int64_t r = 0; r < 500; ++r) {
    // For constant vectors, h_i = 2 except for the last difference, so the score is at most 2
    // |S_h|.
    EXPECT_LE(std::abs(mean_cosine(f, r)) * 64, 64 * roformer_bound(f, r) + 1e-9);
  }
  EXPECT_NEAR(roformer_bound(f, 100) / mean_cosine(f, 100), 21.43, 0.005);
}

TEST(rope_decay, correlated_scores_have_the_moments_of_the_oracle) {
  auto const f = truncated(geometric(128, 1e4), 0.75);
  for (double const rho : {-1.0, -0.3, 0.0, 0.3, 1.0}) {
    for (std::int64_t const r : {0, 1, 100, 5000}) {
      auto const [mean, variance] = correlated_score(f, rho, r, 128);
      EXPECT_NEAR(mean, oracle::correlated_mean(rho, r, f.inv_freq()), 128 * error_at(r, 1e4));
      EXPECT_NEAR(variance, oracle::correlated_variance(rho, r, f.inv_freq()),
                  1024 * error_at(r, 1e4));
    }
  }
  // By 2e5 draws 18.321 and 131.23
  auto const [mean, variance] = correlated_score(geometric(128, 1e4), 0.3, 100, 128);
  EXPECT_NEAR(mean, 18.326, 5e-4);
  EXPECT_NEAR(variance, 131.52, 5e-3);
  EXPECT_EQ(correlated_score(geometric(128, 1e4), 0, 77, 128).mean, 0) << "no decay";
}

TEST(rope_decay, correlated_scores_count_factors_and_other_dims) {
  // 2 dims of 6 are rotated and doubled: 4 rho 2 cos + 4 rho; 16 (4 rho^2 cos^2 + 2 (1 - rho^2)) +
  // 4 (1 + rho^2).
  double const c = std::cos(0.5);
  auto const [mean, variance] = correlated_score(frequencies({0.5}, {0}, 2), 0.6, 1, 6);
  EXPECT_NEAR(mean, 4 * 0.6 * 2 * c + 4 * 0.6, 1e-14);
  EXPECT_NEAR(variance, 16 * (4 * 0.36 * c * c + 2 * 0.64) + 4 * 1.36, 1e-13);
}

TEST(rope_decay, bad_correlations_are_rejected) {
  EXPECT_EQ(message_of([] { correlated_score(geometric(4, 10), 1.5, 1, 4); }),
            "posenc: correlated_score: rho must be in [-1, 1], got 1.5");
  EXPECT_EQ(message_of([] { correlated_score(geometric(4, 10), not_a_number(), 1, 4); }),
            "posenc: correlated_score: rho must be in [-1, 1], got NaN");
  EXPECT_EQ(message_of([] { correlated_score(geometric(4, 10), 0, 1, 3); }),
            "posenc: correlated_score: head_dim must be at least 4, the rotary dim, got 3");
}

TEST(rope_decay, first_negative_has_the_known_values) {
  for (auto const& [head_dim, base, distance] : golden::first_negatives) {
    EXPECT_EQ(first_negative_distance(geometric(head_dim, base), 300'000), distance)
        << head_dim << " " << base;
    EXPECT_EQ(first_negative_distance(geometric(head_dim, base), distance + 1), distance);
    EXPECT_EQ(first_negative_distance(geometric(head_dim, base), distance), std::nullopt);
  }
}

TEST(rope_decay, first_negative_of_scaled_frequencies_has_the_known_values) {
  auto const of_llama3 = [](std::size_t dim, double factor) {
    return llama3(
        geometric(dim, 5e5),
        {.factor = factor, .low_freq_factor = 1, .high_freq_factor = 4, .original_length = 8192});
  };
  EXPECT_EQ(first_negative_distance(of_llama3(128, 8), 131072), golden::first_negative_llama_3_1);
  EXPECT_EQ(first_negative_distance(of_llama3(128, 32), 262144), golden::first_negative_llama_3_2);
  EXPECT_EQ(first_negative_distance(of_llama3(64, 32), 131072),
            golden::first_negative_llama_3_2_1b);
  auto const llama2 = geometric(128, 1e4);
  EXPECT_EQ(first_negative_distance(linear(llama2, 16), 65536),
            golden::first_negative_interpolated);
  EXPECT_EQ(first_negative_distance(ntk(llama2, 16), 65536), golden::first_negative_ntk_aware);
  EXPECT_EQ(first_negative_distance(yarn(128, 1e4, {.factor = 16, .original_length = 4096}), 65536),
            golden::first_negative_yarn_code);
  EXPECT_EQ(first_negative_distance(
                yarn_by_rotations(llama2, {.factor = 16, .original_length = 4096}), 65536),
            golden::first_negative_yarn_paper);
}

TEST(rope_decay, mean_cosine_falls_below_a_half_at_the_known_distances) {
  for (auto const& [head_dim, base, distance] : golden::half_values) {
    auto const f = geometric(head_dim, base);
    for (std::size_t r = 0; r < distance; ++r)
      EXPECT_GE(mean_cosine(f, static_cast<std::int64_t>(r)), 0.5) << head_dim << " " << r;
    EXPECT_LT(mean_cosine(f, static_cast<std::int64_t>(distance)), 0.5) << head_dim;
  }
}

TEST(rope_decay, the_smallest_bases_hold_for_their_lengths) {
  for (auto const& [length, base] : golden::smallest_bases) {
    EXPECT_EQ(first_negative_distance(geometric(128, base * (1 + golden::error_of_smallest_bases)),
                                      length),
              std::nullopt)
        << length;
    EXPECT_NE(first_negative_distance(geometric(128, base * (1 - golden::error_of_smallest_bases)),
                                      length),
              std::nullopt)
        << length;
  }
}

TEST(rope_decay, what_a_base_holds_for_is_no_interval) {
  EXPECT_EQ(first_negative_distance(geometric(128, 12000), 4096), 1554u);
  EXPECT_GT(first_negative_distance(geometric(128, 11587.5), 4096), 2048u);
}

TEST(rope_decay, pairs_that_stand_still_keep_it_positive) {
  EXPECT_EQ(first_negative_distance(truncated(geometric(512, 1e6), 0.25), std::size_t{1} << 60),
            std::nullopt)
      << "and nothing is searched";
  EXPECT_EQ(first_negative_distance(frequencies({3.0, 0.0}), 10), std::nullopt);
  EXPECT_EQ(first_negative_distance(frequencies({3.0, 3.0, 0.0}), 10), 1u);
}

}  // namespace
