#include "posenc/rows/axis_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "farthest.hpp"
#include "frequency/of_doubles.hpp"
#include "numbers.hpp"
#include "oracle/angle.hpp"
#include "oracle/rotary.hpp"
#include "oracle/rotated_pairs.hpp"
#include "oracle/wide.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rotation/rotate.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using sections = std::vector<std::size_t>;

template <class Real>
std::vector<Real> all(cos_sin_view<Real> rows) {
  std::vector<Real> result;
  for (std::size_t token = 0; token < rows.tokens(); ++token) {
    result.insert(result.end(), rows.cos(token).begin(), rows.cos(token).end());
    result.insert(result.end(), rows.sin(token).begin(), rows.sin(token).end());
  }
  return result;
}

// Axes in random order.
pair_axes scattered(std::size_t pairs, std::size_t axes) {
  std::mt19937_64 random(pairs);
  std::vector<std::size_t> axis_of_pair(pairs);
  for (auto& axis : axis_of_pair) axis = static_cast<std::size_t>(random() % axes);
  return pair_axes(axis_of_pair);
}

// Positions of both signs, near 0 and up to `bits` bits; near ones on the first axis.
std::vector<std::vector<std::int64_t>> integers_by_axis(std::size_t axes, std::size_t tokens,
                                                        int bits) {
  std::mt19937_64 random(static_cast<std::uint64_t>(bits));
  std::vector<std::vector<std::int64_t>> result(axes);
  for (auto& axis : result)
    for (std::size_t token = 0; token < tokens; ++token)
      axis.push_back(static_cast<std::int64_t>(random() >> (64 - bits)) *
                     (token % 3 == 1 ? -1 : 1));
  for (std::size_t token = 0; token < tokens; ++token)
    result[0][token] = static_cast<std::int64_t>(token);
  return result;
}

template <class Real, class P>
void expect_exact(frequencies const& f, pair_axes const& axes,
                  std::vector<std::vector<P>> const& positions, double fraction_error = 0) {
  auto const rows = axis_rows<Real>(of_doubles(f), axes, axis_positions<P>(positions));
  ASSERT_EQ(rows.tokens(), positions[0].size());
  ASSERT_EQ(rows.pairs(), f.pairs());
  for (std::size_t token = 0; token < rows.tokens(); ++token) {
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const position = positions[axes.axis(i)][token];
      auto const [cos, sin] = oracle::direction_at(static_cast<oracle::wide>(position),
                                                   static_cast<oracle::wide>(f.inv_freq()[i]));
      auto const bound = f.attention_factor() *
                         (tolerance::of_cosine<Real>() +
                          tolerance::of_phase(static_cast<double>(position)) + fraction_error);
      ASSERT_NEAR(static_cast<double>(rows.cos(token)[i]),
                  f.attention_factor() * static_cast<double>(cos), bound)
          << token << ", " << i;
      ASSERT_NEAR(static_cast<double>(rows.sin(token)[i]),
                  f.attention_factor() * static_cast<double>(sin), bound)
          << token << ", " << i;
    }
  }
}

TEST(axis_rows, turn_each_pair_by_the_position_of_its_axis) {
  numbers::in_float_and_double([]<class Real>() {
    for (int const bits : {8, 20, 31, 40, 62}) {
      auto const positions = integers_by_axis(4, 12, bits);
      expect_exact<Real>(geometric(128, 1e6), contiguous_axes(sections{16, 24, 24}), positions);
      expect_exact<Real>(geometric(128, 5e6), interleaved_axes(sections{24, 20, 20}), positions);
      expect_exact<Real>(geometric(128, 5e6), ggml_interleaved_axes({24, 20, 20, 0}, 64),
                         positions);
      expect_exact<Real>(geometric(128, 1e6), ggml_axes({5, 3, 1, 2}, 64), positions);
      for (std::size_t pairs = 1; pairs <= 70; pairs += oracle::wide_cost > 1 ? 7 : 1)
        expect_exact<Real>(geometric(2 * pairs, 1e4), scattered(pairs, 4), positions);
    }
  });
}

