#pragma once

/// Attention and its gradients against reference_attention, with tolerances from the arithmetic:
/// what an error in a number of q or k does to a score, that to a weight, and that to an output.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "attention/tensor.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/attention/reference.hpp"
#include "tolerance.hpp"

namespace by_reference {

using positions = std::vector<std::int64_t>;

struct problem {
  char const* name;
  std::size_t queries, keys, heads, kv_heads, head_dim, value_dim;
  posenc::mask mask = posenc::mask::causal;
  positions query_positions = {}, key_positions = {};  ///< as attention_options has them
  std::optional<double> scale = {};
  memory where = memory::dense;
};

/// A problem's numbers, all within [-1, 1], stored as T; computed with in A.
template <class T>
class comparison {
  using A = posenc::arithmetic_t<T>;

 public:
  explicit comparison(problem const& given)
      : given_(given),
        q_({given.queries, given.heads, given.head_dim},
           given.where == memory::repeated ? memory::dense : given.where, 1),
        k_({given.keys, given.kv_heads, given.head_dim}, given.where, 2),
        v_({given.keys, given.kv_heads, given.value_dim}, given.where, 3),
        d_({given.queries, given.heads, given.value_dim}, given.where, 4),
        q_exact_(q_.exact()),
        k_exact_(k_.exact()),
        v_exact_(v_.exact()),
        scale_(given.scale.value_or(1 / std::sqrt(static_cast<double>(given.head_dim)))),
        options_{.mask = given.mask,
                 .scale = given.scale,
                 .query_positions = given.query_positions,
                 .key_positions = given.key_positions,
                 .keep_scores = true,
                 .keep_weights = true} {}

  /// Returns what attention gives.
  template <class Encoding>
  posenc::attention_result<A> expect(Encoding const& encoding) const {
    auto const expected = reference(encoding);
    auto const q_before = q_.buffer(), k_before = k_.buffer(), v_before = v_.buffer();
    auto const actual = posenc::attention(q_.view(), k_.view(), v_.view(), encoding, options_);
    EXPECT_TRUE(numbers::same_bits(q_.buffer(), q_before));
    EXPECT_TRUE(numbers::same_bits(k_.buffer(), k_before));
    EXPECT_TRUE(numbers::same_bits(v_.buffer(), v_before));
    auto const errors = errors_of(expected, encoding);
    expect_near("score", actual.scores, expected.scores, errors.scores);
    expect_near("weight", actual.weights, expected.weights, errors.weights);
    expect_near("output", actual.outputs, expected.outputs, errors.outputs);
    expect_near("log_sum_exp", actual.log_sum_exp, expected.log_sum_exp, errors.log_sum_exp);
    return actual;
  }

