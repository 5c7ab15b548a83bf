#pragma once

/// ggml's GGML_OP_FLASH_ATTN_EXT from its formulas [ggml, ops.cpp], one row of outputs after
/// another, in doubles.

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace oracle {

struct ggml_flash_attention {
  /// A row of a tensor, by batch, head and token.
  using rows = std::function<const double*(std::size_t, std::size_t, std::size_t)>;

  std::size_t head_dim, value_dim, heads, kv_heads, keys;
  double scale, max_bias = 0, logit_softcap = 0;
  rows q, k, v;                    // k and v: of kv heads
  rows mask = nullptr;             // of keys, by batch, head and query; or none
  std::vector<double> sinks = {};  // or none

  /// What max_bias makes of the mask of a head.
  double slope(std::size_t head) const {
    if (max_bias == 0) return 1;
    std::size_t power = 1;
    while (2 * power <= heads) power *= 2;
    const double m0 = std::pow(2.0, -max_bias / static_cast<double>(power)),
                 m1 = std::pow(2.0, -max_bias / 2 / static_cast<double>(power));
    return head < power ? std::pow(m0, static_cast<double>(head) + 1)
                        : std::pow(m1, 2 * static_cast<double>(head - power) + 1);
  }

  std::vector<double> row(std::size_t batch, std::size_t head, std::size_t query) const {
    const double hides = -std::numeric_limits<double>::infinity();
    const std::size_t kv_head = head * kv_heads / heads;
    const double* const x = q(batch, head, query);
    const double* const bias = mask == nullptr ? nullptr : mask(batch, head, query);
    double most = sinks.empty() ? hides : sinks[head];
    std::vector<double> scores(keys, hides), sums(value_dim);
    for (std::size_t s = 0; s < keys; ++s) {
      if (bias != nullptr && bias[s] == hides) continue;
      const double* const y = k(batch, kv_head, s);
      double sum = 0;
      for (std::size_t i = 0; i < head_dim; ++i) sum += x[i] * y[i];
      sum *= scale;
      if (logit_softcap != 0) sum = logit_softcap * std::tanh(sum / logit_softcap);
      scores[s] = sum + (bias == nullptr ? 0 : slope(head) * bias[s]);
      if (scores[s] > most) most = scores[s];
    }
    double all = sinks.empty() ? 0 : std::exp(sinks[head] - most);
    for (std::size_t s = 0; s < keys; ++s) {
      if (bias != nullptr && bias[s] == hides) continue;
      const double weight = std::exp(scores[s] - most);
      const double* const y = v(batch, kv_head, s);
      all += weight;
      for (std::size_t i = 0; i < value_dim; ++i) sums[i] += weight * y[i];
    }
    for (double& sum : sums) sum = all == 0 ? 0 : sum / all;
    return sums;
  }
};

}  // namespace oracle
