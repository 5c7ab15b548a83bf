// An encoding at the positions of one step: what positions alone decide, made once for every head,
// block and layer.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/distance_biases.hpp"
#include "posenc/core/encoding_check.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// An encoding at the positions of the queries and keys of one step, to attend with in T: float, or
/// double to encode doubles.
///
///     prepared_encoding<float, decltype(encoding)> step(encoding, query_positions, key_positions);
///     for (each layer) attention(q, k, v, step, options, workspace);
///     step.advance(query_positions, key_positions);                 the next step of a decode
///
/// Site 2: one row per key that is not encoded already; queries whose positions are the last of the
/// keys', as a causal step has them, use those. Site 3: biases by distance are computed once for
/// every distance that occurs and looked up by all rows whose keys follow one another: the same
/// bits, up to a last product that a compiler fuses. Advancing keeps them, and adds half as many
/// again ahead of need. The encoding must outlive it; the positions need not. Threads may share it,
/// but for advance. Throws std::invalid_argument where the encoding does.
template <std::floating_point T, class Encoding>
class prepared_encoding {
  static_assert(detail::encoding_check<Encoding>::passed && detail::site_1_check<Encoding>::passed);
  static constexpr bool rotates = acts_on_queries_and_keys<Encoding>;

 public:
  /// For all queries and all keys of the step. keys_are_encoded: they come from a cache.
  /// queries_are_encoded: so are the queries, as encoded(q) says in the call.
  prepared_encoding(Encoding const& encoding, token_positions query_positions,
                    token_positions key_positions, bool keys_are_encoded = false,
                    bool queries_are_encoded = false)
      : encoding_(encoding),
        keys_are_encoded_(keys_are_encoded),
        queries_are_encoded_(queries_are_encoded) {
    prepare(std::move(query_positions), std::move(key_positions));
    // For one query alone, to look a bias up costs as much as to make it.
    if (query_positions_.size() > 1)
      scores_.cover(encoding_, detail::distances_of(query_positions_, key_positions_));
  }

  /// Takes the positions of the next step.
  void advance(token_positions query_positions, token_positions key_positions) {
    prepare(std::move(query_positions), std::move(key_positions));
    auto const range = detail::distances_of(query_positions_, key_positions_);
    if (!scores_.covers(range)) scores_.cover(encoding_, range.and_half_again());
  }

  Encoding const& encoding() const noexcept { return encoding_; }  ///< must outlive this
  positions_view query_positions() const noexcept { return query_positions_; }  ///< [queries]
  positions_view key_positions() const noexcept { return key_positions_; }      ///< [keys]
  /// Whether the keys come encoded from a cache, so that site 2 leaves them alone.
  bool keys_are_encoded() const noexcept { return keys_are_encoded_; }
  bool queries_are_encoded() const noexcept { return queries_are_encoded_; }  ///< by rotate

  /// Site 2: what the encoding prepared, in which query i is token first_query() + i. Keys must not
  /// be encoded already.
  auto const& of_queries() const noexcept requires(rotates) {
    return of_queries_ ? *of_queries_ : *of_keys_;
  }
  auto const& of_keys() const noexcept requires(rotates) { return *of_keys_; }  ///< of keys
  std::size_t first_query() const noexcept { return first_query_; }             ///< see of_queries

  /// Site 3, in place: of a query of the step and neighbouring keys.
  template <class S>
  void adjust_scores(score_row<S> const& row) const requires(acts_on_scores<Encoding>) {
    scores_.adjust(encoding_, row);
  }

 private:
  void prepare(token_positions query_positions, token_positions key_positions) {
    query_positions_ = std::move(query_positions), key_positions_ = std::move(key_positions);
    if constexpr (rotates) {
      positions_view const at_queries = query_positions_, at_keys = key_positions_;
      of_queries_.reset(), of_keys_.reset(), first_query_ = 0;
      if (queries_are_encoded_) return;
      if (!keys_are_encoded_) of_keys_.emplace(encoding_.template prepare<T>(at_keys));
      auto const queries = at_queries.size();
      if (!keys_are_encoded_ && queries <= at_keys.size() &&
          std::ranges::equal(at_queries, at_keys.last(queries))) {
        first_query_ = at_keys.size() - queries;
      } else {
        of_queries_.emplace(encoding_.template prepare<T>(at_queries));
      }
    }
  }

  template <class E>
  static auto prepared_of() {
    if constexpr (acts_on_queries_and_keys<E>) {
      return std::optional<detail::prepared_t<E, T>>();
    } else {
      return std::false_type();  // nothing
    }
  }
  Encoding const& encoding_;
  token_positions query_positions_, key_positions_;
  bool keys_are_encoded_, queries_are_encoded_;
  [[no_unique_address]] decltype(prepared_of<Encoding>()) of_queries_, of_keys_;
  std::size_t first_query_ = 0;
  detail::step_scores<std::remove_cv_t<Encoding>> scores_;
};

namespace detail {

/// The options of a call with the positions of the step. Throws std::invalid_argument if they have
/// positions of their own, or if queries or keys are in another state.
template <std::floating_point T, class Encoding>
attention_options options_of(prepared_encoding<T, Encoding> const& step, attention_options options,
                             std::size_t queries, std::size_t keys, bool queries_are_encoded) {
  require(step.queries_are_encoded() == queries_are_encoded,
          "attention: queries must be encoded already where the encoding is prepared so, and only "
          "there");
  require(step.query_positions().size() == queries && step.key_positions().size() == keys,
          "attention: the encoding must be prepared for the ", queries, " queries and ", keys,
          " keys, got ", step.query_positions().size(), " and ", step.key_positions().size(),
          " positions");
  require(
      options.query_positions.empty() && options.key_positions.empty() && !options.keys_are_encoded,
      "attention: positions, and whether keys are encoded, must be given where the encoding is "
      "prepared, not in the options as well");
  options.query_positions = step.query_positions(), options.key_positions = step.key_positions();
  options.keys_are_encoded = step.keys_are_encoded();
  return options;
}

}  // namespace detail
}  // namespace posenc
