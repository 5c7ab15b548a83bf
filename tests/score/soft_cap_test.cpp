#include "posenc/score/soft_cap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/cope.hpp"
#include "rejects.hpp"
#include "score/rows.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

template <class T>
std::vector<T> capped(double cap, std::vector<T> const& scores) {
  return rows::adjusted(soft_cap(cap), scores, 0, 0, std::vector<std::int64_t>(scores.size()));
}

/// A quotient of two roundings, of which tanh tells at most its own relative error; tanh within 4
/// ULP; the product.
template <class T>
double tolerance_of(double expected) {
  return tolerance::of_storing<T>(std::abs(expected) *
                                  (1 + 12 * tolerance::unit_roundoff<double>())) +
         12 * tolerance::unit_roundoff<double>() * std::abs(expected);
}

// Attention computes such rows in parts.
static_assert(posenc::adjusts_each_score<posenc::scheme<posenc::soft_cap, posenc::alibi>> &&
              !posenc::adjusts_each_score<posenc::scheme<posenc::soft_cap, posenc::cope>>);

TEST(soft_cap, is_the_cap_times_the_hyperbolic_tangent) {
  numbers::in_float_and_double([&]<class T>() {
    for (double const cap : {50.0, 30.0, 0.3, 1e6}) {
      std::vector<T> scores{0, 1, -1, 50, -50, 100, -1000, T(1e-30), T(-1e-5), T(3e38)};
      for (auto const x : numbers::random<T>(100)) scores.push_back(x * T(cap) * 3);
      auto const actual = capped(cap, scores);
      for (std::size_t s = 0; s < scores.size(); ++s) {
        auto const x = static_cast<oracle::wide>(scores[s]), c = static_cast<oracle::wide>(cap);
        auto const expected = static_cast<double>(c * oracle::tanh(x / c));
        EXPECT_NEAR(static_cast<double>(actual[s]), expected, tolerance_of<T>(expected))
            << cap << " of " << scores[s];
      }
    }
  });
}

// 50 tanh(1) and 50 tanh(2), tanh as in Abramowitz and Stegun, table 4.15. Gemma 2's
// attn_logit_softcapping is 50.
TEST(soft_cap, has_the_known_values) {
  auto const actual = capped<double>(50, {50, 100, -100});
  EXPECT_NEAR(actual[0], 50 * 0.7615941559557649, tolerance_of<double>(40));
  EXPECT_NEAR(actual[1], 50 * 0.9640275800758169, tolerance_of<double>(50));
  EXPECT_NEAR(actual[2], -50 * 0.9640275800758169, tolerance_of<double>(50));
}

TEST(soft_cap, keeps_the_order_of_scores_and_no_score_gets_beyond_the_cap) {
  std::vector<float> scores;
  for (int i = -2000; i <= 2000; ++i) scores.push_back(static_cast<float>(i) * 0.1f);
  auto const actual = capped(50, scores);
  for (std::size_t s = 0; s < scores.size(); ++s) {
    EXPECT_LE(std::abs(actual[s]), 50.0f);
    EXPECT_LE(std::abs(actual[s]), std::abs(scores[s]));
    EXPECT_EQ(actual[s] < 0, scores[s] < 0);
    if (s > 0) {
      EXPECT_LE(actual[s - 1], actual[s]) << scores[s];
    }
  }
}

TEST(soft_cap, leaves_what_is_no_number_as_it_is) {
  std::vector<double> const scores{minus_infinity(), not_a_number(), infinity(), 0};
  EXPECT_TRUE(numbers::same_bits(capped(50, scores), scores));
}

/// The slope 1 / cosh^2(x / cap), by a quotient of two roundings that tells 2 |x| / cap times, an
/// exponential and a few products.
TEST(soft_cap, pulls_gradients_back_by_its_slope) {
  numbers::in_float_and_double([&]<class T>() {
    for (double const cap : {50.0, 0.3}) {
      std::vector<T> scores{0, 1, -1, 50, -50, 100, -1000, T(1e-30)};
      for (auto const x : numbers::random<T>(50)) scores.push_back(x * T(cap) * 3);
      auto const before = numbers::random<T>(scores.size(), 2);
      auto d = before;
      std::vector<std::int64_t> const at(scores.size());
      soft_cap(cap).backward_scores(score_row<T const>{scores, 0, 0, at, {}}, std::span<T>(d), {});
      for (std::size_t s = 0; s < scores.size(); ++s) {
        auto const x = static_cast<oracle::wide>(scores[s]) / static_cast<oracle::wide>(cap);
        auto const expected = static_cast<double>(static_cast<oracle::wide>(before[s]) /
                                                  (oracle::cosh(x) * oracle::cosh(x)));
        auto const relative =
            (20 + 8 * std::abs(static_cast<double>(x))) * tolerance::unit_roundoff<double>();
        EXPECT_NEAR(
            static_cast<double>(d[s]), expected,
            std::abs(expected) * relative + tolerance::of_storing<T>(expected * (1 + relative)))
            << cap << " of " << scores[s];
      }
    }
  });
}

TEST(soft_cap, pulls_gradients_back_as_they_are_where_it_leaves_scores_as_they_are) {
  std::vector<double> const scores{minus_infinity(), not_a_number(), infinity()}, at_all{1, 2, 3};
  std::vector<std::int64_t> const at(3);
  auto d = at_all;
  soft_cap(50).backward_scores(score_row<double const>{scores, 0, 0, at, {}}, std::span(d), {});
  EXPECT_EQ(d, at_all);
  EXPECT_EQ(message_of([&] {
              soft_cap(50).backward_scores(score_row<double const>{scores, 0, 0, at, {}},
                                           std::span(d).first(2), {});
            }),
            "posenc: soft_cap: there must be one gradient for each of 3 scores, got 2");
  EXPECT_EQ(d, at_all);
}

TEST(soft_cap, a_cap_that_is_none_is_refused) {
  auto const rejected = [](double cap) { return message_of([&] { return soft_cap(cap); }); };
  EXPECT_EQ(rejected(0), "posenc: soft_cap: cap must be finite and positive, got 0");
  EXPECT_EQ(rejected(-50), "posenc: soft_cap: cap must be finite and positive, got -50");
  EXPECT_EQ(rejected(infinity()),
            "posenc: soft_cap: cap must be finite and positive, got infinity");
  EXPECT_EQ(rejected(not_a_number()), "posenc: soft_cap: cap must be finite and positive, got NaN");
  EXPECT_EQ(soft_cap(30).cap(), 30);
}

TEST(soft_cap, obeys_the_laws_of_its_site) {
  laws::obey("2 heads", soft_cap(0.5), 2, laws::of_distance);
}

}  // namespace
