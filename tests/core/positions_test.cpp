#include "posenc/core/positions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "posenc/attention/mask.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/rows/pair_axes.hpp"
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

using namespace posenc;
using sizes = std::vector<std::size_t>;

sizes seen(list_view<std::size_t> list) { return {list.begin(), list.end()}; }

TEST(list_view, takes_what_a_span_takes_and_braces) {
  sizes const three{16, 24, 24};
  EXPECT_EQ(seen(three), three);
  EXPECT_EQ(seen(sizes{16, 24, 24}), three);
  EXPECT_EQ(seen(std::array<std::size_t, 3>{16, 24, 24}), three);
  std::size_t const in_c[] = {16, 24, 24};
  EXPECT_EQ(seen(in_c), three);
  EXPECT_EQ(seen(std::span(three)), three);
  EXPECT_EQ(seen(list_view<std::size_t>(three)), three);
  EXPECT_EQ(seen({16, 24, 24}), three);
  EXPECT_EQ(seen({16}), sizes{16});
  EXPECT_EQ(seen({}), sizes());
  static_assert(!std::is_convertible_v<std::vector<int>, list_view<std::size_t>>);
}

TEST(list_view, is_what_functions_of_lists_take) {
  sizes const sections{24, 20, 20}, lengths{3, 4}, others{5, 6};
  EXPECT_EQ(contiguous_axes({24, 20, 20}), contiguous_axes(sections));
  EXPECT_EQ(interleaved_axes({24, 20, 20}), interleaved_axes(sections));
  EXPECT_EQ(axial_axes({24, 20, 20}), axial_axes(sections));
  EXPECT_TRUE(
      std::ranges::equal(axial({24, 20}, 1e4).inv_freq(), axial(sizes{24, 20}, 1e4).inv_freq()));
  EXPECT_EQ(divided_by_factors(frequencies({1, 0.5}), {2, 4}).inv_freq()[1], 0.125);
  EXPECT_EQ(mask::packed({3, 4}), mask::packed(lengths));
  EXPECT_EQ(mask::packed({3, 4}, {5, 6}), mask::packed(lengths, others));
}

}  // namespace
