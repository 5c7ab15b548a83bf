// Distances as a model knows them, however far apart a query and a key are: ReRoPE, Leaky ReRoPE,
// Self-Extend.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace posenc::inline POSENC_TARGET {

/// Scores by two matrices: the near one of q and k rotated at their own positions, as ever, and a
/// far one of the same q and k rotated at far_query(t) and far_key(s). A score is taken from the
/// near one where t - s < window, from the far one elsewhere:
///
///     t - s                 0  1  2 .. w-1 |  w    w+1   w+2  ...    w: window
///     rerope(w)             0  1  2 .. w-1 |  w     w     w   ...    min(t - s, w)
///     leaky_rerope(w, k)    0  1  2 .. w-1 |  w   w+1/k w+2/k ...    w + (t - s - w) / k
///     self_extend(w, g)     0  1  2 .. w-1 |  integers               [t/g] - [s/g] + w - [w/g]
///
/// One matrix cannot have that, where each key has one position whatever the query (see remapped).
/// For causal attention: a key after its query is near.
///
///     auto const far = leaky_rerope(2048, 16);
///     rotate<halves>(q, q_near, rows);                                  k likewise
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

  std::int64_t window() const noexcept { return window_; }
  double far_query(std::int64_t position) const { return far_query_(position); }
  double far_key(std::int64_t position) const { return far_key_(position); }

  /// Precondition, not checked: the distance fits int64; as below.
  bool is_near(std::int64_t query, std::int64_t key) const noexcept {
    return query - key < window_;
  }

  /// The distance that a score is formed at.
  double distance(std::int64_t query, std::int64_t key) const {
    return is_near(query, key) ? static_cast<double>(query - key) : far_query(query) - far_key(key);
  }

  /// Rows for the far matrix. Errors and accuracy are those of cos_sin_rows, at the positions the
  /// maps give.
  template <std::floating_point Real = float>
  cos_sin_rows<Real> far_query_rows(frequencies const& f, positions_view positions) const {
    return rows<Real>(f, positions, far_query_);
  }
  template <std::floating_point Real = float>
  cos_sin_rows<Real> far_key_rows(frequencies const& f, positions_view positions) const {
    return rows<Real>(f, positions, far_key_);
  }

 private:
  template <class Real>
  static cos_sin_rows<Real> rows(frequencies const& f, positions_view positions,
                                 position_map const& map) {
    std::vector<double> mapped;
    mapped.reserve(positions.size());
    for (auto const p : positions) mapped.push_back(map(p));
    return cos_sin_rows<Real>(f, mapped);
  }

  std::int64_t window_;
  position_map far_query_, far_key_;
};

namespace detail {

/// floor(a / b), b positive.
constexpr std::int64_t floored_quotient(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace detail

/// Every distance from window on is window: min(t - s, w). [Su 2023, kexue.fm/archives/9708] Far
/// keys are at 0, so they are not rotated. Throws std::invalid_argument unless window is positive.
inline distance_remapping rerope(std::int64_t window) {
  detail::require(window > 0, "rerope: window must be positive, got ", window);
  return {window, [w = static_cast<double>(window)](std::int64_t) { return w; },
          [](std::int64_t) { return 0.0; }};
}

/// From window on, distances grow by 1 / k: w + (t - s - w) / k. [Su 2023] k = 1 is RoPE, k without
/// bounds ReRoPE. Throws std::invalid_argument unless window is positive and k finite and at
/// least 1.
inline distance_remapping leaky_rerope(std::int64_t window, double k) {
  detail::require(window > 0, "leaky_rerope: window must be positive, got ", window);
  detail::require(is_finite(k) && k >= 1, "leaky_rerope: k must be finite and at least 1, got ", k);
  auto const w = static_cast<double>(window);
  return {window,
          [k, start = w - w / k](std::int64_t t) { return start + static_cast<double>(t) / k; },
          [k](std::int64_t s) { return static_cast<double>(s) / k; }};
}

/// From window on, positions count in groups: floor(t / g) - floor(s / g) + w - floor(w / g). [Jin
/// 2024, 3.3] Distances stay below those of the training length L in a context of (L - w) g + w
/// tokens. g = 1 is RoPE. Throws std::invalid_argument unless window and group are positive.
inline distance_remapping self_extend(std::int64_t window, std::int64_t group) {
  detail::require(window > 0, "self_extend: window must be positive, got ", window);
  detail::require(group > 0, "self_extend: group must be positive, got ", group);
  return {
      window,
      [group, start = window - window / group](std::int64_t t) {
        return static_cast<double>(detail::floored_quotient(t, group) + start);
      },
      [group](std::int64_t s) { return static_cast<double>(detail::floored_quotient(s, group)); }};
}

}  // namespace posenc
