#include "posenc/score/learned_relative.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "score/rows.hpp"

namespace {

using namespace posenc;

/// weights[r][h] = 100 r + h.
std::vector<float> numbered(std::size_t max_distance, std::size_t heads) {
  std::vector<float> weights;
  for (std::size_t r = 0; r <= 2 * max_distance; ++r)
    for (std::size_t h = 0; h < heads; ++h) weights.push_back(static_cast<float>(100 * r + h));
  return weights;
}

TEST(learned_relative, adds_the_weight_of_the_clipped_distance_and_head) {
  numbers::in_float_and_double([]<class T>() {
    for (std::size_t const k : {0u, 1u, 4u}) {
      learned_relative const encoding(numbered(k, 3), 3, k);
      EXPECT_EQ(encoding.heads(), 3u);
      EXPECT_EQ(encoding.max_distance(), k);
      auto const most = static_cast<std::int64_t>(k);
      for (std::int64_t const query : {0, 40, -1'000'000}) {
        for (std::int64_t difference = -9; difference <= 9; ++difference) {  // query - key
          auto const clipped = difference < -most ? -most : difference > most ? most : difference;
          for (std::size_t head = 0; head < 3; ++head) {
            auto const actual = rows::adjusted(encoding, std::vector<T>{T(0.5)}, head, query,
                                               {query - difference})[0];
            EXPECT_EQ(actual,
                      static_cast<T>(100 * (clipped + most)) + static_cast<T>(head) + T(0.5))
                << difference << " of " << k;
          }
        }
      }
    }
  });
}

TEST(learned_relative, the_farthest_keys_take_the_last_rows) {
  learned_relative const encoding(numbered(2, 1), 1, 2);
  EXPECT_EQ(rows::bias(encoding, 0, rows::last, rows::first), 400);
  EXPECT_EQ(rows::bias(encoding, 0, rows::first, rows::last), 0);
}

TEST(learned_relative, other_numbers_of_weights_are_refused) {
  EXPECT_EQ(message_of([] { learned_relative(numbered(2, 3), 2, 2); }),
            "posenc: learned_relative: there must be one weight for each of 5 distances and 2 "
            "heads, got 15");
  EXPECT_EQ(message_of([] { learned_relative(numbered(2, 3), 3, 3); }),
            "posenc: learned_relative: there must be one weight for each of 7 distances and 3 "
            "heads, got 15");
  EXPECT_EQ(message_of([] { learned_relative(std::vector<float>(16), 3, 2); }),
            "posenc: learned_relative: there must be one weight for each of 5 distances and 3 "
            "heads, got 16");
  EXPECT_EQ(message_of([] { learned_relative({}, 0, 0); }),
            "posenc: learned_relative: there must be one weight for each of 1 distances and 0 "
            "heads, got 0");
  EXPECT_EQ(message_of([] { learned_relative({}, 1, 16'777'217); }),
            "posenc: learned_relative: max_distance must be at most 2^24, got 16777217");
  auto weights = numbered(2, 3);
  weights[7] = static_cast<float>(infinity());
  EXPECT_EQ(message_of([&] { learned_relative(weights, 3, 2); }),
            "posenc: learned_relative: weights must be finite, got infinity in row 2");
}

TEST(learned_relative, rows_of_other_heads_or_keys_are_refused) {
  rows::of_other_heads_or_keys_are_refused("adjust_scores", learned_relative(numbered(2, 3), 3, 2),
                                           3);
}

TEST(learned_relative, obeys_the_laws_of_its_site) {
  laws::obey("3 heads", learned_relative(numbers::random<float>(39, 8), 3, 6), 3,
             laws::of_distance | laws::added);
}

}  // namespace
