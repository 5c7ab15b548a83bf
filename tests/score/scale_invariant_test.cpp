#include "posenc/score/scale_invariant.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/score_biases.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "rejects.hpp"
#include "score/rows.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

constexpr auto u = tolerance::unit_roundoff<double>();

/// A logarithm within 8 roundings, of a quotient; 1 + 2 of it; its root, halving all; and a product
/// and a sum.
template <class T>
double tolerance_of(double slope, double score) {
  auto const arithmetic = (14 * slope * std::abs(score) + 16 * slope * slope) * u;
  return arithmetic + tolerance::of_storing<T>(slope * std::abs(score) + slope * slope);
}

// Attention computes such rows in parts.
static_assert(adjusts_each_score<scheme<scale_invariant, alibi>> && !adds_bias<scale_invariant>);

TEST(scale_invariant, multiplies_by_a_and_adds_m) {
  numbers::in_float_and_double([&]<class T>() {
    auto const scores = numbers::random<T>(rows::keys.size(), 7);
    for (double const tau : {10.0, 0.01, 1e-9, 1e18}) {
      for (std::int64_t const query : {std::int64_t{40}, rows::first, rows::last}) {
        auto const actual = rows::adjusted(scale_invariant(tau), scores, 0, query, rows::keys);
        for (std::size_t s = 0; s < scores.size(); ++s) {
          auto const r = oracle::distance_between(query, rows::keys[s]);
          auto const score = static_cast<double>(scores[s]);
          EXPECT_NEAR(
              static_cast<double>(actual[s]),
              static_cast<double>(
                  oracle::scale_invariant_score(tau, r, static_cast<oracle::real>(scores[s]))),
              tolerance_of<T>(static_cast<double>(oracle::scale_invariant_slope(tau, r)), score))
              << tau << ", key " << rows::keys[s] << " at " << query;
        }
      }
    }
  });
}

// At r = tau (e - 1) the logarithm is 1, at r = tau (e^4 - 1) it is 4: a = sqrt(3) and 3.
TEST(scale_invariant, has_the_known_values) {
  auto const at = [](double tau, double score) {
    return rows::adjusted(scale_invariant(tau), std::vector{score}, 0, 0, {-1})[0];
  };
  auto const e = std::numbers::e;
  EXPECT_NEAR(at(1 / (e - 1), 1), std::numbers::sqrt3 - 2, 40 * u);
  EXPECT_NEAR(at(1 / (std::pow(e, 4) - 1), -2), -6 - 8, 400 * u);
  EXPECT_EQ(at(1e18, 5), 5) << "within tau scores hardly change";
}

