#include "posenc/analysis/distance_profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "attention/uncopied.hpp"
#include "golden/all_ones_kernel.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/gaussian.hpp"
#include "oracle/rotary.hpp"
#include "oracle/softmax.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/cope.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

/// The error of sqrt(head_dim) a(r), the mean of the logits: that of the rotated numbers, of their
/// products, and of the frequencies.
double tolerance_of_logit(std::size_t head_dim, double distance) {
  auto const dim = static_cast<double>(head_dim);
  auto const number = tolerance::of_rotated<double>(1, 1, std::sqrt(2.0));
  auto const score = dim * (2 * std::sqrt(2.0) * number + tolerance::of_angle(distance, 1)) +
                     tolerance::of_dot_product<double>(head_dim, 2 * dim);
  return score / std::sqrt(dim);
}

TEST(distance_profile, of_rope_and_even_vectors_is_the_published_kernel) {
  for (auto const& [head_dim, base, distance, value] : golden::kernel_values) {
    auto const range = distance + 7;  // not a multiple of anything
    auto const profile = profile_distances(rope<halves>(geometric(head_dim, base)),
                                           {.head_dim = head_dim, .range = range});
    ASSERT_EQ(profile.logit.size(), range);
    EXPECT_NEAR(profile.logit[distance].mean(), std::sqrt(static_cast<double>(head_dim)) * value,
                tolerance_of_logit(head_dim, static_cast<double>(distance)))
        << head_dim << " dims, base " << base << ", distance " << distance;
    EXPECT_EQ(profile.logit[distance].count(), 1u);
    EXPECT_EQ(profile.logit[distance].spread(), 0);
  }
}

std::size_t first_negative_of(rope<halves> const& encoding, std::size_t head_dim,
                              std::size_t range) {
  auto const profile = profile_distances(encoding, {.head_dim = head_dim, .range = range});
  auto const found = std::ranges::find_if(
      profile.logit, [](running_moments const& logit) { return logit.mean() < 0; });
  return static_cast<std::size_t>(found - profile.logit.begin());
}

