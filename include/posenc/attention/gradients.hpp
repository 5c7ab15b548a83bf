// Attention in reverse: from the gradients of its outputs to the gradients of q, k and v.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/detail/backward_blocks.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/dense_heads.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/detail/encoding_check.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET {

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
  attention_gradients<T> result;  ///< of the last call
  std::vector<std::byte> blocks;  ///< scratch memory
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
/// gradients of q. Site 4 counts as constant: beta is computed again from each row and held. Sinks
/// and learned parameters of encodings get no gradient. d_outputs: [queries][heads][value_dim], any
/// strides. Arithmetic is that of attention; memory beside the results is two or three times
/// attention's. A query that sees no key gives gradients of 0. Infinities and NaN reach only rows
/// that see them and keys that these rows see. Throws std::invalid_argument as attention does, and
/// unless d_outputs and forward are of these queries, heads and values, before any work. An
/// encoding that gradients do not get through is a compile error.
template <class Q, any_heads K, any_heads V, class Encoding, class D>
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
                "for queries and keys: see pulls_back_queries_and_keys in encoding/sites.hpp");
  static_assert(through::scores,
                "gradients need is_bias or backward_scores of an encoding that changes scores: see "
                "adds_bias and pulls_back_scores in encoding/sites.hpp");
  auto const given = detail::checked_arguments<T>("attention_backward", encoding, q.shape(),
                                                  keys.shape(), values.shape(), options);
  auto const k = detail::to_read(keys);
  auto const v = detail::to_read(values);
  detail::require(k.has_all() && v.has_all(),
                  "attention_backward: keys and values must all have a slot");
  auto const queries = given.queries, heads = given.heads, value_dim = given.value_dim;
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
  result.q.assign(queries * heads * given.head_dim, T{0});
  result.k.assign(given.keys * given.kv_heads * given.head_dim, T{0});
  result.v.assign(given.keys * given.kv_heads * value_dim, T{0});
  if (queries == 0 || given.keys == 0) return result;
  detail::prepared_sites<T, Encoding> const step(
      encoding, given.query_positions, given.key_positions, options.keys_are_encoded, false);
  using blocks = detail::backward_blocks<T, Encoding>;
  detail::scratch counted;
  blocks(encoding, given, step, counted);
  workspace.blocks.resize(std::max(workspace.blocks.size(), counted.bytes()));
  detail::scratch memory(workspace.blocks.data());
  using read_gradients = heads_view<std::remove_const_t<D> const>;
  detail::backward_heads<T, heads_view<T const>, read_gradients> const of{
      heads_view<T const>(forward.outputs.data(), d),
      forward.log_sum_exp.data(),
      heads,
      read_gradients(d_outputs),
      heads_view<T>(result.q.data(), q.shape()),
      heads_view<T>(result.k.data(), keys.shape()),
      heads_view<T>(result.v.data(), values.shape())};
  blocks(encoding, given, step, memory)
      .add_all(heads_view<std::remove_const_t<Q> const>(q), k, v, of);

  // (2) queries and keys
  if constexpr (acts_on_queries_and_keys<Encoding>) {
    detail::backward_queries(step.of_queries(), of.d_q, step.first_query(), 0);
    if (!given.keys_are_encoded) detail::backward_keys(step.of_keys(), of.d_k, 0, 0);
  }
  return result;
}

/// The same, once.
template <class Q, any_heads K, any_heads V, class Encoding, class D>
attention_gradients<arithmetic_t<Q>> attention_backward(
    heads_view<Q> const& q, K const& k, V const& v, Encoding const& encoding,
    attention_result<arithmetic_t<Q>> const& forward, heads_view<D> const& d_outputs,
    attention_options const& options = {}) {
  gradients_workspace<arithmetic_t<Q>> workspace;
  attention_backward(q, k, v, encoding, forward, d_outputs, options, workspace);
  return std::move(workspace.result);
}

}}  // namespace posenc
