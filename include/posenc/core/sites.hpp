// Where a positional encoding acts: the four sites of attention. Read this first.
//
//   x_t --(1) + p_t--> W_q, W_k --(2) R_t--> <q_t, k_s> --(3) + b(t, s)-->(4) * beta--> softmax --> weights
//
//   (1) embeddings         sinusoidal, learned      embedding/
//   (2) queries and keys   RoPE, p-RoPE, M-RoPE     query_key/   built on frequency/ and rotation/
//   (3) scores             ALiBi, T5                score/
//   (4) softmax            adaptive, SSMax, Llama 4 softmax/
//       nowhere            NoPE                     the empty scheme
#pragma once

#include <concepts>
#include <cstddef>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/row_statistics.hpp"
#include "posenc/core/score_row.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

// clang-format off

/// (1) Adds p_t to the embeddings x, [tokens][1][dim]; several heads get the same p_t each.
template <class E>
concept acts_on_embeddings = requires(E const& e, heads_view<float> x, positions_view positions) {
  e.embed(x, positions);
};

/// (2) Changes queries and keys in place, [tokens][heads][head_dim], each by the position of its token.
template <class E>
concept acts_on_queries_and_keys = requires(E const& e, heads_view<float> x, positions_view positions) {
  e.encode_queries(x, positions);
  e.encode_keys(x, positions);
};

/// (3) Changes a row of scores in place, before the mask.
template <class E>
concept acts_on_scores = requires(E const& e, score_row<float> row) {
  e.adjust_scores(row);
};

/// (4) Answers the statistics of a row of masked scores with the factor beta that multiplies it: softmax(beta * row).
template <class E>
concept acts_on_softmax = requires(E const& e, row_statistics const& row) {
  { e.inverse_temperature(row) } -> std::convertible_to<double>;
};

/// (4) Answers a head with a logit that joins the denominator of its rows, beside exp(beta * row), and has no value.
template <class E>
concept adds_sink = requires(E const& e, std::size_t head) {
  { e.sink(head) } -> std::convertible_to<double>;
};

/// Says of how many heads it is, where it is not of any number.
template <class E>
concept knows_heads = requires(E const& e) {
  { e.heads() } -> std::same_as<std::size_t>;
};

// clang-format on

/// Acts at one site or at several. What matches none is a compile error wherever an encoding is asked for.
template <class E>
concept positional_encoding =
    acts_on_embeddings<E> || acts_on_queries_and_keys<E> || acts_on_scores<E> || acts_on_softmax<E> || adds_sink<E>;

}  // namespace posenc
