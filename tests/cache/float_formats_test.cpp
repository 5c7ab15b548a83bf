#include "posenc/cache/float_formats.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "cache/codes.hpp"
#include "core/own_storage.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "rejects.hpp"

namespace of_float_formats {
namespace {

using posenc::bfloat16;
using posenc::deepseek_v4;
using posenc::e4m3;
using posenc::e4m3_rounding;
using posenc::numbers_of;

// The number of a code, from the definition of E4M3.
double e4m3_number(int code) {
  auto const exponent = (code >> 3) & 15, fraction = code & 7;
  auto const magnitude =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}

int written(float x, e4m3 const& format = {}) { return encode(format, std::vector{x}).code(0); }

TEST(e4m3, reads_and_writes_every_code) {
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7f) == 0x7f) continue;
    encoded const x{{static_cast<std::byte>(code)}, {}};
    auto const number = decode(e4m3{}, x, 1)[0];
    EXPECT_EQ(number, e4m3_number(code)) << code;
#if !defined(__FAST_MATH__)  // where the sign of 0 is not promised
    EXPECT_EQ(std::signbit(number), code >= 128);
#endif
    EXPECT_EQ(written(number), code);
    EXPECT_EQ(written(number, {1, 1, e4m3_rounding::towards_zero}), code == 0x80 ? 0 : code)
        << "vLLM's has no -0";
  }
}

// As attention reads it.
TEST(e4m3, loads_every_code_into_every_lane) {
  using lanes = posenc::detail::lanes<float>;
  std::vector<std::byte> head(256 + lanes::size - 1);
  for (std::size_t i = 0; i < head.size(); ++i) head[i] = static_cast<std::byte>(i % 256);
  for (std::size_t first = 0; first < 256; ++first) {
    float numbers[lanes::size];
    lanes::store(numbers, e4m3::load<lanes>(head.data(), first));
    for (std::size_t i = 0; i < lanes::size; ++i) {
      auto const code = static_cast<int>((first + i) % 256);
      if ((code & 0x7f) != 0x7f) {
        EXPECT_EQ(numbers[i], e4m3_number(code) * 0x1p-8) << code;
      } else {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(numbers[i]) & 0x7fc0'0000u, 0x7fc0'0000u) << code;
      }
    }
  }
}

TEST(e4m3, rounds_every_tie_to_even_and_its_neighbours_to_the_nearest) {
  constexpr auto far = std::numeric_limits<float>::infinity();
  for (int code = 0; code < 0x7e; ++code)
    for (int const sign : {0, 0x80}) {
      auto const of_sign = sign == 0 ? 1.0f : -1.0f;
      auto const tie =
          of_sign * static_cast<float>((e4m3_number(code) + e4m3_number(code + 1)) / 2);
      EXPECT_EQ(written(tie), sign | (code % 2 == 0 ? code : code + 1));
      EXPECT_EQ(written(std::nextafter(tie, of_sign * far)), sign | (code + 1));
      EXPECT_EQ(written(std::nextafter(tie, 0.0f)), sign | code);
      // vLLM's writer stays at the code below, up to the next number.
      e4m3 const shifted{1, 1, e4m3_rounding::towards_zero};
      EXPECT_EQ(written(tie, shifted), code == 0 ? sign : sign | code);
      auto const next = of_sign * static_cast<float>(e4m3_number(code + 1));
      EXPECT_EQ(written(next, shifted), sign | (code + 1));
      EXPECT_EQ(written(next * (1 - 0x1p-18f), shifted), sign | code);
    }
}

TEST(e4m3, clamps_at_448) {
  for (float const x : {448.0f, 463.9f, 464.0f, 465.0f, 1000.0f, 3e38f}) {
    for (auto const rounding : {e4m3_rounding::nearest, e4m3_rounding::towards_zero}) {
      EXPECT_EQ(written(x, {1, 1, rounding}), 0x7e);
      EXPECT_EQ(written(-x, {1, 1, rounding}), 0xfe);
    }
  }
  EXPECT_EQ(written(float_of_bits(0x7f800000)), 0x7e) << "infinity";
  EXPECT_EQ(written(float_of_bits(0xff800000)), 0xfe);
}

