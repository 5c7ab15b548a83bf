// The four sites of attention where a positional encoding acts. Read this first.
//
//   x_t --(1) + p_t--> W_q, W_k --(2) R_t--> <q_t, k_s> --(3) + b(t, s)--> mask
//                                                       --(4) * beta, sink--> softmax --> weights
//
//   (1) embeddings         sinusoidal, learned         embedding/
//   (2) queries and keys   RoPE, p-RoPE, M-RoPE        query_key/, on frequency/, rows/, rotation/
//   (3) scores             ALiBi, T5, KERPLE, FIRE     score/
//   (4) softmax            adaptive, SSMax, Llama 4    softmax/
//       nowhere            NoPE                        the empty scheme
//
//   In reverse, for training: (1) gradients pass; (2) R_t^T; (3) a bias lets them pass, any other
//   rule has a derivative; (4) beta and sinks count as constants
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/target.hpp"
#include "posenc/encoding/detail/site_functions.hpp"
#include "posenc/encoding/score_row.hpp"

namespace posenc { inline namespace POSENC_TARGET {

// clang-format off

// Attention asks an encoding for these functions every day. A type with one of them is an encoding;
// it is not asked for the others.

/// (1) Adds p_t to the embeddings x, [tokens][1][dim]; several heads get the same p_t each.
///
///     e.embed(x, positions)
template <class E>
concept acts_on_embeddings = detail::embeds<E, float> && detail::embeds<E, double>;

/// (2) prepare<T>(positions) makes, once per step, what positions alone decide: a value, which
/// keeps no view, and encodes queries and keys in place, whole or by ranges of tokens, in every
/// layer. T is float, or double to encode doubles.
///
///     auto const prepared = e.template prepare<T>(positions);
///     prepared.encode_queries(q, first_token);    token i of q, by positions[first_token + i]
///     prepared.encode_keys(k, first_token);       [tokens][heads][head_dim]
///
/// An encoding that differs by head takes a third argument, the index of the view's first head, or
/// kv head.
template <class E>
concept acts_on_queries_and_keys =
    detail::prepares_queries_and_keys<E, float> && detail::prepares_queries_and_keys<E, double>;

/// (3) Adds a bias, which depends on positions alone, to each score of the head, before the mask. A
/// rule that looks at scores or at the query changes a row of scores in place instead, for float
/// and for double. Attention calls that, if an encoding has both.
///
///     e.bias(head, query_position - key_position)           adds_bias_by_distance
///     e.bias(head, query_position, key_position)            adds_bias_by_positions
///     e.adjust_scores(row)                                  score_row<T>
template <class E>
concept acts_on_scores = detail::has_bias_by_distance<E> || detail::has_bias_by_positions<E> ||
                         detail::adjusts_scores<E>;

/// (4) Returns beta for a row, from the statistics of its masked scores: softmax(beta * row).
///
///     e.inverse_temperature(row)
template <class E>
concept acts_on_softmax = requires(E const& e, row_statistics const& row) {
  { e.inverse_temperature(row) } -> std::convertible_to<double>;
};

/// (4) Returns the head's sink logit: exp(sink) is added to the softmax denominator.
///
///     e.sink(head)
template <class E>
concept adds_sink =
    requires(E const& e, std::size_t head) { { e.sink(head) } -> std::convertible_to<double>; };

// Rare from here on.

// How an encoding acts on scores, so that attention need not compute whole rows.

/// (3) A bias by distance, query position - key position: bias(head, distance).
template <class E>
concept adds_bias_by_distance = detail::has_bias_by_distance<E>;

/// (3) A bias by positions: bias(head, query_position, key_position).
template <class E>
concept adds_bias_by_positions = detail::has_bias_by_positions<E>;

/// (3) Adds a term that depends on neither queries nor scores, so gradients pass unchanged: a bias,
/// or adjust_scores beside `static constexpr bool is_bias = true`.
template <class E>
concept adds_bias =
    adds_bias_by_distance<E> || adds_bias_by_positions<E> ||
    (acts_on_scores<E> && std::bool_constant<std::remove_cvref_t<E>::is_bias>::value);

/// (3) Makes each score from itself, its query and its key alone, so that attention may compute a
/// row in parts: a bias, or adjust_scores beside `static constexpr bool is_pointwise = true`.
template <class E>
concept adjusts_each_score =
    adds_bias<E> ||
    (acts_on_scores<E> && std::bool_constant<std::remove_cvref_t<E>::is_pointwise>::value);

// Facts that are known only when the program runs: attention_rules says all of these.

/// (4) Acts on softmax only where e.changes_temperature() says so. If it says no, attention
/// computes rows in parts and does not ask for beta.
template <class E>
concept may_act_on_softmax =
    acts_on_softmax<E> &&
    requires(E const& e) { { e.changes_temperature() } -> std::same_as<bool>; };

/// (3) Changes scores otherwise than adds_bias does, and may not do so: if e.only_adds_bias() says
/// yes, gradients pass unchanged.
template <class E>
concept may_only_add_bias =
    acts_on_scores<E> && requires(E const& e) { { e.only_adds_bias() } -> std::same_as<bool>; };

/// Says which keys are seen, and the scale: e.asked().sees, a mask, and e.asked().scale, a
/// std::optional<double>, in place of attention's options, which then must have neither.
template <class E>
concept says_what_is_seen = requires(E const& e) { e.asked().sees, e.asked().scale; };

/// Throws std::invalid_argument, in the name of a function, for queries or keys of a shape that it
/// cannot serve, or for wrong numbers. It then says what heads() would.
///
///     e.check(function, queries, keys)                      heads_shape
template <class E>
concept checks_attention = requires(E const& e, heads_shape const& queries_or_keys) {
  e.check("function", queries_or_keys, queries_or_keys);
};

/// Has a hash of its numbers, e.hash(), by which workers that share a call see whether theirs are
/// equal.
template <class E>
concept has_hash = requires(E const& e) { { e.hash() } -> std::same_as<std::uint64_t>; };

// How many heads an encoding serves.

/// Has parameters for heads() heads; attention must have as many. An encoding without heads() takes
/// any number.
template <class E>
concept knows_heads = requires(E const& e) { { e.heads() } -> std::same_as<std::size_t>; };

/// Has parameters for kv_heads() kv heads.
template <class E>
concept knows_kv_heads = requires(E const& e) { { e.kv_heads() } -> std::same_as<std::size_t>; };

/// Has no heads(), and refuses a number of heads: throws std::invalid_argument in the name of a
/// function.
///
///     e.require_heads(function, count)                      or (function, count, kv_count)
template <class E>
concept refuses_heads =
    requires(E const& e, std::size_t count) { e.require_heads("function", count); } ||
    requires(E const& e, std::size_t count) { e.require_heads("function", count, count); };

// Backward, for training.

/// (2) What is prepared also takes gradients d, [tokens][heads][head_dim], to J^T d, in place. J is
/// the matrix of encode_queries or encode_keys, which are linear.
///
///     prepared.backward_queries(d, first_token);      and first_head, where it differs by head
///     prepared.backward_keys(d, first_token);
template <class E>
concept pulls_back_queries_and_keys =
    acts_on_queries_and_keys<E> && detail::pulls_back<detail::prepared_t<E, float>, float> &&
    detail::pulls_back<detail::prepared_t<E, double>, double>;

/// (3) Goes backward, in place: from gradients of the adjusted scores, [keys], to gradients of the
/// scores before; and adds to the gradient of the encoded query, [head_dim], if the rule reads it.
/// A gradient of 0 of a key that no other depends on stays 0, whatever its score is, NaN too.
///
///     e.backward_scores(row_before, d_scores, d_query)
template <class E>
concept pulls_back_scores =
    acts_on_scores<E> && detail::pulls_back_row<E, float> && detail::pulls_back_row<E, double>;

// The concept of an encoding.

namespace detail {

/// At how many of the four sites E acts.
template <class E>
inline constexpr int sites_of = acts_on_embeddings<E> + acts_on_queries_and_keys<E> +
                                acts_on_scores<E> + (acts_on_softmax<E> || adds_sink<E>);

}  // namespace detail

/// Acts nowhere on purpose, as nope does: `static constexpr bool is_nowhere = true`.
template <class E>
concept acts_nowhere = detail::says_it_is_nowhere<E> && detail::sites_of<E> == 0;

/// Acts at one site or at several, or nowhere on purpose. Anything else, and a function that has a
/// site's name and that the site cannot call, is a compile error of one sentence wherever an
/// encoding is asked for (encoding/detail/encoding_check.hpp).
template <class E>
concept positional_encoding = (detail::sites_of<E> > 0) || acts_nowhere<E>;

/// Is made of other encodings: `static constexpr bool wraps_encodings = true`. It constrains its
/// functions to where they have them, and where a constraint does not hold, there is no function,
/// and no error. It lets them refuse a number of heads:
///
///     void require_heads(char const* function, std::size_t count) const {
///       scheme<Inner const&>(inner).require_heads(function, count);
///     }
template <class E>
concept wraps_encodings = std::bool_constant<E::wraps_encodings>::value;

}}  // namespace posenc
