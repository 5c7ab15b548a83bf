#pragma once

/// The library's attention against the textbook's, with tolerances from the arithmetic: what an
/// error in a number of q or k does to a score, that to a weight, and that to an output.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attention/tensor.hpp"
#include "numbers.hpp"
#include "oracle/alibi.hpp"
#include "oracle/attention.hpp"
#include "oracle/rotary.hpp"
#include "oracle/sinusoidal.hpp"
#include "posenc/attention/attention.hpp"
#include "tolerance.hpp"

namespace textbook {

using positions = std::vector<std::int64_t>;

struct problem {
  char const* name;
  std::size_t queries, keys, heads, kv_heads, head_dim, value_dim;
  posenc::mask mask = posenc::mask::causal;
  positions query_positions = {}, key_positions = {};  ///< as attention_options has them
  std::optional<double> scale = {};
  memory where = memory::dense;
  /// What the mask means, by tokens and positions of query and key; full and causal need not say
  /// it.
  std::function<bool(std::size_t t, std::size_t s, std::int64_t query, std::int64_t key)> sees =
      nullptr;
};

/// What an encoding is to the oracle.
struct meaning {
  std::function<void(std::span<double> head, std::int64_t position)> encode = [](std::span<double>,
                                                                                 std::int64_t) {};
  oracle::score_bias bias = nullptr;
  bool adaptive = false;
};

inline meaning embedded(std::size_t dim) {
  return {.encode = [=](std::span<double> head, std::int64_t position) {
    auto const p =
        oracle::sinusoidal_row(static_cast<long double>(position), dim,
                               oracle::sinusoid_order::interleaved, oracle::sinusoid_divisor::half);
    for (std::size_t i = 0; i < dim; ++i) head[i] += p[i];
  }};
}

inline meaning rotated(std::vector<double> inv_freq, oracle::pairing pairs,
                       std::size_t first_dim = 0, double attention_factor = 1) {
  return {.encode = [=](std::span<double> head, std::int64_t position) {
    oracle::rotate(head, inv_freq, static_cast<long double>(position), pairs, first_dim,
                   attention_factor);
  }};
}

inline meaning biased(std::size_t heads) {
  return {.bias = [=](std::size_t head, double q, double k) {
    return oracle::bias(head, heads, q, k);
  }};
}

inline meaning sharpened() { return {.adaptive = true}; }

/// One after the other.
inline meaning operator+(meaning const& a, meaning const& b) {
  return {
      .encode = [=](std::span<double> head,
                    std::int64_t position) { a.encode(head, position), b.encode(head, position); },
      .bias = a.bias ? a.bias : b.bias,
      .adaptive = a.adaptive || b.adaptive};
}

template <class T>
class comparison {
 public:
  explicit comparison(problem const& given)
      : given_(given),
        q_({given.queries, given.heads, given.head_dim},
           given.where == memory::repeated ? memory::dense : given.where, 1),
        k_({given.keys, given.kv_heads, given.head_dim}, given.where, 2),
        v_({given.keys, given.kv_heads, given.value_dim}, given.where, 3),
        scale_(given.scale.value_or(1 / std::sqrt(static_cast<double>(given.head_dim)))),
        q_at_(given.query_positions),
        k_at_(given.key_positions) {
    // Where no positions are given, the queries are the last of the keys.
    while (k_at_.size() < given.keys) k_at_.push_back(static_cast<std::int64_t>(k_at_.size()));
    while (q_at_.size() < given.queries)
      q_at_.push_back(k_at_[given.keys - given.queries + q_at_.size()]);
  }

