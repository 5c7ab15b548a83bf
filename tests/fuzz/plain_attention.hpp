#pragma once

/// Attention as a plain loop over all keys in long double, and by how much roundings may move it:
/// what attention_fuzz compares with.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "attention_plans.hpp"
#include "must.hpp"
#include "oracle/wide.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "tolerance.hpp"

namespace fuzz {

// A row of the plain loop, and by how much roundings may move it.
struct row {
  std::vector<std::size_t> seen;
  std::vector<real> scores, errors, weights;  // of what is seen
  std::vector<real> outputs;
  real beta = 1, log_sum_exp = 0, of_log_sum_exp = 0, of_weight = 0,
       of_output = 0;    // of_weight: relative
  bool is_plain = true;  // all that it sees is finite and of a size that scores in T resolve
};

template <class Q, class K, class V>
struct problem {
  using T = arithmetic_t<Q>;
  heads_in_memory<Q> q;
  heads_in_memory<K> k;
  heads_in_memory<V> v;
  positions query_positions, key_positions;  // of all
  mask_plan mask;
  real scale;
  acting acts;
  // Each row and each encoded key once, for several results are compared with them.
  mutable std::vector<std::optional<row>> rows = {};
  mutable std::vector<std::vector<real>> encoded_keys = {};

  static constexpr real u = static_cast<real>(tolerance::unit_roundoff<T>());
  static constexpr real most = 1e4;

