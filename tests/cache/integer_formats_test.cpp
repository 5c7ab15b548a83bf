#include "posenc/cache/integer_formats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/codes.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/cache/int4.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q4_1.hpp"
#include "posenc/cache/q5_0.hpp"
#include "posenc/cache/q5_1.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/heads/heads_view.hpp"
#include "rejects.hpp"

namespace of_integer_formats { namespace {

using posenc::half;
using posenc::heads_view;
using posenc::int8_per_head;
using posenc::int8_static;
using posenc::pages_shape;
using posenc::q8_0;
using posenc::q8_0_writer;
using posenc::u8_per_head;

// Scales that are powers of 2: codes and ties are exact.
constexpr float scales[] = {0x1p-9f, 1, 0x1p4f};

float float_at(encoded const& x, std::size_t byte) {
  return posenc::detail::number_at<float>(x.codes.data() + byte);
}

// c + quarters / 4, for every code c of a range and the ones between it and the next.
template <class Act>
void for_each_quarter(int first, int last, Act&& act) {
  for (int c = first; c < last; ++c)
    for (int quarters = 0; quarters < 4; ++quarters) act(c, quarters);
}
float at(int c, int quarters, float scale) {
  return (static_cast<float>(c) + static_cast<float>(quarters) / 4) * scale;
}

TEST(u8_per_head, writes_and_reads_every_code_and_rounds_ties_to_even) {
  for (auto const scale : scales) {
    std::vector<float> head{-128 * scale, 127 * scale};
    std::vector<int> codes{0, 255};
    for_each_quarter(-128, 127, [&](int c, int quarters) {
      head.push_back(at(c, quarters, scale));
      codes.push_back(nearest_even(c + 128, quarters));
    });
    auto const written = encode(u8_per_head{}, head);
    EXPECT_EQ(written.codes.size(), head.size() + 8);
    EXPECT_EQ(float_at(written, 0), scale);
    EXPECT_EQ(float_at(written, 4), 128);
    auto const read = decode(u8_per_head{}, written, head.size());
    for (std::size_t i = 0; i < head.size(); ++i) {
      ASSERT_EQ(written.code(8 + i), codes[i]) << head[i];
      ASSERT_EQ(read[i], static_cast<float>(codes[i] - 128) * scale);
    }
  }
}

TEST(u8_per_head, of_a_head_of_one_number_reads_it) {
  for (float const number : {0.0f, 0.5f, -3.0f}) {
    std::vector<float> const head(40, number);
    auto const written = encode(u8_per_head{}, head);
    EXPECT_EQ(float_at(written, 0), 1e-4f);
    EXPECT_EQ(written.code(8), 0);
    for (auto const x : through(u8_per_head{}, head))
      EXPECT_NEAR(x, number, std::abs(number) * 0x1p-22);
  }
}

TEST(q8_0, writes_and_reads_every_code_and_rounds_ties_as_its_writer_does) {
  for (auto const writer : {q8_0_writer::reference, q8_0_writer::avx2})
    for (auto const scale : scales) {
      // In groups of 32, each with the largest magnitude.
      std::vector<float> head;
      std::vector<int> codes;
      auto const add = [&](float x, int code) {
        if (head.size() % 32 == 0) head.push_back(127 * scale), codes.push_back(127);
        head.push_back(x), codes.push_back(code);
      };
      for_each_quarter(-127, 127, [&](int c, int quarters) {
        add(at(c, quarters, scale), writer == q8_0_writer::reference ? nearest_away(c, quarters)
                                                                     : nearest_even(c, quarters));
      });
      while (head.size() % 32 != 0) add(0, 0);
      q8_0 const format{writer};
      auto const written = encode(format, head);
      ASSERT_EQ(written.codes.size(), head.size() / 32 * 34);
      auto const read = decode(format, written, head.size());
      for (std::size_t i = 0; i < head.size(); ++i) {
        ASSERT_EQ(written.signed_code(i / 32 * 34 + 2 + i % 32), codes[i]) << head[i] / scale;
        ASSERT_EQ(read[i], static_cast<float>(codes[i]) * scale);
      }
    }
}

TEST(q8_0, reads_the_scale_that_it_stores_which_is_half) {
  std::vector<float> head(32, 0.0f);
  head[3] = 0.3f;
  auto const written = encode(q8_0{}, head);
  auto const d = half(0.3f / 127);
  EXPECT_EQ(posenc::detail::number_at<std::uint16_t>(written.codes.data()), d.bits);
  EXPECT_EQ(decode(q8_0{}, written, 32)[3], 127 * float(d));
}

TEST(q8_0, does_not_round_the_number_before_a_half_up) {
  std::vector<float> head(32, 0.0f);
  head[0] = 127, head[1] = std::nextafter(0.5f, 0.0f), head[2] = -head[1], head[3] = 0.5f;
  auto const written = encode(q8_0{}, head);
  EXPECT_EQ(written.signed_code(3), 0);
  EXPECT_EQ(written.signed_code(4), 0);
  EXPECT_EQ(written.signed_code(5), 1);
}

TEST(q8_0, of_zeros_is_zeros) {
  for (auto const writer : {q8_0_writer::reference, q8_0_writer::avx2}) {
    auto const written = encode(q8_0{writer}, std::vector<float>(64, 0.0f));
    EXPECT_EQ(written.codes, std::vector<std::byte>(68, std::byte{0}));
  }
}

TEST(q8_0, refuses_a_head_that_is_no_whole_number_of_groups) {
  EXPECT_EQ(message_of([] { std::ignore = q8_0{}.bytes(40); }),
            "posenc: q8_0: head_dim must be a multiple of 32, got 40");
}

TEST(int8_per_head, writes_and_reads_every_code_and_rounds_or_truncates) {
  for (bool const truncates : {false, true})
    for (auto const scale : scales) {
      std::vector<float> head{127 * scale};
      std::vector<int> codes{127};
      for_each_quarter(-127, 127, [&](int c, int quarters) {
        head.push_back(at(c, quarters, scale));
        codes.push_back(truncates ? towards_zero(c, quarters) : nearest_even(c, quarters));
      });
      int8_per_head const format{truncates};
      auto const written = encode(format, head);
      EXPECT_EQ(written.codes.size(), head.size());
      EXPECT_EQ(posenc::detail::number_at<float>(written.scales.data()), scale);
      auto const read = decode(format, written, head.size());
      for (std::size_t i = 0; i < head.size(); ++i) {
        ASSERT_EQ(written.signed_code(i), codes[i]) << head[i] / scale;
        ASSERT_EQ(read[i], static_cast<float>(codes[i]) * scale);
      }
    }
}

TEST(int8_per_head, has_a_least_scale) {
  auto const written = encode(int8_per_head{}, std::vector{1e-5f, -2.5e-6f, 0.0f});
  EXPECT_EQ(posenc::detail::number_at<float>(written.scales.data()), 1e-6f);
  EXPECT_EQ(written.signed_code(0), 10);
}

TEST(int8_static, writes_and_reads_every_code_rounds_ties_to_even_and_clamps) {
  for (auto const scale : scales) {
    int8_static const format{scale};
    std::vector<float> head{128 * scale, 1e9f,           -129 * scale,
                            -1e9f,       127.5f * scale, -128.5f * scale};
    std::vector<int> codes{127, 127, -128, -128, 127, -128};
    for_each_quarter(-128, 127, [&](int c, int quarters) {
      head.push_back(at(c, quarters, scale));
      codes.push_back(nearest_even(c, quarters));
    });
    auto const written = encode(format, head);
    auto const read = decode(format, written, head.size());
    for (std::size_t i = 0; i < head.size(); ++i) {
      ASSERT_EQ(written.signed_code(i), codes[i]) << head[i] / scale;
      ASSERT_EQ(read[i], static_cast<float>(codes[i]) * scale);
    }
  }
}

TEST(int8_static, of_scale_0_writes_as_of_1_and_reads_0) {
  std::vector<float> const head{3.4f, -200, 0};
  EXPECT_EQ(encode(int8_static{0}, head), encode(int8_static{1}, head));
  for (auto const x : through(int8_static{0}, head)) EXPECT_EQ(x, 0);
}

TEST(int8_static, refuses_a_scale_that_is_none) {
  std::string const message =
      "posenc: int8_static: the scale must be finite and not negative, got ";
  EXPECT_EQ(message_of([] { int8_static{-1}.bytes(8); }), message + "-1");
  EXPECT_EQ(message_of([] { int8_static{float_of_bits(0x7fc00000)}.bytes(8); }), message + "NaN");
}

// Random heads of every length: no number is further from what is read than half a step.
TEST(integer_formats, read_what_they_wrote_to_half_a_step) {
  for (std::size_t dim = 1; dim <= 130; ++dim) {
    auto const head = numbers::random<float>(dim, dim);
    float most = 0, least = 1, greatest = -1;
    for (auto const x : head)
      most = std::max(most, std::abs(x)), least = std::min(least, x),
      greatest = std::max(greatest, x);
    auto const expect = [&](std::vector<float> const& read, float step) {
      ASSERT_EQ(read.size(), dim);
      // Quotient, zero point, product: some roundings of up to 255 steps, and of the least number.
      for (std::size_t i = 0; i < dim; ++i)
        ASSERT_NEAR(read[i], head[i], step / 2 + (255 * step + most) * 6 * 0x1p-24f) << dim;
    };
    expect(through(u8_per_head{}, head), (greatest - least) / 255);
    expect(through(int8_per_head{}, head), most / 127);
    expect(through(int8_static{1.0f / 127}, head), 1.0f / 127);
    if (dim % 32 == 0) {  // a step of half: its rounding, 127 times
      expect(through(q8_0{}, head), most / 127 * (1 + 254 * 0x1p-11f));
      expect(through(q8_0{q8_0_writer::avx2}, head), most / 127 * (1 + 254 * 0x1p-11f));
    }
  }
}

#if !defined(__FAST_MATH__)  // where a quotient may be rounded otherwise, and NaN is not promised

// Some heads at once have the bytes that each has alone: fewer and more than a register has
// numbers, side by side or not, with numbers that fill no register.
TEST(integer_formats, write_some_heads_as_each_alone) {
  std::vector<std::int64_t> const slots{0};
  auto const expect = [&](auto const& format, std::size_t dim, std::size_t heads, std::size_t gap) {
    pages_shape const shape{.pages = 1, .page_tokens = 1, .heads = heads, .head_dim = dim};
    auto bytes = format.bytes(dim);
    if constexpr (requires { format.scale_bytes(dim); }) bytes += format.scale_bytes(dim);
    std::vector<std::byte> together(heads * bytes), alone(together);
    auto const numbers = numbers::random<float>(heads * (dim + gap), dim + heads);
    heads_view const some(format, together.data(), shape, slots);
    heads_view const one(format, alone.data(), shape, slots);
    some.write_some(0, 0, heads, numbers.data(), static_cast<std::ptrdiff_t>(dim + gap));
    for (std::size_t head = 0; head < heads; ++head)
      one.write(0, head, {numbers.data() + head * (dim + gap), dim});
    EXPECT_EQ(together, alone) << heads << " heads of " << dim;
  };
  for (std::size_t const heads : {1u, 2u, 3u, 4u, 5u, 8u, 9u, 16u, 17u}) {
    for (std::size_t const gap : {0u, 5u}) {
      for (std::size_t const dim : {1u, 7u, 32u, 100u, 160u}) {
        expect(u8_per_head{}, dim, heads, gap), expect(int8_per_head{}, dim, heads, gap);
        if (dim % 2 == 0) expect(posenc::int4_per_head{}, dim, heads, gap);
        if (dim % 32 != 0) continue;
        expect(q8_0{}, dim, heads, gap), expect(q8_0{q8_0_writer::avx2}, dim, heads, gap);
        expect(posenc::q4_0{}, dim, heads, gap), expect(posenc::q4_1{}, dim, heads, gap);
        expect(posenc::q5_0{}, dim, heads, gap), expect(posenc::q5_1{}, dim, heads, gap);
        expect(posenc::iq4_nl{}, dim, heads, gap);
      }
    }
  }
}

std::vector<int> codes_of(encoded const& x, std::size_t first) {
  std::vector<int> result;
  for (auto i = first; i < x.codes.size(); ++i) result.push_back(x.code(i));
  return result;
}

// By hand, in rational numbers: 2 / 255 and 1 / that, each rounded to float; the zero point is just
// below 127.5.
TEST(u8_per_head, is_openvinos_byte_for_byte) {
  auto const written = encode(u8_per_head{}, std::vector{-1.0f, 0.0f, 1.0f, 0.5f, 0.3f, -0.77f});
  EXPECT_EQ(std::bit_cast<std::uint32_t>(float_at(written, 0)), 0x3c008081u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(float_at(written, 4)), 0x42feffffu);
  EXPECT_EQ(codes_of(written, 8), (std::vector{0, 127, 255, 191, 166, 29}));
}

// The float nearest to x / y: the double between has twice its digits, so that one rounding counts.
float quotient(float x, float y) {
  return static_cast<float>(static_cast<double>(x) / static_cast<double>(y));
}

TEST(integer_formats, have_quotients_that_are_rounded_once_for_scales) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    auto const head = numbers::random<float>(32, seed);
    auto const [least, most] = std::ranges::minmax(head);
    auto const magnitude = std::max(-least, most), scale = quotient(most - least, 255);
    auto const u8 = encode(u8_per_head{}, head);
    EXPECT_EQ(float_at(u8, 0), scale);
    EXPECT_EQ(float_at(u8, 4), quotient(-least, scale));
    EXPECT_EQ(posenc::detail::number_at<float>(encode(int8_per_head{}, head).scales.data()),
              quotient(magnitude, 127));
    EXPECT_EQ(posenc::detail::number_at<std::uint16_t>(encode(q8_0{}, head).codes.data()),
              half(quotient(magnitude, 127)).bits);
  }
}