  template <class Encoding>
  void expect(Encoding const& encoding, meaning const& means) {
    ask_oracle(means);
    auto const q_before = q_.buffer(), k_before = k_.buffer(), v_before = v_.buffer();
    auto const actual = posenc::attention(q_.view(), k_.view(), v_.view(), encoding,
                                          {.mask = given_.mask,
                                           .scale = given_.scale,
                                           .query_positions = given_.query_positions,
                                           .key_positions = given_.key_positions,
                                           .keep_scores = true,
                                           .keep_weights = true});
    EXPECT_TRUE(numbers::same_bits(q_.buffer(), q_before));
    EXPECT_TRUE(numbers::same_bits(k_.buffer(), k_before));
    EXPECT_TRUE(numbers::same_bits(v_.buffer(), v_before));
    ASSERT_EQ(actual.outputs.size(), expected_.outputs.size());
    ASSERT_EQ(actual.scores.size(), expected_.logits.size());
    ASSERT_EQ(actual.weights.size(), expected_.weights.size());
    for (std::size_t head = 0; head < given_.heads; ++head) {
      for (std::size_t t = 0; t < given_.queries; ++t) {
        SCOPED_TRACE(testing::Message() << "head " << head << ", query " << t);
        auto const of_scores = expect_scores(actual, head, t);
        auto const of_weights = expect_weights(actual, head, t, of_scores, means.adaptive);
        expect_outputs(actual, head, t, of_weights);
      }
    }
  }

 private:
  void ask_oracle(meaning const& means) {
    auto const encode = [&](std::vector<double>& x, positions const& at, std::size_t heads) {
      for (std::size_t i = 0; i < at.size() * heads; ++i)
        means.encode(std::span(x).subspan(i * given_.head_dim, given_.head_dim), at[i / heads]);
    };
    q_encoded_ = q_.exact(), k_encoded_ = k_.exact(), values_ = v_.exact();
    encode(q_encoded_, q_at_, given_.heads);
    encode(k_encoded_, k_at_, given_.kv_heads);
    expected_ = oracle::attention(
        q_encoded_, k_encoded_, values_, std::vector<double>(q_at_.begin(), q_at_.end()),
        std::vector<double>(k_at_.begin(), k_at_.end()),
        {given_.heads, given_.kv_heads, given_.head_dim, given_.value_dim}, scale_,
        [&](std::size_t t, std::size_t s) { return seen(t, s); }, means.bias,
        means.adaptive ? oracle::row_temperature(oracle::adaptive_beta) : nullptr);
  }

  std::size_t row_of(std::size_t head, std::size_t t) const {
    return (head * given_.queries + t) * given_.keys;
  }
  std::size_t kv_head_of(std::size_t head) const { return head / (given_.heads / given_.kv_heads); }
  bool seen(std::size_t t, std::size_t s) const {
    if (given_.sees) return given_.sees(t, s, q_at_[t], k_at_[s]);
    return given_.mask == posenc::mask::full || k_at_[s] <= q_at_[t];
  }

  /// By how much an encoded number may be off, where inputs and embeddings are within [-1, 1],
  /// frequencies are rounded powers, and the attention factor is up to 1.25: the embedding adds a
  /// cosine's error and a rounding of 2; rotating passes that on sqrt 2 fold, and adds its own for
  /// numbers up to 2.
  double error_of_a_number() const {
    std::int64_t farthest = 0;
    for (auto const& at : {q_at_, k_at_})
      for (auto const position : at) farthest = std::max(farthest, std::abs(position));
    auto const angle = tolerance::of_angle(static_cast<double>(farthest), 1);
    auto const embedding = angle + tolerance::of_cosine<T>() + 2 * tolerance::unit_roundoff<T>();
    return 1.25 * std::sqrt(2.0) * (embedding + 2 * angle) +
           tolerance::of_rotated<T>(2, 2, 2 * std::sqrt(2.0), 1.25);
  }

