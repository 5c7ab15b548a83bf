#include "posenc/analysis/dispersion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/softmax.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "posenc/softmax/log_n.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

constexpr auto u = tolerance::unit_roundoff<double>();

TEST(dispersion, bounds_hold_of_any_scores_and_are_attained) {
  for (std::size_t const n : {1u, 2u, 7u, 300u}) {
    for (double const spread : {0.0, 0.5, 3.0, 20.0}) {
      auto const bounds = dispersion(spread, n);
      auto const rounding = 1 + tolerance::of_weight<double>(1, spread, n);
      auto scores = numbers::random<double>(n, n);
      for (auto& score : scores) score *= spread / 2;
      auto const weights = oracle::softmax(scores);
      EXPECT_LE(std::ranges::max(weights), bounds.most * rounding);
      EXPECT_GE(std::ranges::min(weights) * rounding, bounds.least);
      EXPECT_LE(bounds.most, bounds.most_published * rounding);
      EXPECT_GE(bounds.least * rounding, bounds.least_published);

      std::vector<double> one_above(n), one_below(n);
      one_above[n / 2] = spread, one_below[n / 2] = -spread;
      auto const above = oracle::softmax(one_above)[n / 2],
                 below = oracle::softmax(one_below)[n / 2];
      EXPECT_NEAR(bounds.most, above, above * (rounding - 1)) << n << " " << spread;
      EXPECT_NEAR(bounds.least, below, below * (rounding - 1)) << n << " " << spread;
    }
  }
  EXPECT_EQ(dispersion(1e300, 5).most, 1);
  EXPECT_EQ(dispersion(1e300, 5).least, 0);
}

TEST(dispersion, published_bounds_are_those_of_the_lemma) {
  auto const bounds = dispersion(3, 1000);
  EXPECT_NEAR(bounds.most_published, std::exp(3) / 1000, 8 * u);
  EXPECT_NEAR(bounds.least_published, std::exp(-3) / 1000, u);
  EXPECT_EQ(dispersion(8, 1000).most_published, 1) << "e^8 is 2981";
}

