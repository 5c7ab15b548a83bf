#include "posenc/analysis/distance_profile.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attention/uncopied.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/gaussian.hpp"
#include "oracle/rotary.hpp"
#include "oracle/softmax.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

TEST(attention_map, of_nope_is_even_over_the_keys_that_are_seen) {
  auto const map = map_attention(nope(), {.head_dim = 4, .heads = 2, .length = 40});
  ASSERT_EQ(map.weights.size(), 2u * 40 * 40);
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t t = 0; t < 40; ++t) {
      auto const even = 1 / static_cast<double>(t + 1);
      for (std::size_t s = 0; s < 40; ++s)
        EXPECT_NEAR(map.row(head, t)[s], s <= t ? even : 0,
                    s <= t ? tolerance::of_weight<double>(even, 0, 40) : 0);
    }
  }
}

TEST(attention_map, of_rope_and_even_vectors_is_the_softmax_of_the_kernel) {
  auto const map = map_attention(rope<halves>(geometric(16, 1e4)), {.head_dim = 16, .length = 50});
  auto const inv_freq = oracle::inv_freq(16, 1e4);
  for (std::size_t t = 0; t < 50; ++t) {
    std::vector<double> scores;
    for (std::size_t s = 0; s <= t; ++s)
      scores.push_back(4 *
                       oracle::all_ones_kernel(
                           static_cast<oracle::wide>(t) - static_cast<oracle::wide>(s), inv_freq));
    auto const weights = oracle::softmax(scores);
    for (std::size_t s = 0; s <= t; ++s)
      EXPECT_NEAR(map.row(0, t)[s], weights[s], 1e-13) << t << " " << s;
  }
}

TEST(attention_map, a_row_of_a_temporary_can_be_read_in_a_loop) {
  std::vector<double> row;
  for (auto const weight : map_attention(nope(), {.head_dim = 4, .length = 2}).row(0, 0))
    row.push_back(weight);
  EXPECT_EQ(row, (std::vector<double>{1, 0}));
}

TEST(attention_map, heads_are_told_apart) {
  alibi const encoding(2);
  auto const map = map_attention(encoding, {.head_dim = 4, .heads = 2, .length = 20});
  for (std::size_t head = 0; head < 2; ++head) {
    auto const row = map.row(head, 19);
    EXPECT_NEAR(std::log(row[19] / row[12]), 7 * encoding.slopes()[head], 1e-12);
  }
}

TEST(attention_map, rows_sum_to_one_over_samples) {
  auto const map = map_attention(scheme(rope<halves>(geometric(8, 100)), adaptive_temperature{}),
                                 {.head_dim = 8,
                                  .length = 60,
                                  .inputs = gaussian{.rho = 0.5, .samples = 7},
                                  .mask = mask::causal & mask::sliding_window(16)});
  for (std::size_t t = 0; t < 60; ++t) {
    double sum = 0;
    for (std::size_t s = 0; s < 60; ++s) {
      sum += map.row(0, t)[s];
      EXPECT_EQ(map.row(0, t)[s] > 0, s <= t && t - s < 16) << t << " " << s;
    }
    EXPECT_NEAR(sum, 1, 2 * 60 * 7 * tolerance::unit_roundoff<double>());
  }
}

TEST(attention_map, equal_vectors_attend_by_distance_alone) {
  // rho 1: q_t = k_s = c. The ratio of weights of distances 0 and 5 is that of every query.
  auto const map = map_attention(
      rope<halves>(geometric(8, 100)),
      {.head_dim = 8, .length = 30, .inputs = gaussian{.rho = 1, .samples = 1, .seed = 3}});
  auto const ratio = [&](std::size_t t) { return map.row(0, t)[t] / map.row(0, t)[t - 5]; };
  EXPECT_GT(ratio(10), 1);
  for (std::size_t t = 5; t < 30; ++t) EXPECT_NEAR(ratio(t), ratio(10), 1e-11 * ratio(10));
  // rho -1: keys are the opposite of the query, so that the nearest is attended to least.
  auto const opposite = map_attention(
      rope<halves>(geometric(8, 100)),
      {.head_dim = 8, .length = 30, .inputs = gaussian{.rho = -1, .samples = 1, .seed = 3}});
  for (std::size_t t = 5; t < 30; ++t)
    EXPECT_NEAR(opposite.row(0, t)[t - 5] / opposite.row(0, t)[t], ratio(10), 1e-11 * ratio(10));
}

TEST(attention_map, two_keys_have_the_moments_of_correlated_vectors) {
  // ln(w_1 / w_0) = <q, k_1 - k_0> / sqrt(2) of 2 dims: the common part cancels, and its variance
  // is that of a number of q, 1, times that of one of k_1 - k_0, 2 (1 - rho).
  constexpr double rho = 0.6;
  constexpr std::size_t samples = 4000;
  double sum = 0, squares = 0, fourth = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    auto const row = map_attention(
        nope(),
        {.head_dim = 2, .length = 2, .inputs = gaussian{.rho = rho, .samples = 1, .seed = 1 + i}});
    auto const x = std::log(row.row(0, 1)[1] / row.row(0, 1)[0]);
    sum += x, squares += x * x, fourth += x * x * x * x;
  }
  auto const n = static_cast<double>(samples), variance = 2 * (1 - rho);
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(variance / n));
  EXPECT_NEAR(squares / n, variance, 5 * std::sqrt(fourth / n / n));
}

TEST(attention_map, the_same_seed_gives_the_same_map_and_another_another) {
  auto const of_seed = [](std::uint64_t seed) {
    return map_attention(
               nope(), {.head_dim = 4, .length = 8, .inputs = gaussian{.samples = 2, .seed = seed}})
        .weights;
  };
  EXPECT_TRUE(numbers::same_bits(of_seed(4), of_seed(4)));
  EXPECT_FALSE(numbers::same_bits(of_seed(4), of_seed(5)));
}

TEST(attention_map, copies_no_encoding) {
  expect_no_copy(
      [](auto const& encoding) { map_attention(encoding, {.head_dim = 2, .length = 3}); });
}

TEST(attention_map, bad_settings_are_rejected) {
  auto const rejected = [](attention_map_settings const& settings) {
    return message_of([&] { map_attention(nope(), settings); });
  };
  auto const must = std::string(
      "posenc: map_attention: head_dim, heads, length and samples must be positive, got ");
  EXPECT_EQ(rejected({.head_dim = 0}), must + "0, 1, 256 and 1");
  EXPECT_EQ(rejected({.heads = 0}), must + "128, 0, 256 and 1");
  EXPECT_EQ(rejected({.length = 0}), must + "128, 1, 0 and 1");
  EXPECT_EQ(rejected({.inputs = gaussian{.samples = 0}}), must + "128, 1, 256 and 0");
  EXPECT_EQ(rejected({.heads = 2, .length = 65536}),
            "posenc: map_attention: heads * length^2 must be at most 2^32, got 2 * 65536^2");
  EXPECT_EQ(rejected({.length = 65537}),
            "posenc: map_attention: heads * length^2 must be at most 2^32, got 1 * 65537^2");
  EXPECT_EQ(rejected({.inputs = gaussian{.rho = not_a_number()}}),
            "posenc: map_attention: rho must be in [-1, 1], got NaN");
  EXPECT_EQ(rejected({.inputs = gaussian{.rho = -1.5}}),
            "posenc: map_attention: rho must be in [-1, 1], got -1.5");
}

}  // namespace
