// The reference attention in reverse: from the gradients of its outputs to those of queries, keys
// and values.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/attention/score_blocks.hpp"
#include "posenc/attention/visible_keys.hpp"
#include "posenc/core/encoding_check.hpp"
#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/target.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc::inline POSENC_TARGET {

/// Dense.
template <std::floating_point T>
struct attention_gradients {
  std::vector<T> q;  ///< [queries][heads][head_dim]
  std::vector<T> k;  ///< [keys][kv_heads][head_dim]
  std::vector<T> v;  ///< [keys][kv_heads][value_dim]
};

/// Reusable gradients and scratch memory, as attention_workspace is for attention. Not for
/// concurrent use.
///
///     auto const& d =                                          valid until the next call
///         attention_backward(q, k, v, encoding, forward, d_outputs, options, workspace);
template <std::floating_point T>
struct gradients_workspace {
  attention_gradients<T> result;                                     ///< of the last call
  detail::score_memory<T> blocks;                                    ///< scratch memory
  std::vector<T> keys, values, exponentials, scores_before;          ///< scratch memory
  std::vector<T> d_outputs, d_scores, d_queries, d_encoded_queries;  ///< scratch memory
  std::vector<T> d_far_scores, d_far_q, d_far_k;  ///< scratch memory of near and far scores
  std::vector<std::ptrdiff_t> key_offsets, value_offsets;  ///< of paged tokens
};

