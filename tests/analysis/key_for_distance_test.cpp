#include "posenc/analysis/key_for_distance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "golden/prop31.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/rotary.hpp"
#include "oracle/softmax.hpp"
#include "posenc/analysis/score_by_frequency.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

constexpr auto roundoff = tolerance::unit_roundoff<double>();

TEST(key_for_distance, has_the_published_peak_and_runner_up) {
  auto const f = geometric(128, 1e4);
  auto const rounding = tolerance::of_dot_product<double>(128, golden::prop31_peak);
  for (auto const distance : golden::prop31_distances) {
    auto const of_pairs =
        key_for_distance<interleaved>(golden::prop31_query, f, distance, golden::prop31_context);
    auto const of_halves =
        key_for_distance<halves>(golden::prop31_query, f, distance, golden::prop31_context);
    EXPECT_NEAR(of_pairs.peak, golden::prop31_peak, rounding);
    EXPECT_NEAR(of_halves.peak, golden::prop31_peak, rounding);
    EXPECT_NEAR(of_pairs.peak - of_pairs.margin, golden::prop31_runner_up_interleaved, rounding);
    EXPECT_NEAR(of_halves.peak - of_halves.margin, golden::prop31_runner_up_halves, rounding);
    for (auto const runner_up : {of_pairs.runner_up, of_halves.runner_up})
      EXPECT_EQ(runner_up > distance ? runner_up - distance : distance - runner_up, 1u);
    // 61.955 and 63.841: bfloat16 has bits enough, five would not be.
    EXPECT_NEAR(std::log2(of_pairs.peak / of_pairs.margin),
                std::log2(golden::prop31_peak /
                          (golden::prop31_peak - golden::prop31_runner_up_interleaved)),
                1e-11);
    EXPECT_EQ(of_pairs.distance, distance);
  }
}

/// The scores of a key at every distance, with the query at length - 1, rotated by the oracle.
std::vector<double> scores_of(std::vector<double> const& q, std::vector<double> const& k,
                              frequencies const& f, std::size_t length, std::size_t first = 0) {
  std::vector<double> scores;
  for (std::size_t s = 0; s < length; ++s) {
    auto rotated = k, query = q;
    oracle::rotate(rotated, f.inv_freq(), static_cast<double>(length - 1 - s),
                   oracle::pairing::halves, first, f.attention_factor());
    oracle::rotate(query, f.inv_freq(), static_cast<double>(length - 1), oracle::pairing::halves,
                   first, f.attention_factor());
    scores.push_back(std::inner_product(query.begin(), query.end(), rotated.begin(), 0.0));
  }
  return scores;
}

TEST(key_for_distance, is_attended_to_most_at_that_distance) {
  for (std::size_t const distance : {0u, 1u, 63u, 299u}) {
    auto const f = truncated(geometric(32, 1e4), 0.75).with_attention_factor(1.5);
    auto const q = numbers::random<double>(40, 3);
    auto const found = key_for_distance<halves>(q, f, distance, 300, rotary_block::last());
    auto const scores = scores_of(q, found.key, f, 300, 8);
    auto const rounding = tolerance::of_dot_product<double>(40, 4 * found.peak) +
                          found.peak * 8 * tolerance::of_angle(300, 1);
    ASSERT_EQ(found.behind.size(), 300u);
    for (std::size_t s = 0; s < 300; ++s)
      EXPECT_NEAR(found.peak - found.behind[s], scores[s], rounding) << s << " of " << distance;
    EXPECT_EQ(std::ranges::max_element(scores) - scores.begin(),
              static_cast<std::ptrdiff_t>(distance));
    EXPECT_EQ(found.behind[distance], 0);
    EXPECT_GT(found.margin, 0);
    EXPECT_EQ(found.behind[found.runner_up], found.margin);
    EXPECT_EQ(std::ranges::count_if(found.behind, [&](double b) { return b < found.margin; }), 1);
  }
}

TEST(key_for_distance, other_dims_are_the_query_s) {
  std::vector<double> const q{3, 1, 0, 2, 5, 4};
  auto const found =
      key_for_distance<interleaved>(q, frequencies({1}), 2, 4, rotary_block::from(1));
  EXPECT_EQ(found.peak, 9 + 1 + 4 + 25 + 16);
  for (std::size_t const dim : {0u, 3u, 4u, 5u}) EXPECT_EQ(found.key[dim], q[dim]);
  EXPECT_NEAR(found.key[1], std::cos(2.0), 4 * roundoff);
  EXPECT_NEAR(found.key[2], std::sin(2.0), 4 * roundoff);
}

