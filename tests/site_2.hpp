#pragma once

/// Site 2 in tests: to encode once, and encodings that remember positions.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/encoding/sites.hpp"

namespace site_2 {

template <class E, class T>
auto prepared(E const& encoding, posenc::heads_view<T> const&, std::span<std::int64_t const> at) {
  return encoding.template prepare<posenc::arithmetic_t<T>>(at);
}

template <class E, class T>
void encode_queries(E const& encoding, posenc::heads_view<T> const& q,
                    std::span<std::int64_t const> at) {
  prepared(encoding, q, at).encode_queries(q);
}
template <class E, class T>
void encode_keys(E const& encoding, posenc::heads_view<T> const& k,
                 std::span<std::int64_t const> at) {
  prepared(encoding, k, at).encode_keys(k);
}
template <class E, class T>
void backward_queries(E const& encoding, posenc::heads_view<T> const& d,
                      std::span<std::int64_t const> at) {
  prepared(encoding, d, at).backward_queries(d);
}
template <class E, class T>
void backward_keys(E const& encoding, posenc::heads_view<T> const& d,
                   std::span<std::int64_t const> at) {
  prepared(encoding, d, at).backward_keys(d);
}

/// What an encoding prepares that computes from heads and positions when it is asked: by queries_at
/// and keys_at, and back by d_queries_at and d_keys_at.
template <class E>
struct remembered {
  static constexpr bool wraps_encodings = true;  // it has functions where E has
  E encoding;
  std::vector<std::int64_t> positions;

  remembered(E e, posenc::positions_view at)
      : encoding(std::move(e)), positions(at.begin(), at.end()) {}
  posenc::positions_view of(auto const& x, std::size_t first) const {
    return std::span(positions).subspan(first, x.tokens());
  }

  void encode_queries(auto const& q, std::size_t first = 0) const {
    encoding.queries_at(q, of(q, first));
  }
  void encode_keys(auto const& k, std::size_t first = 0) const {
    encoding.keys_at(k, of(k, first));
  }
  void backward_queries(auto const& d, std::size_t first = 0) const
      requires(requires(posenc::positions_view at) { encoding.d_queries_at(d, at); }) {
    encoding.d_queries_at(d, of(d, first));
  }
  void backward_keys(auto const& d, std::size_t first = 0) const
      requires(requires(posenc::positions_view at) { encoding.d_keys_at(d, at); }) {
    encoding.d_keys_at(d, of(d, first));
  }
};

/// The least that acts at site 2, without a way back for gradients.
struct forward_only {
  struct prepared {
    void encode_queries(auto const&, std::size_t) const {}
    void encode_keys(auto const&, std::size_t) const {}
  };
  template <class>
  prepared prepare(posenc::positions_view) const {
    return {};
  }
};

}  // namespace site_2