TEST(axis_rows, take_the_farthest_positions_on_one_axis_and_near_ones_on_another) {
  numbers::in_float_and_double([]<class Real>() {
    expect_exact<Real>(
        geometric(38, 1e4), scattered(19, 3),
        std::vector<std::vector<std::int64_t>>{{farthest, farthest_back, 3, 1ll << 32, 0xffff'ffff},
                                               {0, 5, farthest_back, 0xffff'ffff, 0},
                                               {-1, farthest, farthest, 7, 1ll << 32}});
  });
}

TEST(axis_rows, take_fractional_positions) {
  numbers::in_float_and_double([]<class Real>() {
    // The angle of the fraction takes four roundings.
    expect_exact<Real>(
        geometric(78, 1e4), scattered(39, 3),
        std::vector<std::vector<double>>{
            {0.5, 1, 2, -3.25, 7, 1e6}, {0.1, 2, 0x1p40, 1e-20, -7, 4}, {3, 3, 0.75, 5, 1, -2}},
        4 * tolerance::unit_roundoff<double>());
  });
}

// Pair by pair, for every length of a tail.
template <class Real, class P>
void expect_bits_of_cos_sin_rows(std::vector<P> const& positions) {
  for (std::size_t pairs = 1; pairs <= 70; ++pairs) {
    frequencies const f(oracle::inv_freq(2 * pairs, 1e4), pairs % 2 == 0 ? 1 : 1.25);
    auto const expected = all(cos_sin_rows<Real>(f, positions).view());
    axis_positions<P> const equal({positions, positions, positions, positions});
    auto const third = pairs / 3;
    for (auto const& axes : {contiguous_axes(sections{pairs - 2 * third, third, third}),
                             ggml_axes({1, 2, 3, 4}, pairs),
                             interleaved_axes(sections{pairs - 2 * third, third, third}),
                             ggml_interleaved_axes({pairs - 2 * third, third, third, 0}, pairs),
                             scattered(pairs, 4)}) {
      ASSERT_TRUE(numbers::same_bits(all(axis_rows<Real>(f, axes, equal).view()), expected))
          << pairs << " pairs";
    }
  }
}

TEST(axis_rows, of_equal_axes_are_the_rows_of_one_axis_bit_for_bit) {
  numbers::in_float_and_double([]<class Real>() {
    expect_bits_of_cos_sin_rows<Real>(
        std::vector<std::int64_t>{0, 1, -1, 4095, 1'048'575, 1ll << 40, farthest, farthest_back});
    expect_bits_of_cos_sin_rows<Real>(
        std::vector<double>{0, 1, -1, 0.5, -1234567.75, 1e-20, 0x1p40});
    expect_bits_of_cos_sin_rows<Real>(std::vector<std::int32_t>{0, 1, -1, 4095});
  });
}

// Pairs of one axis have the rows of that axis alone, whatever the other axes are.
template <class Real, class P>
void expect_pairs_of_each_axis(std::vector<std::vector<P>> const& positions) {
  for (std::size_t pairs = 1; pairs <= 70; ++pairs) {
    auto const f = geometric(2 * pairs, 1e4);
    auto const axes = scattered(pairs, positions.size());
    auto const rows = axis_rows<Real>(f, axes, axis_positions<P>(positions));
    for (std::size_t i = 0; i < pairs; ++i) {
      cos_sin_rows<Real> const alone(f, positions[axes.axis(i)]);
      for (std::size_t token = 0; token < rows.tokens(); ++token) {
#if defined(__FAST_MATH__)
        auto const bound =
            2 * tolerance::of_cosine<Real>();  // each loop may be contracted in a way of its own
        ASSERT_NEAR(static_cast<double>(rows.cos(token)[i]),
                    static_cast<double>(alone.cos(token)[i]), bound);
        ASSERT_NEAR(static_cast<double>(rows.sin(token)[i]),
                    static_cast<double>(alone.sin(token)[i]), bound);
#else
        ASSERT_EQ(rows.cos(token)[i], alone.cos(token)[i])
            << "pair " << i << " of " << pairs << ", token " << token;
        ASSERT_EQ(rows.sin(token)[i], alone.sin(token)[i])
            << "pair " << i << " of " << pairs << ", token " << token;
#endif
      }
    }
  }
}

TEST(axis_rows, have_for_each_axis_the_bits_of_its_own_rows) {
  numbers::in_float_and_double([]<class Real>() {
    expect_pairs_of_each_axis<Real, std::int64_t>(
        {{0, 7, -3, 1ll << 40, 6}, {1, 131071, 0, 4, 6}, {2, 5, 1ll << 33, 4, 8}});
    expect_pairs_of_each_axis<Real, double>({{0, 7.5, -3, 2}, {1, 131071, 0.25, 4}, {2, 5, 9, 5}});
  });
}

TEST(axis_rows, have_the_same_bits_from_positions_of_any_type) {
  auto const f = geometric(46, 1e4);
  auto const axes = scattered(23, 2);
  auto const expected =
      all(axis_rows(f, axes, axis_positions<std::int64_t>({{0, 5, 3}, {100, 5, 0}})).view());
  EXPECT_TRUE(numbers::same_bits(
      all(axis_rows(f, axes, axis_positions<std::uint8_t>({{0, 5, 3}, {100, 5, 0}})).view()),
      expected));
  EXPECT_TRUE(numbers::same_bits(
      all(axis_rows(f, axes, axis_positions<double>({{0, 5, 3}, {100, 5, 0}})).view()), expected));
  EXPECT_TRUE(numbers::same_bits(
      all(axis_rows(f, axes, axis_positions<float>({{0, 5, 3}, {100, 5, 0}})).view()), expected));
}

TEST(axis_rows, leave_standing_pairs_alone) {
  auto const f = truncated(geometric(16, 1e4), 0.5);
  axis_positions const positions({{3, 4}, {5, 6}});
  auto const rows = axis_rows(f, ggml_axes({1, 1, 0, 0}, 8), positions);
  EXPECT_TRUE(std::ranges::equal(rows.view().rotated_pairs(), std::vector<pair_range>{{0, 4}}));
  for (std::size_t i = 4; i < 8; ++i) {
    EXPECT_EQ(rows.cos(1)[i], 1);
    EXPECT_EQ(rows.sin(1)[i], 0);
  }
  auto const amplified =
      axis_rows(f.with_attention_factor(1.5), ggml_axes({1, 1, 0, 0}, 8), positions);
  EXPECT_TRUE(std::ranges::equal(amplified.view().rotated_pairs(), std::vector<pair_range>{{0, 8}}))
      << "the factor reaches all";
  EXPECT_EQ(amplified.cos(1)[7], 1.5f);
}

TEST(axis_rows, are_undone_by_their_inverse) {
  frequencies const f({1, 0.5, 0.25, 0.125, 0}, 1.25);
  auto const x = numbers::random<double>(2 * 10);
  auto y = x;
  auto const rows = axis_rows<double>(f, pair_axes({0, 1, 1, 0, 1}),
                                      axis_positions<double>({{3, 0.5}, {-4, 1e6}}));
  rotate<interleaved>(numbers::view(y, 2, 10), rows);
  EXPECT_FALSE(numbers::same_bits(x, y));
  rotate<interleaved>(numbers::view(y, 2, 10), rows.inverse());
  // Two rotations of numbers in [-1, 1], and a rounded factor.
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(x[i], y[i], 4 * tolerance::of_rotated<double>(1, 1, 2, 1.25));
}

template <class T, class Layout>
void expect_rotated(oracle::pairing pairing) {
  auto const f = of_doubles(geometric(70, 1e4));
  auto const axes = scattered(35, 3);
  auto const positions = integers_by_axis(3, 5, 20);
  auto const x = numbers::random<T>(5 * 70);
  auto y = x;
  rotate<Layout>(numbers::view(y, 5, 70),
                 axis_rows<arithmetic_t<T>>(f, axes, axis_positions(positions)));
  auto const before = numbers::exact(x), after = numbers::exact(y);
  for (std::size_t token = 0; token < 5; ++token) {
    std::vector<oracle::pair_rotation> turns;
    for (std::size_t i = 0; i < 35; ++i) {
      turns.push_back({static_cast<oracle::wide>(positions[axes.axis(i)][token]), f.inv_freq()[i]});
    }
    auto const first = before.begin() + static_cast<std::ptrdiff_t>(70 * token);
    std::vector<double> expected(first, first + 70);
    oracle::rotate_pairs(expected, turns, pairing);
    for (std::size_t i = 0; i < 70; ++i)
      EXPECT_NEAR(after[70 * token + i], expected[i], tolerance::of_rotated<T>(1, 1, expected[i]))
          << i;
  }
}

TEST(axis_rows, rotate_heads_as_the_definition_says_in_every_format_and_layout) {
  numbers::in_every_format([]<class T>() {
    expect_rotated<T, halves>(oracle::pairing::halves);
    expect_rotated<T, interleaved>(oracle::pairing::interleaved);
  });
}

TEST(axis_rows, may_be_of_no_token) {
  EXPECT_EQ(axis_rows(geometric(8, 1e4), scattered(4, 2), axis_positions<>({{}, {}})).tokens(), 0u);
}

TEST(axis_rows, refuse_what_does_not_match) {
  axis_positions const positions({{1, 2}, {1, 2}});
  EXPECT_EQ(message_of([&] {
              axis_rows(geometric(8, 1e4), pair_axes({0, 1, 0}), positions);
            }),
            "posenc: axis_rows: axes must be given for each of the 4 pairs, got 3");
  EXPECT_EQ(message_of([&] {
              axis_rows(geometric(8, 1e4), pair_axes({0, 1, 0, 2}), positions);
            }),
            "posenc: axis_rows: positions must have each of the 3 axes of the pairs, got 2");
  EXPECT_NO_THROW(axis_rows(geometric(8, 1e4), pair_axes({0, 0, 0, 0}), positions))
      << "an axis too many is not read";
}

}  // namespace
