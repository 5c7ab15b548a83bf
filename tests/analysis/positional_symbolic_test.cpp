#include "posenc/analysis/positional_symbolic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/attention.hpp"
#include "oracle/rotary.hpp"
#include "oracle/softmax.hpp"
#include "posenc/analysis/positional_budget.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

/// Two numbers by the definition. weights_of(contents): those of one query and one head, where key
/// s has the content contents[s]; NaN where it is hidden. Every stride-th exchange, from the last
/// of the first stride on.
positional_symbolic_score by_definition(std::size_t keys, double temperature,
                                        auto const& weights_of, std::size_t stride = 1) {
  std::vector<std::size_t> contents(keys);
  for (std::size_t s = 0; s < keys; ++s) contents[s] = s;
  auto const before = weights_of(contents);
  double positional = 0, symbolic = 0, sum = 0;
  std::size_t pair = 0;
  for (std::size_t i = 0; i < keys; ++i) {
    for (std::size_t j = i + 1; j < keys; ++j) {
      if (++pair % stride != 0 || !is_finite(before[i]) || !is_finite(before[j])) continue;
      std::swap(contents[i], contents[j]);
      auto const after = weights_of(contents);
      std::swap(contents[i], contents[j]);
      auto const a = before[i], b = before[j], c = after[i], d = after[j];
      auto const norms = std::sqrt((a * a + b * b) * (c * c + d * d));
      auto const weight = std::exp((std::abs(a - b) - 1) / temperature);
      positional += weight * (a * c + b * d) / norms;
      symbolic += weight * (a * d + b * c) / norms;
      sum += weight;
    }
  }
  return {positional / sum, symbolic / sum};
}

constexpr std::size_t head_dim = 16, keys = 14;

struct inputs {
  std::vector<double> q, k;
  explicit inputs(std::size_t queries = 1, std::size_t heads = 1, std::size_t kv_heads = 1)
      : q(numbers::random<double>(queries * heads * head_dim, 1)),
        k(numbers::random<double>(keys * kv_heads * head_dim, 2)) {
    for (auto& x : q) x *= 3;
    queries_ = {queries, heads, head_dim}, keys_ = {keys, kv_heads, head_dim};
  }
  heads_view<double const> queries() const { return {q.data(), queries_}; }
  heads_view<double const> keys_of() const { return {k.data(), keys_}; }

 private:
  heads_shape queries_{}, keys_{};
};

void expect_near(positional_symbolic_score const& found, positional_symbolic_score const& known,
                 double tolerance, std::string const& what = "") {
  EXPECT_NEAR(found.positional, known.positional, tolerance) << what;
  EXPECT_NEAR(found.symbolic, known.symbolic, tolerance) << what;
}

TEST(positional_symbolic, is_that_of_the_definition) {
  // Queries at positions 12 and 13 of two heads, which share their keys; rotated by the oracle.
  inputs const in(2, 2);
  auto const inv_freq = oracle::inv_freq(head_dim, 1e4);
  auto const by_oracle = [&](bool rotates, double slope, bool adapts, std::size_t head) {
    positional_symbolic_score mean{0, 0};
    for (std::size_t t = 0; t < 2; ++t) {
      auto const position = static_cast<double>(keys - 2 + t);
      auto const weights_of = [&](std::vector<std::size_t> const& contents) {
        auto const* const row = in.q.data() + (2 * t + head) * head_dim;
        std::vector<double> q(row, row + head_dim), k, positions;
        if (rotates) oracle::rotate(q, inv_freq, position, oracle::pairing::halves);
        for (std::size_t s = 0; s < keys; ++s) {
          auto const* const key = in.k.data() + contents[s] * head_dim;
          std::vector<double> turned(key, key + head_dim);
          if (rotates)
            oracle::rotate(turned, inv_freq, static_cast<double>(s), oracle::pairing::halves);
          k.insert(k.end(), turned.begin(), turned.end());
          positions.push_back(static_cast<double>(s));
        }
        auto found = oracle::attention(
                         q, k, k, std::vector{position}, positions, {1, 1, head_dim, head_dim},
                         1 / std::sqrt(static_cast<double>(head_dim)),
                         [&](std::size_t, std::size_t s) { return s <= keys - 2 + t; },
                         [&](std::size_t, double at, double s) { return -slope * (at - s); },
                         adapts ? oracle::row_temperature(oracle::adaptive_beta) : nullptr)
                         .weights;
        for (auto s = keys - 1 + t; s < keys; ++s) found[s] = not_a_number();
        return found;
      };
      auto const one = by_definition(keys, 0.05, weights_of);
      mean.positional += one.positional / 2, mean.symbolic += one.symbolic / 2;
    }
    return mean;
  };
  rope<halves> const turned(geometric(head_dim, 1e4));
  auto const compare = [&](auto const& encoding, bool rotates, double slope, bool adapts) {
    // An error of an entropy grows in the polynomial, and in e^(|a - b| / 0.05).
    auto const tolerance = adapts ? 1e-9 : 1e-10;
    auto const found = positional_symbolic(in.queries(), in.keys_of(), encoding);
    ASSERT_EQ(found.size(), 2u);
    for (std::size_t head = 0; head < 2; ++head)
      expect_near(found[head], by_oracle(rotates, slope, adapts, head), tolerance);
  };
  compare(nope(), false, 0, false);
  compare(turned, true, 0, false);
  compare(scheme{turned, alibi::with_slopes({0.5, 0.5})}, true, 0.5, false);
  compare(scheme{turned, adaptive_temperature{}}, true, 0, true);
}

