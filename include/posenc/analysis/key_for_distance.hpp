// The key that a query attends to most at a distance of one's choice.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "posenc/analysis/gain_for_weight.hpp"
#include "posenc/analysis/score_by_frequency.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The key R^r q, which scores highest at distance r, and its scores at all other distances. Scores
/// are <R_t q, R_s k>, without 1 / sqrt(head_dim).
struct key_at_distance {
  std::size_t distance;     ///< in tokens: query position - key position
  std::vector<double> key;  ///< [head_dim], before its own rotation, as long as q
  double peak;              ///< the score at the distance: no key of these norms has a higher one
  std::size_t runner_up;    ///< the distance whose score comes next
  double margin;            ///< peak - score of the runner-up
  std::vector<double> behind;  ///< [distance]: peak - score, as gain_for_weight takes it negated
};

namespace detail {

/// Adds energy (1 - cos((s - distance) inv_freq)) of a pair at each distance s: what its score
/// lacks there. 1 - cos a = 2 sin^2(a / 2) loses no digits where a is small.
inline void fall_behind(std::span<double> behind, frequencies const& f, std::size_t pair,
                        std::size_t distance, double energy) {
  phase_step const half(f.inv_freq()[pair] / 2, f.rest()[pair] / 2);
  for (std::size_t s = 0; s < behind.size(); ++s) {
    auto const apart = static_cast<std::int64_t>(s) - static_cast<std::int64_t>(distance);
    auto const chord = cos_sin(half.at(apart)).sin;
    behind[s] += 2 * energy * chord * chord;
  }
}

/// The distance that lacks least, but for the one that was chosen; of two or more.
inline std::size_t least_behind(std::span<double const> behind, std::size_t distance) {
  auto result = std::size_t{distance == 0};
  for (std::size_t s = 0; s < behind.size(); ++s)
    if (s != distance && behind[s] < behind[result]) result = s;
  return result;
}

}  // namespace detail

/// Any query can attend most to any distance r: k = R^r q has, at distance s,
///
///     <q, R^(r - s) q> = sum_i |q_i|^2 cos((r - s) inv_freq_i)
///
/// which is largest at s = r [Barbero 2024, Proposition 3.1]: RoPE does not make attention fall
/// with distance, but to be sharp there costs `margin`. Distances are 0 to length - 1. `behind` is
/// as exact as angles are, within 4e-19 radians (rows/phase.hpp). Dims outside the rotary block are
/// the query's. Throws std::invalid_argument unless distance < length, length is at least 2, q is
/// finite and has a pair of a frequency above 0 that is not zero itself, and the rotary block lies
/// within q.
template <pair_layout Layout, head_vector Q>
key_at_distance key_for_distance(Q const& query, frequencies const& f, std::size_t distance,
                                 std::size_t length, rotary_block block = rotary_block::first()) {
  std::span const q(query);
  detail::require(length >= 2, "key_for_distance: length must be at least 2, got ", length);
  detail::require(distance < length, "key_for_distance: distance must be below the length ", length,
                  ", got ", distance);
  for (std::size_t i = 0; i < q.size(); ++i) {
    detail::require(is_finite(static_cast<double>(load(q[i]))),
                    "key_for_distance: q must be finite, got ", static_cast<double>(load(q[i])),
                    " at dim ", i);
  }
  auto const first = block.first_dim(q.size(), f.rotary_dim()), n = f.pairs();
  auto const q_block = q.subspan(first, f.rotary_dim());

  key_at_distance result{distance, {}, 0, 0, 0, {}};
  for (auto const& x : q) result.key.push_back(static_cast<double>(load(x)));
  result.behind.assign(length, 0.0);
  auto const gain = f.attention_factor() * f.attention_factor();
  result.peak = detail::dot_product(q, q, 0, first) +
                detail::dot_product(q, q, first + f.rotary_dim(), q.size());
  bool rotates = false;
  for (std::size_t i = 0; i < n; ++i) {
    detail::pair_of<Layout, decltype(q_block)> const pair(q_block, i, n);
    auto const energy = gain * (pair.x * pair.x + pair.y * pair.y);
    result.peak += energy;
    if (energy == 0 || f.inv_freq()[i] == 0) continue;
    rotates = true;
    auto const [cos, sin] =
        cos_sin(phase_step(f.inv_freq()[i], f.rest()[i]).at(static_cast<std::int64_t>(distance)));
    result.key[first + Layout::x_index(i, n)] = pair.x * cos - pair.y * sin;
    result.key[first + Layout::y_index(i, n)] = pair.x * sin + pair.y * cos;
    detail::fall_behind(result.behind, f, i, distance, energy);
  }
  detail::require(
      rotates,
      "key_for_distance: q must have a pair that rotates and is not 0, or all distances "
      "score the same");
  result.runner_up = detail::least_behind(result.behind, distance);
  result.margin = result.behind[result.runner_up];
  return result;
}

}}  // namespace posenc
