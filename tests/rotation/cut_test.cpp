#include "posenc/rotation/detail/cut.hpp"

#include <gtest/gtest.h>

#include <cstddef>

namespace {

using posenc::detail::is_one_column, posenc::detail::loop, posenc::detail::loop_for,
    posenc::detail::most_groups;

struct group_of_8 {
  static constexpr std::size_t pairs = 8, registers = 2;
};
constexpr auto widest = most_groups<group_of_8> * group_of_8::pairs, L1 = std::size_t{1} << 14,
               L2 = std::size_t{1} << 20;

TEST(loop_for, is_in_columns_unless_several_reach_beyond_a_cache) {
  static_assert(loop_for<group_of_8>(widest, 2, L2, 64 * L2) == loop::columns);
  static_assert(loop_for<group_of_8>(2 * widest, 2, L1 + 1, L2 - 1) == loop::columns);
  static_assert(loop_for<group_of_8>(2 * widest, 2, L1, 64 * L2) == loop::columns);
  static_assert(loop_for<group_of_8>(2 * widest, 2, L1 + 1, L2) == loop::in_order);
}

TEST(loop_for, is_in_order_of_one_head) {
  static_assert(loop_for<group_of_8>(8, 1, 64, 64) == loop::in_order);
}

TEST(is_one_column, of_groups_that_fit_into_registers) {
  for (std::size_t const count : {1u, 2u, 3u, 4u})
    EXPECT_EQ(is_one_column<group_of_8>(8 * count), count <= most_groups<group_of_8>) << count;
  EXPECT_FALSE(is_one_column<group_of_8>(5 * 8));
  EXPECT_FALSE(is_one_column<group_of_8>(2 * widest));
  EXPECT_FALSE(is_one_column<group_of_8>(7));
  EXPECT_TRUE(is_one_column<group_of_8>(9));
}

}  // namespace
