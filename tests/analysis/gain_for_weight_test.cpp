#include "posenc/analysis/gain_for_weight.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/wide.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using oracle::wide;

/// By bisection, of the definition: what is left to the others falls as the gain grows.
double gain_by_bisection(std::vector<double> const& scores, std::size_t target, double weight) {
  auto const is_enough = [&](wide gain) {
    wide others = 0;
    for (std::size_t s = 0; s < scores.size(); ++s)
      if (s != target)
        others += oracle::exp(gain * (static_cast<wide>(scores[s]) - scores[target]));
    return others <= (1 - static_cast<wide>(weight)) / weight;
  };
  wide low = 0, high = 1;
  while (!is_enough(high)) high = high * 2;
  for (int i = 0; i < 70; ++i) {
    auto const middle = (low + high) / 2;
    (is_enough(middle) ? high : low) = middle;
  }
  return static_cast<double>(high);
}

TEST(gain_for_weight, of_two_keys_is_the_logit_of_the_weight) {
  EXPECT_NEAR(gain_for_weight({3, 1}, 0, 0.9).value(), std::log(9.0) / 2, 1e-14);
  EXPECT_NEAR(gain_for_weight({1, 3}, 1, 0.75).value(), std::log(3.0) / 2, 1e-14);
}

TEST(gain_for_weight, of_equal_others_is_the_law_of_log_n) {
  // delta >= ln((n - 1)(1 - eps) / eps) [Velickovic 2024, Lemma 2.1, solved for it]
  for (std::size_t const n : {2u, 16u, 1024u, 8192u}) {
    std::vector<double> scores(n);
    scores[n / 2] = 1;
    EXPECT_NEAR(gain_for_weight(scores, n / 2, 0.99).value(),
                std::log(static_cast<double>(n - 1) * 99), 1e-12)
        << n;
  }
}

TEST(gain_for_weight, is_what_a_bisection_finds) {
  for (std::uint64_t const seed : {1u, 2u, 3u, 4u}) {
    auto scores = numbers::random<double>(200, seed);
    scores[17] = 1 + 1e-3 * static_cast<double>(seed);
    for (double const weight : {0.006, 0.5, 0.99, 1 - 1e-9}) {
      auto const expected = gain_by_bisection(scores, 17, weight);
      EXPECT_NEAR(gain_for_weight(scores, 17, weight).value(), expected, 1e-12 * expected)
          << seed << " " << weight;
    }
  }
}

TEST(gain_for_weight, finds_gains_of_any_size) {
  for (double const least : {1e-18, 1e-9, 1e-3, 1e6}) {
    std::vector<double> const scores{0, -least, -3, -1, -2};
    auto const expected = gain_by_bisection(scores, 0, 0.9);
    EXPECT_NEAR(gain_for_weight(scores, 0, 0.9).value(), expected, 1e-12 * expected) << least;
  }
}

TEST(gain_for_weight, is_0_where_even_weights_are_enough) {
  EXPECT_EQ(gain_for_weight({1}, 0, 0.999), 0);
  EXPECT_EQ(gain_for_weight({1, 2, 3, 4}, 0, 0.25), 0) << "though the target is the lowest";
  EXPECT_GT(gain_for_weight({4, 2, 3, 1}, 0, 0.26), 0);
}

TEST(gain_for_weight, is_none_where_another_key_keeps_the_weight) {
  EXPECT_EQ(gain_for_weight({1, 2, 3}, 1, 0.4), std::nullopt);
  EXPECT_EQ(gain_for_weight({2, 2, 1}, 0, 0.5), std::nullopt) << "approached, never reached";
  EXPECT_EQ(gain_for_weight({2, 2, 1}, 0, 0.6), std::nullopt);
  EXPECT_NEAR(gain_for_weight({2, 2, 1}, 0, 0.45).value(), std::log(4.5), 1e-14);
}

TEST(gain_for_weight, bad_input_is_rejected) {
  EXPECT_EQ(message_of([] {
              gain_for_weight({1, 2}, 2, 0.5);
            }),
            "posenc: gain_for_weight: the target must be one of the 2 scores, got 2");
  EXPECT_EQ(message_of([] {
              gain_for_weight({1, 2}, 0, 1);
            }),
            "posenc: gain_for_weight: weight must be in (0, 1), got 1");
  EXPECT_EQ(message_of([] {
              gain_for_weight({1, 2}, 0, 0);
            }),
            "posenc: gain_for_weight: weight must be in (0, 1), got 0");
  EXPECT_EQ(message_of([] {
              gain_for_weight({1, 2}, 0, not_a_number());
            }),
            "posenc: gain_for_weight: weight must be in (0, 1), got NaN");
  EXPECT_EQ(message_of([] {
              gain_for_weight({1, minus_infinity()}, 0, 0.5);
            }),
            "posenc: gain_for_weight: scores must be finite, got -infinity at key 1");
}

}  // namespace
