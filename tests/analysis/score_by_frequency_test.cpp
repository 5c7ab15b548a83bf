#include "posenc/analysis/score_by_frequency.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <concepts>
#include <numeric>
#include <span>
#include <vector>

#include "numbers.hpp"
#include "oracle/rotary.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

constexpr auto unit = tolerance::unit_roundoff<double>();

/// <R_t q, R_s k>, both rotated in wide arithmetic; and the part of one pair.
struct rotated_score {
  double score;
  std::vector<double> pairs;
};
template <class Layout>
rotated_score rotated(std::vector<double> q, std::vector<double> k, frequencies const& f, double t,
                      double s, std::size_t first = 0) {
  constexpr auto pairing =
      std::same_as<Layout, halves> ? oracle::pairing::halves : oracle::pairing::interleaved;
  oracle::rotate(q, f.inv_freq(), t, pairing, first, f.attention_factor());
  oracle::rotate(k, f.inv_freq(), s, pairing, first, f.attention_factor());
  rotated_score result{std::inner_product(q.begin(), q.end(), k.begin(), 0.0), {}};
  auto const n = f.pairs();
  for (std::size_t i = 0; i < n; ++i) {
    auto const x = first + (pairing == oracle::pairing::halves ? i : 2 * i),
               y = first + (pairing == oracle::pairing::halves ? i + n : 2 * i + 1);
    result.pairs.push_back(q[x] * k[x] + q[y] * k[y]);
  }
  return result;
}

template <class Layout>
void expect_the_parts_of_the_score(std::size_t head_dim, frequencies const& f, rotary_block block,
                                   std::size_t first) {
  auto const q = numbers::random<double>(head_dim, 1), k = numbers::random<double>(head_dim, 2);
  for (std::int64_t const distance : {0, 1, 137, 100'000, -5}) {
    auto const expected = rotated<Layout>(q, k, f, static_cast<double>(distance) + 3, 3, first);
    auto const found = score_by_frequency<Layout>(q, k, f, distance, block);
    ASSERT_EQ(found.pairs.size(), f.pairs());
    auto sum = found.unpaired;
    double budgets = found.unpaired_budget;
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const& pair = found.pairs[i];
      auto const rounding = 16 * unit * pair.budget +
                            pair.budget * tolerance::of_angle(static_cast<double>(distance),
                                                              std::max(pair.inv_freq, 1e-9));
      EXPECT_NEAR(pair.score, expected.pairs[i], rounding) << i << " at " << distance;
      EXPECT_LE(std::abs(pair.score), pair.budget * (1 + 8 * unit));
      EXPECT_EQ(pair.inv_freq, f.inv_freq()[i]);
      sum += pair.score;
      budgets += pair.budget;
    }
    EXPECT_NEAR(found.score, sum, tolerance::of_dot_product<double>(f.pairs() + 1, budgets));
    EXPECT_NEAR(found.score, expected.score,
                tolerance::of_dot_product<double>(head_dim, budgets) +
                    budgets * tolerance::of_angle(static_cast<double>(distance), 1))
        << distance;
  }
}

TEST(score_by_frequency, has_the_parts_of_the_score_of_rotated_vectors) {
  expect_the_parts_of_the_score<halves>(64, geometric(64, 1e4), rotary_block::first(), 0);
  expect_the_parts_of_the_score<interleaved>(64, geometric(64, 1e4), rotary_block::first(), 0);
  expect_the_parts_of_the_score<halves>(64, truncated(geometric(64, 1e4), 0.75),
                                        rotary_block::first(), 0);
  expect_the_parts_of_the_score<halves>(48, geometric(32, 500).with_attention_factor(1.25),
                                        rotary_block::first(), 0);
  expect_the_parts_of_the_score<interleaved>(48, geometric(32, 500), rotary_block::last(), 16);
  expect_the_parts_of_the_score<halves>(48, geometric(32, 500), rotary_block::from(4), 4);
}

TEST(score_by_frequency, of_two_pairs_is_that_of_the_formula) {
  // (1, 2) and (3, 5): 13 cos r - 1 sin r; (x, y) and (u, v) of pair 1 stand still.
  frequencies const f({1, 0}, {0, 0}, 2);
  std::array const q{1.0, 2.0, 4.0, 0.5}, k{3.0, 5.0, 1.0, 2.0};
  auto const found = score_by_frequency<interleaved>(q, k, f, 1);
  EXPECT_NEAR(found.pairs[0].score, 4 * (13 * std::cos(1.0) - 1 * std::sin(1.0)), 64 * unit);
  EXPECT_EQ(found.pairs[1].score, 4 * 5.0);
  EXPECT_NEAR(found.pairs[0].query_norm, std::sqrt(5.0), 4 * unit);
  EXPECT_NEAR(found.pairs[0].key_norm, std::sqrt(34.0), 8 * unit);
  EXPECT_NEAR(found.pairs[0].budget, 4 * std::sqrt(5 * 34.0), 64 * unit);
  EXPECT_EQ(found.unpaired, 0);
}

TEST(score_by_frequency, dims_outside_the_block_have_their_own_part) {
  std::array const q{3.0, 1.0, 1.0, 4.0}, k{2.0, 1.0, 1.0, 0.0};
  auto const found = score_by_frequency<halves>(q, k, frequencies({1}), 0, rotary_block::from(1));
  EXPECT_EQ(found.unpaired, 6);
  EXPECT_NEAR(found.unpaired_budget, 10, 16 * unit);
  EXPECT_EQ(found.pairs[0].score, 2);
  EXPECT_EQ(found.score, 8);
}

