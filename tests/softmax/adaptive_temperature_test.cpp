#include "posenc/softmax/adaptive_temperature.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "golden/adaptive_temperature.hpp"
#include "laws/softmax_laws.hpp"
#include "numbers.hpp"
#include "oracle/softmax.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/softmax/softmax.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

double beta_of(double entropy, std::size_t keys = 0) {
  return adaptive_temperature{}.inverse_temperature({.keys = keys, .entropy = entropy});
}

/// beta from the statistics of a row.
double beta_of(std::vector<double> const& scores) {
  return adaptive_temperature{}.inverse_temperature(statistics(std::span<double const>(scores)));
}

/// The error of P(H) in Horner's form: two roundings per step, of sums of terms with alternating
/// signs; plus the error of H times the steepest slope of P.
double tolerance_of_beta(double entropy, double entropy_error = 0) {
  double magnitude = 0;
  for (auto const c : golden::adaptive_coefficients) magnitude = magnitude * entropy + std::abs(c);
  return 10 * tolerance::unit_roundoff<double>() * magnitude + 2.53 * entropy_error;
}

TEST(adaptive_temperature, coefficients_are_the_published_ones_from_the_highest_power_down) {
  EXPECT_TRUE(
      std::ranges::equal(adaptive_temperature{}.coefficients, golden::adaptive_coefficients));
}

TEST(adaptive_temperature, beta_is_the_published_polynomial_where_that_exceeds_1) {
  for (auto const& [entropy, polynomial] : golden::adaptive_points)
    EXPECT_NEAR(beta_of(entropy), std::max(polynomial, 1.0), tolerance_of_beta(entropy)) << entropy;
  for (double entropy = 0; entropy < 20; entropy += 0x1p-6)
    EXPECT_NEAR(beta_of(entropy), oracle::adaptive_beta(entropy), tolerance_of_beta(entropy))
        << entropy;
}

/// Two misreadings in published ports: the coefficients in ascending order; and the polynomial as a
/// temperature, clipped to [0, 1].
TEST(adaptive_temperature, beta_is_neither_the_polynomial_read_backwards_nor_its_reciprocal) {
  for (auto const& [entropy, polynomial] : golden::adaptive_points) {
    if (polynomial <= 1) continue;
    double backwards = 0, power = 1;
    for (auto const c : golden::adaptive_coefficients) backwards += c * power, power *= entropy;
    EXPECT_GT(std::abs(beta_of(entropy) - backwards), 0.1) << entropy;
    EXPECT_GT(std::abs(beta_of(entropy) - 1 / std::clamp(polynomial, 0.0, 1.0)), 0.1) << entropy;
    EXPECT_GT(std::abs(beta_of(entropy) - 1 / polynomial), 0.1) << entropy;
  }
}

TEST(adaptive_temperature, sharpens_between_the_two_published_entropies_and_nowhere_else) {
  constexpr double step = 1e-9;  // P' is near 2 at one root and -2.5 at the other, so that P is off
                                 // 1 by a million roundings
  EXPECT_EQ(beta_of(golden::adaptive_lower_root - step), 1);
  EXPECT_GT(beta_of(golden::adaptive_lower_root + step), 1);
  EXPECT_GT(beta_of(golden::adaptive_upper_root - step), 1);
  EXPECT_EQ(beta_of(golden::adaptive_upper_root + step), 1);
  EXPECT_NEAR(beta_of(golden::adaptive_lower_root + step), 1, 3 * step);
  EXPECT_NEAR(beta_of(golden::adaptive_upper_root - step), 1, 3 * step);
  for (double const entropy :
       {0.0, 0.1, adaptive_temperature::entropy_gate, 0.51, 0.8, 6.0, 8.0, 17.0})
    EXPECT_EQ(beta_of(entropy), 1);
}

TEST(adaptive_temperature, beta_is_largest_at_the_published_entropy_and_never_below_1) {
  auto const peak = beta_of(golden::adaptive_peak_entropy);
  EXPECT_NEAR(peak, golden::adaptive_peak_beta, tolerance_of_beta(golden::adaptive_peak_entropy));
  for (double entropy = 0; entropy < 40; entropy += 0x1p-8) {
    EXPECT_GE(beta_of(entropy), 1) << entropy;
    EXPECT_LE(beta_of(entropy), peak + tolerance_of_beta(entropy)) << entropy;
  }
}

TEST(adaptive_temperature, two_keys_are_never_sharpened) { EXPECT_EQ(beta_of({0.0, 0.0}), 1); }

TEST(adaptive_temperature, even_rows_are_sharpened_up_to_381_keys) {
  auto const last = golden::adaptive_last_uniform_keys;
  auto const error = tolerance::of_entropy(6, last) +
                     1e-9 * static_cast<double>(last);  // the golden value leaves the epsilon out
  EXPECT_NEAR(beta_of(std::vector<double>(last)), golden::adaptive_last_uniform_beta,
              tolerance_of_beta(6, error));
  for (std::size_t keys = 3; keys <= last; ++keys)
    EXPECT_GT(beta_of(std::vector<double>(keys)), 1) << keys;
  for (std::size_t const keys : {last + 1, last + 2, 2 * last, 100 * last})
    EXPECT_EQ(beta_of(std::vector<double>(keys)), 1) << keys;
}

