#include "posenc/core/compiler.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace {

using namespace posenc::detail;

TEST(compiler, a_prefetch_may_be_of_any_address) {
  prefetch(nullptr);
  prefetch_into_l2(reinterpret_cast<void const*>(std::numeric_limits<std::uintptr_t>::max()));
}

TEST(compiler, a_number_anew_is_the_same) {
  for (std::size_t const x :
       {std::size_t{0}, std::size_t{7}, std::numeric_limits<std::size_t>::max()})
    EXPECT_EQ(anew_in_each_turn(x), x);
}

TEST(compiler, words_before_loops_and_lambdas_change_nothing) {
  auto const twice = [](int x) POSENC_INLINED { return 2 * x; };
  int sum = 0;
  POSENC_NOT_UNROLLED
  for (int i = 0; i < 5; ++i) sum += twice(i);
  EXPECT_EQ(sum, 20);
}

}  // namespace