  /// Of encodings whose site 3 is a bias, without site 4.
  template <class Encoding>
  void expect_gradients(Encoding const& encoding) const {
    auto const forward = posenc::attention(q_.view(), k_.view(), v_.view(), encoding, options_);
    auto const actual = posenc::attention_backward(q_.view(), k_.view(), v_.view(), encoding,
                                                   forward, d_.view(), options_);
    auto const expected = reference(encoding);
    auto const errors = errors_of(expected, encoding);
    auto q = q_exact_, k = k_exact_;
    posenc::heads_view<double> const queries(q.data(), q_.view().shape()),
        keys(k.data(), k_.view().shape());
    auto const in = posenc::detail::checked_arguments<double>(
        "", encoding, queries.shape(), keys.shape(), v_.view().shape(), options_);
    positions of_queries, of_keys;
    auto const at_sites = [&](auto const& act) {
      if constexpr (posenc::acts_on_queries_and_keys<Encoding>)
        act(encoding.template prepare<double>(in.query_positions.listed(of_queries)),
            encoding.template prepare<double>(in.key_positions.listed(of_keys)));
    };
    at_sites([&](auto const& of_queries, auto const& of_keys) {
      of_queries.encode_queries(queries), of_keys.encode_keys(keys);
    });

    auto const d = d_.exact();
    auto const dim = given_.head_dim, value_dim = given_.value_dim;
    auto const encoded = bound_of(encoding);
    gradients of_q(q.size(), dim, encoded), of_k(k.size(), dim, encoded),
        of_v(v_exact_.size(), value_dim, {});
    for (std::size_t row = 0; row < given_.queries * given_.heads; ++row) {
      auto const t = row / given_.heads, head = row % given_.heads;
      double mean = 0, of_mean = 0, size_of_mean = 0;  // <d, output>
      for (std::size_t i = row * value_dim; i < (row + 1) * value_dim; ++i) {
        mean += d[i] * expected.outputs[i], size_of_mean += std::abs(d[i] * expected.outputs[i]);
        of_mean += std::abs(d[i]) * (errors.outputs[i] + 2 * u * std::abs(expected.outputs[i]));
      }
      for (std::size_t s = 0; s < given_.keys; ++s) {
        auto const kv = s * given_.kv_heads + head / in.group,
                   at = (head * given_.queries + t) * given_.keys + s;
        auto const p = expected.weights[at], of_p = errors.weights[at];
        if (p == 0) continue;
        double d_weight = 0, size = size_of_mean;
        for (std::size_t i = 0; i < value_dim; ++i) {
          auto const product = d[row * value_dim + i] * v_exact_[kv * value_dim + i];
          d_weight += product, size += std::abs(product);
        }
        auto const d_score = scale_ * p * (d_weight - mean),
                   of_difference = tolerance::of_dot_product<A>(value_dim + 2, size) + of_mean,
                   of_score = std::abs(scale_) *
                              (of_p * (size + of_difference) + p * (of_difference + 4 * u * size));
        of_q.add(row, &k[kv * dim], d_score, of_score);
        of_k.add(kv, &q[row * dim], d_score, of_score);
        of_v.add(kv, &d[row * value_dim], p, of_p);
      }
    }
    at_sites([&](auto const& of_queries, auto const& of_keys) {
      of_queries.backward_queries(posenc::heads_view<double>(of_q.sums.data(), queries.shape()));
      of_keys.backward_keys(posenc::heads_view<double>(of_k.sums.data(), keys.shape()));
    });
    expect_near("gradient of q", actual.q, of_q.sums, of_q.errors(given_.keys));
    auto const rows_of_key = given_.queries * in.group;
    expect_near("gradient of k", actual.k, of_k.sums, of_k.errors(rows_of_key));
    expect_near("gradient of v", actual.v, of_v.sums, of_v.errors(rows_of_key));
  }

 private:
  static constexpr double u = tolerance::unit_roundoff<A>();
  /// Up to what an encoded number is, and by how much it is off.
  struct bound {
    double largest = 1, off = 0;
  };
  /// Of one that was embedded, which adds up to 1, and rotated with a factor of 1.25.
  template <class Encoding>
  static bound bound_of(Encoding const&) {
    if constexpr (!posenc::acts_on_queries_and_keys<Encoding>) return {};
    constexpr double root = 1.4143, factor = 1.25;
    return {2 * factor * root, factor * root * (tolerance::of_cosine<A>() + 2 * u) +
                                   tolerance::of_rotated<A>(2, 2, 2 * factor * root, factor)};
  }

  /// By how much the numbers of a result may be off.
  struct result_errors {
    std::vector<double> outputs, log_sum_exp, scores, weights;
  };

  /// Sums of vectors, and their magnitudes and errors.
  struct gradients {
    std::vector<double> sums, magnitudes, off;
    std::size_t dim;
    bound of_numbers;
    gradients(std::size_t count, std::size_t dims, bound const& numbers)
        : sums(count), magnitudes(count), off(count), dim(dims), of_numbers(numbers) {}
    void add(std::size_t head, double const* x, double factor, double of_factor) {
      for (std::size_t i = 0; i < dim; ++i) {
        auto const at = head * dim + i;
        sums[at] += factor * x[i], magnitudes[at] += std::abs(factor * x[i]);
        off[at] +=
            of_factor * (std::abs(x[i]) + of_numbers.off) + std::abs(factor) * of_numbers.off;
      }
    }
    /// Of sums of `terms` numbers, which may be rotated back: all of a head reach any.
    std::vector<double> errors(std::size_t terms) const {
      std::vector<double> result;
      for (std::size_t i = 0; i < sums.size(); ++i)
        result.push_back(off[i] + tolerance::of_dot_product<A>(terms + 4, magnitudes[i]) +
                         std::numeric_limits<A>::min());
      for (std::size_t head = 0; head < result.size() && of_numbers.off > 0; head += dim) {
        auto const first = result.begin() + static_cast<std::ptrdiff_t>(head),
                   last = first + static_cast<std::ptrdiff_t>(dim);
        auto const size = std::reduce(magnitudes.begin() + (first - result.begin()),
                                      magnitudes.begin() + (last - result.begin()));
        std::fill(first, last,
                  std::reduce(first, last) + tolerance::of_rotated<A>(size, size, 2 * size));
      }
      return result;
    }
  };

