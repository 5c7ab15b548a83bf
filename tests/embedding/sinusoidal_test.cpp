#include "posenc/embedding/sinusoidal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "frequency/of_doubles.hpp"
#include "golden/sinusoidal.hpp"
#include "laws/embedding_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/sinusoidal.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using oracle::sinusoid_divisor;
using oracle::sinusoid_order;

/// p_t, stored as T.
template <class T, class Layout>
std::vector<T> written(sinusoidal<Layout> const& encoding, std::int64_t position) {
  std::vector<T> row(encoding.dim());
  encoding.write(position, std::span(row));
  return row;
}

/// The error of number i of the vector: that of its frequency, which is a power; of sine or cosine;
/// and of storing it.
template <class T>
double tolerance_of(double position, double inv_freq, double number) {
  return tolerance::of_angle(position, inv_freq) + tolerance::of_cosine<T>() +
         tolerance::of_storing<T>(number);
}

TEST(sinusoidal, writes_to_vectors_and_arrays) {
  sinusoidal<halves> const encoding(geometric(4, 1e4));
  auto const expected = written<float>(encoding, 5);
  std::vector<float> in_vector(4);
  std::array<float, 4> in_array;
  float in_c[4];
  encoding.write(5, in_vector);
  encoding.write(5.0, in_array);
  encoding.write(5, in_c);
  EXPECT_TRUE(numbers::same_bits(in_vector, expected));
  EXPECT_TRUE(std::ranges::equal(in_array, expected));
  EXPECT_TRUE(std::ranges::equal(in_c, expected));
}

template <class Layout>
void expect_golden(frequencies const& f, std::array<golden::sinusoidal_row, 2> const& rows) {
  for (auto const& [position, values] : rows) {
    auto const row = written<double>(sinusoidal<Layout>(f), position);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(row[i], values[i], tolerance_of<double>(static_cast<double>(position), 1, 1))
          << "position " << position << ", at " << i;
  }
}

TEST(sinusoidal, rows_are_those_of_the_four_published_forms) {
  expect_golden<interleaved>(geometric(8, 1e4), golden::sinusoidal_interleaved_half);
  expect_golden<interleaved>(geometric_inclusive(8, 1e4),
                             golden::sinusoidal_interleaved_half_minus_one);
  expect_golden<halves>(geometric(8, 1e4), golden::sinusoidal_concatenated_half);
  expect_golden<halves>(geometric_inclusive(8, 1e4),
                        golden::sinusoidal_concatenated_half_minus_one);
}

template <class T, class Layout>
void expect_as_oracle(std::size_t dim, bool inclusive) {
  auto const f = inclusive ? geometric_inclusive(dim, 1e4) : geometric(dim, 1e4);
  auto const order = std::same_as<Layout, interleaved> ? sinusoid_order::interleaved
                                                       : sinusoid_order::concatenated;
  for (std::int64_t const position : {0, 1, -1, 511, 131'071, 1'000'003, -2'000'000'011}) {
    auto const row = numbers::exact(written<T>(sinusoidal<Layout>(f), position));
    auto const expected = oracle::sinusoidal_row(
        static_cast<long double>(position), dim, order,
        inclusive ? sinusoid_divisor::half_minus_one : sinusoid_divisor::half);
    for (std::size_t i = 0; i < dim; ++i) {
      auto const pair = order == sinusoid_order::interleaved ? i / 2 : i % (dim / 2);
      EXPECT_NEAR(row[i], expected[i],
                  tolerance_of<T>(static_cast<double>(position), f.inv_freq()[pair], expected[i]))
          << "dim " << dim << ", position " << position << ", at " << i;
    }
  }
}

TEST(sinusoidal, rows_follow_the_definition_in_every_format_at_every_position) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {2u, 4u, 6u, 30u, 512u}) {
      for (bool const inclusive : {false, true}) {
        expect_as_oracle<T, interleaved>(dim, inclusive);
        expect_as_oracle<T, halves>(dim, inclusive);
      }
    }
  });
}

TEST(sinusoidal, start_is_added_to_every_position) {
  for (std::int64_t const start : {1, 2, -40, 1'000'000}) {
    sinusoidal<halves> const from_zero(geometric_inclusive(16, 1e4)),
        from_start(geometric_inclusive(16, 1e4), start);
    for (std::int64_t const position : {0, 1, -3, 4095})
      EXPECT_TRUE(numbers::same_bits(written<double>(from_start, position),
                                     written<double>(from_zero, position + start)));
  }
}

