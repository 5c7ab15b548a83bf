#include "posenc/softmax/attention_sinks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "laws/softmax_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/attention/merge.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "posenc/softmax/softmax.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

/// e^(beta x_s) / (e^sink + sum_j e^(beta x_j)), and the logarithm of the denominator.
std::vector<oracle::wide> textbook(std::vector<double> const& x, double beta, double sink,
                                   oracle::wide& log_sum_exp) {
  oracle::wide sum = oracle::exp(static_cast<oracle::wide>(sink));
  for (auto const score : x) sum += oracle::exp(static_cast<oracle::wide>(beta * score));
  std::vector<oracle::wide> weights;
  for (auto const score : x)
    weights.push_back(oracle::exp(static_cast<oracle::wide>(beta * score)) / sum);
  log_sum_exp = oracle::log(sum);
  return weights;
}

TEST(attention_sinks, a_sink_takes_its_share_of_a_row_and_no_temperature_multiplies_it) {
  auto const x = numbers::random<double>(19, 4);
  for (double const beta : {0.0, 0.5, 1.0, 3.0}) {
    for (double const sink : {-800.0, -5.0, 0.0, 0.7, 4.0, 800.0}) {
      oracle::wide log_sum_exp = 0;
      auto const expected = textbook(x, beta, sink, log_sum_exp);
      auto weights = x;
      softmax(std::span(weights), statistics(std::span<double const>(x)), beta, sink);
      for (std::size_t s = 0; s < x.size(); ++s) {
        // The share is computed from a logarithm as large as the sink.
        auto const expected_weight = static_cast<double>(expected[s]);
        EXPECT_NEAR(weights[s], expected_weight,
                    tolerance::of_weight<double>(expected_weight, 8, x.size()) +
                        expected_weight * 8 * std::max(std::abs(sink), 8.0) *
                            tolerance::unit_roundoff<double>())
            << beta << ' ' << sink;
      }
    }
  }
}

TEST(attention_sinks, of_0_are_softmax_off_by_one) {
  EXPECT_EQ(softmax_off_by_one().sink(3), 0);
  std::vector<double> one{0};  // e^0 / (1 + e^0)
  softmax(std::span(one), statistics(std::span<double const>(one)), 1,
          softmax_off_by_one().sink(0));
  EXPECT_NEAR(one[0], 0.5, 1e-15);
  EXPECT_EQ(attention_sinks({0.0, 0.0}).sink(1), softmax_off_by_one().sink(1));
}

TEST(attention_sinks, of_several_in_a_scheme_take_as_much_as_all) {
  scheme const both(attention_sinks({1.0}), scheme(softmax_off_by_one(), constant_temperature(2)));
  EXPECT_NEAR(both.sink(0), std::log(std::exp(1.0) + 1), 1e-15);
  EXPECT_EQ(both.inverse_temperature({}), 2);
}

struct problem {
  static constexpr std::size_t queries = 6, keys = 12, heads = 4, kv_heads = 2, dim = 8;
  std::vector<double> q = numbers::random<double>(queries * heads * dim, 1),
                      k = numbers::random<double>(keys * kv_heads * dim, 2),
                      v = numbers::random<double>(keys * kv_heads * dim, 3);
  attention_result<double> attend(auto const& encoding, std::size_t first,
                                  std::size_t count) const {
    std::vector<std::int64_t> at, last{-1, 0, 3, 7, 11, 40};  // the first query sees nothing
    for (std::size_t s = first; s < first + count; ++s) at.push_back(static_cast<std::int64_t>(s));
    return attention(
        heads_view<double const>(q.data(), {queries, heads, dim}),
        heads_view<double const>(k.data(), {keys, kv_heads, dim}).slice_tokens(first, count),
        heads_view<double const>(v.data(), {keys, kv_heads, dim}).slice_tokens(first, count),
        encoding,
        {.query_positions = last, .key_positions = at, .keep_scores = true, .keep_weights = true});
  }
};

TEST(attention_sinks, join_every_row_of_attention) {
  problem const p;
  std::vector<double> const logits{-1, 0, 0.5, 3};
  auto const result =
      p.attend(scheme(attention_sinks(logits), constant_temperature(1.5)), 0, p.keys);
  for (std::size_t head = 0; head < p.heads; ++head) {
    for (std::size_t t = 0; t < p.queries; ++t) {
      auto const row = (head * p.queries + t) * p.keys;
      std::vector<double> seen;
      for (std::size_t s = 0; s < p.keys; ++s) {
        if (!is_masked(result.scores[row + s])) seen.push_back(result.scores[row + s]);
      }
      oracle::wide log_sum_exp = 0;
      auto const expected = textbook(seen, 1.5, logits[head], log_sum_exp);
      EXPECT_NEAR(result.log_sum_exp[t * p.heads + head], static_cast<double>(log_sum_exp), 1e-14);
      for (std::size_t s = 0; s < seen.size(); ++s) {
        EXPECT_NEAR(result.weights[row + s], static_cast<double>(expected[s]),
                    tolerance::of_weight<double>(1, 8, p.keys));
      }
      for (std::size_t i = 0; seen.empty() && i < p.dim; ++i)
        EXPECT_EQ(result.outputs[(t * p.heads + head) * p.dim + i], 0);
    }
  }
}

TEST(attention_sinks, of_one_shard_of_the_keys_are_those_of_all) {
  problem const p;
  attention_sinks const sinks({-1, 0, 0.5, 3});
  auto const whole = p.attend(sinks, 0, p.keys),
             merged = merge(p.attend(sinks, 0, 5), p.attend(nope(), 5, p.keys - 5)),
             of_none = merge(p.attend(sinks, 0, 0), p.attend(nope(), 0, p.keys));
  for (auto const* const other : {&merged, &of_none}) {
    for (std::size_t i = 0; i < whole.outputs.size(); ++i)
      EXPECT_NEAR(other->outputs[i], whole.outputs[i], 1e-14);
    for (std::size_t i = 0; i < whole.log_sum_exp.size(); ++i)
      EXPECT_NEAR(other->log_sum_exp[i], whole.log_sum_exp[i], 1e-14);
  }
}

TEST(attention_sinks, that_are_not_finite_or_of_no_head_are_rejected) {
  EXPECT_EQ(message_of([] { attention_sinks({}); }),
            "posenc: attention_sinks: there must be a logit for at least one head, got none");
  EXPECT_EQ(message_of([] {
              attention_sinks({0.0, not_a_number()});
            }),
            "posenc: attention_sinks: logits must be finite, got NaN for head 1");
  EXPECT_EQ(message_of([] {
              static_cast<void>(attention_sinks({0.0, 1.0}).sink(2));
            }),
            "posenc: attention_sinks: the head must be below 2, got 2");
}

TEST(attention_sinks, obey_the_laws_of_sinks) {
  laws::obey_with_sinks("6 heads", attention_sinks({-1000, -5, 0, 0.7, 4, 1000}), 6);
  laws::obey_with_sinks("softmax off by one", softmax_off_by_one{}, 1);
  laws::obey_with_sinks("several", scheme(attention_sinks({1, -2}), softmax_off_by_one{}, alibi(2)),
                        2);
}

}  // namespace
