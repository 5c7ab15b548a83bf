// What attention is asked for: the options, and all that must hold before any work.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "posenc/attention/mask.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

struct attention_options {
  mask visible = mask::causal;
  /// On <q, k>; 1 / sqrt(head_dim) unless said otherwise. Say 1 where rotation_of(q).scale(s) has
  /// it on the queries already.
  std::optional<double> scale = {};
  /// Those of the last keys, of its own sequence where they are packed, if none are given.
  token_positions query_positions = {};
  /// 0, 1, ... if none are given, anew in each packed sequence.
  token_positions key_positions = {};
  bool keys_are_encoded = false;  ///< k is a cache of keys that earlier steps have encoded: sites 1
                                  ///< and 2 leave it alone
  bool keep_scores = false;
  bool keep_weights = false;
};

namespace detail {

/// The options over the shapes of q, k and v, with every default filled in.
struct attention_arguments {
  std::size_t queries, keys, heads, kv_heads, head_dim, value_dim;
  std::size_t group;  ///< heads that share a kv head
  double scale;
  mask visible;
  token_positions query_positions, key_positions;
};

token_positions positions_or(char const* function, token_positions given, std::size_t tokens,
                             char const* what, auto const& otherwise) {
  require(given.empty() || given.size() == tokens, function,
          ": there must be one position for each of the ", tokens, " ", what, ", got ",
          given.size());
  if (given.empty()) return otherwise();
  return given;
}

/// Throws std::invalid_argument unless the shapes, positions and packed sequences agree, heads are
/// a multiple of kv_heads, and the scale is finite in T, which scores are computed in.
template <std::floating_point T>
attention_arguments checked_arguments(char const* function, heads_shape const& q,
                                      heads_shape const& k, heads_shape const& v,
                                      attention_options options) {
  auto const queries = q.tokens, keys = k.tokens;
  require(k.head_dim == q.head_dim, function, ": keys must have the queries' head_dim ", q.head_dim,
          ", got ", k.head_dim);
  require(v.tokens == keys && v.heads == k.heads, function, ": there must be one value per key, [",
          keys, "][", k.heads, "], got [", v.tokens, "][", v.heads, "]");
  require(q.heads > 0, function, ": there must be a head, got 0");
  require(k.heads > 0 && q.heads % k.heads == 0, function, ": kv_heads must divide heads, got ",
          k.heads, " kv heads for ", q.heads, " heads");
  auto const scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.head_dim)));
  require(is_finite(static_cast<double>(static_cast<T>(scale))), function,
          ": scale must be finite, got ", scale);
  options.visible.check(queries, keys);
  auto const [outnumbering, outnumbered] = options.visible.most_queries_for_keys(queries, keys);
  require(outnumbering <= outnumbered || !options.query_positions.empty(), function,
          ": the positions of queries must be given where they outnumber keys, got ", outnumbering,
          " queries and ", outnumbered, " keys");
  auto key_positions = positions_or(function, std::move(options.key_positions), keys, "keys",
                                    [&] { return options.visible.counted(keys); });
  auto query_positions =
      positions_or(function, std::move(options.query_positions), queries, "queries",
                   [&] { return options.visible.last_positions(queries, key_positions); });
  return {.queries = queries,
          .keys = keys,
          .heads = q.heads,
          .kv_heads = k.heads,
          .head_dim = q.head_dim,
          .value_dim = v.head_dim,
          .group = q.heads / k.heads,
          .scale = scale,
          .visible = std::move(options.visible),
          .query_positions = std::move(query_positions),
          .key_positions = std::move(key_positions)};
}

}  // namespace detail
}  // namespace posenc
