// The reference attention: four paragraphs, one a site, that name no encoding.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/attention/score_blocks.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc {

/// Dense; scores and weights are empty unless they were asked for.
template <std::floating_point T>
struct attention_result {
  std::vector<T> outputs;  ///< [queries][heads][value_dim]; 0 for a query that sees no key
  std::vector<double>
      log_sum_exp;         ///< [queries][heads]: ln (e^sink + sum_s e^(beta score)); without a sink, -infinity for a query that sees no key
  std::vector<T> scores;   ///< [heads][queries][keys], what site 4 sees: -infinity where masked
  std::vector<T> weights;  ///< [heads][queries][keys]
};

/// softmax(scale * q k^T under the encoding) v. T is float, or double where q is; half and bfloat16 are computed with as float.
///
///     q [queries][heads][head_dim], k [keys][kv_heads][head_dim], v [keys][kv_heads][value_dim], any strides
///
/// Grouped queries: head h sees the keys and values of kv head h / (heads / kv_heads).
/// An encoding of the embeddings (site 1) acts as if W_q = W_k = I: where q and k are projections, embed before projecting instead.
/// Products and exponentials in T, sums of exponentials in double. Keys that no query of a block sees are skipped. Infinities and NaN stay
/// in the rows that see them.
/// Throws std::invalid_argument unless the shapes, positions and packed sequences agree and kv_heads divides heads.
/// Memory beside the results: 128 rows of scores; a head of keys and of values, unless they are read as they are stored.
template <class Q, class K, class V, positional_encoding Encoding>
attention_result<arithmetic_t<Q>> attention(heads_view<Q> const& q, heads_view<K> const& k, heads_view<V> const& v,
                                            Encoding const& encoding, attention_options const& options = {}) {
  using T = arithmetic_t<Q>;
  static_assert(std::same_as<T, arithmetic_t<K>> && std::same_as<T, arithmetic_t<V>>, "q, k and v are doubles, or none of them");
  auto const given = detail::checked_arguments<T>("attention", q.shape(), k.shape(), v.shape(), options);
  auto const queries = given.queries, keys = given.keys, heads = given.heads, value_dim = given.value_dim;
  attention_result<T> result;
  result.outputs.resize(queries * heads * value_dim);
  result.log_sum_exp.assign(queries * heads, masked_score<double>);
  if (options.keep_scores) result.scores.assign(heads * queries * keys, masked_score<T>);
  if (options.keep_weights) result.weights.resize(heads * queries * keys);
  if (queries == 0 || heads == 0 || keys == 0) return result;

  // (1) embeddings, (2) queries and keys, (3) scores
  detail::score_blocks<T, Encoding> scores(encoding, given);
  using acts = detail::acts<Encoding>;
  std::vector<T> exponentials, outputs;
  std::vector<double> shares;
  auto const at_keys = [&](auto const& row) { return (row.head * queries + row.query) * keys + row.keys.first; };
  auto const attend = [&](auto const& k_heads, auto const& v_heads, std::size_t kv_head) {
    for (std::size_t first = 0; first < queries; first += scores.queries()) {
      if (!scores.compute(q, first, k_heads, kv_head)) continue;
      auto const& block = scores.shape();
      auto const seen = block.seen();
      auto* const weights = scores.data();

      // (4) softmax
      shares.assign(block.rows(), 0);
      for (std::size_t i = 0; i < block.rows(); ++i) {
        auto const row = scores[i];
        auto* const x = row.scores.data();
        auto const count = row.scores.size();
        if (options.keep_scores) std::ranges::copy(row.scores, result.scores.data() + at_keys(row));
        auto const max = detail::largest(x, count);
        detail::scaled_sum sum{static_cast<double>(max), 0};
        if constexpr (acts::on_softmax) {
          exponentials.resize(std::max(exponentials.size(), count));
          auto const plain = detail::exponentials<true>(x, exponentials.data(), count, max);
          auto const beta =
              scores.sites().inverse_temperature(detail::statistics_of(plain, sum.largest, row.head, given.query_positions[row.query]));
          if (beta == 1) {
            sum.sum = plain.exponentials;
            std::copy_n(exponentials.data(), count, x);
          } else {
            sum = {beta * sum.largest, detail::weigh(x, x, count, max, beta)};
          }
        } else {
          sum.sum = detail::exponentials<false>(x, x, count, max).exponentials;
        }
        auto sink = no_sink;
        if constexpr (acts::sinks) sink = scores.sites().sink(row.head);
        auto const [log_sum_exp, share] = detail::share_of(sum, sink);
        result.log_sum_exp[row.query * heads + row.head] = log_sum_exp;
        shares[i] = share;
        std::fill(weights + i * seen, x, T{0});
        std::fill(x + count, weights + (i + 1) * seen, T{0});
      }

      outputs.resize(block.rows() * value_dim);
      detail::multiply_outputs<T>(outputs.data(), weights, v_heads, block);
      for (std::size_t i = 0; i < block.rows(); ++i) {
        auto const row = scores[i];
        auto const scaled = [share = static_cast<T>(shares[i])](T number) { return number * share; };
        auto const* const output = outputs.data() + i * value_dim;
        std::transform(output, output + value_dim, result.outputs.data() + (row.query * heads + row.head) * value_dim, scaled);
        if (options.keep_weights) std::ranges::transform(row.scores, result.weights.data() + at_keys(row), scaled);
      }
    }
  };
  if constexpr (!scores.changes_keys) {
    if (scores.few()) {
      attend(heads_view<K const>(k), heads_view<V const>(v), 0);
      return result;
    }
  }
  std::vector<T> k_numbers, v_numbers;
  for (std::size_t kv_head = 0; kv_head < given.kv_heads; ++kv_head) {
    attend(scores.encoded_keys(k_numbers, k.slice_heads(kv_head, 1)), detail::as_computed<T>(v_numbers, v.slice_heads(kv_head, 1)),
           kv_head);
  }
  return result;
}

}  // namespace posenc