TEST(key_for_distance, beats_all_keys_of_its_norms) {
  auto const f = geometric(32, 1e4);
  auto const q = numbers::random<double>(32, 5);
  auto const found = key_for_distance<halves>(q, f, 57, 100);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    auto k = numbers::random<double>(32, 100 + seed);
    auto const norm = std::sqrt(std::inner_product(k.begin(), k.end(), k.begin(), 0.0));
    for (auto& x : k) x *= std::sqrt(found.peak) / norm;
    EXPECT_LT(score_by_frequency<halves>(q, k, f, 57).score, found.peak);
  }
  EXPECT_NEAR(score_by_frequency<halves>(q, found.key, f, 57).score, found.peak,
              found.peak * (64 * roundoff + 2 * tolerance::of_angle(57, 1)));
}

double gain_for(key_at_distance const& found, double weight) {
  auto scores = found.behind;
  for (auto& score : scores) score = -score;
  return gain_for_weight(scores, found.distance, weight).value();
}

TEST(key_for_distance, the_gain_gives_the_weight) {
  auto const f = geometric(64, 1e4);
  auto const q = numbers::random<double>(64, 6);
  auto const found = key_for_distance<halves>(q, f, 20, 400);
  auto scores = scores_of(q, found.key, f, 400);
  for (double const weight : {0.3, 0.9, 0.99}) {
    auto const gain = gain_for(found, weight);
    // An error e of a score changes it by gain e.
    auto const error = gain * found.peak * (128 * roundoff + 8 * tolerance::of_angle(400, 1));
    EXPECT_NEAR(oracle::softmax(scores, gain)[20], weight,
                tolerance::of_weight_by_scores(weight, error));
  }
}

TEST(key_for_distance, tells_slow_angles_apart) {
  // 1 - cos(1e-7) is 5e-15, of which cos(1e-7) in double has two digits. Its sine is off by the
  // phase alone.
  auto const found = key_for_distance<halves>(std::vector{1.0, 0.0}, frequencies({1e-7}), 3, 5);
  EXPECT_TRUE(found.runner_up == 2 || found.runner_up == 4);
  auto const relative = 2 * tolerance::of_phase(1) / 5e-8 + 8 * roundoff;
  EXPECT_NEAR(found.margin, 4.999999999999996e-15, 5e-15 * relative);
  // 2 e^-x + e^-4x + e^-9x = 1
  EXPECT_NEAR(gain_for(found, 0.5) * found.margin, 0.74627848529871832, 1e-10);
}

TEST(key_for_distance, takes_any_storage) {
  auto const f = geometric(16, 100);
  numbers::in_every_format([&]<class T>() {
    auto const q = numbers::random<T>(16, 2);
    EXPECT_EQ(key_for_distance<halves>(q, f, 3, 9).key,
              key_for_distance<halves>(numbers::exact(q), f, 3, 9).key);
  });
}

TEST(key_for_distance, a_pair_that_returns_leaves_no_margin) {
  // A turn in 4 tokens, but for the rounding of pi / 2.
  auto const f = frequencies({1.5707963267948966}, {6.123233995736766e-17}, 1);
  auto const found = key_for_distance<halves>(std::vector{1.0, 0.0}, f, 0, 8);
  EXPECT_EQ(found.runner_up, 4u);
  EXPECT_LT(found.margin, 1e-36) << "with the rest of the frequency";
}

TEST(key_for_distance, bad_input_is_rejected) {
  std::vector<double> q(4, 1.0);
  auto const f = geometric(4, 100);
  EXPECT_EQ(message_of([&] { key_for_distance<halves>(q, f, 0, 1); }),
            "posenc: key_for_distance: length must be at least 2, got 1");
  EXPECT_EQ(message_of([&] { key_for_distance<halves>(q, f, 5, 5); }),
            "posenc: key_for_distance: distance must be below the length 5, got 5");
  EXPECT_EQ(message_of([&] { key_for_distance<halves>(q, truncated(f, 0), 1, 5); }),
            "posenc: key_for_distance: q must have a pair that rotates and is not 0, or all "
            "distances score the same");
  EXPECT_EQ(message_of([&] {
              key_for_distance<halves>(std::vector{0.0, 1.0, 0.0, 1.0}, truncated(f, 0.5), 1, 5);
            }),
            "posenc: key_for_distance: q must have a pair that rotates and is not 0, or all "
            "distances score the same");
  EXPECT_EQ(message_of([&] { key_for_distance<halves>(q, geometric(6, 100), 1, 5); }),
            "posenc: rotary_block: the rotary block must lie within the head, got dims 0 to 6 of "
            "head_dim 4");
  q[2] = not_a_number();
  EXPECT_EQ(message_of([&] { key_for_distance<halves>(q, f, 1, 5); }),
            "posenc: key_for_distance: q must be finite, got NaN at dim 2");
}

}  // namespace
