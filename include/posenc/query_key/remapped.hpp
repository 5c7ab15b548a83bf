// Another encoding at other positions: queries and keys stand where two maps put them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "posenc/core/encoding_check.hpp"
#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// From a position to the one that takes its place.
template <class M>
concept position_map = requires(M const& map, std::int64_t position) {
  { map(position) } -> std::signed_integral;
};

/// Site 2: `inner` at query_map(t) and key_map(s). A prompt that is squashed into the context a model was trained for, or moved:
///
///     remapped(rope<halves>(f), [](std::int64_t t) { return t / 4; }, [](std::int64_t s) { return s / 4; })
///     remapped(rope<halves>(f), [](std::int64_t t) { return t; }, [](std::int64_t s) { return s < 100 ? s + shift : s; })
///
/// Each key has one position, whatever the query: distances as ReRoPE and Self-Extend clip them are distance_remapping's.
/// A map must answer the same position in the same way each time. Where it throws, nothing has been changed. Attention must have as many
/// heads as inner.
template <class Inner, position_map QueryMap, position_map KeyMap>
class remapped {
  static_assert(detail::encoding_check<Inner>::passed);
  static_assert(acts_on_queries_and_keys<Inner> ? detail::sites_of<Inner> == 1 : detail::encoding_check<Inner>::encodes,
                "posenc: what is remapped must act on queries and keys (site 2), and nowhere else");

 public:
  static constexpr bool wraps_encodings = true;  ///< gradients get through where they get through inner

  remapped(Inner inner, QueryMap query_map, KeyMap key_map)
      : inner_(std::move(inner)), query_map_(std::move(query_map)), key_map_(std::move(key_map)) {}

  Inner const& inner() const noexcept { return inner_; }

  /// Throws std::invalid_argument, in the name of a function, where inner is not of so many heads.
  void require_heads(char const* function, std::size_t count) const { detail::require_heads(function, inner_, count); }

  /// In place. x: [tokens][heads][head_dim], one position per token. Throws as inner does, before anything is changed.
  template <class T>
  void encode_queries(heads_view<T> const& q, positions_view positions) const {
    inner_.encode_queries(q, positions_view(mapped(query_map_, positions)));
  }
  template <class T>
  void encode_keys(heads_view<T> const& k, positions_view positions) const {
    inner_.encode_keys(k, positions_view(mapped(key_map_, positions)));
  }

  /// Gradients with respect to what was encoded to those of what it was made of, where inner can.
  template <class T, pulls_back_queries_and_keys = Inner>
  void pull_back_queries(heads_view<T> const& d, positions_view positions) const {
    inner_.pull_back_queries(d, positions_view(mapped(query_map_, positions)));
  }
  template <class T, pulls_back_queries_and_keys = Inner>
  void pull_back_keys(heads_view<T> const& d, positions_view positions) const {
    inner_.pull_back_keys(d, positions_view(mapped(key_map_, positions)));
  }

 private:
  static std::vector<std::int64_t> mapped(auto const& map, positions_view positions) {
    std::vector<std::int64_t> result;
    result.reserve(positions.size());
    for (auto const p : positions) result.push_back(map(p));
    return result;
  }

  Inner inner_;
  QueryMap query_map_;
  KeyMap key_map_;
};

namespace detail {

struct acting_on_queries_and_keys {
  void encode_queries(auto const&, positions_view) const {}
  void encode_keys(auto const&, positions_view) const {}
};
using position_function = std::int64_t (*)(std::int64_t);

}  // namespace detail

static_assert(acts_on_queries_and_keys<remapped<detail::acting_on_queries_and_keys, detail::position_function, detail::position_function>>);

}  // namespace posenc