/// The gradients of a loss with respect to q, k and v, from those with respect to attention's
/// outputs:
///
///     auto const forward = attention(q, k, v, encoding, options);
///     auto const d = attention_backward(q, k, v, encoding, forward, d_outputs, options);
///
///     P = e^(beta x - log_sum_exp)      dV = P^T dO                     [Dao 2022, appendix B.4]
///     dP = dO V^T                       dx = beta P o (dP - rowsum(dO o O))
///     dS = dx through site 3
///     dQ = scale dS K                   dK = scale dS^T Q, each through the transpose of site 2
///
/// Scores and weights are computed again; only outputs and log_sum_exp of `forward` are read.
/// Inputs, encoding and options must be those of the forward call. If keys were attended to in
/// parts and the results merged, call this for each part with the merged result, and add up the
/// gradients of q. Heads of a group add up in their kv head. Site 4 counts as constant: beta is
/// computed again from each row and held, so an adaptive temperature gets no gradient of its own;
/// sinks take their share and get no gradient. Learned parameters of encodings get none. d_outputs:
/// [queries][heads][value_dim], any strides. Arithmetic is that of attention; memory beside the
/// results is two or three times attention's. A query that sees no key gives gradients of 0. Hidden
/// keys may be anything; infinities and NaN reach only rows that see them and keys that these rows
/// see. Throws std::invalid_argument as attention does, and unless d_outputs and forward are of
/// these queries, heads and values, before any work. An encoding that gradients do not get through
/// is a compile error.
template <class Q, attended_heads K, attended_heads V, class Encoding, class D>
attention_gradients<arithmetic_t<Q>> const& attention_backward(
    heads_view<Q> const& q, K const& keys, V const& values, Encoding const& encoding,
    attention_result<arithmetic_t<Q>> const& forward, heads_view<D> const& d_outputs,
    attention_options const& options, gradients_workspace<arithmetic_t<Q>>& workspace) {
  using T = arithmetic_t<Q>;
  using through = detail::lets_through<Encoding>;
  static_assert(detail::encoding_check<Encoding>::passed);
  static_assert(std::same_as<T, detail::arithmetic_of<K>> &&
                    std::same_as<T, detail::arithmetic_of<V>> && std::same_as<T, arithmetic_t<D>>,
                "q, k, v and d_outputs are doubles, or none of them");
  static_assert(through::queries_and_keys,
                "gradients need backward_queries and backward_keys of what an encoding prepares "
                "for queries and keys: see "
                "pulls_back_queries_and_keys in core/gradient_sites.hpp");
  static_assert(through::scores,
                "gradients need is_bias or backward_scores of an encoding that changes scores: see "
                "adds_bias and pulls_back_scores in core/gradient_sites.hpp");
  auto const given =
      detail::checked_arguments<T>("attention_backward", encoding, q.shape(),
                                   detail::shape_of(keys), detail::shape_of(values), options);
  auto const k = detail::to_read("attention_backward", "keys", keys, workspace.key_offsets);
  auto const v = detail::to_read("attention_backward", "values", values, workspace.value_offsets);
  auto const queries = given.queries, heads = given.heads, head_dim = given.head_dim,
             value_dim = given.value_dim;
  auto const& d = d_outputs.shape();
  detail::require(d == heads_shape{queries, heads, value_dim},
                  "attention_backward: d_outputs must be [", queries, "][", heads, "][", value_dim,
                  "], got [", d.tokens, "][", d.heads, "][", d.head_dim, "]");
  detail::require(forward.outputs.size() == queries * heads * value_dim &&
                      forward.log_sum_exp.size() == queries * heads,
                  "attention_backward: forward must have ", queries * heads * value_dim,
                  " outputs and ", queries * heads, " log_sum_exp, got ", forward.outputs.size(),
                  " and ", forward.log_sum_exp.size());
  auto& result = workspace.result;
  result.q.assign(queries * heads * head_dim, T{0});
  result.k.assign(given.keys * given.kv_heads * head_dim, T{0});
  result.v.assign(given.keys * given.kv_heads * value_dim, T{0});
  if (queries == 0 || given.keys == 0) return result;
  heads_view<T> const d_q(result.q.data(), q.shape()), d_k(result.k.data(), k.shape()),
      d_v(result.v.data(), v.shape());
  if constexpr (scores_near_and_far<Encoding>) {
    workspace.d_far_q.assign(result.q.size(), T{0});
    workspace.d_far_k.assign(result.k.size(), T{0});
  }
  [[maybe_unused]] auto const far = [](std::vector<T>& numbers, heads_shape const& shape) {
    return heads_view<T>(numbers.data(), shape);
  };

  constexpr bool tempers = acts_on_softmax<Encoding>;
  prepared_encoding<T, Encoding> const step(encoding, given.query_positions, given.key_positions,
                                            options.keys_are_encoded);
  detail::score_blocks<T, Encoding> scores(step, given, workspace.blocks);
  auto& d_rows = workspace.d_outputs;
  auto& gradients = workspace.d_scores;
  for (std::size_t kv_head = 0; kv_head < given.kv_heads; ++kv_head) {
    auto const k_head = scores.encoded_keys(workspace.keys, k.slice_heads(kv_head, 1), kv_head);
    auto const v_head = detail::as_computed<T>(workspace.values, v.slice_heads(kv_head, 1));
    for (std::size_t first = 0; first < queries; first += scores.queries()) {
      if (!scores.compute(q, first, k_head, kv_head)) continue;
      auto const& block = scores.shape();
      auto const rows = block.rows(), seen = block.seen();
      auto* const weights = scores.data();
      detail::copied<T>(d_rows, d_outputs.slice_tokens(first, block.queries())
                                    .slice_heads(kv_head * given.group, given.group));
      gradients.resize(std::max(gradients.size(), rows * seen));
      detail::multiply_scores<T>(gradients.data(), T{1}, d_rows.data(), v_head, block);

      // (4) softmax
      for (std::size_t i = 0; i < rows; ++i) {
        auto const row = scores[i];
        auto const at = row.query * heads + row.head;
        double beta = 1, mean = 0;
        auto const [e, sum] = detail::exponentiate<tempers>(
            row.scores, workspace.exponentials, [&](auto const& plain, auto max) {
              return beta = detail::inverse_temperature_of(
                         encoding, detail::statistics_of(plain, max, row.head,
                                                         given.query_positions[row.query]));
            });
        auto const share = static_cast<T>(detail::share_within(sum, forward.log_sum_exp[at]));
        std::transform(e, e + row.scores.size(), row.scores.data(),
                       [share](T weight) { return weight * share; });
        if (!is_finite(sum.sum) || !is_finite(static_cast<double>(share))) scores.clear_hidden(row);
        for (std::size_t j = 0; j < value_dim; ++j) {
          mean += static_cast<double>(d_rows[i * value_dim + j]) *
                  static_cast<double>(forward.outputs[at * value_dim + j]);
        }
        auto const from = static_cast<std::size_t>(row.scores.data() - weights),
                   to = from + row.scores.size();
        auto const factor = static_cast<T>(through::as_biases ? beta * given.scale : beta);
        detail::softmax_gradients(weights + from, gradients.data() + from, to - from,
                                  static_cast<T>(mean), factor);
        for (auto* const numbers : {weights, gradients.data()}) {
          std::fill(numbers + i * seen, numbers + from, T{0});
          std::fill(numbers + to, numbers + (i + 1) * seen, T{0});
        }
      }
      detail::add_transposed_product<T>(d_v.slice_heads(kv_head, 1), weights, d_rows.data(), block);

      // (3) scores
      auto const& encoded = scores.encoded_queries();
      if constexpr (!through::as_biases) {
        auto& before = workspace.scores_before;
        before.resize(std::max(before.size(), rows * seen));
        workspace.d_encoded_queries.assign(rows * head_dim, T{0});
        scores.multiply(before.data(), k_head);
        for (std::size_t i = 0; i < rows; ++i) {
          auto const row = scores[i];
          auto const from = static_cast<std::size_t>(row.scores.data() - weights),
                     count = row.scores.size();
          auto const d_row = std::span<T>(gradients).subspan(from, count);
          encoding.backward_scores(
              scores.score_row_of(i, std::span<T const>(before).subspan(from, count)), d_row,
              std::span<T>(workspace.d_encoded_queries).subspan(i * head_dim, head_dim));
          for (auto& x : d_row) x *= static_cast<T>(given.scale);
        }
      }

      // the products
      auto const through_products = [&](std::vector<T> const& d_scores, auto const& of_queries,
                                        heads_view<T const> const& of_keys, auto const& to_q,
                                        auto const& to_k) {
        detail::add_transposed_product<T>(to_k.slice_heads(kv_head, 1), d_scores.data(),
                                          of_queries.data(), block);
        workspace.d_queries.resize(rows * head_dim);
        detail::multiply_outputs<T>(workspace.d_queries.data(), d_scores.data(), of_keys, block);
        for (std::size_t i = 0; i < rows; ++i) {
          auto const row = scores[i];
          std::copy_n(workspace.d_queries.data() + i * head_dim, head_dim,
                      to_q(row.query, row.head).data());
        }
      };
      if constexpr (scores_near_and_far<Encoding>) {
        workspace.d_far_scores.assign(rows * seen, T{0});
        scores.for_each_far(
            [&](std::size_t at) { std::swap(gradients[at], workspace.d_far_scores[at]); });
        through_products(workspace.d_far_scores, scores.far_queries(), scores.far_keys(),
                         far(workspace.d_far_q, q.shape()), far(workspace.d_far_k, k.shape()));
      }
      through_products(gradients, encoded, k_head, d_q, d_k);
      if constexpr (!through::as_biases) {
        for (std::size_t i = 0; i < rows; ++i) {
          auto const to = d_q(scores[i].query, scores[i].head);
          for (std::size_t j = 0; j < head_dim; ++j)
            to[j] += workspace.d_encoded_queries[i * head_dim + j];
        }
      }
    }
  }

  // (2) queries and keys
  if constexpr (acts_on_queries_and_keys<Encoding>) {
    step.backward_queries(d_q);
    if (!step.keys_are_encoded()) step.backward_keys(d_k);
  }
  if constexpr (scores_near_and_far<Encoding>) {
    step.backward_far_queries(far(workspace.d_far_q, q.shape())),
        step.backward_far_keys(far(workspace.d_far_k, k.shape()));
    std::ranges::transform(result.q, workspace.d_far_q, result.q.begin(), std::plus());
    std::ranges::transform(result.k, workspace.d_far_k, result.k.begin(), std::plus());
  }
  return result;
}

/// The same, once.
template <class Q, attended_heads K, attended_heads V, class Encoding, class D>
attention_gradients<arithmetic_t<Q>> attention_backward(
    heads_view<Q> const& q, K const& k, V const& v, Encoding const& encoding,
    attention_result<arithmetic_t<Q>> const& forward, heads_view<D> const& d_outputs,
    attention_options const& options = {}) {
  gradients_workspace<arithmetic_t<Q>> workspace;
  attention_backward(q, k, v, encoding, forward, d_outputs, options, workspace);
  return std::move(workspace.result);
}

}  // namespace posenc