// Conversions of CUDA, Hugging Face's torch and others agree on these.
TEST(e4m3, has_the_codes_that_others_publish) {
  std::vector<float> const x{0.1f,  0.3f,    1.0625f, 1.1875f,  17.0f,
                             -3.3f, 1000.0f, 0x1p-9f, 0x1p-10f, 1.5f * 0x1p-9f};
  std::vector<int> const nearest{0x1d, 0x2a, 0x38, 0x3a, 0x58, 0xc5, 0x7e, 1, 0, 2};
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(written(x[i]), nearest[i]) << x[i];
  // vLLM's writer for CPUs gives .1, .3 and 1.1875 the numbers below.
  e4m3 const shifted{1, 1, e4m3_rounding::towards_zero};
  EXPECT_EQ(through(shifted, std::vector{0.1f, 0.3f, 1.1875f}),
            (std::vector{0.09375f, 0.28125f, 1.125f}));
}

TEST(e4m3, keeps_nan_but_for_vllms_writer) {
  auto const nan = float_of_bits(0x7fc00000), minus_nan = float_of_bits(0xffc00000);
  EXPECT_EQ(written(nan), 0x7f);
  EXPECT_EQ(written(minus_nan), 0xff);
  EXPECT_EQ(written(nan, {1, 1, e4m3_rounding::towards_zero}), 0x7e);
  EXPECT_EQ(written(minus_nan, {1, 1, e4m3_rounding::towards_zero}), 0x7e);
  for (int const code : {0x7f, 0xff}) {
    encoded const x{{static_cast<std::byte>(code)}, {}};
    auto const number = std::bit_cast<std::uint32_t>(decode(e4m3{}, x, 1)[0]);
    EXPECT_GT(number & 0x7fffffffu, 0x7f800000u);
  }
}

TEST(e4m3, divides_by_a_scale_or_multiplies_by_a_quant_scale) {
  auto const by = e4m3::of_scale(0.25f), quant = e4m3::of_quant_scale(4);
  EXPECT_EQ(by.inverse, 4);
  EXPECT_EQ(quant.scale, 0.25f);
  std::vector<float> const head{1.1f, -20, 0.01f};
  EXPECT_EQ(encode(by, head), encode(quant, head));
  EXPECT_EQ(through(by, head)[1], -20);
  EXPECT_EQ(e4m3::of_quant_scale(0.3f).inverse, 0.3f) << "itself, not 1 / (1 / .3)";
}

TEST(e4m3, divides_by_the_scale_where_no_inverse_is_given) {
  std::vector<float> const head{-3, 0.5f, 1, 100};
  auto const of_scale = encode(e4m3::of_scale(0.3f), head),
             by_hand = encode(e4m3{.scale = 0.3f}, head);
  EXPECT_EQ(by_hand.codes, of_scale.codes);
}

TEST(e4m3, refuses_a_scale_that_is_none) {
  std::string const message =
      "posenc: e4m3: the scale and its inverse must be finite and positive, got ";
  EXPECT_EQ(message_of([] { e4m3::of_scale(0); }), message + "0");
  EXPECT_EQ(message_of([] { e4m3::of_scale(-2); }), message + "-2");
  EXPECT_EQ(message_of([] { e4m3{.scale = -2}.bytes(8); }), message + "-2");
  EXPECT_EQ(message_of([] { e4m3{.scale = 2, .inverse = -1}.bytes(8); }), message + "2");
  EXPECT_EQ(message_of([] { e4m3::of_quant_scale(float_of_bits(0x7f800000)); }),
            message + "infinity");
  EXPECT_EQ(message_of([] { e4m3::of_scale(float_of_bits(0x7fc00000)); }), message + "NaN");
  for (auto const tiny : {1e-39f, 1e-45f}) {  // 0 times their inverse were NaN
    EXPECT_TRUE(message_of([=] { e4m3::of_scale(tiny); }).starts_with(message));
    EXPECT_TRUE(message_of([=] { e4m3::of_quant_scale(tiny); }).starts_with(message));
  }
  // Attention multiplies by 256 times the scale.
  std::string const below = "posenc: e4m3: the scale must be below 2^120, got ";
  auto const most = std::nextafter(0x1p120f, 0.0f);
  EXPECT_TRUE(posenc::is_finite(e4m3::of_scale(most).factor()));
  EXPECT_TRUE(message_of([] { e4m3::of_scale(0x1p120f); }).starts_with(below));
  EXPECT_TRUE(message_of([] { e4m3{.scale = 0x1p120f}.bytes(8); }).starts_with(below));
  EXPECT_TRUE(message_of([] { e4m3::of_quant_scale(0x1p-120f); }).starts_with(below));
  EXPECT_EQ(e4m3::of_quant_scale(0x1p120f).scale, 0x1p-120f);
}

