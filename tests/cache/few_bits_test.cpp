#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "cache/codes.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_1.hpp"
#include "posenc/cache/q5_0.hpp"
#include "posenc/cache/q5_1.hpp"
#include "posenc/heads/storage.hpp"
#include "rejects.hpp"

/// ggml's formats of 4 and 5 bits beside q4_0: q4_1, q5_0, q5_1, iq4_nl.
namespace of_few_bits { namespace {

using posenc::half;
using posenc::iq4_nl;
using posenc::q4_1;
using posenc::q5_0;
using posenc::q5_1;
using bytes = std::vector<int>;

constexpr int table[]{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// What a block is: the first byte of its least number, of its fifth bits and of its codes, 0 if it
// has none; and the code that is read as 0.
struct block {
  std::string name;
  std::size_t least, fifths, codes;
  int zero;
  std::size_t size() const { return codes + 16; }
  int most() const { return fifths != 0 ? 31 : 15; }
  bool is_table() const { return least + fifths == 0; }
};
template <class F>
block const of{};
template <>
inline block const of<q4_1>{"q4_1", 2, 0, 4, 0};
template <>
inline block const of<q5_0>{"q5_0", 0, 2, 6, 16};
template <>
inline block const of<q5_1>{"q5_1", 2, 4, 8, 0};
template <>
inline block const of<iq4_nl>{"iq4_nl", 0, 0, 2, 8};

template <class F>
struct few_bits : testing::Test {};
struct names {
  template <class F>
  static std::string GetName(int) {
    return of<F>.name;
  }
};
using formats = testing::Types<q4_1, q5_0, q5_1, iq4_nl>;
TYPED_TEST_SUITE(few_bits, formats, names);

// 2 or 4 bytes in the CPU's order, as ggml has them in memory.
void put(bytes& to, std::size_t at, std::uint32_t word, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    auto const byte = std::endian::native == std::endian::little ? i : size - 1 - i;
    to[at + byte] = static_cast<int>(word >> 8 * i & 0xff);
  }
}
// A block of a scale, a least number and codes.
bytes packed(block const& b, half d, half m, std::span<int const> codes) {
  bytes result(b.size());
  put(result, 0, d.bits, 2);
  if (b.least != 0) put(result, b.least, m.bits, 2);
  std::uint32_t fifths = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    fifths |= static_cast<std::uint32_t>(codes[i] >> 4) << i;
    result[b.codes + i % 16] |= (codes[i] & 15) << 4 * (i / 16);
  }
  if (b.fifths != 0) put(result, b.fifths, fifths, 4);
  return result;
}
encoded as_encoded(bytes const& all) {
  encoded result;
  for (auto const byte : all) result.codes.push_back(static_cast<std::byte>(byte));
  return result;
}

TYPED_TEST(few_bits, refuses_a_head_that_is_no_whole_number_of_groups) {
  auto const& b = of<TypeParam>;
  EXPECT_EQ(message_of([] { std::ignore = TypeParam{}.bytes(40); }),
            "posenc: " + b.name + ": head_dim must be a multiple of 32, got 40");
  EXPECT_EQ(TypeParam{}.bytes(128), 4 * b.size());
}

// Every scale that half has, codes in all places. What is read is exact but for one rounding, where
// the least number is added.
TYPED_TEST(few_bits, reads_every_code_with_every_scale) {
  auto const& b = of<TypeParam>;
  std::vector<int> codes(32);
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    auto const d = half::from_bits(static_cast<std::uint16_t>(bits)),
               m = half::from_bits(static_cast<std::uint16_t>(bits * 40503u >> 2));
    if ((d.bits & 0x7c00) == 0x7c00 || (m.bits & 0x7c00) == 0x7c00) continue;  // not finite
    for (std::size_t i = 0; i < 32; ++i)
      codes[i] = static_cast<int>((i * 5 + bits) % static_cast<unsigned>(b.most() + 1));
    auto const read = decode(TypeParam{}, as_encoded(packed(b, d, m, codes)), 32);
    for (std::size_t i = 0; i < 32; ++i) {
      auto const units = b.is_table() ? table[codes[i]] : codes[i] - b.zero;
      auto const least = b.least != 0 ? double{static_cast<float>(m)} : 0;
      ASSERT_EQ(read[i], static_cast<float>(units * double{static_cast<float>(d)} + least))
          << bits << " " << i;
    }
  }
}

// Half a step of the codes around, and what the rounding of d and m to half adds.
TYPED_TEST(few_bits, reads_what_it_wrote_to_half_a_step) {
  auto const& b = of<TypeParam>;
  for (unsigned seed = 0; seed < 200; ++seed) {
    auto const head = numbers::random<float>(32, seed);
    auto const [least, most] = std::ranges::minmax(head);
    auto const extreme = std::max(-least, most);
    auto const step = b.least != 0    ? (most - least) / static_cast<float>(b.most())
                      : b.fifths != 0 ? extreme / 16
                                      : extreme / 127 * 23;
    // A whole step opposite the extreme, where 16 are stored as 15; iq4_nl fits d to all numbers.
    auto const bound = step * (b.least != 0    ? 0.5f
                               : b.fifths != 0 ? 1
                                               : 1.2f) +
                       2 * extreme * 0x1p-11f;
    auto const read = through(TypeParam{}, head);
    for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(read[i], head[i], bound);
  }
}

