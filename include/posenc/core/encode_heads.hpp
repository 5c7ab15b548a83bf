// Site 2 on some of the heads, for what is prepared alike for all heads and what is not.
#pragma once

#include <cstddef>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Encodes queries in place. `token` and `head` are the indices of the view's first.
template <class P, class T>
void encode_queries(P const& prepared, heads_view<T> const& q, std::size_t token,
                    [[maybe_unused]] std::size_t head) {
  if constexpr (requires { prepared.encode_queries(q, token, head); }) {
    prepared.encode_queries(q, token, head);
  } else {
    prepared.encode_queries(q, token);
  }
}

/// The same for keys; `head` is a kv head.
template <class P, class T>
void encode_keys(P const& prepared, heads_view<T> const& k, std::size_t token,
                 [[maybe_unused]] std::size_t head) {
  if constexpr (requires { prepared.encode_keys(k, token, head); }) {
    prepared.encode_keys(k, token, head);
  } else {
    prepared.encode_keys(k, token);
  }
}

/// Backward, of queries.
template <class P, class T>
void backward_queries(P const& prepared, heads_view<T> const& d, std::size_t token,
                      [[maybe_unused]] std::size_t head) {
  if constexpr (requires { prepared.backward_queries(d, token, head); }) {
    prepared.backward_queries(d, token, head);
  } else {
    prepared.backward_queries(d, token);
  }
}

/// Backward, of keys.
template <class P, class T>
void backward_keys(P const& prepared, heads_view<T> const& d, std::size_t token,
                   [[maybe_unused]] std::size_t head) {
  if constexpr (requires { prepared.backward_keys(d, token, head); }) {
    prepared.backward_keys(d, token, head);
  } else {
    prepared.backward_keys(d, token);
  }
}

}  // namespace posenc::detail