// 1,048,576 normal numbers, whose error is that of 3 bits of fraction: 2.65 % rms to the nearest,
// 5.1 % and .957 of the length towards zero.
TEST(e4m3, towards_zero_costs_twice_the_error_and_four_percent_of_the_length) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> head(std::size_t{1} << 20);
  for (auto& x : head) x = normal(random);
  auto const measure = [&](e4m3_rounding rounding) {
    auto const read = through(e4m3::of_scale(0x1p-5f, rounding), head);
    double squares = 0, errors = 0, products = 0;
    for (std::size_t i = 0; i < head.size(); ++i) {
      auto const x = static_cast<double>(head[i]), y = static_cast<double>(read[i]);
      squares += x * x, errors += (x - y) * (x - y), products += x * y;
    }
    return std::pair(std::sqrt(errors / squares), products / squares);
  };
  auto const [nearest, slope] = measure(e4m3_rounding::nearest);
  auto const [shifted, shrunk] = measure(e4m3_rounding::towards_zero);
  EXPECT_NEAR(nearest, 0.0265, 0.0005);
  EXPECT_NEAR(slope, 1, 0.001);
  EXPECT_NEAR(shifted, 0.051, 0.001);
  EXPECT_NEAR(shrunk, 0.957, 0.001);
}

TEST(numbers_of, has_the_numbers_side_by_side) {
  numbers::in_every_format([]<class T>() {
    if constexpr (!std::same_as<T, double>) {
      for (std::size_t const dim : {1u, 7u, 16u, 33u, 128u}) {
        auto const head = numbers::random<float>(dim);
        auto const x = encode(numbers_of<T>{}, head);
        ASSERT_EQ(x.codes.size(), dim * sizeof(T));
        auto const read = decode(numbers_of<T>{}, x, dim);
        for (std::size_t i = 0; i < dim; ++i) {
          T number;
          posenc::store(number, head[i]);
          ASSERT_EQ(std::memcmp(x.codes.data() + i * sizeof(T), &number, sizeof(T)), 0);
          ASSERT_EQ(read[i], posenc::load(number));
        }
      }
    }
  });
  EXPECT_EQ(encode(numbers_of<engine::brain_float>{}, std::vector{1.5f}),
            encode(numbers_of<bfloat16>{}, std::vector{1.5f}));
}

// vLLM's, of bf16((-1)^i (.01 + .037 i)).
std::vector<float> published_tile() {
  std::vector<float> head(128);
  for (int i = 0; i < 64; ++i)
    head[static_cast<std::size_t>(i)] =
        static_cast<float>(bfloat16(static_cast<float>((i % 2 == 0 ? 1 : -1) * (.01 + .037 * i))));
  return head;
}

TEST(deepseek_v4, is_vllms_byte_for_byte) {
  auto const head = published_tile();
  auto const x = encode(deepseek_v4{}, head);
  EXPECT_EQ(x.codes.size(), 192u);
  EXPECT_EQ(x.scales, (std::vector{std::byte{120}, std::byte{0}}));
  std::vector<int> first, last;
  for (std::size_t i = 0; i < 4; ++i) first.push_back(x.code(i)), last.push_back(x.code(60 + i));
  EXPECT_EQ(first, (std::vector{0x3a, 0xcc, 0x53, 0xd8}));
  EXPECT_EQ(last, (std::vector{0x79, 0xf9, 0x79, 0xf9}));
  auto const read = decode(deepseek_v4{}, x, 128);
  EXPECT_EQ(read[0], 0.009765625f);
  EXPECT_EQ(read[1], -0.046875f);
  EXPECT_EQ(read[2], 0.0859375f);
  EXPECT_EQ(read[3], -0.125f);
  EXPECT_EQ(read[63], -2.25f);
}

