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
#include "posenc/core/storage.hpp"
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
lanes<float>::number in_register(floats const& x) { return lanes<float>::load(x.data()); }

TEST(bytes, of_a_mask_are_loaded_and_the_others_are_0) {
  auto const from = random_bytes(68);
  EXPECT_EQ(as<bytes>(load_64(&from[3])), as<bytes>(load_64(&from[3], first_bytes(64))));
  for (std::size_t const count : {1u, 31u, 32u, 33u, 63u, 64u, 65u, 1000u}) {
    auto const found = as<bytes>(load_64(&from[3], first_bytes(count)));
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_EQ(found[i], i < count ? at(from, 3 + i) : 0) << i << " of " << count;
  }
}

TEST(bytes, of_two_addresses_are_one_register) {
  auto const from = random_bytes(80);
  auto const twice = as<bytes>(load_32_twice(&from[1], &from[43])),
             in_turn = as<bytes>(load_32_in_turn(&from[1], &from[43]));
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(twice[i], at(from, i < 32 ? 1 + i : 43 + i - 32));
    EXPECT_EQ(in_turn[i], at(from, (i / 8 % 2 == 0 ? 1 : 43) + i / 16 * 8 + i % 8));
  }
}

TEST(bytes, change_their_sign_and_repeat_by_four) {
  auto const from = random_bytes(68);
  auto const x = as<bytes>(other_sign(load_64(from.data())));
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(x[i], static_cast<std::uint8_t>(at(from, i) + 128));
    auto const four = as<bytes>(four_bytes(&from[i]));
    for (std::size_t n = 0; n < 64; ++n) EXPECT_EQ(four[n], at(from, i + n % 4));
  }
}

TEST(bytes, of_four_registers_alternate) {
  auto const from = random_bytes(256);
  register_of_bytes x[4], by_bytes[4], by_words[4];
  for (std::size_t n = 0; n < 4; ++n) x[n] = load_64(&from[64 * n]);
  in_turn(x, by_bytes), words_in_turn(x, by_words);
  for (std::size_t j = 0; j < 4; ++j) {
    auto const b = as<bytes>(by_bytes[j]), w = as<bytes>(by_words[j]);
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      for (std::size_t n = 0; n < 4; ++n) {    // of which register
        for (std::size_t i = 0; i < 4; ++i) {  // of four bytes
          EXPECT_EQ(b[16 * quarter + 4 * i + n], at(from, 64 * n + 16 * quarter + 4 * j + i));
          EXPECT_EQ(w[16 * quarter + 4 * n + i], at(from, 64 * n + 16 * quarter + 4 * j + i));
        }
      }
    }
  }
}

TEST(words, of_many_addresses_are_one_register) {
  auto const from = random_bytes(600);
  std::array<std::byte const*, 16> heads;
  for (std::size_t i = 0; i < 16; ++i) heads[i] = &from[i * i * 2 % 512];
  for (std::size_t const byte : {0u, 5u, 34u}) {
    auto const four = as<words>(word_of_each(heads.data(), byte));
    for (std::size_t i = 0; i < 16; ++i) {
      std::uint32_t word;
      std::memcpy(&word, heads[i % 4] + byte, 4);
      EXPECT_EQ(four[i], word);
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
  auto const joined = as<words>(halves_of(load_64(a.data()), load_64(b.data())));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(joined[i], i < 8 ? a[i] : b[i]);
}

TEST(floats, of_four_rows_are_transposed) {
  auto const from = numbers::random<float>(64);
  std::vector<float> to(64);
  transpose_four(from.data(), to.data());
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(to[i], from[i % 4 * 16 + i / 4]) << i;
}

TEST(floats, are_summed_and_chosen) {
  std::array<floats, 4> x;
  for (std::size_t i = 0; i < 64; ++i) x[i / 16][i % 16] = static_cast<float>(i * i % 97);
  std::array<lanes<float>::number, 4> registers;
  for (std::size_t n = 0; n < 4; ++n) registers[n] = in_register(x[n]);
  auto const sums = as<floats>(sums_of_quarters(registers.data()));
  for (std::size_t i = 0; i < 16; ++i) {
    auto const& of = x[i / 4];
    EXPECT_EQ(sums[i], of[i % 4] + of[i % 4 + 4] + of[i % 4 + 8] + of[i % 4 + 12]);
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

TEST(floats, have_their_largest) {
  auto x = numbers::random<float>(64);
  for (auto& y : x) y = std::abs(y);
  for (std::size_t i = 0; i < 64; ++i) {
    auto const before = x[i];
    for (auto const large : {2.0f, 0x1p+127f, -1.0f}) {  // negative: larger than others
      x[i] = large;
      EXPECT_EQ(largest_bits(x.data(), 64), std::bit_cast<std::uint32_t>(large)) << i;
    }
    x[i] = before;
  }
}

TEST(floats, have_units_of_their_largest) {
  floats a, b;
  for (std::size_t i = 0; i < 16; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < 16; ++i) {
    auto x = a, y = b;
    x[i] = 3000, y[15 - i] = 500;
    code_units const units(in_register(x), in_register(y));
    auto const of_a = as<floats>(units.of_a), of_b = as<floats>(units.of_b),
               inverse_of_a = as<floats>(units.inverse_of_a),
               inverse_of_b = as<floats>(units.inverse_of_b);
    for (std::size_t n = 0; n < 16; ++n) {
      EXPECT_EQ(of_a[n], 3000 * (1.0f / 255));
      EXPECT_EQ(of_b[n], 500 * (1.0f / 255));
      EXPECT_EQ(inverse_of_a[n], 255.0f / 3000);
      EXPECT_EQ(inverse_of_b[n], 255.0f / 500);
    }
    for (auto const wrong : {static_cast<float>(infinity()), -1.0f}) {
      x[i] = wrong;
      code_units const spoilt(in_register(x), in_register(floats{}));
      EXPECT_FALSE(posenc::is_finite(as<floats>(spoilt.of_a)[i]));
      for (auto const& none : {spoilt.inverse_of_a, spoilt.of_b, spoilt.inverse_of_b})
        EXPECT_EQ(as<floats>(none), floats{});
    }
  }
}

TEST(integer_sums, add_four_products) {
  auto const u = random_bytes(64), s = random_bytes(128);
  std::array<std::int32_t, 16> before, after;
  for (std::size_t i = 0; i < 16; ++i) before[i] = static_cast<std::int32_t>(i * 1000) - 9000;
  auto const sum =
      integer_sums::add(integer_sums::load(before.data()), load_64(u.data()), load_64(&s[64]));
  integer_sums::store(after.data(), sum);
  auto const numbers = as<floats>(integer_sums::as_floats(sum));
  for (std::size_t i = 0; i < 16; ++i) {
    auto expected = before[i];
    for (std::size_t n = 4 * i; n < 4 * i + 4; ++n)
      expected += at(u, n) * static_cast<std::int8_t>(s[64 + n]);
    EXPECT_EQ(after[i], expected);
    EXPECT_EQ(numbers[i], static_cast<float>(expected));
  }
}

}  // namespace
}  // namespace x86_dot_products

#endif
