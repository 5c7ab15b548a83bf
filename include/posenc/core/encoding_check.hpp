// If a site cannot call a function of an encoding, that is a compile error of one sentence, which
// names the function and the signature it must have.
#pragma once

#include <type_traits>

#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// An encoding made of others: `static constexpr bool wraps_encodings = true`. It may have
/// functions that are constrained to where the others have them; where a constraint does not hold,
/// there is no function, and no error.
template <class E>
concept wraps_encodings = std::bool_constant<E::wraps_encodings>::value;

namespace detail {

/// The names of all functions that a site calls.
struct site_names {
  char embed, prepare, bias, adjust_scores, inverse_temperature, sink;
  char heads, serves_fewer_heads, backward_scores, is_bias;
  char encode_queries, encode_keys, backward_queries, backward_keys;  // of what is prepared
};

/// A name that E has too is ambiguous in this class, whether it is a template, an overload set, a
/// variable or private.
template <class E>
struct with_site_names : E, site_names {};

// clang-format off

/// No class can derive from a final one. In a class that wraps encodings, an ambiguous name may
/// belong to a function whose constraint does not hold.
template <class E>
  requires(!std::is_class_v<E> || std::is_final_v<E> || wraps_encodings<E>)
struct with_site_names<E> : site_names {};

/// The name of a class is a member of it: a constructor in E, a type in a class derived from E.
template <class E>
struct child_of : E {};
template <class E>
  requires(!std::is_class_v<E> || std::is_final_v<E>)
struct child_of<E> {};

template <class Named, class E>
concept a_base = std::is_base_of_v<Named, E>;

// Whether E has a member of that name, other than the name of E or of a base. First: whether the
// site can call it; to look for a name may compile the body of a function.
template <class E>
concept has_embed = acts_on_embeddings<E> ||
    (!requires { &with_site_names<E>::embed; } &&
     !requires { requires a_base<typename child_of<E>::embed, E>; }) ||
    requires { &E::embed; } || requires { &E::template embed<float>; };
template <class E>
concept has_prepare = (prepares<E, float> && prepares<E, double>) ||
    (!requires { &with_site_names<E>::prepare; } &&
     !requires { requires a_base<typename child_of<E>::prepare, E>; }) ||
    requires { &E::prepare; } || requires { &E::template prepare<float>; };
template <class E>
concept has_encode_queries = encodes_queries<E, float> ||
    (!requires { &with_site_names<E>::encode_queries; } &&
     !requires { requires a_base<typename child_of<E>::encode_queries, E>; }) ||
    requires { &E::encode_queries; } || requires { &E::template encode_queries<float>; };
template <class E>
concept has_encode_keys = encodes_keys<E, float> ||
    (!requires { &with_site_names<E>::encode_keys; } &&
     !requires { requires a_base<typename child_of<E>::encode_keys, E>; }) ||
    requires { &E::encode_keys; } || requires { &E::template encode_keys<float>; };
template <class E>
concept has_adjust_scores = adjusts_scores<E> ||
    (!requires { &with_site_names<E>::adjust_scores; } &&
     !requires { requires a_base<typename child_of<E>::adjust_scores, E>; }) ||
    requires { &E::adjust_scores; } || requires { &E::template adjust_scores<float>; };
template <class E>
concept has_bias = adds_bias_by_distance<E> || adds_bias_by_positions<E> ||
    (!requires { &with_site_names<E>::bias; } &&
     !requires { requires a_base<typename child_of<E>::bias, E>; }) ||
    requires { &E::bias; };
template <class E>
concept has_inverse_temperature = acts_on_softmax<E> ||
    (!requires { &with_site_names<E>::inverse_temperature; } &&
     !requires { requires a_base<typename child_of<E>::inverse_temperature, E>; }) ||
    requires { &E::inverse_temperature; } || requires { &E::template inverse_temperature<float>; };
template <class E>
concept has_sink = adds_sink<E> ||
    (!requires { &with_site_names<E>::sink; } &&
     !requires { requires a_base<typename child_of<E>::sink, E>; }) ||
    requires { &E::sink; };
template <class E>
concept has_heads = knows_heads<E> ||
    (!requires { &with_site_names<E>::heads; } &&
     !requires { requires a_base<typename child_of<E>::heads, E>; }) ||
    requires { &E::heads; };
template <class E>
concept has_serves_fewer_heads = may_serve_fewer_heads<E> ||
    (!requires { &with_site_names<E>::serves_fewer_heads; } &&
     !requires { requires a_base<typename child_of<E>::serves_fewer_heads, E>; }) ||
    requires { &E::serves_fewer_heads; };
template <class E>
concept has_backward_queries = pulls_back_queries<E, float> ||
    (!requires { &with_site_names<E>::backward_queries; } &&
     !requires { requires a_base<typename child_of<E>::backward_queries, E>; }) ||
    requires { &E::backward_queries; } || requires { &E::template backward_queries<float>; };
template <class E>
concept has_backward_keys = pulls_back_keys<E, float> ||
    (!requires { &with_site_names<E>::backward_keys; } &&
     !requires { requires a_base<typename child_of<E>::backward_keys, E>; }) ||
    requires { &E::backward_keys; } || requires { &E::template backward_keys<float>; };
template <class E>
concept has_backward_scores = pulls_back_scores<E> ||
    (!requires { &with_site_names<E>::backward_scores; } &&
     !requires { requires a_base<typename child_of<E>::backward_scores, E>; }) ||
    requires { &E::backward_scores; } || requires { &E::template backward_scores<float>; };
template <class E>
concept has_is_bias = says_is_bias<E> ||
    (!requires { &with_site_names<E>::is_bias; } &&
     !requires { requires a_base<typename child_of<E>::is_bias, E>; }) ||
    requires { &E::is_bias; };

// clang-format on

/// Compiles for what prepare<T> may return.
template <class P, class T>
struct prepared_check {
  static constexpr bool widens = encodes_to_another_width<P, T>;
  static_assert(encodes_queries<P, T> || widens,
                "posenc: what prepare returns must have encode_queries: void "
                "encode_queries(heads_view<T> q, std::size_t first_token) const");
  static_assert(encodes_keys<P, T> || !encodes_queries<P, T> || widens,
                "posenc: what prepare returns must have encode_keys: void "
                "encode_keys(heads_view<T> k, std::size_t first_token) const");
  static constexpr bool pulls_back = has_backward_queries<P> || has_backward_keys<P>;
  static_assert(!pulls_back || pulls_back_queries<P, T>,
                "posenc: backward_queries of what prepare returns must be: void "
                "backward_queries(heads_view<T> d, std::size_t "
                "first_token) const, beside backward_keys");
  static_assert(!pulls_back || pulls_back_keys<P, T> || !pulls_back_queries<P, T>,
                "posenc: backward_keys of what prepare returns must be: void "
                "backward_keys(heads_view<T> d, std::size_t first_token) "
                "const, beside backward_queries");