  /// Answers by how much any score of the row may be off: by the numbers of either vector, their
  /// dot product, its scale, and the bias.
  double expect_scores(posenc::attention_result<T> const& actual, std::size_t head,
                       std::size_t t) const {
    auto const dim = given_.head_dim, row = row_of(head, t);
    auto const of_number = error_of_a_number();
    double largest = 0;
    for (std::size_t s = 0; s < given_.keys; ++s) {
      EXPECT_EQ(posenc::is_masked(actual.scores[row + s]), !seen(t, s)) << "key " << s;
      if (!seen(t, s)) continue;
      double products = 0, numbers = 0;
      for (std::size_t i = 0; i < dim; ++i) {
        auto const a = std::abs(q_encoded_[(t * given_.heads + head) * dim + i]);
        auto const b = std::abs(k_encoded_[(s * given_.kv_heads + kv_head_of(head)) * dim + i]);
        products += a * b, numbers += a + b;
      }
      auto const score = expected_.logits[row + s];
      auto const of_product = (numbers + static_cast<double>(dim) * of_number) * of_number +
                              tolerance::of_dot_product<T>(dim + 2, products);
      auto const roundings =
          4 * tolerance::unit_roundoff<T>() * (std::abs(score) + std::abs(scale_) * products);
      EXPECT_NEAR(static_cast<double>(actual.scores[row + s]), score,
                  std::abs(scale_) * of_product + roundings)
          << "key " << s;
      largest = std::max(largest, std::abs(scale_) * of_product + roundings);
    }
    return largest;
  }

  /// Answers by how much each weight may be off: by the scores, times the temperature, against
  /// those of all others; and its arithmetic.
  ///
  /// Where the scores of n keys are off by e, H is off by at most 2 H e, H being at most ln n. The
  /// adaptive beta is off by that, and by the published epsilon of 1e-9 per key, times |P'|, which
  /// is at most 2.53 where P exceeds 1. And that times how far a score is below the mean of the
  /// row, which is at most ln n below its maximum.
  std::vector<double> expect_weights(posenc::attention_result<T> const& actual, std::size_t head,
                                     std::size_t t, double of_scores, bool adaptive) const {
    auto const row = row_of(head, t);
    std::size_t keys = 0;
    double max = 0;
    for (std::size_t s = 0; s < given_.keys; ++s) {
      if (!seen(t, s)) continue;
      max = keys++ == 0 ? expected_.logits[row + s] : std::max(max, expected_.logits[row + s]);
    }
    auto const n = static_cast<double>(keys), evenest = keys == 0 ? 0 : std::log(n),
               beta = adaptive ? 2.43 : 1;
    auto const of_entropy = 2 * evenest * std::expm1(2 * of_scores) +
                            tolerance::of_entropy<T>(evenest, keys) + 1e-9 * n;
    auto const of_beta = adaptive ? 2.53 * of_entropy : 0;

    std::vector<double> of_weights(given_.keys);
    for (std::size_t s = 0; s < given_.keys; ++s) {
      auto const weight = seen(t, s) ? expected_.weights[row + s] : 0;
      auto const below = seen(t, s) ? max - expected_.logits[row + s] : 0;
      if (seen(t, s))
        of_weights[s] = tolerance::of_weight_by_scores(
                            weight, beta * of_scores + of_beta * std::max(below, evenest)) +
                        tolerance::of_weight<T>(weight, beta * below, given_.keys);
      EXPECT_NEAR(static_cast<double>(actual.weights[row + s]), weight, of_weights[s])
          << "key " << s;
    }
    return of_weights;
  }

  /// A dot product with weights that are off.
  void expect_outputs(posenc::attention_result<T> const& actual, std::size_t head, std::size_t t,
                      std::vector<double> const& of_weights) const {
    for (std::size_t i = 0; i < given_.value_dim; ++i) {
      double of_output = 0, products = 0;
      for (std::size_t s = 0; s < given_.keys; ++s) {
        if (!seen(t, s)) continue;
        auto const value =
            std::abs(values_[(s * given_.kv_heads + kv_head_of(head)) * given_.value_dim + i]);
        of_output += of_weights[s] * value,
            products += expected_.weights[row_of(head, t) + s] * value;
      }
      auto const at = (t * given_.heads + head) * given_.value_dim + i;
      auto const output = products == 0 ? 0 : expected_.outputs[at];
      EXPECT_NEAR(static_cast<double>(actual.outputs[at]), output,
                  of_output + tolerance::of_dot_product<T>(given_.keys, products))
          << "dim " << i;
    }
  }

  problem given_;
  tensor<T> q_, k_, v_;
  double scale_;
  positions q_at_, k_at_;
  std::vector<double> q_encoded_, k_encoded_, values_;
  oracle::attention_result expected_;
};

}  // namespace textbook
