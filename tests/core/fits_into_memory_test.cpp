#include "posenc/core/detail/fits_into_memory.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <vector>

namespace {

using posenc::detail::fits_into_memory;
using posenc::detail::repeated;
using posenc::detail::room_of_memory;

constexpr auto largest = std::numeric_limits<std::ptrdiff_t>::max();
constexpr auto lowest = std::numeric_limits<std::ptrdiff_t>::min();

TEST(fits_into_memory, counts_to_the_last_element) {
  EXPECT_TRUE(fits_into_memory(10, 10));
  EXPECT_FALSE(fits_into_memory(10, 11));
  EXPECT_TRUE(fits_into_memory(22, 4, repeated{3, 5}, repeated{3, -4}));  // 4 + 2 * 5 + 2 * 4
  EXPECT_FALSE(fits_into_memory(21, 4, repeated{3, 5}, repeated{3, -4}));
  EXPECT_EQ(room_of_memory(1), static_cast<std::size_t>(largest));
  EXPECT_EQ(room_of_memory(8), static_cast<std::size_t>(largest) / 8);
}

TEST(fits_into_memory, lets_the_stride_of_one_or_none_be_anything) {
  for (auto const stride : {std::ptrdiff_t{7}, largest, lowest}) {
    EXPECT_TRUE(fits_into_memory(4, 4, repeated{1, stride}, repeated{0, stride}));
    EXPECT_FALSE(fits_into_memory(5, 4, repeated{2, stride}));
  }
  EXPECT_TRUE(fits_into_memory(4, 4, repeated{std::numeric_limits<std::size_t>::max(), 0}));
}

// Counts and strides at powers of two, by a division, which is exact.
TEST(fits_into_memory, never_overflows) {
  constexpr auto room = room_of_memory(1);
  std::vector<std::size_t> numbers;
  for (int bits = 0; bits < std::numeric_limits<std::ptrdiff_t>::digits; ++bits)
    for (auto const more : {std::size_t{0}, std::size_t{1}})
      numbers.push_back((std::size_t{1} << bits) + more);
  for (auto const steps : numbers)
    for (auto const stride : numbers) {
      bool const fits = steps <= (room - 1) / stride;
      auto const signed_stride = static_cast<std::ptrdiff_t>(stride);
      ASSERT_EQ(fits_into_memory(room, 1, repeated{steps + 1, signed_stride}), fits)
          << steps << " x " << stride;
      ASSERT_EQ(fits_into_memory(room, 1, repeated{steps + 1, -signed_stride}), fits)
          << steps << " x " << stride;
    }
  EXPECT_FALSE(fits_into_memory(room, 1, repeated{2, lowest}));
  EXPECT_TRUE(fits_into_memory(room, 1, repeated{2, largest - 1}));
  EXPECT_FALSE(fits_into_memory(room, 1, repeated{2, largest - 1}, repeated{2, 1}));
}

}  // namespace