TEST(distance_profile, of_rope_and_even_vectors_first_turns_negative_at_the_published_distance) {
  for (auto const& [head_dim, base, distance] : golden::first_negatives) {
    if (distance > 10'000) continue;  // rope_test looks at those two distances alone
    EXPECT_EQ(first_negative_of(rope<halves>(geometric(head_dim, base)), head_dim, distance + 10),
              distance)
        << head_dim << " dims, base " << base;
  }
  EXPECT_EQ(
      first_negative_of(p_rope<halves>(128, 1e4, 0.75), 128, golden::first_negative_p_rope + 10),
      golden::first_negative_p_rope);
  auto const interpolated = linear(geometric(128, 1e4), 16);
  EXPECT_EQ(
      first_negative_of(rope<halves>(interpolated), 128, golden::first_negative_interpolated + 10),
      golden::first_negative_interpolated);
}

TEST(distance_profile, leaves_a_sink_its_share) {
  auto const profile = profile_distances(scheme{constant_temperature(0.25), softmax_off_by_one{}},
                                         {.head_dim = 16, .range = 3});
  auto const expected = 1 / (3 + std::exp(-1.0));  // logits of 4
  for (auto const& weight : profile.weight)
    EXPECT_NEAR(weight.mean(), expected, 8 * tolerance::unit_roundoff<double>());
  EXPECT_NEAR(profile.entropy.mean(), -3 * expected * std::log(expected),
              32 * tolerance::unit_roundoff<double>());
}

TEST(distance_profile, of_nope_is_even) {
  for (std::size_t const range : {1u, 2u, 127u, 128u, 129u, 1000u}) {
    auto const profile = profile_distances(nope(), {.head_dim = 16, .range = range});
    ASSERT_EQ(profile.logit.size(), range);
    ASSERT_EQ(profile.weight.size(), range);
    auto const n = static_cast<double>(range);
    for (std::size_t r = 0; r < range; ++r) {
      EXPECT_EQ(profile.logit[r].mean(), 4) << r;
      EXPECT_NEAR(profile.weight[r].mean(), 1 / n, tolerance::of_weight<double>(1 / n, 0, range))
          << r;
    }
    EXPECT_NEAR(profile.entropy.mean(), std::log(n), tolerance::of_entropy(std::log(n), range));
    EXPECT_EQ(profile.inverse_temperature.mean(), 1);
  }
}

TEST(distance_profile, does_not_depend_on_the_range_it_is_part_of) {
  scheme const encoding(rope<interleaved>(geometric(32, 1e4)), alibi(2));
  auto const whole = profile_distances(encoding, {.head_dim = 32, .heads = 2, .range = 700});
  for (std::size_t const range : {1u, 100u, 128u, 129u, 300u}) {
    auto const part = profile_distances(encoding, {.head_dim = 32, .heads = 2, .range = range});
    for (std::size_t r = 0; r < range; ++r) {
      auto const distance = static_cast<double>(r),
                 rounding = 4 * distance * tolerance::unit_roundoff<double>();
      EXPECT_NEAR(part.logit[r].mean(), whole.logit[r].mean(),
                  2 * tolerance_of_logit(32, distance) + rounding)
          << r << " of " << range;
    }
  }
}

TEST(distance_profile, of_keys_that_count_for_each_other_takes_them_at_once) {
  // Gates of q = k = (1, 1): sigmoid(sqrt(2)) for each key; <q, e[p]> = -p up to position 299.
  constexpr std::size_t range = 300;
  std::vector<float> embeddings;
  for (std::size_t p = 0; p < range; ++p)
    embeddings.insert(embeddings.end(), 2, -0.5f * static_cast<float>(p));
  auto const profile = profile_distances(cope(embeddings, 2),
                                         {.head_dim = 2, .range = range, .keys_at_once = range});
  auto const gate = 1 / (1 + std::exp(-std::sqrt(2.0)));
  for (std::size_t r = 0; r < range; ++r) {
    auto const position = gate * static_cast<double>(r + 1);
    EXPECT_NEAR(profile.logit[r].mean(), std::sqrt(2.0) - position, 1e-6 * position) << r;
  }
}

/// Checks all that is known of a profile of `samples` samples: [Barbero 2024, Proposition 3.2] for
/// rho 0, the curve of all ones for rho 1.
///
/// A logit is a quadratic form of Gaussians, independent from pair to pair. Its excess kurtosis is
/// at most 12 for one pair, and 12 sum V_i^2 / (sum V_i)^2 for all, V_i being the variance of pair
/// i. This bounds the error of a sample variance.
void expect_closed_form(double rho) {
  constexpr std::size_t head_dim = 16, samples = 20'000, range = 8;
  constexpr double base = 10, sigmas = 5;
  auto const inv_freq = oracle::inv_freq(head_dim, base);
  auto const profile =
      profile_distances(rope<halves>(geometric(head_dim, base)),
                        {.head_dim = head_dim,
                         .range = range,
                         .inputs = gaussian{.rho = rho, .samples = samples, .seed = 20'241'009}});
  for (std::size_t r = 0; r < range; ++r) {
    auto const distance = static_cast<long double>(r);
    auto const mean = oracle::correlated_mean(rho, distance, inv_freq) / std::sqrt(head_dim);
    auto const variance = oracle::correlated_variance(rho, distance, inv_freq) / head_dim;
    double squares = 0;
    for (auto const& f : inv_freq) {
      auto const of_pair = oracle::correlated_variance(rho, distance, std::span(&f, 1)) / head_dim;
      squares += of_pair * of_pair;
    }
    auto const& logit = profile.logit[r];
    EXPECT_EQ(logit.count(), samples);
    EXPECT_NEAR(logit.mean(), mean, sigmas * std::sqrt(variance / samples)) << "distance " << r;
    EXPECT_NEAR(logit.spread() * logit.spread(), variance,
                sigmas * std::sqrt((2 * variance * variance + 12 * squares) / samples))
        << "distance " << r;
    EXPECT_LT(logit.low(), mean);
    EXPECT_GT(logit.high(), mean);
  }
}

TEST(distance_profile, of_independent_gaussians_does_not_decay) { expect_closed_form(0); }

TEST(distance_profile, of_correlated_gaussians_has_the_mean_and_variance_of_the_closed_form) {
  expect_closed_form(0.3);
  expect_closed_form(-0.8);
}

TEST(distance_profile, of_equal_gaussians_has_the_curve_of_even_vectors) { expect_closed_form(1); }

TEST(distance_profile, weights_sum_to_one_and_are_those_of_the_logits) {
  auto const profile =
      profile_distances(rope<halves>(geometric(64, 1e4)), {.head_dim = 64, .range = 500});
  std::vector<double> logits;
  for (auto const& logit : profile.logit) logits.push_back(logit.mean());
  auto const weights = oracle::softmax(logits);
  double sum = 0;
  for (std::size_t r = 0; r < weights.size(); ++r) {
    sum += profile.weight[r].mean();
    EXPECT_NEAR(profile.weight[r].mean(), weights[r],
                tolerance::of_weight<double>(weights[r], 16, 500))
        << r;
  }
  EXPECT_NEAR(sum, 1, 2 * 500 * tolerance::unit_roundoff<double>());
  EXPECT_NEAR(profile.entropy.mean(), oracle::entropy(weights),
              tolerance::of_entropy(oracle::entropy(weights), 500));
  EXPECT_EQ(profile.entropy.count(), 1u);
}

TEST(distance_profile, weights_sum_to_one_over_samples_and_heads) {
  scheme const encoding(alibi(4), adaptive_temperature{});
  auto const profile = profile_distances(
      encoding, {.head_dim = 8, .heads = 4, .range = 300, .inputs = gaussian{.samples = 10}});
  double sum = 0;
  for (auto const& weight : profile.weight) {
    EXPECT_EQ(weight.count(), 40u);
    sum += weight.mean();
  }
  EXPECT_NEAR(sum, 1, (2 * 300 + 40) * tolerance::unit_roundoff<double>());
  EXPECT_EQ(profile.entropy.count(), 40u);
  EXPECT_EQ(profile.inverse_temperature.count(), 40u);
}

TEST(distance_profile,
     spreads_over_the_heads_that_alibi_tells_apart_and_not_over_those_that_rope_does_not) {
  alibi const encoding(8);
  auto const biased = profile_distances(encoding, {.head_dim = 16, .heads = 8, .range = 300});
  auto const rotated = profile_distances(rope<halves>(geometric(16, 1e4)),
                                         {.head_dim = 16, .heads = 8, .range = 300});
  for (std::size_t r = 0; r < 300; ++r) {
    auto const distance = static_cast<double>(r),
               tolerance = 8 * (4 + distance) * tolerance::unit_roundoff<double>();
    EXPECT_EQ(biased.logit[r].count(), 8u);
    EXPECT_NEAR(biased.logit[r].low(), 4 - encoding.slopes().front() * distance, tolerance) << r;
    EXPECT_NEAR(biased.logit[r].high(), 4 - encoding.slopes().back() * distance, tolerance) << r;
    EXPECT_EQ(biased.logit[r].spread() > 0, r > 0) << r;
    EXPECT_EQ(rotated.logit[r].spread(), 0) << r;
  }
}

TEST(distance_profile, adaptive_temperature_never_raises_the_entropy_and_leaves_the_logits) {
  for (double const rho : {0.0, 0.5, 1.0}) {
    profile_settings const settings{
        .head_dim = 32, .range = 200, .inputs = gaussian{.rho = rho, .samples = 20}};
    auto const plain = profile_distances(rope<halves>(geometric(32, 1e4)), settings);
    auto const adaptive = profile_distances(
        scheme(rope<halves>(geometric(32, 1e4)), adaptive_temperature{}), settings);
    EXPECT_LT(adaptive.entropy.mean(), plain.entropy.mean()) << rho;
    EXPECT_LE(adaptive.entropy.high(), plain.entropy.high() + tolerance::of_entropy(6, 200)) << rho;
    EXPECT_GE(adaptive.inverse_temperature.low(), 1) << rho;
    EXPECT_GT(adaptive.inverse_temperature.high(), 1) << rho;
    EXPECT_EQ(plain.inverse_temperature.high(), 1) << rho;
    for (std::size_t r = 0; r < 200; ++r)
      EXPECT_EQ(adaptive.logit[r].mean(), plain.logit[r].mean()) << r;
  }
}

TEST(distance_profile, the_same_seed_gives_the_same_profile_and_another_another) {
  auto const of_seed = [](std::uint64_t seed) {
    return profile_distances(
        nope(),
        {.head_dim = 8, .range = 300, .inputs = gaussian{.rho = 0.5, .samples = 3, .seed = seed}});
  };
  auto const means_of = [](std::vector<running_moments> const& all) {
    std::vector<double> means;
    for (auto const& m : all) means.push_back(m.mean());
    return means;
  };
  EXPECT_TRUE(numbers::same_bits(means_of(of_seed(7).logit), means_of(of_seed(7).logit)));
  EXPECT_TRUE(numbers::same_bits(means_of(of_seed(7).weight), means_of(of_seed(7).weight)));
  EXPECT_FALSE(numbers::same_bits(means_of(of_seed(7).logit), means_of(of_seed(8).logit)));
}

TEST(distance_profile, every_distance_has_a_key_of_its_own) {
  auto const profile =
      profile_distances(nope(), {.head_dim = 8, .range = 600, .inputs = gaussian{.samples = 1}});
  std::vector<double> logits;
  for (auto const& logit : profile.logit) logits.push_back(logit.mean());
  std::ranges::sort(logits);
  EXPECT_EQ(std::ranges::adjacent_find(logits), logits.end());
}

TEST(distance_profile, progress_rises_to_the_total) {
  for (std::size_t const range : {1u, 128u, 300u, 2500u}) {
    std::vector<std::pair<std::size_t, std::size_t>> reports;
    profile_distances(
        nope(), {.head_dim = 2, .range = range, .inputs = gaussian{.samples = 3}},
        [&](std::size_t done, std::size_t total) { reports.emplace_back(done, total); });
    ASSERT_FALSE(reports.empty());
    EXPECT_TRUE(std::ranges::is_sorted(reports, std::less_equal<>()));
    for (auto const& [done, total] : reports) EXPECT_EQ(total, 3 * range);
    EXPECT_EQ(reports.back().first, 3 * range);
  }
}

TEST(distance_profile, of_one_number_a_head_is_defined) {
  auto const profile =
      profile_distances(alibi(1), {.head_dim = 1, .range = 3});  // its slope is 2^-8
  double const sum = 1 + std::exp(-1 / 256.0) + std::exp(-2 / 256.0);
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(profile.logit[r].mean(), 1 - static_cast<double>(r) / 256) << r;
    EXPECT_NEAR(profile.weight[r].mean(), std::exp(-static_cast<double>(r) / 256) / sum,
                tolerance::of_weight<double>(1, 1, 3))
        << r;
  }
}

