#include "posenc/analysis/positional_budget.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "golden/positional_budget.hpp"
#include "non_numbers.hpp"
#include "oracle/gaussian.hpp"
#include "oracle/rotary.hpp"
#include "oracle/softmax.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

TEST(positional_budget, has_the_known_values) {
  auto const f = geometric(128, 1e4);
  for (std::size_t const length : {512u, 8192u}) {
    auto const found = positional_budget(f, length, 0.99);
    ASSERT_EQ(found.by_pairs.size(), 64u);
    for (auto const& known : golden::needed_scores) {
      if (known.length != length) continue;
      EXPECT_EQ(found.by_pairs[known.pairs - 1].pairs, known.pairs);
      EXPECT_NEAR(found.by_pairs[known.pairs - 1].score.value(), known.score, known.tolerance)
          << known.pairs << " pairs, " << length;
    }
    EXPECT_EQ(found.cheapest, length == 512 ? 7u : 9u);
    EXPECT_EQ(found.score, found.by_pairs[found.cheapest - 1].score);
    EXPECT_EQ(found.by_pairs[0].runner_up, length == 512 ? 333u : 710u);
  }
}

/// The weight of `distance` by the definition, from the cosines of the oracle.
double weight_of(frequencies const& f, std::size_t pairs, std::size_t length, std::size_t distance,
                 double score) {
  std::vector<double> scores;
  for (std::size_t s = 0; s < length; ++s) {
    auto const apart = static_cast<oracle::wide>(s) - static_cast<oracle::wide>(distance);
    scores.push_back(oracle::all_ones_kernel(apart, f.inv_freq().first(pairs)));
  }
  return oracle::softmax(scores, score)[distance];
}

TEST(positional_budget, gives_the_weight_at_any_distance) {
  auto const f = geometric(32, 1e4);
  for (std::size_t const distance : {0u, 1u, 30u, 99u}) {
    for (double const weight : {0.5, 0.9, 0.99}) {
      auto const found = positional_budget(f, 100, weight, distance);
      for (auto const& [pairs, score, runner_up] : found.by_pairs) {
        ASSERT_TRUE(score.has_value());
        EXPECT_GE(*score, found.score);
        // Cosines of the oracle are rounded to double.
        EXPECT_NEAR(weight_of(f, pairs, 100, distance, *score), weight,
                    tolerance::of_weight_by_scores(weight, *score * (1e-12 + 0x1p-52)))
            << pairs << " pairs, distance " << distance;
        auto const less = weight_of(f, pairs, 100, distance, 0.99 * *score);
        EXPECT_LT(less, weight);
      }
    }
  }
}

TEST(positional_budget, costs_more_at_distances_with_neighbours_on_both_sides) {
  auto const f = geometric(128, 1e4);
  auto const diagonal = positional_budget(f, 512, 0.99),
             previous = positional_budget(f, 512, 0.99, 1),
             middle = positional_budget(f, 512, 0.99, 256);
  EXPECT_GT(previous.score, diagonal.score);
  EXPECT_GT(middle.score, diagonal.score);
}

TEST(positional_budget, takes_the_fastest_pairs_in_any_order_and_leaves_those_that_stand_still) {
  auto const ordered = positional_budget(frequencies({1, 0.5, 0.25}), 50, 0.9),
             shuffled = positional_budget(frequencies({0.25, 0, 1, 0, 0.5}), 50, 0.9);
  ASSERT_EQ(shuffled.by_pairs.size(), 3u);
  for (std::size_t m = 0; m < 3; ++m)
    EXPECT_EQ(shuffled.by_pairs[m].score, ordered.by_pairs[m].score);
  EXPECT_EQ(positional_budget(truncated(geometric(128, 1e4), 0.25), 8192, 0.99).score,
            positional_budget(geometric(128, 1e4), 8192, 0.99).score);
}

TEST(positional_budget, is_none_for_pairs_that_return) {
  // A turn in 8 tokens, and one in 3.
  auto const f = frequencies({2.0943951023931953, 0.78539816339744828});
  auto const found = positional_budget(f, 12, 0.99);
  EXPECT_FALSE(found.by_pairs[0].score.has_value() && *found.by_pairs[0].score < 1e20);
  EXPECT_EQ(found.cheapest, 2u);
  EXPECT_NEAR(found.score, 31.377544920508445, 1e-10) << "by bisection, in Python";
}

TEST(near_recurrences, of_one_radian_are_the_known_ones) {
  // |r - 2 pi n|, with 40 digits
  std::vector<std::pair<std::size_t, double>> const known{{1, 1},
                                                          {6, 0.28318530717958647},
                                                          {19, 0.15044407846124057},
                                                          {25, 0.13274122871834590},
                                                          {44, 0.017702849742894661},
                                                          {333, 0.0088212805180832770},
                                                          {710, 6.0288706728107e-05}};
  auto const found = near_recurrences(1, 1000);
  ASSERT_EQ(found.size(), known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    EXPECT_EQ(found[i].distance, known[i].first);
    EXPECT_NEAR(found[i].angle, known[i].second, 1e-15) << known[i].first;
  }
  EXPECT_EQ(near_recurrences(1, 103'994).back().distance, 103'993u);
  EXPECT_EQ(near_recurrences(1, 103'993).back().distance, 710u);
}

TEST(near_recurrences, are_records) {
  auto const f = geometric(128, 1e4);
  auto const found = near_recurrences(f.inv_freq()[1], 5000);
  std::size_t next = 0;
  oracle::wide closest = 4;
  for (std::size_t r = 1; r < 5000; ++r) {
    auto const angle = static_cast<oracle::wide>(r) * f.inv_freq()[1] / (2 * oracle::pi);
    auto const apart = 2 * oracle::pi * oracle::abs(angle - oracle::round(angle));
    if (apart >= closest) continue;
    closest = apart;
    ASSERT_LT(next, found.size());
    EXPECT_EQ(found[next].distance, r);
    EXPECT_NEAR(found[next++].angle, static_cast<double>(apart), 1e-14);
  }
  EXPECT_EQ(next, found.size());
}

TEST(positional_budget, bad_input_is_rejected) {
  auto const f = geometric(4, 100);
  EXPECT_EQ(message_of([&] { positional_budget(f, 1, 0.9); }),
            "posenc: positional_budget: length must be at least 2, got 1");
  EXPECT_EQ(message_of([&] { positional_budget(f, 8, 0.9, 8); }),
            "posenc: positional_budget: distance must be below the length 8, got 8");
  for (double const weight : {0.0, 1.0, -1.0, not_a_number(), infinity()}) {
    EXPECT_EQ(message_of([&] {
                positional_budget(f, 8, weight);
              }).find("posenc: positional_budget: weight must be in (0, 1), got "),
              0u);
  }
  EXPECT_EQ(message_of([&] { positional_budget(truncated(f, 0), 8, 0.9); }),
            "posenc: positional_budget: a frequency must be above 0, got none");
  EXPECT_EQ(message_of([] { positional_budget(frequencies({1e-300}), 8, 0.9); }),
            "posenc: positional_budget: some score must give the weight 0.9, got frequencies that "
            "return to distance 0 within 8 tokens");
  EXPECT_EQ(message_of([] { near_recurrences(0, 10); }),
            "posenc: near_recurrences: inv_freq must be in (0, 2^64], got 0");
  EXPECT_EQ(message_of([] { near_recurrences(not_a_number(), 10); }),
            "posenc: near_recurrences: inv_freq must be in (0, 2^64], got NaN");
}

}  // namespace