// ggml's, of f32(sin(.7 i) (1 + .1 i)).
TEST(q8_0, is_ggmls_byte_for_byte) {
  std::vector<float> head;
  for (int i = 0; i < 32; ++i)
    head.push_back(static_cast<float>(std::sin(0.7 * i) * (1 + 0.1 * i)));
  auto const written = encode(q8_0{}, head);
  EXPECT_EQ(posenc::detail::number_at<std::uint16_t>(written.codes.data()), 0x27ce);
  std::vector<int> codes;
  for (std::size_t i = 0; i < 32; ++i) codes.push_back(written.signed_code(2 + i));
  EXPECT_EQ(codes, (std::vector{0,  23,  39,  37,   15,  -17, -46, -55, -37, 1,  43,
                                68, 62,  24,  -29,  -72, -84, -55, 3,   64,  97, 86,
                                32, -41, -99, -112, -71, 6,   85,  127, 110, 39}));
}

// vLLM's, of scale .01: later versions round, one truncated.
TEST(int8_per_head, is_vllms_byte_for_byte) {
  std::vector<float> const head{0.5f, -1.27f, 0.333f, 0.0049f, -0.0051f};
  auto const codes = [&](bool truncates) {
    auto const written = encode(int8_per_head{truncates}, head);
    std::vector<int> result;
    for (std::size_t i = 0; i < head.size(); ++i) result.push_back(written.signed_code(i));
    return result;
  };
  EXPECT_EQ(codes(false), (std::vector{50, -127, 33, 0, -1}));
  EXPECT_EQ(codes(true), (std::vector{50, -127, 33, 0, 0}));
}

