// The sites of attention in reverse: what an encoding does to gradients, for training.
//
//   (1) embeddings         a constant is added: gradients pass as they are
//   (2) queries and keys   R_t^T, the transpose of what was done to them
//   (3) scores             a bias lets gradients pass; any other rule has a derivative
//   (4) softmax            beta and sinks count as constants
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "posenc/core/adjust_scores.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

// clang-format off

namespace detail {

template <class P, class T>
concept pulls_back_queries =
    requires(P const& p, heads_view<T> d) { detail::backward_queries(p, d, 0, 0); };
template <class P, class T>
concept pulls_back_keys =
    requires(P const& p, heads_view<T> d) { detail::backward_keys(p, d, 0, 0); };
template <class E>
concept says_is_bias = std::bool_constant<std::remove_cvref_t<E>::is_bias>::value;
template <class P, class T>
concept pulls_back = pulls_back_queries<P, T> && pulls_back_keys<P, T>;
template <class E, class T>
concept pulls_back_row =
    requires(E const& e, score_row<T const> const row, std::span<T> const d) {
      e.backward_scores(row, d, d);
    };

}  // namespace detail

/// (2) What is prepared also goes backward, in place: d -> J^T d, J being the matrix of
/// encode_queries or encode_keys, which are linear, and d [tokens][heads][head_dim].
///
///     prepared.backward_queries(d, first_token);      and first_head, where it differs by head
///     prepared.backward_keys(d, first_token);
template <class E>
concept pulls_back_queries_and_keys =
    acts_on_queries_and_keys<E> && detail::pulls_back<detail::prepared_t<E, float>, float> &&
    detail::pulls_back<detail::prepared_t<E, double>, double>;

/// (3) Adds a term that depends on neither queries nor scores, so gradients pass unchanged: a bias,
/// or adjust_scores beside `static constexpr bool is_bias = true`.
template <class E>
concept adds_bias = adds_bias_by_distance<E> || adds_bias_by_positions<E> ||
                    (acts_on_scores<E> && detail::says_is_bias<E>);

/// (3) Goes backward, in place: from gradients of the adjusted scores, [keys], to those of the
/// scores before; and adds to the gradient of the encoded query, [head_dim], if the rule reads it.
/// A gradient of 0 of a key that no other depends on stays 0, whatever its score is, NaN too.
template <class E>
concept pulls_back_scores =
    acts_on_scores<E> && detail::pulls_back_row<E, float> && detail::pulls_back_row<E, double>;

// clang-format on

namespace detail {

/// Which of the sites where an encoding acts gradients get through.
template <class E>
struct lets_through {
  static constexpr bool queries_and_keys =
                            !acts_on_queries_and_keys<E> || pulls_back_queries_and_keys<E>,
                        as_biases = !acts_on_scores<E> || adds_bias<E>,
                        scores = as_biases || pulls_back_scores<E>;
};

/// Backward through several encodings, from the last to the first. The scores that one makes are
/// computed again only if an encoding that follows is no bias.
template <class T>
void backward_through(score_row<T const> const&, std::span<T>, std::span<T>) {}
template <class T, class E, class... Es>
void backward_through(score_row<T const> const& before, std::span<T> d_scores, std::span<T> d_query,
                      E const& e, Es const&... then) {
  if constexpr (!acts_on_scores<E>) {
    backward_through(before, d_scores, d_query, then...);
  } else {
    if constexpr (!(lets_through<Es>::as_biases && ...)) {
      std::vector<T> scores(before.scores.begin(), before.scores.end());
      adjust_scores(e, before.template with_scores<T>(scores));
      backward_through(before.template with_scores<T const>(scores), d_scores, d_query, then...);
    }
    if constexpr (!lets_through<E>::as_biases) e.backward_scores(before, d_scores, d_query);
  }
}

}  // namespace detail
}  // namespace posenc