TEST(adaptive_temperature, a_row_too_dispersed_gets_no_help) {
  std::vector<double> scores(1024);
  scores[5] = 3;
  EXPECT_EQ(beta_of(scores), 1);
}

TEST(adaptive_temperature, the_published_rows_get_the_published_temperatures_and_weights) {
  for (auto const& [keys, logits, entropy, with_epsilon, beta, plain, adaptive] :
       golden::adaptive_examples) {
    std::vector<double> scores(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(keys));
    auto const error = tolerance_of_beta(
        entropy, tolerance::of_entropy(entropy, keys) + static_cast<double>(keys * keys) * 1e-16);
    EXPECT_NEAR(beta_of(scores), beta, error);
    auto const spread = std::ranges::max(scores) - std::ranges::min(scores);
    softmax(std::span(scores), beta_of(scores));
    EXPECT_NEAR(std::ranges::max(scores), adaptive,
                tolerance::of_weight<double>(adaptive, 0, keys) +
                    tolerance::of_weight_by_scores(adaptive, error * spread));
  }
  std::vector<double> scores{1, 2, 3, 4};
  auto const expected = oracle::adaptive_softmax(scores);
  softmax(std::span(scores), beta_of(scores));
  for (std::size_t s = 0; s < 4; ++s) {
    auto const w = golden::adaptive_weights_1234[s];
    auto const tolerance = tolerance::of_weight<double>(w, 4, 4) +
                           tolerance::of_weight_by_scores(
                               w, 3 * tolerance_of_beta(1, tolerance::of_entropy(1, 4) + 1e-15));
    EXPECT_NEAR(scores[s], w, tolerance);
    EXPECT_NEAR(scores[s], expected[s], tolerance);
  }
}

/// -sum p ln(p + 1e-9) is below -sum p ln p by 1e-9 for each key whose weight is far above 1e-9.
TEST(adaptive_temperature, the_entropy_is_the_published_one_with_its_epsilon) {
  for (auto const& example : golden::adaptive_examples) {
    if (example.beta == 1) continue;
    EXPECT_NEAR(beta_of(example.entropy, example.keys), beta_of(example.entropy_with_epsilon),
                tolerance_of_beta(2, static_cast<double>(example.keys * example.keys) * 1e-16));
  }
  for (double const entropy : {2.0, 3.0, 5.0})
    EXPECT_NEAR(beta_of(entropy, 10'000'000), oracle::adaptive_beta(entropy - 0.01),
                tolerance_of_beta(entropy, 0x1p-50))
        << entropy;
}

/// How far beta is off the published rule's, and how far the header says that it may be.
struct distance_from_published {
  double off, most, rounding;
  bool is_even;  ///< each weight is at least 5e-10 keys
};
distance_from_published distance_of(std::vector<double> const& scores) {
  auto const keys = static_cast<long double>(scores.size()), top = std::ranges::max(scores) + 0.0L;
  long double sum = 0, entropy = 0, published = 0, most = 0, least = 1;
  for (auto const x : scores) sum += std::exp(x - top);
  for (auto const x : scores) {
    auto const p = std::exp(x - top) / sum;
    entropy -= p * std::log(p), published -= p * std::log(p + 1e-9L);
    most += 2.53e-9L * std::min(1.0L, 5e-10L / p), least = std::min(least, p);
  }
  auto const h = static_cast<double>(entropy);
  auto const rounding = tolerance_of_beta(h, tolerance::of_entropy(h, scores.size()));
  return {std::abs(beta_of(scores) - oracle::adaptive_beta(static_cast<double>(published))),
          static_cast<double>(most), rounding, least >= 5e-10L * keys};
}

/// `peaked` scores of `height`, all others within 1 of 0.
std::vector<double> peaked_row(std::size_t keys, std::size_t peaked, double height) {
  auto scores = numbers::random<double>(keys, 5);
  for (std::size_t s = 0; s < std::min(keys, peaked); ++s) scores[s] += height;
  return scores;
}

