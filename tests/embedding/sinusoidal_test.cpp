#include "posenc/embedding/sinusoidal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "golden/sinusoidal.hpp"
#include "numbers.hpp"
#include "oracle/sinusoidal.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using oracle::sinusoid_divisor;
using oracle::sinusoid_order;

/// p_t, as T stores it.
template <class T, class Layout>
std::vector<T> written(sinusoidal<Layout> const& encoding, std::int64_t position) {
  std::vector<T> row(encoding.dim());
  encoding.write(position, std::span(row));
  return row;
}

/// By how much number i of the row may be off: by the power that its frequency is, by sine or cosine, and by storing it.
template <class T>
double tolerance_of(double position, double inv_freq, double number) {
  return tolerance::of_angle(position, inv_freq) + tolerance::of_cosine<T>() + tolerance::of_storing<T>(number);
}

template <class Layout>
void expect_golden(frequencies const& f, std::array<golden::sinusoidal_row, 2> const& rows) {
  for (auto const& [position, values] : rows) {
    auto const row = written<double>(sinusoidal<Layout>(f), position);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(row[i], values[i], tolerance_of<double>(static_cast<double>(position), 1, 1)) << "position " << position << ", at " << i;
  }
}

TEST(sinusoidal, rows_are_those_of_the_four_published_forms) {
  expect_golden<interleaved>(geometric(8, 1e4), golden::sinusoidal_interleaved_half);
  expect_golden<interleaved>(geometric_inclusive(8, 1e4), golden::sinusoidal_interleaved_half_minus_one);
  expect_golden<halves>(geometric(8, 1e4), golden::sinusoidal_concatenated_half);
  expect_golden<halves>(geometric_inclusive(8, 1e4), golden::sinusoidal_concatenated_half_minus_one);
}

template <class T, class Layout>
void expect_as_oracle(std::size_t dim, bool inclusive) {
  auto const f = inclusive ? geometric_inclusive(dim, 1e4) : geometric(dim, 1e4);
  auto const order = std::same_as<Layout, interleaved> ? sinusoid_order::interleaved : sinusoid_order::concatenated;
  for (std::int64_t const position : {0, 1, -1, 511, 131'071, 1'000'003, -2'000'000'011}) {
    auto const row = numbers::exact(written<T>(sinusoidal<Layout>(f), position));
    auto const expected = oracle::sinusoidal_row(static_cast<long double>(position), dim, order,
                                                 inclusive ? sinusoid_divisor::half_minus_one : sinusoid_divisor::half);
    for (std::size_t i = 0; i < dim; ++i) {
      auto const pair = order == sinusoid_order::interleaved ? i / 2 : i % (dim / 2);
      EXPECT_NEAR(row[i], expected[i], tolerance_of<T>(static_cast<double>(position), f.inv_freq()[pair], expected[i]))
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
    sinusoidal<halves> const from_zero(geometric_inclusive(16, 1e4)), from_start(geometric_inclusive(16, 1e4), start);
    for (std::int64_t const position : {0, 1, -3, 4095})
      EXPECT_TRUE(numbers::same_bits(written<double>(from_start, position), written<double>(from_zero, position + start)));
  }
}

TEST(sinusoidal, the_inner_product_of_two_rows_is_the_sum_of_the_cosines_of_their_distance) {
  for (auto const& f : {geometric(64, 1e4), geometric_inclusive(64, 1e4), geometric(2, 1e4)}) {
    sinusoidal<interleaved> const encoding(f);
    for (std::int64_t const distance : {0, 1, 10, 777, -5}) {
      for (std::int64_t const s : {0, 3, -9, 1'000'000}) {
        auto const p_t = written<double>(encoding, s + distance), p_s = written<double>(encoding, s);
        long double product = 0, expected = 0;
        for (std::size_t i = 0; i < encoding.dim(); ++i) product += static_cast<long double>(p_t[i]) * static_cast<long double>(p_s[i]);
        for (long double const frequency : f.inv_freq()) expected += std::cos(static_cast<long double>(distance) * frequency);
        auto const tolerance = static_cast<double>(encoding.dim()) * 2 * tolerance::of_cosine<double>();  // either factor of a product
        EXPECT_NEAR(static_cast<double>(product), static_cast<double>(expected), tolerance) << "distance " << distance << " from " << s;
      }
    }
  }
}

TEST(sinusoidal, dim_is_twice_the_pairs) { EXPECT_EQ(sinusoidal<halves>(geometric(48, 1e4)).dim(), 48u); }

TEST(sinusoidal, every_head_of_a_strided_view_gets_the_row_and_nothing_between_them) {
  numbers::in_every_format([]<class T>() {
    constexpr std::size_t tokens = 3, heads = 2, dim = 6, gap = 5;
    sinusoidal<interleaved> const encoding(geometric(dim, 1e4));
    auto const before = numbers::random<T>(tokens * heads * (dim + gap));
    auto x = before, expected = before;
    std::vector<std::int64_t> const positions{5, -1, 9};
    constexpr auto stride = static_cast<std::ptrdiff_t>(dim + gap);
    // The last token first, the heads far apart.
    heads_view<T> const view(x.data() + stride * (tokens - 1), {tokens, heads, dim}, {-stride, stride * tokens});
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

TEST(sinusoidal, a_row_of_another_size_is_rejected_and_left_alone) {
  sinusoidal<interleaved> const encoding(geometric(8, 1e4));
  auto const before = numbers::random<float>(9);
  auto row = before;
  EXPECT_EQ(message_of([&] { encoding.write(3, std::span(row)); }), "posenc: sinusoidal: a row must have 8 numbers, got 9");
  EXPECT_EQ(message_of([&] { encoding.write(3, std::span(row).first(7)); }), "posenc: sinusoidal: a row must have 8 numbers, got 7");
  EXPECT_EQ(message_of([&] { encoding.write(3, std::span<half>()); }), "posenc: sinusoidal: a row must have 8 numbers, got 0");
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
    EXPECT_EQ(
        message_of([&] { encoding.embed(numbers::view(x, 3, 8), positions); }),
        "posenc: sinusoidal: there must be one position a token, got " + std::to_string(positions.size()) + " positions for 3 tokens");
  EXPECT_TRUE(numbers::same_bits(x, before));
}

}  // namespace
