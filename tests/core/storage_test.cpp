#include "posenc/core/storage.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <bit>
#include <concepts>
#include <cstdint>

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

}  // namespace
