// Adds one vector per token to embeddings.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Throws std::invalid_argument unless x has heads of `dim` dims and there is one position a token.
template <class T>
void require_embeddings(char const* what, heads_view<T> const& x, std::size_t dim,
                        positions_view positions) {
  require(x.head_dim() == dim, what, ": embeddings must have ", dim, " numbers, got ",
          x.head_dim());
  require(x.tokens() == positions.size(), what, ": there must be one position per token, got ",
          positions.size(), " positions for ", x.tokens(), " tokens");
}

/// x[token][head] += what write(token, vector) writes, for every head, in the arithmetic of T.
template <class T>
void add_rows(heads_view<T> const& x, auto const& write) {
  std::vector<arithmetic_t<T>> vector(x.head_dim());
  for (std::size_t token = 0; token < x.tokens(); ++token) {
    write(token, std::span(vector));
    for (std::size_t head = 0; head < x.heads(); ++head) {
      auto const numbers = x(token, head);
      for (std::size_t i = 0; i < vector.size(); ++i)
        store(numbers[i], load(numbers[i]) + vector[i]);
    }
  }
}

}}}  // namespace posenc::detail