  static constexpr bool passed = true;
};

template <class E>
consteval bool check_prepared() {
  if constexpr (prepares<E, float> && prepares<E, double>) {
    return prepared_check<prepared_t<E, float>, float>::passed &&
           prepared_check<prepared_t<E, double>, double>::passed;
  }
  return true;
}

/// Compiles for an encoding that acts somewhere, or nowhere on purpose, and whose functions the
/// sites can call. It stands first wherever an encoding is asked for: a constraint of a template
/// would be reported in many lines, and none would name the function.
///
///     static_assert(detail::encoding_check<E>::passed);
template <class E>
struct encoding_check {
  static constexpr bool encodes = has_prepare<E> || has_encode_queries<E> || has_encode_keys<E> ||
                                  has_backward_queries<E> || has_backward_keys<E>;

  static_assert(positional_encoding<E> || has_embed<E> || encodes || has_bias<E> ||
                    has_adjust_scores<E> || has_inverse_temperature<E> || has_sink<E>,
                "posenc: this type acts nowhere: an encoding must have embed (site 1), prepare "
                "(2), bias or adjust_scores (3), inverse_temperature "
                "or sink (4)");
  static_assert(!says_it_is_nowhere<E> || sites_of<E> == 0,
                "posenc: is_nowhere must not be true of an encoding that acts at a site");
  static_assert(!has_embed<E> || acts_on_embeddings<E>,
                "posenc: embed must be: void embed(heads_view<T> x, positions_view positions) "
                "const, for T = float and T = double");
  static_assert(!encodes || (prepares<E, float> && prepares<E, double>),
                "posenc: prepare must be: template <class T> auto prepare(positions_view "
                "positions) const, for T = float and T = double, "
                "which returns what has encode_queries and encode_keys");
  static_assert(check_prepared<E>());
  static_assert(!prepares_another_width<E, float> || changes_head_dim<E>,
                "posenc: encoded_dim must be: std::size_t encoded_dim(std::size_t head_dim) const, "
                "beside a prepare that encodes to another width");
  static_assert(!(requires { &E::is_near; } || prepares_far<E, float>) || scores_near_and_far<E>,
                "posenc: is_near must be: bool is_near(std::int64_t query_position, std::int64_t "
                "key_position) const, beside far of what prepare returns");
  static_assert(!has_bias<E> || adds_bias_by_distance<E> || adds_bias_by_positions<E>,
                "posenc: bias must be: double bias(std::size_t head, std::int64_t distance) const, "
                "or double bias(std::size_t head, "
                "std::int64_t query_position, std::int64_t key_position) const");
  static_assert(!has_adjust_scores<E> || adjusts_scores<E>,
                "posenc: adjust_scores must be: void adjust_scores(score_row<T> row) const, for T "
                "= float and T = double");
  static_assert(!has_inverse_temperature<E> || acts_on_softmax<E>,
                "posenc: inverse_temperature must be: double inverse_temperature(row_statistics "
                "const& row) const");
  static_assert(!has_sink<E> || adds_sink<E>,
                "posenc: sink must be: double sink(std::size_t head) const");
  static_assert(!has_heads<E> || knows_heads<E>,
                "posenc: heads must be: std::size_t heads() const");
  static_assert(
      !has_serves_fewer_heads<E> ||
          (has_heads<E> && requires { typename std::bool_constant<E::serves_fewer_heads>; }),
      "posenc: serves_fewer_heads must be: static constexpr bool serves_fewer_heads, beside heads");

  static_assert(!has_backward_scores<E> || pulls_back_scores<E> ||
                    (has_adjust_scores<E> && !acts_on_scores<E>),
                "posenc: backward_scores must be: void backward_scores(score_row<T const> "
                "before, std::span<T> d_scores, std::span<T> "
                "d_query) const, for T = float and T = double, beside adjust_scores");
  static_assert(!has_is_bias<E> || ((has_adjust_scores<E> || wraps_encodings<E>)&&requires {
    typename std::bool_constant<E::is_bias>;
  }),
                "posenc: is_bias must be: static constexpr bool is_bias, beside adjust_scores");

  static constexpr bool passed = true;
};

/// What is held by reference is an encoding too.
template <class E>
requires(!std::is_same_v<E, std::remove_cvref_t<E>>) struct encoding_check<E>
    : encoding_check<std::remove_cvref_t<E>> {
};

}  // namespace detail
}  // namespace posenc