TEST(distance_profile, of_the_smallest_settings_is_one_key_that_has_all) {
  for (profile_settings const& smallest :
       {profile_settings{.head_dim = 1, .heads = 1, .range = 1},
        {.head_dim = 1, .heads = 1, .range = 1, .inputs = gaussian{.samples = 1}}}) {
    auto const profile = profile_distances(nope(), smallest);
    ASSERT_EQ(profile.logit.size(), 1u);
    EXPECT_EQ(profile.logit[0].count(), 1u);
    EXPECT_EQ(profile.weight[0].mean(), 1);
    EXPECT_EQ(profile.entropy.mean(), 0);
    EXPECT_EQ(profile.inverse_temperature.mean(), 1);
  }
}

TEST(distance_profile, copies_no_encoding) {
  expect_no_copy(
      [](auto const& encoding) { profile_distances(encoding, {.head_dim = 2, .range = 3}); });
}

TEST(distance_profile, bad_settings_are_rejected) {
  auto const rejected = [](profile_settings const& settings) {
    return message_of([&] { profile_distances(nope(), settings); });
  };
  auto const must = std::string(
      "posenc: profile_distances: head_dim, heads, range and samples must be positive, got ");
  EXPECT_EQ(rejected({.head_dim = 0}), must + "0, 1, 4096 and 1");
  EXPECT_EQ(rejected({.heads = 0}), must + "128, 0, 4096 and 1");
  EXPECT_EQ(rejected({.range = 0}), must + "128, 1, 0 and 1");
  EXPECT_EQ(rejected({.inputs = gaussian{.samples = 0}}), must + "128, 1, 4096 and 0");
  EXPECT_EQ(rejected({.keys_at_once = 0}),
            "posenc: profile_distances: keys_at_once must be positive, got 0");
  EXPECT_EQ(rejected({.heads = 2, .range = std::size_t{1} << 40}),
            "posenc: profile_distances: heads * range must be at most 2^40, got 2 * 1099511627776");
  for (double const rho : {1.5, -1.0000001, infinity(), not_a_number()})
    EXPECT_EQ(rejected({.inputs = gaussian{.rho = rho}})
                  .find("posenc: profile_distances: rho must be in [-1, 1], got "),
              0u);
  EXPECT_EQ(rejected({.inputs = gaussian{.rho = 1.5}}),
            "posenc: profile_distances: rho must be in [-1, 1], got 1.5");
}

TEST(distance_profile, what_the_encoding_rejects_is_rejected) {
  EXPECT_EQ(
      message_of([] { profile_distances(alibi(4), {.head_dim = 8, .heads = 5, .range = 10}); }),
      "posenc: attention: the encoding must have 5 heads, got 4");
  EXPECT_EQ(message_of([] { profile_distances(alibi(4), {.head_dim = 8, .range = 10}); }),
            "posenc: attention: the encoding must have 1 heads, got 4");
  EXPECT_EQ(message_of([] {
              profile_distances(rope<halves>(geometric(16, 1e4)), {.head_dim = 8, .range = 10});
            }),
            "posenc: rotary_block: the rotary block must lie within the head, got dims 0 to 16 of "
            "head_dim 8");
}

}  // namespace