TEST(positional_symbolic, takes_any_encoding_and_mask) {
  inputs const in;
  auto const compare = [&](char const* what, auto const& encoding, attention_options options) {
    auto const weights_of = [&](std::vector<std::size_t> const& contents) {
      std::vector<double> k;
      for (auto const s : contents)
        k.insert(k.end(), in.k.data() + s * head_dim, in.k.data() + (s + 1) * head_dim);
      heads_view<double const> const exchanged(k.data(), {keys, 1, head_dim});
      auto with = options;
      with.keep_weights = with.keep_scores = true;
      auto const all = attention(in.queries(), exchanged, exchanged, encoding, with);
      auto result = all.weights;
      for (std::size_t s = 0; s < keys; ++s)
        if (!is_finite(all.scores[s])) result[s] = not_a_number();
      return result;
    };
    expect_near(positional_symbolic(in.queries(), in.keys_of(), encoding, options)[0],
                by_definition(keys, 0.05, weights_of), 1e-10, what);
  };
  rope<halves> const turned(geometric(head_dim, 1e4));
  compare("RoPE, far positions", turned,
          {.query_positions = {1000},
           .key_positions = {7, 3, 900, 901, 902, 10, 20, 30, 40, 50, 999, 998, 0, 1}});
  compare("a window of 5", turned, {.mask = mask::sliding_window(5)});
}

TEST(positional_symbolic, of_uniform_attention_alone_are_both_1) {
  inputs in;
  rope<halves> const turned(geometric(head_dim, 1e4));
  auto const random = positional_symbolic(in.queries(), in.keys_of(), turned)[0];
  EXPECT_LT(random.positional + random.symbolic, 1.9);
  for (auto& x : in.q) x = 0;
  expect_near(positional_symbolic(in.queries(), in.keys_of(), turned)[0], {1, 1}, 1e-14);
}

TEST(positional_symbolic, without_positions_is_symbolic_and_of_one_content_positional) {
  inputs in;
  auto const symbolic = positional_symbolic(in.queries(), in.keys_of(), nope())[0];
  EXPECT_NEAR(symbolic.symbolic, 1, 1e-14);
  EXPECT_LT(symbolic.positional, 0.9);
  auto const f = geometric(head_dim, 1e4);
  auto const head = positional_head<halves>(f, 1, 4, 20, head_dim);
  heads_view<double const> const q(head.query.data(), {1, 1, head_dim}),
      k(head.key.data(), {keys, 1, head_dim}, {0, 0});
  auto const positional = positional_symbolic(q, k, rope<halves>(f))[0];
  EXPECT_NEAR(positional.positional, 1, 1e-14);
  EXPECT_LT(positional.symbolic, 0.1);
  EXPECT_EQ(positional_symbolic(q, k, nope())[0].symbolic, 1);
}

