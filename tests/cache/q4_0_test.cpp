#include "posenc/cache/q4_0.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "cache/codes.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/heads/storage.hpp"
#include "rejects.hpp"

namespace of_q4_0 {
namespace {

using posenc::half;
using posenc::q4_0;

TEST(q4_0, writes_and_reads_every_code_and_rounds_ties_away_from_the_extreme) {
  for (float const d : {-1.0f, 1.0f, 0x1p-9f, -0x1p4f}) {
    std::vector<float> head;
    std::vector<int> codes;
    auto const add = [&](double code) {
      if (head.size() % 32 == 0) head.push_back(-8 * d), codes.push_back(0);
      head.push_back(static_cast<float>(code - 8) * d);
      codes.push_back(std::min(15, static_cast<int>(std::floor(code + 0.5))));
    };
    for (int quarters = 0; quarters <= 64; ++quarters) add(quarters / 4.0);
    while (head.size() % 32 != 0) add(8);
    auto const written = encode(q4_0{}, head);
    ASSERT_EQ(written.codes.size(), head.size() / 32 * 18);
    auto const read = decode(q4_0{}, written, head.size());
    for (std::size_t i = 0; i < head.size(); ++i)
      ASSERT_EQ(read[i], static_cast<float>(codes[i] - 8) * d) << head[i] / d;
  }
}

// Every scale that half has, and every byte of codes: 16 numbers of the low and 16 of the high
// bits. What is read has no rounding: 4 bits of 11.
TEST(q4_0, reads_every_code_with_every_scale) {
  std::vector<float> read(32);
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    std::vector<std::byte> group(18);
    auto const d = half::from_bits(static_cast<std::uint16_t>(bits));
    posenc::detail::put(group.data(), d.bits);
    for (std::size_t j = 0; j < 16; ++j)
      group[2 + j] = static_cast<std::byte>(j + 16 * ((j + bits) % 16));
    q4_0{}.decode(group.data(), read);
    auto const scale = double{static_cast<float>(d)};
    if ((bits & 0x7c00) == 0x7c00) continue;  // not finite
    for (std::size_t j = 0; j < 16; ++j) {
      ASSERT_EQ(double{read[j]}, (static_cast<int>(j) - 8) * scale) << bits;
      ASSERT_EQ(double{read[j + 16]}, (static_cast<int>((j + bits) % 16) - 8) * scale) << bits;
    }
  }
}

TEST(q4_0, refuses_a_head_that_is_no_whole_number_of_groups) {
  EXPECT_EQ(message_of([] { std::ignore = q4_0{}.bytes(40); }),
            "posenc: q4_0: head_dim must be a multiple of 32, got 40");
  EXPECT_EQ(q4_0{}.bytes(128), 72u);
}

// Half a step; a whole one opposite the extreme, where 8 steps are stored as 7.
TEST(q4_0, reads_what_it_wrote_to_half_a_step) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    auto const head = numbers::random<float>(32, seed);
    auto const extreme = *std::ranges::max_element(head, {}, [](float x) { return std::abs(x); });
    auto const step = std::abs(extreme) / 8;
    auto const read = through(q4_0{}, head);
    for (std::size_t i = 0; i < 32; ++i) {
      bool const is_opposite = head[i] / extreme < -7.5f / 8;
      // The step is rounded to half, and read 8 times at most.
      EXPECT_NEAR(read[i], head[i], step * (is_opposite ? 1 : 0.5f) + 8 * step * 0x1p-11f);
    }
  }
}

#if !defined(__FAST_MATH__)  // where a quotient may be rounded otherwise, and NaN is not promised

using bytes = std::vector<int>;

bytes bytes_of(std::span<float const> head) {
  auto const written = encode(q4_0{}, head);
  bytes result;
  for (std::size_t i = 0; i < written.codes.size(); ++i) result.push_back(written.code(i));
  return result;
}
// A scale in the CPU's byte order, as ggml has it in memory.
void push_scale(bytes& to, std::uint16_t bits) {
  constexpr bool low_first = std::endian::native == std::endian::little;
  to.push_back(low_first ? bits & 0xff : bits >> 8),
      to.push_back(low_first ? bits >> 8 : bits & 0xff);
}

// By ggml's rule, in doubles: each operation is exact, and then rounded to float.
bytes by_the_rule(std::span<float const> head) {
  bytes result;
  for (std::size_t first = 0; first < head.size(); first += 32) {
    double extreme = 0;
    for (auto const x : head.subspan(first, 32))
      if (std::abs(extreme) < std::abs(double{x})) extreme = x;
    auto const d = static_cast<float>(extreme / -8),
               inverse = d != 0 ? static_cast<float>(1 / double{d}) : 0;
    push_scale(result, half(d).bits);
    auto const code = [&](std::size_t i) {
      auto const product = static_cast<float>(double{head[first + i]} * double{inverse}),
                 sum = static_cast<float>(double{product} + 8.5);
      // 1 / d is infinite for the smallest d; on x86 such a sum converts to a code of 0.
      return posenc::is_finite(double{sum}) ? std::min(15, static_cast<int>(sum)) : 0;
    };
    for (std::size_t j = 0; j < 16; ++j) result.push_back(code(j) | code(j + 16) << 4);
  }
  return result;
}

