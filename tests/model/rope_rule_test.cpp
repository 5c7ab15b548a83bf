#include "posenc/model/detail/rope_rule.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "rejects.hpp"

namespace {
namespace of_rope_rule {

using posenc::detail::alternating_axes_of;
using posenc::detail::axes_of;
using posenc::detail::axis_sections;
using sizes = std::vector<std::size_t>;

TEST(axis_sections, are_whole_numbers_of_pairs) {
  EXPECT_EQ(axis_sections("f: key", {0, 24, 65'536}), (sizes{0, 24, 65'536}));
  EXPECT_EQ(message_of([] {
              axis_sections("f: key", {24, -1});
            }),
            "posenc: f: key must hold whole numbers of pairs, got -1");
  EXPECT_EQ(message_of([] { axis_sections("f: key", {0.5}); }),
            "posenc: f: key must hold whole numbers of pairs, got 0.5");
  EXPECT_EQ(message_of([] { axis_sections("f: key", {65'537}); }),
            "posenc: f: key must hold whole numbers of pairs, got 65537");
}

TEST(axis_sections, give_the_axis_of_each_pair) {
  EXPECT_EQ(axes_of("f: key", {1, 2, 2, 1}, 6, false), posenc::contiguous_axes(sizes{1, 2, 2, 1}));
  EXPECT_EQ(axes_of("f: key", {4, 2, 2}, 8, true), posenc::interleaved_axes(sizes{4, 2, 2}));
  EXPECT_EQ(message_of([] {
              axes_of("f: key", {4, 2}, 8, false);
            }),
            "posenc: f: key must sum to the 8 pairs of the rotary block, got 6");
  EXPECT_EQ(message_of([] {
              axes_of("f: key", {4, 2, 1, 1}, 8, true);
            }),
            "posenc: f: key must have 3 sections where axes interleave, got 4");
}

}  // namespace of_rope_rule
}  // namespace
