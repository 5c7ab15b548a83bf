#include "posenc/simd/lanes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/float16_laws.hpp"
#include "core/float_modes.hpp"
#include "numbers.hpp"
#include "rotation/every_type.hpp"
#include "tolerance.hpp"

namespace {

using posenc::arithmetic_t;
using posenc::detail::lanes;
using posenc::detail::one_lane;

// Calls step(i) for i = 0, size, 2 size ... while i + size is at most `count`.
template <class T>
void for_each_register(std::size_t count, auto&& step) {
  for (std::size_t i = 0; i + lanes<T>::size <= count; i += lanes<T>::size) step(i);
}

template <class T>
constexpr auto format_of =
    std::same_as<posenc::storage_format_t<T>, posenc::half> ? oracle::half_format
                                                            : oracle::bfloat16_format;

// All codes, from an address that is not aligned for any register.
template <class T>
std::vector<T> all_codes() {
  std::vector<T> result(65537);
  for (std::uint32_t code = 0; code < 65536; ++code)
    result[code + 1] = std::bit_cast<T>(static_cast<std::uint16_t>(code));
  return result;
}

// The float's bits; NaNs made quiet, since a CPU that converts does so.
std::uint32_t quiet_bits(float x) {
  auto const bits = std::bit_cast<std::uint32_t>(x);
  return float16::is_nan(bits) ? bits | 0x40'0000 : bits;
}

template <class T>
void expect_loads_as_one_lane() {
  auto const codes = all_codes<T>();
  std::vector<float> together(65536), x(65536), y(65536);
  for_each_register<T>(65536, [&](std::size_t i) {
    lanes<float>::store(&together[i], lanes<T>::load(&codes[i + 1]));
  });
  for_each_register<T>(32768, [&](std::size_t i) {
    typename lanes<T>::number even, odd;
    lanes<T>::load_pairs(&codes[2 * i + 1], even, odd);
    lanes<float>::store(&x[i], even), lanes<float>::store(&y[i], odd);
  });
  for (std::size_t code = 0; code < 65536; ++code) {
    auto const alone = quiet_bits(one_lane<T>::load(&codes[code + 1]));
    ASSERT_EQ(quiet_bits(together[code]), alone) << "code " << code;
    ASSERT_EQ(quiet_bits((code % 2 == 0 ? x : y)[code / 2]), alone) << "code " << code;
  }
}

TEST(lanes, load_every_code_as_one_lane_does) {
  in_every_16_bit_type([]<class T>() { expect_loads_as_one_lane<T>(); });
}

TEST(lanes, load_every_code_where_the_cpu_flushes_subnormal_floats) {
  flushed_subnormals const flushed;
  in_every_16_bit_type([]<class T>() { expect_loads_as_one_lane<T>(); });
}

template <class T>
void expect_stores_as_one_lane(std::vector<float> const& cases) {
  std::vector<T> together(cases.size() + 1), paired(cases.size() + 1), alone(cases.size() + 1);
  for (std::size_t i = 0; i < cases.size(); ++i) one_lane<T>::store(&alone[i + 1], cases[i]);
  for_each_register<T>(cases.size(), [&](std::size_t i) {
    lanes<T>::store(&together[i + 1], lanes<float>::load(&cases[i]));
  });
  for_each_register<T>(cases.size() / 2, [&](std::size_t i) {
    lanes<float>::number x, y;
    lanes<float>::load_pairs(&cases[2 * i], x, y);
    lanes<T>::store_pairs(&paired[2 * i + 1], x, y);
  });
  EXPECT_TRUE(numbers::same_bits(together, alone));
  EXPECT_TRUE(numbers::same_bits(paired, alone));
}

// Whole registers, whatever their size.
template <class T>
std::vector<float> rounding_cases() {
  std::vector<float> cases;
  for (auto const bits : float16::rounding_cases(format_of<T>))
    cases.push_back(std::bit_cast<float>(bits));
  cases.resize(cases.size() / 64 * 64);
  return cases;
}

TEST(lanes, store_every_rounding_case_as_one_lane_does) {
  in_every_16_bit_type([]<class T>() { expect_stores_as_one_lane<T>(rounding_cases<T>()); });
}

TEST(lanes, store_every_rounding_case_where_the_cpu_flushes_subnormal_floats) {
  in_every_16_bit_type([]<class T>() {
    auto const cases = rounding_cases<T>();
    flushed_subnormals const flushed;
    expect_stores_as_one_lane<T>(cases);
  });
}

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
TEST(lanes, of_narrower_registers_load_and_store_as_one_lane_does) {
  in_every_16_bit_type([]<class T>() {
    auto const codes = all_codes<T>();
    auto const cases = rounding_cases<T>();
    auto const check = [&]<class Few>(auto const& next, Few) {
      if constexpr (Few::size > 1) {
        for (std::size_t i = 0; i < 65536; i += Few::size) {
          std::array<float, Few::size> together;
          Few::arithmetic_lanes::store(together.data(), Few::load(&codes[i + 1]));
          for (std::size_t j = 0; j < Few::size; ++j)
            ASSERT_EQ(quiet_bits(together[j]), quiet_bits(one_lane<T>::load(&codes[i + j + 1])));
        }
        for (std::size_t i = 0; i < cases.size(); i += Few::size) {
          std::array<T, Few::size> together, alone;
          Few::store(together.data(), Few::arithmetic_lanes::load(&cases[i]));
          for (std::size_t j = 0; j < Few::size; ++j) one_lane<T>::store(&alone[j], cases[i + j]);
          ASSERT_EQ(std::memcmp(together.data(), alone.data(), sizeof alone), 0) << cases[i];
        }
        next(next, typename Few::narrower());
      }
    };
    check(check, typename lanes<T>::narrower());
  });
}
#endif

TEST(lanes, of_float_and_double_move_bits_unchanged) {
  numbers::in_float_and_double([]<class T>() {
    auto const from = numbers::random<T>(257);
    std::vector<T> to(257), by_pairs(257), x(128), y(128);
    to[0] = by_pairs[0] = from[0];
    for_each_register<T>(
        256, [&](std::size_t i) { lanes<T>::store(&to[i + 1], lanes<T>::load(&from[i + 1])); });
    for_each_register<T>(128, [&](std::size_t i) {
      typename lanes<T>::number even, odd;
      lanes<T>::load_pairs(&from[2 * i + 1], even, odd);
      lanes<T>::store(&x[i], even), lanes<T>::store(&y[i], odd);
      lanes<T>::store_pairs(&by_pairs[2 * i + 1], even, odd);
    });
    EXPECT_TRUE(numbers::same_bits(to, from));
    EXPECT_TRUE(numbers::same_bits(by_pairs, from));
    for (std::size_t i = 0; i < 128; ++i) {
      EXPECT_EQ(x[i], from[2 * i + 1]);
      EXPECT_EQ(y[i], from[2 * i + 2]);
    }
  });
}

TEST(lanes, write_no_more_than_their_size) {
  in_every_type([]<class T>() {
    constexpr auto size = lanes<T>::size;
    std::vector<arithmetic_t<T>> const ones(size, 1);
    auto const number = lanes<T>::arithmetic_lanes::load(ones.data());
    std::vector<T> one(2 * size + 2), pairs(2 * size + 2);
    lanes<T>::store(&one[1], number);
    lanes<T>::store_pairs(&pairs[1], number, number);
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(posenc::load(one[i]), 1 <= i && i <= size ? 1 : 0) << i;
      EXPECT_EQ(posenc::load(pairs[i]), 1 <= i && i <= 2 * size ? 1 : 0) << i;
    }
  });
}

