#pragma once

/// Site 3: the laws of every encoding that changes scores by the positions of query and key. The
/// test of an encoding says in one line which it obeys:
///
///     laws::obey("8 heads", alibi(8), 8, laws::distance_penalty);

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "numbers.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/softmax/softmax.hpp"
#include "tolerance.hpp"

namespace laws {

/// The head_dim of the queries of these rows.
inline constexpr std::size_t head_dim = 16;

/// An adjusted row of scores.
template <class T, posenc::acts_on_scores E>
std::vector<T> adjusted(E const& encoding, std::vector<T> scores, std::size_t head,
                        std::int64_t query_position,
                        std::vector<std::int64_t> const& key_positions) {
  static auto const query = numbers::random<T>(head_dim, 5);
  posenc::adjust_scores(encoding,
                        posenc::score_row<T>{scores, head, query_position, key_positions, query});
  return scores;
}

inline constexpr std::array<std::int64_t, 13> distances{0,      1,  2,  3,    7, 64, 1000,
                                                        65'535, -1, -2, -500, 4, 33};

/// Keys at the given distances behind the query.
inline std::vector<std::int64_t> keys_behind(std::int64_t query_position) {
  std::vector<std::int64_t> keys;
  for (auto const distance : distances) keys.push_back(query_position - distance);
  return keys;
}

/// Query positions: near, negative, and beyond a million.
template <posenc::acts_on_scores E>
void adjustment_depends_on_distance_alone(E const& encoding, std::size_t heads) {
  numbers::in_float_and_double([&]<class T>() {
    auto const scores = numbers::random<T>(distances.size());
    for (std::size_t head = 0; head < heads; ++head) {
      auto const at_zero = adjusted(encoding, scores, head, 0, keys_behind(0));
      for (std::int64_t const query_position : {1, 17, -5, 1'000'000, -1'000'000, 1'234'567})
        EXPECT_TRUE(numbers::same_bits(
            adjusted(encoding, scores, head, query_position, keys_behind(query_position)), at_zero))
            << "head " << head << " at " << query_position;
    }
  });
}

template <posenc::acts_on_scores E>
void a_query_meets_its_own_position_unchanged(E const& encoding, std::size_t heads) {
  numbers::in_float_and_double([&]<class T>() {
    auto const scores = numbers::random<T>(5);
    for (std::size_t head = 0; head < heads; ++head)
      for (std::int64_t const position : {0, -5, 1'000'003})
        EXPECT_TRUE(numbers::same_bits(
            adjusted(encoding, scores, head, position, std::vector(5, position)), scores));
  });
}

/// Keys on either side of the query.
template <posenc::acts_on_scores E>
void a_penalty_never_falls_with_distance(E const& encoding, std::size_t heads) {
  numbers::in_float_and_double([&]<class T>() {
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::int64_t const side : {1, -1}) {
        T last = 0;
        for (std::int64_t distance = 0; distance < 1000; ++distance) {
          auto const score =
              adjusted(encoding, std::vector<T>{0}, head, 1000, {1000 - side * distance})[0];
          EXPECT_TRUE(score <= last && posenc::is_finite(static_cast<double>(score)))
              << "head " << head << ", distance " << distance;
          last = score;
        }
      }
    }
  });
}

/// The same number is added to every score, up to rounding.
template <posenc::acts_on_scores E>
void adjustment_is_added(E const& encoding, std::size_t heads) {
  numbers::in_float_and_double([&]<class T>() {
    auto const scores = numbers::random<T>(distances.size(), 3);
    for (std::size_t head = 0; head < heads; ++head) {
      auto const bias =
          adjusted(encoding, std::vector<double>(scores.size()), head, 9, keys_behind(9));
      auto const sum = adjusted(encoding, scores, head, 9, keys_behind(9));
      for (std::size_t s = 0; s < scores.size(); ++s) {
        auto const score = static_cast<double>(scores[s]), expected = score + bias[s];
        auto const arithmetic =
            2 * (std::abs(score) + std::abs(bias[s])) * tolerance::unit_roundoff<double>();
        EXPECT_NEAR(static_cast<double>(sum[s]), expected,
                    arithmetic + tolerance::of_storing<T>(std::abs(expected) + arithmetic));
      }
    }
  });
}

template <posenc::acts_on_scores E>
void the_order_of_keys_does_not_matter(E const& encoding, std::size_t heads) {
  numbers::in_float_and_double([&]<class T>() {
    auto keys = keys_behind(40);
    auto scores = numbers::random<T>(keys.size());
    auto there = adjusted(encoding, scores, heads - 1, 40, keys);
    std::ranges::reverse(keys);
    std::ranges::reverse(scores);
    std::ranges::reverse(there);
    EXPECT_TRUE(numbers::same_bits(adjusted(encoding, scores, heads - 1, 40, keys), there));
  });
}

template <posenc::acts_on_scores E>
void a_masked_score_stays_masked(E const& encoding, std::size_t heads) {
  numbers::in_float_and_double([&]<class T>() {
    std::vector<T> const scores(distances.size(), posenc::masked_score<T>);
    for (std::size_t head = 0; head < heads; ++head)
      EXPECT_TRUE(numbers::same_bits(adjusted(encoding, scores, head, 9, keys_behind(9)), scores))
          << "head " << head;
  });
}

template <posenc::acts_on_scores E>
void a_row_without_keys_stays_empty(E const& encoding, std::size_t) {
  EXPECT_TRUE(adjusted(encoding, std::vector<float>(), 0, 3, {}).empty());
}

/// What an encoding promises beyond the laws of all.
enum promise : unsigned {
  of_distance = 1,   ///< depends on query - key, not on the positions themselves
  none_at_zero = 2,  ///< leaves a query's own position alone
  penalty = 4,       ///< never raises a score, and lowers it no less the farther the key
  added = 8,         ///< adds the same whatever the score
};
inline constexpr unsigned distance_penalty = of_distance | none_at_zero | penalty | added;

/// An encoding, by its name in a configuration, keeps what it promises, and what all encodings
/// promise.
template <posenc::acts_on_scores E>
void obey(char const* name, E const& encoding, std::size_t heads, unsigned promises) {
  SCOPED_TRACE(name);
  if ((promises & of_distance) != 0) adjustment_depends_on_distance_alone(encoding, heads);
  if ((promises & none_at_zero) != 0) a_query_meets_its_own_position_unchanged(encoding, heads);
  if ((promises & penalty) != 0) a_penalty_never_falls_with_distance(encoding, heads);
  if ((promises & added) != 0) adjustment_is_added(encoding, heads);
  the_order_of_keys_does_not_matter(encoding, heads);
  a_masked_score_stays_masked(encoding, heads);
  a_row_without_keys_stays_empty(encoding, heads);
}

}  // namespace laws
