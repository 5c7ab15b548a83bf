// Attention whose scores are near or far: ReRoPE, Leaky ReRoPE, Self-Extend.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "posenc/attention/attention.hpp"
#include "posenc/attention/mask.hpp"
#include "posenc/attention/merge.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/query_key/distance_remapping.hpp"
#include "posenc/softmax/row_exponentials.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// Site 3 of an encoding alone.
template <class E>
struct scores_of {
  static constexpr bool wraps_encodings = true;  ///< it has a function where E has
  static constexpr bool is_nowhere = !acts_on_scores<E>;
  static constexpr bool is_bias = lets_through<E>::as_biases && acts_on_scores<E>;
  static constexpr bool is_pointwise = is_bias || (acts_on_scores<E> && adjusts_each_score<E>);
  E const& e;

  template <class T>
  void adjust_scores(score_row<T> const& row) const requires(acts_on_scores<E>) {
    posenc::adjust_scores(e, row);
  }
};

}  // namespace detail

/// Attention with near and far scores: two calls, whose masks are complementary, joined by merge.
///
///     attention_near_and_far(q, k, v, self_extend(rope<halves>(f), 1024, 8));
///     attention_near_and_far(q, k, v, rerope(rope<halves>(f), 512), attention_sinks(logits));
///
/// beside: the encodings of scores, and sinks. Scores and weights are kept if options say so.
/// A temperature by a whole row is none of either call's rows: it is a compile error. For
/// gradients, call attention_backward for each, with the mask and the encoding that it has here
/// (distances.inner() and mask::window(w - 1, mask::any), distances.far() and
/// mask::farther_than(w - 1), each in a scheme with `beside`) and the result of this; and add them
/// up. Throws std::invalid_argument as attention does, and for keys that are encoded already, which
/// would have to be so twice.
template <class Q, any_heads K, any_heads V, class Inner, class Beside = nope>
attention_result<arithmetic_t<Q>> attention_near_and_far(heads_view<Q> const& q, K const& k,
                                                         V const& v,
                                                         distance_remapped<Inner> const& distances,
                                                         Beside const& beside = nope(),
                                                         attention_options const& options = {}) {
  using result = attention_result<arithmetic_t<Q>>;
  static_assert(!acts_on_softmax<Beside> && !acts_on_queries_and_keys<Beside>,
                "posenc: beside near and far scores there may be rules of scores, and sinks");
  detail::require(!options.keys_are_encoded,
                  "attention_near_and_far: keys must not be encoded already");
  detail::require_heads("attention_near_and_far", beside, q.heads(), k.heads());
  auto const window = distances.distances().window();
  auto const part = [&]<class E>(E const& encoding, mask const& seen) {
    auto of_part = options;
    of_part.mask = options.mask & seen;
    return attention(
        q, k, v,
        scheme<E const&, detail::scores_of<Beside>>(encoding, detail::scores_of<Beside>{beside}),
        of_part);
  };
  auto const near = part(distances.inner(), mask::window(window - 1, mask::any)),
             far = part(distances.far(), mask::farther_than(window - 1));
  auto both = merge(near, far);
  auto const heads = q.heads(), rows = near.log_sum_exp.size();
  if constexpr (adds_sink<Beside>) {  // of no keys
    result sinks{{}, std::vector<double>(rows), {}, {}};
    sinks.outputs.resize(near.outputs.size());
    for (std::size_t row = 0; row < rows; ++row) sinks.log_sum_exp[row] = beside.sink(row % heads);
    both = merge(both, sinks);
  }
  both.scores = near.scores, both.weights = near.weights;
  for (std::size_t i = 0; i < both.scores.size(); ++i)
    if (is_masked(both.scores[i])) both.scores[i] = far.scores[i];
  auto const keys = k.tokens(), queries = q.tokens();
  for (std::size_t i = 0; i < both.weights.size(); ++i) {
    auto const row = i / keys % queries * heads + i / keys / queries;
    auto const share = [&](result const& of, auto weight) {
      return weight == 0 ? 0
                         : static_cast<double>(weight) *
                               std::exp(of.log_sum_exp[row] - both.log_sum_exp[row]);
    };
    both.weights[i] =
        static_cast<arithmetic_t<Q>>(share(near, near.weights[i]) + share(far, far.weights[i]));
  }
  return both;
}

}}  // namespace posenc
