// The reference attention: four paragraphs, one a site, that name no encoding.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/attention/mask.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc {

struct attention_options {
  mask visible = mask::causal;
  std::optional<double> scale = {};     ///< on <q, k>; 1 / sqrt(head_dim) unless said otherwise
  positions_view query_positions = {};  ///< those of the last keys if none are given
  positions_view key_positions = {};    ///< 0, 1, ... if none are given
  bool keep_scores = false;
  bool keep_weights = false;
};

/// Dense; scores and weights are empty unless they were asked for.
template <std::floating_point T>
struct attention_result {
  std::vector<T> outputs;           ///< [queries][heads][value_dim]; 0 for a query that sees no key
  std::vector<double> log_sum_exp;  ///< [queries][heads]: ln sum_s e^(beta score); -infinity for a query that sees no key
  std::vector<T> scores;            ///< [heads][queries][keys], what site 4 sees: -infinity where masked
  std::vector<T> weights;           ///< [heads][queries][keys]
};

namespace detail {

inline std::vector<std::int64_t> positions_or(positions_view given, std::size_t tokens, positions_view otherwise, char const* what) {
  require(given.empty() || given.size() == tokens, "attention: there must be one position for each of the ", tokens, " ", what, ", got ",
          given.size());
  auto const taken = given.empty() ? otherwise : given;
  return {taken.begin(), taken.end()};
}

/// Some tokens and heads of a view as dense numbers, [tokens][heads][head_dim], to be computed with.
template <class T, class S>
heads_view<T> copied(std::vector<T>& numbers, heads_view<S> const& x) {
  numbers.resize(x.tokens() * x.heads() * x.head_dim());
  auto to = numbers.begin();
  for (std::size_t token = 0; token < x.tokens(); ++token) {
    for (std::size_t head = 0; head < x.heads(); ++head) {
      for (auto const& number : x(token, head)) *to++ = load(number);
    }
  }
  return {numbers.data(), x.shape()};
}

/// One head, [tokens][head_dim], to be multiplied: where it lies, if it is computed with as it is stored and is not changed by `encode`.
template <class T, bool Changed, class S>
rows_of<T> encoded_rows(std::vector<T>& numbers, heads_view<S> const& head, auto const& encode) {
  if constexpr (!Changed && std::same_as<std::remove_const_t<S>, T>) {
    return head_rows<T>(heads_view<T const>(head));
  } else {
    auto const copy = copied<T>(numbers, head);
    encode(copy);
    return head_rows<T>(heads_view<T const>(copy));
  }
}

/// Which keys each of some queries sees.
class visible_keys {
 public:
  visible_keys(mask const& visible, positions_view query_positions, positions_view key_positions)
      : visible_(visible), queries_(query_positions), keys_(key_positions), rising_(std::ranges::is_sorted(key_positions)) {}

  /// A range of tokens outside of which query t sees none.
  token_range around(std::size_t t) const noexcept {
    auto const [first, last] = visible_.tokens(t, keys_.size());
    if (!rising_) return {first, last};
    auto const [nearest, farthest] = visible_.positions(queries_[t]);
    auto const from = keys_.begin() + static_cast<std::ptrdiff_t>(first), to = keys_.begin() + static_cast<std::ptrdiff_t>(last);
    auto const begin = std::lower_bound(from, to, nearest), end = std::upper_bound(begin, to, farthest);
    return {static_cast<std::size_t>(begin - keys_.begin()), static_cast<std::size_t>(end - keys_.begin())};
  }

  /// And outside of which none of `count` queries does.
  token_range around(std::size_t first_query, std::size_t count) const noexcept {
    token_range all{keys_.size(), 0};
    for (std::size_t t = first_query; t < first_query + count; ++t) {
      auto const [first, last] = around(t);
      if (first < last) all = {std::min(all.first, first), std::max(all.last, last)};
    }
    return {std::min(all.first, all.last), all.last};
  }

