// Attention's arguments with every default filled in, after each was checked.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/given_mask.hpp"
#include "posenc/attention/mask.hpp"
#include "posenc/attention/token_range.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/encoding/score_row.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/heads/heads_view.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Rejects encodings of site 1 at compile time.
template <class Encoding>
struct site_1_check {
  static_assert(!acts_on_embeddings<Encoding>,
                "posenc: attention must not embed (site 1): embed before W_q and W_k, or let "
                "unprojected(encoding) embed queries and keys as if W_q = W_k = I");
  static constexpr bool passed = true;
};

/// The positions of a call, in place of those in its options, which they view.
struct attention_positions {
  positions_view queries, keys;  ///< empty: the defaults
  bool keys_are_encoded;
};

/// Positions that begin anew with each packed sequence. Moved alone: a list views them.
struct counted_positions {
  std::vector<std::int64_t> numbers;
  counted_positions() = default;
  counted_positions(counted_positions&&) = default;
};

/// The shapes of q, k and v and the options, with every default filled in. Views the positions.
struct attention_arguments {
  std::size_t queries, keys, heads, kv_heads;
  std::size_t head_dim;  ///< of queries and keys
  std::size_t value_dim;
  std::size_t group;  ///< heads that share a kv head
  double scale;
  bool queries_are_encoded, keys_are_encoded;
  posenc::mask mask;
  position_list query_positions, key_positions;
  heads_view<float const> query_side, key_side;
  bool keys_rise = true;  ///< the positions of keys, in each sequence
  counted_positions of_packed_queries = {}, of_packed_keys = {};
};

/// A row for site 3: the scores of query t and one head with the keys of a range, whose positions
/// are listed. `query` is encoded.
template <class T, class S>
score_row<S> row_with_sides(attention_arguments const& in, std::span<S> scores,
                            std::span<T const> query, std::size_t t, std::size_t head,
                            token_range keys, positions_view key_positions) {
  auto const side_of_head = [&](heads_view<float const> const& side) {
    return side.tokens() == 0 ? side : side.slice_heads(head * side.heads() / in.heads, 1);
  };
  auto const of_query = side_of_head(in.query_side), of_keys = side_of_head(in.key_side);
  return {
      scores,
      head,
      in.query_positions[t],
      key_positions,
      query,
      t,
      keys.first,
      of_query.tokens() == 0 ? std::span<float const>() : of_query(t, 0),
      of_keys.tokens() == 0 ? of_keys : of_keys.slice_tokens(keys.first, keys.last - keys.first),
      in.scale};
}

/// The mask and the scale: of the encoding, if it says them, else of the options.
struct asked_of_attention {
  posenc::mask const& mask;
  std::optional<double> const& scale;
};
template <class Encoding>
asked_of_attention asked_of(char const* function, Encoding const& encoding,
                            attention_options const& options) {
  if constexpr (says_what_is_seen<Encoding>) {
    require(options.mask == posenc::mask::causal && !options.scale, function,
            ": mask and scale must be given in the rules, not in the options as well");
    return {encoding.asked().sees, encoding.asked().scale};
  } else {
    return {options.mask, options.scale};
  }
}