TEST(deepseek_v4, scales_each_group_by_the_least_power_of_2_that_fits_and_keeps_64_dims) {
  std::vector<float> head(512);
  // 448 2^k fits exactly; the next number of bfloat16 does not.
  float const most[] = {448, 450, 224, 0x1p100f, 1, 0x1.c2p-40f, 0};
  for (std::size_t g = 0; g < 7; ++g) head[64 * g + 17] = -most[g];
  for (std::size_t i = 448; i < 512; ++i) head[i] = 1 + static_cast<float>(i) * 0x1p-20f;
  auto const x = encode(deepseek_v4{}, head);
  EXPECT_EQ(x.codes.size(), 576u);
  std::vector<int> exponents;
  for (auto const byte : x.scales) exponents.push_back(static_cast<int>(byte) - 127);
  // 1e-4 / 448 is 2^-22.1; 1 / 448 2^-8.8; the last byte is 0.
  EXPECT_EQ(exponents, (std::vector{0, 1, -1, 92, -8, -22, -22, -127}));
  EXPECT_EQ(encode(deepseek_v4::of_cpus(), head).scales[6], std::byte{127 - 13}) << "1e-4";
  auto const read = decode(deepseek_v4{}, x, 512);
  for (std::size_t g = 0; g < 5; ++g) EXPECT_NEAR(read[64 * g + 17] / -most[g], 1, 0x1p-4) << g;
  for (std::size_t i = 448; i < 512; ++i) EXPECT_EQ(read[i], float(bfloat16(head[i])));
}

TEST(deepseek_v4, of_cpus_writes_zero_for_what_is_below_2_to_the_minus_6) {
  std::vector<float> head(128);
  head[0] = 448, head[1] = 0x1.fep-7f, head[2] = 0x1p-6f, head[3] = -0x1p-9f;
  auto const kept = encode(deepseek_v4::of_cuda(), head),
             flushed = encode(deepseek_v4::of_cpus(), head);
  EXPECT_EQ(kept.code(1), 8) << "rounded up";
  EXPECT_EQ(kept.code(3), 0x81);
  EXPECT_EQ(flushed.code(1), 0);
  EXPECT_EQ(flushed.code(2), 8);
  EXPECT_EQ(flushed.code(3), 0x80);
}

TEST(deepseek_v4, makes_a_group_with_a_number_that_is_not_finite_nan_and_no_other) {
  for (std::uint32_t const bits : {0x7fc00000u, 0x7f800000u, 0xff800000u}) {
    std::vector<float> head(192, 1.0f);
    head[70] = float_of_bits(bits);
    auto const x = encode(deepseek_v4{}, head);
    EXPECT_EQ(x.scales[1], std::byte{255});
    auto const read = decode(deepseek_v4{}, x, 192);
    for (std::size_t i = 0; i < 192; ++i)
      EXPECT_EQ((std::bit_cast<std::uint32_t>(read[i]) & 0x7fffffffu) > 0x7f800000u,
                i >= 64 && i < 128)
          << i;
  }
}

// Every code, each tie and its neighbours, in a group whose largest number makes its power of 2.
TEST(deepseek_v4, writes_and_reads_every_code_and_rounds_ties_to_even) {
  for (int const power : {-20, -7, 0, 3}) {
    for (int const sign : {0, 0x80}) {
      for (int code = 0; code < 0x7e; ++code) {
        auto const of_sign = sign == 0 ? 1.0f : -1.0f;
        auto const number = of_sign * static_cast<float>(e4m3_number(code)),
                   tie = of_sign *
                         static_cast<float>((e4m3_number(code) + e4m3_number(code + 1)) / 2);
        // The least number of bfloat16 beyond, so that it stays one before it is rounded.
        auto const more = tie * (1 + 0x1p-7f), less = tie * (1 - 0x1p-7f);
        std::vector<float> head(128);
        head[0] = 448, head[1] = number, head[2] = tie, head[3] = more, head[4] = less;
        for (auto& x : head) x = std::ldexp(x, power);
        auto const x = encode(deepseek_v4{}, head);
        ASSERT_EQ(static_cast<int>(x.scales[0]), 127 + power);
        ASSERT_EQ(x.code(1), sign | code);
        ASSERT_EQ(x.code(2), sign | (code % 2 == 0 ? code : code + 1)) << code;
        ASSERT_EQ(x.code(3), sign | (code + 1)) << code;
        ASSERT_EQ(x.code(4), sign | code) << code;
        ASSERT_EQ(decode(deepseek_v4{}, x, 128)[1], head[1]);
      }
    }
  }
}

TEST(deepseek_v4, refuses_a_head_without_groups) {
  std::string const message =
      "posenc: deepseek_v4: head_dim must be a multiple of 64 above 64, got ";
  EXPECT_EQ(message_of([] { std::ignore = deepseek_v4{}.bytes(64); }), message + "64");
  EXPECT_EQ(message_of([] { std::ignore = deepseek_v4{}.bytes(200); }), message + "200");
}

}  // namespace
}  // namespace of_float_formats
