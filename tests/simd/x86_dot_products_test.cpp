// Orders of bytes and words, and dot products, against plain loops: exact.
#include "posenc/simd/x86_dot_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/lanes.hpp"

#if defined(POSENC_HAS_DOT_PRODUCTS)

namespace x86_dot_products {
namespace {

using namespace posenc::detail;

using bytes = std::array<std::uint8_t, 64>;
using words = std::array<std::uint32_t, 16>;
using floats = std::array<float, 16>;

template <class To>
To as(auto const& x) {
  static_assert(sizeof(To) == sizeof x);
  To to;
  std::memcpy(&to, &x, sizeof to);
  return to;
}
std::vector<std::byte> random_bytes(std::size_t count) {
  std::vector<std::byte> x(count);
  std::uint32_t state = 1;
  for (auto& b : x) b = static_cast<std::byte>((state = state * 1664525u + 1013904223u) >> 24);
  return x;
}
std::uint8_t at(std::vector<std::byte> const& x, std::size_t i) {
  return static_cast<std::uint8_t>(x[i]);
}
register_of_bytes all_64(void const* from) { return load_64(from, first_bytes(64)); }
lanes<float>::number in_register(floats const& x) { return lanes<float>::load(x.data()); }

TEST(bytes, of_a_mask_are_loaded_and_the_others_are_0) {
  auto const from = random_bytes(68);
  for (std::size_t const count : {1u, 31u, 32u, 33u, 63u, 64u, 65u, 1000u}) {
    auto const found = as<bytes>(load_64(&from[3], first_bytes(count)));
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_EQ(found[i], i < count ? at(from, 3 + i) : 0) << i << " of " << count;
  }
}

TEST(bytes, of_two_addresses_alternate_by_eight) {
  auto const from = random_bytes(80);
  auto const x = as<bytes>(load_alternately(&from[1], &from[43]));
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(x[i], at(from, (i / 8 % 2 == 0 ? 1 : 43) + i / 16 * 8 + i % 8));
}

TEST(bytes, change_their_sign_and_repeat) {
  auto const from = random_bytes(68);
  auto const x = as<bytes>(other_sign(all_64(from.data())));
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(x[i], static_cast<std::uint8_t>(at(from, i) + 128));
  for (std::size_t i = 0; i < 48; ++i) {
    auto const four = as<bytes>(four_bytes(&from[i])), sixteen = as<bytes>(sixteen_bytes(&from[i]));
    for (std::size_t n = 0; n < 64; ++n) {
      EXPECT_EQ(four[n], at(from, i + n % 4));
      EXPECT_EQ(sixteen[n], at(from, i + n % 16));
    }
  }
}

TEST(bytes, of_four_registers_alternate_and_quarters_are_transposed) {
  auto const from = random_bytes(256);
  register_of_bytes x[4], by_bytes[4], quarters[4];
  for (std::size_t n = 0; n < 4; ++n) x[n] = all_64(&from[64 * n]);
  interleave(x, by_bytes), transpose_quarters(x, quarters);
  for (std::size_t j = 0; j < 4; ++j) {
    auto const b = as<bytes>(by_bytes[j]), q = as<bytes>(quarters[j]);
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      for (std::size_t i = 0; i < 16; ++i) {
        EXPECT_EQ(b[16 * quarter + i], at(from, i % 4 * 64 + 16 * quarter + 4 * j + i / 4));
        EXPECT_EQ(q[16 * quarter + i], at(from, 64 * quarter + 16 * j + i));
      }
    }
  }
}

TEST(words, of_many_addresses_are_one_register) {
  auto const from = random_bytes(600);
  std::array<std::byte const*, 16> heads;
  for (std::size_t i = 0; i < 16; ++i) heads[i] = &from[i * i * 2 % 512];
  for (std::size_t const byte : {0u, 5u, 34u}) {
    auto const four = as<words>(word_of_each(heads.data(), byte)),
               apart = as<words>(word_of_each<4>(heads.data(), byte));
    for (std::size_t i = 0; i < 16; ++i) {
      std::uint32_t word, fourth;
      std::memcpy(&word, heads[i / 4] + byte, 4);
      std::memcpy(&fourth, heads[i / 4 * 4] + byte, 4);
      EXPECT_EQ(four[i], word);
      EXPECT_EQ(apart[i], fourth);
    }
    auto const halves = as<words>(half_of_each(heads.data(), byte));
    for (std::size_t i = 0; i < 16; ++i) {
      std::uint16_t half;
      std::memcpy(&half, heads[i] + byte, 2);
      if ((half & 0x7fff) >= 0x7c00) continue;
      EXPECT_EQ(std::bit_cast<float>(halves[i]), static_cast<float>(posenc::half::from_bits(half)));
    }
  }
  words a, b;
  for (std::uint32_t i = 0; i < 16; ++i) a[i] = i, b[i] = 100 + i;
  auto const joined = as<words>(halves_of(all_64(a.data()), all_64(b.data())));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(joined[i], i % 4 < 2 ? a[i] : b[i]);
}

TEST(floats, of_four_rows_are_transposed) {
  auto const from = numbers::random<float>(64);
  auto to = from;
  transpose_four(to.data());
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(to[i], from[i % 4 * 16 + i / 4]) << i;
}

TEST(floats, are_summed_and_chosen) {
  std::array<floats, 4> x;
  for (std::size_t i = 0; i < 64; ++i) x[i / 16][i % 16] = static_cast<float>(i * i % 97);
  std::array<lanes<float>::number, 4> registers;
  for (std::size_t n = 0; n < 4; ++n) registers[n] = in_register(x[n]);
  auto const sums = as<floats>(sums_of_quarters(registers.data()));
  for (std::size_t i = 0; i < 16; ++i) {
    auto const* const of = &x[i / 4][i % 4 * 4];
    EXPECT_EQ(sums[i], of[0] + of[1] + of[2] + of[3]);
  }
  for (std::uint32_t const mask : {0u, 1u, 0x8000u, 0xffffu, 0x1234u}) {
    auto some = x[1];
    for (std::size_t i = 0; i < 16; ++i)
      if ((mask >> i & 1u) == 0) some[i] = i % 2 == 0 ? 0.0f : -0.0f;
    some[2] = mask >> 2 & 1u ? static_cast<float>(not_a_number()) : 0.0f;
    EXPECT_EQ(which_are_some(in_register(some)), mask);
    auto const kept = as<floats>(only(mask, in_register(x[1])));
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(kept[i], mask >> i & 1u ? x[1][i] : 0.0f);
  }
}

TEST(floats, have_their_largest_and_its_inverse) {
  auto x = numbers::random<float>(64);
  for (auto& y : x) y = std::abs(y);
  for (std::size_t i = 0; i < 64; ++i) {
    auto const before = x[i];
    for (auto const large : {2.0f, 3.0f, 0x1p+127f}) {
      x[i] = large;
      largest_float const most(x.data()), of_16(lanes<float>::load(&x[i / 16 * 16]));
      EXPECT_EQ(most.number, large) << i;
      EXPECT_EQ(most.inverse, 1 / large) << i;
      EXPECT_EQ(of_16.number, large) << i;
    }
    for (auto const wrong : {static_cast<float>(infinity()), -1.0f}) {
      x[i] = wrong;
      largest_float const most(x.data());
      EXPECT_FALSE(posenc::is_finite(most.number));
      EXPECT_EQ(most.inverse, 0);
    }
    x[i] = before;
  }
  std::vector<float> small(64, 0.0f);
  for (auto const most : {0.0f, 0x1p-118f, 0x1.fp-119f}) {
    small[17] = most;
    EXPECT_EQ(largest_float(small.data()).number, most);
    EXPECT_EQ(largest_float(small.data()).inverse, most < 0x1p-118f ? 0 : 0x1p+118f);
  }
}

TEST(integer_sums, add_four_products) {
  auto const u = random_bytes(64), s = random_bytes(128);
  std::array<std::int32_t, 4> const before{-9000, 0, 70'000, 123};
  auto const sum =
      integer_sums::add(integer_sums::load(before.data()), all_64(u.data()), all_64(&s[64]));
  auto const sums = as<std::array<std::int32_t, 16>>(sum);
  auto const numbers = as<floats>(integer_sums::as_floats(sum));
  for (std::size_t i = 0; i < 16; ++i) {
    auto expected = before[i % 4];
    for (std::size_t n = 4 * i; n < 4 * i + 4; ++n)
      expected += at(u, n) * static_cast<std::int8_t>(s[64 + n]);
    EXPECT_EQ(sums[i], expected);
    EXPECT_EQ(numbers[i], static_cast<float>(expected));
  }
}

}  // namespace
}  // namespace x86_dot_products

#endif
