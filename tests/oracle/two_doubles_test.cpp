#include "oracle/two_doubles.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace {

using oracle::two_doubles;

// Compared with long double, if that is wider than a double; not under -ffast-math, which breaks
// two doubles.
class two_doubles_test : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__FAST_MATH__) || __LDBL_MANT_DIG__ == 53 || __LDBL_MANT_DIG__ == 106 || \
    defined(__wasm__)
    GTEST_SKIP();
#endif
  }
};

// The functions of long double have an error of one ULP; cosh, made of exponentials, of two.
constexpr long double a_place = 0x1p-63L;

void expect_near(two_doubles x, long double expected, long double given, int places = 1) {
  auto const off =
      static_cast<long double>(x.high()) - expected + static_cast<long double>(x.low());
  EXPECT_LE(std::abs(off), places * a_place * std::abs(expected)) << static_cast<double>(given);
}

TEST_F(two_doubles_test, have_functions_of_64_bits) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<long double> any(-40, 40);
  for (int i = 0; i < 2000; ++i) {
    auto const x = any(random), y = std::abs(any(random));
    expect_near(exp(two_doubles(x)), std::exp(static_cast<long double>(x)), x);
    expect_near(exp2(two_doubles(x)), std::exp2(x), x);
    expect_near(log(two_doubles(y)), std::log(y), y);
    expect_near(sqrt(two_doubles(y)), std::sqrt(y), y);
    expect_near(cosh(two_doubles(x)), std::cosh(x), x, 2);
    expect_near(pow(two_doubles(y), two_doubles(x / 40)), std::pow(y, x / 40), y);
    expect_near(two_doubles(x) / y, x / y, x);
    expect_near(two_doubles(x) * y, x * y, x);
    for (auto const z : {x, std::floor(x), std::floor(x) + 0x1p-60L, -0x1p-60L, 0x1p60L + 7}) {
      EXPECT_EQ(static_cast<long double>(floor(two_doubles(z))), std::floor(z));
      EXPECT_EQ(static_cast<long double>(ceil(two_doubles(z))), std::ceil(z));
      EXPECT_EQ(static_cast<std::int64_t>(two_doubles(z)), static_cast<std::int64_t>(z));
    }
  }
}

TEST_F(two_doubles_test, hold_every_int64) {
  for (auto const n : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max(),
                       std::numeric_limits<std::int64_t>::min(), (std::int64_t{1} << 53) + 1,
                       -(std::int64_t{1} << 32) - 1}) {
    EXPECT_EQ(static_cast<long double>(two_doubles(n)), static_cast<long double>(n));
  }
  EXPECT_EQ(static_cast<long double>(two_doubles(~std::uint64_t{0})),
            static_cast<long double>(~std::uint64_t{0}));
  EXPECT_EQ(static_cast<double>(two_doubles(~std::uint32_t{0})), 0x1p32 - 1);
}

TEST_F(two_doubles_test, turn_by_every_position) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    auto const position = static_cast<std::int64_t>(random()) >> (random() % 64);
    auto const frequency =
        std::ldexp(static_cast<double>(random() >> 11), -53 - static_cast<int>(random() % 20));
    auto const angle = static_cast<long double>(position) * frequency,
               lost = std::fma(static_cast<long double>(position),
                               static_cast<long double>(frequency), -angle);
    auto const ours = oracle::angle_at(two_doubles(position), two_doubles(frequency)).rounded;
    auto const off = [](two_doubles x, long double y) {
      return std::abs(static_cast<double>(x - two_doubles(y)));
    };
    EXPECT_LE(off(oracle::cosine(ours),
                  std::cos(angle) * std::cos(lost) - std::sin(angle) * std::sin(lost)),
              0x1p-62)
        << position << " * " << frequency;
    EXPECT_LE(off(oracle::sine(ours),
                  std::sin(angle) * std::cos(lost) + std::cos(angle) * std::sin(lost)),
              0x1p-62)
        << position << " * " << frequency;
  }
}

TEST_F(two_doubles_test, turn_by_angles_of_many_turns) {
  for (long double const angle :
       {1e3L, -77'777.25L, 0x1p40L + 0.125L, 0x1.921fb54442d18p1L, -0x1.921fb54442d18p1L}) {
    EXPECT_NEAR(
        static_cast<double>(oracle::cosine(two_doubles(angle)) - two_doubles(std::cos(angle))), 0,
        0x1p-62);
    EXPECT_NEAR(
        static_cast<double>(oracle::sine(two_doubles(angle)) - two_doubles(std::sin(angle))), 0,
        0x1p-62);
  }
}

TEST_F(two_doubles_test, know_what_is_beyond_a_double) {
  auto const infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(static_cast<double>(cosh(two_doubles(3333))), infinity);
  EXPECT_EQ(static_cast<double>(1 / (cosh(two_doubles(3333)) * cosh(two_doubles(3333)))), 0);
  EXPECT_EQ(static_cast<double>(two_doubles(infinity) + 1), infinity);
  EXPECT_EQ(static_cast<double>(-1 / two_doubles(0)), -infinity);
}

}  // namespace
