// Attention in blocks, which names no encoding: sites 2 and 3 are in score_blocks.hpp, site 4 and
// the outputs here. reference.hpp has the same in the plainest words.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/attention/score_blocks.hpp"
#include "posenc/core/encoding_check.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc::inline POSENC_TARGET {

/// Dense; scores and weights are empty unless they were asked for. A query that sees no key has
/// outputs of 0 and, without a sink, a log_sum_exp of -infinity; of what was seen it is finite, a
/// logarithm beyond the range of doubles being the largest or lowest of them. Outputs, and with
/// them log_sum_exp, lie as q does, so that the output projection reads a token's heads in one
/// piece; scores and weights are one matrix a head, as papers draw them and frameworks return them.
template <std::floating_point T>
struct attention_result {
  std::vector<T> outputs;           ///< [queries][heads][value_dim]
  std::vector<double> log_sum_exp;  ///< [queries][heads]: ln(e^sink + sum_s e^(beta score))
  std::vector<T> scores;   ///< [heads][queries][keys], what site 4 sees: -infinity where masked
  std::vector<T> weights;  ///< [heads][queries][keys]
};

/// Results and all memory of calls one after another, for those who count each: of one thread at a
/// time.
///
///     attention_workspace<float> workspace;
///     auto const& result =                                     valid until the next call
///         attention(q, k, v, encoding, options, workspace);
template <std::floating_point T>
struct attention_workspace {
  attention_result<T> result;
  detail::score_memory<T> blocks;
  std::vector<T> keys, values, exponentials, outputs;
  std::vector<double> shares;
};

namespace detail {

/// attention, of what has been checked.
template <class Q, class K, class V, std::floating_point T, class Encoding>
attention_result<T> const& attend(heads_view<Q> const& q, heads_view<K> const& k,
                                  heads_view<V> const& v,
                                  prepared_encoding<T, Encoding> const& step,
                                  attention_arguments const& given,
                                  attention_options const& options,
                                  attention_workspace<T>& workspace) {
  auto const& encoding = step.encoding();
  auto const queries = given.queries, keys = given.keys, heads = given.heads,
             value_dim = given.value_dim;
  auto& result = workspace.result;
  result.outputs.resize(queries * heads * value_dim);
  result.scores.assign(options.keep_scores ? heads * queries * keys : 0, masked_score<T>);
  result.weights.assign(options.keep_weights ? heads * queries * keys : 0, T{0});
  constexpr bool tempers = acts_on_softmax<Encoding>;
  auto const sink_of = [&]([[maybe_unused]] std::size_t head) -> double {
    if constexpr (adds_sink<Encoding>) return encoding.sink(head);
    return no_sink;
  };
  result.log_sum_exp.resize(queries * heads);
  for (std::size_t i = 0; i < queries * heads; ++i) result.log_sum_exp[i] = sink_of(i % heads);
  if (queries == 0 || keys == 0) return std::ranges::fill(result.outputs, T{0}), result;

  // (2) queries and keys, (3) scores
  score_blocks<T, Encoding> scores(step, given, workspace.blocks);
  auto const at_keys = [&](auto const& row) {
    return (row.head * queries + row.query) * keys + row.keys.first;
  };
  auto const attend_to = [&](auto const& k_heads, auto const& v_heads, std::size_t kv_head) {
    for (std::size_t first = 0; first < queries; first += scores.queries()) {
      bool const sees = scores.compute(q, first, k_heads, kv_head);
      auto const& block = scores.shape();
      auto const output_of = [&](auto const& row) {
        return result.outputs.data() + (row.query * heads + row.head) * value_dim;
      };
      if (!sees) {
        for (std::size_t i = 0; i < block.rows(); ++i)
          std::fill_n(output_of(scores[i]), value_dim, T{0});
        continue;
      }
      auto const seen = block.seen();
      auto* const weights = scores.data();

      // (4) softmax
      workspace.shares.assign(block.rows(), 0);
      for (std::size_t i = 0; i < block.rows(); ++i) {
        auto const row = scores[i];
        if (options.keep_scores) std::ranges::copy(row.scores, result.scores.data() + at_keys(row));
        auto const e = exponentiate<tempers>(
            row.scores, workspace.exponentials, [&](auto const& plain, auto max) {
              return inverse_temperature_of(
                  encoding, statistics_of(plain, max, row.head, given.query_positions[row.query]));
            });
        auto const [log_sum_exp, share] = share_of(e.sum, sink_of(row.head));
        if (e.numbers != row.scores.data())
          std::copy_n(e.numbers, row.scores.size(), row.scores.data());
        if (!is_finite(e.sum.sum)) scores.clear_hidden(row);
        result.log_sum_exp[row.query * heads + row.head] = log_sum_exp;
        workspace.shares[i] = share;
        std::fill(weights + i * seen, row.scores.data(), T{0});
        std::fill(row.scores.data() + row.scores.size(), weights + (i + 1) * seen, T{0});
      }

      workspace.outputs.resize(block.rows() * value_dim);
      multiply_outputs<T>(workspace.outputs.data(), weights, v_heads, block,
                          workspace.shares.data());
      for (std::size_t i = 0; i < block.rows(); ++i) {
        auto const row = scores[i];
        std::copy_n(workspace.outputs.data() + i * value_dim, value_dim, output_of(row));
        if (!options.keep_weights) continue;
        std::ranges::transform(row.scores, result.weights.data() + at_keys(row),
                               [share = static_cast<T>(workspace.shares[i])](T weight) {
                                 return weight == 0 ? T{0} : weight * share;
                               });
      }
    }
  };
  if (scores.reads_keys() && scores.few()) {
    attend_to(heads_view<K const>(k), heads_view<V const>(v), 0);
    return result;
  }
  for (std::size_t kv_head = 0; kv_head < given.kv_heads; ++kv_head) {
    attend_to(scores.encoded_keys(workspace.keys, k.slice_heads(kv_head, 1), kv_head),
              as_computed<T>(workspace.values, v.slice_heads(kv_head, 1)), kv_head);
  }
  return result;
}

}  // namespace detail

