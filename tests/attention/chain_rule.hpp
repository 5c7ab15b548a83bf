#pragma once

/// The library's gradients of attention against the oracle's, with tolerances from the arithmetic:
/// what an error in a score does to a weight, that to an output, both to the gradient of a score,
/// and that to those of queries and keys.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "attention/tensor.hpp"
#include "attention/textbook.hpp"
#include "oracle/alibi.hpp"
#include "oracle/attention.hpp"
#include "oracle/attention_gradients.hpp"
#include "oracle/rotary.hpp"
#include "posenc/attention/gradients.hpp"
#include "tolerance.hpp"

namespace chain_rule {

/// What the encoding is to the oracle: embedded by sinusoids, rotated in halves by these
/// frequencies, if there are any, and biased as by ALiBi.
struct meaning {
  std::vector<double> inv_freq = {};
  bool biased = false, embedded = false;
};

/// The numbers that a view shows, one head after another.
template <class T>
std::vector<double> exact(posenc::heads_view<T const> const& view) {
  std::vector<double> result;
  for (std::size_t token = 0; token < view.tokens(); ++token)
    for (std::size_t head = 0; head < view.heads(); ++head)
      for (auto const& x : view(token, head))
        result.push_back(static_cast<double>(posenc::load(x)));
  return result;
}

/// Numbers, and by how much each may be off.
struct bounded {
  std::vector<double> numbers, errors;
};

/// What gradients should be, and by how much they may be off, where arithmetic is in A.
template <class A>
class expectation {
 public:
  /// Of these numbers, as attention is given them.
  expectation(textbook::problem const& given, meaning const& means, std::vector<double> q,
              std::vector<double> k, std::vector<double> const& v, std::vector<double> const& d)
      : given_(given),
        scale_(given.scale.value_or(1 / std::sqrt(static_cast<double>(given.head_dim)))),
        q_at_(given.query_positions),
        k_at_(given.key_positions) {
    while (k_at_.size() < given.keys) k_at_.push_back(static_cast<std::int64_t>(k_at_.size()));
    while (q_at_.size() < given.queries)
      q_at_.push_back(k_at_[given.keys - given.queries + q_at_.size()]);
    encode(q, q_at_, given_.heads, means), encode(k, k_at_, given_.kv_heads, means);
    oracle::attention_shape const shape{given_.heads, given_.kv_heads, given_.head_dim,
                                        given_.value_dim};
    auto const biases = [&](std::size_t head, double t, double s) {
      return means.biased ? oracle::bias(head, given_.heads, t, s) : 0;
    };
    auto const expected = oracle::attention(
        q, k, v, std::vector<double>(q_at_.begin(), q_at_.end()),
        std::vector<double>(k_at_.begin(), k_at_.end()), shape, scale_,
        [&](std::size_t t, std::size_t s) { return seen(t, s); }, biases);
    auto const gradients = oracle::differentiate(q, k, v, expected.weights, d, shape, scale_);
    of_number_ = means.inv_freq.empty()
                     ? 0
                     : tolerance::of_rotated<A>(1, 1, 2) + 2 * tolerance::of_angle(farthest(), 1);
    if (means.embedded)
      of_number_ += tolerance::of_angle(farthest(), 1) + tolerance::of_cosine<A>() +
                    2 * u;  // of cosines; rounded once
    q_.numbers = rounded(gradients.q), k_.numbers = rounded(gradients.k),
    v_.numbers = rounded(gradients.v);
    bound(q, k, v, d, expected, gradients);
    turn_back(q_, q_at_, given_.heads, means), turn_back(k_, k_at_, given_.kv_heads, means);
  }

  void expect(posenc::attention_gradients<A> const& actual) const {
    expect_near("q", actual.q, q_);
    expect_near("k", actual.k, k_);
    expect_near("v", actual.v, v_);
  }

 private:
  static constexpr double u = tolerance::unit_roundoff<A>();

  bool seen(std::size_t t, std::size_t s) const {
    if (given_.sees) return given_.sees(t, s, q_at_[t], k_at_[s]);
    return given_.mask == posenc::mask::full || k_at_[s] <= q_at_[t];
  }
  double farthest() const {
    std::int64_t most = 0;
    for (auto const& at : {q_at_, k_at_})
      for (auto const position : at) most = std::max(most, std::abs(position));
    return static_cast<double>(most);
  }

  void encode(std::vector<double>& x, textbook::positions const& at, std::size_t heads,
              meaning const& means) const {
    for (std::size_t i = 0; i < at.size() * heads && means.embedded; ++i)
      textbook::embedded(given_.head_dim)
          .encode(std::span(x).subspan(i * given_.head_dim, given_.head_dim), at[i / heads]);
    for (std::size_t i = 0; i < at.size() * heads && !means.inv_freq.empty(); ++i)
      oracle::rotate(std::span(x).subspan(i * given_.head_dim, given_.head_dim), means.inv_freq,
                     static_cast<long double>(at[i / heads]), oracle::pairing::halves);
  }

