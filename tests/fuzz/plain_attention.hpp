#pragma once

/// What attention_fuzz compares with: reference_attention, and by how much roundings may move it.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <vector>

#include "attention_plans.hpp"
#include "must.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/attention/reference.hpp"
#include "tolerance.hpp"

namespace fuzz {

// What a row sees, and by how much roundings may move its results.
struct row {
  std::vector<std::size_t> seen;
  std::vector<real> of_scores;                            // of what is seen
  real of_log_sum_exp = 0, of_weight = 0, of_output = 0;  // of_weight: relative
  bool is_plain = true;  // all that it sees is finite and of a size that scores in T resolve
};

template <class Q, class K, class V>
struct problem {
  using T = typename Q::number;
  Q q;
  K k;
  V v;
  positions query_positions, key_positions;  // of all
  mask_plan mask;
  real scale;
  acting acts;
  posenc::attention_result<double> expected = {};
  mutable std::vector<std::optional<row>> rows = {};  // several results are compared with them

  static constexpr real u = static_cast<real>(tolerance::unit_roundoff<T>() + 0x1p-53);
  static constexpr real most = 1e4;

  void expect(auto const& encoding, posenc::attention_options options) {
    options.keep_scores = options.keep_weights = true;
    auto const exact = [](auto const& x) {
      std::vector<double> numbers;
      for (std::size_t i = 0; i < x.shape.tokens * x.shape.heads * x.shape.head_dim; ++i) {
        auto const head = i / x.shape.head_dim;
        numbers.push_back(static_cast<double>(
            x.at(head / x.shape.heads, head % x.shape.heads, i % x.shape.head_dim)));
      }
      return numbers;
    };
    auto const of_q = exact(q), of_k = exact(k), of_v = exact(v);
    using view = posenc::heads_view<double const>;
    auto const reference = [&](posenc::mask const& m) {
      options.mask = m;
      return posenc::reference_attention(view(of_q.data(), q.shape), view(of_k.data(), k.shape),
                                         view(of_v.data(), v.shape), encoding, options);
    };
    if (!mask.cells && mask.missing.empty()) {
      expected = reference(mask.made());
      return;
    }
    // Given to the reference as one number for each score, which must be added.
    auto const queries = q.shape.tokens, heads = q.shape.heads, keys = k.shape.tokens;
    std::vector<double> biases;
    for (std::size_t head = 0; head < heads; ++head)
      for (std::size_t t = 0; t < queries; ++t)
        for (std::size_t s = 0; s < keys; ++s) biases.push_back(mask.bias(t, head, s));
    posenc::given_mask const given(biases.data(), {queries, heads, keys});
    auto const without = reference(mask.made_of_positions()).scores;
    expected = reference(mask.made_of_positions() & posenc::mask::given(given));
    auto const hidden = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < biases.size(); ++i) {
      auto const sum =
          biases[i] == hidden || without[i] == hidden ? hidden : without[i] + biases[i];
      must(expected.scores[i] == sum || sum != sum, "the reference adds another bias");
    }
  }

  row const& row_of(std::size_t t, std::size_t head) const {
    rows.resize(q.shape.tokens * q.shape.heads);
    auto& r = rows[t * q.shape.heads + head];
    if (!r) r = worked_out(t, head);
    return *r;
  }

