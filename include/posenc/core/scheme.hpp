// The encodings that are used together, each at its own site.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/log_add_exp.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// scheme{rope<halves>(...), adaptive_temperature{}}: at every site those act that can, in the order given; inverse temperatures
/// multiply. A scheme is itself an encoding at all four sites, so schemes nest.
template <positional_encoding... Encodings>
class scheme {
 public:
  constexpr explicit scheme(Encodings... encodings) : encodings_(std::move(encodings)...) {}

  template <class T>
  void embed(heads_view<T> x, positions_view positions) const {
    for_each([&]<class E>(E const& e) {
      if constexpr (acts_on_embeddings<E>) e.embed(x, positions);
    });
  }
  template <class T>
  void encode_queries(heads_view<T> q, positions_view positions) const {
    for_each([&]<class E>(E const& e) {
      if constexpr (acts_on_queries_and_keys<E>) e.encode_queries(q, positions);
    });
  }
  template <class T>
  void encode_keys(heads_view<T> k, positions_view positions) const {
    for_each([&]<class E>(E const& e) {
      if constexpr (acts_on_queries_and_keys<E>) e.encode_keys(k, positions);
    });
  }
  template <class T>
  void adjust_scores(score_row<T> row) const {
    for_each([&]<class E>(E const& e) {
      if constexpr (acts_on_scores<E>) e.adjust_scores(row);
    });
  }
  double inverse_temperature(row_statistics const& row) const {
    double beta = 1;
    for_each([&]<class E>(E const& e) {
      if constexpr (acts_on_softmax<E>) beta *= e.inverse_temperature(row);
    });
    return beta;
  }
  /// Of several sinks: what one would be that takes as much as all. Of none, a logit that takes nothing.
  double sink(std::size_t head) const {
    double all = std::numeric_limits<double>::lowest();
    for_each([&]<class E>(E const& e) {
      if constexpr (adds_sink<E>) all = detail::log_add_exp(all, e.sink(head));
    });
    return all;
  }

  /// Throws std::invalid_argument, in the name of a function, unless each encoding that says of how many heads it is, by heads(), has
  /// so many.
  void require_heads(char const* function, std::size_t count) const {
    for_each([&]<class E>(E const& e) {
      if constexpr (knows_heads<E>) {
        detail::require(count <= e.heads(), function, ": an encoding must be of all ", count, " heads, got one of ", e.heads());
      } else if constexpr (requires { e.require_heads(function, count); }) {
        e.require_heads(function, count);
      }
    });
  }

  /// Gradients, back through the encodings of a site from the last to the first.
  template <class T>
  void pull_back_queries(heads_view<T> d, positions_view positions) const {
    for_each_reversed([&]<class E>(E const& e) {
      if constexpr (acts_on_queries_and_keys<E>) e.pull_back_queries(d, positions);
    });
  }
  template <class T>
  void pull_back_keys(heads_view<T> d, positions_view positions) const {
    for_each_reversed([&]<class E>(E const& e) {
      if constexpr (acts_on_queries_and_keys<E>) e.pull_back_keys(d, positions);
    });
  }
  template <class T>
  void pull_back_scores(score_row<T const> const& before, std::span<T> d_scores, std::span<T> d_query) const {
    std::apply([&](auto const&... e) { detail::pull_back_through(before, d_scores, d_query, e...); }, encodings_);
  }

 private:
  void for_each_reversed(auto&& act) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (act(std::get<sizeof...(I) - 1 - I>(encodings_)), ...); }
    (std::index_sequence_for<Encodings...>());
  }
  void for_each(auto&& act) const {
    std::apply([&](auto const&... e) { (act(e), ...); }, encodings_);
  }
  [[no_unique_address]] std::tuple<Encodings...> encodings_;
};

namespace detail {

/// At which sites an encoding really acts: a scheme has the functions of all four.
template <class E>
struct acts {
  static constexpr bool on_embeddings = acts_on_embeddings<E>, on_queries_and_keys = acts_on_queries_and_keys<E>,
                        on_scores = acts_on_scores<E>, on_softmax = acts_on_softmax<E>, sinks = adds_sink<E>;
};
template <class... Es>
struct acts<scheme<Es...>> {
  static constexpr bool on_embeddings = (acts<Es>::on_embeddings || ...), on_queries_and_keys = (acts<Es>::on_queries_and_keys || ...),
                        on_scores = (acts<Es>::on_scores || ...), on_softmax = (acts<Es>::on_softmax || ...),
                        sinks = (acts<Es>::sinks || ...);
};

template <class... Es>
struct lets_through<scheme<Es...>> {
  static constexpr bool queries_and_keys = (lets_through<Es>::queries_and_keys && ...), as_biases = (lets_through<Es>::as_biases && ...),
                        scores = (lets_through<Es>::scores && ...);
};

}  // namespace detail

/// No positional encoding: acts nowhere. [Kazemnejad 2023; Haviv 2022]
using nope = scheme<>;

}  // namespace posenc
