#include "posenc/core/scalar_bits.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using namespace posenc::detail;

TEST(scalar_bits, are_those_of_a_float) {
  EXPECT_EQ(scalar_bits::as_bits(-1.5f), 0xbfc00000u);
  EXPECT_EQ(scalar_bits::as_number(0xbfc00000u), -1.5f);
}

TEST(scalar_bits, below_is_all_ones_or_none_up_to_the_largest_numbers) {
  constexpr std::uint32_t largest = 0x7fffffff;
  EXPECT_EQ(below(0u, 1u), 0xffffffffu);
  EXPECT_EQ(below(1u, 1u), 0u);
  EXPECT_EQ(below(2u, 1u), 0u);
  EXPECT_EQ(below(0u, largest), 0xffffffffu);
  EXPECT_EQ(below(largest, 0u), 0u);
  EXPECT_EQ(below(largest, largest), 0u);
}

TEST(scalar_bits, choose_takes_one_of_two) {
  EXPECT_EQ(choose(0xffffffffu, 0x12345678u, 0x9abcdef0u), 0x12345678u);
  EXPECT_EQ(choose(0u, 0x12345678u, 0x9abcdef0u), 0x9abcdef0u);
}

}  // namespace
