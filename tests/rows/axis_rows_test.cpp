#include "posenc/rows/axis_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "farthest.hpp"
#include "frequency/of_doubles.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/angle.hpp"
#include "oracle/rotary.hpp"
#include "oracle/rotated_pairs.hpp"
#include "oracle/wide.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/pair_axes.hpp"
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
    std::vector<cos_sin_rows<Real>> of_axes;
    for (auto const& on_axis : positions) of_axes.emplace_back(f, on_axis);
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const& alone = of_axes[axes.axis(i)];
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

TEST(axis_rows, are_those_that_a_maker_of_axes_makes) {
  axis_row_maker const maker(geometric(46, 1e4), scattered(23, 2));
  std::vector<double> const positions{0, 5, 3.5, 100, -0.25, 0};  // [axes][tokens]
  auto const expected = all(axis_rows(maker, axis_positions(2, positions)).view());
  EXPECT_TRUE(numbers::same_bits(all(cos_sin_rows<float>(maker, positions).view()), expected));
  std::vector<float> memory(3 * 46);
  EXPECT_TRUE(numbers::same_bits(all(maker.write(positions, memory.data())), expected));
  EXPECT_EQ(message_of([&] {
              cos_sin_rows<float>(maker, std::vector{1, 2, 3});
            }),
            "posenc: cos_sin_rows: there must be a position on each of the 2 axes for each token, "
            "got 3 positions");
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

TEST(axis_positions, are_those_given) {
  axis_positions const positions({{0, 1, -7}, {5, 5, std::numeric_limits<std::int64_t>::max()}});
  EXPECT_EQ(positions.axes(), 2u);
  EXPECT_EQ(positions.tokens(), 3u);
  EXPECT_TRUE(std::ranges::equal(positions.of(0), std::vector<std::int64_t>{0, 1, -7}));
  EXPECT_TRUE(std::ranges::equal(
      positions.of(1), std::vector<std::int64_t>{5, 5, std::numeric_limits<std::int64_t>::max()}));
}

TEST(axis_positions, may_be_fractional) {
  axis_positions<double> const positions({{0, 0.5}, {-1.25, 3}, {1, 2}});
  EXPECT_EQ(positions.axes(), 3u);
  EXPECT_TRUE(std::ranges::equal(positions.of(1), std::vector<double>{-1.25, 3}));
}

TEST(axis_positions, may_lie_in_one_array) {
  std::vector<std::int32_t> const ids{0, 1, -7, 5, 5, 9};
  axis_positions const positions(2, ids);
  static_assert(std::is_same_v<decltype(positions), axis_positions<std::int64_t> const>);
  EXPECT_EQ(positions.axes(), 2u);
  EXPECT_EQ(positions.tokens(), 3u);
  EXPECT_TRUE(std::ranges::equal(positions.of(0), std::vector<std::int64_t>{0, 1, -7}));
  EXPECT_TRUE(std::ranges::equal(positions.of(1), std::vector<std::int64_t>{5, 5, 9}));
  axis_positions const of_floats(1, std::vector<float>{0.5f, -2});
  static_assert(std::is_same_v<decltype(of_floats), axis_positions<double> const>);
  EXPECT_TRUE(std::ranges::equal(of_floats.of(0), std::vector<double>{0.5, -2}));
  axis_positions<> const of_no_token(2, std::vector<std::int32_t>());
  EXPECT_EQ(of_no_token.axes(), 2u);
  EXPECT_EQ(of_no_token.tokens(), 0u);
}

TEST(axis_positions, in_one_array_must_be_of_all_tokens_and_fit) {
  EXPECT_EQ(message_of([] {
              axis_positions(0, std::vector{1, 2});
            }),
            "posenc: axis_positions: there must be at least one axis, got none");
  EXPECT_EQ(message_of([] {
              axis_positions(3, std::vector{1, 2, 3, 4});
            }),
            "posenc: axis_positions: all of the 3 axes must have the same number of tokens, got 4 "
            "positions");
  EXPECT_EQ(
      message_of([] {
        axis_positions<>(2, std::vector{std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2},
                                        std::uint64_t{1} << 63});
      }),
      "posenc: axis_positions: a position must fit int64, got 9223372036854775808 at token 1");
  EXPECT_EQ(message_of([] {
              axis_positions(1, std::vector{1, not_a_number()});
            }),
            "posenc: axis_positions: a position must be finite and within [-2^63, 2^63), got NaN "
            "at token 1");
}

