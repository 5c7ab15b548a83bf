// How sharp softmax can be among n keys.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "posenc/analysis/gain_for_weight.hpp"
#include "posenc/core/target.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Bounds of the weights of n keys whose scores, times beta, lie within `spread`.
struct weight_bounds {
  double most;             ///< 1 / (1 + (n - 1) e^-spread): of one key above all others
  double least;            ///< 1 / (1 + (n - 1) e^spread): of one key below all others
  double most_published;   ///< min(1, e^spread / n), above `most`
  double least_published;  ///< e^-spread / n, below `least`
};

namespace detail {

inline void require_row(char const* function, double spread, std::size_t keys) {
  require(is_finite(spread) && spread >= 0, function,
          ": spread must be finite and at least 0, got ", spread);
  require(keys > 0, function, ": there must be a key, got none");
}

}  // namespace detail

/// Softmax disperses: weights of scores within a spread fall as 1 / n. The published bounds are
/// of [Velickovic 2024, Lemma 2.1]; `most` and `least` are attained. Throws
/// std::invalid_argument unless spread is finite and at least 0 and there is a key.
inline weight_bounds dispersion(double spread, std::size_t keys) {
  detail::require_row("dispersion", spread, keys);
  if (keys == 1) return {1, 1, 1, std::exp(-spread)};
  auto const n = static_cast<double>(keys), down = std::exp(-spread);
  return {1 / (1 + (n - 1) * down), down / (down + (n - 1)),
          std::exp(std::min(spread - std::log(n), 0.0)), down / n};
}

/// The first number of keys among which no weight reaches `weight`, whatever the scores within the
/// spread: n - 1 > e^spread (1 - weight) / weight; and as published, n > e^spread / weight
/// [Velickovic 2024, Theorem 2.2]. Exact below 2^53, but for a rounding of e^spread.
struct dispersed_from {
  double keys,    ///< by the first formula
      published;  ///< by the second one
};
/// Throws std::invalid_argument unless weight is in (0, 1) and spread in [0, 700].
inline dispersed_from keys_below(double weight, double spread) {
  detail::require_weight("keys_below", weight);
  detail::require_within("keys_below", "spread", spread, 0, 700);
  return {std::floor(1 + std::exp(spread) * ((1 - weight) / weight)) + 1,
          std::floor(std::exp(spread) / weight) + 1};
}

/// The spread that gives one key of n this weight: ln((n - 1) weight / (1 - weight)). It grows like
/// ln n, and is negative if weight is below 1 / n. Throws std::invalid_argument unless weight is in
/// (0, 1) and there are at least 2 keys.
inline double spread_for(double weight, std::size_t keys) {
  detail::require_weight("spread_for", weight);
  detail::require(keys >= 2, "spread_for: there must be at least 2 keys, got ", keys);
  return std::log(static_cast<double>(keys - 1)) + std::log(weight / (1 - weight));
}

/// The inverse temperature at which attention among n tokens changes its phase, ln n / (1 - rho),
/// for queries and keys that are the same unit vectors, of inner product rho. [Chen 2025,
/// 2510.05554] A token's weight on itself is 1 / (1 + (n - 1) e^(-beta (1 - rho))): below,
/// attention collapses to the mean of all tokens, the weight falling as n^(c - 1) at c < 1 times
/// this beta; above, it returns each token, and 1 - weight falls as n^(1 - c); here the weight is
/// 1/2 and little more. Throws std::invalid_argument unless there is a key and similarity is in
/// [-1, 1).
inline double phase_boundary(std::size_t keys, double similarity) {
  detail::require(keys > 0, "phase_boundary: there must be a key, got none");
  detail::require(is_finite(similarity) && similarity >= -1 && similarity < 1,
                  "phase_boundary: similarity must be in [-1, 1), got ", similarity);
  return std::log(static_cast<double>(keys)) / (1 - similarity);
}

/// The statistics of the sharpest row of a spread: scores of 0 and one of `spread`, for the last
/// query of a causal sequence. Throws std::invalid_argument as dispersion does.
inline row_statistics sharpest_row(double spread, std::size_t keys) {
  detail::require_row("sharpest_row", spread, keys);
  auto const others = static_cast<double>(keys - 1) * std::exp(-spread);
  return {.keys = keys,
          .max = spread,
          .log_sum_exp = spread + std::log1p(others),
          .entropy = std::log1p(others) + spread * others / (1 + others),
          .query_position = static_cast<std::int64_t>(keys) - 1};
}

