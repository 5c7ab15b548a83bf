#include "posenc/simd/exponential.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc::detail;

/// function(x), of a register that has x in every lane.
template <class T>
T in_every_lane(T x, auto const& function) {
  std::array<T, lanes<T>::size> numbers;
  numbers.fill(x);
  lanes<T>::store(numbers.data(), function(lanes<T>::load(numbers.data())));
  for (auto const y : numbers)
    EXPECT_EQ(std::memcmp(&y, &numbers[0], sizeof(T)), 0) << "every lane alike";
  return numbers[0];
}
template <class T>
T exponential_of(T x) {
  return in_every_lane(x, [](auto const& all) { return exponential(lanes<T>(), all); });
}

TEST(exponential, is_within_two_roundings_and_one_more_for_each_of_its_exponent) {
  numbers::in_float_and_double([]<class T>() {
    auto const lowest = static_cast<double>(lowest_exponent<T>);
    for (int i = 0; i <= 200'000; ++i) {
      // Densely near 0, where weights are large, and down to the lowest exponent.
      auto const x = static_cast<T>((i % 2 == 0 ? lowest : -2.0) * i / 200'000);
      auto const expected = oracle::exp(static_cast<oracle::wide>(x));
      auto const bound = (2 + std::abs(static_cast<double>(x))) * tolerance::unit_roundoff<T>() *
                         static_cast<double>(expected);
      ASSERT_LE(
          std::abs(static_cast<double>(static_cast<oracle::wide>(exponential_of(x)) - expected)),
          bound)
          << x;
    }
  });
}

TEST(exponential, of_0_is_1_and_below_its_lowest_exponent_it_is_0) {
  numbers::in_float_and_double([]<class T>() {
    EXPECT_EQ(exponential_of(T{0}), 1);
    EXPECT_EQ(exponential_of(-T{0}), 1);
    EXPECT_GE(exponential_of(lowest_exponent<T>), std::numeric_limits<T>::min());
    for (T const x : {std::nextafter(lowest_exponent<T>, T(-1e9)), T(-1e4), T(-1e30),
                      static_cast<T>(minus_infinity())}) {
      EXPECT_EQ(exponential_of(x), 0) << x;
    }
  });
}

TEST(exponential, of_what_is_no_number_is_none) {
#if defined(__FAST_MATH__)
  GTEST_SKIP() << "-ffast-math promises nothing for NaN";
#endif
  for (std::uint32_t const bits : {0u, 1u, 2u, 127u, 128u, 255u, 256u, 511u, 0x3f'ffffu}) {
    for (std::uint32_t const sign : {0u, 0x8000'0000u})
      EXPECT_FALSE(posenc::is_finite(
          static_cast<double>(exponential_of(float_of_bits(sign | 0x7fc0'0000 | bits)))));
  }
  EXPECT_FALSE(exponential_of(not_a_number()) <= 1);
}

template <class T>
T tanh_of(T x) {
  return in_every_lane(x, [](auto const& all) { return hyperbolic_tangent(lanes<T>(), all); });
}

TEST(hyperbolic_tangent, is_within_8_roundings) {
  numbers::in_float_and_double([]<class T>() {
    for (int i = -100'000; i <= 100'000; i += oracle::wide_cost) {
      // Evenly to where it is 1; and by magnitudes, down to where it is x itself.
      for (auto const x : {static_cast<T>(i * 2.3e-4), static_cast<T>(std::exp2(i * 3e-4) * 0.7)}) {
        auto const expected = oracle::tanh(static_cast<oracle::wide>(x));
        auto const bound =
            8 * tolerance::unit_roundoff<T>() * static_cast<double>(oracle::abs(expected));
        ASSERT_LE(
            static_cast<double>(oracle::abs(static_cast<oracle::wide>(tanh_of(x)) - expected)),
            bound)
            << x;
      }
    }
  });
}

TEST(hyperbolic_tangent, is_odd_and_never_beyond_1) {
  numbers::in_float_and_double([]<class T>() {
    for (T const x : {T(0), T(1e-30), T(1e-6), T(0.5), T(9), T(22), T(100), T(1e30),
                      static_cast<T>(infinity())}) {
      auto const y = tanh_of(x), opposite = -tanh_of(-x);
      EXPECT_EQ(std::memcmp(&y, &opposite, sizeof(T)), 0) << x;
      EXPECT_LE(y, 1);
      if (x >= 22) {
        EXPECT_EQ(y, 1);
      }
    }
    EXPECT_EQ(tanh_of(T(0)), 0);
  });
}

}  // namespace