TEST(sinusoidal, the_inner_product_of_two_rows_is_the_sum_of_the_cosines_of_their_distance) {
  for (auto const& f : {of_doubles(geometric(64, 1e4)), of_doubles(geometric_inclusive(64, 1e4)),
                        geometric(2, 1e4)}) {
    sinusoidal<interleaved> const encoding(f);
    for (std::int64_t const distance : {0, 1, 10, 777, -5}) {
      for (std::int64_t const s : {0, 3, -9, 1'000'000}) {
        auto const p_t = written<double>(encoding, s + distance),
                   p_s = written<double>(encoding, s);
        long double product = 0, expected = 0;
        for (std::size_t i = 0; i < encoding.dim(); ++i)
          product += static_cast<long double>(p_t[i]) * static_cast<long double>(p_s[i]);
        for (long double const frequency : f.inv_freq())
          expected += std::cos(static_cast<long double>(distance) * frequency);
        auto const tolerance = static_cast<double>(encoding.dim()) * 2 *
                               tolerance::of_cosine<double>();  // either factor of a product
        EXPECT_NEAR(static_cast<double>(product), static_cast<double>(expected), tolerance)
            << "distance " << distance << " from " << s;
      }
    }
  }
}

// The way from sinusoids to RoPE: pair i of p_(t+k) is pair i of p_t rotated by k f_i, and p_t
// itself is (1, 0, 1, 0, ...) rotated by t.
TEST(sinusoidal, a_shift_is_a_rotation_and_the_vector_is_the_rotation_of_a_constant) {
  constexpr std::size_t dim = 64;
  auto const f = geometric(dim, 1e4);
  sinusoidal<interleaved> const encoding(f, {.cosine_first = true});
  auto const rotated = [&]<class T>(std::vector<T> x, std::int64_t by) {
    rotate<interleaved>(heads_view<T>(x.data(), {1, 1, dim}), cos_sin_rows<T>(f, std::array{by}));
    return x;
  };
  auto const constant = [&]<class T>(T one) {
    std::vector<T> x(dim, 0);
    for (std::size_t i = 0; i < dim; i += 2) x[i] = one;
    return x;
  };
  for (std::int64_t const t : {0, 1, 7, 1000, -3, 1'000'000}) {
    EXPECT_EQ(written<double>(encoding, t), rotated(constant(1.0), t)) << t;
    EXPECT_EQ(written<float>(encoding, t), rotated(constant(1.0f), t)) << t;
    for (std::int64_t const k : {1, -1, 100, 123'456'789}) {
      auto const shifted = rotated(written<double>(encoding, t), k),
                 p = written<double>(encoding, t + k);
      for (std::size_t i = 0; i < dim; ++i)  // two angles, and a sum of two products
        ASSERT_NEAR(shifted[i], p[i],
                    2 * tolerance::of_cosine<double>() + 8 * tolerance::unit_roundoff<double>())
            << t << " + " << k;
    }
  }
}

TEST(sinusoidal, the_cosines_first_are_the_same_numbers_in_the_other_order) {
  auto const f = geometric(16, 1e4);
  sinusoidal<halves> const sines_first(f), cosines_first(f, {.cosine_first = true});
  sinusoidal<interleaved> const in_turn(f, {.cosine_first = true});
  for (std::int64_t const position : {0, 1, -7, 1'000'003}) {
    auto const a = written<double>(sines_first, position),
               b = written<double>(cosines_first, position), c = written<double>(in_turn, position);
    for (std::size_t j = 0; j < 8; ++j) {
      EXPECT_EQ(b[j], a[8 + j]);
      EXPECT_EQ(b[8 + j], a[j]);
      EXPECT_EQ(c[2 * j], a[8 + j]);
      EXPECT_EQ(c[2 * j + 1], a[j]);
    }
  }
}

