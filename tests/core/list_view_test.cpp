#include "posenc/core/list_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/attention/mask.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/rows/pair_axes.hpp"

namespace {

using namespace posenc;
using numbers = std::vector<std::size_t>;

numbers seen(list_view<std::size_t> list) { return {list.begin(), list.end()}; }

TEST(list_view, takes_what_a_span_takes_and_braces) {
  numbers const three{16, 24, 24};
  EXPECT_EQ(seen(three), three);
  EXPECT_EQ(seen(numbers{16, 24, 24}), three);
  EXPECT_EQ(seen(std::array<std::size_t, 3>{16, 24, 24}), three);
  std::size_t const in_c[] = {16, 24, 24};
  EXPECT_EQ(seen(in_c), three);
  EXPECT_EQ(seen(std::span(three)), three);
  EXPECT_EQ(seen(list_view<std::size_t>(three)), three);
  EXPECT_EQ(seen({16, 24, 24}), three);
  EXPECT_EQ(seen({16}), numbers{16});
  EXPECT_EQ(seen({}), numbers());
  static_assert(!std::is_convertible_v<std::vector<int>, list_view<std::size_t>>);
}

TEST(list_view, is_what_functions_of_lists_take) {
  numbers const sections{24, 20, 20}, lengths{3, 4}, others{5, 6};
  EXPECT_EQ(contiguous_axes({24, 20, 20}), contiguous_axes(sections));
  EXPECT_EQ(interleaved_axes({24, 20, 20}), interleaved_axes(sections));
  EXPECT_EQ(axial_axes({24, 20, 20}), axial_axes(sections));
  EXPECT_TRUE(
      std::ranges::equal(axial({24, 20}, 1e4).inv_freq(), axial(numbers{24, 20}, 1e4).inv_freq()));
  EXPECT_EQ(divided_by_factors(frequencies({1, 0.5}), {2, 4}).inv_freq()[1], 0.125);
  EXPECT_EQ(mask::packed({3, 4}), mask::packed(lengths));
  EXPECT_EQ(mask::packed({3, 4}, {5, 6}), mask::packed(lengths, others));
}

}  // namespace