#if !defined(__FAST_MATH__)  // where a quotient may be rounded otherwise, and NaN is not promised

template <class F>
bytes bytes_of(std::span<float const> head) {
  auto const written = encode(F{}, head);
  bytes result;
  for (std::size_t i = 0; i < written.codes.size(); ++i) result.push_back(written.code(i));
  return result;
}

// An operation of doubles, which is exact or nearly so, rounded to float.
float rounded(double x) { return static_cast<float>(x); }
// A float as x86 converts it: infinity and NaN to 0.
int integer(float x) { return posenc::is_finite(double{x}) ? static_cast<int>(x) : 0; }

// ggml's rules [ggml-quants.c, quantize_row_*_ref], each operation in doubles and then rounded.
bytes by_the_rule(block const& b, std::span<float const> x) {
  float least = std::numeric_limits<float>::max(), most = -least, extreme = 0;
  for (auto const y : x) {
    if (y < least) least = y;
    if (y > most) most = y;
    if (std::abs(extreme) < std::abs(y)) extreme = y;
  }
  auto const inverse_of = [](float d) { return d != 0 ? rounded(1 / double{d}) : 0; };
  std::vector<int> codes;
  if (b.least != 0) {
    auto const d = rounded(double{rounded(double{most} - double{least})} / b.most()),
               inverse = inverse_of(d);
    for (auto const y : x) {
      auto const product = rounded(double{rounded(double{y} - double{least})} * double{inverse});
      codes.push_back(std::min(b.most(), integer(rounded(double{product} + 0.5))));
    }
    return packed(b, half(d), half(least), codes);
  }
  if (b.fifths != 0) {
    auto const d = rounded(double{extreme} / -16), inverse = inverse_of(d);
    for (auto const y : x) {
      auto const product = rounded(double{y} * double{inverse});
      codes.push_back(std::min(b.most(), integer(rounded(double{product} + 16.5))));
    }
    return packed(b, half(d), half(), codes);
  }
  if (std::abs(extreme) < 1e-15f) return packed(b, half(0.0f), half(), std::vector<int>(32, 8));
  auto const inverse = inverse_of(rounded(double{extreme} / -127));
  float products = 0, squares = 0;
  for (auto const y : x) {
    auto const unit = double{rounded(double{inverse} * double{y})};
    auto const next = std::ranges::min(table, {}, [&](int v) {
      return std::pair(std::abs(v - unit), -v);  // of two the larger
    });
    codes.push_back(static_cast<int>(std::ranges::find(table, next) - std::begin(table)));
    auto const weighted = rounded(double{rounded(double{y} * double{y})} * next);
    products = rounded(double{products} + double{rounded(double{weighted} * double{y})});
    squares = rounded(double{squares} + double{rounded(double{weighted} * next)});
  }
  return packed(b, half(rounded(double{products} / double{squares})), half(), codes);
}

// Of f32(sin(.7 i) (1 + .1 i)), by ggml's functions [ggml d99724f2, compiled without multiply-add].
TYPED_TEST(few_bits, is_ggmls_byte_for_byte) {
  auto const& b = of<TypeParam>;
  std::vector<float> head;
  for (int i = 0; i < 32; ++i)
    head.push_back(static_cast<float>(std::sin(0.7 * i) * (1 + 0.1 * i)));
  bytes const codes = b.name == "q4_1"   ? bytes{0x27, 0x48, 0x79, 0xb9, 0xd8, 0xc6, 0x94, 0x44,
                                               0x15, 0x07, 0x3a, 0x7b, 0xcb, 0xf9, 0xe5, 0x93}
                      : b.name == "q5_0" ? bytes{0xb0, 0x7d, 0x0b, 0x8b, 0x4e, 0x52, 0xc6, 0x57,
                                                 0xc5, 0xe0, 0x9b, 0xf7, 0x58, 0x0d, 0x24, 0xb9}
                      : b.name == "q5_1" ? bytes{0x4f, 0x72, 0xf4, 0x73, 0xb1, 0xac, 0x39, 0x97,
                                                 0x2a, 0x0f, 0x54, 0xf7, 0xa7, 0xf2, 0xdb, 0x45}
                                         : bytes{0xe8, 0xc6, 0x85, 0x35, 0x17, 0x29, 0x5c, 0xbc,
                                                 0xeb, 0xf8, 0xd4, 0x73, 0x23, 0x06, 0x1a, 0x5d};
  bytes expected(b.codes);
  put(expected, 0,
      b.name == "q4_1"   ? 0x37c6
      : b.name == "q5_0" ? 0xb3be
      : b.name == "q5_1" ? 0x3386
                         : 0xa7e0,
      2);
  if (b.least != 0) put(expected, 2, 0xc2d4, 2);
  if (b.fifths != 0) put(expected, b.fifths, b.name == "q5_0" ? 0x0787c3e1 : 0xf0783c1e, 4);
  expected.insert(expected.end(), codes.begin(), codes.end());
  EXPECT_EQ(bytes_of<TypeParam>(head), expected);
}

