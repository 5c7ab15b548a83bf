// Attention as its picture has it: one query at a time, in double, a paragraph a site.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/core/adjust_scores.hpp"
#include "posenc/core/encoding_check.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/row_statistics.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// softmax(scale q k^T under the encoding) v, to read and to test against: shapes, options and
/// errors are those of attention, which computes the same in blocks. Returns the outputs,
/// [queries][heads][value_dim].
template <class Encoding>
std::vector<double> reference_attention(heads_view<double const> const& q,
                                        heads_view<double const> const& k,
                                        heads_view<double const> const& v, Encoding const& encoding,
                                        attention_options const& options = {}) {
  static_assert(detail::encoding_check<Encoding>::passed);
  auto const in = detail::checked_arguments<double>("reference_attention", q.shape(), k.shape(),
                                                    v.shape(), options);
  detail::require_heads("reference_attention", encoding, in.heads);
  std::vector<double> queries, keys, scores(in.keys), outputs(in.queries * in.heads * in.value_dim);
  for (std::size_t i = 0; i < in.queries * in.heads; ++i)
    queries.insert(queries.end(), q(i / in.heads, i % in.heads).begin(),
                   q(i / in.heads, i % in.heads).end());
  for (std::size_t i = 0; i < in.keys * in.kv_heads; ++i)
    keys.insert(keys.end(), k(i / in.kv_heads, i % in.kv_heads).begin(),
                k(i / in.kv_heads, i % in.kv_heads).end());
  heads_view const q_copy(queries.data(), q.shape()), k_copy(keys.data(), k.shape());

  // (1) embeddings: x_t + p_t
  if constexpr (acts_on_embeddings<Encoding>) {
    encoding.embed(q_copy, in.query_positions);
    if (!options.keys_are_encoded) encoding.embed(k_copy, in.key_positions);
  }

  // (2) queries and keys: R_t q_t, R_s k_s
  if constexpr (acts_on_queries_and_keys<Encoding>) {
    encoding.template prepare<double>(in.query_positions).encode_queries(q_copy, 0);
    if (!options.keys_are_encoded)
      encoding.template prepare<double>(in.key_positions).encode_keys(k_copy, 0);
  }

  for (std::size_t i = 0; i < in.queries * in.heads; ++i) {
    auto const t = i / in.heads, head = i % in.heads, kv_head = head / in.group;
    std::span<double const> const query = q_copy(t, head);

    // (3) scores: scale <q_t, k_s> + b(t, s); then the mask
    for (std::size_t s = 0; s < in.keys; ++s) {
      scores[s] = 0;
      for (std::size_t j = 0; j < in.head_dim; ++j) scores[s] += query[j] * k_copy(s, kv_head)[j];
      scores[s] *= in.scale;
    }
    if constexpr (acts_on_scores<Encoding>)
      adjust_scores(encoding, score_row<double>{scores, head, in.query_positions[t],
                                                in.key_positions, query});
    auto const sees = [&](std::size_t s) {
      auto const own = in.visible.tokens(t, in.keys);
      auto const around = in.visible.positions(in.query_positions[t]);
      return own.first <= s && s < own.last && around.first <= in.key_positions[s] &&
             in.key_positions[s] <= around.last;
    };

    // (4) softmax: e^(beta x_s) / (e^sink + sum of e^(beta x))
    row_statistics row{.head = head, .query_position = in.query_positions[t]};
    for (std::size_t s = 0; s < in.keys; ++s) {
      if (sees(s)) row.max = row.keys++ == 0 ? scores[s] : std::max(row.max, scores[s]);
    }
    if (row.keys == 0) continue;  // outputs of 0
    double sum = 0, weighted = 0;
    for (std::size_t s = 0; s < in.keys; ++s) {
      auto const e = sees(s) ? std::exp(scores[s] - row.max) : 0;
      sum += e, weighted += e == 0 ? 0 : e * (scores[s] - row.max);
    }
    row.log_sum_exp = row.max + std::log(sum), row.entropy = std::log(sum) - weighted / sum;
    auto const beta = detail::inverse_temperature_of(encoding, row);
    double total = 0, top = beta * row.max;
    if constexpr (adds_sink<Encoding>)
      top = std::max(top, encoding.sink(head)), total = std::exp(encoding.sink(head) - top);
    for (std::size_t s = 0; s < in.keys; ++s) {
      scores[s] = sees(s) ? std::exp(beta * scores[s] - top) : 0;
      total += scores[s];
    }

    // outputs: sum of weights and values
    for (std::size_t s = 0; s < in.keys; ++s) {
      for (std::size_t j = 0; j < in.value_dim && scores[s] != 0; ++j)
        outputs[i * in.value_dim + j] += scores[s] / total * v(s, kv_head)[j];
    }
  }
  return outputs;
}

}  // namespace posenc
