#include "posenc/rows/axis_positions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "non_numbers.hpp"
#include "rejects.hpp"

namespace {

using posenc::axis_positions;

TEST(axis_positions, are_those_given) {
  axis_positions const positions({{0, 1, -7}, {5, 5, std::numeric_limits<std::int64_t>::max()}});
  EXPECT_EQ(positions.axes(), 2u);
  EXPECT_EQ(positions.tokens(), 3u);
  EXPECT_TRUE(std::ranges::equal(positions.of(0), std::vector<std::int64_t>{0, 1, -7}));
  EXPECT_TRUE(std::ranges::equal(
      positions.of(1), std::vector<std::int64_t>{5, 5, std::numeric_limits<std::int64_t>::max()}));
}

TEST(axis_positions, may_be_fractional) {
  axis_positions<double> const positions({{0, 0.5}, {-1.25, 3}, {1, 2}});
  EXPECT_EQ(positions.axes(), 3u);
  EXPECT_TRUE(std::ranges::equal(positions.of(1), std::vector<double>{-1.25, 3}));
}

TEST(axis_positions, may_lie_in_one_array) {
  std::vector<std::int32_t> const ids{0, 1, -7, 5, 5, 9};
  axis_positions const positions(2, ids);
  static_assert(std::is_same_v<decltype(positions), axis_positions<std::int64_t> const>);
  EXPECT_EQ(positions.axes(), 2u);
  EXPECT_EQ(positions.tokens(), 3u);
  EXPECT_TRUE(std::ranges::equal(positions.of(0), std::vector<std::int64_t>{0, 1, -7}));
  EXPECT_TRUE(std::ranges::equal(positions.of(1), std::vector<std::int64_t>{5, 5, 9}));
  axis_positions const of_floats(1, std::vector<float>{0.5f, -2});
  static_assert(std::is_same_v<decltype(of_floats), axis_positions<double> const>);
  EXPECT_TRUE(std::ranges::equal(of_floats.of(0), std::vector<double>{0.5, -2}));
  axis_positions<> const of_no_token(2, std::vector<std::int32_t>());
  EXPECT_EQ(of_no_token.axes(), 2u);
  EXPECT_EQ(of_no_token.tokens(), 0u);
}

TEST(axis_positions, in_one_array_must_be_of_all_tokens_and_fit) {
  EXPECT_EQ(message_of([] {
              axis_positions(0, std::vector{1, 2});
            }),
            "posenc: axis_positions: there must be at least one axis, got none");
  EXPECT_EQ(message_of([] {
              axis_positions(3, std::vector{1, 2, 3, 4});
            }),
            "posenc: axis_positions: all of the 3 axes must have the same number of tokens, got 4 "
            "positions");
  EXPECT_EQ(
      message_of([] {
        axis_positions<>(2, std::vector{std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2},
                                        std::uint64_t{1} << 63});
      }),
      "posenc: axis_positions: a position must fit int64, got 9223372036854775808 at token 1");
  EXPECT_EQ(message_of([] {
              axis_positions(1, std::vector{1, not_a_number()});
            }),
            "posenc: axis_positions: a position must be finite and within [-2^63, 2^63), got NaN "
            "at token 1");
}

TEST(axis_positions, may_be_of_no_token) {
  axis_positions<> const positions({{}, {}});
  EXPECT_EQ(positions.axes(), 2u);
  EXPECT_EQ(positions.tokens(), 0u);
  EXPECT_TRUE(positions.of(1).empty());
}

TEST(axis_positions, must_be_of_all_tokens_on_some_axis) {
  EXPECT_EQ(message_of([] { axis_positions<>({}); }),
            "posenc: axis_positions: there must be at least one axis, got none");
  EXPECT_EQ(message_of([] {
              axis_positions<>({{1, 2}, {1, 2}, {1}});
            }),
            "posenc: axis_positions: all axes must have the same number of tokens, got 1 on axis 2 "
            "and 2 on axis 0");
}

TEST(axis_positions, must_be_positions) {
  EXPECT_EQ(message_of([] {
              axis_positions<double>({{1, 2}, {1, not_a_number()}});
            }),
            "posenc: axis_positions: a position must be finite and within [-2^63, 2^63), got NaN "
            "at token 1");
  EXPECT_EQ(message_of([] {
              axis_positions<double>({{0.5, 0}, {1, infinity()}});
            }),
            "posenc: axis_positions: a position must be finite and within [-2^63, 2^63), got "
            "infinity at token 1");
  EXPECT_EQ(
      message_of([] {
        axis_positions<std::uint64_t>({{1, std::uint64_t{1} << 63}, {0, 0}});
      }),
      "posenc: axis_positions: a position must fit int64, got 9223372036854775808 at token 1");
}

}  // namespace