  std::vector<real> encoded(auto const& x, std::size_t t, std::size_t head, std::int64_t position,
                            auto const& factor) const {
    std::vector<real> numbers(x.shape.head_dim);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = x.at(t, head, i);
      if (acts.lifted) numbers[i] += static_cast<real>(lifts::lift(position));
      if (acts.doubled) numbers[i] *= static_cast<real>(factor(position));
    }
    auto const pairs = acts.inv_freq.size();
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const [angle, lost] =
          oracle::angle_at(static_cast<real>(position), static_cast<real>(acts.inv_freq[i]));
      auto const c = std::cos(angle) - lost * std::sin(angle),
                 s = std::sin(angle) + lost * std::cos(angle);
      auto const a = numbers[i], b = numbers[i + pairs];
      numbers[i] = a * c - b * s, numbers[i + pairs] = b * c + a * s;
    }
    return numbers;
  }

  // x and what it is off by, at most: a dot product of encoded numbers, scaled; a bias; a cap.
  std::array<real, 2> score(std::vector<real> const& of_query, std::vector<real> const& of_key,
                            std::size_t head, std::int64_t query, std::int64_t key) const {
    real sum = 0, size = 0;
    for (std::size_t i = 0; i < of_query.size(); ++i) sum += of_query[i] * of_key[i];
    for (auto const a : of_query) size += a * a;
    real key_size = 0;
    for (auto const b : of_key) key_size += b * b;
    size = std::sqrt(size) * std::sqrt(key_size);
    if (std::abs(scale) > 1e25L)
      return {0, std::numeric_limits<real>::infinity()};  // what is scaled may overflow
    auto const rotated =
        acts.inv_freq.empty() ? 0 : 4 * (static_cast<real>(tolerance::of_cosine<T>()) + 5 * u);
    auto x = scale * sum;
    auto off = std::abs(scale) * size * ((static_cast<real>(of_query.size()) + 10) * u + rotated) +
               8 * std::numeric_limits<T>::min();
    if (!acts.slopes.empty()) {
      auto const distance = static_cast<__int128>(query) - static_cast<__int128>(key);
      constexpr __int128 farthest =
          std::numeric_limits<std::int64_t>::max();  // see distance_between
      x -= static_cast<real>(acts.slopes[head]) *
           static_cast<real>(std::min(distance < 0 ? -distance : distance, farthest));
      off += 2 * u * std::abs(x);
    }
    if (acts.cap > 0) {
      auto const cap = static_cast<real>(acts.cap);
      off = cap * (std::tanh((x + off) / cap) - std::tanh((x - off) / cap)) + 4 * u * cap;
      x = cap * std::tanh(x / cap);
    }
    return {x, off};
  }

  std::vector<real> const& encoded_key(std::size_t s, std::size_t head) const {
    encoded_keys.resize(k.shape.tokens * k.shape.heads);
    auto& key = encoded_keys[s * k.shape.heads + head];
    if (key.empty()) key = encoded(k, s, head, key_positions[s], doubles::of_key);
    return key;
  }

  row const& expected(std::size_t t, std::size_t head) const {
    rows.resize(q.shape.tokens * q.shape.heads);
    auto& r = rows[t * q.shape.heads + head];
    if (!r) r = worked_out(t, head);
    return *r;
  }

  row worked_out(std::size_t t, std::size_t head) const {
    row r;
    auto const group = q.shape.heads / k.shape.heads, kv_head = head / group;
    auto const of_query = encoded(q, t, head, query_positions[t], doubles::of_query);
    auto const plain = [&](std::vector<real> const& numbers) {
      return std::ranges::all_of(numbers, [](real x) { return finite(x) && std::abs(x) <= most; });
    };
    real largest_value = 0;
    r.outputs.resize(v.shape.head_dim);
    for (std::size_t s = 0; s < key_positions.size(); ++s) {
      if (!mask.shows(t, s, query_positions[t], key_positions[s])) continue;
      r.seen.push_back(s);
      auto const& of_key = encoded_key(s, kv_head);
      r.is_plain = r.is_plain && plain(of_key) && plain(of_query);
      for (std::size_t i = 0; i < v.shape.head_dim; ++i) {
        auto const value = v.at(s, kv_head, i);
        r.is_plain = r.is_plain && finite(value) && std::abs(value) <= most;
        largest_value = std::max(largest_value, std::abs(value));
      }
      auto const [x, off] = score(of_query, of_key, head, query_positions[t], key_positions[s]);
      r.scores.push_back(x), r.errors.push_back(off);
    }
    auto const sink = acts.sinks.empty() ? -std::numeric_limits<real>::infinity()
                                         : static_cast<real>(acts.sinks[head]);
    r.log_sum_exp = sink;
    if (r.seen.empty() || !r.is_plain) return r;

    auto const n = static_cast<real>(r.seen.size()), logarithm = std::log(n + 1);
    auto const max = std::ranges::max(r.scores);
    real sum = 0, exponents = 0, off = 0;
    for (std::size_t i = 0; i < r.seen.size(); ++i) {
      auto const e = std::exp(r.scores[i] - max);
      sum += e, exponents += e * (r.scores[i] - max);
      // Far below the largest it may be off by anything that leaves it far below.
      if (r.scores[i] + r.errors[i] > max - 800) off = std::max(off, r.errors[i]);
    }
    auto const entropy = std::log(sum) - exponents / sum;
    real of_beta = 0;
    if (acts.softmax) {
      r.beta = acts.softmax->beta(r.seen.size(), entropy, head, query_positions[t]);
      if (acts.softmax->by == tempers::whole_row)
        of_beta = (8 * off * (logarithm + 2) +
                   static_cast<real>(tolerance::of_entropy<T>(1, r.seen.size()))) /
                  8;
    }
    r.is_plain = r.beta * off < 0.05L && std::abs(max) < (off > 0 ? 1e15L : 1e30L);
    if (!r.is_plain) return r;

    auto const top = std::max(r.beta * max, sink);
    sum = std::exp(sink - top);
    for (auto const x : r.scores) sum += std::exp(r.beta * x - top);
    r.log_sum_exp = top + std::log(sum);
    // Exponentials of exponents that average ln n under the weights, and their sum; the scores; the
    // temperature.
    auto const of_sum = u * (24 + 5 * logarithm) + n * 0x1p-53L + 0x1p-50L * (1 + std::abs(top));
    auto const of_scores = std::expm1(r.beta * off);
    r.of_log_sum_exp = of_sum + of_scores + of_beta * (std::abs(max) + logarithm + 1);
    r.of_weight = 2 * (of_sum + of_scores + of_beta * (logarithm + 1));
    r.of_output = largest_value * (2 * r.of_weight + (n + 8) * u +
                                   n * static_cast<real>(std::numeric_limits<T>::min()) * 4) +
                  n * std::numeric_limits<T>::min();
    for (std::size_t i = 0; i < r.seen.size(); ++i) {
      r.weights.push_back(std::exp(r.beta * r.scores[i] - r.log_sum_exp));
      for (std::size_t j = 0; j < r.outputs.size(); ++j)
        r.outputs[j] += r.weights[i] * v.at(r.seen[i], kv_head, j);
    }
    return r;
  }

  void compare(posenc::attention_result<T> const& actual, posenc::attention_options const& options,
               int parts) const {
    auto const queries = q.shape.tokens, heads = q.shape.heads, keys = k.shape.tokens,
               dims = v.shape.head_dim;
    must(actual.outputs.size() == queries * heads * dims &&
             actual.log_sum_exp.size() == queries * heads,
         "results of another shape");
    must(actual.scores.size() == (options.keep_scores ? heads * queries * keys : 0),
         "scores of another shape");
    must(actual.weights.size() == (options.keep_weights ? heads * queries * keys : 0),
         "weights of another shape");
    for (std::size_t t = 0; t < queries; ++t) {
      for (std::size_t head = 0; head < heads; ++head) {
        auto const& r = expected(t, head);
        auto const* const output = actual.outputs.data() + (t * heads + head) * dims;
        auto const lse = static_cast<real>(actual.log_sum_exp[t * heads + head]);
        auto const near = [&](real a, real b, real by) { return std::abs(a - b) <= by; };
        if (r.seen.empty()) {
          must(std::all_of(output, output + dims, [](T x) { return x == 0; }),
               "a row that sees nothing is not 0");
          must(lse == r.log_sum_exp ||
                   near(lse, r.log_sum_exp, 1e-12L * (1 + std::abs(r.log_sum_exp))),
               "log_sum_exp of a row that sees nothing");
        } else if (r.is_plain) {
          auto const merged = static_cast<real>(parts - 1) * 2 * u;
          must(near(lse, r.log_sum_exp, r.of_log_sum_exp),
               "log_sum_exp farther off than rounding explains");
          for (std::size_t i = 0; i < dims; ++i) {
            must(near(static_cast<real>(output[i]), r.outputs[i],
                      r.of_output + merged * std::abs(r.outputs[i])),
                 "an output farther off than rounding explains");
          }
        }
        auto const at = (head * queries + t) * keys;
        std::size_t next = 0;
        for (std::size_t s = 0; s < keys; ++s) {
          bool const is_seen = next < r.seen.size() && r.seen[next] == s;
          if (options.keep_scores && !is_seen)
            must(actual.scores[at + s] == -std::numeric_limits<T>::infinity(),
                 "a masked score is not -infinity");
          if (options.keep_weights && !is_seen && r.is_plain)
            must(actual.weights[at + s] == 0, "a masked weight is not 0");
          if (is_seen && r.is_plain) {
            if (options.keep_scores)
              must(near(static_cast<real>(actual.scores[at + s]), r.scores[next], r.errors[next]),
                   "a score is off");
            auto const weight = r.weights[next];
            // Numerator off by its own exponent.
            auto const own = u * (24 + 5 * std::abs(std::log(std::max(weight, 1e-4930L)))) +
                             std::expm1(std::min(r.beta * r.errors[next], 1.0L));
            if (options.keep_weights)
              must(near(static_cast<real>(actual.weights[at + s]), weight,
                        weight * (r.of_weight * 2 + own) + 4 * std::numeric_limits<T>::min()),
                   "a weight is off");
          }
          next += is_seen ? 1 : 0;
        }
      }
    }
  }

  /// What is not seen gets none, and what is seen by rows of finite numbers alone gets finite ones.
  /// (Their values: gradients_test.)
  void check_gradients(posenc::attention_gradients<T> const& d) const {
    auto const group = q.shape.heads / k.shape.heads;
    std::vector<bool> seen(k.shape.tokens * k.shape.heads), wild(seen.size());
    auto const all = [](T const* numbers, std::size_t count, auto const& is) {
      return std::all_of(numbers, numbers + count, is);
    };
    auto const is_zero = [](T x) { return x == 0; };
    auto const is_finite = [](T x) { return posenc::is_finite(static_cast<double>(x)); };
    for (std::size_t t = 0; t < q.shape.tokens; ++t) {
      for (std::size_t head = 0; head < q.shape.heads; ++head) {
        auto const& r = expected(t, head);
        auto const* const d_query = d.q.data() + (t * q.shape.heads + head) * q.shape.head_dim;
        if (r.seen.empty())
          must(all(d_query, q.shape.head_dim, is_zero),
               "the gradient of a query that sees nothing is not 0");
        if (r.is_plain && std::abs(scale) <= 1)
          must(all(d_query, q.shape.head_dim, is_finite), "the gradient of a finite row is not");
        for (auto const s : r.seen) {
          auto const key = s * k.shape.heads + head / group;
          seen[key] = true, wild[key] = wild[key] || !r.is_plain || std::abs(scale) > 1;
        }
      }
    }
    for (std::size_t key = 0; key < seen.size(); ++key) {
      auto const *const d_key = d.k.data() + key * k.shape.head_dim, *const d_value =
                                                                         d.v.data() +
                                                                         key * v.shape.head_dim;
      if (!seen[key])
        must(all(d_key, k.shape.head_dim, is_zero) && all(d_value, v.shape.head_dim, is_zero),
             "a key that is not seen has a gradient");
      if (!wild[key])
        must(all(d_key, k.shape.head_dim, is_finite) && all(d_value, v.shape.head_dim, is_finite),
             "finite rows make a gradient that is not");
    }
  }

  bool is_unchanged() const { return q.is_unchanged() && k.is_unchanged() && v.is_unchanged(); }
};

}  // namespace fuzz