TEST(adaptive_temperature, is_as_far_off_the_published_one_as_the_header_says_and_no_farther) {
  auto const check = [](std::vector<double> const& scores, char const* what) {
    auto const [off, most, rounding, is_even] = distance_of(scores);
    EXPECT_LE(off, most + rounding) << what << ' ' << scores.size();
    EXPECT_TRUE(!is_even || off <= 3e-9 + rounding) << what << ' ' << scores.size();
  };
  for (std::size_t const keys : {1u, 2u, 3u, 17u, 381u, 1000u, 5000u}) {
    check(std::vector<double>(keys), "equal scores");
    for (std::size_t const peaked : {1u, 4u, 60u, 300u})
      for (double const height : {0.0, 3.0, 8.0, 12.0, 16.0, 20.0, 40.0, 700.0})
        check(peaked_row(keys, peaked, height), "peaked");
  }
  check(std::vector<double>(44'000), "equal scores");
  EXPECT_TRUE(distance_of(std::vector<double>(44'000)).is_even);
  std::vector<double> few_of_a_million(1'000'000);
  std::fill_n(few_of_a_million.begin(), 379, 40.0);
  auto const far = distance_of(few_of_a_million);
  EXPECT_LE(far.off, 2.53e-3 + far.rounding);
  EXPECT_GT(far.off, 2.4e-3);
}

TEST(adaptive_temperature,
     held_is_the_published_one_up_to_the_maximum_bit_for_bit_and_the_maximum_beyond) {
  constexpr adaptive_temperature held{.highest = adaptive_temperature::entropy_of_maximum};
  auto const held_beta = [&](double entropy) {
    return held.inverse_temperature({.entropy = entropy});
  };
  auto const peak = golden::adaptive_peak_entropy;
  for (double entropy = 0; entropy < 4.4124; entropy += 0x1p-8)
    EXPECT_EQ(held_beta(entropy), beta_of(entropy)) << entropy;
  for (double const entropy : {peak, 4.5, 5.0, golden::adaptive_upper_root, 6.0,
                               golden::adaptive_dispersed_entropy, 20.0, 1e6})
    EXPECT_NEAR(held_beta(entropy), golden::adaptive_peak_beta, tolerance_of_beta(peak)) << entropy;
  for (double entropy = 1; entropy < 30; entropy += 0x1p-8)
    EXPECT_GE(held_beta(entropy + 0x1p-8) + tolerance_of_beta(peak), held_beta(entropy)) << entropy;
}

TEST(adaptive_temperature, held_helps_the_rows_that_the_published_one_leaves_alone) {
  adaptive_temperature const held{.highest = adaptive_temperature::entropy_of_maximum};
  std::vector<double> scores(1024);
  scores[5] = 3;
  auto const row = statistics(std::span<double const>(scores));
  EXPECT_EQ(adaptive_temperature{}.inverse_temperature(row), 1);
  softmax(std::span(scores), row, held.inverse_temperature(row));
  auto const expected =
      1 / (1 + 1023 * std::exp(-3 * golden::adaptive_peak_beta));  // 0.58, and 0.019 without
  EXPECT_NEAR(scores[5], expected,
              tolerance::of_weight<double>(expected, 8, 1024) +
                  tolerance::of_weight_by_scores(
                      expected, 3 * tolerance_of_beta(golden::adaptive_peak_entropy)));
}

TEST(adaptive_temperature, ones_own_polynomial_counts_where_it_exceeds_1_and_the_entropy_its_gate) {
  adaptive_temperature const own{.coefficients = {0, 0, 0, 0.5, 0}};
  auto const beta = [&](double entropy) { return own.inverse_temperature({.entropy = entropy}); };
  EXPECT_EQ(beta(5), 2.5);
  EXPECT_EQ(beta(1), 1);
  adaptive_temperature const always{.coefficients = {0, 0, 0, 0, 3}};
  EXPECT_EQ(always.inverse_temperature({.entropy = 0.5}), 1);
  EXPECT_EQ(always.inverse_temperature({.entropy = 0.51}), 3);
}

TEST(adaptive_temperature, outside_of_its_entropies_a_polynomial_keeps_its_value_at_the_nearer) {
  std::array<double, 5> const coefficients{1, -2, 3, -4, 5};  // made when the program runs
  adaptive_temperature const own{coefficients, 2, 3};
  for (double const entropy : {-1.0, 0.0, 1.5, 2.0})
    EXPECT_EQ(own.polynomial(entropy), 16 - 16 + 12 - 8 + 5) << entropy;
  EXPECT_EQ(own.polynomial(2.5), 39.0625 - 31.25 + 18.75 - 10 + 5);
  for (double const entropy : {3.0, 3.5, 1e9})
    EXPECT_EQ(own.polynomial(entropy), 81 - 54 + 27 - 12 + 5) << entropy;
  EXPECT_EQ(own.inverse_temperature({.entropy = 1}), 9);
  EXPECT_EQ(own.inverse_temperature({.entropy = 0.5}), 1);
}

TEST(adaptive_temperature, can_be_known_at_compile_time) {
  static_assert(adaptive_temperature{}.inverse_temperature({.entropy = 2.0}) > 2.0);
  static_assert(adaptive_temperature{}.inverse_temperature({}) == 1);
  static_assert(
      adaptive_temperature{.highest = adaptive_temperature::entropy_of_maximum}.inverse_temperature(
          {.entropy = 9.0}) > 2.4);
}

TEST(adaptive_temperature, obeys_the_laws_of_its_site) {
  laws::obey("as published", adaptive_temperature{}, laws::never_flattens);
  laws::obey("held", adaptive_temperature{.highest = adaptive_temperature::entropy_of_maximum},
             laws::never_flattens);
  laws::obey("twice", scheme(adaptive_temperature{}, nope(), scheme(adaptive_temperature{})),
             laws::never_flattens);
}

}  // namespace
