// Whether an encoding has the functions that a site calls: one concept per function and type.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/score_row.hpp"
#include "posenc/heads/heads_view.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

// clang-format off

template <class E, class T>
concept embeds =
    requires(E const& e, heads_view<T> const x, positions_view const at) { e.embed(x, at); };
template <class E, class T>
concept prepares = requires(E const& e, positions_view const at) { e.template prepare<T>(at); };

/// The type that an encoding of site 2 prepares, to compute with in T.
template <class E, class T>
using prepared_t = decltype(std::declval<E const&>().template prepare<T>(positions_view()));

/// Site 2 of what is prepared: NAME(p, x, token, head) calls p.NAME, without the head where all
/// heads are alike. `token` and `head`, of keys a kv head, are the indices of the view's first.
/// DOES_WHAT<P, T>: p has NAME for heads of T.
#define POSENC_SITE_2(NAME, DOES, WHAT)                                                         \
  void NAME(auto const& p, auto const& x, std::size_t token, std::size_t head)                  \
    requires(requires { p.NAME(x, token, head); } || requires { p.NAME(x, token); }) {          \
    if constexpr (requires { p.NAME(x, token, head); })                                         \
      p.NAME(x, token, head);                                                                   \
    else                                                                                        \
      p.NAME(x, token);                                                                         \
  }                                                                                             \
  template <class P, class T>                                                                   \
  concept DOES##_##WHAT = requires(P const& p, heads_view<T> x) { detail::NAME(p, x, 0, 0); };
POSENC_SITE_2(encode_queries, encodes, queries)
POSENC_SITE_2(encode_keys, encodes, keys)
POSENC_SITE_2(backward_queries, pulls_back, queries)
POSENC_SITE_2(backward_keys, pulls_back, keys)
#undef POSENC_SITE_2

template <class P, class T>
concept encodes = encodes_queries<P, T> && encodes_keys<P, T>;
template <class P, class T>
concept pulls_back = pulls_back_queries<P, T> && pulls_back_keys<P, T>;
template <class E, class T>
concept prepares_queries_and_keys =
    prepares<E, T> && encodes<prepared_t<E, T>, T>;
template <class E>
concept has_bias_by_distance = requires(E const& e, std::size_t head, std::int64_t distance) {
  { e.bias(head, distance) } -> std::convertible_to<double>;
};
template <class E>
concept has_bias_by_positions = requires(E const& e, std::size_t head, std::int64_t position) {
  { e.bias(head, position, position) } -> std::convertible_to<double>;
};
template <class E, class T>
concept adjusts = requires(E const& e, score_row<T> const row) { e.adjust_scores(row); };
template <class E>
concept adjusts_scores = adjusts<E, float> && adjusts<E, double>;
template <class E, class T>
concept pulls_back_row =
    requires(E const& e, score_row<T const> const row, std::span<T> const d) {
      e.backward_scores(row, d, d);
    };
template <class E>
concept says_it_is_nowhere = std::bool_constant<std::remove_cvref_t<E>::is_nowhere>::value;

}}}  // namespace posenc::detail