  /// Errors of both numbers of a pair reach either, and turning adds its own.
  void turn_back(bounded& d, textbook::positions const& at, std::size_t heads,
                 meaning const& means) const {
    auto const pairs = means.inv_freq.size();
    for (std::size_t i = 0; i < at.size() * heads && pairs > 0; ++i) {
      auto const head = std::span(d.numbers).subspan(i * given_.head_dim, given_.head_dim);
      auto const errors = std::span(d.errors).subspan(i * given_.head_dim, given_.head_dim);
      std::vector<double> const before(head.begin(), head.end());
      oracle::rotate(head, means.inv_freq, -static_cast<long double>(at[i / heads]),
                     oracle::pairing::halves);
      for (std::size_t pair = 0; pair < pairs; ++pair) {
        auto const x = std::abs(before[pair]), y = std::abs(before[pair + pairs]),
                   both = errors[pair] + errors[pair + pairs];
        auto const turning = tolerance::of_angle(farthest(), means.inv_freq[pair]) * (x + y);
        errors[pair] = both + turning + tolerance::of_rotated<A>(x, y, x + y);
        errors[pair + pairs] = errors[pair];
      }
    }
  }

  static std::vector<double> rounded(std::vector<oracle::sum_and_magnitude> const& sums) {
    std::vector<double> result;
    for (auto const& x : sums) result.push_back(static_cast<double>(x.sum));
    return result;
  }

  /// The errors of q_, k_ and v_, of encoded queries and keys.
  void bound(std::vector<double> const& q, std::vector<double> const& k,
             std::vector<double> const& v, std::vector<double> const& d,
             oracle::attention_result const& expected,
             oracle::attention_gradients const& gradients) {
    auto const dim = given_.head_dim, value_dim = given_.value_dim, keys = given_.keys;
    auto const rows_of_key = given_.queries * given_.heads / given_.kv_heads;
    q_.errors.assign(q.size(), 0), k_.errors.assign(k.size(), 0), v_.errors.assign(v.size(), 0);
    auto const sums = [](std::vector<double>& errors,
                         std::vector<oracle::sum_and_magnitude> const& of, std::size_t terms) {
      for (std::size_t i = 0; i < of.size(); ++i)
        errors[i] = tolerance::of_dot_product<A>(terms + 4, static_cast<double>(of[i].magnitude)) +
                    std::numeric_limits<A>::min();
    };
    sums(q_.errors, gradients.q, keys), sums(k_.errors, gradients.k, rows_of_key),
        sums(v_.errors, gradients.v, rows_of_key);
    for (std::size_t head = 0; head < given_.heads; ++head) {
      for (std::size_t t = 0; t < given_.queries; ++t) {
        auto const row = (head * given_.queries + t) * keys, of_row = t * given_.heads + head;
        auto const kv = [&](std::size_t s) {
          return s * given_.kv_heads + head / (given_.heads / given_.kv_heads);
        };
        double of_scores = 0, max = -1e300;
        for (std::size_t s = 0; s < keys; ++s) {
          if (!seen(t, s)) continue;
          double products = 0, numbers = 0;
          for (std::size_t i = 0; i < dim; ++i) {
            auto const a = std::abs(q[of_row * dim + i]), b = std::abs(k[kv(s) * dim + i]);
            products += a * b, numbers += a + b;
          }
          auto const of_product = (numbers + static_cast<double>(dim) * of_number_) * of_number_;
          of_scores = std::max(
              of_scores,
              std::abs(scale_) * (of_product + tolerance::of_dot_product<A>(dim + 4, products)) +
                  4 * u * std::abs(expected.logits[row + s]));
          max = std::max(max, expected.logits[row + s]);
        }
        std::vector<double> of_weights(keys), of_outputs(value_dim);
        for (std::size_t s = 0; s < keys; ++s) {
          auto const p = expected.weights[row + s];
          if (seen(t, s))
            of_weights[s] = tolerance::of_weight_by_scores(p, of_scores) +
                            tolerance::of_weight<A>(p, max - expected.logits[row + s], keys);
          for (std::size_t i = 0; i < value_dim; ++i) {
            auto const value = std::abs(v[kv(s) * value_dim + i]);
            of_outputs[i] += of_weights[s] * value + tolerance::of_dot_product<A>(keys, p * value);
            v_.errors[kv(s) * value_dim + i] += of_weights[s] * std::abs(d[of_row * value_dim + i]);
          }
        }
        double mean = 0, of_mean = 0;  // rowsum(dO o O), in double, rounded to A
        for (std::size_t i = 0; i < value_dim; ++i) {
          auto const output = std::abs(expected.outputs[of_row * value_dim + i]),
                     d_output = std::abs(d[of_row * value_dim + i]);
          mean += output * d_output,
              of_mean += of_outputs[i] * d_output + 2 * u * output * d_output;
        }
        for (std::size_t s = 0; s < keys; ++s) {
          if (!seen(t, s)) continue;
          double d_weight = 0;
          for (std::size_t i = 0; i < value_dim; ++i)
            d_weight += std::abs(d[of_row * value_dim + i] * v[kv(s) * value_dim + i]);
          auto const of_difference =
              tolerance::of_dot_product<A>(value_dim, d_weight) + of_mean + u * (d_weight + mean);
          auto const p = expected.weights[row + s];
          auto const of_score =
              std::abs(scale_) * (of_weights[s] * (d_weight + mean + of_difference) +
                                  p * (of_difference + 4 * u * (d_weight + mean)));
          auto const d_score =
              std::abs(scale_) * std::abs(static_cast<double>(gradients.logits[row + s]));
          for (std::size_t i = 0; i < dim; ++i) {
            q_.errors[of_row * dim + i] +=
                of_score * (std::abs(k[kv(s) * dim + i]) + of_number_) + d_score * of_number_;
            k_.errors[kv(s) * dim + i] +=
                of_score * (std::abs(q[of_row * dim + i]) + of_number_) + d_score * of_number_;
          }
        }
      }
    }
  }

