#pragma once

/// The gradients of attention by the chain rule, one pair of query and key at a time, in wide
/// numbers.

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "attention.hpp"

namespace oracle {

/// A sum, and the sum of the magnitudes of its terms.
struct sum_and_magnitude {
  wide sum = 0, magnitude = 0;
  void add(wide term) { sum += term, magnitude += abs(term); }
};

/// With respect to encoded queries and keys, and values.
struct attention_gradients {
  std::vector<sum_and_magnitude> q;  ///< [queries][heads][head_dim]
  std::vector<sum_and_magnitude> k;  ///< [keys][kv_heads][head_dim]
  std::vector<sum_and_magnitude> v;  ///< [keys][kv_heads][value_dim]
  std::vector<wide> logits;          ///< [heads][queries][keys]
};

/// q and k encoded, weights as oracle::attention has them: softmax(beta * (scale * q.k + bias)).
///
///     dv_s = sum_t p_ts do_t      dlogit_ts = sum_j (d p_tj / d logit_ts) <do_t, v_j>,  d p_j / d
///     logit_s = beta p_j ([j = s] - p_s) dq_t = scale sum_s dlogit_ts k_s      dk_s = scale sum_t
///     dlogit_ts q_t
inline attention_gradients differentiate(std::span<const double> q, std::span<const double> k,
                                         std::span<const double> v, std::span<const double> weights,
                                         std::span<const double> d_outputs, attention_shape shape,
                                         double scale, wide beta = 1) {
  const auto [heads, kv_heads, head_dim, value_dim] = shape;
  const std::size_t queries = q.size() / (heads * head_dim),
                    keys = k.size() / (kv_heads * head_dim);
  attention_gradients d;
  d.q.resize(q.size()), d.k.resize(k.size()), d.v.resize(v.size()),
      d.logits.resize(heads * queries * keys);
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t t = 0; t < queries; ++t) {
      const std::size_t kv_head = head / (heads / kv_heads), row = (head * queries + t) * keys;
      const auto at = [&, kv = kv_heads](std::size_t s) { return s * kv + kv_head; };
      std::vector<wide> d_weights(keys);
      for (std::size_t s = 0; s < keys; ++s) {
        for (std::size_t i = 0; i < value_dim; ++i) {
          const wide d_output = d_outputs[(t * heads + head) * value_dim + i];
          d_weights[s] += d_output * static_cast<wide>(v[at(s) * value_dim + i]);
          d.v[at(s) * value_dim + i].add(static_cast<wide>(weights[row + s]) * d_output);
        }
      }
      for (std::size_t s = 0; s < keys; ++s) {
        const wide p_s = weights[row + s];
        wide d_logit = 0;
        for (std::size_t j = 0; j < keys; ++j) {
          d_logit +=
              beta * static_cast<wide>(weights[row + j]) * ((j == s ? 1 : 0) - p_s) * d_weights[j];
        }
        d.logits[row + s] = d_logit;
        for (std::size_t i = 0; i < head_dim; ++i) {
          const std::size_t of_q = (t * heads + head) * head_dim + i, of_k = at(s) * head_dim + i;
          d.q[of_q].add(static_cast<wide>(scale) * d_logit * static_cast<wide>(k[of_k]));
          d.k[of_k].add(static_cast<wide>(scale) * d_logit * static_cast<wide>(q[of_q]));
        }
      }
    }
  }
  return d;
}

}  // namespace oracle