  /// Masks what query t does not see among the keys from `first` on, [row].
  template <class T>
  void hide(std::size_t t, std::size_t first, std::span<T> row) const noexcept {
    auto const [begin, end] = around(t);
    auto const within = [&](std::size_t s) { return std::clamp(s, first, first + row.size()) - first; };
    std::fill(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(within(begin)), masked_score<T>);
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(within(end)), row.end(), masked_score<T>);
    if (rising_) return;
    auto const [nearest, farthest] = visible_.positions(queries_[t]);
    for (auto s = within(begin); s < within(end); ++s) {
      if (keys_[first + s] < nearest || keys_[first + s] > farthest) row[s] = masked_score<T>;
    }
  }

 private:
  mask const& visible_;
  positions_view queries_, keys_;
  bool rising_;
};

}  // namespace detail

/// softmax(scale * q k^T under the encoding) v. T is float, or double where q is; half and bfloat16 are computed with as float.
///
///     q [queries][heads][head_dim], k [keys][kv_heads][head_dim], v [keys][kv_heads][value_dim], any strides
///
/// Grouped queries: head h sees the keys and values of kv head h / (heads / kv_heads).
/// An encoding of the embeddings (site 1) acts as if W_q = W_k = I: where q and k are projections, embed before projecting instead.
/// Products and exponentials in T, sums of exponentials in double. Keys that no query of a block sees are skipped. Infinities and NaN stay
/// in the rows that see them.
/// Throws std::invalid_argument unless the shapes, positions and packed sequences agree and kv_heads divides heads.
/// Memory beside the results: a head of keys and of values, and twice 64 rows of scores.
template <class Q, class K, class V, positional_encoding Encoding>
attention_result<arithmetic_t<Q>> attention(heads_view<Q> const& q, heads_view<K> const& k, heads_view<V> const& v,
                                            Encoding const& encoding, attention_options const& options = {}) {
  using T = arithmetic_t<Q>;
  static_assert(std::same_as<T, arithmetic_t<K>> && std::same_as<T, arithmetic_t<V>>, "q, k and v are doubles, or none of them");
  auto const queries = q.tokens(), keys = k.tokens(), heads = q.heads(), kv_heads = k.heads(), head_dim = q.head_dim(),
             value_dim = v.head_dim();
  detail::require(k.head_dim() == head_dim, "attention: keys must have the queries' head_dim ", head_dim, ", got ", k.head_dim());
  detail::require(v.tokens() == keys && v.heads() == kv_heads, "attention: there must be one value a key, [", keys, "][", kv_heads,
                  "], got [", v.tokens(), "][", v.heads(), "]");
  detail::require(heads == 0 || (kv_heads > 0 && heads % kv_heads == 0), "attention: kv_heads must divide heads, got ", kv_heads,
                  " kv heads for ", heads, " heads");
  auto const scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(head_dim)));
  detail::require(is_finite(static_cast<double>(static_cast<T>(scale))), "attention: scale must be finite, got ", scale);
  detail::require(queries <= keys || !options.query_positions.empty(),
                  "attention: the positions of queries must be given where they outnumber keys, got ", queries, " queries and ", keys,
                  " keys");
  options.visible.check(queries, keys);
  std::vector<std::int64_t> counted(keys);
  std::iota(counted.begin(), counted.end(), 0);
  auto const key_positions = detail::positions_or(options.key_positions, keys, counted, "keys");
  auto const query_positions =
      detail::positions_or(options.query_positions, queries, positions_view(key_positions).last(std::min(queries, keys)), "queries");
  detail::visible_keys const visible(options.visible, query_positions, key_positions);

  attention_result<T> result;
  result.outputs.resize(queries * heads * value_dim);
  result.log_sum_exp.assign(queries * heads, static_cast<double>(masked_score<T>));
  if (options.keep_scores) result.scores.assign(heads * queries * keys, masked_score<T>);
  if (options.keep_weights) result.weights.resize(heads * queries * keys);
  if (queries == 0 || heads == 0 || keys == 0) return result;

  scheme<Encoding> const sites(encoding);
  using acts = detail::acts<Encoding>;
  auto const group = heads / kv_heads, block = std::max<std::size_t>(64 / group, 1);  // of heads, of queries
  std::vector<T> q_numbers, k_numbers, v_numbers, score_numbers(std::min(block, queries) * group * keys),
      weight_numbers(score_numbers.size()), output_numbers;
  std::vector<double> sums;
  for (std::size_t kv_head = 0; kv_head < kv_heads; ++kv_head) {
    auto const k_rows = detail::encoded_rows < T,
               acts::on_embeddings || acts::on_queries_and_keys > (k_numbers, k.slice_heads(kv_head, 1), [&](auto const&copy) {
                                        sites.embed(copy, key_positions);
                                        sites.encode_keys(copy, key_positions);
                                      });
    auto const v_rows = detail::encoded_rows<T, false>(v_numbers, v.slice_heads(kv_head, 1), [](auto const&) {});
    for (std::size_t first = 0; first < queries; first += block) {
      auto const count = std::min(block, queries - first), rows = count * group;
      auto const [from, to] = visible.around(first, count);
      auto const seen = to - from;
      if (seen == 0) continue;
      auto const positions = positions_view(query_positions).subspan(first, count);
      auto const q_block = detail::copied<T>(q_numbers, q.slice_tokens(first, count).slice_heads(kv_head * group, group));

      // (1) embeddings
      sites.embed(q_block, positions);

      // (2) queries and keys
      sites.encode_queries(q_block, positions);

      auto const scores = detail::block(score_numbers, rows, seen), weights = detail::block(weight_numbers, rows, seen);
      detail::multiply_scores<T>(scores, static_cast<T>(scale), detail::dense_rows<T>(q_numbers, rows),
                                 detail::middle_rows<T>(k_rows, from, seen));
      sums.assign(rows, 0);
      for (std::size_t row = 0; row < rows; ++row) {
        auto const t = first + row / group, head = kv_head * group + row % group;
        auto* const x = score_numbers.data() + row * seen;
        auto* const e = weight_numbers.data() + row * seen;

        // (3) scores
        if constexpr (acts::on_scores) {
          sites.adjust_scores(score_row<T>{std::span(x, seen), head, query_positions[t], positions_view(key_positions).subspan(from, seen),
                                           q_block(row / group, row % group)});
        }
        visible.hide(t, from, std::span(x, seen));

        // (4) softmax
        auto const max = detail::largest(x, seen);
        auto const plain = detail::exponentials<acts::on_softmax>(x, e, seen, max);
        sums[row] = plain.exponentials;
        double beta = 1;
        if constexpr (acts::on_softmax) {
          beta = sites.inverse_temperature(detail::statistics_of(plain, static_cast<double>(max), head, query_positions[t]));
          if (beta != 1) sums[row] = detail::weigh(x, e, seen, max, beta);
        }
        if (!is_masked(max)) result.log_sum_exp[t * heads + head] = beta * static_cast<double>(max) + std::log(sums[row]);
      }

      auto const outputs = detail::block(output_numbers, rows, value_dim);
      detail::multiply_outputs<T>(outputs, weights, detail::middle_rows<T>(v_rows, from, seen));
      for (std::size_t row = 0; row < rows; ++row) {
        auto const t = first + row / group, head = kv_head * group + row % group;
        auto const share = sums[row] == 0 ? T{0} : static_cast<T>(1 / sums[row]);
        auto const scaled = [&](T number) { return number * share; };
        auto const* const output = outputs.data() + row * value_dim;
        std::transform(output, output + value_dim, result.outputs.data() + (t * heads + head) * value_dim, scaled);
        auto const at = (head * queries + t) * keys + from;
        if (options.keep_scores) std::copy_n(scores.data() + row * seen, seen, result.scores.data() + at);
        if (options.keep_weights)
          std::transform(weights.data() + row * seen, weights.data() + (row + 1) * seen, result.weights.data() + at, scaled);
      }
    }
  }
  return result;
}

}  // namespace posenc