TEST(score_by_frequency, spends_the_whole_budget_on_a_key_that_is_rotated_to_the_query) {
  auto const f = geometric(64, 1e4);
  auto const q = numbers::random<double>(64, 7);
  auto k = q;
  oracle::rotate(k, f.inv_freq(), 100, oracle::pairing::halves);
  for (auto const& pair : score_by_frequency<halves>(q, k, f, 100).pairs)
    EXPECT_NEAR(pair.score, pair.budget, pair.budget * (32 * unit + tolerance::of_angle(100, 1)));
}

TEST(score_by_frequency, takes_any_storage) {
  numbers::in_every_format([]<class T>() {
    auto const q = numbers::random<T>(16, 1), k = numbers::random<T>(16, 2);
    auto const f = geometric(16, 100);
    auto const found = score_by_frequency<halves>(q, std::span(k), f, 5);
    auto const expected = score_by_frequency<halves>(numbers::exact(q), numbers::exact(k), f, 5);
    double budgets = 0;
    for (auto const& pair : expected.pairs) budgets += pair.budget;
    // -ffast-math may sum in another order for each type
    EXPECT_NEAR(found.score, expected.score, tolerance::of_dot_product<double>(16, budgets));
    EXPECT_NEAR(found.pairs[3].budget, expected.pairs[3].budget,
                8 * unit * expected.pairs[3].budget);
  });
}

TEST(score_by_frequency, bands_have_all_of_the_score) {
  // 1e4^(-2i/128) 8192 / 2 pi >= 1 up to pair 49, >= 1/4 up to pair 59
  auto const q = numbers::random<double>(136, 3), k = numbers::random<double>(136, 4);
  auto const score = score_by_frequency<halves>(q, k, geometric(128, 1e4), 77);
  auto const bands = by_turns(score, 8192);
  EXPECT_EQ(bands.whole_turns.pairs, 50u);
  EXPECT_EQ(bands.part_of_a_turn.pairs, 10u);
  EXPECT_EQ(bands.less_than_a_quarter.pairs, 4u);
  EXPECT_EQ(bands.unrotated.pairs, 0u);
  EXPECT_EQ(bands.unrotated.score, score.unpaired);
  EXPECT_EQ(bands.unrotated.budget, score.unpaired_budget);
  double sum = 0, budget = 0, budgets = score.unpaired_budget;
  for (auto const& band :
       {bands.whole_turns, bands.part_of_a_turn, bands.less_than_a_quarter, bands.unrotated}) {
    EXPECT_LE(std::abs(band.score), band.budget * (1 + 64 * unit));
    sum += band.score, budget += band.budget;
  }
  for (auto const& pair : score.pairs) budgets += pair.budget;
  EXPECT_NEAR(sum, score.score, tolerance::of_dot_product<double>(136, budgets));
  EXPECT_NEAR(budget, budgets, tolerance::of_dot_product<double>(136, budgets));
}

TEST(score_by_frequency, pairs_of_frequency_0_are_a_band_of_their_own) {
  std::vector<double> const ones(16, 1.0);
  auto const bands = by_turns(
      score_by_frequency<halves>(ones, ones, truncated(geometric(16, 1e4), 0.25), 1), 1'000'000);
  EXPECT_EQ(bands.whole_turns.pairs, 2u);
  EXPECT_EQ(bands.unrotated.pairs, 6u);
  EXPECT_EQ(bands.unrotated.score, 12);
}

TEST(score_by_frequency, norms_are_those_of_each_pair_and_head) {
  // [tokens 2][heads 2][head_dim 5], of which the last 4 are rotated
  std::vector<float> const heads{9, 3, 0, 4, 1, 9, 1, 2, 0, 0,  //
                                 9, 6, 0, 8, 1, 9, 0, 0, 0, 5};
  heads_view<float const> const view(heads.data(), {2, 2, 5});
  auto const norms = norms_by_frequency<halves>(view, frequencies({1, 0.5}), rotary_block::last());
  ASSERT_EQ(norms.size(), 2u);
  ASSERT_EQ(norms[0].size(), 2u);
  EXPECT_EQ(norms[0][0].low(), 5);
  EXPECT_EQ(norms[0][0].high(), 10);
  EXPECT_EQ(norms[0][0].mean(), 7.5);
  EXPECT_EQ(norms[0][1].mean(), 1);
  EXPECT_EQ(norms[1][0].mean(), 0.5);
  EXPECT_EQ(norms[1][1].high(), 5);
  EXPECT_EQ(norms[1][1].count(), 2u);
  EXPECT_EQ(norms_by_frequency<interleaved>(view, frequencies({1, 0.5}), rotary_block::last())[0][0]
                .low(),
            3);
}

TEST(score_by_frequency, bad_input_is_rejected) {
  std::vector<double> const four(4), six(6);
  EXPECT_EQ(message_of([&] { score_by_frequency<halves>(four, six, frequencies({1}), 0); }),
            "posenc: score_by_frequency: q and k must have as many numbers, got 4 and 6");
  EXPECT_EQ(message_of([&] { score_by_frequency<halves>(four, four, geometric(6, 10), 0); }),
            "posenc: rotary_block: the rotary block must lie within the head, got dims 0 to 6 of "
            "head_dim 4");
  EXPECT_EQ(message_of([&] { by_turns({}, 0); }),
            "posenc: by_turns: length must be positive, got 0");
}

}  // namespace
