// Queries and keys that are encoded by two prepared encodings of one type.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/encoding/detail/site_functions.hpp"
#include "posenc/heads/heads_view.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Encodes queries by one prepared encoding and keys by another.
template <class Prepared>
struct prepared_apart {
  static constexpr bool wraps_encodings = true;  ///< it has functions where Prepared has
  Prepared of_queries, of_keys;

  template <class T>
  void encode_queries(heads_view<T> const& q, std::size_t token = 0, std::size_t head = 0) const {
    detail::encode_queries(of_queries, q, token, head);
  }
  template <class T>
  void encode_keys(heads_view<T> const& k, std::size_t token = 0, std::size_t head = 0) const {
    detail::encode_keys(of_keys, k, token, head);
  }
  template <class T>
  void backward_queries(heads_view<T> const& d, std::size_t token = 0, std::size_t head = 0) const
      requires(pulls_back<Prepared, T>) {
    detail::backward_queries(of_queries, d, token, head);
  }
  template <class T>
  void backward_keys(heads_view<T> const& d, std::size_t token = 0, std::size_t head = 0) const
      requires(pulls_back<Prepared, T>) {
    detail::backward_keys(of_keys, d, token, head);
  }
};

}}}  // namespace posenc::detail