  static void expect_near(char const* of, std::vector<A> const& actual, bounded const& expected) {
    ASSERT_EQ(actual.size(), expected.numbers.size()) << of;
    for (std::size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(static_cast<double>(actual[i]), expected.numbers[i], expected.errors[i])
          << "gradient " << i << " of " << of;
  }

  textbook::problem given_;
  double scale_;
  textbook::positions q_at_, k_at_;
  double of_number_ = 0;
  bounded q_, k_, v_;
};

/// The gradients of the library, numbers being stored as T, against that.
template <class T, class Encoding>
void expect(textbook::problem const& given, Encoding const& encoding, meaning const& means) {
  SCOPED_TRACE(given.name);
  tensor<T> const q({given.queries, given.heads, given.head_dim}, given.where, 1),
      k({given.keys, given.kv_heads, given.head_dim}, given.where, 2),
      v({given.keys, given.kv_heads, given.value_dim}, given.where, 3),
      d({given.queries, given.heads, given.value_dim}, given.where, 4);
  posenc::attention_options const options{.mask = given.mask,
                                          .scale = given.scale,
                                          .query_positions = given.query_positions,
                                          .key_positions = given.key_positions};
  auto const forward = posenc::attention(q.view(), k.view(), v.view(), encoding, options);
  auto const actual = posenc::attention_backward(q.view(), k.view(), v.view(), encoding, forward,
                                                 d.view(), options);
  expectation<posenc::arithmetic_t<T>>(given, means, exact(q.view()), exact(k.view()),
                                       exact(v.view()), exact(d.view()))
      .expect(actual);
}

/// One query, a few, more than a block; groups; other value sizes; masks; in and out of order; any
/// strides.
inline std::vector<textbook::problem> every_shape() {
  using posenc::mask, textbook::positions;
  positions shuffled(20);
  for (std::size_t s = 0; s < 20; ++s) shuffled[s] = static_cast<std::int64_t>(7 * s % 20);
  auto const near = [](std::size_t, std::size_t, std::int64_t t, std::int64_t s) {
    return s <= t && t - s < 20;
  };
  return {{"one query", 1, 20, 4, 2, 6, 5},
          {"causal", 9, 9, 2, 2, 8, 8},
          {"groups", 12, 15, 6, 2, 7, 3},
          {"more than a block", 257, 257, 1, 1, 4, 4},
          {"more than a block of groups", 150, 60, 4, 2, 2, 3, mask::full, positions(150)},
          {"more than a block in no order", 300, 20, 1, 1, 2, 2, mask::causal, positions(300, 7),
           shuffled},
          {"window",
           260,
           260,
           1,
           1,
           3,
           2,
           mask::causal & mask::sliding_window(20),
           {},
           {},
           {},
           memory::dense,
           near},
          {"few, padded", 5, 7, 4, 2, 8, 6, mask::causal, {}, {}, {}, memory::padded},
          {"many, heads first", 12, 14, 4, 2, 8, 6, mask::full, {}, {}, {}, memory::heads_first},
          {"many, backwards", 12, 14, 4, 2, 8, 6, mask::full, {}, {}, {}, memory::backwards}};
}

}  // namespace chain_rule