  template <class Encoding>
  static bool is_adaptive(Encoding const& encoding) {
    if constexpr (posenc::acts_on_softmax<Encoding>)
      return encoding.inverse_temperature({.keys = 8, .entropy = 2}) != 1;
    return false;
  }

  auto reference(auto const& encoding) const {
    auto const view = [](std::vector<double> const& x, tensor<T> const& of) {
      return posenc::heads_view<double const>(x.data(), of.view().shape());
    };
    return posenc::reference_attention(view(q_exact_, q_), view(k_exact_, k_), view(v_exact_, v_),
                                       encoding, options_);
  }

  /// A score is off by the numbers of either vector, their dot product, its scale, and the bias.
  double of_score(double score, bound const& encoded) const {
    auto const dim = static_cast<double>(given_.head_dim), most = encoded.largest;
    return std::abs(scale_) *
               (2 * dim * most * encoded.off +
                tolerance::of_dot_product<A>(given_.head_dim + 6, dim * most * most)) +
           4 * u * std::abs(score);
  }

  /// Each weight may be off by the scores, times the temperature, against those of all others; and
  /// its arithmetic.
  ///
  /// Where the scores of n keys are off by e, H is off by at most 2 H e, H being at most ln n. An
  /// adaptive beta is off by that times |P'|, which is at most 2.53 where P exceeds 1. And that
  /// times how far a score is below the mean of the row, which is at most ln n below its maximum.
  result_errors errors_of(posenc::attention_result<double> const& expected,
                          auto const& encoding) const {
    result_errors errors;
    bool const adaptive = is_adaptive(encoding);
    auto const encoded = bound_of(encoding);
    auto const rows = given_.queries * given_.heads;
    errors.scores.resize(rows * given_.keys), errors.weights.resize(rows * given_.keys);
    for (std::size_t row = 0; row < rows; ++row) {
      auto const at = (row % given_.heads * given_.queries + row / given_.heads) * given_.keys;
      auto const scores = std::span(expected.scores).subspan(at, given_.keys);
      auto const max = std::ranges::max(scores);
      double keys = 0, of_scores = 0, of_weights = 0, farthest = 0;
      for (std::size_t s = 0; s < given_.keys; ++s) {
        if (posenc::is_masked(scores[s])) continue;
        errors.scores[at + s] = of_score(scores[s], encoded);
        ++keys, of_scores = std::max(of_scores, errors.scores[at + s]);
        farthest = std::max(farthest, std::abs(scores[s]));
      }
      auto const evenest = keys == 0 ? 0 : std::log(keys), beta = adaptive ? 2.43 : 1;
      auto const of_entropy = 2 * evenest * std::expm1(2 * of_scores) +
                              tolerance::of_entropy<A>(evenest, given_.keys),
                 of_beta = adaptive ? 2.53 * of_entropy : 0;
      for (std::size_t s = 0; s < given_.keys; ++s) {
        if (posenc::is_masked(scores[s])) continue;
        auto const below = max - scores[s], weight = expected.weights[at + s];
        errors.weights[at + s] =
            tolerance::of_weight_by_scores(weight,
                                           beta * of_scores + of_beta * std::max(below, evenest)) +
            tolerance::of_weight<A>(weight, beta * below, given_.keys);
        of_weights += errors.weights[at + s];
      }
      errors.outputs.insert(
          errors.outputs.end(), given_.value_dim,
          keys == 0 ? 0 : of_weights + tolerance::of_dot_product<A>(given_.keys, 1));
      errors.log_sum_exp.push_back(
          keys == 0 ? 0
                    : beta * of_scores + of_beta * farthest +
                          tolerance::of_exponentials<A>(evenest, given_.keys) +
                          4 * tolerance::unit_roundoff<double>() * beta * farthest);
    }
    return errors;
  }

  /// Twice the error: the reference has that of doubles. What is infinite is so in both.
  template <class Number>
  static void expect_near(char const* what, std::vector<Number> const& actual,
                          std::vector<double> const& expected, std::vector<double> const& errors) {
    ASSERT_EQ(actual.size(), expected.size()) << what;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      auto const x = static_cast<double>(actual[i]);
      if (!posenc::is_finite(x) || !posenc::is_finite(expected[i]))
        EXPECT_EQ(x, expected[i]) << what << " " << i;
      else
        EXPECT_NEAR(x, expected[i], 2 * errors[i]) << what << " " << i;
    }
  }

  problem given_;
  tensor<T> q_, k_, v_, d_;
  std::vector<double> q_exact_, k_exact_, v_exact_;
  double scale_;
  posenc::attention_options options_;
};

}  // namespace by_reference
