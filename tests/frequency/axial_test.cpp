#include "posenc/frequency/axial.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "close_to.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/rotary.hpp"
#include "oracle/rotated_pairs.hpp"
#include "oracle/wide.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using dims = std::vector<std::size_t>;

TEST(axial, each_axis_has_frequencies_from_its_own_start) {
  dims const flux{16, 56, 56};
  auto const f = axial(flux, 1e4);
  ASSERT_EQ(f.rotary_dim(), 128u);
  EXPECT_EQ(f.attention_factor(), 1);
  std::size_t pair = 0;
  for (auto const d : flux) {
    for (auto const expected : oracle::inv_freq(d, 1e4)) {
      EXPECT_NEAR(f.inv_freq()[pair], expected, tolerance::of_power(1e4) * expected)
          << "pair " << pair;
      ++pair;
    }
  }
  EXPECT_EQ(f.inv_freq()[0], 1);
  EXPECT_EQ(f.inv_freq()[8], 1);
  EXPECT_EQ(f.inv_freq()[36], 1);
}

TEST(axial, of_one_axis_is_geometric) {
  EXPECT_TRUE(std::ranges::equal(axial(dims{64}, 1e4).inv_freq(), geometric(64, 1e4).inv_freq()));
}

// ggml's GGML_ROPE_TYPE_VISION with n_dims = head_dim / 2: pair j of a section has frequency
// base^(-2j / n_dims); the two dims of a pair are n_dims apart.
TEST(axial, of_two_halves_is_ggmls_vision) {
  constexpr std::size_t head_dim = 72;
  dims const two{head_dim / 2, head_dim / 2};
  auto const f = axial(two, 1e4);
  auto const axes = axial_axes(two);
  EXPECT_EQ(axes,
            ggml_axes({head_dim / 4, head_dim / 4, head_dim / 4, head_dim / 4}, head_dim / 2));
  auto const inv_freq = oracle::inv_freq(head_dim / 2, 1e4);
  auto const x = numbers::random<float>(head_dim);
  auto y = x;
  rotate<halves>(numbers::view(y, 1, head_dim), axis_rows(f, axes, axis_positions<>({{7}, {-30}})));
  std::vector<oracle::pair_rotation> turns;
  for (oracle::wide const position : {7, -30})
    for (auto const inv : inv_freq) turns.push_back({position, inv});
  auto expected = numbers::exact(x);
  oracle::rotate_pairs(expected, turns, oracle::pairing::halves);
  for (std::size_t i = 0; i < head_dim; ++i) {
    EXPECT_NEAR(static_cast<double>(y[i]), expected[i],
                tolerance::of_rotated<float>(1, 1, expected[i]) + tolerance::of_angle(30, 1));
  }
}

// Pairs (i, i + d/4) within each half of the head, base 100: two rotations, one per coordinate.
TEST(axial, gemma_4s_vision_model_rotates_two_blocks_instead) {
  constexpr std::size_t head_dim = 72, half = head_dim / 2;
  std::vector<std::int64_t> const x{0, 5, 9}, y{3, 0, 63};
  auto const before = numbers::random<float>(3 * head_dim);
  auto q = before;
  auto const view = numbers::view(q, 3, head_dim);
  rotate<halves>(view, cos_sin_rows(geometric(half, 100), x), rotary_block::from(0));
  rotate<halves>(view, cos_sin_rows(geometric(half, 100), y), rotary_block::from(half));

  auto const inv_freq = oracle::inv_freq(half, 100);
  for (std::size_t token = 0; token < 3; ++token) {
    auto const all = numbers::exact(before);
    auto const first = all.begin() + static_cast<std::ptrdiff_t>(token * head_dim);
    std::vector<double> expected(first, first + head_dim);
    for (std::size_t pair = 0; pair < half / 2; ++pair) {
      auto const rotated = [&](std::size_t i, std::int64_t position) {
        std::vector<double> one{expected[i], expected[i + half / 2]};
        oracle::rotate(one, std::vector{inv_freq[pair]}, static_cast<oracle::wide>(position),
                       oracle::pairing::halves);
        expected[i] = one[0], expected[i + half / 2] = one[1];
      };
      rotated(pair, x[token]), rotated(half + pair, y[token]);
    }
    for (std::size_t i = 0; i < head_dim; ++i) {
      EXPECT_NEAR(static_cast<double>(q[token * head_dim + i]), expected[i],
                  tolerance::of_rotated<float>(1, 1, expected[i]) + 2 * tolerance::of_angle(63, 1))
          << "token " << token << ", dim " << i;
    }
  }
  auto whole = before;
  rotate<halves>(numbers::view(whole, 3, head_dim),
                 axis_rows(axial(dims{half, half}, 100), axial_axes(dims{half, half}),
                           axis_positions({x, y})));
  EXPECT_FALSE(numbers::same_bits(whole, q)) << "halves of the whole head are something else";
}