int code_of(bytes const& group, std::size_t i) {
  return i < 16 ? group[2 + i] & 15 : group[2 + i - 16] >> 4;
}

// ggml's quantize_row_q4_0_ref, of f32(sin(.7 i) (1 + .1 i)).
TEST(q4_0, is_ggmls_byte_for_byte) {
  std::vector<float> head;
  for (int i = 0; i < 32; ++i)
    head.push_back(static_cast<float>(std::sin(0.7 * i) * (1 + 0.1 * i)));
  bytes expected;
  push_scale(expected, 0xb7be);
  for (int const code : {0xd8, 0xb7, 0x86, 0x46, 0x27, 0x39, 0x6b, 0xbb, 0xea, 0xf8, 0xc5, 0x84,
                         0x34, 0x06, 0x1a, 0x6d})
    expected.push_back(code);
  EXPECT_EQ(bytes_of(head), expected);
}

// Numbers of all sizes, many of them multiples of their extreme, or twice the largest magnitude.
TEST(q4_0, has_the_bytes_of_ggmls_rule) {
  for (int exponent = -149; exponent < 127; ++exponent)
    for (unsigned seed = 0; seed < 30; ++seed) {
      auto head = numbers::random<float>(160, seed);
      for (auto& x : head) {
        if (seed % 3 == 0) x = std::round(x * 16) / 16;
        if (seed % 7 == 0) x = x < 0 ? -1.0f : 1.0f;
        x = std::ldexp(x, exponent);
      }
      auto const rule = by_the_rule(head), got = bytes_of(head);
      for (std::size_t group = 0; group < 5; ++group) {
        std::span const of_head = std::span(head).subspan(32 * group, 32);
        auto const most =
            std::abs(*std::ranges::max_element(of_head, {}, [](float x) { return std::abs(x); }));
        if (most != 0 && most < 0x1p-124f) continue;  // 1 / d may be infinite: reads 0
        for (std::size_t i = 18 * group; i < 18 * (group + 1); ++i)
          ASSERT_EQ(got[i], rule[i]) << exponent << " " << seed << " byte " << i;
      }
    }
}

TEST(q4_0, of_two_extremes_takes_the_first) {
  for (float const sign : {1.0f, -1.0f}) {
    std::vector<float> head(32, 0.5f);
    head[5] = 4 * sign, head[21] = -4 * sign;
    auto const written = bytes_of(head);
    EXPECT_EQ(code_of(written, 5), 0);
    EXPECT_EQ(code_of(written, 21), 15);
    EXPECT_EQ(written, by_the_rule(head));
  }
}

// d is -0, as ggml's quotient of +0 and -8 is, whatever the signs of the zeros.
TEST(q4_0, of_zeros_is_zeros) {
  bytes expected;
  push_scale(expected, 0x8000);
  expected.resize(18, 0x88);
  for (unsigned seed = 0; seed < 3; ++seed) {
    std::vector<float> head(32, seed == 0 ? 0.0f : -0.0f);
    if (seed == 2) head[7] = 0.0f;
    EXPECT_EQ(bytes_of(head), expected);
    for (auto const x : through(q4_0{}, head)) EXPECT_EQ(x, 0);
  }
  for (float const tiny : {0x1p-149f, 0x1p-130f, -0x1p-126f}) {  // a step below those of half
    std::vector<float> head(32, 0.0f);
    head[3] = tiny;
    for (auto const x : through(q4_0{}, head)) EXPECT_EQ(x, 0);
  }
}

TEST(q4_0, makes_a_group_with_a_number_that_is_not_finite_nan) {
  for (double const bad : {not_a_number(), -not_a_number(), infinity(), minus_infinity()})
    for (std::size_t const at : {32u, 40u, 63u}) {
      auto head = numbers::random<float>(96);
      head[at] = static_cast<float>(bad);
      auto const read = through(q4_0{}, head);
      for (std::size_t i = 0; i < 96; ++i) EXPECT_EQ(std::isnan(read[i]), i / 32 == 1) << bad;
    }
  std::vector<float> const all(32, float_of_bits(0xffc00000));
  for (auto const x : through(q4_0{}, all)) EXPECT_TRUE(std::isnan(x));
}

TEST(q4_0, reads_infinity_where_half_has_no_such_scale) {
  std::vector<float> head(32, 0.0f);
  head[0] = 8 * 65504.0f, head[31] = -7 * 65504.0f;
  EXPECT_EQ(through(q4_0{}, head), head);
  head[0] *= 1.01f;
  auto const read = through(q4_0{}, head);
  EXPECT_EQ(read[0], infinity());
  EXPECT_EQ(read[31], minus_infinity());
  EXPECT_TRUE(std::isnan(read[2]));
}

#endif

}  // namespace
}  // namespace of_q4_0