TEST(axis_positions, may_be_of_no_token) {
  axis_positions<> const positions({{}, {}});
  EXPECT_EQ(positions.axes(), 2u);
  EXPECT_EQ(positions.tokens(), 0u);
  EXPECT_TRUE(positions.of(1).empty());
}

TEST(axis_positions, must_be_of_all_tokens_on_some_axis) {
  EXPECT_EQ(message_of([] { axis_positions<>({}); }),
            "posenc: axis_positions: there must be at least one axis, got none");
  EXPECT_EQ(message_of([] {
              axis_positions<>({{1, 2}, {1, 2}, {1}});
            }),
            "posenc: axis_positions: all axes must have the same number of tokens, got 1 on axis 2 "
            "and 2 on axis 0");
}

TEST(axis_positions, must_be_positions) {
  EXPECT_EQ(message_of([] {
              axis_positions<double>({{1, 2}, {1, not_a_number()}});
            }),
            "posenc: axis_positions: a position must be finite and within [-2^63, 2^63), got NaN "
            "at token 1");
  EXPECT_EQ(message_of([] {
              axis_positions<double>({{0.5, 0}, {1, infinity()}});
            }),
            "posenc: axis_positions: a position must be finite and within [-2^63, 2^63), got "
            "infinity at token 1");
  EXPECT_EQ(
      message_of([] {
        axis_positions<std::uint64_t>({{1, std::uint64_t{1} << 63}, {0, 0}});
      }),
      "posenc: axis_positions: a position must fit int64, got 9223372036854775808 at token 1");
}

// One letter per pair, as papers draw it.
std::string drawn(pair_axes const& axes) {
  std::string letters;
  for (std::size_t pair = 0; pair < axes.pairs(); ++pair) letters += "thwe"[axes.axis(pair)];
  return letters;
}

std::string repeated(std::string const& part, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += part;
  return result;
}

// Qwen3-VL's rule: t everywhere, then h at 1, 4, 7 ... below 3 h, then w at 2, 5, 8 ... below 3 w.
// [modeling_qwen3_vl.py]
std::string slices(sections const& s) {
  std::string letters(s[0] + s[1] + s[2], 't');
  for (std::size_t i = 1; i < std::min(3 * s[1], letters.size()); i += 3) letters[i] = 'h';
  for (std::size_t i = 2; i < std::min(3 * s[2], letters.size()); i += 3) letters[i] = 'w';
  return letters;
}

TEST(pair_axes, are_those_given) {
  pair_axes const axes({2, 0, 0, 1, 2});
  EXPECT_EQ(axes.pairs(), 5u);
  EXPECT_EQ(axes.axes(), 3u);
  EXPECT_EQ(drawn(axes), "wtthw");
  EXPECT_EQ(pair_axes({0}).axes(), 1u);
  EXPECT_EQ(pair_axes({255, 0}).axes(), 256u) << "an axis that no pair has in between counts";
  EXPECT_EQ(axes, pair_axes({2, 0, 0, 1, 2}));
  EXPECT_NE(axes, pair_axes({2, 0, 0, 1, 1}));
}

TEST(pair_axes, there_must_be_a_pair_and_few_axes) {
  EXPECT_EQ(message_of([] { pair_axes({}); }),
            "posenc: pair_axes: there must be at least one pair, got none");
  EXPECT_EQ(message_of([] {
              pair_axes({0, 256});
            }),
            "posenc: pair_axes: an axis must be below 256, got 256");
  EXPECT_EQ(message_of([] { contiguous_axes(sections{}); }),
            "posenc: pair_axes: there must be at least one pair, got none");
  EXPECT_EQ(message_of([] {
              contiguous_axes(sections{0, 0});
            }),
            "posenc: pair_axes: there must be at least one pair, got none");
}

