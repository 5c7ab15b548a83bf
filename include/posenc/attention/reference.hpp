// Attention as its picture has it: one query at a time, in double, in four passes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/dense_heads.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/encoding/detail/encoding_check.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/encoding/score_row.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/heads/heads_view.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// softmax(scale q k^T under the encoding) v, to read and to test against: shapes, options, errors
/// and results are those of attention, which computes the same in blocks.
template <class Encoding>
attention_result<double> reference_attention(heads_view<double const> const& q,
                                             heads_view<double const> const& k,
                                             heads_view<double const> const& v,
                                             Encoding const& encoding,
                                             attention_options const& options = {}) {
  static_assert(detail::encoding_check<Encoding>::passed && detail::site_1_check<Encoding>::passed);
  auto const in = detail::checked_arguments<double>("reference_attention", encoding, q.shape(),
                                                    k.shape(), v.shape(), options);
  auto const rows = in.queries * in.heads;
  std::vector<double> queries,  // [queries][heads][head_dim]
      keys,                     // [keys][kv_heads][head_dim]
      scores(in.keys);          // [keys] of one row
  std::vector<std::int64_t> counted_queries, counted_keys;
  auto const query_positions = in.query_positions.listed(counted_queries),  // [queries]
      key_positions = in.key_positions.listed(counted_keys);                // [keys]
  attention_result<double> result{std::vector<double>(rows * in.value_dim),
                                  std::vector<double>(rows, detail::negative_infinity<double>),
                                  {},
                                  {}};
  if (options.keep_scores) result.scores.assign(rows * in.keys, detail::negative_infinity<double>);
  if (options.keep_weights) result.weights.resize(rows * in.keys);
  auto const q_rows = detail::copied<double>(queries, q), k_rows = detail::copied<double>(keys, k);

  // Pass 1, site 2, queries and keys: R_t q_t, R_s k_s
  if constexpr (acts_on_queries_and_keys<Encoding>) {
    auto const of_queries = encoding.template prepare<double>(query_positions);
    auto const of_keys = encoding.template prepare<double>(key_positions);
    detail::encode_queries(of_queries, q_rows, 0, 0);
    if (!options.keys_are_encoded) detail::encode_keys(of_keys, k_rows, 0, 0);
  }

  for (std::size_t i = 0; i < rows; ++i) {
    auto const t = i / in.heads, head = i % in.heads, kv_head = head / in.group,
               of_head = (head * in.queries + t) * in.keys;  // scores and weights
    std::span<double const> const query = q_rows(t, head);

    // Pass 2, site 3, scores: scale <q_t, k_s> + b(t, s); then the mask, and cells that are given
    for (std::size_t s = 0; s < in.keys; ++s) {
      auto const key = k_rows(s, kv_head);
      scores[s] = in.scale * std::inner_product(query.begin(), query.end(), key.begin(), 0.0);
    }
    if constexpr (acts_on_scores<Encoding>)
      adjust_scores(encoding, detail::row_with_sides<double>(in, std::span<double>(scores), query,
                                                             t, head, {0, in.keys}, key_positions));
    auto const own = in.mask.tokens(t, in.keys);
    auto const around = in.mask.positions(query_positions[t]);
    auto const* const given = in.mask.given_cells();
    for (std::size_t s = 0; s < in.keys; ++s) {
      bool const sees = own.first <= s && s < own.last && around.first <= key_positions[s] &&
                        key_positions[s] <= around.last;
      auto const bias = given == nullptr ? 0 : given->bias(t, head, s);
      bool const hidden = !sees || detail::is_negative_infinity(bias);
      scores[s] = hidden ? detail::negative_infinity<double> : scores[s] + bias;
    }

    // Pass 3, site 4, softmax: e^(beta x_s) / (e^sink + sum of e^(beta x)), over the keys that are
    // not hidden
    auto const is_hidden = [&](std::size_t s) { return detail::is_negative_infinity(scores[s]); };
    row_statistics row{
        .head = head, .query_position = query_positions[t], .scores = {.doubles = scores}};
    for (std::size_t s = 0; s < in.keys; ++s) {
      if (is_hidden(s)) continue;
      row.max = row.keys++ == 0 ? scores[s] : std::max(row.max, scores[s]);
      if (options.keep_scores) result.scores[of_head + s] = scores[s];
    }
    auto& log_sum_exp = result.log_sum_exp[i];
    if constexpr (adds_sink<Encoding>) log_sum_exp = encoding.sink(head);
    if (row.keys == 0) continue;  // outputs of 0
    double sum = 0, weighted = 0;
    for (std::size_t s = 0; s < in.keys; ++s) {
      auto const e = is_hidden(s) ? 0 : std::exp(scores[s] - row.max);
      sum += e;
      weighted += e == 0 ? 0 : e * (scores[s] - row.max);
    }
    row.log_sum_exp = row.max + std::log(sum);
    row.entropy = std::log(sum) - weighted / sum;
    auto const beta = detail::inverse_temperature_of(encoding, row);
    double total = 0, top = beta * row.max;
    if constexpr (adds_sink<Encoding>) {
      top = std::max(top, log_sum_exp);
      total = std::exp(log_sum_exp - top);
    }
    for (std::size_t s = 0; s < in.keys; ++s) {
      scores[s] = is_hidden(s) ? 0 : std::exp(beta * scores[s] - top);
      total += scores[s];
    }
    log_sum_exp = top + std::log(total);

    // Pass 4, outputs: the sum of weights times values
    for (std::size_t s = 0; s < in.keys; ++s) {
      auto const weight = scores[s] / total;
      if (options.keep_weights) result.weights[of_head + s] = weight;
      for (std::size_t j = 0; j < in.value_dim && weight != 0; ++j)
        result.outputs[i * in.value_dim + j] += weight * v(s, kv_head)[j];
    }
  }
  return result;
}

}}  // namespace posenc