TEST(sinusoidal, a_scale_multiplies_every_number) {
  numbers::in_float_and_double([]<class T>() {
    auto const f = geometric(32, 1e4);
    for (double const scale : {1.0, 0.125, -2.0}) {  // of whole powers of 2, which round nothing
      auto const plain = written<T>(sinusoidal<halves>(f), 12'345),
                 scaled = written<T>(sinusoidal<halves>(f, {.scale = scale}), 12'345);
      for (std::size_t i = 0; i < plain.size(); ++i)
        EXPECT_EQ(scaled[i], static_cast<T>(scale) * plain[i]);
    }
  });
}

TEST(sinusoidal, zeros_stand_behind_the_pairs) {
  sinusoidal<interleaved> const plain(geometric(6, 1e4)), longer(geometric(6, 1e4), {.zeros = 3});
  EXPECT_EQ(longer.dim(), 9u);
  std::vector<float> row(9, 7.0F), first = written<float>(plain, 5);
  longer.write(5, std::span(row));
  first.resize(9);
  EXPECT_TRUE(numbers::same_bits(row, first));
}

TEST(sinusoidal, the_silent_position_is_the_one_given_and_has_nothing_but_zeros) {
  sinusoidal<halves> const encoding(geometric(8, 1e4), {.start = 10, .silent = 3}),
      plain(geometric(8, 1e4), 10);
  EXPECT_TRUE(numbers::same_bits(written<float>(encoding, 3), std::vector<float>(8)));
  for (std::int64_t const position : {2, 4, 13, -7, 0})
    EXPECT_TRUE(
        numbers::same_bits(written<float>(encoding, position), written<float>(plain, position)))
        << position;
}

TEST(sinusoidal, without_options_it_is_what_it_is_with_their_defaults) {
  for (std::int64_t const start : {0, 5})
    EXPECT_TRUE(numbers::same_bits(
        written<float>(sinusoidal<halves>(geometric(8, 1e4), start), 9),
        written<float>(sinusoidal<halves>(geometric(8, 1e4), {.start = start}), 9)));
}

TEST(sinusoidal, fractional_positions_lie_between_whole_ones_and_follow_the_definition) {
  auto const f = geometric(32, 1e4);
  for (std::int64_t const start : {0, 3, -100}) {
    sinusoidal<interleaved> const encoding(f, start);
    for (double const position : {0.0, 0.5, 0.1, -0.25, 981.5, -3.75, 1'000'000.125, 4.0, -7.0}) {
      std::vector<double> row(32);
      encoding.write(position, std::span(row));
      auto const from_start = static_cast<long double>(position) + start;
      auto const expected = oracle::sinusoidal_row(from_start, 32, sinusoid_order::interleaved,
                                                   sinusoid_divisor::half);
      for (std::size_t i = 0; i < 32; ++i) {
        auto const turned =
            tolerance::of_angle(static_cast<double>(from_start), f.inv_freq()[i / 2]) +
            f.inv_freq()[i / 2] * 0x1p-51;
        EXPECT_NEAR(row[i], expected[i], turned + tolerance::of_cosine<double>())
            << position << " from " << start << ", at " << i;
      }
      auto const whole = static_cast<std::int64_t>(position);
      if (static_cast<double>(whole) != position) continue;
      EXPECT_TRUE(numbers::same_bits(row, written<double>(encoding, whole))) << position;
    }
  }
}

TEST(sinusoidal, dim_is_twice_the_pairs) {
  EXPECT_EQ(sinusoidal<halves>(geometric(48, 1e4)).dim(), 48u);
}

TEST(sinusoidal, every_head_of_a_strided_view_gets_the_row_and_nothing_between_them) {
  numbers::in_every_format([]<class T>() {
    constexpr std::size_t tokens = 3, heads = 2, dim = 6, gap = 5;
    sinusoidal<interleaved> const encoding(geometric(dim, 1e4));
    auto const before = numbers::random<T>(tokens * heads * (dim + gap));
    auto x = before, expected = before;
    std::vector<std::int64_t> const positions{5, -1, 9};
    constexpr auto stride = static_cast<std::ptrdiff_t>(dim + gap);
    // The last token first, and gaps between heads.
    heads_view<T> const view(x.data() + stride * (tokens - 1), {tokens, heads, dim},
                             {-stride, stride * tokens});
    encoding.embed(view, positions);
    for (std::size_t token = 0; token < tokens; ++token) {
      auto const row = written<arithmetic_t<T>>(encoding, positions[token]);
      for (std::size_t head = 0; head < heads; ++head) {
        for (std::size_t i = 0; i < dim; ++i) {
          auto& number = expected[(tokens * head + tokens - 1 - token) * (dim + gap) + i];
          store(number, load(number) + row[i]);
        }
      }
    }
    EXPECT_TRUE(numbers::same_bits(x, expected));
  });
}

TEST(sinusoidal, a_frequency_set_with_an_attention_factor_is_rejected) {
  EXPECT_EQ(message_of([] {
              sinusoidal<halves>(frequencies({1.0, 0.5}, 1.25));
            }),
            "posenc: sinusoidal: the attention factor must be 1, got 1.25");
}

TEST(sinusoidal, a_scale_that_is_not_finite_and_zeros_without_end_are_rejected) {
  auto const message = [](sinusoidal_form const& form) {
    return message_of([&] { sinusoidal<halves>(geometric(8, 1e4), form); });
  };
  EXPECT_EQ(message({.scale = not_a_number()}),
            "posenc: sinusoidal: the scale must be finite, got NaN");
  EXPECT_EQ(message({.scale = infinity()}),
            "posenc: sinusoidal: the scale must be finite, got infinity");
  EXPECT_EQ(message({.zeros = (1 << 24) + 1}),
            "posenc: sinusoidal: zeros must be at most 2^24, got 16777217");
}

TEST(sinusoidal, a_fractional_position_must_be_finite_and_fit) {
  sinusoidal<halves> const encoding(geometric(8, 1e4));
  auto const before = numbers::random<float>(8);
  auto row = before;
  auto const message = [&](double position) {
    return message_of([&] { encoding.write(position, std::span(row)); });
  };
  std::string const must =
      "posenc: sinusoidal: a position must be finite and within [-2^63, 2^63), got ";
  EXPECT_EQ(message(not_a_number()), must + "NaN");
  EXPECT_EQ(message(minus_infinity()), must + "-infinity");
  EXPECT_EQ(message(0x1p63), must + "9223372036854775808");
  EXPECT_EQ(message(-0x1.0000000000001p63), must + "-9223372036854777856");
  EXPECT_EQ(message_of([&] { encoding.write(0.5, std::span(row).first(7)); }),
            "posenc: sinusoidal: a vector must have 8 numbers, got 7");
  EXPECT_TRUE(numbers::same_bits(row, before));
  EXPECT_NO_THROW(encoding.write(-0x1p63, std::span(row)));
  EXPECT_NO_THROW(encoding.write(0x1.fffffffffffffp62, std::span(row)));
}

TEST(sinusoidal, a_row_of_another_size_is_rejected_and_left_alone) {
  sinusoidal<interleaved> const encoding(geometric(8, 1e4));
  auto const before = numbers::random<float>(9);
  auto row = before;
  EXPECT_EQ(message_of([&] { encoding.write(3, std::span(row)); }),
            "posenc: sinusoidal: a vector must have 8 numbers, got 9");
  EXPECT_EQ(message_of([&] { encoding.write(3, std::span(row).first(7)); }),
            "posenc: sinusoidal: a vector must have 8 numbers, got 7");
  EXPECT_EQ(message_of([&] { encoding.write(3, std::span<half>()); }),
            "posenc: sinusoidal: a vector must have 8 numbers, got 0");
  EXPECT_TRUE(numbers::same_bits(row, before));
}

TEST(sinusoidal, embeddings_of_another_shape_are_rejected_and_left_alone) {
  sinusoidal<interleaved> const encoding(geometric(8, 1e4));
  std::vector<std::int64_t> const two{0, 1}, three{0, 1, 2}, four{0, 1, 2, 3};
  auto const before = numbers::random<float>(48);
  auto x = before;
  EXPECT_EQ(message_of([&] { encoding.embed(numbers::view(x, 3, 16), three); }),
            "posenc: sinusoidal: embeddings must have 8 numbers, got 16");
  EXPECT_EQ(message_of([&] { encoding.embed(numbers::view(x, 3, 4), three); }),
            "posenc: sinusoidal: embeddings must have 8 numbers, got 4");
  for (auto const& positions : {two, four, {}})
    EXPECT_EQ(message_of([&] { encoding.embed(numbers::view(x, 3, 8), positions); }),
              "posenc: sinusoidal: there must be one position per token, got " +
                  std::to_string(positions.size()) + " positions for 3 tokens");
  EXPECT_TRUE(numbers::same_bits(x, before));
}

TEST(sinusoidal, obeys_the_laws_of_its_site) {
  laws::obey("interleaved", sinusoidal<interleaved>(geometric(64, 1e4)), 64);
  laws::obey("concatenated", sinusoidal<halves>(geometric(10, 1e4)), 10);
  laws::obey("both ends included", sinusoidal<halves>(geometric_inclusive(512, 1e4)), 512);
  laws::obey("a single pair", sinusoidal<interleaved>(geometric_inclusive(2, 1e4)), 2);
  laws::obey("starting at 2", sinusoidal<interleaved>(geometric(32, 1e4), 2), 32);
  laws::obey("some pairs still", sinusoidal<halves>(truncated(geometric(32, 1e4), 0.5)), 32);
  laws::obey("interpolated", sinusoidal<interleaved>(linear(geometric(32, 1e4), 4)), 32);
  laws::obey("the cosines first",
             sinusoidal<interleaved>(geometric(32, 1e4), {.cosine_first = true}), 32);
  laws::obey("of all options",
             sinusoidal<halves>(geometric(6, 1e4),
                                {.start = -9, .cosine_first = true, .scale = -0.5, .zeros = 3}),
             9);
  laws::obey("in a scheme", scheme(nope(), sinusoidal<interleaved>(geometric(16, 1e4))), 16);
}

}  // namespace
