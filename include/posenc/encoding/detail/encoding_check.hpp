// A function that its site cannot call is a compile error of one sentence, with its signature.
//
// A class that is final, and a class that wraps encodings, are checked less: neither private
// functions, nor several of one name, nor a template that needs more than one type are seen. A
// class whose destructor alone is final is not taken.
#pragma once

#include <type_traits>

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The names of all that a site, or attention, asks of an encoding.
struct site_names {
  char embed, prepare, bias, adjust_scores, inverse_temperature, sink, heads, backward_scores,
      is_bias, is_pointwise, encode_queries, encode_keys, backward_queries, backward_keys,
      changes_temperature, only_adds_bias, kv_heads, require_heads, asked, check, hash;
};

// clang-format off

/// A name that E has too, be it of a template, of several functions, or private, is ambiguous here.
/// Not of a final class, nor of a wrapper, where a function's constraint may not hold.
template <class E>
struct with_site_names : E, site_names {};
template <class E>
  requires(!std::is_class_v<E> || std::is_final_v<E> || wraps_encodings<E>)
struct with_site_names<E> : site_names {};

/// Here the name of E itself is a type, where in E it is a constructor.
template <class E>
struct child_of : E {};
template <class E>
  requires(!std::is_class_v<E> || std::is_final_v<E>)
struct child_of<E> {};

/// can_NAME<E>: the site can call it. has_NAME<E>: E has a member of that name, other than the name
/// of E or of a base; asked last, since to look for a name may compile a function's body.
#define POSENC_MEMBER(NAME, ...)                                                   \
  template <class E>                                                               \
  concept can_##NAME = __VA_ARGS__;                                                \
  template <class E>                                                               \
  concept has_##NAME = can_##NAME<E> || requires { &E::NAME; } ||                  \
      (!requires { requires std::is_base_of_v<typename child_of<E>::NAME, E>; } && \
       (!requires { &with_site_names<E>::NAME; } ||                                \
        requires { &E::template NAME<float>; }))

POSENC_MEMBER(embed, acts_on_embeddings<E>);
POSENC_MEMBER(prepare, prepares<E, float> && prepares<E, double>);
POSENC_MEMBER(encode_queries, encodes_queries<E, float>);
POSENC_MEMBER(encode_keys, encodes_keys<E, float>);
POSENC_MEMBER(backward_queries, pulls_back_queries<E, float>);
POSENC_MEMBER(backward_keys, pulls_back_keys<E, float>);
POSENC_MEMBER(bias, adds_bias_by_distance<E> || adds_bias_by_positions<E>);
POSENC_MEMBER(adjust_scores, adjusts_scores<E>);
POSENC_MEMBER(backward_scores, pulls_back_scores<E>);
POSENC_MEMBER(inverse_temperature, acts_on_softmax<E>);
POSENC_MEMBER(sink, adds_sink<E>);
POSENC_MEMBER(heads, knows_heads<E>);
POSENC_MEMBER(kv_heads, knows_kv_heads<E>);
POSENC_MEMBER(require_heads, refuses_heads<E>);
POSENC_MEMBER(changes_temperature, may_act_on_softmax<E>);
POSENC_MEMBER(only_adds_bias, may_only_add_bias<E>);
POSENC_MEMBER(asked, says_what_is_seen<E>);
POSENC_MEMBER(check, checks_attention<E>);
POSENC_MEMBER(hash, has_hash<E>);
POSENC_MEMBER(is_bias, (has_adjust_scores<E> || wraps_encodings<E>) &&
                           requires { typename std::bool_constant<E::is_bias>; });
POSENC_MEMBER(is_pointwise, (has_adjust_scores<E> || wraps_encodings<E>) &&
                                requires { typename std::bool_constant<E::is_pointwise>; });
#undef POSENC_MEMBER

/// Compiles for what prepare<T> may return.
template <class P, class T>
struct prepared_check {
  static constexpr bool encodes = encodes_queries<P, T>,
                        pulls_back = has_backward_queries<P> || has_backward_keys<P>;
  static_assert(encodes,
                "posenc: what prepare returns must have encode_queries: void "
                "encode_queries(heads_view<T> q, std::size_t first_token) const");
  static_assert(encodes_keys<P, T> || !encodes,
                "posenc: what prepare returns must have encode_keys: void "
                "encode_keys(heads_view<T> k, std::size_t first_token) const");
  static_assert(!pulls_back || pulls_back_queries<P, T>,
                "posenc: backward_queries of what prepare returns must be: void backward_queries("
                "heads_view<T> d, std::size_t first_token) const, beside backward_keys");
  static_assert(!pulls_back || pulls_back_keys<P, T> || !pulls_back_queries<P, T>,
                "posenc: backward_keys of what prepare returns must be: void backward_keys("
                "heads_view<T> d, std::size_t first_token) const, beside backward_queries");
  static constexpr bool passed = true;
};

