// The encodings that are used together, each at its own site.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/detail/log_add_exp.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/encoding/detail/encoding_check.hpp"

namespace posenc { inline namespace POSENC_TARGET {
template <class... Encodings>
class scheme;

namespace detail {

/// As scheme::require_heads, which a wrapper has too.
template <class E>
void require_heads(char const* function, [[maybe_unused]] E const& e,
                   [[maybe_unused]] std::size_t count, [[maybe_unused]] std::size_t kv_count = 0) {
  if constexpr (knows_heads<E>) {
    require(count == e.heads(), function, ": the encoding must have ", count, " heads, got ",
            e.heads());
  } else if constexpr (requires { e.require_heads(function, count, kv_count); }) {
    e.require_heads(function, count, kv_count);
  } else if constexpr (refuses_heads<E>) {
    e.require_heads(function, count);
  }
  if constexpr (knows_kv_heads<E>)
    require(kv_count == 0 || kv_count == e.kv_heads(), function, ": the encoding must have ",
            kv_count, " kv heads, got ", e.kv_heads());
}

/// As scheme::check, of an encoding that may be none.
template <class E>
void check_shapes(char const* function, E const& e, heads_shape const& queries,
                  heads_shape const& keys) {
  if constexpr (checks_attention<E>) {
    e.check(function, queries, keys);
  } else {
    require_heads(function, e, queries.heads, keys.heads);
  }
}

/// beta of a row; 1 if the encoding does not act on softmax.
template <class E>
double inverse_temperature_of([[maybe_unused]] E const& e,
                              [[maybe_unused]] row_statistics const& row) {
  if constexpr (acts_on_softmax<E>) return e.inverse_temperature(row);
  return 1;
}

/// Which of the sites where E acts gradients get through.
template <class E>
struct lets_through {
  static constexpr bool queries_and_keys =
                            !acts_on_queries_and_keys<E> || pulls_back_queries_and_keys<E>,
                        as_biases = !acts_on_scores<E> || adds_bias<E>,
                        scores = as_biases || pulls_back_scores<E>;
};

/// Whether gradients pass site 3 unchanged, because it only adds biases to scores.
template <class E>
bool only_adds_bias([[maybe_unused]] E const& e) noexcept {
  if constexpr (may_only_add_bias<E>) {
    return e.only_adds_bias();
  } else {
    return lets_through<E>::as_biases;
  }
}

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

/// The prepared parts of a scheme's encodings that act on queries and keys, in their order;
/// backward from the last to the first.
template <class... Prepared>
class prepared_scheme {
 public:
  static constexpr bool wraps_encodings = true;  ///< it has functions where they have

  explicit prepared_scheme(std::tuple<Prepared...>&& prepared) : prepared_(std::move(prepared)) {}

  void encode_queries(auto const& q, std::size_t token = 0, std::size_t head = 0) const {
    for_each([&](auto const& each) { detail::encode_queries(each, q, token, head); });
  }
  void encode_keys(auto const& k, std::size_t token = 0, std::size_t head = 0) const {
    for_each([&](auto const& each) { detail::encode_keys(each, k, token, head); });
  }
  template <class T>
  void backward_queries(heads_view<T> const& d, std::size_t token = 0, std::size_t head = 0) const
      requires(pulls_back<Prepared, T>&&...) {
    for_each_reversed([&](auto const& each) { detail::backward_queries(each, d, token, head); });
  }
  template <class T>
  void backward_keys(heads_view<T> const& d, std::size_t token = 0, std::size_t head = 0) const
      requires(pulls_back<Prepared, T>&&...) {
    for_each_reversed([&](auto const& each) { detail::backward_keys(each, d, token, head); });
  }

 private:
  void for_each(auto&& act) const {
    std::apply([&](auto const&... each) { (act(each), ...); }, prepared_);
  }
  void for_each_reversed(auto&& act) const {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (act(std::get<sizeof...(i) - 1 - i>(prepared_)), ...);
    }
    (std::index_sequence_for<Prepared...>());
  }

  std::tuple<Prepared...> prepared_;
};

/// A scheme within another: its encodings are checked where it is defined.
template <class... Encodings>
struct check_of<scheme<Encodings...>> {
  static constexpr bool encodes = (encoding_check<Encodings>::encodes || ...), passed = true;
};

}  // namespace detail

/// scheme{rope<halves>(...), adaptive_temperature{}}: at each site, every encoding that acts there
/// is applied, in the order given; inverse temperatures multiply. A scheme is an encoding, so they
/// nest. Gradients get through a site if they get through every member that acts there.
template <class... Encodings>
class scheme {
  static_assert((detail::encoding_check<Encodings>::passed && ...));
  static constexpr bool encodes = (acts_on_queries_and_keys<Encodings> || ...),
                        adjusts = (acts_on_scores<Encodings> || ...);