// Numbers of all sizes, many of them at ties, or twice the extreme, or all of one sign.
TYPED_TEST(few_bits, has_the_bytes_of_ggmls_rule) {
  auto const& b = of<TypeParam>;
  for (int exponent = -149; exponent < 127; ++exponent)
    for (unsigned seed = 0; seed < 30; ++seed) {
      auto head = numbers::random<float>(160, seed);
      for (auto& x : head) {
        if (seed % 3 == 0) x = std::round(x * 31) / 31;
        if (seed % 5 == 0) x = std::abs(x);
        if (seed % 7 == 0) x = x < 0 ? -1.0f : 1.0f;
        if (seed % 11 == 0) x = std::round(x * 127) / 2;
        x = std::ldexp(x, exponent - (seed % 11 == 0 ? 6 : 0));
      }
      auto const got = bytes_of<TypeParam>(head);
      for (std::size_t group = 0; group < 5; ++group) {
        std::span const x = std::span(head).subspan(32 * group, 32);
        auto const [least, most] = std::ranges::minmax(x);
        if (most != least && most - least < 0x1p-122f) continue;  // 1 / d may be infinite: reads m
        auto const rule = by_the_rule(b, x);
        for (std::size_t i = 0; i < b.size(); ++i)
          ASSERT_EQ(got[b.size() * group + i], rule[i])
              << exponent << " " << seed << " group " << group << " byte " << i;
      }
    }
}

// Each mean of two neighbours, and what is just below it.
TEST(few_bits, iq4_nl_takes_the_larger_of_two_numbers_that_are_as_near) {
  for (std::size_t i = 0; i < 15; ++i) {
    std::vector<float> head(32, 0.0f);
    auto const middle = static_cast<float>(table[i] + table[i + 1]) / 2;
    head[3] = -127, head[5] = middle, head[20] = std::nextafter(middle, -200.0f);
    auto const written = bytes_of<iq4_nl>(head);
    EXPECT_EQ(written[2 + 5] & 15, static_cast<int>(i + 1));
    EXPECT_EQ(written[2 + 4] >> 4, static_cast<int>(i));
    EXPECT_EQ(written, by_the_rule(of<iq4_nl>, head));
  }
}

TYPED_TEST(few_bits, of_equal_numbers_is_these_numbers) {
  auto const& b = of<TypeParam>;
  for (float const x : {0.0f, -0.0f, 2.5f, -0.75f}) {
    std::vector<float> head(32, x);
    EXPECT_EQ(bytes_of<TypeParam>(head), by_the_rule(b, head)) << x;
    for (auto const y : through(TypeParam{}, head)) EXPECT_NEAR(y, x, 0x1p-11f * std::abs(x)) << x;
  }
}

// A least number of 0 has the sign of the first 0.
TEST(few_bits, of_a_least_number_takes_the_first_zero) {
  for (float const first : {0.0f, -0.0f}) {
    auto head = numbers::random<float>(32);
    for (auto& x : head) x = std::abs(x);
    head[9] = first, head[17] = -first;
    EXPECT_EQ(bytes_of<q4_1>(head), by_the_rule(of<q4_1>, head));
    EXPECT_EQ(bytes_of<q5_1>(head), by_the_rule(of<q5_1>, head));
    EXPECT_EQ(through(q5_1{}, head)[9], 0);
  }
}

TYPED_TEST(few_bits, of_two_extremes_takes_the_first) {
  for (float const sign : {1.0f, -1.0f}) {
    std::vector<float> head(32, 0.5f);
    head[5] = 4 * sign, head[21] = -4 * sign;
    EXPECT_EQ(bytes_of<TypeParam>(head), by_the_rule(of<TypeParam>, head));
  }
}

TYPED_TEST(few_bits, makes_a_group_with_a_number_that_is_not_finite_nan) {
  for (double const bad : {not_a_number(), -not_a_number(), infinity(), minus_infinity()})
    for (std::size_t const at : {32u, 40u, 63u}) {
      auto head = numbers::random<float>(96);
      head[at] = static_cast<float>(bad);
      auto const read = through(TypeParam{}, head);
      for (std::size_t i = 0; i < 96; ++i) EXPECT_EQ(std::isnan(read[i]), i / 32 == 1) << bad;
    }
  std::vector<float> const all(32, float_of_bits(0xffc00000));
  for (auto const x : through(TypeParam{}, all)) EXPECT_TRUE(std::isnan(x));
}

// As ggml: half has no scale above 65504.
TYPED_TEST(few_bits, writes_an_infinite_scale_where_half_has_none) {
  std::vector<float> head(32, 1.0f);
  head[0] = 1e8f, head[31] = -1e8f;
  EXPECT_EQ(bytes_of<TypeParam>(head), by_the_rule(of<TypeParam>, head));
  for (auto const x : through(TypeParam{}, head)) EXPECT_FALSE(posenc::is_finite(double{x}));
}

#endif

}  // namespace
}  // namespace of_few_bits
