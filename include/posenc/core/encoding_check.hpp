// An encoding with a function that its site cannot call is a compile error of one sentence: which function, and what it must be.
#pragma once

#include <type_traits>

#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// An encoding made of others, with functions that are there only where theirs are: `static constexpr bool wraps_encodings = true`. The
/// functions that it does not have are then no error.
template <class E>
concept wraps_encodings = std::bool_constant<E::wraps_encodings>::value;

namespace detail {

/// The names that the sites know.
struct site_names {
  char embed, encode_queries, encode_keys, adjust_scores, inverse_temperature, sink;
  char heads, serves_fewer_heads, pull_back_queries, pull_back_keys, pull_back_scores, is_bias;
};

/// A name that E has too is ambiguous here, whatever it stands for: a template, several functions, a number, something private.
template <class E>
struct with_site_names : E, site_names {};

// clang-format off

/// Nothing derives from these.
template <class E>
  requires(!std::is_class_v<E> || std::is_final_v<E>)
struct with_site_names<E> : site_names {};

// Whether E has a member of that name. Of a final class, several functions of one name are not seen.
template <class E>
concept has_embed = !requires { &with_site_names<E>::embed; } || requires { &E::embed; } ||
    requires { &E::template embed<float>; };
template <class E>
concept has_encode_queries = !requires { &with_site_names<E>::encode_queries; } || requires { &E::encode_queries; } ||
    requires { &E::template encode_queries<float>; };
template <class E>
concept has_encode_keys = !requires { &with_site_names<E>::encode_keys; } || requires { &E::encode_keys; } ||
    requires { &E::template encode_keys<float>; };
template <class E>
concept has_adjust_scores = !requires { &with_site_names<E>::adjust_scores; } || requires { &E::adjust_scores; } ||
    requires { &E::template adjust_scores<float>; };
template <class E>
concept has_inverse_temperature = !requires { &with_site_names<E>::inverse_temperature; } || requires { &E::inverse_temperature; };
template <class E>
concept has_sink = !requires { &with_site_names<E>::sink; } || requires { &E::sink; };
template <class E>
concept has_heads = !requires { &with_site_names<E>::heads; } || requires { &E::heads; };
template <class E>
concept has_serves_fewer_heads = !requires { &with_site_names<E>::serves_fewer_heads; } || requires { &E::serves_fewer_heads; };
template <class E>
concept has_pull_back_queries = !requires { &with_site_names<E>::pull_back_queries; } || requires { &E::pull_back_queries; } ||
    requires { &E::template pull_back_queries<float>; };
template <class E>
concept has_pull_back_keys = !requires { &with_site_names<E>::pull_back_keys; } || requires { &E::pull_back_keys; } ||
    requires { &E::template pull_back_keys<float>; };
template <class E>
concept has_pull_back_scores = !requires { &with_site_names<E>::pull_back_scores; } || requires { &E::pull_back_scores; } ||
    requires { &E::template pull_back_scores<float>; };
template <class E>
concept has_is_bias = !requires { &with_site_names<E>::is_bias; } || requires { &E::is_bias; };

template <class E>
concept encodes_queries = requires(E const& e, heads_view<float> const q, heads_view<double> const q_in_double, positions_view const p) {
  e.encode_queries(q, p);
  e.encode_queries(q_in_double, p);
};
template <class E>
concept pulls_back_queries = requires(E const& e, heads_view<float> const d, heads_view<double> const d_in_double, positions_view const p) {
  e.pull_back_queries(d, p);
  e.pull_back_queries(d_in_double, p);
};

// clang-format on

/// Compiles for an encoding that acts somewhere, or nowhere on purpose, and whose functions the sites can call. Stands where an encoding is
/// asked for, before anything else can fail, for a constraint of a template would be reported in many lines that name no function:
///
///     static_assert(detail::encoding_check<E>::passed);
template <class E>
struct encoding_check {
  static constexpr bool encodes = has_encode_queries<E> || has_encode_keys<E>,
                        pulls_back = has_pull_back_queries<E> || has_pull_back_keys<E>, wraps = wraps_encodings<E>;

  static_assert(
      positional_encoding<E> || (!wraps && (has_embed<E> || encodes || has_adjust_scores<E> || has_inverse_temperature<E> || has_sink<E>)),
      "posenc: this type acts nowhere: an encoding must have embed (site 1), encode_queries and encode_keys (2), adjust_scores (3), "
      "inverse_temperature or sink (4)");
  static_assert(!has_embed<E> || acts_on_embeddings<E> || wraps,
                "posenc: embed must be: void embed(heads_view<T> x, positions_view positions) const, for T = float and T = double");
  static_assert(!encodes || encodes_queries<E> || wraps,
                "posenc: encode_queries must be: void encode_queries(heads_view<T> q, positions_view positions) const, for T = float and "
                "T = double, beside encode_keys");
  static_assert(!encodes_queries<E> || acts_on_queries_and_keys<E> || wraps,
                "posenc: encode_keys must be: void encode_keys(heads_view<T> k, positions_view positions) const, for T = float and "
                "T = double, beside encode_queries");
  static_assert(!has_adjust_scores<E> || acts_on_scores<E> || wraps,
                "posenc: adjust_scores must be: void adjust_scores(score_row<T> row) const, for T = float and T = double");
  static_assert(!has_inverse_temperature<E> || acts_on_softmax<E> || wraps,
                "posenc: inverse_temperature must be: double inverse_temperature(row_statistics const& row) const");
  static_assert(!has_sink<E> || adds_sink<E> || wraps, "posenc: sink must be: double sink(std::size_t head) const");
  static_assert(!has_heads<E> || knows_heads<E> || wraps, "posenc: heads must be: std::size_t heads() const");
  static_assert(!has_serves_fewer_heads<E> || (has_heads<E> && requires { typename std::bool_constant<E::serves_fewer_heads>; }) || wraps,
                "posenc: serves_fewer_heads must be: static constexpr bool serves_fewer_heads, beside heads");

  static_assert(!pulls_back || pulls_back_queries<E> || wraps,
                "posenc: pull_back_queries must be: void pull_back_queries(heads_view<T> d, positions_view positions) const, for T = float "
                "and T = double, beside pull_back_keys");
  static_assert(!pulls_back_queries<E> || pulls_back_queries_and_keys<E> || (encodes && !acts_on_queries_and_keys<E>) || wraps,
                "posenc: pull_back_keys must be: void pull_back_keys(heads_view<T> d, positions_view positions) const, for T = float and "
                "T = double, beside pull_back_queries, encode_queries and encode_keys");
  static_assert(!has_pull_back_scores<E> || pulls_back_scores<E> || (has_adjust_scores<E> && !acts_on_scores<E>) || wraps,
                "posenc: pull_back_scores must be: void pull_back_scores(score_row<T const> before, std::span<T> d_scores, std::span<T> "
                "d_query) const, for T = float and T = double, beside adjust_scores");
  static_assert(!has_is_bias<E> || (has_adjust_scores<E> && requires { typename std::bool_constant<E::is_bias>; }) || wraps,
                "posenc: is_bias must be: static constexpr bool is_bias, beside adjust_scores");

  static constexpr bool passed = true;
};

}  // namespace detail
}  // namespace posenc
