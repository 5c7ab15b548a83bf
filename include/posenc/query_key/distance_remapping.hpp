// Distances as a model knows them, however far a key is: ReRoPE, Leaky ReRoPE, Self-Extend.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/encoding/detail/prepared_apart.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/query_key/remapped.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Scores of two kinds: near ones, t - s < window, of q and k rotated at their own positions; and
/// far ones, of q and k rotated at far_query(t) and far_key(s):
///
///     t - s                 0  1  2 .. w-1 |  w    w+1   w+2  ...    w: window
///     rerope(w)             0  1  2 .. w-1 |  w     w     w   ...    min(t - s, w)
///     leaky_rerope(w, k)    0  1  2 .. w-1 |  w   w+1/k w+2/k ...    w + (t - s - w) / k
///     self_extend(w, g)     0  1  2 .. w-1 |  integers               [t/g] - [s/g] + w - [w/g]
///
/// For causal attention: a key after its query is near.
///
///     attention_near_and_far(q, k, v, self_extend(rope<halves>(f), 1024, 8));     in two calls
///
///     auto const far = leaky_rerope(2048, 16);                          in a loop of your own
///     rotate<halves>(q, q_near, rows);                                  k too
///     rotate<halves>(q, q_far, far.far_query_rows(f, positions));
///     score = far.is_near(t, s) ? <q_near_t, k_near_s> : <q_far_t, k_far_s>
class distance_remapping {
 public:
  using position_map = std::function<double(std::int64_t)>;  ///< fractional positions are welcome

  /// Throws std::invalid_argument unless window is positive and both maps are given.
  distance_remapping(std::int64_t window, position_map far_query, position_map far_key)
      : window_(window), far_query_(std::move(far_query)), far_key_(std::move(far_key)) {
    detail::require(window > 0, "distance_remapping: window must be positive, got ", window);
    detail::require(far_query_ && far_key_, "distance_remapping: both maps must be given");
  }

  std::int64_t window() const noexcept { return window_; }  ///< the first far distance, in tokens
  /// The position of a query in far scores.
  double far_query(std::int64_t position) const { return far_query_(position); }
  /// The position of a key in far scores.
  double far_key(std::int64_t position) const { return far_key_(position); }

  /// Whether query - key is below window().
  bool is_near(std::int64_t query, std::int64_t key) const noexcept {
    return distance_between(query, key) < window_;
  }

  /// The distance that a score is formed at. Precondition, not checked: t - s fits int64.
  double distance(std::int64_t query, std::int64_t key) const {
    return is_near(query, key) ? static_cast<double>(query - key) : far_query(query) - far_key(key);
  }

  /// Rows of queries for far scores: cos_sin_rows at the mapped positions.
  template <std::floating_point Real = float>
  cos_sin_rows<Real> far_query_rows(frequencies const& f, positions_view positions) const {
    return cos_sin_rows<Real>(f, detail::mapped<double>(positions, far_query_));
  }
  /// Rows of keys for far scores.
  template <std::floating_point Real = float>
  cos_sin_rows<Real> far_key_rows(frequencies const& f, positions_view positions) const {
    return cos_sin_rows<Real>(f, detail::mapped<double>(positions, far_key_));
  }

 private:
  std::int64_t window_;
  position_map far_query_, far_key_;
};

namespace detail {

/// Prepares at fractional positions too, as rope does.
template <class E>
concept prepares_fractions = acts_on_queries_and_keys<E> &&
    requires(E const& e, std::vector<double> const& positions) {
  { e.template prepare<float>(positions) } -> std::same_as<prepared_t<E, float>>;
  { e.template prepare<double>(positions) } -> std::same_as<prepared_t<E, double>>;
};

/// Encodes queries and keys where maps put them.
template <class Inner>
struct at_far_positions {
  Inner const& inner;
  distance_remapping const& distances;