/// Throws std::invalid_argument unless all agree and the scale is finite in T, which scores are
/// computed in. scaled: what is on queries that are encoded already, if they are. The positions
/// must outlive what is returned.
template <std::floating_point T, class Encoding>
attention_arguments checked_arguments(char const* function, Encoding const& encoding,
                                      heads_shape const& q, heads_shape const& k,
                                      heads_shape const& v, attention_options const& options,
                                      std::optional<double> scaled, attention_positions const& at) {
  auto const queries = q.tokens, keys = k.tokens;
  auto const asked = asked_of(function, encoding, options);
  require(k.head_dim == q.head_dim, function, ": keys must have the queries' head_dim ", q.head_dim,
          ", got ", k.head_dim);
  require(v.tokens == keys && v.heads == k.heads, function,
          ": values must have the keys' [tokens][heads], [", keys, "][", k.heads, "], got [",
          v.tokens, "][", v.heads, "]");
  require(q.heads > 0, function, ": there must be a head, got 0");
  require(k.heads > 0 && q.heads % k.heads == 0, function, ": kv_heads must divide heads, got ",
          k.heads, " kv heads for ", q.heads, " heads");
  require(!scaled || *scaled == 1 || asked.scale.value_or(1) == 1, function,
          ": the scale must be given once, got queries scaled by ", scaled.value_or(1),
          " and a scale of ", asked.scale.value_or(1));
  auto const scale = scaled && *scaled != 1
                         ? 1
                         : asked.scale.value_or(1 / std::sqrt(static_cast<double>(q.head_dim)));
  require(is_finite(static_cast<double>(static_cast<T>(scale))), function,
          ": scale must be finite, got ", scale);
  check_shapes(function, encoding, q, k);
  auto const check_side = [&](char const* what, heads_view<float const> const& side,
                              std::size_t tokens) {
    require(side.tokens() == 0 ||
                (side.tokens() == tokens && side.heads() > 0 && q.heads % side.heads() == 0),
            function, ": ", what, " must have ", tokens,
            " tokens and a number of heads that divides ", q.heads, ", got ", side.tokens(),
            " tokens and ", side.heads(), " heads");
  };
  check_side("query_side", options.query_side, queries);
  check_side("key_side", options.key_side, keys);
  auto const& mask = asked.mask;
  mask.check(queries, keys);
  if (auto const* const cells = mask.given_cells()) cells->check(function, queries, q.heads, keys);
  auto const check_positions = [&](positions_view given, std::size_t tokens, char const* what) {
    require(given.empty() || given.size() == tokens, function,
            ": there must be one position for each of the ", tokens, " ", what, ", got ",
            given.size());
  };
  check_positions(at.keys, keys, "keys");
  check_positions(at.queries, queries, "queries");
  attention_arguments in{queries,
                         keys,
                         q.heads,
                         k.heads,
                         q.head_dim,
                         v.head_dim,
                         q.heads / k.heads,
                         scale,
                         scaled.has_value(),
                         at.keys_are_encoded || scaled,
                         mask,
                         position_list(at.queries),
                         position_list(at.keys),
                         options.query_side,
                         options.key_side};
  if (at.keys.empty() && mask.is_packed()) {
    in.of_packed_keys.numbers = mask.counted(keys);
    in.key_positions = position_list(in.of_packed_keys.numbers);
  } else if (at.keys.empty()) {
    in.key_positions = position_list(0, keys);
  }
  in.keys_rise = in.key_positions.is_counted() || mask.sequences_rise(in.key_positions.given());
  if (at.queries.empty() && mask.is_packed()) {
    std::vector<std::int64_t> memory;
    in.of_packed_queries.numbers =
        mask.last_positions(function, queries, in.key_positions.listed(memory));
    in.query_positions = position_list(in.of_packed_queries.numbers);
  } else if (at.queries.empty()) {
    require(queries <= keys || keys == 0, function,
            ": the positions of queries must be given where they outnumber keys, got ", queries,
            " queries and ", keys, " keys");
    in.query_positions =
        keys == 0 ? position_list(0, queries) : in.key_positions.part(keys - queries, queries);
  }
  return in;
}
template <std::floating_point T, class Encoding>
attention_arguments checked_arguments(char const* function, Encoding const& encoding,
                                      heads_shape const& q, heads_shape const& k,
                                      heads_shape const& v, attention_options const& options,
                                      std::optional<double> scaled = {}) {
  return checked_arguments<T>(
      function, encoding, q, k, v, options, scaled,
      {options.query_positions, options.key_positions, options.keys_are_encoded});
}

}}}  // namespace posenc::detail
