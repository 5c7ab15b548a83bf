// The reference attention: four paragraphs, one a site, that name no encoding.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // g++ 12 warns of its own AVX-512 headers within Eigen
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Core>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/attention/mask.hpp"
#include "posenc/core/scheme.hpp"
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
  std::vector<T> outputs;  ///< [queries][heads][value_dim]; 0 for a query that sees no key
  std::vector<T> scores;   ///< [heads][queries][keys], what site 4 sees: -infinity where masked
  std::vector<T> weights;  ///< [heads][queries][keys]
};

namespace detail {

template <class T>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// One head of a view as a matrix, [tokens][head_dim].
template <class T>
auto head_matrix(heads_view<T const> const& x, std::size_t head) {
  auto const* const data = x.tokens() == 0 ? nullptr : x(0, head).data();
  return Eigen::Map<matrix<T> const, Eigen::Unaligned, Eigen::OuterStride<>>(
      data, static_cast<Eigen::Index>(x.tokens()), static_cast<Eigen::Index>(x.head_dim()), Eigen::OuterStride<>(x.strides().token));
}

// The two products, apart from the encodings, so that they are compiled once for all of them.
template <class T>
void multiply_scores(matrix<T>& scores, double scale, heads_view<T const> const& q, std::size_t head, heads_view<T const> const& k,
                     std::size_t kv_head) {
  scores.noalias() = static_cast<T>(scale) * head_matrix<T>(q, head) * head_matrix<T>(k, kv_head).transpose();
}
template <class T>
void multiply_outputs(matrix<T>& outputs, matrix<T> const& weights, heads_view<T const> const& v, std::size_t kv_head) {
  outputs.noalias() = weights * head_matrix<T>(v, kv_head);
  // A value that is not seen may be anything, NaN included: a row that shows it is summed anew over what is seen.
  for (Eigen::Index t = 0; t < outputs.rows(); ++t) {
    if (std::ranges::all_of(std::span(&outputs(t, 0), v.head_dim()), [](T x) { return is_finite(static_cast<double>(x)); })) continue;
    outputs.row(t).setZero();
    for (Eigen::Index s = 0; s < weights.cols(); ++s) {
      if (weights(t, s) != 0) outputs.row(t) += weights(t, s) * head_matrix<T>(v, kv_head).row(s);
    }
  }
}

template <class T>
std::vector<T> dense_copy(heads_view<T const> const& x) {
  std::vector<T> copy;
  copy.reserve(x.tokens() * x.heads() * x.head_dim());
  for (std::size_t token = 0; token < x.tokens(); ++token) {
    for (std::size_t head = 0; head < x.heads(); ++head) {
      auto const numbers = x(token, head);
      copy.insert(copy.end(), numbers.begin(), numbers.end());
    }
  }
  return copy;
}

inline std::vector<std::int64_t> positions_or(positions_view given, std::size_t tokens, positions_view otherwise, char const* what) {
  require(given.empty() || given.size() == tokens, "attention: there must be one position for each of the ", tokens, " ", what, ", got ",
          given.size());
  auto const taken = given.empty() ? otherwise : given;
  return {taken.begin(), taken.end()};
}

}  // namespace detail

/// softmax(scale * q k^T under the encoding) v, in T, float or double; <q, k> sums in T, softmax in double.
///
///     q [queries][heads][head_dim], k [keys][kv_heads][head_dim], v [keys][kv_heads][value_dim], any strides
///
/// Grouped queries: head h sees the keys and values of kv head h / (heads / kv_heads).
/// An encoding of the embeddings (site 1) acts as if W_q = W_k = I: where q and k are projections, embed before projecting instead.
/// Throws std::invalid_argument unless the shapes, positions and packed sequences agree and kv_heads divides heads.
/// Memory beside the results: copies of q and k, and 128 rows of scores.
template <class Q, positional_encoding Encoding, std::floating_point T = std::remove_const_t<Q>>
attention_result<T> attention(heads_view<Q> const& q, std::type_identity_t<heads_view<T const>> const& k,
                              std::type_identity_t<heads_view<T const>> const& v, Encoding const& encoding,
                              attention_options const& options = {}) {
  auto const queries = q.tokens(), keys = k.tokens(), heads = q.heads(), kv_heads = k.heads(), value_dim = v.head_dim();
  detail::require(k.head_dim() == q.head_dim(), "attention: keys must have the queries' head_dim ", q.head_dim(), ", got ", k.head_dim());
  detail::require(v.tokens() == keys && v.heads() == kv_heads, "attention: there must be one value a key, [", keys, "][", kv_heads,
                  "], got [", v.tokens(), "][", v.heads(), "]");
  detail::require(heads == 0 || (kv_heads > 0 && heads % kv_heads == 0), "attention: kv_heads must divide heads, got ", kv_heads,
                  " kv heads for ", heads, " heads");
  auto const scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.head_dim())));
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

  scheme<Encoding> const sites(encoding);
  auto q_copy = detail::dense_copy<T>(q), k_copy = detail::dense_copy<T>(k);
  heads_view<T> const q_encoded(q_copy.data(), q.shape()), k_encoded(k_copy.data(), k.shape());

  // (1) embeddings
  sites.embed(q_encoded, query_positions);
  sites.embed(k_encoded, key_positions);

  // (2) queries and keys
  sites.encode_queries(q_encoded, query_positions);
  sites.encode_keys(k_encoded, key_positions);

  attention_result<T> result;
  result.outputs.resize(queries * heads * value_dim);
  if (options.keep_scores) result.scores.resize(heads * queries * keys);
  if (options.keep_weights) result.weights.resize(heads * queries * keys);
  constexpr std::size_t block = 128;
  detail::matrix<T> scores, outputs;
  for (std::size_t head = 0; head < heads; ++head) {
    auto const kv_head = head / (heads / kv_heads);
    for (std::size_t first = 0; first < queries; first += block) {
      auto const count = std::min(block, queries - first);
      detail::multiply_scores<T>(scores, scale, q_encoded.slice_tokens(first, count), head, k_encoded, kv_head);
      for (std::size_t t = 0; t < count; ++t) {
        std::span<T> const row(scores.data() + t * keys, keys);
        auto const query_position = query_positions[first + t];

        // (3) scores
        sites.adjust_scores(score_row<T>{row, head, query_position, key_positions, q_encoded(first + t, head)});
        auto const [nearest, farthest] = options.visible.positions(query_position);
        auto const own = options.visible.tokens(first + t, keys);
        for (std::size_t s = 0; s < keys; ++s) {
          bool const is_seen = own.first <= s && s < own.last && nearest <= key_positions[s] && key_positions[s] <= farthest;
          if (!is_seen) row[s] = masked_score<T>;
        }
        auto const offset = static_cast<std::ptrdiff_t>((head * queries + first + t) * keys);
        if (options.keep_scores) std::ranges::copy(row, result.scores.begin() + offset);

        // (4) softmax
        auto const seen = statistics(std::span<T const>(row), head, query_position);
        softmax(row, seen, sites.inverse_temperature(seen));
        if (options.keep_weights) std::ranges::copy(row, result.weights.begin() + offset);
      }
      detail::multiply_outputs<T>(outputs, scores, v, kv_head);
      for (std::size_t t = 0; t < count; ++t) {
        std::copy_n(outputs.data() + t * value_dim, value_dim,
                    result.outputs.begin() + static_cast<std::ptrdiff_t>(((first + t) * heads + head) * value_dim));
      }
    }
  }
  return result;
}

}  // namespace posenc
