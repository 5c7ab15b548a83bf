// Queries and keys under a Walsh-Hadamard transform: what attends to caches of transformed keys.
#pragma once

#include <concepts>
#include <cstddef>

#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/rotation/hadamard.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// Transforms queries and keys of `tokens` tokens. H is its own transpose.
struct prepared_hadamard {
  std::size_t tokens, block;

  void encode_queries(auto const& q, std::size_t first_token = 0) const {
    require(first_token <= tokens && q.tokens() <= tokens - first_token,
            "prepare: every token must have a prepared position, got ", tokens, " positions for ",
            q.tokens(), " tokens from ", first_token, " on");
    hadamard(q, block);
  }
  void encode_keys(auto const& k, std::size_t first = 0) const { encode_queries(k, first); }
  void backward_queries(auto const& d, std::size_t first = 0) const { encode_queries(d, first); }
  void backward_keys(auto const& d, std::size_t first = 0) const { encode_queries(d, first); }
};

}  // namespace detail

/// Site 2: q -> H q, k -> H k, the transform of rotation/hadamard.hpp, which changes no score. In a
/// scheme, behind what rotates. With keys that rotate(...).hadamard() has stored, queries alone are
/// encoded:
///
///     attention(q, k_cache, v_cache, scheme{rope<halves>(f), hadamard_transform{}},
///               {.keys_are_encoded = true});
///
/// Encoding throws as hadamard does.
struct hadamard_transform {
  std::size_t block = 0;  ///< a power of two that divides head_dim; 0: the largest

  /// Prepares as many tokens as there are positions.
  template <std::floating_point T = float>
  detail::prepared_hadamard prepare(auto const& positions) const {
    return {positions.size(), block};
  }
};

static_assert(acts_on_queries_and_keys<hadamard_transform> &&
              pulls_back_queries_and_keys<hadamard_transform>);

}}  // namespace posenc
