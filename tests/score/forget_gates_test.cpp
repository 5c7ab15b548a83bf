#include "posenc/score/forget_gates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/score_biases.hpp"
#include "posenc/attention/attention.hpp"
#include "score/rows.hpp"

namespace {

using namespace posenc;

/// ln f, between -2 and 0.
std::vector<float> gates(std::size_t tokens, std::size_t heads) {
  auto numbers = numbers::random<float>(tokens * heads);
  for (auto& g : numbers) g -= 1;
  return numbers;
}

/// Two prefix sums of at most l + 1 numbers of one sign, and their difference.
double tolerance_of(std::size_t query, double sum) {
  return 2 * (static_cast<double>(query) + 1) * tolerance::unit_roundoff<double>() * std::abs(sum);
}

TEST(forget_gates, adds_the_logarithms_of_the_gates_after_the_key_up_to_the_query) {
  constexpr std::size_t tokens = 50, heads = 3;
  auto const log_gates = gates(tokens, heads);
  for (std::int64_t const first : {0, 1000, -20}) {
    forget_gates const encoding(log_gates, heads, first);
    EXPECT_EQ(encoding.tokens(), tokens);
    EXPECT_EQ(encoding.heads(), heads);
    numbers::in_float_and_double([&]<class T>() {
      auto const scores = numbers::random<T>(tokens);
      std::vector<std::int64_t> keys;
      for (std::size_t s = 0; s < tokens; ++s)
        keys.push_back(first + static_cast<std::int64_t>((s * 7) % tokens));
      for (std::size_t head = 0; head < heads; ++head) {
        for (std::size_t const query : {0u, 1u, 20u, 49u}) {
          auto const actual = rows::adjusted(encoding, scores, head,
                                             first + static_cast<std::int64_t>(query), keys);
          auto const all =
              static_cast<double>(oracle::forgetting_bias(log_gates, heads, head, query, 0)) +
              static_cast<double>(log_gates[head]);
          for (std::size_t s = 0; s < tokens; ++s) {
            auto const key = static_cast<std::size_t>(keys[s] - first);
            auto const bias =
                static_cast<double>(oracle::forgetting_bias(log_gates, heads, head, query, key));
            auto const expected = static_cast<double>(scores[s]) + bias;
            EXPECT_NEAR(static_cast<double>(actual[s]), expected,
                        rows::tolerance_of_sum<T>(expected, bias, tolerance_of(query, all)))
                << "head " << head << ", query " << query << ", key " << key;
          }
        }
      }
    });
  }
}

TEST(forget_gates, is_alibi_where_all_gates_are_the_same) {
  forget_gates const encoding(std::vector<float>(1000, -0.125f), 1);
  for (std::int64_t const query : {0, 7, 999})
    for (std::int64_t key = 0; key < 1000; ++key)
      EXPECT_EQ(rows::bias(encoding, 0, query, key),
                key < query ? -0.125 * static_cast<double>(query - key) : 0);
}

TEST(forget_gates, gates_that_forget_nothing_change_nothing) {
  auto const scores = numbers::random<float>(5);
  EXPECT_TRUE(numbers::same_bits(
      rows::adjusted(forget_gates(std::vector<float>(10), 2), scores, 1, 4, {0, 1, 2, 3, 4}),
      scores));
}

TEST(forget_gates, keys_after_the_query_need_no_gate_and_a_row_without_keys_no_query) {
  forget_gates const encoding(gates(4, 1), 1);
  auto const actual =
      rows::adjusted(encoding, std::vector<double>{1, 2, 3}, 0, 3, {4, 1'000'000, rows::last});
  EXPECT_EQ(actual, (std::vector<double>{1, 2, 3}));
  EXPECT_TRUE(rows::adjusted(forget_gates({}, 1), std::vector<double>{}, 0, 77, {}).empty());
}

TEST(forget_gates, the_last_positions_of_all_may_have_gates) {
  forget_gates const encoding(std::vector<float>{-1, -2, -4}, 1, rows::last - 2);
  EXPECT_EQ(rows::bias(encoding, 0, rows::last, rows::last - 2), -6);
  EXPECT_EQ(rows::bias(forget_gates(std::vector<float>{-1, -2, -4}, 1, rows::first), 0,
                       rows::first + 2, rows::first + 1),
            -4);
}

TEST(forget_gates, positions_without_a_gate_are_refused_and_the_scores_left_alone) {
  forget_gates const encoding(gates(4, 1), 1, 10);
  std::vector<double> scores{1, 2};
  auto const rejected = [&](std::int64_t query, std::vector<std::int64_t> const& keys) {
    return message_of([&] {
      encoding.adjust_scores(score_row<double>{scores, 0, query, keys, {}});
    });
  };
  EXPECT_EQ(rejected(14, {10, 11}),
            "posenc: forget_gates: the position of the query must be one of 4 from 10 on, got 14");
  EXPECT_EQ(rejected(9, {10, 11}),
            "posenc: forget_gates: the position of the query must be one of 4 from 10 on, got 9");
  EXPECT_EQ(rejected(13, {10, 9}),
            "posenc: forget_gates: the position of the key must be one of 4 from 10 on, got 9");
  EXPECT_EQ(scores, (std::vector<double>{1, 2}));
}

TEST(forget_gates, bad_gates_are_rejected) {
  EXPECT_EQ(
      message_of([] { forget_gates(std::vector<float>(7), 2); }),
      "posenc: forget_gates: there must be one gate for each token and each of 2 heads, got 7");
  EXPECT_EQ(
      message_of([] { forget_gates({}, 0); }),
      "posenc: forget_gates: there must be one gate for each token and each of 0 heads, got 0");
  auto const with = [](float g) { return std::vector<float>{0, 0, 0, g}; };
  EXPECT_EQ(
      message_of([&] { forget_gates(with(0.5f), 2); }),
      "posenc: forget_gates: the logarithms of gates must be finite and at most 0, got 0.5 for "
      "token 1");
  EXPECT_EQ(message_of([&] { forget_gates(with(static_cast<float>(minus_infinity())), 2); }),
            "posenc: forget_gates: the logarithms of gates must be finite and at most 0, got "
            "-infinity for token 1");
  EXPECT_EQ(
      message_of([&] { forget_gates(with(float_of_bits(0x7fc00000)), 2); }),
      "posenc: forget_gates: the logarithms of gates must be finite and at most 0, got NaN for "
      "token 1");
}

TEST(forget_gates, rows_of_other_heads_or_keys_are_refused) {
  rows::of_other_heads_or_keys_are_refused("forget_gates", forget_gates(gates(3, 2), 2), 2);
}

/// A row of one head after the gates of its keys.
std::vector<double> beside_keys(std::vector<double> scores, std::int64_t query,
                                std::vector<std::int64_t> const& keys, std::vector<float> gates) {
  forget_gates(1).adjust_scores(
      score_row<double>{scores,
                        0,
                        query,
                        keys,
                        {},
                        0,
                        0,
                        {},
                        heads_view<float const>(gates.data(), {gates.size(), 1, 1})});
  return scores;
}

TEST(forget_gates, of_the_call_add_what_those_of_a_sequence_add) {
  constexpr std::size_t tokens = 30, heads = 4, kv_heads = 2, dim = 3;
  auto const log_gates = gates(tokens, kv_heads);
  std::vector<float> of_heads;  // the gates of a kv head serve two heads
  for (std::size_t i = 0; i < tokens * heads; ++i)
    of_heads.push_back(log_gates[i / heads * kv_heads + i % heads / 2]);
  auto const q = numbers::random<double>(tokens * heads * dim, 1),
             k = numbers::random<double>(tokens * kv_heads * dim, 2);
  heads_view const of_q(q.data(), {tokens, heads, dim}), of_k(k.data(), {tokens, kv_heads, dim});
  heads_view const sides(log_gates.data(), {tokens, kv_heads, 1});
  for (auto const& m : {mask::causal, mask::causal & mask::sliding_window(5)}) {
    auto const expected = attention(of_q, of_k, of_k, forget_gates(of_heads, heads), {.mask = m});
    auto const actual =
        attention(of_q, of_k, of_k, forget_gates(heads), {.mask = m, .key_side = sides});
    for (std::size_t i = 0; i < expected.outputs.size(); ++i)
      EXPECT_NEAR(actual.outputs[i], expected.outputs[i], 0x1p-40) << i;
  }
  auto const last = attention(of_q.slice_tokens(tokens - 1, 1), of_k, of_k, forget_gates(heads),
                              {.key_side = sides});
  auto const whole = attention(of_q, of_k, of_k, forget_gates(heads), {.key_side = sides});
  for (std::size_t i = 0; i < last.outputs.size(); ++i)
    EXPECT_NEAR(last.outputs[i], whole.outputs[whole.outputs.size() - last.outputs.size() + i],
                0x1p-40);
}

TEST(forget_gates, of_the_call_leave_keys_after_the_query_and_rows_without_keys_alone) {
  EXPECT_EQ(beside_keys({1, 1, 1, 1}, 5, {3, 5, 6, 7}, {-8, -2, 7, 7}),
            (std::vector<double>{-1, 1, 1, 1}));
  EXPECT_TRUE(beside_keys({}, 5, {}, {}).empty());
}

TEST(forget_gates, of_the_call_are_rejected_where_they_are_bad) {
  auto const rejected = [](std::int64_t query, std::vector<std::int64_t> const& keys,
                           std::vector<float> const& gates) {
    return message_of([&] { beside_keys(std::vector<double>(keys.size()), query, keys, gates); });
  };
  EXPECT_EQ(rejected(2, {0, 1, 2}, {}),
            "posenc: forget_gates: key_side must have one gate per key and head, got 0 "
            "tokens of 1 for 3 keys");
  EXPECT_EQ(rejected(2, {0, 2, 1}, {0, 0, 0}),
            "posenc: forget_gates: the positions of keys must ascend, got 1 after 2");
  EXPECT_EQ(rejected(3, {0, 1, 2}, {0, 0, 0}),
            "posenc: forget_gates: there must be a key at the query's position 3, got none");
  EXPECT_EQ(message_of([] { forget_gates(0); }),
            "posenc: forget_gates: heads must be above 0, got 0");
  EXPECT_EQ(rejected(2, {0, 1, 2}, {0, 0.5f, 0}),
            "posenc: forget_gates: the logarithms of gates must be finite and at most 0, "
            "got 0.5 for the key at 1");
}

// Gates for all keys and queries of the laws of penalties and of sums.
// [x-transformers, DataDependentAlibi with causal = False: cumsum differences, tril() of the ones
// and triu() of the others]
TEST(forget_gates, in_both_directions_have_gates_for_keys_after_the_query) {
  constexpr std::size_t tokens = 20, heads = 2;
  auto const log_f = gates(tokens, heads);
  auto log_g = log_f;
  for (auto& g : log_g) g *= 0.5f;
  for (std::int64_t const first : {0, -7}) {
    forget_gates const encoding(log_f, log_g, heads, first), causal(log_f, heads, first);
    EXPECT_TRUE(encoding.is_bidirectional());
    EXPECT_FALSE(causal.is_bidirectional());
    std::vector<std::int64_t> keys;
    for (std::size_t s = 0; s < tokens; ++s) keys.push_back(first + static_cast<std::int64_t>(s));
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t query = 0; query < tokens; ++query) {
        auto const at = keys[query];
        auto const scores = numbers::random<double>(tokens);
        auto const row = rows::adjusted(encoding, scores, head, at, keys);
        for (std::size_t key = 0; key < tokens; ++key) {
          // Gates of keys after the query, from the one behind it to the key's own.
          auto const later = static_cast<double>(
              oracle::forgetting_bias(log_g, heads, head, key > query ? key : query, query));
          auto const expected = key > query ? later : causal.bias(head, at, keys[key]);
          auto const tolerance = tolerance_of(tokens, 2.0 * tokens);
          EXPECT_NEAR(encoding.bias(head, at, keys[key]), expected, tolerance)
              << "query " << query << ", key " << key;
          EXPECT_NEAR(row[key], scores[key] + expected, tolerance);
          EXPECT_LE(encoding.bias(head, at, keys[key]), 0);
        }
      }
    }
  }
}

