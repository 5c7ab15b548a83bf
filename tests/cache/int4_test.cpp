#include "posenc/cache/int4.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "cache/codes.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "rejects.hpp"

namespace of_int4 {
namespace {

using posenc::int4_per_head;
using posenc::int4_static;

// Code i of byte i / 2, the even one in the low bits.
int nibble(encoded const& x, std::size_t i) {
  return i % 2 == 0 ? x.code(i / 2) & 15 : x.code(i / 2) >> 4;
}
std::uint32_t bits_of_scale(encoded const& x) {
  return posenc::detail::number_at<std::uint32_t>(x.scales.data());
}
int zero_of(encoded const& x) { return static_cast<int>(bits_of_scale(x) & 15); }

constexpr float scales[] = {0x1p-9f, 1, 0x1p4f};  // whose codes and ties are exact

TEST(int4_static, writes_and_reads_every_code_rounds_ties_to_even_and_clamps) {
  for (auto const scale : scales) {
    int4_static const format{scale};
    std::vector<float> head{8 * scale, 1e9f, -9 * scale, -1e9f, 7.5f * scale, -8.5f * scale};
    std::vector<int> codes{7, 7, -8, -8, 7, -8};
    for (int c = -8; c < 7; ++c)
      for (int quarters = 0; quarters < 4; ++quarters) {
        head.push_back((static_cast<float>(c) + static_cast<float>(quarters) / 4) * scale);
        codes.push_back(nearest_even(c, quarters));
      }
    auto const written = encode(format, head);
    EXPECT_EQ(written.codes.size(), head.size() / 2);
    auto const read = decode(format, written, head.size());
    for (std::size_t i = 0; i < head.size(); ++i) {
      ASSERT_EQ(nibble(written, i), codes[i] + 8) << head[i] / scale;
      ASSERT_EQ(read[i], static_cast<float>(codes[i]) * scale);
    }
  }
}

// What MLAS's header says: ((q0 + 8) & 15) | ((q1 + 8) & 15) << 4, x = (nibble - 8) scale.
TEST(int4_static, packs_as_mlas) {
  auto const written = encode(int4_static{0.5f}, std::vector{-4.0f, 3.5f, 0.0f, -0.5f});
  EXPECT_EQ(written.code(0), 0xf0);
  EXPECT_EQ(written.code(1), 0x78);
}

// Each byte, with scales of many bits: one rounding, that of the product.
TEST(int4_static, reads_every_byte) {
  encoded all;
  for (int i = 0; i < 256; ++i) all.codes.push_back(static_cast<std::byte>(i));
  for (float const scale : {0.1f, 1.0f / 3, 1.7f, 1e-30f}) {
    auto const read = decode(int4_static{scale}, all, 512);
    for (std::size_t i = 0; i < 512; ++i)
      ASSERT_EQ(read[i], static_cast<float>((nibble(all, i) - 8) * double{scale})) << i;
  }
}

TEST(int4_static, of_scale_0_writes_as_of_1_and_reads_0) {
  std::vector<float> const head{3.4f, -20, 0, -0.5f};
  EXPECT_EQ(encode(int4_static{0}, head), encode(int4_static{1}, head));
  for (auto const x : through(int4_static{0}, head)) EXPECT_EQ(x, 0);
}

TEST(int4_static, refuses_a_scale_that_is_none_and_an_odd_head) {
  std::string const message =
      "posenc: int4_static: the scale must be finite and not negative, got ";
  EXPECT_EQ(message_of([] { int4_static{-1}.bytes(8); }), message + "-1");
  EXPECT_EQ(message_of([] { int4_static{float_of_bits(0x7fc00000)}.bytes(8); }), message + "NaN");
  EXPECT_EQ(message_of([] { int4_static{}.bytes(9); }),
            "posenc: int4_static: head_dim must be even, got 9");
}

// A scale has 20 bits but for the zero point, so that what is read has no rounding.
TEST(int4_per_head, reads_every_byte_with_every_zero_point) {
  encoded all;
  for (int i = 0; i < 256; ++i) all.codes.push_back(static_cast<std::byte>(i));
  for (float const scale : {0.1f, 1e-6f, 0x1.fffffep3f, 2e37f})
    for (std::uint32_t zero = 0; zero < 16; ++zero) {
      auto const bits = (std::bit_cast<std::uint32_t>(scale) & ~15u) | zero;
      all.scales.resize(4), posenc::detail::put(all.scales.data(), bits);
      auto const step = double{std::bit_cast<float>(bits - zero)};
      auto const read = decode(int4_per_head{}, all, 512);
      for (std::size_t i = 0; i < 512; ++i)
        ASSERT_EQ(double{read[i]}, (nibble(all, i) - static_cast<int>(zero)) * step) << i;
    }
}

// As in vLLM: there is no zero point beyond the codes, and 0 is always among what can be read.
TEST(int4_per_head, cuts_numbers_of_one_sign_to_15_steps_from_0) {
  std::vector<float> head(32, 10.0f);
  head[0] = 11.5f;  // a step of 0.1
  EXPECT_EQ(zero_of(encode(int4_per_head{}, head)), 0);
  for (auto const x : through(int4_per_head{}, head)) EXPECT_NEAR(x, 1.5f, 1.5f * 0x1p-18f);
  for (auto& x : head) x = -x;
  EXPECT_EQ(zero_of(encode(int4_per_head{}, head)), 15);
  for (auto const x : through(int4_per_head{}, head)) EXPECT_NEAR(x, -1.5f, 1.5f * 0x1p-18f);
  // x / scale is beyond the integers.
  for (auto const x : through(int4_per_head{}, std::vector<float>(34, 1e4f)))
    EXPECT_NEAR(x, 15e-6f, 15e-6f * 0x1p-18f);
  std::vector<float> const large{3e38f, 2.9e38f};
  for (auto const x : through(int4_per_head{}, large)) EXPECT_NEAR(x / 1e37f, 1, 0x1p-18f);
}

TEST(int4_per_head, refuses_an_odd_head) {
  EXPECT_EQ(message_of([] { std::ignore = int4_per_head{}.bytes(65); }),
            "posenc: int4_per_head: head_dim must be even, got 65");
}

// In doubles by the rule: the same codes but where x / scale + zero is as near to a tie as the
// roundings of float are.
TEST(int4_per_head, has_the_codes_of_the_rule) {
  std::size_t near_ties = 0, all = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    auto head = numbers::random<float>(2 * (seed % 67 + 1), seed);
    for (auto& x : head) x = std::ldexp(x, static_cast<int>(seed % 60) - 15);
    auto const [least, most] = std::ranges::minmax(head);
    auto const scale = std::max((double{most} - double{least}) / 15, 1e-6),
               zero = std::clamp(std::floor(-double{least} / scale + 0.5), 0.0, 15.0);
    auto const written = encode(int4_per_head{}, head);
    auto const step = double{std::bit_cast<float>(bits_of_scale(written) & ~15u)};
    EXPECT_NEAR(step, scale, scale * (0x1p-19 + 0x1p-22));
    if (zero_of(written) != static_cast<int>(zero)) {
      auto const of_zero = -double{least} / scale + 0.5;
      EXPECT_NEAR(of_zero, std::round(of_zero), 0x1p-18);
      continue;
    }
    for (std::size_t i = 0; i < head.size(); ++i, ++all) {
      auto const x = double{head[i]} / scale + zero + 0.5;
      if (nibble(written, i) == std::clamp(static_cast<int>(std::floor(x)), 0, 15)) continue;
      EXPECT_NEAR(x, std::round(x), 0x1p-18), ++near_ties;
    }
  }
  EXPECT_LT(near_ties, all / 1000);
}

#if !defined(__FAST_MATH__)  // where a quotient may be rounded otherwise, and NaN is not promised

TEST(int4_per_head, writes_and_reads_every_code_and_rounds_ties_up) {
  for (auto const scale : scales)
    for (int zero = 0; zero <= 15; ++zero) {
      auto const least = static_cast<float>(-zero);
      std::vector<float> head{least * scale, (least + 15) * scale};
      std::vector<int> codes{0, 15};
      for (int quarters = 0; quarters <= 60; ++quarters) {
        auto const code = static_cast<float>(quarters) / 4;
        head.push_back((code + least) * scale);
        codes.push_back(static_cast<int>(std::floor(code + 0.5f)));
      }
      head.push_back(0), codes.push_back(zero);
      auto const written = encode(int4_per_head{}, head);
      EXPECT_EQ(written.codes.size(), head.size() / 2);
      EXPECT_EQ(bits_of_scale(written),
                std::bit_cast<std::uint32_t>(scale) | static_cast<std::uint32_t>(zero));
      auto const read = decode(int4_per_head{}, written, head.size());
      for (std::size_t i = 0; i < head.size(); ++i) {
        ASSERT_EQ(nibble(written, i), codes[i]) << head[i] / scale;
        ASSERT_EQ(read[i], static_cast<float>(codes[i] - zero) * scale);
      }
    }
}

TEST(int4_per_head, has_a_least_scale) {
  auto const written = encode(int4_per_head{}, std::vector{1e-5f, -2.5e-6f, 0.0f, 1e-6f});
  EXPECT_EQ(bits_of_scale(written), (std::bit_cast<std::uint32_t>(1e-6f) & ~15u) | 3u);
  EXPECT_EQ(nibble(written, 0), 13);
  for (auto const x : through(int4_per_head{}, std::vector<float>(34, 0.0f))) EXPECT_EQ(x, 0);
}

// vLLM's int4_per_token_head, of the first five; 0 is the zero point.
TEST(int4_per_head, is_vllms_byte_for_byte) {
  auto const written =
      encode(int4_per_head{}, std::vector{0.5f, -1.27f, 0.333f, 0.0049f, -0.0051f, 0.0f});
  EXPECT_EQ(bits_of_scale(written), 0x3df1a9fbu);  // 0.118 is 0x3df1a9fc, the zero point 11
  std::vector<int> codes;
  for (std::size_t i = 0; i < 6; ++i) codes.push_back(nibble(written, i));
  EXPECT_EQ(codes, (std::vector{15, 0, 14, 11, 11, 11}));
}

TEST(int4_per_head, makes_a_head_with_a_number_that_is_not_finite_nan) {
  auto const all_nan = [](std::span<float const> head) {
    auto const written = encode(int4_per_head{}, head);
    EXPECT_TRUE(std::ranges::all_of(decode(int4_per_head{}, written, head.size()),
                                    [](float x) { return std::isnan(x); }));
  };
  for (double const bad : {not_a_number(), -not_a_number(), infinity(), minus_infinity()})
    for (std::size_t const at : {0u, 40u, 63u}) {
      auto head = numbers::random<float>(64);
      head[at] = static_cast<float>(bad);
      all_nan(head);
    }
  all_nan(std::vector{3e38f, -3e38f});
}

// As MLAS, whose std::min(7.0f, x) is 7.
TEST(int4_static, gives_nan_its_greatest_code) {
  std::vector<float> const head{static_cast<float>(infinity()),
                                static_cast<float>(minus_infinity()), float_of_bits(0x7fc00000),
                                float_of_bits(0xffc00000)};
  auto const written = encode(int4_static{1}, head);
  EXPECT_EQ(written.code(0), 0x0f);
  EXPECT_EQ(written.code(1), 0xff);
}

#endif

}  // namespace
}  // namespace of_int4