TEST(positional_symbolic, of_one_pair_has_the_measured_values) {
  // A head of one pair of 64, base 1e4, with a score of 8, among 64 keys sqrt(1 - s) psi + sqrt(s)
  // content. The values were measured by another program, on other draws: within 0.12.
  struct measured {
    double s;
    std::array<std::pair<double, double>, 4> of_pairs;  ///< 0, 16, 48 and 63
  };
  std::array<std::size_t, 4> const pairs{0, 16, 48, 63};
  auto const f = geometric(128, 1e4);
  auto const psi = std::sqrt(8 * std::sqrt(2.0));
  for (auto const& [s, known] :
       {measured{0.0, {{{1.00, .11}, {1.00, .10}, {1.00, .99}, {1.00, 1.00}}}},
        measured{0.1, {{{.88, .20}, {.90, .17}, {.18, 1.00}, {.16, 1.00}}}},
        measured{0.5, {{{.70, .33}, {.63, .39}, {.02, 1.00}, {.01, 1.00}}}},
        measured{1.0, {{{.54, .50}, {.53, .51}, {.02, 1.00}, {.01, 1.00}}}}}) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      rope<halves> const encoding(frequencies({f.inv_freq()[pairs[i]]}));
      std::mt19937_64 bits(3);
      std::normal_distribution<double> normal(0, psi * std::sqrt(s / 2));
      std::vector<double> const q{psi, 0};
      positional_symbolic_score mean{0, 0};
      for (int draw = 0; draw < 8; ++draw) {
        std::vector<double> k(2 * 64);
        for (auto& x : k) x = normal(bits);
        for (std::size_t t = 0; t < 64; ++t) k[2 * t] += psi * std::sqrt(1 - s);
        heads_view<double const> const query(q.data(), {1, 1, 2}), all(k.data(), {64, 1, 2});
        auto const found = positional_symbolic(query, all, encoding)[0];
        mean.positional += found.positional / 8, mean.symbolic += found.symbolic / 8;
      }
      expect_near(mean, {known[i].first, known[i].second}, 0.12,
                  std::to_string(s) + ", pair " + std::to_string(pairs[i]));
    }
  }
}

TEST(positional_symbolic, takes_exchanges_evenly_and_the_temperature) {
  inputs const in;
  alibi const encoding = alibi::with_slopes({0.5});
  auto const weights_of = [&](std::vector<std::size_t> const& contents) {
    std::vector<double> scores;
    for (std::size_t s = 0; s < keys; ++s) {
      double score = 0;
      for (std::size_t dim = 0; dim < head_dim; ++dim)
        score += in.q[dim] * in.k[contents[s] * head_dim + dim] / 4;
      scores.push_back(score - 0.5 * static_cast<double>(keys - 1 - s));
    }
    return oracle::softmax(scores);
  };
  // 91 pairs: each 7th, and all.
  expect_near(positional_symbolic(in.queries(), in.keys_of(), encoding, {}, {.exchanges = 13})[0],
              by_definition(keys, 0.05, weights_of, 7), 1e-10);
  for (double const temperature : {0.01, 0.3, 1e6})
    expect_near(positional_symbolic(in.queries(), in.keys_of(), encoding, {}, {91, temperature})[0],
                by_definition(keys, temperature, weights_of), 1e-9);
  auto const sharp = positional_symbolic(in.queries(), in.keys_of(), encoding, {}, {91, 1e-9})[0];
  EXPECT_TRUE(is_finite(sharp.positional) && is_finite(sharp.symbolic));
}

TEST(positional_symbolic, takes_any_storage) {
  rope<halves> const encoding(geometric(head_dim, 1e4));
  numbers::in_every_format([&]<class T>() {
    auto q = numbers::random<T>(head_dim, 1), k = numbers::random<T>(keys * head_dim, 2);
    auto q_exact = numbers::exact(q), k_exact = numbers::exact(k);
    expect_near(positional_symbolic(numbers::view(q, 1, head_dim), numbers::view(k, keys, head_dim),
                                    encoding)[0],
                positional_symbolic(numbers::view(q_exact, 1, head_dim),
                                    numbers::view(k_exact, keys, head_dim), encoding)[0],
                2e-5);
  });
}

TEST(positional_symbolic, bad_input_is_rejected) {
  inputs const in;
  auto const error = [&](attention_options const& options,
                         positional_symbolic_settings const& settings) {
    return message_of(
        [&] { positional_symbolic(in.queries(), in.keys_of(), nope(), options, settings); });
  };
  EXPECT_EQ(error({}, {.exchanges = 0}),
            "posenc: positional_symbolic: exchanges must be positive, got 0");
  for (double const temperature : {0.0, -1.0, not_a_number(), infinity()})
    EXPECT_EQ(error({}, {.temperature = temperature})
                  .find("posenc: positional_symbolic: temperature must be finite and positive, "),
              0u);
  EXPECT_EQ(error({.keys_are_encoded = true}, {}),
            "posenc: positional_symbolic: keys must not be encoded");
  EXPECT_EQ(
      error({.mask = mask::sliding_window(1)}, {}),
      "posenc: positional_symbolic: a query must see two keys with weight, got none in head 0");
  EXPECT_EQ(
      message_of([&] { positional_symbolic(in.queries(), in.keys_of().slice_dims(0, 8), nope()); }),
      "posenc: positional_symbolic: keys must have the queries' head_dim 16, got 8");
}

}  // namespace
