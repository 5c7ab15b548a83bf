// Attention as its picture has it: one query at a time, in double, a paragraph a site.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/dense_heads.hpp"
#include "posenc/core/adjust_scores.hpp"
#include "posenc/core/encoding_check.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/score_row.hpp"
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
  static_assert(detail::encoding_check<Encoding>::passed && detail::site_1_check<Encoding>::passed);
  auto const in = detail::checked_arguments<double>("reference_attention", encoding, q.shape(),
                                                    k.shape(), v.shape(), options);
  std::vector<double> queries, keys, of_far_queries, of_far_keys, scores(in.keys),
      outputs(in.queries * in.heads * in.value_dim);
  auto q_rows = detail::copied<double>(queries, q), k_rows = detail::copied<double>(keys, k);
  auto q_far = q_rows, k_far = k_rows;

  // (2) queries and keys: R_t q_t, R_s k_s
  if constexpr (acts_on_queries_and_keys<Encoding>) {
    auto const of_queries = encoding.template prepare<double>(in.query_positions);
    auto const of_keys = encoding.template prepare<double>(in.key_positions);
    if constexpr (changes_head_dim<Encoding>) {
      of_far_queries.resize(in.queries * in.heads * in.product_dim);
      q_rows = {of_far_queries.data(), {in.queries, in.heads, in.product_dim}};
      of_queries.encode_queries(heads_view<double const>(q_far), q_rows, 0, 0);
      if (!options.keys_are_encoded) {
        of_far_keys.resize(in.keys * in.kv_heads * in.product_dim);
        k_rows = {of_far_keys.data(), {in.keys, in.kv_heads, in.product_dim}};
        of_keys.encode_keys(heads_view<double const>(k_far), k_rows, 0, 0);
      }
    } else {
      if constexpr (scores_near_and_far<Encoding>) {
        q_far = detail::copied<double>(of_far_queries, q_rows);
        k_far = detail::copied<double>(of_far_keys, k_rows);
        detail::encode_queries(of_queries.far(), q_far, 0, 0);
        detail::encode_keys(of_keys.far(), k_far, 0, 0);
      }
      detail::encode_queries(of_queries, q_rows, 0, 0);
      if (!options.keys_are_encoded) detail::encode_keys(of_keys, k_rows, 0, 0);
    }
  }

  for (std::size_t i = 0; i < in.queries * in.heads; ++i) {
    auto const t = i / in.heads, head = i % in.heads, kv_head = head / in.group;
    std::span<double const> const query = q_rows(t, head);

    // (3) scores: scale <q_t, k_s> + b(t, s); then the mask
    for (std::size_t s = 0; s < in.keys; ++s) {
      std::span<double const> of_query = query, of_key = k_rows(s, kv_head);
      if constexpr (scores_near_and_far<Encoding>) {
        if (!encoding.is_near(in.query_positions[t], in.key_positions[s]))
          of_query = q_far(t, head), of_key = k_far(s, kv_head);
      }
      scores[s] =
          in.scale * std::inner_product(of_query.begin(), of_query.end(), of_key.begin(), 0.0);
    }
    if constexpr (acts_on_scores<Encoding>)
      adjust_scores(encoding, detail::row_with_sides<double>(in, std::span<double>(scores), query,
                                                             t, head, {0, in.keys}));
    auto const sees = [&](std::size_t s) {
      auto const own = in.mask.tokens(t, in.keys);
      auto const around = in.mask.positions(in.query_positions[t]);
      return own.first <= s && s < own.last && around.first <= in.key_positions[s] &&
             in.key_positions[s] <= around.last;
    };

    // (4) softmax: e^(beta x_s) / (e^sink + sum of e^(beta x))
    row_statistics row{.head = head, .query_position = in.query_positions[t]};
    for (std::size_t s = 0; s < in.keys; ++s) {
      if (sees(s)) row.max = row.keys++ == 0 ? scores[s] : std::max(row.max, scores[s]);
    }
    if (row.keys == 0 || detail::is_negative_infinity(row.max)) continue;  // outputs of 0
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
