#include "posenc/analysis/positional_budget.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/gaussian.hpp"
#include "oracle/rotary.hpp"
#include "oracle/softmax.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

/// The weights, [query][key], of causal attention, where all tokens have the query and key of the
/// head: of the last queries, or of all.
template <class Encoding>
std::vector<double> weights_of(positional_head_vectors const& head, std::size_t length,
                               Encoding const& encoding, token_positions query_positions = {},
                               std::size_t last = ~std::size_t{0}) {
  auto const dim = head.query.size();
  heads_view<double const> const q(head.query.data(), {std::min(length, last), 1, dim}, {0, 0}),
      k(head.key.data(), {length, 1, dim}, {0, 0});
  attention_options options{.query_positions = std::move(query_positions), .keep_weights = true};
  return attention(q, k, k.slice_dims(0, 1), encoding, options).weights;
}

/// The lowest weight that a query gives to the key `distance` before it.
double lowest(std::vector<double> const& weights, std::size_t length, std::size_t distance) {
  double result = 1;
  auto const first = length - weights.size() / length;
  for (auto t = std::max(first, distance); t < length; ++t)
    result = std::min(result, weights[(t - first) * length + t - distance]);
  return result;
}

TEST(positional_head, attends_to_its_distance_by_the_known_weights) {
  struct known {
    std::size_t length, distance;
    std::vector<double> weights;  ///< of 1, 4, 9, 16, 64 pairs; by oracle::softmax, four digits
  };
  std::vector<std::size_t> const pairs{1, 4, 9, 16, 64};
  auto const f = geometric(128, 1e4);
  rope<halves> const encoding(f);
  for (auto const& [length, distance, known_weights] :
       {known{64, 1, {.2481, .9996, .9992, .9824, .6156}},
        known{512, 1, {.0302, .6433, .9992, .9824, .6156}},
        known{2048, 7, {.0077, .5586, .9992, .9824, .6094}}}) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      auto const head = positional_head<halves>(f, distance, pairs[i], 40, 128);
      auto const found = lowest(weights_of(head, length, encoding, {}, 512), length, distance);
      EXPECT_NEAR(found, known_weights[i], 5e-5) << pairs[i] << " pairs, " << length;
      // The last query sees the most keys, and so gives the least.
      std::vector<double> scores;
      for (std::size_t s = 0; s < length; ++s)
        scores.push_back(oracle::all_ones_kernel(
            static_cast<oracle::wide>(s) - static_cast<oracle::wide>(distance),
            f.inv_freq().first(pairs[i])));
      auto const expected = oracle::softmax(scores, 40)[distance];
      EXPECT_NEAR(found, expected, tolerance::of_weight_by_scores(expected, 40 * 1e-12));
    }
  }
}

TEST(positional_head, has_the_weight_of_its_budget_in_either_layout) {
  for (std::size_t const distance : {0u, 1u, 57u}) {
    auto const f = truncated(geometric(64, 1e4), 0.5).with_attention_factor(1.5);
    auto const budget = positional_budget(f, 300, 0.99, distance);
    auto const block = rotary_block::last();
    auto const of = [&]<class Layout>(Layout) {
      auto const head =
          positional_head<Layout>(f, distance, budget.cheapest, budget.score, 80, block);
      auto const weights = weights_of(head, 300, rope<Layout>(f, block));
      EXPECT_NEAR(weights[299 * 300 + 299 - distance], 0.99,
                  tolerance::of_weight_by_scores(0.99, budget.score * 1e-12))
          << distance;
    };
    of(halves());
    of(interleaved());
  }
}