TEST(dispersion, keys_below_are_the_known_ones) {
  // Gemma 2B's and 7B's mean spread [Velickovic 2024]: no weight of 0.01 beyond 29,590 and 33,698
  EXPECT_EQ(keys_below(0.01, 5.69).published, 29'590);
  EXPECT_EQ(keys_below(0.01, 5.82).published, 33'698);
}

TEST(dispersion, keys_below_is_the_first_number_without_the_weight) {
  for (double const weight : {0.01, 0.3, 0.9}) {
    for (double const spread : {0.0, 1.0, 5.69}) {
      auto const [keys, published] = keys_below(weight, spread);
      auto const n = static_cast<std::size_t>(keys);
      EXPECT_LT(dispersion(spread, n).most, weight);
      EXPECT_GE(dispersion(spread, n - 1).most, weight * (1 - 8 * u));
      EXPECT_LE(keys, published);
      EXPECT_LT(dispersion(spread, static_cast<std::size_t>(published)).most_published, weight);
    }
  }
}

TEST(dispersion, spread_for_a_weight_has_the_known_values) {
  EXPECT_NEAR(spread_for(0.99, 1024), 11.5256146161, 5e-11);
  EXPECT_NEAR(spread_for(0.99, 8192), 13.6059111197, 5e-11);
  EXPECT_NEAR(spread_for(0.99, 131072), 16.3786142902, 5e-11);
  for (std::size_t const n : {2u, 100u, 131072u})
    EXPECT_NEAR(dispersion(spread_for(0.7, n), n).most, 0.7, 64 * u) << n;
  EXPECT_LT(spread_for(0.1, 5), 0);
}

/// 2 ln 1024 and 20 ln 1024, ln 1024 = 10 ln 2.
TEST(dispersion, the_phase_boundary_has_the_known_values) {
  EXPECT_NEAR(phase_boundary(1024, 0.5), 13.862943611198906, 64 * u);
  EXPECT_NEAR(phase_boundary(1024, 0.95), 138.62943611198906, 3000 * u);
  EXPECT_NEAR(phase_boundary(1024, -1), 3.4657359027997265, 16 * u);
  EXPECT_EQ(phase_boundary(1, 0.5), 0);
}

// Of the weights themselves: n unit vectors of inner product rho, by softmax.
TEST(dispersion, below_the_phase_boundary_attention_takes_the_mean_and_above_it_each_token) {
  for (double const rho : {-0.001, 0.0, 0.5, 0.9}) {
    for (std::size_t const n : {16u, 1000u, 100'000u}) {
      auto const size = static_cast<double>(n);
      auto const on_itself = [&](double c) {
        std::vector<double> row(n, rho);
        row[n / 2] = 1;
        softmax(row, c * phase_boundary(n, rho));
        return row[n / 2];
      };
      // e^(beta (1 - rho)) = n^c, whose exponent of at most 35 has a few roundings.
      auto const near = [&](double c, double expected) {
        EXPECT_NEAR(on_itself(c), expected, expected * (500 + 2 * size) * u) << n << ' ' << rho;
      };
      near(1, size / (2 * size - 1));
      near(0.5, 1 / (1 + (size - 1) / std::sqrt(size)));
      near(2, size * size / (size * size + size - 1));
      near(0, 1 / size);
    }
  }
}

TEST(dispersion, the_sharpest_row_has_the_statistics_of_its_scores) {
  for (std::size_t const n : {1u, 2u, 50u, 3000u}) {
    for (double const spread : {0.0, 2.0, 15.0}) {
      std::vector<double> scores(n);
      scores[n - 1] = spread;
      auto const found = sharpest_row(spread, n), expected = statistics(scores);
      EXPECT_EQ(found.keys, n);
      EXPECT_EQ(found.max, expected.max);
      EXPECT_NEAR(found.log_sum_exp, expected.log_sum_exp, 1e-12);
      EXPECT_NEAR(found.entropy, oracle::entropy(oracle::softmax(scores)),
                  tolerance::of_entropy(expected.entropy, n) + 4 * u * spread)
          << n << " " << spread;
      EXPECT_EQ(found.query_position, static_cast<std::int64_t>(n) - 1);
    }
  }
}

TEST(dispersion, of_scores_is_that_of_their_softmax) {
  auto scores = numbers::random<double>(200, 3);
  for (auto& score : scores) score *= 4;
  auto const found = dispersion(scores, adaptive_temperature{});
  auto const weights = oracle::adaptive_softmax(scores);
  auto const [low, high] = std::ranges::minmax(scores);
  EXPECT_EQ(found.keys, 200u);
  EXPECT_EQ(found.spread, high - low);
  EXPECT_NEAR(found.entropy, oracle::entropy(oracle::softmax(scores)), 1e-12);
  EXPECT_GT(found.inverse_temperature, 1);
  // The published beta has its entropy with 1e-9 in it: up to 3e-9 of beta for each key.
  auto const error = 2 * found.spread * 3e-9 * 200;
  EXPECT_NEAR(found.largest, std::ranges::max(weights), error);
  EXPECT_NEAR(found.smallest, std::ranges::min(weights), error);
  EXPECT_NEAR(found.sharpened_entropy, oracle::entropy(weights), 10 * error);
  EXPECT_LT(found.sharpened_entropy, found.entropy);
  EXPECT_LE(found.largest, found.bounds.most);
  EXPECT_GE(found.smallest, found.bounds.least);
  auto const expected = dispersion(found.inverse_temperature * found.spread, 200);
  EXPECT_EQ(found.bounds.most, expected.most);
}

TEST(dispersion, masked_keys_do_not_count) {
  std::vector<float> const scores{1, masked_score<float>, 3, masked_score<float>, 0};
  auto const found = dispersion(scores, alibi(4));  // which does not act on softmax
  EXPECT_EQ(found.keys, 3u);
  EXPECT_EQ(found.spread, 3);
  EXPECT_EQ(found.inverse_temperature, 1);
  EXPECT_NEAR(found.largest, oracle::softmax(std::vector<double>{1, 3, 0})[1], 8 * u);
}

TEST(dispersion, of_a_spread_is_that_of_its_sharpest_row) {
  for (std::size_t const n : {1u, 2u, 16u, 1000u}) {
    std::vector<double> scores(n);
    scores[0] = 3;
    auto const same = [&](auto const& rule) {
      auto const found = dispersion(n == 1 ? 0 : 3, n, rule),
                 row = dispersion(scores, rule, 0, static_cast<std::int64_t>(n) - 1);
      EXPECT_EQ(found.keys, row.keys);
      EXPECT_EQ(found.spread, row.spread);
      EXPECT_NEAR(found.entropy, row.entropy, 1e-12);
      EXPECT_NEAR(found.inverse_temperature, row.inverse_temperature, 1e-11);
      EXPECT_NEAR(found.largest, row.largest, 1e-10);
      EXPECT_NEAR(found.smallest, row.smallest, 1e-10);
      EXPECT_NEAR(found.sharpened_entropy, row.sharpened_entropy, 1e-9);
      EXPECT_NEAR(found.bounds.most, row.bounds.most, 1e-10);
    };
    same(adaptive_temperature{});
    same(ssmax({0.43}));
    same(log_n(64));
    same(constant_temperature(0.5));
  }
}

TEST(dispersion, of_ssmax_and_softmax_has_the_known_weights) {
  // A key 3 above n - 1 others.
  EXPECT_NEAR(dispersion(3, 16, ssmax({0.43})).largest, 0.7045, 5e-5);
  EXPECT_NEAR(dispersion(3, 1024, ssmax({0.43})).largest, 0.8820, 5e-5);
  EXPECT_NEAR(dispersion(3, 131072, ssmax({0.43})).largest, 0.9682, 5e-5);
  EXPECT_NEAR(dispersion(3, 16, constant_temperature(1)).largest, 0.5725, 5e-5);
  EXPECT_NEAR(dispersion(3, 1024, constant_temperature(1)).largest, 0.0193, 5e-5);
  EXPECT_NEAR(dispersion(3, 131072, constant_temperature(1)).largest, 0.00015, 5e-6);
}

TEST(dispersion, adaptive_temperature_sharpens_between_the_known_entropies) {
  auto const published = sharpens_between();
  EXPECT_NEAR(published.below, 0.848581996009869, 1e-13);
  EXPECT_NEAR(published.above.value(), 5.94452082790514, 1e-13);
  auto const held = sharpens_between({.highest = adaptive_temperature::entropy_of_maximum});
  EXPECT_NEAR(held.below, 0.848581996009869, 1e-13);
  EXPECT_EQ(held.above, std::nullopt);
  EXPECT_EQ(sharpens_between({.coefficients = {0, 0, 0, 0, 2}}).below, 0.5) << "the gate";
}

TEST(dispersion, adaptive_temperature_switches_itself_off) {
  // Uniform rows: e^5.94452 = 381.656.
  EXPECT_EQ(switches_off(adaptive_temperature{}, 0), 382u);
  EXPECT_NEAR(adaptive_temperature{}.polynomial(std::log(381.0)), 1.0043427618, 5e-11);
  EXPECT_NEAR(dispersion(0, 381, adaptive_temperature{}).inverse_temperature, 1.0043427618,
              3 * 381e-9)
      << "P' is -2.5, and 1e-9 a key is subtracted";
  EXPECT_EQ(dispersion(0, 382, adaptive_temperature{}).inverse_temperature, 1);
  auto const row = dispersion(3, 1024, adaptive_temperature{});
  EXPECT_NEAR(row.entropy, 6.8922, 5e-5);
  EXPECT_EQ(row.inverse_temperature, 1);
  for (double const spread : {0.0, 3.0, 5.69}) {
    auto const off = switches_off(adaptive_temperature{}, spread).value();
    EXPECT_EQ(dispersion(spread, off, adaptive_temperature{}).inverse_temperature, 1);
    EXPECT_GT(dispersion(spread, off - 1, adaptive_temperature{}).inverse_temperature, 1);
    EXPECT_LT(sharpest_row(spread, off - 1).entropy, 5.94453);
    EXPECT_GT(sharpest_row(spread, off).entropy, 5.94452);
  }
}

TEST(dispersion, other_rules_never_switch_off) {
  EXPECT_EQ(switches_off(ssmax_without_scale{}, 3), std::nullopt);
  EXPECT_EQ(
      switches_off(adaptive_temperature{.highest = adaptive_temperature::entropy_of_maximum}, 3),
      std::nullopt);
  EXPECT_EQ(switches_off(constant_temperature(2), 3), std::nullopt);
  EXPECT_EQ(switches_off(constant_temperature(1), 3), std::nullopt) << "it never sharpens";
}

TEST(dispersion, bad_input_is_rejected) {
  EXPECT_EQ(message_of([] { dispersion(-1, 5); }),
            "posenc: dispersion: spread must be finite and at least 0, got -1");
  EXPECT_EQ(message_of([] { dispersion(infinity(), 5); }),
            "posenc: dispersion: spread must be finite and at least 0, got infinity");
  EXPECT_EQ(message_of([] { phase_boundary(0, 0.5); }),
            "posenc: phase_boundary: there must be a key, got none");
  EXPECT_EQ(message_of([] { phase_boundary(5, 1); }),
            "posenc: phase_boundary: similarity must be in [-1, 1), got 1");
  EXPECT_EQ(message_of([] { phase_boundary(5, not_a_number()); }),
            "posenc: phase_boundary: similarity must be in [-1, 1), got NaN");
  EXPECT_EQ(message_of([] { dispersion(1, 0); }),
            "posenc: dispersion: there must be a key, got none");
  EXPECT_EQ(message_of([] { sharpest_row(not_a_number(), 3); }),
            "posenc: sharpest_row: spread must be finite and at least 0, got NaN");
  EXPECT_EQ(message_of([] { dispersion(1, 0, adaptive_temperature{}); }),
            "posenc: sharpest_row: there must be a key, got none");
  EXPECT_EQ(message_of([] { keys_below(0, 3); }),
            "posenc: keys_below: weight must be in (0, 1), got 0");
  EXPECT_EQ(message_of([] { keys_below(0.1, 701); }),
            "posenc: keys_below: spread must be in [0, 700], got 701");
  EXPECT_EQ(message_of([] { spread_for(1, 3); }),
            "posenc: spread_for: weight must be in (0, 1), got 1");
  EXPECT_EQ(message_of([] { spread_for(0.5, 1); }),
            "posenc: spread_for: there must be at least 2 keys, got 1");
  EXPECT_EQ(message_of([] { dispersion(std::vector<float>(3, masked_score<float>), alibi(1)); }),
            "posenc: dispersion: a key must not be masked, got none of 3");
  EXPECT_EQ(message_of([] {
              dispersion(std::vector{1.0, not_a_number()}, alibi(1));
            }),
            "posenc: dispersion: scores must be finite or masked, got NaN at key 1");
  EXPECT_EQ(
      message_of([] {
        sharpens_between({.coefficients = {0, 0, 0, 0, 1}});
      }),
      "posenc: sharpens_between: the polynomial must exceed 1 at 4.41240186596567 nats, got 1");
}

}  // namespace
