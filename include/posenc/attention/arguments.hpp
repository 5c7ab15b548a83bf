// What attention is asked for: the options, and all that must hold before any work.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "posenc/attention/mask.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"

namespace posenc {

struct attention_options {
  mask visible = mask::causal;
  std::optional<double> scale = {};     ///< on <q, k>; 1 / sqrt(head_dim) unless said otherwise
  positions_view query_positions = {};  ///< those of the last keys if none are given
  positions_view key_positions = {};    ///< 0, 1, ... if none are given
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
  std::vector<std::int64_t> query_positions, key_positions;
};

inline std::vector<std::int64_t> positions_or(char const* function, positions_view given, std::size_t tokens, positions_view otherwise,
                                              char const* what) {
  require(given.empty() || given.size() == tokens, function, ": there must be one position for each of the ", tokens, " ", what, ", got ",
          given.size());
  auto const taken = given.empty() ? otherwise : given;
  return {taken.begin(), taken.end()};
}

/// Throws std::invalid_argument unless the shapes, positions and packed sequences agree, kv_heads divides heads, and the scale is finite
/// in T, which scores are computed in.
template <std::floating_point T>
attention_arguments checked_arguments(char const* function, heads_shape const& q, heads_shape const& k, heads_shape const& v,
                                      attention_options const& options) {
  auto const queries = q.tokens, keys = k.tokens;
  require(k.head_dim == q.head_dim, function, ": keys must have the queries' head_dim ", q.head_dim, ", got ", k.head_dim);
  require(v.tokens == keys && v.heads == k.heads, function, ": there must be one value a key, [", keys, "][", k.heads, "], got [", v.tokens,
          "][", v.heads, "]");
  require(q.heads == 0 || (k.heads > 0 && q.heads % k.heads == 0), function, ": kv_heads must divide heads, got ", k.heads,
          " kv heads for ", q.heads, " heads");
  auto const scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.head_dim)));
  require(is_finite(static_cast<double>(static_cast<T>(scale))), function, ": scale must be finite, got ", scale);
  require(queries <= keys || !options.query_positions.empty(), function,
          ": the positions of queries must be given where they outnumber keys, got ", queries, " queries and ", keys, " keys");
  options.visible.check(queries, keys);
  std::vector<std::int64_t> counted(keys);
  std::iota(counted.begin(), counted.end(), 0);
  auto key_positions = positions_or(function, options.key_positions, keys, counted, "keys");
  auto query_positions =
      positions_or(function, options.query_positions, queries, positions_view(key_positions).last(std::min(queries, keys)), "queries");
  return {.queries = queries,
          .keys = keys,
          .heads = q.heads,
          .kv_heads = k.heads,
          .head_dim = q.head_dim,
          .value_dim = v.head_dim,
          .group = k.heads == 0 ? 0 : q.heads / k.heads,
          .scale = scale,
          .visible = options.visible,
          .query_positions = std::move(query_positions),
          .key_positions = std::move(key_positions)};
}

}  // namespace detail
}  // namespace posenc
