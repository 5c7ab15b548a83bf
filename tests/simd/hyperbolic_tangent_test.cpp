#include "posenc/simd/hyperbolic_tangent.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc::detail;

template <class T>
T tanh_of(T x) {
  std::array<T, lanes<T>::size> numbers;
  numbers.fill(x);
  lanes<T>::store(numbers.data(), hyperbolic_tangent(lanes<T>(), lanes<T>::load(numbers.data())));
  for (auto const t : numbers)
    EXPECT_EQ(std::memcmp(&t, &numbers[0], sizeof(T)), 0) << "every lane alike";
  return numbers[0];
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
