#pragma once

/// Attention as written in a textbook: every score, then every weight, then every output.

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "softmax.hpp"

namespace oracle {

/// Whether a query sees a key: f(query, key), counted in tokens.
using visibility = std::function<bool(std::size_t, std::size_t)>;

/// The sizes; kv_heads divides heads, and query head h reads key-value head h / (heads / kv_heads).
struct attention_shape {
  std::size_t heads;
  std::size_t kv_heads;
  std::size_t head_dim;   ///< of queries and keys
  std::size_t value_dim;  ///< of values and outputs
};

/// Adds to the score of a key: f(query head, query position, key position). Empty means 0.
using score_bias = std::function<double(std::size_t, double, double)>;

/// The inverse temperature of a row: f(entropy in nats of its plain softmax). Empty means 1.
using row_temperature = std::function<double(double)>;

/// Everything a test may want to see.
struct attention_result {
  std::vector<double> outputs;  ///< [queries][heads][value_dim]
  std::vector<double> logits;   ///< [heads][queries][keys]: scale * q.k + bias, before the
                                ///< temperature; -inf if masked
  std::vector<double> weights;  ///< [heads][queries][keys]
};

/// q is [queries][heads][head_dim], k [keys][kv_heads][head_dim], v [keys][kv_heads][value_dim];
/// the positions number the queries and keys.
inline attention_result attention(std::span<const double> q, std::span<const double> k,
                                  std::span<const double> v,
                                  std::span<const double> query_positions,
                                  std::span<const double> key_positions, attention_shape shape,
                                  double scale, const visibility& seen,
                                  const score_bias& bias = nullptr,
                                  const row_temperature& inverse_temperature = nullptr) {
  const auto [heads, kv_heads, head_dim, value_dim] = shape;
  const std::size_t queries = query_positions.size();
  const std::size_t keys = key_positions.size();
  if (kv_heads == 0 || heads % kv_heads != 0)
    throw std::invalid_argument("oracle::attention: kv_heads must divide heads");
  if (q.size() != queries * heads * head_dim || k.size() != keys * kv_heads * head_dim ||
      v.size() != keys * kv_heads * value_dim)
    throw std::invalid_argument("oracle::attention: tensors, positions and shape must agree");

  attention_result result;
  result.outputs.assign(queries * heads * value_dim, 0.0);
  for (std::size_t head = 0; head < heads; ++head) {
    const std::size_t kv_head = head / (heads / kv_heads);
    for (std::size_t t = 0; t < queries; ++t) {
      const std::size_t query_at = (t * heads + head) * head_dim;
      const auto kv_row = [&](std::size_t s) { return s * shape.kv_heads + kv_head; };

      // 1. the scores of this row
      std::vector<double> logits(keys, -std::numeric_limits<double>::infinity());
      for (std::size_t s = 0; s < keys; ++s) {
        if (!seen(t, s)) continue;
        wide dot = 0;
        for (std::size_t i = 0; i < head_dim; ++i)
          dot +=
              static_cast<wide>(q[query_at + i]) * static_cast<wide>(k[kv_row(s) * head_dim + i]);
        logits[s] = static_cast<double>(scale * dot);
        if (bias) logits[s] += bias(head, query_positions[t], key_positions[s]);
      }

      // 2. its weights, at the temperature that the plain softmax asks for
      std::vector<double> weights = softmax(logits);
      if (inverse_temperature) weights = softmax(logits, inverse_temperature(entropy(weights)));

      // 3. the weighted sum of the values
      for (std::size_t i = 0; i < value_dim; ++i) {
        wide sum = 0;
        for (std::size_t s = 0; s < keys; ++s)
          sum += static_cast<wide>(weights[s]) * static_cast<wide>(v[kv_row(s) * value_dim + i]);
        result.outputs[(t * heads + head) * value_dim + i] = static_cast<double>(sum);
      }
      result.logits.insert(result.logits.end(), logits.begin(), logits.end());
      result.weights.insert(result.weights.end(), weights.begin(), weights.end());
    }
  }
  return result;
}

}  // namespace oracle
