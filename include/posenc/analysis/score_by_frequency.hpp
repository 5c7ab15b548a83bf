// The share of each pair in the score of a query and a key.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "posenc/analysis/running_moments.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/phase.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// One query or key: a vector, an array, a span ... of head_dim storable numbers.
template <class V>
concept head_vector = storable<detail::span_value_t<V>>;

/// One pair of a query (x, y) and a key (u, v), at distance r and attention factor A.
struct pair_score {
  double inv_freq;    ///< in radians per position
  double score;       ///< A^2 ((xu + yv) cos(r inv_freq) + (xv - yu) sin(r inv_freq))
  double query_norm;  ///< |(x, y)|
  double key_norm;    ///< |(u, v)|
  double budget;      ///< A^2 |(x, y)| |(u, v)|: the largest |score| at any distance
};

/// The contribution of each pair to the score of one query and one key.
struct score_by_frequencies {
  double score;                   ///< <R_t q, R_s k>, t - s = distance: all pairs and `unpaired`
  double unpaired;                ///< the part of it from dims outside the rotary block
  double unpaired_budget;         ///< |q| |k| of these dims
  std::vector<pair_score> pairs;  ///< in the order of the frequencies
};

namespace detail {

/// Products of doubles of 53 bits or less, summed.
template <class Q, class K>
double dot_product(Q const& a, K const& b, std::size_t first, std::size_t last) {
  double sum = 0;
  for (auto i = first; i < last; ++i)
    sum += static_cast<double>(load(a[i])) * static_cast<double>(load(b[i]));
  return sum;
}

template <pair_layout Layout, class Block>
struct pair_of {
  double x, y;
  pair_of(Block const& block, std::size_t pair, std::size_t pairs)
      : x(static_cast<double>(load(block[Layout::x_index(pair, pairs)]))),
        y(static_cast<double>(load(block[Layout::y_index(pair, pairs)]))) {}
  double norm() const { return std::hypot(x, y); }
};

}  // namespace detail

/// The score of one query and one key as a sum over frequencies, without 1 / sqrt(head_dim); the
/// budgets are the Cauchy-Schwarz bounds of [Barbero 2024].
///
///     score_by_frequency<halves>(q, k, geometric(128, 1e4), 100)
///
/// distance: position of the query - position of the key. In double: the error of a pair's score is
/// at most 8 roundings of its budget. Throws std::invalid_argument unless q and k have as many
/// numbers, and the rotary block lies within them.
template <pair_layout Layout, head_vector Q, head_vector K>
score_by_frequencies score_by_frequency(Q const& query, K const& key, frequencies const& f,
                                        std::int64_t distance,
                                        rotary_block block = rotary_block::first()) {
  std::span const q(query);
  std::span const k(key);
  detail::require(q.size() == k.size(),
                  "score_by_frequency: q and k must have as many numbers, got ", q.size(), " and ",
                  k.size());
  auto const first = block.first_dim(q.size(), f.rotary_dim()), last = first + f.rotary_dim();
  auto const q_block = q.subspan(first, f.rotary_dim()), k_block = k.subspan(first, f.rotary_dim());
  auto const outside = [&](auto const& a, auto const& b) {
    return detail::dot_product(a, b, 0, first) + detail::dot_product(a, b, last, a.size());
  };
  score_by_frequencies result{
      0, outside(q, k), std::sqrt(outside(q, q)) * std::sqrt(outside(k, k)), {}};
  auto const gain = f.attention_factor() * f.attention_factor();
  result.score = result.unpaired;
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    detail::pair_of<Layout, decltype(q_block)> const a(q_block, i, f.pairs());
    detail::pair_of<Layout, decltype(k_block)> const b(k_block, i, f.pairs());
    auto const [cos, sin] = cos_sin(phase_step(f.inv_freq()[i], f.rest()[i]).at(distance));
    auto const score = gain * ((a.x * b.x + a.y * b.y) * cos + (a.x * b.y - a.y * b.x) * sin);
    result.pairs.push_back(
        {f.inv_freq()[i], score, a.norm(), b.norm(), gain * a.norm() * b.norm()});
    result.score += score;
  }
  return result;
}

/// Pairs with a similar number of turns within a context.
struct score_band {
  std::size_t pairs = 0;  ///< how many there are
  double score = 0;       ///< the sum of their scores
  double budget = 0;      ///< the largest |score| that pairs of these norms can have together
};

/// Fast pairs can tell neighbouring tokens apart; slow ones hardly rotate within the context, so
/// that they can carry meaning at any distance. [Barbero 2024, sections 5 and 6]
struct score_by_turns {
  score_band whole_turns;          ///< at least one turn within the context
  score_band part_of_a_turn;       ///< at least a quarter: the score may change its sign
  score_band less_than_a_quarter;  ///< of a turn
  score_band unrotated;            ///< frequency 0, and dims outside the rotary block (not counted)
};

/// Throws std::invalid_argument unless length is positive.
inline score_by_turns by_turns(score_by_frequencies const& score, std::size_t length) {
  detail::require(length > 0, "by_turns: length must be positive, got 0");
  score_by_turns result;
  result.unrotated = {0, score.unpaired, score.unpaired_budget};
  for (auto const& pair : score.pairs) {
    auto const turns = pair.inv_freq * static_cast<double>(length) / (2 * std::numbers::pi);
    auto& band = turns >= 1          ? result.whole_turns
                 : turns >= 0.25     ? result.part_of_a_turn
                 : pair.inv_freq > 0 ? result.less_than_a_quarter
                                     : result.unrotated;
    ++band.pairs;
    band.score += pair.score;
    band.budget += pair.budget;
  }
  return result;
}

/// |(x, y)| of each pair of queries or of keys, over tokens: [head][pair]. It shows how much a
/// model uses each frequency. [Barbero 2024, figures 3 and 4] Heads before or after their rotation:
/// it keeps norms, but for an attention factor. Throws std::invalid_argument unless the rotary
/// block lies within the heads.
template <pair_layout Layout, storable T>
std::vector<std::vector<running_moments>> norms_by_frequency(
    heads_view<T> const& heads, frequencies const& f, rotary_block block = rotary_block::first()) {
  auto const blocks = block.of(heads, f.rotary_dim());
  std::vector result(heads.heads(), std::vector<running_moments>(f.pairs()));
  for (std::size_t token = 0; token < heads.tokens(); ++token) {
    for (std::size_t head = 0; head < heads.heads(); ++head) {
      auto const numbers = blocks(token, head);
      for (std::size_t i = 0; i < f.pairs(); ++i) {
        result[head][i].add(
            detail::pair_of<Layout, decltype(numbers)>(numbers, i, f.pairs()).norm());
      }
    }
  }
  return result;
}

}}  // namespace posenc
