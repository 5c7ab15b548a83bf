#include "posenc/frequency/pair_range.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

using posenc::pair_range;

std::vector<pair_range> ranges_of(std::string const& chosen) {
  return posenc::detail::ranges_of(chosen.size(), [&](std::size_t i) { return chosen[i] == 'x'; });
}

TEST(ranges_of, are_the_longest_runs_of_what_is_chosen) {
  using ranges = std::vector<pair_range>;
  EXPECT_EQ(ranges_of(""), ranges());
  EXPECT_EQ(ranges_of("..."), ranges());
  EXPECT_EQ(ranges_of("xxx"), (ranges{{0, 3}}));
  EXPECT_EQ(ranges_of("x..xx.x"), (ranges{{0, 1}, {3, 5}, {6, 7}}));
  EXPECT_EQ(ranges_of(".xx."), (ranges{{1, 3}}));
}

}  // namespace