/// The paper's two conditions: over normal scores, E[w] and E[w ln w] are e^(1/2) / (1 + r / tau).
/// The integrals by the trapezoid rule, whose error is far below a rounding for a Gaussian at this
/// step; it is centred at x = a, where e^(a x - x^2 / 2) is.
TEST(scale_invariant, gives_every_distance_the_total_attention_and_the_sparsity_of_the_paper) {
  double const tau = 10, step = 1.0 / 16;
  for (std::int64_t const r : {0, 1, 10, 1000, 1'000'000, 1'000'000'000}) {
    auto const a =
        static_cast<double>(oracle::scale_invariant_slope(tau, static_cast<oracle::real>(r)));
    std::vector<double> x;
    for (int i = -320; i <= 320; ++i) x.push_back(std::round(a) + step * i);
    auto const scores =
        rows::adjusted(scale_invariant(tau), x, 0, r, std::vector<std::int64_t>(x.size(), 0));
    double attention = 0, sparsity = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto const density = step * std::exp(-x[i] * x[i] / 2) / std::sqrt(2 * std::numbers::pi);
      attention += density * std::exp(scores[i]);
      sparsity += density * scores[i] * std::exp(scores[i]);
    }
    auto const expected = std::exp(0.5) / (1 + static_cast<double>(r) / tau);
    // Of an exponential the error is that of its exponent, of which a x and x^2 are up to a
    // thousand; the sums cancel less than that again.
    EXPECT_NEAR(attention, expected, expected * 4000 * u) << r;
    EXPECT_NEAR(sparsity, expected, expected * 100'000 * u) << r;
  }
}

/// What follows, and names it: keys from r to c r away have, all together, e^(1/2) tau ln c.
TEST(scale_invariant, gives_every_scale_of_distances_as_much_attention_as_any) {
  double const tau = 10;
  for (std::int64_t const from : {500, 20'000}) {
    std::vector<std::int64_t> keys;
    for (std::int64_t r = from; r < 3 * from; ++r) keys.push_back(-r);
    auto const at = [&](double score) {
      return rows::adjusted(scale_invariant(tau), std::vector(keys.size(), score), 0, 0, keys);
    };
    auto const offsets = at(0), ones = at(1);
    double sum = 0;
    for (std::size_t s = 0; s < keys.size(); ++s) {
      auto const slope = ones[s] - offsets[s];
      sum += std::exp(offsets[s] + slope * slope / 2);  // E[e^(slope x + offset)]
    }
    auto const all = std::exp(0.5) * tau * std::log(3.0);
    EXPECT_NEAR(sum, all, all * 2 * tau / static_cast<double>(from)) << from;
  }
}

TEST(scale_invariant, leaves_masked_scores_masked_and_keeps_NaN) {
  auto const after =
      rows::adjusted(scale_invariant(3), std::vector<double>{minus_infinity(), not_a_number(), 1},
                     0, 0, {-1, -2, 0});
  EXPECT_TRUE(numbers::same_bits(std::vector{after[0], after[2]}, {minus_infinity(), 1}));
  EXPECT_FALSE(is_finite(after[1]));
}

/// Rows of any length, whose scores and positions end where memory ends (rows::adjusted).
TEST(scale_invariant, reads_no_position_beyond_the_last) {
  for (std::size_t count = 1; count < 20; ++count) {
    std::vector<std::int64_t> const keys(count, -3);
    auto const actual = rows::adjusted(scale_invariant(3), std::vector<double>(count), 0, 0, keys);
    EXPECT_TRUE(numbers::same_bits(actual, std::vector(count, actual[0]))) << count;
    EXPECT_NEAR(actual[0], -2 * std::log(2), 40 * u);
  }
}

TEST(scale_invariant, pulls_gradients_back_by_a) {
  numbers::in_float_and_double([&]<class T>() {
    auto const scores = numbers::random<T>(rows::keys.size()),
               before = numbers::random<T>(scores.size(), 2);
    auto d = before;
    scale_invariant(3).backward_scores(score_row<T const>{scores, 0, 40, rows::keys, {}},
                                       std::span<T>(d), {});
    for (std::size_t s = 0; s < scores.size(); ++s) {
      auto const slope = static_cast<double>(
          oracle::scale_invariant_slope(3, oracle::distance_between(40, rows::keys[s])));
      auto const expected = slope * static_cast<double>(before[s]);
      EXPECT_NEAR(static_cast<double>(d[s]), expected,
                  14 * u * std::abs(expected) + tolerance::of_storing<T>(expected));
    }
    EXPECT_EQ(message_of([&] {
                scale_invariant(3).backward_scores(
                    score_row<T const>{scores, 0, 40, rows::keys, {}}, std::span<T>(d).first(2),
                    {});
              }),
              "posenc: scale_invariant: there must be one gradient for each of 10 scores, got 2");
  });
}

TEST(scale_invariant, bad_input_is_refused) {
  auto const rejected = [](double tau) { return message_of([&] { scale_invariant{tau}; }); };
  EXPECT_EQ(rejected(0), "posenc: scale_invariant: tau must be in [1e-09, 1e+18], got 0");
  EXPECT_EQ(rejected(not_a_number()),
            "posenc: scale_invariant: tau must be in [1e-09, 1e+18], got NaN");
  EXPECT_EQ(rejected(infinity()),
            "posenc: scale_invariant: tau must be in [1e-09, 1e+18], got infinity");
  EXPECT_EQ(scale_invariant().tau(), 10);
  std::vector<float> scores{1, 2, 3};
  EXPECT_EQ(message_of([&] {
              scale_invariant().adjust_scores(score_row<float>{scores, 0, 0, {}, {}});
            }),
            "posenc: scale_invariant: there must be one position per key, got 0 positions for 3 "
            "keys");
  EXPECT_EQ(scores, (std::vector<float>{1, 2, 3}));
  for (std::size_t const positions : {0u, 2u, 4u}) {
    auto d = scores;
    std::vector<std::int64_t> const keys(positions);
    EXPECT_EQ(message_of([&] {
                scale_invariant().backward_scores(score_row<float const>{scores, 0, 0, keys, {}},
                                                  std::span(d), {});
              }),
              "posenc: scale_invariant: there must be one position per key, got " +
                  std::to_string(positions) + " positions for 3 keys");
    EXPECT_EQ(d, scores);
  }
}

TEST(scale_invariant, obeys_the_laws_of_its_site) {
  laws::obey("the paper's", scale_invariant(), 2, laws::of_distance | laws::none_at_zero);
}

}  // namespace