TEST(contiguous_axes, are_sections_one_after_another) {
  EXPECT_EQ(drawn(contiguous_axes(sections{2, 3, 1})), "tthhhw");
  EXPECT_EQ(drawn(contiguous_axes(sections{16, 24, 24})),
            std::string(16, 't') + std::string(24, 'h') + std::string(24, 'w'))
      << "Qwen2-VL";
  EXPECT_EQ(
      drawn(contiguous_axes(sections{16, 16, 16, 16})),
      std::string(16, 't') + std::string(16, 'h') + std::string(16, 'w') + std::string(16, 'e'))
      << "Hunyuan's four";
  EXPECT_EQ(drawn(contiguous_axes(sections{0, 2})), "hh")
      << "the second half of a head of Gemma 4's vision model";
}

TEST(interleaved_axes, take_turns_as_long_as_sections_last) {
  EXPECT_EQ(drawn(interleaved_axes(sections{24, 20, 20})), repeated("thw", 20) + "tttt")
      << "Qwen3-VL";
  EXPECT_EQ(drawn(interleaved_axes(sections{11, 11, 10})), repeated("thw", 10) + "th") << "Qwen3.5";
  EXPECT_EQ(drawn(interleaved_axes(sections{3, 2, 1})), "thwtht");
}

TEST(interleaved_axes, are_the_slices_that_the_model_takes) {
  for (std::size_t t = 0; t < 9; ++t)
    for (std::size_t h = 0; h < 9; ++h)
      for (std::size_t w = 0; w < 9; ++w) {
        if (t + h + w == 0) continue;
        ASSERT_EQ(drawn(interleaved_axes(sections{t, h, w})), slices({t, h, w}))
            << t << " " << h << " " << w;
      }
}

// ggml's ops.cpp, one pair after another: sector = pair mod the sum of the sections.
TEST(ggml_axes, are_sections_that_start_anew) {
  EXPECT_EQ(drawn(ggml_axes({16, 24, 24, 0}, 64)), drawn(contiguous_axes(sections{16, 24, 24})))
      << "Qwen2-VL";
  EXPECT_EQ(drawn(ggml_axes({1, 2, 3, 1}, 16)), "thhwwwethhwwweth");
  EXPECT_EQ(drawn(ggml_axes({4, 4, 4, 4}, 8)), "tttthhhh")
      << "a vision model's {d/4, d/4, d/4, d/4} for d/2 pairs";
}

TEST(ggml_interleaved_axes, leave_to_the_fourth_axis_what_hugging_face_leaves_to_time) {
  std::array<std::size_t, 4> const qwen3_vl{24, 20, 20, 0};
  auto const here = drawn(ggml_interleaved_axes(qwen3_vl, 64)),
             there = drawn(interleaved_axes(sections{24, 20, 20}));
  EXPECT_EQ(here, repeated("thw", 20) + "teet");
  std::vector<std::size_t> differing;
  for (std::size_t pair = 0; pair < 64; ++pair)
    if (here[pair] != there[pair]) differing.push_back(pair);
  EXPECT_EQ(differing, (std::vector<std::size_t>{61, 62}));
  EXPECT_EQ(drawn(ggml_interleaved_axes({11, 11, 10, 0}, 32)), repeated("thw", 10) + "th")
      << "Qwen3.5, where both agree";
  EXPECT_EQ(drawn(ggml_interleaved_axes({1, 1, 1, 1}, 8)), "thwethwe") << "they start anew";
  EXPECT_EQ(drawn(ggml_interleaved_axes({1, 2, 1, 2}, 6)),
            "thweh"
            "e")
      << "time may end too";
}

TEST(axial_axes, are_blocks_of_dims) {
  EXPECT_EQ(drawn(axial_axes(sections{2, 4, 6})), "thhwww");
  EXPECT_EQ(axial_axes(sections{16, 56, 56}), contiguous_axes(sections{8, 28, 28}));
  EXPECT_EQ(message_of([] {
              axial_axes(sections{2, 5});
            }),
            "posenc: axial_axes: the dims of an axis must be even, got 5");
}