TEST(lanes, multiply_and_add_with_the_rounding_of_one_lane) {
  numbers::in_float_and_double([]<class T>() {
    auto const a = numbers::random<T>(1024, 1), b = numbers::random<T>(1024, 2),
               c = numbers::random<T>(1024, 3);
    std::vector<T> sums(1024), differences(1024), sums_alone(1024), differences_alone(1024);
    for_each_register<T>(1024, [&](std::size_t i) {
      auto const x = lanes<T>::load(&a[i]), y = lanes<T>::load(&b[i]), z = lanes<T>::load(&c[i]);
      lanes<T>::store(&sums[i], lanes<T>::multiply_add(x, y, z));
      lanes<T>::store(&differences[i], lanes<T>::multiply_subtract(x, y, z));
    });
    for (std::size_t i = 0; i < 1024; ++i) {
      sums_alone[i] = one_lane<T>::multiply_add(a[i], b[i], c[i]);
      differences_alone[i] = one_lane<T>::multiply_subtract(a[i], b[i], c[i]);
      auto const product = static_cast<oracle::wide>(a[i]) * static_cast<oracle::wide>(b[i]);
      EXPECT_NEAR(static_cast<double>(sums[i]), static_cast<double>(product + c[i]),
                  3 * tolerance::unit_roundoff<T>());
      EXPECT_NEAR(static_cast<double>(differences[i]), static_cast<double>(product - c[i]),
                  3 * tolerance::unit_roundoff<T>());
    }
    EXPECT_TRUE(numbers::same_bits(sums, sums_alone));
    EXPECT_TRUE(numbers::same_bits(differences, differences_alone));
  });
}

template <class T, class Lanes>
void expect_transposed() {
  constexpr auto size = Lanes::size;
  std::vector<T> numbers(size * size), found(size * size);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(i);
  std::array<typename Lanes::number, size> x;
  for (std::size_t i = 0; i < size; ++i) x[i] = Lanes::load(&numbers[i * size]);
  Lanes::transpose(x.data());
  for (std::size_t i = 0; i < size; ++i) Lanes::store(&found[i * size], x[i]);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) EXPECT_EQ(found[i * size + j], numbers[j * size + i]);
}

TEST(lanes, transpose_makes_rows_of_columns) {
  expect_transposed<float, lanes<float>>();
  expect_transposed<double, lanes<double>>();
  expect_transposed<float, one_lane<float>>();
}

}  // namespace
