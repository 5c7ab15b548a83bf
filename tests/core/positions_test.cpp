#include "posenc/core/positions.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "rejects.hpp"

namespace {

using posenc::positions_view;
using posenc::token_positions;
using positions = std::vector<std::int64_t>;

void expect_same(token_positions const& actual, positions const& expected) {
  positions_view const view = actual;
  EXPECT_EQ(positions(view.begin(), view.end()), expected);
  EXPECT_EQ(actual.size(), expected.size());
  EXPECT_EQ(actual.empty(), expected.empty());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i], expected[i]);
}

TEST(token_positions, are_integers_of_any_type) {
  positions const given{0, 7, -3};
  expect_same(given, given);
  expect_same(positions_view(given).first(2), {0, 7});
  expect_same({0, 7, -3}, given);
  expect_same({}, {});
  expect_same(std::vector<std::int32_t>{0, 7, -3}, given);
  expect_same(std::vector<std::int16_t>{0, 7, -3}, given);
  expect_same(std::vector<std::uint32_t>{0, 4'000'000'000u}, {0, 4'000'000'000});
  expect_same(std::vector<std::size_t>{1, 2}, {1, 2});
  expect_same(std::array<std::int32_t, 2>{5, 6}, {5, 6});
  int const in_c[] = {8, 9};
  expect_same(in_c, {8, 9});
  expect_same(std::span(in_c).last(1), {9});
  expect_same(std::deque<std::int32_t>{3, 4, 5}, {3, 4, 5});
  static_assert(!std::is_convertible_v<std::vector<double>, token_positions>);
  static_assert(!std::is_convertible_v<std::vector<bool>, token_positions>);
}

TEST(token_positions, must_fit_int64) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  expect_same(std::vector<std::uint64_t>{1, static_cast<std::uint64_t>(largest)}, {1, largest});
  EXPECT_EQ(message_of([] {
              token_positions(std::vector<std::uint64_t>{1, std::uint64_t{1} << 63});
            }),
            "posenc: token_positions: a position must fit int64, got 9223372036854775808 at token "
            "1");
}

TEST(token_positions, own_their_numbers) {
  positions given{1, 2, 3};
  token_positions const kept = given;
  given[1] = 7;
  expect_same(kept, {1, 2, 3});
  auto const* const memory = given.data();
  token_positions const moved = std::move(given);
  EXPECT_EQ(moved.data(), memory);
  EXPECT_EQ(moved, (token_positions{1, 7, 3}));
  EXPECT_NE(moved, kept);
}

}  // namespace