  template <class T = float>
  prepared_apart<prepared_t<Inner, T>> prepare(positions_view positions) const {
    auto const at = [&](auto const& map) {
      return inner.template prepare<T>(mapped<double>(positions, map));
    };
    return {at([this](auto t) { return distances.far_query(t); }),
            at([this](auto s) { return distances.far_key(s); })};
  }
};

}  // namespace detail

/// An encoding of site 2, rope for one, at remapped distances: inner() encodes queries and keys of
/// near scores, and far() those of far ones. attention_near_and_far attends with both.
template <class Inner>
class distance_remapped {
  static_assert(detail::prepares_fractions<Inner>,
                "posenc: distances can be remapped of an encoding that prepares fractional "
                "positions, as rope does");

 public:
  /// Keeps copies of both.
  distance_remapped(Inner inner, distance_remapping distances)
      : inner_(std::move(inner)), distances_(std::move(distances)) {}

  Inner const& inner() const noexcept { return inner_; }  ///< of near scores
  /// The encoding of far scores, at site 2, which throws as inner does; or a map. Views this.
  detail::at_far_positions<Inner> far() const noexcept { return {inner_, distances_}; }
  /// Which scores are far, and where they stand.
  distance_remapping const& distances() const noexcept { return distances_; }

 private:
  Inner inner_;
  distance_remapping distances_;
};

static_assert(
    pulls_back_queries_and_keys<decltype(std::declval<distance_remapped<rope<halves>>>().far())>);

/// Every distance from window on is window: min(t - s, w). [Su 2023, kexue.fm/archives/9708] Far
/// keys are at 0, so they are not rotated. Throws unless window is positive.
inline distance_remapping rerope(std::int64_t window) {
  detail::require(window > 0, "rerope: window must be positive, got ", window);
  return {window, [=](std::int64_t) { return static_cast<double>(window); },
          [](std::int64_t) { return 0.0; }};
}

/// From window on, distances grow by 1 / k: w + (t - s - w) / k. [Su 2023] k = 1 is RoPE, k without
/// bounds ReRoPE. Throws unless window is positive and k finite and at least 1.
inline distance_remapping leaky_rerope(std::int64_t window, double k) {
  detail::require(window > 0, "leaky_rerope: window must be positive, got ", window);
  detail::require(is_finite(k) && k >= 1, "leaky_rerope: k must be finite and at least 1, got ", k);
  auto const w = static_cast<double>(window), start = w - w / k;
  return {window, [=](std::int64_t t) { return start + static_cast<double>(t) / k; },
          [=](std::int64_t s) { return static_cast<double>(s) / k; }};
}

/// From window on, positions count in groups: floor(t / g) - floor(s / g) + w - floor(w / g). [Jin
/// 2024, 3.3] Distances stay below those of the training length L in a context of (L - w) g + w
/// tokens. g = 1 is RoPE. Throws unless window and group are positive.
inline distance_remapping self_extend(std::int64_t window, std::int64_t group) {
  detail::require(window > 0, "self_extend: window must be positive, got ", window);
  detail::require(group > 0, "self_extend: group must be positive, got ", group);
  auto const in_groups = [group](std::int64_t first) {
    return [=](std::int64_t t) {
      auto const number = t / group - (t % group < 0 ? 1 : 0) + first;
      return static_cast<double>(number);
    };
  };
  return {window, in_groups(window - window / group), in_groups(0)};
}

/// Around rope or another encoding that prepares fractional positions.
template <class Inner>
distance_remapped<Inner> rerope(Inner inner, std::int64_t window) {
  return {std::move(inner), rerope(window)};
}
/// Throws as leaky_rerope(window, k).
template <class Inner>
distance_remapped<Inner> leaky_rerope(Inner inner, std::int64_t window, double k) {
  return {std::move(inner), leaky_rerope(window, k)};
}
/// Throws as self_extend(window, group).
template <class Inner>
distance_remapped<Inner> self_extend(Inner inner, std::int64_t window, std::int64_t group) {
  return {std::move(inner), self_extend(window, group)};
}

}}  // namespace posenc
