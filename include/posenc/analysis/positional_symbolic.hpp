// Whether a head attends by position or by content: two numbers for any encoding, query and key.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "posenc/attention/attention.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Which pairs of keys are exchanged, and how they are weighed.
struct positional_symbolic_settings {
  std::size_t exchanges = 4096;  ///< at most: all pairs of keys, or this many, evenly among them
  double temperature = 0.05;     ///< of the mean over exchanges: 0.05 of weight is a factor of e
};

/// The two scores of one head, each in [0, 1].
struct positional_symbolic_score {
  double positional;  ///< 1 where weights stay with positions
  double symbolic;    ///< 1 where weights go with contents
};

namespace detail {

/// Means over the exchanges of one row of weights, weighed by e^(|a - b| / temperature).
struct exchange_mean {
  double positional = 0, symbolic = 0, weight = 0;  // sums, times e^-largest
  double largest = 0;                               // |a - b| / temperature

  void add(double a, double b, double c, double d, double temperature) {
    auto const norms = std::hypot(a, b) * std::hypot(c, d);
    if (norms == 0) return;
    auto const exponent = std::abs(a - b) / temperature;
    if (exponent > largest) {
      auto const less = std::exp(largest - exponent);
      positional *= less, symbolic *= less, weight *= less, largest = exponent;
    }
    auto const share = std::exp(exponent - largest);
    positional += share * ((a * c + b * d) / norms);
    symbolic += share * ((a * d + b * c) / norms);
    weight += share;
  }
  void add(exchange_mean const& row) {
    if (row.weight > 0)
      positional += row.positional / row.weight, symbolic += row.symbolic / row.weight, ++weight;
  }
};

}  // namespace detail

/// Keys i and j exchange their contents and keep their positions. A query gives them the weights
/// (a, b) before and (c, d) after:
///
///     positional = cos((c, d), (a, b))      symbolic = cos((c, d), (b, a))
///
/// averaged over exchanges with weights softmax(|a - b| / temperature), then over queries that see
/// two keys [Urrutia et al. 2025, arXiv 2511.11579, section 3 and appendix A.3]. Both are 1 only
/// where attention is uniform; a head without positions is symbolic by 1.
///
/// q: [queries][heads][head_dim]; k: [keys][kv_heads][head_dim]; result: [heads]. Side values of
/// keys stay in their places. Pairs with a hidden key, or with weights of 0 in T, do not count. The
/// list of pairs (0, 1), (0, 2) ... (1, 2) ... is divided into `exchanges` equal parts, and the
/// last pair of each part is exchanged. Error: that of weights in T. Time: an attention over
/// encoded keys per exchange, queries * heads * keys * head_dim products; the two keys alone are
/// encoded again. Memory: scores and weights twice. Throws std::invalid_argument unless exchanges
/// and temperature are positive, keys are not encoded, and a query sees two keys with weight; and
/// what attention throws.
template <class T, class Encoding>
std::vector<positional_symbolic_score> positional_symbolic(
    heads_view<T> const& q, heads_view<T> const& k, Encoding const& encoding,
    attention_options options = {}, positional_symbolic_settings const& settings = {}) {
  using real = detail::arithmetic_of<heads_view<T>>;
  detail::require(settings.exchanges > 0, "positional_symbolic: exchanges must be positive, got 0");
  detail::require_positive("positional_symbolic", "temperature", settings.temperature);
  detail::require(!options.keys_are_encoded, "positional_symbolic: keys must not be encoded");
  auto const given = detail::checked_arguments<real>("positional_symbolic", encoding, q.shape(),
                                                     k.shape(), k.shape(), options);
  constexpr bool encodes_alone = acts_on_queries_and_keys<Encoding>;
  std::vector<std::int64_t> counted;
  token_positions const at_queries(given.query_positions.listed(counted)),
      at_keys(given.key_positions.listed(counted));
  options.query_positions = {}, options.key_positions = {};  // those of the step
  options.keep_scores = options.keep_weights = true;
  using step = prepared_encoding<real, Encoding>;
  step const of_contents(encoding, at_queries, at_keys),
      of_keys(encoding, at_queries, at_keys, encodes_alone);
  std::vector<real> numbers(given.keys * given.kv_heads * given.head_dim);
  heads_view<real> const keys(numbers.data(), k.shape()), values = keys.slice_dims(0, 1);
  auto const place = [&](std::size_t content, std::size_t at) {
    auto const key = keys.slice_tokens(at, 1);
    for (std::size_t head = 0; head < k.heads(); ++head)
      std::ranges::transform(k(content, head), key(0, head).begin(),
                             [](auto const& x) { return static_cast<real>(load(x)); });
    if constexpr (encodes_alone) detail::encode_keys(of_contents.of_keys(), key, at, 0);
  };
  for (std::size_t s = 0; s < given.keys; ++s) place(s, s);
  attention_workspace<real> workspace;
  auto const before = attention(q, keys, values, of_keys, options, workspace);
  std::vector<detail::exchange_mean> rows(given.heads * given.queries);
  auto const pairs = given.keys * (given.keys - (given.keys > 0)) / 2,
             exchanges = std::min(pairs, settings.exchanges);
  for (std::size_t e = 0, i = 0, j = 0, at = 0; e < exchanges; ++e) {
    // The last pair of each of `exchanges` parts: j counts, and i counts when j is at its end.
    for (auto const next = (e + 1) * pairs / exchanges; at < next; ++at)
      if (++j == given.keys) ++i, j = i + 1;
    place(i, j), place(j, i);
    auto const& after = attention(q, keys, values, of_keys, options, workspace);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      auto const at_i = row * given.keys + i, at_j = row * given.keys + j;
      if (!is_finite(before.scores[at_i]) || !is_finite(before.scores[at_j])) continue;
      rows[row].add(before.weights[at_i], before.weights[at_j], after.weights[at_i],
                    after.weights[at_j], settings.temperature);
    }
    place(i, i), place(j, j);
  }
  std::vector<positional_symbolic_score> result;
  for (std::size_t head = 0; head < given.heads; ++head) {
    detail::exchange_mean mean;
    for (std::size_t t = 0; t < given.queries; ++t) mean.add(rows[head * given.queries + t]);
    detail::require(mean.weight > 0,
                    "positional_symbolic: a query must see two keys with weight, got none in head ",
                    head);
    result.push_back({mean.positional / mean.weight, mean.symbolic / mean.weight});
  }
  return result;
}

}}  // namespace posenc
