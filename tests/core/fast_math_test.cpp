#include "posenc/core/fast_math.hpp"

#include <gtest/gtest.h>

#include "non_numbers.hpp"

namespace {

using posenc::detail::as_written;
using posenc::detail::stored;

struct number {
  double data;
};

// Without a barrier, -ffast-math makes y of (x + y) - x.
TEST(fast_math, a_sum_is_rounded_before_it_is_used) {
  auto const x = number_of_bits(0x4340'0000'0000'0000), y = number_of_bits(0x3ff0'0000'0000'0000);
  ASSERT_EQ(x, 0x1p53);
  ASSERT_EQ(y, 1);
  EXPECT_EQ(stored(x + y) - x, 0);
  EXPECT_EQ(stored(static_cast<float>(x) + static_cast<float>(y)) - static_cast<float>(x), 0);
#if defined(__x86_64__)
  number sum{x + y};
  as_written(sum);
  EXPECT_EQ(sum.data - x, 0);
#endif
}

}  // namespace
