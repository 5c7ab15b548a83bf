// Attention with any encoding: one call. reference.hpp has the same in the plainest words.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/call.hpp"
#include "posenc/attention/detail/dense_heads.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/detail/encoding_check.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/heads/storage.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// softmax(scale * q k^T under the encoding) v. T is float, or double where q is; half and bfloat16
/// are computed with as float.
///
///     q [queries][heads][head_dim]      heads_view, or encoded()
///     k [keys][kv_heads][head_dim]      keys and values: heads_view; or heads_view, or a cache's
///     v [keys][kv_heads][value_dim]     heads_view of any format, whose slots are in the order
///                                       of the keys, and may be shared
///
///     attention(q, k, v, scheme{rope<halves>(f), alibi(32)}, {.mask = mask::full})
///     attention(q, k, v, rules)         attention_rules, which say the mask and the scale too
///
/// Grouped queries: head h sees the keys and values of kv head h / (heads / kv_heads).
/// An encoding of site 1 is a compile error. Products and exponentials in T, sums of exponentials
/// in double. A key whose token has no slot, or whose value has none, is seen by no query. Keys
/// that no query of a block sees are skipped. Infinities and NaN stay in the rows that see them.
/// Throws std::invalid_argument unless the shapes, positions, given masks and packed sequences
/// agree, there is a head, kv_heads divides heads, and an encoding that knows its heads has as many
/// (or more, where it says that it may serve fewer); and, then amid the work, where an encoding
/// throws for another reason. The encoding is not copied.
///
/// Bits are the same for any tasks: attention/detail/work.hpp says how the work is cut. Whole rows
/// are computed at once for a rule of site 3 that looks at other scores (see adjusts_each_score),
/// for a rule of site 4 other than a sink, and to keep scores or weights. Memory beside the
/// results: 2.3 MB per task at head_dim 128, for any number of keys; with whole rows, 144 rows of
/// scores instead of 144 parts. Engines give the memory themselves: see attention_call.
template <attended_queries Q, any_heads K, any_heads V, class Encoding>
attention_result<detail::arithmetic_of<Q>> attention(Q const& q, K const& k, V const& v,
                                                     Encoding const& encoding,
                                                     attention_options const& options = {});

/// The same in tasks, which call the encoding concurrently; what it throws is thrown when all have
/// ended.
template <class Executor, attended_queries Q, any_heads K, any_heads V, class Encoding>
attention_result<detail::arithmetic_of<Q>> attention(tasks<Executor> const& split, Q const& q,
                                                     K const& k, V const& v,
                                                     Encoding const& encoding,
                                                     attention_options const& options = {});

// Again and again: with memory that is kept, and of an encoding that is prepared.

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

template <storable T>
heads_view<T const> queries_to_read(heads_view<T> const& q) noexcept {
  return q;
}
template <storable T>
encoded_queries<T const> queries_to_read(encoded_queries<T> const& q) noexcept {
  return {q.heads, q.scale};
}

/// attention of an encoding, or of one that is prepared.
template <class T, class Executor, class Encoding>
attention_result<T> const& attend_to(tasks<Executor> const& split, auto const& q, auto const& k,
                                     auto const& v, Encoding const& encoding,
                                     attention_options const& options,
                                     attention_positions const& at,
                                     attention_workspace<T>& workspace,
                                     prepared_sites<T, Encoding> const* step) {
  heads_view<T> const nowhere(nullptr, {0, 1, 1});
  // One type for what is only read, whether it could be written or not.
  auto const queries = queries_to_read(q);
  auto const keys = to_read(k);
  auto const values = to_read(v);
  checked_call<std::remove_const_t<decltype(queries)>, std::remove_const_t<decltype(keys)>,
               std::remove_const_t<decltype(values)>, heads_view<T>, Encoding>
      call("attention", queries, keys, values, nowhere, encoding, options, at,
           options.keep_scores || options.keep_weights, step);
  auto const& given = call.given();
  auto& result = workspace.result;
  auto const kept = call.rows() * given.keys;
  result.outputs.resize(call.rows() * given.value_dim);
  result.log_sum_exp.resize(call.rows());
  result.scores.resize(options.keep_scores ? kept : 0);
  result.weights.resize(options.keep_weights ? kept : 0);
  call.write_to({result.outputs.data(), {given.queries, given.heads, given.value_dim}},
                {result.log_sum_exp, result.scores, result.weights});
  workspace.memory.resize(std::max(workspace.memory.size(), attention_bytes(call, split.count())));
  attend(split, call, workspace.memory);
  return result;
}

}  // namespace detail

/// With memory that is kept.
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
  return detail::attend_to<detail::arithmetic_of<Q>, Executor, std::remove_const_t<Encoding>>(
      split, q, k, v, step.encoding(), options,
      detail::positions_of(step, options, detail::heads_of(q).tokens(), k.tokens(),
                           detail::scale_on(q).has_value()),
      workspace, &step.sites());
}

/// Either, in one task, which the caller runs.
template <attended_queries Q, any_heads K, any_heads V, class Encoding>
attention_result<detail::arithmetic_of<Q>> const& attention(
    Q const& q, K const& k, V const& v, Encoding const& encoding, attention_options const& options,
    attention_workspace<detail::arithmetic_of<Q>>& workspace) {
  return attention(detail::one_task(), q, k, v, encoding, options, workspace);
}

/// Whatever else is given.
void attention(...) = delete;  // posenc: attention takes views q, k, v, an encoding, and options

// Once is a workspace that is thrown away.

template <class Executor, attended_queries Q, any_heads K, any_heads V, class Encoding>
attention_result<detail::arithmetic_of<Q>> attention(tasks<Executor> const& split, Q const& q,
                                                     K const& k, V const& v,
                                                     Encoding const& encoding,
                                                     attention_options const& options) {
  attention_workspace<detail::arithmetic_of<Q>> workspace;
  attention(split, q, k, v, encoding, options, workspace);
  return std::move(workspace.result);
}
template <attended_queries Q, any_heads K, any_heads V, class Encoding>
attention_result<detail::arithmetic_of<Q>> attention(Q const& q, K const& k, V const& v,
                                                     Encoding const& encoding,
                                                     attention_options const& options) {
  return attention(detail::one_task(), q, k, v, encoding, options);
}

}}  // namespace posenc
