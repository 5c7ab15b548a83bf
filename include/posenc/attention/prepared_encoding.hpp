// An encoding at the positions of one step: what positions alone decide, made once for every head,
// block and layer.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/distance_biases.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/detail/encoding_check.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// The part of an encoding that depends only on positions, for the queries and keys of one step.
/// Keeps none of the positions.
template <std::floating_point T, class Encoding>
class prepared_sites {
  static_assert(encoding_check<Encoding>::passed && site_1_check<Encoding>::passed);
  static constexpr bool rotates = acts_on_queries_and_keys<Encoding>;

 public:
  prepared_sites(Encoding const& encoding, position_list const& queries, position_list const& keys,
                 bool keys_are_encoded, bool queries_are_encoded)
      : encoding_(encoding) {
    prepare(queries, keys, keys_are_encoded, queries_are_encoded);
    // For one query alone, to look a bias up costs as much as to make it.
    if (queries.size() > 1) scores_.cover(encoding_, distances_of(queries, keys));
  }
  void advance(position_list const& queries, position_list const& keys, bool keys_are_encoded,
               bool queries_are_encoded) {
    prepare(queries, keys, keys_are_encoded, queries_are_encoded);
    auto const range = distances_of(queries, keys);
    if (!scores_.covers(range)) scores_.cover(encoding_, range.and_half_again());
  }

  Encoding const& encoding() const noexcept { return encoding_; }
  auto const& of_queries() const noexcept requires(rotates) {
    return of_queries_ ? *of_queries_ : *of_keys_;
  }
  auto const& of_keys() const noexcept requires(rotates) { return *of_keys_; }
  std::size_t first_query() const noexcept { return first_query_; }
  template <class S>
  void adjust_scores(score_row<S> const& row) const requires(acts_on_scores<Encoding>) {
    scores_.adjust(encoding_, row);
  }

 private:
  void prepare([[maybe_unused]] position_list const& queries,
               [[maybe_unused]] position_list const& keys, [[maybe_unused]] bool keys_are_encoded,
               [[maybe_unused]] bool queries_are_encoded) {
    if constexpr (rotates) {
      of_queries_.reset();
      of_keys_.reset();
      first_query_ = 0;
      if (queries_are_encoded) return;
      std::vector<std::int64_t> memory;
      if (!keys_are_encoded) of_keys_.emplace(encoding_.template prepare<T>(keys.listed(memory)));
      auto const count = queries.size();
      if (!keys_are_encoded && count <= keys.size() &&
          queries == keys.part(keys.size() - count, count)) {
        first_query_ = keys.size() - count;
      } else {
        of_queries_.emplace(encoding_.template prepare<T>(queries.listed(memory)));
      }
    }
  }

  template <class E>
  static auto prepared_of() {
    if constexpr (acts_on_queries_and_keys<E>) {
      return std::optional<prepared_t<E, T>>();
    } else {
      return std::false_type();  // nothing
    }
  }
  Encoding const& encoding_;
  [[no_unique_address]] decltype(prepared_of<Encoding>()) of_queries_, of_keys_;
  std::size_t first_query_ = 0;
  step_scores<std::remove_cv_t<Encoding>> scores_;
};

}  // namespace detail

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
  static constexpr bool rotates = acts_on_queries_and_keys<Encoding>;

 public:
  /// For all queries and all keys of the step. keys_are_encoded: they come from a cache.
  /// queries_are_encoded: so are the queries, as encoded(q) says in the call.
  prepared_encoding(Encoding const& encoding, token_positions query_positions,
                    token_positions key_positions, bool keys_are_encoded = false,
                    bool queries_are_encoded = false)
      : query_positions_(std::move(query_positions)),
        key_positions_(std::move(key_positions)),
        keys_are_encoded_(keys_are_encoded),
        queries_are_encoded_(queries_are_encoded),
        sites_(encoding, queries(), keys(), keys_are_encoded, queries_are_encoded) {}

  prepared_encoding(Encoding const&&,  // posenc: what is viewed must have a name
                    token_positions, token_positions, bool = false, bool = false) = delete;

  /// Takes the positions of the next step.
  void advance(token_positions query_positions, token_positions key_positions) {
    query_positions_ = std::move(query_positions);
    key_positions_ = std::move(key_positions);
    sites_.advance(queries(), keys(), keys_are_encoded_, queries_are_encoded_);
  }

  Encoding const& encoding() const noexcept { return sites_.encoding(); }  ///< must outlive this
  positions_view query_positions() const& noexcept { return query_positions_; }  ///< [queries]
  positions_view key_positions() const& noexcept { return key_positions_; }      ///< [keys]
  /// The positions of a temporary, moved out.
  token_positions query_positions() && noexcept { return std::move(query_positions_); }
  token_positions key_positions() && noexcept { return std::move(key_positions_); }  ///< likewise
  /// Whether the keys come encoded from a cache, so that site 2 leaves them alone.
  bool keys_are_encoded() const noexcept { return keys_are_encoded_; }
  bool queries_are_encoded() const noexcept { return queries_are_encoded_; }  ///< by rotate

  /// Site 2: what the encoding prepared, in which query i is token first_query() + i. Keys must not
  /// be encoded already.
  auto const& of_queries() const noexcept requires(rotates) { return sites_.of_queries(); }
  auto const& of_keys() const noexcept requires(rotates) { return sites_.of_keys(); }  ///< of keys
  std::size_t first_query() const noexcept { return sites_.first_query(); }  ///< see of_queries

  /// Site 3, in place: of a query of the step and neighbouring keys.
  template <class S>
  void adjust_scores(score_row<S> const& row) const requires(acts_on_scores<Encoding>) {
    sites_.adjust_scores(row);
  }
  /// The prepared sites, which attention reads.
  detail::prepared_sites<T, std::remove_const_t<Encoding>> const& sites() const noexcept {
    return sites_;
  }

 private:
  detail::position_list queries() const noexcept { return detail::position_list(query_positions_); }
  detail::position_list keys() const noexcept { return detail::position_list(key_positions_); }

  token_positions query_positions_, key_positions_;
  bool keys_are_encoded_, queries_are_encoded_;
  detail::prepared_sites<T, std::remove_const_t<Encoding>> sites_;
};

namespace detail {

/// The positions of the step. Throws std::invalid_argument if the options have positions too, or if
/// queries or keys are in another state.
template <std::floating_point T, class Encoding>
attention_positions positions_of(prepared_encoding<T, Encoding> const& step,
                                 attention_options const& options, std::size_t queries,
                                 std::size_t keys, bool queries_are_encoded) {
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
  return {step.query_positions(), step.key_positions(), step.keys_are_encoded()};
}

}  // namespace detail
}}  // namespace posenc
