#include "posenc/heads/storage.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/float16_laws.hpp"
#include "core/own_storage.hpp"

namespace {

using posenc::arithmetic_t;
using posenc::bfloat16;
using posenc::half;
using posenc::storable;
using posenc::storage_format_t;

// Types that cannot store the elements of head vectors.
struct unknown_two_bytes {
  std::uint16_t bits;
};
struct wrong_size {
  float number;
};
struct owns_memory {
  owns_memory(owns_memory const&);
  std::uint16_t bits;
};
struct engine_float {
  float number;
};

}  // namespace

template <>
struct posenc::storage_format<wrong_size> : posenc::stored_as<posenc::half> {};
template <>
struct posenc::storage_format<owns_memory> : posenc::stored_as<posenc::half> {};
template <>
struct posenc::storage_format<engine_float> : posenc::stored_as<float> {};

namespace {

TEST(storage, knows_the_format_of_every_type_it_admits) {
  static_assert(std::same_as<storage_format_t<float>, float> &&
                std::same_as<storage_format_t<double const>, double>);
  static_assert(std::same_as<storage_format_t<half>, half> &&
                std::same_as<storage_format_t<bfloat16 const>, bfloat16>);
  static_assert(std::same_as<storage_format_t<Eigen::half>, half> &&
                std::same_as<storage_format_t<Eigen::bfloat16>, bfloat16>);
  static_assert(std::same_as<storage_format_t<engine::brain_float>, bfloat16> &&
                std::same_as<storage_format_t<engine_float>, float>);
#if defined(__FLT16_DIG__) && defined(__STDCPP_FLOAT16_T__)
  static_assert(std::same_as<storage_format_t<_Float16>, half>);
#endif
}

TEST(storage, refuses_types_it_cannot_copy_bit_by_bit) {
  static_assert(storable<float> && storable<half const> && storable<engine::brain_float> &&
                storable<engine_float>);
  static_assert(!storable<int> && !storable<std::uint16_t> && !storable<long double> &&
                !storable<float*> && !storable<float&>);
  static_assert(storable<posenc::as<half>> && storable<posenc::as<bfloat16> const> &&
                !storable<posenc::as<float>> && !storable<posenc::as<std::uint16_t>>);
  static_assert(!storable<unknown_two_bytes> && !storable<wrong_size> && !storable<owns_memory>);
}

TEST(storage, only_what_is_not_const_is_writable) {
  static_assert(posenc::writable<half> && posenc::writable<engine::brain_float>);
  static_assert(!posenc::writable<half const> && !posenc::writable<int>);
}

TEST(storage, arithmetic_is_in_double_for_double_alone) {
  static_assert(std::same_as<arithmetic_t<double>, double> &&
                std::same_as<arithmetic_t<double const>, double>);
  static_assert(std::same_as<arithmetic_t<float>, float> &&
                std::same_as<arithmetic_t<half const>, float>);
  static_assert(std::same_as<arithmetic_t<Eigen::bfloat16>, float> &&
                std::same_as<arithmetic_t<engine::brain_float>, float>);
}

// All 65,536 codes of T, loaded and stored as Format would.
template <class T, class Format>
void expect_stored_as() {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    auto const code = static_cast<std::uint16_t>(i);
    auto const number = posenc::load(std::bit_cast<T>(code));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(number),
              std::bit_cast<std::uint32_t>(float(Format::from_bits(code))))
        << "code " << i;
    T stored = std::bit_cast<T>(std::uint16_t{0});
    posenc::store(stored, number);
    ASSERT_EQ(std::bit_cast<std::uint16_t>(stored), Format(number).bits) << "code " << i;
  }
}

TEST(storage, a_type_of_sixteen_bits_loads_and_stores_as_its_format) {
  expect_stored_as<half, half>();
  expect_stored_as<bfloat16, bfloat16>();
  expect_stored_as<posenc::as<half>, half>();
  expect_stored_as<posenc::as<bfloat16>, bfloat16>();
  expect_stored_as<Eigen::half, half>();
  expect_stored_as<Eigen::bfloat16, bfloat16>();
  expect_stored_as<engine::brain_float, bfloat16>();
}

TEST(storage, float_and_double_load_and_store_unchanged) {
  float single = 0;
  double twofold = 0;
  posenc::store(single, 0x1.fffffep-3f);
  posenc::store(twofold, 0x1.fffffffffffffp-3);
  EXPECT_EQ(posenc::load(single), 0x1.fffffep-3f);
  EXPECT_EQ(posenc::load(twofold), 0x1.fffffffffffffp-3);
  engine_float wrapped{0};
  posenc::store(wrapped, 0.1f);
  EXPECT_EQ(wrapped.number, 0.1f);
}

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

using namespace posenc::detail;

TEST(scalar_bits, are_those_of_a_float) {
  EXPECT_EQ(scalar_bits::as_bits(-1.5f), 0xbfc00000u);
  EXPECT_EQ(scalar_bits::as_number(0xbfc00000u), -1.5f);
}

TEST(scalar_bits, below_is_all_ones_or_none_up_to_the_largest_numbers) {
  constexpr std::uint32_t largest = 0x7fffffff;
  EXPECT_EQ(below(0u, 1u), 0xffffffffu);
  EXPECT_EQ(below(1u, 1u), 0u);
  EXPECT_EQ(below(2u, 1u), 0u);
  EXPECT_EQ(below(0u, largest), 0xffffffffu);
  EXPECT_EQ(below(largest, 0u), 0u);
  EXPECT_EQ(below(largest, largest), 0u);
}

TEST(scalar_bits, choose_takes_one_of_two) {
  EXPECT_EQ(choose(0xffffffffu, 0x12345678u, 0x9abcdef0u), 0x12345678u);
  EXPECT_EQ(choose(0u, 0x12345678u, 0x9abcdef0u), 0x9abcdef0u);
}

}  // namespace