/// softmax(scale * q k^T under the encoding) v. T is float, or double where q is; half and bfloat16
/// are computed with as float.
///
///     q [queries][heads][head_dim]
///     k [keys][kv_heads][head_dim]
///     v [keys][kv_heads][value_dim]
///
/// Grouped queries: head h sees the keys and values of kv head h / (heads / kv_heads).
/// An encoding of embeddings (site 1) comes before the projections that made q and k, and is
/// refused; unprojected embeds as if there were none. Products and exponentials in T, sums of
/// exponentials in double. Keys that no query of a block sees are skipped. Infinities and NaN stay
/// in the rows that see them. Memory beside the results: 256 rows of scores, or where queries are
/// few up to 8 of each kv head; a head of keys and of values, unless they are read as they are
/// stored. Throws std::invalid_argument unless the shapes, positions and packed sequences agree,
/// there is a head, kv_heads divides heads, and an encoding that knows its heads has as many (or
/// more, where it says that it may serve fewer); and, then amid the work, where an encoding throws
/// for another reason. The encoding is not copied.
template <class Q, class K, class V, class Encoding>
attention_result<arithmetic_t<Q>> const& attention(
    heads_view<Q> const& q, heads_view<K> const& k, heads_view<V> const& v,
    Encoding const& encoding, attention_options const& options,
    attention_workspace<arithmetic_t<Q>>& workspace) {
  using T = arithmetic_t<Q>;
  static_assert(detail::encoding_check<Encoding>::passed);
  static_assert(std::same_as<T, arithmetic_t<K>> && std::same_as<T, arithmetic_t<V>>,
                "q, k and v are doubles, or none of them");
  auto const given =
      detail::checked_arguments<T>("attention", encoding, q.shape(), k.shape(), v.shape(), options);
  prepared_encoding<T, Encoding> const step(encoding, given.query_positions, given.key_positions,
                                            options.keys_are_encoded);
  return detail::attend(q, k, v, step, given, options, workspace);
}

/// The same, of an encoding that was prepared for this step: its positions stand in place of the
/// options', which must have none.
template <class Q, class K, class V, class Encoding>
attention_result<arithmetic_t<Q>> const& attention(
    heads_view<Q> const& q, heads_view<K> const& k, heads_view<V> const& v,
    prepared_encoding<arithmetic_t<Q>, Encoding> const& step, attention_options const& options,
    attention_workspace<arithmetic_t<Q>>& workspace) {
  using T = arithmetic_t<Q>;
  static_assert(std::same_as<T, arithmetic_t<K>> && std::same_as<T, arithmetic_t<V>>,
                "q, k and v are doubles, or none of them");
  auto const given =
      detail::checked_arguments<T>("attention", step.encoding(), q.shape(), k.shape(), v.shape(),
                                   detail::options_of(step, options, q.tokens(), k.tokens()));
  return detail::attend(q, k, v, step, given, options, workspace);
}

/// The same, once.
template <class Q, class K, class V, class Encoding>
attention_result<arithmetic_t<Q>> attention(heads_view<Q> const& q, heads_view<K> const& k,
                                            heads_view<V> const& v, Encoding const& encoding,
                                            attention_options const& options = {}) {
  attention_workspace<arithmetic_t<Q>> workspace;
  attention(q, k, v, encoding, options, workspace);
  return std::move(workspace.result);
}

}  // namespace posenc
