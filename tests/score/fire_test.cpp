#include "posenc/score/fire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/score_biases.hpp"
#include "score/rows.hpp"

namespace {

using namespace posenc;

fire_network network(std::size_t heads, std::size_t hidden = 32) {
  return {.hidden_weights = numbers::random<float>(hidden, 1),
          .hidden_biases = numbers::random<float>(hidden, 2),
          .output_weights = numbers::random<float>(heads * hidden, 3),
          .output_biases = numbers::random<float>(heads, 4)};
}

/// Answers with minus what it is asked.
fire_network const minus_identity{
    .hidden_weights = {1}, .hidden_biases = {0}, .output_weights = {-1}, .output_biases = {0}};

struct answer {
  double bias, tolerance;
};

/// psi is right within 10 roundings of itself, 11 of a far distance; so the quotient within 24. In
/// the network each number is rounded as often as a sum of that many has terms, and thrice before.
answer expected_bias(fire_network const& n, fire_interpolation const& with, std::size_t head,
                     std::int64_t query, std::int64_t key) {
  auto const x = oracle::fire_input(with.c, with.threshold, with.epsilon, query, key);
  auto const hidden = n.hidden_weights.size();
  oracle::wide sum = n.output_biases[head], magnitude = oracle::abs(sum);
  for (std::size_t i = 0; i < hidden; ++i) {
    auto const w = static_cast<oracle::wide>(n.output_weights[head * hidden + i]);
    auto const v = static_cast<oracle::wide>(n.hidden_weights[i]),
               b = static_cast<oracle::wide>(n.hidden_biases[i]);
    if (v * x + b > 0) sum += w * (v * x + b);
    magnitude += oracle::abs(w) * (oracle::abs(v) * x + oracle::abs(b));
  }
  auto const roundings = 24 + static_cast<double>(hidden) + 5;
  return {static_cast<double>(sum),
          roundings * tolerance::unit_roundoff<double>() * static_cast<double>(magnitude)};
}

TEST(fire, adds_what_the_network_answers_to_the_interpolated_distance) {
  std::vector<std::int64_t> const keys{700, 699, 0, 1, 350, -40, 512, -2'000'000'000};
  for (std::size_t const hidden : {32u, 1u, 5u}) {
    auto const n = network(3, hidden);
    for (fire_interpolation const with :
         {fire_interpolation{.c = 0.1, .threshold = 512},
          fire_interpolation{.c = 3, .threshold = 1e6},
          fire_interpolation{.c = 1e-9, .threshold = 0, .epsilon = 0.5},
          fire_interpolation{.c = 0.1, .threshold = 512, .epsilon = 0}}) {
      fire const encoding(n, with);
      EXPECT_EQ(encoding.heads(), 3u);
      numbers::in_float_and_double([&]<class T>() {
        auto const scores = numbers::random<T>(keys.size());
        for (std::size_t head = 0; head < 3; ++head) {
          auto const actual = rows::adjusted(encoding, scores, head, 700, keys);
          for (std::size_t s = 0; s < keys.size(); ++s) {
            auto const expected = expected_bias(n, with, head, 700, keys[s]);
            auto const sum = static_cast<double>(scores[s]) + expected.bias;
            EXPECT_NEAR(static_cast<double>(actual[s]), sum,
                        rows::tolerance_of_sum<T>(sum, expected.bias, expected.tolerance))
                << "head " << head << ", key " << keys[s];
          }
        }
      });
    }
  }
}

TEST(fire,
     up_to_the_threshold_distance_alone_counts_and_beyond_it_its_share_of_the_query_s_position) {
  fire const encoding(minus_identity, {.c = 0.1, .threshold = 512, .epsilon = 0});
  auto const rounding = 32 * tolerance::unit_roundoff<double>();
  EXPECT_EQ(rows::bias(encoding, 0, 100, 60), rows::bias(encoding, 0, 512, 472));
  EXPECT_GT(rows::bias(encoding, 0, 600, 560), rows::bias(encoding, 0, 512, 472) * (1 - 1e-3));
  for (std::int64_t const query : {512, 513, 4096, 1'000'000})
    EXPECT_NEAR(rows::bias(encoding, 0, query, 0), -1, rounding) << query;
  for (std::int64_t const query : {-3, 0, 511, 4096})
    EXPECT_EQ(rows::bias(encoding, 0, query, query), 0) << query;
}

TEST(fire, the_threshold_is_the_least_that_distances_are_measured_against_not_the_most) {
  fire const encoding(minus_identity, {.c = 1, .threshold = 7, .epsilon = 0});
  auto const rounding = 32 * tolerance::unit_roundoff<double>();
  EXPECT_NEAR(rows::bias(encoding, 0, 1, 0), -1.0 / 3, rounding);    // ln 2 / ln 8
  EXPECT_NEAR(rows::bias(encoding, 0, 63, 62), -1.0 / 6, rounding);  // ln 2 / ln 64
}

TEST(fire, keys_after_the_query_are_left_alone_and_the_farthest_are_2_to_the_63_apart) {
  fire const encoding(minus_identity, {.c = 1, .threshold = 1});
  EXPECT_EQ(rows::bias(encoding, 0, 5, 6), 0);
  EXPECT_EQ(rows::bias(encoding, 0, rows::first, rows::last), 0);
  auto const farthest =
      expected_bias(minus_identity, {.c = 1, .threshold = 1}, 0, rows::last, rows::first);
  EXPECT_NEAR(rows::bias(encoding, 0, rows::last, rows::first), farthest.bias, farthest.tolerance);
}

TEST(fire, bad_networks_are_rejected) {
  fire_interpolation const with{.c = 0.1, .threshold = 512};
  auto const rejected = [&](auto const& change) {
    auto n = network(2, 3);
    change(n);
    return message_of([&] { fire(n, with); });
  };
  EXPECT_EQ(rejected([](auto& n) { n.hidden_weights.clear(); }),
            "posenc: fire: there must be as many hidden weights as hidden biases, and one or more, "
            "got 0 and 3");
  EXPECT_EQ(rejected([](auto& n) { n.hidden_biases.pop_back(); }),
            "posenc: fire: there must be as many hidden weights as hidden biases, and one or more, "
            "got 3 and 2");
  EXPECT_EQ(
      rejected([](auto& n) { n.output_weights.pop_back(); }),
      "posenc: fire: there must be one output weight for each of 2 heads and 3 hidden, got 5");
  EXPECT_EQ(
      rejected([](auto& n) { n.output_biases.pop_back(); }),
      "posenc: fire: there must be one output weight for each of 1 heads and 3 hidden, got 6");
  EXPECT_EQ(
      rejected([](auto& n) { n.output_weights.clear(), n.output_biases.clear(); }),
      "posenc: fire: there must be one output weight for each of 0 heads and 3 hidden, got 0");
  auto const nan = float_of_bits(0x7fc00000);
  EXPECT_EQ(rejected([&](auto& n) { n.hidden_weights[2] = nan; }),
            "posenc: fire: hidden weights must be finite, got NaN");
  EXPECT_EQ(rejected([&](auto& n) { n.hidden_biases[2] = nan; }),
            "posenc: fire: hidden biases must be finite, got NaN");
  EXPECT_EQ(rejected([&](auto& n) { n.output_weights[5] = nan; }),
            "posenc: fire: output weights must be finite, got NaN");
  EXPECT_EQ(rejected([&](auto& n) { n.output_biases[1] = nan; }),
            "posenc: fire: output biases must be finite, got NaN");
}

TEST(fire, bad_interpolations_are_rejected) {
  auto const rejected = [](fire_interpolation const& with) {
    return message_of([&] { fire(minus_identity, with); });
  };
  EXPECT_EQ(rejected({.c = 0, .threshold = 1}),
            "posenc: fire: c must be finite and positive, got 0");
  EXPECT_EQ(rejected({.c = infinity(), .threshold = 1}),
            "posenc: fire: c must be finite and positive, got infinity");
  EXPECT_EQ(rejected({.c = 1, .threshold = -1}),
            "posenc: fire: threshold must be finite and not negative, got -1");
  EXPECT_EQ(rejected({.c = 1, .threshold = not_a_number()}),
            "posenc: fire: threshold must be finite and not negative, got NaN");
  EXPECT_EQ(rejected({.c = 1, .threshold = infinity()}),
            "posenc: fire: threshold must be finite and not negative, got infinity");
  EXPECT_EQ(rejected({.c = 1, .threshold = 1, .epsilon = -1}),
            "posenc: fire: epsilon must be finite and not negative, got -1");
  EXPECT_EQ(rejected({.c = 1, .threshold = 0, .epsilon = 0}),
            "posenc: fire: threshold or epsilon must be positive, got 0 for both");
}

TEST(fire, rows_of_other_heads_or_keys_are_refused) {
  rows::of_other_heads_or_keys_are_refused("fire", fire(network(2), {.c = 0.1, .threshold = 512}),
                                           2);
}

TEST(fire, obeys_the_laws_of_its_site) {
  auto const numbers_of = [](std::size_t count) { return numbers::random<float>(count, 8); };
  fire const encoding({.hidden_weights = numbers_of(32),
                       .hidden_biases = numbers_of(32),
                       .output_weights = numbers_of(96),
                       .output_biases = numbers_of(3)},
                      {.c = 0.1, .threshold = 2e6});
  laws::obey("fire, up to its threshold", encoding, 3, laws::of_distance | laws::added);
}

}  // namespace
