// Another encoding at other positions: queries and keys stand where two maps put them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/detail/prepared_apart.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/query_key/rope.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// From a position to the one that takes its place.
template <class M>
concept position_map = requires(M const& map, std::int64_t position) {
  { map(position) } -> std::signed_integral;
};

namespace detail {

/// The type of the positions that a map gives.
template <class P>
std::vector<P> mapped(positions_view positions, auto const& map) {
  std::vector<P> result;
  result.reserve(positions.size());
  for (auto const p : positions) result.push_back(map(p));
  return result;
}

}  // namespace detail

/// Site 2: `inner` at query_map(t) and key_map(s), as of a prompt that is squashed into the context
/// a model was trained for, or moved:
///
///     auto const quarter = [](std::int64_t t) { return t / 4; };
///     remapped(rope<halves>(f), quarter, quarter)
///     auto const moved = [](std::int64_t s) { return s < 100 ? s + 1000 : s; };
///     remapped(rope<halves>(f), [](std::int64_t t) { return t; }, moved)
///
/// Each key has one position, whatever the query; distance_remapping clips distances. A map must be
/// a pure function. Attention must have as many heads as inner.
template <class Inner, position_map QueryMap, position_map KeyMap>
class remapped {
  static_assert(detail::encoding_check<Inner>::passed);
  static_assert(acts_on_queries_and_keys<Inner> ? detail::sites_of<Inner> == 1
                                                : detail::encoding_check<Inner>::encodes,
                "posenc: what is remapped must act on queries and keys (site 2), and nowhere else");

 public:
  static constexpr bool wraps_encodings = true;  ///< gradients get through where inner's do

  /// The maps take a query's, or a key's, position to the one that inner encodes.
  remapped(Inner inner, QueryMap query_map, KeyMap key_map)
      : inner_(std::move(inner)), query_map_(std::move(query_map)), key_map_(std::move(key_map)) {}

  Inner const& inner() const noexcept { return inner_; }  ///< what encodes there

  /// Throws std::invalid_argument, in the name of a function, unless inner serves `count` heads.
  void require_heads(char const* function, std::size_t count) const {
    detail::require_heads(function, inner_, count);
  }

  /// Throws as inner does, or a map.
  template <class T = float>
  detail::prepared_apart<detail::prepared_t<Inner, T>> prepare(
      token_positions const& positions) const {
    auto const at = [&](auto const& map) {
      auto const mapped = detail::mapped<std::int64_t>(positions, map);
      return inner_.template prepare<T>(positions_view(mapped));
    };
    return {at(query_map_), at(key_map_)};
  }

 private:
  Inner inner_;
  QueryMap query_map_;
  KeyMap key_map_;
};

static_assert(acts_on_queries_and_keys<remapped<rope<halves>, std::int64_t (*)(std::int64_t),
                                                std::int64_t (*)(std::int64_t)>>);

}}  // namespace posenc