TEST(pair_axes, their_makers_say_what_they_cannot_take) {
  auto const much = (std::size_t{1} << 24) + 1;
  EXPECT_EQ(message_of([&] {
              contiguous_axes(sections{1, much});
            }),
            "posenc: contiguous_axes: a section must have at most 2^24 pairs, got 16777217");
  EXPECT_EQ(message_of([&] {
              interleaved_axes(sections{1, 1, much});
            }),
            "posenc: interleaved_axes: a section must have at most 2^24 pairs, got 16777217");
  EXPECT_EQ(message_of([] {
              interleaved_axes(sections{1, 1});
            }),
            "posenc: interleaved_axes: there must be three sections, got 2");
  EXPECT_EQ(message_of([] {
              interleaved_axes(sections{1, 1, 1, 1});
            }),
            "posenc: interleaved_axes: there must be three sections, got 4");
  EXPECT_EQ(message_of([] {
              ggml_axes({0, 0, 0, 0}, 4);
            }),
            "posenc: ggml_axes: the sections must not all be 0");
  EXPECT_EQ(message_of([] {
              ggml_interleaved_axes({0, 0, 0, 0}, 4);
            }),
            "posenc: ggml_interleaved_axes: the sections must not all be 0");
  EXPECT_EQ(message_of([] {
              ggml_axes({1, 1, 1, 0}, 0);
            }),
            "posenc: pair_axes: there must be at least one pair, got none");
}

using builder = axis_position_builder<>;

template <class P>
std::vector<std::vector<P>> of(axis_position_builder<P> const& built) {
  std::vector<std::vector<P>> result;
  auto const positions = built.positions();
  for (std::size_t axis = 0; axis < positions.axes(); ++axis)
    result.emplace_back(positions.of(axis).begin(), positions.of(axis).end());
  return result;
}

using integers = std::vector<std::vector<std::int64_t>>;
using fractions = std::vector<std::vector<double>>;

TEST(axis_position_builder, text_has_the_same_position_on_all_axes) {
  EXPECT_EQ(of(builder().text(3).text(0).text(2)),
            (integers{{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}}));
  EXPECT_EQ(builder().text(5).rope_delta(), 0);
  EXPECT_EQ(of(builder()), (integers{{}, {}, {}}));
  EXPECT_EQ(builder().rope_delta(), 0);
  EXPECT_EQ(builder().next(), 0);
}