 public:
  static constexpr bool wraps_encodings = true;  ///< it has functions where they have
  static constexpr bool is_nowhere = (acts_nowhere<Encodings> && ...);  ///< it acts where they do
  /// Site 3 only adds, whatever the scores are.
  static constexpr bool is_bias = adjusts && (detail::lets_through<Encodings>::as_biases && ...);

  /// Site 3 makes each score from itself.
  static constexpr bool is_pointwise =
      adjusts && ((!acts_on_scores<Encodings> || adjusts_each_score<Encodings>)&&...);

  /// Keeps copies; a scheme<E const&> refers to its member.
  constexpr explicit scheme(Encodings... encodings) : encodings_(std::move(encodings)...) {}

  /// In the order given.
  constexpr std::tuple<Encodings...> const& encodings() const noexcept { return encodings_; }

  /// Site 1, see acts_on_embeddings.
  template <class T>
  void embed(heads_view<T> const& x, token_positions const& positions) const
      requires(acts_on_embeddings<Encodings> || ...) {
    for_each([&](acts_on_embeddings auto const& e) { e.embed(x, positions); });
  }
  /// Site 2, see acts_on_queries_and_keys.
  template <class T>
  auto prepare(token_positions const& positions) const requires(encodes) {
    auto const by_one = [&]<class E>(E const& e) {
      if constexpr (acts_on_queries_and_keys<E>) {
        return std::tuple<detail::prepared_t<E, T>>(
            e.template prepare<T>(positions_view(positions)));
      } else {
        return std::tuple<>();
      }
    };
    auto prepared =
        std::apply([&](auto const&... e) { return std::tuple_cat(by_one(e)...); }, encodings_);
    return detail::prepared_scheme(std::move(prepared));
  }
  /// Site 3, see acts_on_scores.
  template <class T>
  void adjust_scores(score_row<T> const& row) const requires(adjusts) {
    for_each([&](acts_on_scores auto const& e) { posenc::adjust_scores(e, row); });
  }
  /// Site 4, see acts_on_softmax: the product of all.
  double inverse_temperature(row_statistics const& row) const
      requires(acts_on_softmax<Encodings> || ...) {
    double beta = 1;
    for_each([&](auto const& e) { beta *= detail::inverse_temperature_of(e, row); });
    return beta;
  }
  /// The one sink equivalent to all of them: their log-sum-exp.
  double sink(std::size_t head) const requires(adds_sink<Encodings> || ...) {
    double all = detail::negative_infinity<double>;
    for_each([&](adds_sink auto const& e) { all = detail::log_add_exp(all, e.sink(head)); });
    return all;
  }

  /// Throws std::invalid_argument, in the name of a function, unless every encoding with heads()
  /// has parameters for `count` heads, and with kv_heads() for `kv_count`, if that is not 0.
  void require_heads(char const* function, std::size_t count, std::size_t kv_count = 0) const {
    for_each([&](auto const& e) { detail::require_heads(function, e, count, kv_count); });
  }

  /// The mask and the scale of the encoding that says them, see says_what_is_seen.
  auto const& asked() const requires((says_what_is_seen<Encodings> || ...)) {
    static_assert((0 + ... + says_what_is_seen<Encodings>) == 1,
                  "posenc: one encoding of a scheme may say what is seen (attention_rules)");
    return asked_of(std::index_sequence_for<Encodings...>());
  }
  /// Throws std::invalid_argument, in the name of a function, as require_heads does, and as
  /// encodings do that check queries and keys themselves.
  void check(char const* function, heads_shape const& queries, heads_shape const& keys) const {
    for_each([&](auto const& e) { detail::check_shapes(function, e, queries, keys); });
  }

  /// Backward: from the last encoding to the first.
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T> d_query) const
      requires(adjusts && (detail::lets_through<Encodings>::scores && ...)) {
    std::apply([&](auto const&... e) { detail::backward_through(before, d_scores, d_query, e...); },
               encodings_);
  }

 private:
  // Calls act(encoding) for each that it takes.
  void for_each(auto&& act) const {
    auto const of_one = [&](auto const& e) {
      if constexpr (requires { act(e); }) act(e);
    };
    std::apply([&](auto const&... e) { (of_one(e), ...); }, encodings_);
  }
  template <std::size_t i, std::size_t... others>
  auto const& asked_of(std::index_sequence<i, others...>) const {
    if constexpr (says_what_is_seen<std::tuple_element_t<i, std::tuple<Encodings...>>>) {
      return std::get<i>(encodings_).asked();
    } else {
      return asked_of(std::index_sequence<others...>());
    }
  }
  [[no_unique_address]] std::tuple<Encodings...> encodings_;
};

/// No positional encoding: acts nowhere. [Kazemnejad 2023; Haviv 2022]
using nope = scheme<>;

}}  // namespace posenc
