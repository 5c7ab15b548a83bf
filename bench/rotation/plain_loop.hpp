// The loop of a user with a table: cosines, then sines, of each token.
#pragma once

#include <cstddef>
#include <type_traits>

#include "conversions.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/layout.hpp"

namespace bench {

/// The same of whole heads of Dim dims, which the compiler knows, as it knows that nothing
/// overlaps.
template <class Layout, std::size_t Dim, class T, class Real>
[[gnu::noinline]] void loop_of(T* __restrict head, std::size_t tokens, std::size_t heads,
                               Real const* __restrict cos_sin) {
  constexpr std::size_t pairs = Dim / 2;
  constexpr bool split = std::is_same_v<Layout, posenc::halves>;
  for (std::size_t t = 0; t < tokens; ++t, cos_sin += Dim) {
    for (std::size_t h = 0; h < heads; ++h, head += Dim) {
      for (std::size_t i = 0; i < pairs; ++i) {
        auto& x = split ? head[i] : head[2 * i];
        auto& y = split ? head[i + pairs] : head[2 * i + 1];
        Real const a = user_load(x), b = user_load(y), c = cos_sin[i], s = cos_sin[pairs + i];
        user_store(x, a * c - b * s);
        user_store(y, a * s + b * c);
      }
    }
  }
}

/// Rotates the first 2 * pairs dims of heads that are contiguous, [tokens][heads][head_dim].
template <class Layout, class T, class Real>
[[gnu::noinline]] void plain_loop(T* heads, posenc::heads_shape const& shape, std::size_t pairs,
                                  Real const* cos_sin) {
  for (std::size_t t = 0; t < shape.tokens; ++t) {
    Real const *cos = cos_sin + t * 2 * pairs, *sin = cos + pairs;
    for (std::size_t h = 0; h < shape.heads; ++h) {
      T* head = heads + (t * shape.heads + h) * shape.head_dim;
      for (std::size_t i = 0; i < pairs; ++i) {
        constexpr bool split = std::is_same_v<Layout, posenc::halves>;
        auto& x = split ? head[i] : head[2 * i];
        auto& y = split ? head[i + pairs] : head[2 * i + 1];
        Real const a = user_load(x), b = user_load(y);
        user_store(x, a * cos[i] - b * sin[i]);
        user_store(y, a * sin[i] + b * cos[i]);
      }
    }
  }
}

}  // namespace bench