// The example of transformers' get_rope_index: a video of 3 frames of 2 x 2 tokens, then five text
// tokens.
TEST(axis_position_builder, builds_the_example_of_qwen2_vl) {
  auto const built = builder().video(3, 2, 2).text(5);
  EXPECT_EQ(of(built), (integers{{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7},
                                 {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 3, 4, 5, 6, 7},
                                 {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(built.tokens(), 17u);
  EXPECT_EQ(built.next(), 8);
  EXPECT_EQ(built.rope_delta(), 8 - 17);
}

// The example of Qwen2.5-VL: 25 tokens per second, one frame per second, two frames merged into
// one.
TEST(axis_position_builder, builds_the_example_of_qwen2_5_vl) {
  auto const built = builder().video(3, 2, 2, 25 * 2).text(2);
  EXPECT_EQ(of(built)[0],
            (std::vector<std::int64_t>{0, 0, 0, 0, 50, 50, 50, 50, 100, 100, 100, 100, 101, 102}));
  EXPECT_EQ(of(built)[1],
            (std::vector<std::int64_t>{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 101, 102}));
}

TEST(axis_position_builder, an_image_goes_on_from_the_text_before) {
  auto const built = builder().text(2).image(2, 3).text(1);
  EXPECT_EQ(of(built), (integers{{0, 1, 2, 2, 2, 2, 2, 2, 5},
                                 {0, 1, 2, 2, 2, 3, 3, 3, 5},
                                 {0, 1, 2, 3, 4, 2, 3, 4, 5}}));
  EXPECT_EQ(built.rope_delta(), 6 - 9);
  EXPECT_EQ(of(builder().text(2).image(3, 2).image(1, 1)), (integers{{0, 1, 2, 2, 2, 2, 2, 2, 5},
                                                                     {0, 1, 2, 2, 3, 3, 4, 4, 5},
                                                                     {0, 1, 2, 3, 2, 3, 2, 3, 5}}));
}

TEST(axis_position_builder, time_is_cut_to_integers_frame_by_frame) {
  auto const built = builder().text(1).video(5, 1, 1, 0.75);
  EXPECT_EQ(of(built), (integers{{0, 1, 1, 2, 3, 4}, {0, 1, 1, 1, 1, 1}, {0, 1, 1, 1, 1, 1}}));
  EXPECT_EQ(built.next(), 5);
  EXPECT_EQ(of(builder().video(50, 1, 1, 1 / 49.0))[0].back(), 0)
      << "49 * (1/49) is below 1 in double";
}

TEST(axis_position_builder, time_is_fractional_where_positions_are) {
  auto const built = axis_position_builder<double>().text(1).video(3, 1, 2, 0.75).text(1);
  EXPECT_EQ(of(built), (fractions{{0, 1, 1, 1.75, 1.75, 2.5, 2.5, 3.5},
                                  {0, 1, 1, 1, 1, 1, 1, 3.5},
                                  {0, 1, 2, 1, 2, 1, 2, 3.5}}));
  EXPECT_EQ(built.next(), 4.5);
  EXPECT_EQ(built.rope_delta(), 4.5 - 8);
}

TEST(axis_position_builder, may_go_on_by_the_longest_side) {
  builder built(after_grid::longest_side);
  built.text(1).video(4, 2, 1);
  EXPECT_EQ(built.next(), 3);
  EXPECT_EQ(built.rope_delta(), 5 - 9)
      << "what is generated at once is beyond the last frame, at 4";
  built.text(1);
  EXPECT_EQ(of(built), (integers{{0, 1, 1, 2, 2, 3, 3, 4, 4, 3},
                                 {0, 1, 2, 1, 2, 1, 2, 1, 2, 3},
                                 {0, 1, 1, 1, 1, 1, 1, 1, 1, 3}}));
  EXPECT_EQ(built.next(), 4);
  EXPECT_EQ(built.rope_delta(), 5 - 10);
  EXPECT_EQ(built.text(9).rope_delta(), 13 - 19);
}

TEST(axis_position_builder, goes_on_alike_by_both_rules_after_an_image_and_a_short_video) {
  for (std::size_t h = 1; h < 5; ++h)
    for (std::size_t w = 1; w < 5; ++w)
      for (std::size_t t = 1; t <= std::max(h, w); ++t) {
        auto const a = builder().text(3).image(h, w).video(t, h, w).text(2),
                   b = builder(after_grid::longest_side).text(3).image(h, w).video(t, h, w).text(2);
        EXPECT_EQ(of(a), of(b));
        EXPECT_EQ(a.rope_delta(), b.rope_delta());
        EXPECT_EQ(a.rope_delta(), a.next() - static_cast<std::int64_t>(a.tokens()));
      }
}

// RoPE-Tie is what it says of itself [kexue 10040]: the steps s between rows and t between columns,
// each found by trying all, for which the text after an image has one position on both axes.
TEST(axis_position_builder, ties_images_to_the_text_on_both_sides) {
  EXPECT_EQ(of(builder().text(2).tied_image(2, 3).text(1)),
            (integers{{0, 1, 2, 2, 2, 2, 2, 2, 13},
                      {0, 1, 5, 5, 5, 9, 9, 9, 13},
                      {0, 1, 4, 7, 10, 4, 7, 10, 13}}));
  for (std::int64_t h = 1; h < 6; ++h)
    for (std::int64_t w = 1; w < 6; ++w) {
      auto const height = static_cast<std::size_t>(h), width = static_cast<std::size_t>(w);
      auto const whole = builder().text(3).tied_image(height, width).text(1);
      auto const parts = axis_position_builder<double>().text(3).tied_image(height, width).text(1);
      auto const tied = of(whole);
      auto const fractional = of(parts);
      int found = 0;
      for (std::int64_t s = 1; s <= w + 1; ++s)  // next text at 2 + (h + 1) s and 2 + (w + 1) t
        for (std::int64_t t = 1; t <= h + 1; ++t) {
          if ((h + 1) * s != (w + 1) * t) continue;
          ++found;
          if (s < w + 1) continue;  // a divisor of both may leave smaller ones
          auto const scale = static_cast<double>(h * w + 1) / static_cast<double>((h + 1) * s);
          std::size_t token = 3;
          for (std::int64_t y = 1; y <= h; ++y)
            for (std::int64_t x = 1; x <= w; ++x, ++token) {
              ASSERT_EQ(tied[0][token], 3);
              ASSERT_EQ(tied[1][token], 2 + y * s);
              ASSERT_EQ(tied[2][token], 2 + x * t);
              ASSERT_NEAR(fractional[1][token], 2 + static_cast<double>(y * s) * scale, 1e-14);
              ASSERT_NEAR(fractional[2][token], 2 + static_cast<double>(x * t) * scale, 1e-14);
            }
          for (std::size_t axis = 0; axis < 3; ++axis) {
            ASSERT_EQ(tied[axis].back(), 2 + (h + 1) * s);
            ASSERT_EQ(fractional[axis].back(), static_cast<double>(token)) << "as in text";
          }
        }
      ASSERT_EQ(found, std::gcd(h + 1, w + 1));
      EXPECT_EQ(whole.rope_delta(), whole.next() - static_cast<std::int64_t>(whole.tokens()));
      EXPECT_EQ(parts.rope_delta(), 0);
    }
  EXPECT_EQ(builder().text(3).tied_image(2, 3).rope_delta(), 14 - 9) << "an image at the end";
  EXPECT_EQ(of(builder().tied_image(1, 1))[1][0], 1) << "without text before, from -1 on";
  auto far = builder().video(2, 1, 1, 0x1p53 - 10);
  EXPECT_EQ(message_of([&] { far.tied_image(2, 3); }),
            "posenc: axis_position_builder: positions must stay below 2^53, got tied_image of 11 "
            "positions from 9007199254740983 on");
  EXPECT_EQ(far.tokens(), 2u);
}

TEST(axis_position_builder, refuses_what_no_grid_is_and_stays_as_it_was) {
  auto built = builder().text(2);
  auto const message = [&](auto&& part) {
    auto const before = of(built);
    auto const result = message_of([&] { part(built); });
    EXPECT_EQ(of(built), before);
    EXPECT_EQ(built.next(), 2);
    return result;
  };
  EXPECT_EQ(message([](auto& b) { b.image(0, 3); }),
            "posenc: axis_position_builder: image must have at least one token, got 1 x 0 x 3");
  EXPECT_EQ(message([](auto& b) { b.tied_image(0, 3); }),
            "posenc: axis_position_builder: tied_image must have at least one token, got 1 x 0 x "
            "3");
  EXPECT_EQ(message([](auto& b) { b.image(3, 0); }),
            "posenc: axis_position_builder: image must have at least one token, got 1 x 3 x 0");
  EXPECT_EQ(message([](auto& b) { b.video(0, 3, 3); }),
            "posenc: axis_position_builder: video must have at least one token, got 0 x 3 x 3");
  EXPECT_EQ(
      message([](auto& b) { b.image(65536, 65537); }),
      "posenc: axis_position_builder: image must have at most 2^32 tokens, got 1 x 65536 x 65537");
#if SIZE_MAX > 0xffff'ffff
  EXPECT_EQ(message([](auto& b) { b.image(std::size_t{1} << 32, std::size_t{1} << 32); }),
            "posenc: axis_position_builder: image must have at most 2^32 tokens, got 1 x "
            "4294967296 x 4294967296");
  EXPECT_EQ(
      message([](auto& b) { b.video(std::numeric_limits<std::size_t>::max(), 65536, 65536); }),
      "posenc: axis_position_builder: video must have at most 2^32 tokens, got "
      "18446744073709551615 x 65536 x 65536");
#endif
  EXPECT_EQ(message([](auto& b) { b.video(2, 1, 1, -0.5); }),
            "posenc: axis_position_builder: step must be finite and not negative, got -0.5");
  EXPECT_EQ(message([](auto& b) { b.video(2, 1, 1, not_a_number()); }),
            "posenc: axis_position_builder: step must be finite and not negative, got NaN");
  EXPECT_EQ(message([](auto& b) { b.video(2, 1, 1, infinity()); }),
            "posenc: axis_position_builder: step must be finite and not negative, got infinity");
  EXPECT_EQ(message([](auto& b) { b.video(2, 1, 1, 0x1p53); }),
            "posenc: axis_position_builder: positions must stay below 2^53, got video of "
            "9007199254740992 positions from 2 on");
  EXPECT_EQ(message([](auto& b) { b.text(std::numeric_limits<std::size_t>::max()); }),
            "posenc: axis_position_builder: positions must stay below 2^53, got text of "
            "18446744073709551616 positions from 2 on");
}

}  // namespace