  row worked_out(std::size_t t, std::size_t head) const {
    row r;
    auto const kv_head = head / (q.shape.heads / k.shape.heads);
    auto const* const scores =
        expected.scores.data() + (head * q.shape.tokens + t) * k.shape.tokens;
    real largest = 0;  // of what was looked at last
    auto const norm = [&](auto const& x, std::size_t token, std::size_t of_head) {
      real sum = largest = 0;
      for (std::size_t i = 0; i < x.shape.head_dim; ++i) {
        auto const number = std::abs(x.at(token, of_head, i));
        r.is_plain = r.is_plain && finite(number) && number <= most;
        largest = std::max(largest, number);
        auto const encoded = (number + (acts.lifted ? 1 : 0)) * (acts.doubled ? 2 : 1);
        sum += encoded * encoded;
      }
      return std::sqrt(sum);
    };
    auto const of_query = norm(q, t, head), dims = static_cast<real>(q.shape.head_dim),
               rotated =
                   acts.rotates ? 4 * (static_cast<real>(tolerance::of_cosine<T>()) + 5 * u) : 0;
    real max = -std::numeric_limits<real>::infinity(), largest_value = 0;
    for (std::size_t s = 0; s < key_positions.size(); ++s) {
      auto const given = static_cast<real>(mask.bias(t, head, s));
      bool const is_seen = mask.shows(t, s, query_positions[t], key_positions[s]) &&
                           given != -std::numeric_limits<real>::infinity();
      if (!is_seen) {
        must(scores[s] == -std::numeric_limits<double>::infinity(), "the reference sees more");
        continue;
      }
      r.seen.push_back(s);
      auto const size = std::abs(scale) * of_query * norm(k, s, kv_head);
      norm(v, s, kv_head), largest_value = std::max(largest_value, largest);
      r.is_plain = r.is_plain && finite(given) && std::abs(given) < 1e30L;
      // A dot product of encoded numbers, scaled; a bias; a cap; another bias.
      auto const bias = acts.slopes.empty() ? 0
                                            : static_cast<real>(acts.slopes[head]) *
                                                  std::abs(static_cast<real>(query_positions[t]) -
                                                           static_cast<real>(key_positions[s]));
      r.of_scores.push_back(size * ((dims + 10) * u + rotated) + 8 * std::numeric_limits<T>::min() +
                            (acts.slopes.empty() ? 0 : 2 * u * (size + bias)) +
                            4 * u * static_cast<real>(acts.cap) +
                            (given == 0 ? 0 : 2 * u * (size + bias + std::abs(given))));
      max = std::max(max, static_cast<real>(scores[s]));
    }
    r.is_plain = r.is_plain && std::abs(scale) <= 1e25L;  // what is scaled may overflow
    if (r.seen.empty() || !r.is_plain) return r;

    auto const n = static_cast<real>(r.seen.size()), logarithm = std::log(n + 1);
    real off = 0;
    for (std::size_t i = 0; i < r.seen.size(); ++i) {
      // Far below the largest it may be off by anything that leaves it far below.
      if (static_cast<real>(scores[r.seen[i]]) + r.of_scores[i] > max - 800)
        off = std::max(off, r.of_scores[i]);
    }
    auto const beta = acts.softmax ? tempers::most(logarithm) : 1;
    real of_beta = 0;
    if (acts.softmax && acts.softmax->by == tempers::whole_row)
      of_beta =
          off * (logarithm + 2) + static_cast<real>(tolerance::of_entropy<T>(1, r.seen.size())) / 8;
    r.is_plain = beta * off < 0.05L && std::abs(max) < (off > 0 ? 1e15L : 1e30L);
    if (!r.is_plain) return r;

    // Exponentials of exponents that average ln n under the weights, and their sum; the scores; the
    // temperature.
    auto const sink = acts.sinks.empty() ? 0 : std::abs(static_cast<real>(acts.sinks[head])),
               of_sum = u * (24 + 5 * logarithm) + n * 0x1p-53L +
                        0x1p-50L * (1 + beta * std::abs(max) + sink),
               of_scores = std::expm1(beta * off);
    r.of_log_sum_exp = of_sum + of_scores + of_beta * (std::abs(max) + logarithm + 1);
    r.of_weight = 2 * (of_sum + of_scores + of_beta * (logarithm + 1));
    r.of_output = largest_value * (2 * r.of_weight + (n + 8) * u +
                                   n * static_cast<real>(std::numeric_limits<T>::min()) * 4) +
                  n * std::numeric_limits<T>::min();
    return r;
  }

  void compare(posenc::attention_result<T> const& actual, posenc::attention_options const& options,
               int parts) const {
    auto const queries = q.shape.tokens, heads = q.shape.heads, keys = k.shape.tokens,
               dims = v.shape.head_dim;
    must(actual.outputs.size() == expected.outputs.size() &&
             actual.log_sum_exp.size() == expected.log_sum_exp.size(),
         "results of another shape");
    must(actual.scores.size() == (options.keep_scores ? expected.scores.size() : 0),
         "scores of another shape");
    must(actual.weights.size() == (options.keep_weights ? expected.weights.size() : 0),
         "weights of another shape");
    auto const must_be_near = [](real number, real reference, real by, char const* otherwise) {
      if (std::abs(number - reference) <= by) return;
      std::fprintf(stderr, "%.21Lg, not %.21Lg +- %Lg\n", number, reference, by);
      must(false, otherwise);
    };
    for (std::size_t t = 0; t < queries; ++t) {
      for (std::size_t head = 0; head < heads; ++head) {
        auto const& r = row_of(t, head);
        auto const row = t * heads + head;
        auto const* const output = actual.outputs.data() + row * dims;
        auto const lse = static_cast<real>(expected.log_sum_exp[row]);
        if (r.seen.empty()) {
          must(std::all_of(output, output + dims, [](T x) { return x == 0; }),
               "a row that sees nothing is not 0");
          if (static_cast<real>(actual.log_sum_exp[row]) != lse)
            must_be_near(actual.log_sum_exp[row], lse, 1e-12L * (1 + std::abs(lse)),
                         "log_sum_exp of a row that sees nothing");
        } else if (r.is_plain) {
          auto const merged = static_cast<real>(parts - 1) * 2 * u;
          must_be_near(actual.log_sum_exp[row], lse, r.of_log_sum_exp,
                       "log_sum_exp farther off than rounding explains");
          for (std::size_t i = 0; i < dims; ++i) {
            auto const reference = static_cast<real>(expected.outputs[row * dims + i]);
            must_be_near(output[i], reference, r.of_output + merged * std::abs(reference),
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
            auto const of_score = r.of_scores[next];
            auto const weight = static_cast<real>(expected.weights[at + s]);
            if (options.keep_scores)
              must_be_near(actual.scores[at + s], expected.scores[at + s], of_score,
                           "a score is off");
            // Numerator off by its own exponent.
            auto const own = u * (24 + 5 * std::abs(std::log(std::max(weight, 1e-4930L)))) +
                             std::expm1(std::min(2 * of_score, 1.0L));
            if (options.keep_weights)
              must_be_near(actual.weights[at + s], weight,
                           weight * (r.of_weight * 2 + own) + 4 * std::numeric_limits<T>::min(),
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
        auto const& r = row_of(t, head);
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

  bool is_unchanged() const {
    return q.is_unchanged() && k.is_unchanged() && v.is_unchanged() &&
           (!mask.cells || mask.cells->is_unchanged());
  }
};

}  // namespace fuzz
