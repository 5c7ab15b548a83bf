// Attention with any encoding, in blocks and in tasks. reference.hpp has the same in the plainest
// words.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/call.hpp"
#include "posenc/attention/dense_heads.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/core/encoding_check.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Reusable results and memory. Not for concurrent use.
///
///     attention_workspace<float> workspace;
///     auto const& result =                                     valid until the next call
///         attention(q, k, v, encoding, options, workspace);
template <std::floating_point T>
struct attention_workspace {
  attention_result<T> result;     ///< of the last call
  std::vector<std::byte> memory;  ///< scratch
};

namespace detail {

/// attention of an encoding, or of one that is prepared.
template <class T, class Executor, class Encoding>
attention_result<T> const& attend_to(tasks<Executor> const& split, auto const& q, auto const& k,
                                     auto const& v, Encoding const& encoding,
                                     attention_options const& options,
                                     attention_positions const& at,
                                     attention_workspace<T>& workspace,
                                     prepared_sites<T, Encoding> const* step) {
  heads_view<T> const nowhere(nullptr, {0, 1, 1});
  checked_call<std::remove_cvref_t<decltype(q)>, std::remove_cvref_t<decltype(k)>,
               std::remove_cvref_t<decltype(v)>, heads_view<T>, Encoding>
      call("attention", q, k, v, nowhere, encoding, options, at,
           options.keep_scores || options.keep_weights, step);
  auto const& given = call.given();
  auto& result = workspace.result;
  auto const kept = call.rows() * given.keys;
  result.outputs.resize(call.rows() * given.value_dim), result.log_sum_exp.resize(call.rows());
  result.scores.resize(options.keep_scores ? kept : 0);
  result.weights.resize(options.keep_weights ? kept : 0);
  call.write_to({result.outputs.data(), {given.queries, given.heads, given.value_dim}},
                {result.log_sum_exp, result.scores, result.weights});
  std::span const calls(&std::as_const(call), 1);
  workspace.memory.resize(std::max(workspace.memory.size(), attention_bytes(calls, split.count())));
  attend(split, calls, workspace.memory);
  return result;
}

}  // namespace detail

/// softmax(scale * q k^T under the encoding) v. T is float, or double where q is; half and bfloat16
/// are computed with as float.
///
///     q [queries][heads][head_dim]      heads_view, or encoded()
///     k [keys][kv_heads][head_dim]      keys and values: heads_view; or heads_view, or a cache's
///     v [keys][kv_heads][value_dim]     heads_view of any format, whose slots are in the order
///                                       of the keys, and may be shared
///
/// Grouped queries: head h sees the keys and values of kv head h / (heads / kv_heads).
/// An encoding of site 1 is a compile error. Products and exponentials in T, sums of exponentials
/// in double. Keys that no query of a block sees are skipped. Infinities and NaN stay in the rows
/// that see them. Throws std::invalid_argument unless the shapes, positions and packed sequences
/// agree, every key and value has a slot, there is a head, kv_heads divides heads, and an encoding
/// that knows its heads has as many (or more, where it says that it may serve fewer); and, then
/// amid the work, where an encoding throws for another reason. The encoding is not copied.
///
/// A task takes blocks of up to 144 query rows of a kv head until none is left. **Decoding**, which
/// is up to 8 rows per kv head of keys that no site changes, is split by keys instead: a task takes
/// the keys between two multiples of 2048, of all kv heads, or of some where tasks are more than
/// such parts. The sums of parts are added in the order of keys, in one task too, so that the bits
/// are the same for any split. Decoding is split by kv heads alone where whole rows are needed: by
/// a rule of site 3 that looks at other scores (adjusts_each_score), by a rule of site 4 other than
/// a sink, and to keep scores or weights. Its sums are then rounded in another order. Tasks call
/// the encoding concurrently; what it throws is thrown when all have ended.
///
/// Memory beside the results: each task holds 144 rows of scores and the keys and values of one kv
/// head. In decoding, each task holds the scores of one part, and 16 decoded heads if the format
/// has no load; the call holds the outputs of all parts.
template <class Executor, attended_queries Q, any_heads K, any_heads V, class Encoding>
attention_result<detail::arithmetic_of<Q>> const& attention(
    tasks<Executor> const& split, Q const& q, K const& k, V const& v, Encoding const& encoding,
    attention_options const& options, attention_workspace<detail::arithmetic_of<Q>>& workspace) {
  using T = detail::arithmetic_of<Q>;
  static_assert(detail::encoding_check<Encoding>::passed);
  return detail::attend_to<T, Executor, Encoding>(
      split, q, k, v, encoding, options,
      {options.query_positions, options.key_positions, options.keys_are_encoded}, workspace,
      nullptr);
}

/// The same, of an encoding that was prepared for this step: its positions stand in place of the
/// options', which must have none.
template <class Executor, attended_queries Q, any_heads K, any_heads V, class Encoding>
attention_result<detail::arithmetic_of<Q>> const& attention(
    tasks<Executor> const& split, Q const& q, K const& k, V const& v,
    prepared_encoding<detail::arithmetic_of<Q>, Encoding> const& step,
    attention_options const& options, attention_workspace<detail::arithmetic_of<Q>>& workspace) {
  return detail::attend_to<detail::arithmetic_of<Q>, Executor, Encoding>(
      split, q, k, v, step.encoding(), options,
      detail::positions_of(step, options, detail::heads_of(q).tokens(), k.tokens(),
                           detail::scale_on(q).has_value()),
      workspace, &step.sites());
}

/// The same, once.
template <class Executor, attended_queries Q, any_heads K, any_heads V, class Encoding>
attention_result<detail::arithmetic_of<Q>> attention(tasks<Executor> const& split, Q const& q,
                                                     K const& k, V const& v,
                                                     Encoding const& encoding,
                                                     attention_options const& options = {}) {
  attention_workspace<detail::arithmetic_of<Q>> workspace;
  attention(split, q, k, v, encoding, options, workspace);
  return std::move(workspace.result);
}

/// The same in one task, which the caller runs.
template <attended_queries Q, any_heads K, any_heads V, class Encoding>
attention_result<detail::arithmetic_of<Q>> const& attention(
    Q const& q, K const& k, V const& v, Encoding const& encoding, attention_options const& options,
    attention_workspace<detail::arithmetic_of<Q>>& workspace) {
  return attention(detail::one_task(), q, k, v, encoding, options, workspace);
}

/// The same, once.
template <attended_queries Q, any_heads K, any_heads V, class Encoding>
attention_result<detail::arithmetic_of<Q>> attention(Q const& q, K const& k, V const& v,
                                                     Encoding const& encoding,
                                                     attention_options const& options = {}) {
  return attention(detail::one_task(), q, k, v, encoding, options);
}

}  // namespace posenc
