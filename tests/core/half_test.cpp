#include "posenc/core/half.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "core/float16_laws.hpp"

namespace {

using posenc::half;

TEST(half, is_two_plain_bytes) {
  static_assert(sizeof(half) == 2 && alignof(half) == 2 && std::is_trivial_v<half> &&
                std::is_standard_layout_v<half>);
}

TEST(half, to_float_is_exact_for_every_code) {
  float16::expect_exact_decoding<half>(oracle::half_format);
}

TEST(half, from_float_rounds_once_to_nearest_even) {
  float16::expect_nearest_encoding<half>(oracle::half_format);
}

TEST(half, to_float_and_back_is_the_identity) {
  float16::expect_round_trip<half>(oracle::half_format);
}

TEST(half, conversions_hold_where_the_cpu_flushes_subnormal_floats) {
  flushed_subnormals const flushed;
  float16::expect_exact_decoding<half>(oracle::half_format);
  float16::expect_nearest_encoding<half>(oracle::half_format);
}

TEST(half, overflows_to_infinity_from_65520_on) {
  EXPECT_EQ(half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(half(-65520.0f).bits, 0xfc00);
}

TEST(half, converts_at_compile_time) {
  static_assert(half(1.0f).bits == 0x3c00 && half(-2.0f).bits == 0xc000 &&
                half(0x1p-24f).bits == 1 && half(1e30f).bits == 0x7c00);
  static_assert(float(half::from_bits(0x3555)) == 0x1.554p-2f &&
                float(half::from_bits(0x03ff)) == 0x1.ff8p-15f);
}

TEST(half, compares_as_numbers) {
  EXPECT_EQ(half(0.0f), half(-0.0f));
  EXPECT_EQ(half(1.0f), half::from_bits(0x3c00));
  EXPECT_NE(half(1.0f), half::from_bits(0x3c01));
  EXPECT_NE(half::from_bits(0x3c01), half(1.0f));
}

}  // namespace