TEST(axial, has_a_base_for_each_axis) {
  // Cosmos, 720p: h and w are scaled by 4, whose base is 1e4 4^(D / (D - 2)).
  std::vector const bases{1e4, 1e4 * std::pow(4, 42.0 / 40), 5e5};
  auto const f = axial({44, 42, 42}, bases);
  std::size_t pair = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (auto const expected : oracle::inv_freq(axis == 0 ? 44 : 42, bases[axis])) {
      EXPECT_NEAR(f.inv_freq()[pair], expected, tolerance::of_power(bases[axis]) * expected);
      ++pair;
    }
  }
  EXPECT_EQ(message_of([] {
              axial({4, 4}, {1.0, 2.0, 3.0});
            }),
            "posenc: axial: there must be a base for each of the 2 axes, got 3");
  EXPECT_EQ(message_of([] {
              axial({4, 4}, {1.0, -2.0});
            }),
            "posenc: axial: base must be finite and positive, got -2");
}

TEST(axial, dims_must_be_even_and_base_positive) {
  EXPECT_EQ(message_of([] { axial(dims{}, 1e4); }),
            "posenc: axial: there must be at least one axis, got none");
  EXPECT_EQ(message_of([] {
              axial(dims{4, 0}, 1e4);
            }),
            "posenc: axial: the dims of an axis must be even, positive and at most 2^24, got 0 on "
            "axis 1");
  EXPECT_EQ(message_of([] {
              axial(dims{3, 4}, 1e4);
            }),
            "posenc: axial: the dims of an axis must be even, positive and at most 2^24, got 3 on "
            "axis 0");
  EXPECT_NE(message_of([] { axial(dims{4, (std::size_t{1} << 24) + 2}, 1e4); }), "");
  EXPECT_EQ(message_of([] { axial(dims{4}, -1); }),
            "posenc: axial: base must be finite and positive, got -1");
  EXPECT_EQ(message_of([] { axial(dims{4}, not_a_number()); }),
            "posenc: axial: base must be finite and positive, got NaN");
}

// torch.linspace(1, max_freq / 2, dim // 2) * pi.
TEST(pixel, has_the_known_values) {
  expect_close(pixel(8),
               {3.1415926535897931, 7.3303828583761843, 11.519173063162574, 15.707963267948966},
               2 * tolerance::unit_roundoff<double>());
  expect_close(pixel(2, 7), {3.1415926535897931}, tolerance::unit_roundoff<double>());
}

TEST(pixel, follows_its_formula) {
  for (std::size_t const dim : {4u, 6u, 32u, 128u}) {
    for (double const max_freq : {0.5, 2.0, 10.0, 256.0}) {
      std::vector<double> expected;
      for (std::size_t i = 0; i < dim / 2; ++i) {
        auto const step = static_cast<oracle::wide>(i) / static_cast<oracle::wide>(dim / 2 - 1);
        expected.push_back(static_cast<double>(
            oracle::pi * (1 + step * (static_cast<oracle::wide>(max_freq) / 2 - 1))));
      }
      expect_close(pixel(dim, max_freq), expected, 4 * tolerance::unit_roundoff<double>());
    }
  }
}

TEST(pixel, turns_by_the_coordinate) {
  std::vector<double> const corners{-1, 0, 1};
  auto const rows = cos_sin_rows(pixel(2), corners);
  EXPECT_NEAR(rows.cos(0)[0], -1, 1e-7);
  EXPECT_EQ(rows.cos(1)[0], 1);
  EXPECT_NEAR(rows.cos(2)[0], -1, 1e-7);
}

TEST(pixel, refuses_odd_dims_and_what_is_no_frequency) {
  EXPECT_EQ(message_of([] { pixel(7); }),
            "posenc: pixel: dim must be even, positive and at most 2^24, got 7");
  EXPECT_EQ(message_of([] { pixel(0); }),
            "posenc: pixel: dim must be even, positive and at most 2^24, got 0");
  std::string const must = "posenc: pixel: max_freq must be finite and positive, got ";
  EXPECT_EQ(message_of([] { pixel(8, 0); }), must + "0");
  EXPECT_EQ(message_of([] { pixel(8, not_a_number()); }), must + "NaN");
}

}  // namespace