template <class E>
concept prepares_rightly = !can_prepare<E> ||
                           (prepared_check<prepared_t<E, float>, float>::passed &&
                            prepared_check<prepared_t<E, double>, double>::passed);

/// A function of this name is one that its site can call.
#define POSENC_MUST_BE(NAME, SIGNATURE) \
  static_assert(!has_##NAME<E> || can_##NAME<E>, "posenc: " #NAME " must be: " SIGNATURE)

/// Compiles for an encoding that acts somewhere, or nowhere on purpose, and whose functions the
/// sites can call. Its static_assert stands first wherever an encoding is asked for: an unmet
/// constraint of a template would not name the function.
template <class E>
struct check_of {
  static constexpr bool encodes = has_prepare<E> || has_encode_queries<E> || has_encode_keys<E> ||
                                  has_backward_queries<E> || has_backward_keys<E>;
  static_assert(positional_encoding<E> || has_embed<E> || encodes || has_bias<E> ||
                    has_adjust_scores<E> || has_inverse_temperature<E> || has_sink<E>,
                "posenc: this type acts nowhere: an encoding must have embed (site 1), prepare "
                "(2), bias or adjust_scores (3), inverse_temperature or sink (4)");
  static_assert(!says_it_is_nowhere<E> || sites_of<E> == 0,
                "posenc: is_nowhere must not be true of an encoding that acts at a site");
  POSENC_MUST_BE(embed, "void embed(heads_view<T> x, positions_view positions) const, for T = "
                        "float and T = double");
  static_assert(!encodes || can_prepare<E>,
                "posenc: prepare must be: template <class T> auto prepare(positions_view "
                "positions) const, for T = float and T = double, which returns what has "
                "encode_queries and encode_keys");
  static_assert(prepares_rightly<E>);
  POSENC_MUST_BE(bias, "double bias(std::size_t head, std::int64_t distance) const, or double "
                       "bias(std::size_t head, std::int64_t query_position, std::int64_t "
                       "key_position) const");
  POSENC_MUST_BE(adjust_scores, "void adjust_scores(score_row<T> row) const, for T = float and T = "
                                "double");
  POSENC_MUST_BE(inverse_temperature,
                 "double inverse_temperature(row_statistics const& row) const");
  POSENC_MUST_BE(sink, "double sink(std::size_t head) const");
  POSENC_MUST_BE(heads, "std::size_t heads() const");
  POSENC_MUST_BE(kv_heads, "std::size_t kv_heads() const");
  POSENC_MUST_BE(require_heads,
                 "void require_heads(char const* function, std::size_t count) const");
  POSENC_MUST_BE(changes_temperature,
                 "bool changes_temperature() const, beside inverse_temperature");
  POSENC_MUST_BE(only_adds_bias, "bool only_adds_bias() const, beside adjust_scores");
  POSENC_MUST_BE(asked, "auto const& asked() const, which returns what has sees and scale");
  POSENC_MUST_BE(hash, "std::uint64_t hash() const");
  // Many encodings check their numbers.
  static_assert(!has_asked<E> || !has_check<E> || can_check<E>,
                "posenc: check, beside asked, must be: void check(char const* function, "
                "heads_shape const& queries, heads_shape const& keys) const");
  static_assert(!has_backward_scores<E> || can_backward_scores<E> ||
                    (has_adjust_scores<E> && !acts_on_scores<E>),
                "posenc: backward_scores must be: void backward_scores(score_row<T const> before, "
                "std::span<T> d_scores, std::span<T> d_query) const, for T = float and T = double, "
                "beside adjust_scores");
  POSENC_MUST_BE(is_bias, "static constexpr bool is_bias, beside adjust_scores");
  POSENC_MUST_BE(is_pointwise, "static constexpr bool is_pointwise, beside adjust_scores");
  static constexpr bool passed = true;
};
#undef POSENC_MUST_BE

/// A reference to an encoding is an encoding too.
template <class E>
using encoding_check = check_of<std::remove_cvref_t<E>>;

}}}  // namespace posenc::detail