TEST(positional_head, takes_rotation_by_the_same_frequencies_layout_and_positions) {
  constexpr std::size_t length = 512;
  auto const f = geometric(128, 1e4);
  auto const head = positional_head<halves>(f, 1, 9, 40, 128);
  auto const lowest_of = [&](auto const& encoding) {
    return lowest(weights_of(head, length, encoding), length, 1);
  };
  auto const whole = lowest_of(rope<halves>(f));
  EXPECT_NEAR(whole, .99919, 5e-6);
  for (double const p : {0.25, 0.75})
    EXPECT_NEAR(lowest_of(rope<halves>(truncated(f, p))), whole, 1e-12) << p;
  EXPECT_NEAR(lowest_of(nope()), 1.0 / length, 1e-14) << "0.0020";
  EXPECT_NEAR(lowest_of(alibi::with_slopes({0.5})), 0.2387, 5e-5) << "e^-1/2 (1 - e^-1/2)";
  EXPECT_NEAR(lowest_of(alibi::with_slopes({8.0})), 0.00034, 5e-6) << "the diagonal";
  EXPECT_NEAR(lowest_of(rope<halves>(geometric(128, 5e5))), .9897, 5e-5) << "a wrong base";
  EXPECT_LT(lowest_of(rope<interleaved>(f)), .0003) << "the wrong layout";
  // Positions of queries too high by one; all positions too high by one, which changes nothing.
  std::vector<std::int64_t> late(length);
  std::iota(late.begin(), late.end(), 1);
  auto const off = weights_of(head, length, rope<halves>(f), token_positions(late));
  EXPECT_NEAR(lowest(off, length, 0), .9992, 5e-5) << "to itself";
  EXPECT_NEAR(off[511 * length + 510], .0004, 5e-5) << "to the previous token";
}

TEST(positional_head, is_impossible_without_positions) {
  // [Barbero 2024, Proposition 5.2]: of equal tokens none has more than the others.
  double sharpest = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    auto const q = numbers::random<double>(3 * 16, seed);
    auto k = numbers::random<double>(3 * 16, 1000 + seed);
    std::copy_n(k.begin() + 16, 16, k.begin() + 32);  // bos, x, x
    for (auto& x : k) x *= 30;
    heads_view<double const> const queries(q.data(), {3, 1, 16}), keys(k.data(), {3, 1, 16});
    auto const weights = attention(queries, keys, keys, nope(), {.keep_weights = true}).weights;
    auto const rounding = tolerance::of_weight_by_scores(0.5, 1e-12);
    EXPECT_NEAR(weights[7], weights[8], rounding) << seed;
    EXPECT_LE(weights[7], 0.5 + rounding) << seed;
    auto const turned =
        attention(queries, keys, keys, rope<halves>(geometric(16, 1e4)), {.keep_weights = true})
            .weights;
    sharpest = std::max(sharpest, turned[7]);
  }
  EXPECT_GT(sharpest, 0.99) << "RoPE tells them apart";
}

TEST(positional_head, takes_the_fastest_pairs_in_any_order) {
  frequencies const f({0.25, 0, 1, 0, 0.5});
  auto const head = positional_head<interleaved>(f, 3, 2, 5, 16, rotary_block::from(2));
  auto const x = std::sqrt(5.0 * 4 / 2);
  for (std::size_t dim = 0; dim < 16; ++dim)
    EXPECT_EQ(head.query[dim], dim == 6 || dim == 10 ? x : 0) << dim;
  EXPECT_NEAR(head.key[6], x * std::cos(3.0), 1e-15 * x);
  EXPECT_NEAR(head.key[7], x * std::sin(3.0), 1e-15 * x);
  EXPECT_NEAR(head.key[10], x * std::cos(1.5), 1e-15 * x);
  EXPECT_NEAR(head.key[11], x * std::sin(1.5), 1e-15 * x);
}

TEST(positional_head, bad_input_is_rejected) {
  auto const f = truncated(geometric(8, 100), 0.5);
  for (std::size_t const pairs : {0u, 3u})
    EXPECT_EQ(message_of([&] { positional_head<halves>(f, 1, pairs, 40, 8); }),
              "posenc: positional_head: pairs must be 1 to the 2 that rotate, got " +
                  std::to_string(pairs));
  for (double const score : {0.0, -1.0, not_a_number(), infinity()})
    EXPECT_EQ(message_of([&] {
                positional_head<halves>(f, 1, 1, score, 8);
              }).find("posenc: positional_head: score must be finite and positive, got "),
              0u);
  EXPECT_EQ(message_of([&] { positional_head<halves>(f, 1, 1, 40, 6); }),
            "posenc: rotary_block: the rotary block must lie within the head, got dims 0 to 8 of "
            "head_dim 6");
}

}  // namespace
