// Options of a call of attention, and what it returns.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "posenc/attention/mask.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The options of attention, besides queries, keys, values and an encoding.
struct attention_options {
  posenc::mask mask = posenc::mask::causal;  ///< see mask.hpp
  /// On <q, k>; 1 / sqrt(head_dim) unless said otherwise, or 1 where encoded(q) has a scale.
  std::optional<double> scale = {};
  token_positions query_positions = {};  ///< default: of the last keys (per packed sequence)
  token_positions key_positions = {};    ///< default: 0, 1, ... (per packed sequence)
  bool keys_are_encoded = false;  ///< k is a cache of encoded keys, which site 2 leaves alone
  bool keep_scores = false, keep_weights = false;  ///< in the result, [heads][queries][keys]
  /// Side values of queries and of keys, [tokens][heads][any], which rules of site 3 find in their
  /// rows: gates, profiles. Query heads may share them, as they share kv heads.
  heads_view<float const> query_side = {nullptr, {0, 1, 1}};
  heads_view<float const> key_side = {nullptr, {0, 1, 1}};  ///< of keys
};

/// Dense arrays; scores and weights are empty unless the options ask for them. A query that sees no
/// key, or has scores of -infinity alone, has outputs of 0 and, without a sink, a log_sum_exp of
/// -infinity; else that is finite, a logarithm beyond the range of doubles being the largest or
/// lowest of them. Outputs and log_sum_exp lie as q does; scores and weights are one matrix per
/// head, as papers draw them.
template <std::floating_point T>
struct attention_result {
  std::vector<T> outputs;           ///< [queries][heads][value_dim]
  std::vector<double> log_sum_exp;  ///< [queries][heads]: ln(e^sink + sum_s e^(beta score))
  std::vector<T> scores;   ///< [heads][queries][keys], what site 4 sees: -infinity where masked
  std::vector<T> weights;  ///< [heads][queries][keys]
};

/// Memory for more results than outputs. Each span is empty, or has all of them.
template <std::floating_point T>
struct attention_records {
  std::span<double> log_sum_exp = {};  ///< [queries][heads], as attention_result has it
  std::span<T> scores = {};            ///< [heads][queries][keys]: -infinity where masked
  std::span<T> weights = {};           ///< [heads][queries][keys]
};

/// Queries that are encoded already, and what has multiplied them; made by encoded(). Attention
/// leaves them and their keys alone at site 2, and multiplies by no scale where they have one.
template <storable T>
struct encoded_queries {
  using element_type = T;  ///< const T where the heads are only read
  heads_view<T> heads;     ///< [queries][heads][head_dim]
  double scale = 1;        ///< that is on them; 1 if none
};

/// heads_view or encoded_queries.
template <class Q>
concept attended_queries = std::same_as<Q, heads_view<typename Q::element_type>> ||
    std::same_as<Q, encoded_queries<typename Q::element_type>>;

/// From heads, or from an operand of rotate, which knows its scale:
///
///     auto const queries = rotated<halves>(q).scale(s);
///     rotate(rows, queries, rotated<halves>(k, pages));
///     attention(encoded(queries), cached_keys, cached_values, encoding);
///
/// Rules that read the query see it with its scale.
template <class T>
encoded_queries<T> encoded(heads_view<T> const& q, double scale = 1) {
  return {q, scale};
}
/// From an operand of rotate, with its scale.
template <class Rotation>
auto encoded(Rotation const& q) -> decltype(encoded(q.target(), static_cast<double>(q.scale()))) {
  return encoded(q.target(), static_cast<double>(q.scale()));
}

}}  // namespace posenc
