#include "posenc/analysis/position_slack.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "non_numbers.hpp"
#include "oracle/angle.hpp"
#include "posenc/analysis/rope_decay.hpp"
#include "posenc/analysis/score_by_frequency.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

/// 1 for the slowest pairs, 0 for the others.
std::vector<double> of_the_slowest(std::size_t used, std::size_t pairs) {
  std::vector<double> budgets(pairs);
  std::fill(budgets.end() - static_cast<std::ptrdiff_t>(used), budgets.end(), 1.0);
  return budgets;
}

double score(std::vector<double> const& q, std::vector<double> const& k, frequencies const& f,
             std::int64_t distance) {
  return score_by_frequency<halves>(q, k, f, distance).score;
}

TEST(position_slack, changes_stay_below_the_largest_and_reach_it_at_any_distance) {
  frequencies const f({0.9, 0.31, 0.02, 1e-4, 0}, 1.5);
  std::vector<double> const norms{1, 0.5, 2, 3, 1};  // of q; those of k are 1
  std::vector<double> budgets;
  for (auto const n : norms) budgets.push_back(1.5 * 1.5 * n);
  std::mt19937_64 bits(7);
  std::uniform_real_distribution<double> turn(0, 2 * std::numbers::pi);
  auto const at_phases = [&](auto const& phase) {  // (xu + yv, xv - yu) = |q| (cos, sin) of it
    std::vector<double> k(10);
    for (std::size_t i = 0; i < 5; ++i) k[i] = std::cos(phase(i)), k[i + 5] = std::sin(phase(i));
    return k;
  };
  std::vector<double> q(10);
  std::copy(norms.begin(), norms.end(), q.begin());
  for (std::int64_t const tokens : {1, 3, 7, 40}) {  // from 4 on, pair 0 could turn further back
    auto const most = detail::largest_change(f, budgets, static_cast<double>(tokens));
    for (std::int64_t const r : {0, 12, 100'000}) {
      for (int draw = 0; draw < 300; ++draw) {
        std::vector<double> phases(5);
        for (auto& p : phases) p = turn(bits);
        auto const k = at_phases([&](std::size_t i) { return phases[i]; });
        EXPECT_LE(std::abs(score(q, k, f, r + tokens) - score(q, k, f, r)), most + 1e-12);
      }
      // Half way of the move, each pair passes the point where its score changes fastest.
      auto const worst = at_phases([&](std::size_t i) {
        auto const middle = static_cast<double>(r) + static_cast<double>(tokens) / 2;
        return middle * f.inv_freq()[i] - std::numbers::pi / 2;
      });
      auto const change = std::abs(score(q, worst, f, r + tokens) - score(q, worst, f, r));
      if (tokens < 4) {
        EXPECT_NEAR(change, most, 1e-10) << tokens << " " << r;
      }
    }
  }
}

TEST(position_slack, is_the_last_distance_of_the_oracle) {
  auto const f = truncated(geometric(32, 1e4), 0.9);
  for (double const share : {0.1, 0.5, 1.1}) {
    for (std::size_t const used : {16u, 8u, 3u}) {
      auto const budgets = of_the_slowest(used, 16);
      auto const changes_less = [&](std::int64_t tokens) {
        oracle::wide sum = 0;
        for (std::size_t i = 16 - used; i < 16; ++i) {
          auto const angle = static_cast<oracle::wide>(tokens) * oracle::wide(f.inv_freq()[i]);
          sum += angle < oracle::pi ? 2 * oracle::direction_at(tokens, f.inv_freq()[i] / 2).sin
                                    : oracle::wide(2);
        }
        return static_cast<double>(sum) <= share * static_cast<double>(used);
      };
      std::int64_t last = 0;
      while (last < 100'000 && changes_less(last + 1)) ++last;
      auto const found = position_slack(f, budgets, share);
      EXPECT_EQ(is_finite(found), last < 100'000) << used << " " << share;
      if (is_finite(found)) {
        EXPECT_EQ(std::floor(found), static_cast<double>(last)) << used << " " << share;
      }
    }
  }
}

// Of a prototype that was written before this header.
TEST(position_slack, has_the_measured_values_of_a_tenth) {
  struct expected {
    std::size_t pairs;
    double of_10k, of_500k;
  };
  for (auto const& [pairs, of_10k, of_500k] :
       {expected{64, 0, 1}, {16, 238, 5804}, {8, 496, 17851}, {1, 866, 40747}}) {
    auto const budgets = of_the_slowest(pairs, 64);
    EXPECT_EQ(std::floor(position_slack(geometric(128, 1e4), budgets, 0.1)), of_10k) << pairs;
    EXPECT_EQ(std::floor(position_slack(geometric(128, 5e5), budgets, 0.1)), of_500k) << pairs;
  }
  EXPECT_FALSE(
      is_finite(position_slack(truncated(geometric(128, 1e4), 0.75), of_the_slowest(16, 64), 0.1)));
}

// As mean_cosine says: scores of h pairs and attention factor A change by 4 h A^4 (1 - a(r)).
TEST(position_slack, changes_of_gaussian_scores_have_the_variance) {
  auto const variance_of_change = [](frequencies const& of, std::int64_t tokens) {
    return 4 * static_cast<double>(of.pairs()) * std::pow(of.attention_factor(), 4) *
           (1 - mean_cosine(of, tokens));
  };
  EXPECT_NEAR(std::sqrt(variance_of_change(geometric(128, 1e4), 1) / 128), 0.244, 5e-4);
  EXPECT_NEAR(std::sqrt(variance_of_change(geometric(128, 5e5), 1) / 128), 0.210, 5e-4);
  frequencies const f({0.9, 0.31, 0.02, 0}, 1.25);
  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal;
  constexpr int draws = 4000;
  for (std::int64_t const r : {0, 1000}) {
    double sum = 0;
    for (int draw = 0; draw < draws; ++draw) {
      std::vector<double> q(8), k(8);
      for (auto& x : q) x = normal(bits);
      for (auto& x : k) x = normal(bits);
      auto const change = score(q, k, f, r + 5) - score(q, k, f, r);
      sum += change * change;
    }
    // Scores of four pairs have an excess kurtosis below 3: 4 deviations of a mean of squares.
    EXPECT_NEAR(sum / draws / variance_of_change(f, 5), 1, 4 * std::sqrt(5.0 / draws)) << r;
  }
}

TEST(position_slack, bad_input_is_rejected) {
  auto const f = geometric(4, 10);
  using budgets = std::vector<double>;
  EXPECT_EQ(message_of([&] { position_slack(f, budgets{1}, 0.1); }),
            "posenc: position_slack: there must be one budget for each of 2 pairs, got 1");
  EXPECT_EQ(message_of([&] {
              position_slack(f, budgets{1, -1}, 0.1);
            }),
            "posenc: position_slack: budgets must be finite and not negative, got -1");
  EXPECT_EQ(message_of([&] {
              position_slack(f, budgets{0, 0}, 0.1);
            }),
            "posenc: position_slack: the sum of the budgets must be finite and positive, got 0");
  EXPECT_EQ(message_of([&] {
              position_slack(f, budgets{1, 1}, 0);
            }),
            "posenc: position_slack: share must be finite and positive, got 0");
}

}  // namespace
