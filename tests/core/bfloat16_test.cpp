#include "posenc/core/bfloat16.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "core/float16_laws.hpp"

namespace {

using posenc::bfloat16;

/// Positions stored in bfloat16: 4095 becomes 4096, a different angle.
TEST(bfloat16, does_not_tell_positions_apart_beyond_256) {
  EXPECT_EQ(static_cast<float>(posenc::bfloat16(257.0f)), 256.0f);
  EXPECT_EQ(static_cast<float>(posenc::bfloat16(255.0f)), 255.0f);
  EXPECT_EQ(static_cast<float>(posenc::bfloat16(4095.0f)), 4096.0f);
}

TEST(bfloat16, is_two_plain_bytes) {
  static_assert(sizeof(bfloat16) == 2 && alignof(bfloat16) == 2 && std::is_trivial_v<bfloat16> &&
                std::is_standard_layout_v<bfloat16>);
}

TEST(bfloat16, to_float_is_exact_for_every_code) {
  float16::expect_exact_decoding<bfloat16>(oracle::bfloat16_format);
}

TEST(bfloat16, from_float_rounds_once_to_nearest_even) {
  float16::expect_nearest_encoding<bfloat16>(oracle::bfloat16_format);
}

TEST(bfloat16, to_float_and_back_is_the_identity) {
  float16::expect_round_trip<bfloat16>(oracle::bfloat16_format);
}

TEST(bfloat16, conversions_hold_where_the_cpu_flushes_subnormal_floats) {
  flushed_subnormals const flushed;
  float16::expect_exact_decoding<bfloat16>(oracle::bfloat16_format);
  float16::expect_nearest_encoding<bfloat16>(oracle::bfloat16_format);
}

TEST(bfloat16, converts_at_compile_time) {
  static_assert(bfloat16(1.0f).bits == 0x3f80 && bfloat16(-2.0f).bits == 0xc000 &&
                bfloat16(3.3961776e38f).bits == 0x7f80);
  static_assert(float(bfloat16::from_bits(0x3eab)) == 0x1.56p-2f &&
                float(bfloat16::from_bits(0x0001)) == 0x1p-133f);
}

TEST(bfloat16, compares_as_numbers) {
  EXPECT_EQ(bfloat16(0.0f), bfloat16(-0.0f));
  EXPECT_EQ(bfloat16(1.0f), bfloat16::from_bits(0x3f80));
  EXPECT_NE(bfloat16(1.0f), bfloat16::from_bits(0x3f81));
  EXPECT_NE(bfloat16::from_bits(0x3f81), bfloat16(1.0f));
}

}  // namespace
