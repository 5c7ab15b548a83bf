#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/detail/log_add_exp.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "non_numbers.hpp"
#include "oracle/wide.hpp"

namespace {

using namespace posenc::detail;

TEST(compiler, a_prefetch_may_be_of_any_address) {
  prefetch_into_l1(nullptr);
  prefetch_into_l1(reinterpret_cast<void const*>(std::numeric_limits<std::uintptr_t>::max()));
}

TEST(compiler, a_number_anew_is_the_same) {
  for (std::size_t const x :
       {std::size_t{0}, std::size_t{7}, std::numeric_limits<std::size_t>::max()})
    EXPECT_EQ(opaque(x), x);
}

TEST(compiler, words_before_loops_and_lambdas_change_nothing) {
  auto const twice = [](int x) POSENC_INLINED { return 2 * x; };
  int sum = 0;
  POSENC_NOT_UNROLLED
  for (int i = 0; i < 5; ++i) sum += twice(i);
  EXPECT_EQ(sum, 20);
}

struct number {
  double data;
};

// Without a barrier, -ffast-math makes y of (x + y) - x.
TEST(compiler, a_sum_is_rounded_before_it_is_used) {
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

TEST(log_add_exp, is_the_logarithm_of_both) {
  for (double const a : {-40.0, -1.0, 0.0, 0.5, 30.0}) {
    for (double const b : {-3.0, 0.0, 2.0}) {
      auto const exact = static_cast<double>(oracle::log(
          oracle::exp(static_cast<oracle::wide>(a)) + oracle::exp(static_cast<oracle::wide>(b))));
      EXPECT_NEAR(log_add_exp(a, b), exact,
                  4 * std::numeric_limits<double>::epsilon() * (1 + std::abs(exact)));
    }
  }
  EXPECT_EQ(log_add_exp(800, -800), 800) << "without leaving the range of numbers";
}

TEST(log_add_exp, of_nothing_is_the_other) {
  auto const nothing = minus_infinity();
  EXPECT_EQ(log_add_exp(nothing, 2), 2);
  EXPECT_EQ(log_add_exp(-1e300, nothing), -1e300);
  EXPECT_TRUE(is_negative_infinity(log_add_exp(nothing, nothing)));
}

TEST(log_add_exp, of_the_lowest_and_the_largest_numbers_is_a_number) {
  constexpr auto lowest = std::numeric_limits<double>::lowest(),
                 most = std::numeric_limits<double>::max();
  EXPECT_EQ(log_add_exp(lowest, lowest), lowest);
  EXPECT_EQ(log_add_exp(lowest, minus_infinity()), lowest);
  EXPECT_EQ(log_add_exp(lowest, 2), 2);
  EXPECT_EQ(log_add_exp(most, lowest), most);
  EXPECT_EQ(log_add_exp(most, most), most);
}

TEST(is_negative_infinity, is_true_of_it_alone) {
  EXPECT_TRUE(is_negative_infinity(minus_infinity()));
  EXPECT_TRUE(is_negative_infinity(static_cast<float>(minus_infinity())));
  for (double const x : {std::numeric_limits<double>::lowest(), -1e300, -0.0, 0.0, 1.0, infinity(),
                         not_a_number(), -not_a_number()})
    EXPECT_FALSE(is_negative_infinity(x)) << x;
  for (float const x :
       {std::numeric_limits<float>::lowest(), -2e38f, 0.0f, static_cast<float>(infinity())})
    EXPECT_FALSE(is_negative_infinity(x)) << x;
  static_assert(is_negative_infinity(posenc::detail::negative_infinity<float>) &&
                is_negative_infinity(posenc::detail::negative_infinity<double>));
}

}  // namespace
