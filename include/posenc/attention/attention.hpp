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

/// Dense arrays; scores and weights are empty unless the options ask for them. A query that sees no
/// key has outputs of 0 and, without a sink, a log_sum_exp of -infinity; of what was seen it is
/// finite, a logarithm beyond the range of doubles being the largest or lowest of them. Outputs,
/// and with them log_sum_exp, lie as q does, so that the output projection reads a token's heads in
/// one piece; scores and weights are one matrix a head, as papers draw them and frameworks return
/// them.
template <std::floating_point T>
struct attention_result {
  std::vector<T> outputs;           ///< [queries][heads][value_dim]
  std::vector<double> log_sum_exp;  ///< [queries][heads]: ln(e^sink + sum_s e^(beta score))
  std::vector<T> scores;   ///< [heads][queries][keys], what site 4 sees: -infinity where masked
  std::vector<T> weights;  ///< [heads][queries][keys]
};

/// Reusable results and scratch memory, so that repeated calls allocate nothing. Not for concurrent
/// use.
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

/// attention, of what has been checked: block after block of queries, in four steps.
template <std::floating_point T, class Encoding>
class block_attention {
 public:
  block_attention(prepared_encoding<T, Encoding> const& step, attention_arguments const& given,
                  attention_options const& options, attention_workspace<T>& workspace)
      : encoding_(step.encoding()),
        given_(given),
        options_(options),
        workspace_(workspace),
        result_(workspace.result),
        scores_(step, given, workspace.blocks) {}

  template <class Q, class K, class V>
  attention_result<T> const& operator()(heads_view<Q> const& q, heads_view<K> const& k,
                                        heads_view<V> const& v) {
    begin();
    if (given_.queries == 0 || given_.keys == 0) return result_;
    if (scores_.reads_keys() && scores_.few()) {
      attend(q, heads_view<K const>(k), heads_view<V const>(v), 0);
      return result_;
    }
    for (std::size_t kv_head = 0; kv_head < given_.kv_heads; ++kv_head) {
      attend(q, scores_.encoded_keys(workspace_.keys, k.slice_heads(kv_head, 1), kv_head),
             as_computed<T>(workspace_.values, v.slice_heads(kv_head, 1)), kv_head);
    }
    return result_;
  }

 private:
  /// The results of queries that see nothing.
  void begin() {
    auto const queries = given_.queries, keys = given_.keys, heads = given_.heads;
    result_.outputs.assign(queries * heads * given_.value_dim, T{0});
    result_.scores.assign(options_.keep_scores ? heads * queries * keys : 0, masked_score<T>);
    result_.weights.assign(options_.keep_weights ? heads * queries * keys : 0, T{0});
    result_.log_sum_exp.resize(queries * heads);
    for (std::size_t i = 0; i < queries * heads; ++i) result_.log_sum_exp[i] = sink_of(i % heads);
  }

  /// All queries of the heads that share the kv heads of k and v, `kv_head` and those after it.
  template <class Q, class K, class V>
  void attend(heads_view<Q> const& q, heads_view<K> const& k, heads_view<V> const& v,
              std::size_t kv_head) {
    for (std::size_t first = 0; first < given_.queries; first += scores_.queries()) {
      if (!scores_.compute(q, first, k, kv_head)) continue;  // (2) queries and keys, (3) scores
      auto const rows = scores_.shape().rows();
      workspace_.shares.resize(rows);
      for (std::size_t i = 0; i < rows; ++i) make_weights(i);  // (4) softmax
      sum_values(v);
    }
  }

  /// Row i of the block: scores become exponentials, which shares_[i] makes weights of.
  void make_weights(std::size_t i) {
    auto const row = scores_[i];
    auto const seen = scores_.shape().seen();
    if (options_.keep_scores) std::ranges::copy(row.scores, result_.scores.data() + at_keys(row));
    auto const e = exponentiate<acts_on_softmax<Encoding>>(
        row.scores, workspace_.exponentials, [&](auto const& plain, auto max) {
          return inverse_temperature_of(
              encoding_, statistics_of(plain, max, row.head, given_.query_positions[row.query]));
        });
    auto const [log_sum_exp, share] = share_of(e.sum, sink_of(row.head));
    if (e.numbers != row.scores.data())
      std::copy_n(e.numbers, row.scores.size(), row.scores.data());
    if (!is_finite(e.sum.sum)) scores_.clear_hidden(row);
    result_.log_sum_exp[row.query * given_.heads + row.head] = log_sum_exp;
    workspace_.shares[i] = share;
    auto* const weights = scores_.data() + i * seen;
    std::fill(weights, row.scores.data(), T{0});
    std::fill(row.scores.data() + row.scores.size(), weights + seen, T{0});
  }

  /// The outputs of the block, and its weights where they are kept.
  template <class V>
  void sum_values(heads_view<V> const& v) {
    auto const& block = scores_.shape();
    auto const value_dim = given_.value_dim;
    workspace_.outputs.resize(block.rows() * value_dim);
    multiply_outputs<T>(workspace_.outputs.data(), scores_.data(), v, block,
                        workspace_.shares.data());
    for (std::size_t i = 0; i < block.rows(); ++i) {
      auto const row = scores_[i];
      std::copy_n(workspace_.outputs.data() + i * value_dim, value_dim,
                  result_.outputs.data() + (row.query * given_.heads + row.head) * value_dim);
      if (!options_.keep_weights) continue;
      std::ranges::transform(row.scores, result_.weights.data() + at_keys(row),
                             [share = static_cast<T>(workspace_.shares[i])](T weight) {
                               return weight == 0 ? T{0} : weight * share;
                             });
    }
  }

  double sink_of([[maybe_unused]] std::size_t head) const {
    if constexpr (adds_sink<Encoding>) return encoding_.sink(head);
    return no_sink;
  }
  std::size_t at_keys(block_row<T> const& row) const noexcept {
    return (row.head * given_.queries + row.query) * given_.keys + row.keys.first;
  }

  Encoding const& encoding_;
  attention_arguments const& given_;
  attention_options const& options_;
  attention_workspace<T>& workspace_;
  attention_result<T>& result_;
  score_blocks<T, Encoding> scores_;
};

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
  return detail::block_attention<T, Encoding>(step, given, options, workspace)(q, k, v);
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
  return detail::block_attention<T, Encoding>(step, given, options, workspace)(q, k, v);
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
