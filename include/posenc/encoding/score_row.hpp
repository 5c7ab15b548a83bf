// Rows of scores, which site 3 changes, and their statistics, which site 4 looks at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// query_position - key_position; -(2^63 - 1) or 2^63 - 1 where that is beyond.
constexpr std::int64_t distance_between(std::int64_t query_position,
                                        std::int64_t key_position) noexcept {
  if (query_position < key_position) return -distance_between(key_position, query_position);
  constexpr std::uint64_t farthest = std::numeric_limits<std::int64_t>::max();
  auto const distance =
      static_cast<std::uint64_t>(query_position) - static_cast<std::uint64_t>(key_position);
  return static_cast<std::int64_t>(distance < farthest ? distance : farthest);
}

/// The scores of one query of one head against its keys, with all that a rule may depend on.
template <class T>
struct score_row {
  std::span<T> scores;   ///< [keys], scale * <q, k>; changed in place; the mask comes afterwards
  std::size_t head = 0;  ///< index of the query head
  std::int64_t query_position = 0;  ///< as the caller counts
  positions_view key_positions;     ///< [keys]
  std::span<T const> query;         ///< [head_dim], after site 2, before scaling
  std::size_t query_index = 0;      ///< among the queries of the call
  std::size_t first_key_index = 0;  ///< of scores[0], among the keys of the call; the next follow
  std::span<float const> query_side = {};  ///< what the call gave beside the query, if anything
  heads_view<float const> key_side = {nullptr, {0, 1, 1}};  ///< beside these keys, [keys][1][any]
  double scale = 1;                                         ///< that <q, k> has been multiplied by

  /// The same row with other scores.
  template <class U>
  score_row<U> with_scores(std::span<U> others) const {
    return {others,          head,       query_position, key_positions, query, query_index,
            first_key_index, query_side, key_side,       scale};
  }
};

/// The masked scores of a row, [keys], for rules of site 4 that look at all of them: a view, valid
/// until they change. One of the two is empty, by the type of the scores; both are empty where a
/// caller has statistics alone.
struct row_scores {
  std::span<float const> floats = {};    ///< [keys], or empty
  std::span<double const> doubles = {};  ///< [keys], or empty
};

/// The statistics of one row of masked scores x at temperature 1, with p = softmax(x).
struct row_statistics {
  std::size_t keys = 0;    ///< keys that are not masked; if 0, so is all else
  double max = 0;          ///< largest score
  double log_sum_exp = 0;  ///< ln sum_s exp(x_s)
  /// H = -sum_s p_s ln p_s, in nats: 0 (one-hot) to ln(keys) (uniform). [Velickovic 2024] has
  /// ln(p_s + 1e-9), up to 1e-9 per key less: adaptive_temperature subtracts that itself.
  double entropy = 0;
  std::size_t head = 0;             ///< index of the query head
  std::int64_t query_position = 0;  ///< as the caller counts
  row_scores scores = {};           ///< x itself
};

}}  // namespace posenc
