// How large a score a head needs to attend to one distance alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "posenc/analysis/key_for_distance.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// The pairs that rotate, the fastest first.
inline std::vector<std::size_t> fastest_pairs(frequencies const& f) {
  std::vector<std::size_t> pairs;
  for (std::size_t i = 0; i < f.pairs(); ++i)
    if (f.inv_freq()[i] > 0) pairs.push_back(i);
  std::ranges::stable_sort(pairs, std::greater(), [&](auto i) { return f.inv_freq()[i]; });
  return pairs;
}

}  // namespace detail

/// A head that has all of its norm in the m fastest pairs, the same in each.
struct budget_of_pairs {
  std::size_t pairs;            ///< m
  std::optional<double> score;  ///< at the distance, which gives it the weight; none if none does
  std::size_t runner_up;        ///< the distance whose score comes next
};

/// The score that a head needs to pick one distance, by the number of pairs that it uses.
struct positional_budget_result {
  std::vector<budget_of_pairs> by_pairs;  ///< of 1, 2, ... fastest pairs, as many as rotate
  std::size_t cheapest;                   ///< the number of pairs whose score is the smallest
  double score;                           ///< that score
};

/// The score a head needs at one distance so that softmax over distances 0 to length - 1 gives it
/// the weight: q = psi, k = R^distance psi, so that the score at s is
///
///     |psi|^2 / m  sum_{i < m} cos((s - distance) inv_freq_i)
///
/// [Barbero 2024, Theorem 5.3] has m = 1, but one frequency almost returns (near_recurrences): of 1
/// radian a token, a weight of 0.99 takes a score of 2.5e9 among 8192 tokens, and of base 1e4 and
/// head_dim 128 the 9 fastest pairs together take 26.5. Scores are as softmax sees them, scaled by
/// 1 / sqrt(head_dim). Relative error: 1e-9, of one pair that almost returns; else 1e-12. Time:
/// rotated pairs * length * 0.04 us. Throws std::invalid_argument unless length is at least 2,
/// distance below length, weight in (0, 1), a frequency above 0, and a score that gives the weight.
inline positional_budget_result positional_budget(frequencies const& f, std::size_t length,
                                                  double weight, std::size_t distance = 0) {
  detail::require(length >= 2, "positional_budget: length must be at least 2, got ", length);
  detail::require(distance < length, "positional_budget: distance must be below the length ",
                  length, ", got ", distance);
  detail::require_weight("positional_budget", weight);
  auto const fastest = detail::fastest_pairs(f);
  detail::require(!fastest.empty(), "positional_budget: a frequency must be above 0, got none");

  positional_budget_result result{{}, 0, 0};
  std::vector<double> behind(length), scores(length);
  for (auto const i : fastest) {
    auto const m = result.by_pairs.size() + 1;
    detail::fall_behind(behind, f, i, distance, 1);
    std::ranges::transform(behind, scores.begin(),
                           [&](double b) { return -b / static_cast<double>(m); });
    auto const runner_up = detail::least_behind(behind, distance);
    result.by_pairs.push_back({m, gain_for_weight(scores, distance, weight), runner_up});
    auto const& score = result.by_pairs.back().score;
    if (score && (result.cheapest == 0 || *score < result.score)) {
      result.cheapest = m;
      result.score = *score;
    }
  }
  detail::require(result.cheapest > 0, "positional_budget: some score must give the weight ",
                  weight, ", got frequencies that return to distance ", distance, " within ",
                  length, " tokens");
  return result;
}

/// A distance at which a pair is closer to where it started than at any distance before.
struct near_recurrence {
  std::size_t distance;  ///< in tokens
  double angle;          ///< to where it started, in radians, at least 0
};

/// The records of a pair's return at distances 1 to length - 1: denominators of best approximations
/// of inv_freq / 2 pi. For 1 radian per position: 1, 6, 19, 25, 44, 333, 710, 103993 ... Throws
/// std::invalid_argument unless inv_freq is in (0, 2^64].
inline std::vector<near_recurrence> near_recurrences(double inv_freq, std::size_t length) {
  detail::require(is_finite(inv_freq) && inv_freq > 0 && inv_freq <= 0x1p64,
                  "near_recurrences: inv_freq must be in (0, 2^64], got ", inv_freq);
  std::vector<near_recurrence> result;
  phase_step const step(inv_freq);
  auto closest = std::numeric_limits<phase>::max();
  for (std::size_t r = 1; r < length; ++r) {
    auto const angle = step.at(static_cast<std::int64_t>(r)), apart = std::min(angle, 0 - angle);
    if (apart >= closest) continue;
    closest = apart;
    result.push_back({r, static_cast<double>(apart) * 2 * std::numbers::pi * 0x1p-64});
  }
  return result;
}

/// The query and the key of every token of the head, before they rotate.
struct positional_head_vectors {
  std::vector<double> query;  ///< psi, [head_dim]
  std::vector<double> key;    ///< R^distance psi, [head_dim]
};

/// A head that attends to the key `distance` tokens back: 0 is the diagonal, 1 the previous token
/// [Barbero 2024, Theorem 5.3, which has one pair]. The m fastest pairs share its norm equally, so
/// that the score at distance s, as softmax sees it, is
///
///     score / m  sum_{i < m} cos((s - distance) inv_freq_i)
///
/// positional_budget says which m is the cheapest, and its score for a weight. With base 1e4, 128
/// dims and score 40, among 512 tokens, the previous token has at least 0.03 of the weight by one
/// pair, 0.9992 by nine and 0.62 by 64. If nothing encodes positions, equal tokens share weights,
/// whatever q and k [Proposition 5.2]. `score` is scaled by 1 / sqrt(head_dim); dims of other pairs
/// are 0. Relative error: 1e-15. Time: pairs * distance * 0.04 us. Throws std::invalid_argument
/// unless pairs is at least 1 and as many rotate, score is finite and positive, and the rotary
/// block lies within head_dim.
template <pair_layout Layout>
positional_head_vectors positional_head(frequencies const& f, std::size_t distance,
                                        std::size_t pairs, double score, std::size_t head_dim,
                                        rotary_block block = rotary_block::first()) {
  auto const fastest = detail::fastest_pairs(f);
  detail::require(pairs > 0 && pairs <= fastest.size(), "positional_head: pairs must be 1 to the ",
                  fastest.size(), " that rotate, got ", pairs);
  detail::require_positive("positional_head", "score", score);
  auto const first = block.first_dim(head_dim, f.rotary_dim());
  auto const energy = score * std::sqrt(static_cast<double>(head_dim)) / static_cast<double>(pairs);
  std::vector<double> psi(head_dim);
  for (std::size_t i = 0; i < pairs; ++i)
    psi[first + Layout::x_index(fastest[i], f.pairs())] = std::sqrt(energy) / f.attention_factor();
  auto key = key_for_distance<Layout>(psi, f, distance, distance + 2, block).key;
  return {std::move(psi), std::move(key)};
}

}}  // namespace posenc
