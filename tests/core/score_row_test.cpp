#include "posenc/core/score_row.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using namespace posenc;

TEST(score_row, with_other_scores_keeps_all_else) {
  std::array<double, 2> scores{1, 2};
  std::array<double, 3> const query{5, 6, 7};
  std::vector<std::int64_t> const positions{8, 9};
  std::array<float, 1> const query_side{10};
  std::array<float, 2> const key_side{11, 12};
  score_row<double> const row{
      scores,    13,         14,
      positions, query,      15,
      16,        query_side, heads_view<float const>(key_side.data(), {2, 1, 1})};
  auto const same = row.with_scores(std::span<double>(scores));
  EXPECT_EQ(same.query.data(), query.data());
  EXPECT_EQ(same.query.size(), 3u);

  std::array<double, 2> more{17, 18};
  auto const other = row.with_scores(std::span<double>(more));
  EXPECT_EQ(other.scores.data(), more.data());
  EXPECT_EQ(other.head, 13u);
  EXPECT_EQ(other.query_position, 14);
  EXPECT_EQ(other.key_positions[1], 9);
  EXPECT_EQ(other.query_index, 15u);
  EXPECT_EQ(other.first_key_index, 16u);
  EXPECT_EQ(other.query_side[0], 10);
  EXPECT_EQ(other.key_side(1, 0)[0], 12);
}

TEST(score_row, has_no_side_values_unless_given) {
  score_row<float> const row{};
  EXPECT_TRUE(row.query_side.empty());
  EXPECT_EQ(row.key_side.tokens(), 0u);
  EXPECT_EQ(row.head, 0u);
  EXPECT_EQ(row.query_position, 0);
}

}  // namespace