/// A row before and after a rule of temperature.
struct row_dispersion {
  std::size_t keys;            ///< that are not masked
  double spread;               ///< largest score - smallest
  double entropy;              ///< at temperature 1, in nats
  double inverse_temperature;  ///< beta, what the rule says
  double sharpened_entropy;    ///< at beta; e^this is the number of keys that are attended to
  double largest, smallest;    ///< weights at beta
  weight_bounds bounds;        ///< of them, at beta spread
};

/// The dispersion of a row of scores, in float or double, with -infinity for masked keys, under the
/// rules of softmax in an encoding. Such a rule may look at the head and at the query's position.
/// The weight of a sink is not counted. Throws std::invalid_argument unless a key is not masked and
/// all scores that are not masked are finite, and as the encoding does.
template <row_of_scores Row, class Encoding>
row_dispersion dispersion(Row const& scores, Encoding const& encoding, std::size_t head = 0,
                          std::int64_t query_position = 0) {
  std::span const given(scores);
  std::vector<double> row;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (is_masked(given[i])) continue;
    row.push_back(static_cast<double>(given[i]));
    detail::require(is_finite(row.back()), "dispersion: scores must be finite or masked, got ",
                    row.back(), " at key ", i);
  }
  detail::require(!row.empty(), "dispersion: a key must not be masked, got none of ", given.size());
  auto const [low, high] = std::ranges::minmax(row);
  auto const plain = statistics(row, head, query_position);
  auto const beta = detail::inverse_temperature_of(encoding, plain);
  softmax(row, plain, beta);
  double entropy = 0;
  for (auto const weight : row)
    if (weight > 0) entropy -= weight * std::log(weight);
  auto const [smallest, largest] = std::ranges::minmax(row);
  return {
      row.size(), high - low, plain.entropy, beta,
      entropy,    largest,    smallest,      dispersion(std::abs(beta) * (high - low), row.size())};
}

/// The dispersion of the sharpest row of a spread, the most that a rule can do. O(1). Throws as
/// above.
template <class Encoding>
row_dispersion dispersion(double spread, std::size_t keys, Encoding const& encoding) {
  auto const plain = sharpest_row(spread, keys);
  auto const beta = detail::inverse_temperature_of(encoding, plain);
  auto const sharpened = sharpest_row(beta * spread, keys);
  auto const largest = std::exp(sharpened.max - sharpened.log_sum_exp),
             smallest = keys == 1 ? 1 : std::exp(-sharpened.log_sum_exp);
  auto const bounds = dispersion(beta * spread, keys);
  return {keys, spread, plain.entropy, beta, sharpened.entropy, largest, smallest, bounds};
}

/// The first number of keys, up to 2^31, from which on a rule leaves the sharpest row of a spread
/// alone (beta is at most 1): 382 for adaptive_temperature and equal scores. None if it sharpens
/// the longest, or none. O(1). Throws std::invalid_argument unless spread is finite and at least 0.
template <class Encoding>
std::optional<std::size_t> switches_off(Encoding const& encoding, double spread) {
  auto const sharpens = [&](std::size_t keys) {
    return detail::inverse_temperature_of(encoding, sharpest_row(spread, keys)) > 1;
  };
  std::size_t on = std::size_t{1} << 31, off = on;
  while (on > 0 && !sharpens(on)) {
    off = on;
    on /= 2;
  }
  if (on == off || on == 0) return {};
  while (off - on > 1) {
    auto const middle = on + (off - on) / 2;
    (sharpens(middle) ? on : off) = middle;
  }
  return off;
}

/// The entropies between which adaptive temperature sharpens: as published 0.8486 and 5.9445; below
/// a row is sharp enough, above the fit has left its range. `above` is none if it never falls to 1.
struct sharpened_entropies {
  double below;                 ///< in nats
  std::optional<double> above;  ///< in nats
};
/// The polynomial must exceed 1 at adaptive_temperature::entropy_of_maximum, rise before it and not
/// rise after it, up to 64 nats. Throws std::invalid_argument unless it exceeds 1 there.
inline sharpened_entropies sharpens_between(adaptive_temperature const& rule = {}) {
  auto const middle = adaptive_temperature::entropy_of_maximum;
  detail::require(rule.polynomial(middle) > 1, "sharpens_between: the polynomial must exceed 1 at ",
                  middle, " nats, got ", rule.polynomial(middle));
  auto const border = [&](double inside, double outside) {
    for (int i = 0; i < 64; ++i) {
      auto const between = inside + (outside - inside) / 2;
      (rule.polynomial(between) > 1 ? inside : outside) = between;
    }
    return inside;
  };
  auto const gate = adaptive_temperature::entropy_gate;
  auto const below = rule.polynomial(gate) > 1 ? gate : border(middle, gate);
  if (rule.polynomial(64) > 1) return {below, {}};
  return {below, border(middle, 64)};
}

}}  // namespace posenc