TEST(forget_gates, in_both_directions_need_a_gate_for_every_key) {
  std::vector<float> const three{-1, -2, -4}, two{-1, -2};
  EXPECT_EQ(
      message_of([&] { forget_gates(three, two, 1); }),
      "posenc: forget_gates: there must be as many gates for keys after the query as for keys "
      "before it, 3, got 2");
  std::vector<float> const wrong{-1, 1, -2};
  EXPECT_EQ(message_of([&] { forget_gates(three, wrong, 1); }),
            "posenc: forget_gates: the logarithms of gates must be finite and at most 0, got 1 for "
            "token 1");
  forget_gates const encoding(three, three, 1);
  EXPECT_EQ(encoding.bias(0, 0, 2), -6);
  EXPECT_EQ(encoding.bias(0, 2, 0), -6);
  EXPECT_EQ(encoding.bias(0, 1, 1), 0);
  std::string const must =
      "posenc: forget_gates: the position of the key must be one of 3 from 0 on, got 3";
  EXPECT_EQ(message_of([&] { encoding.bias(0, 1, 3); }), must);
  std::vector<float> scores(2);
  EXPECT_EQ(
      message_of([&] {
        encoding.adjust_scores(score_row<float>{scores, 0, 1, std::vector<std::int64_t>{0, 3}, {}});
      }),
      must);
  EXPECT_EQ(scores, std::vector<float>(2));
}

TEST(forget_gates, obeys_the_laws_of_its_site) {
  constexpr std::int64_t first = -70'000, last = 70'000;
  auto log_gates = numbers::random<float>(static_cast<std::size_t>(last - first + 1) * 2, 8);
  for (auto& g : log_gates) g -= 1;
  laws::obey("2 heads", forget_gates(log_gates, 2, first), 2, laws::penalty | laws::added);
  laws::obey("in both directions", forget_gates(log_gates, log_gates, 2, first), 2,
             laws::penalty | laws::added);
}

}  // namespace