// As MLAS, whose std::min(127.0f, x) is 127.
TEST(int8_static, gives_nan_its_greatest_code) {
  for (std::uint32_t const nan : {0x7fc00000u, 0xffc00000u}) {
    for (auto const x : through(int8_static{1}, std::vector(40, float_of_bits(nan))))
      EXPECT_EQ(x, 127) << std::hex << nan;
  }
}

TEST(integer_formats, make_a_head_with_a_number_that_is_not_finite_nan) {
  for (double const bad : {not_a_number(), infinity(), minus_infinity()}) {
    auto head = numbers::random<float>(64);
    head[40] = static_cast<float>(bad);
    auto const is_nan = [](float x) { return std::isnan(x); };
    EXPECT_TRUE(std::ranges::all_of(through(u8_per_head{}, head), is_nan)) << bad;
    EXPECT_TRUE(std::ranges::all_of(through(int8_per_head{}, head), is_nan)) << bad;
    for (auto const writer : {q8_0_writer::reference, q8_0_writer::avx2}) {
      auto const read = through(q8_0{writer}, head);
      EXPECT_TRUE(std::ranges::all_of(std::span(read).last(32), is_nan)) << bad;
      EXPECT_TRUE(std::ranges::none_of(std::span(read).first(32), is_nan)) << bad;
    }
    EXPECT_EQ(encode(int8_static{1}, head).signed_code(40), std::signbit(bad) ? -128 : 127);
  }
  for (auto const x : through(u8_per_head{}, std::vector{3e38f, -3e38f}))
    EXPECT_TRUE(std::isnan(x));
}

TEST(q8_0, reads_infinity_where_half_has_no_such_scale) {
  std::vector<float> head(32, 0.0f);
  head[0] = 127 * 65504.0f, head[1] = -head[0];
  EXPECT_EQ(through(q8_0{}, head), head);
  head[0] *= 1.01f, head[1] *= 1.01f;
  auto const read = through(q8_0{}, head);
  EXPECT_EQ(read[0], infinity());
  EXPECT_EQ(read[1], minus_infinity());
  EXPECT_TRUE(std::isnan(read[2]));
}

#endif

}  // namespace
}  // namespace of_integer_formats
