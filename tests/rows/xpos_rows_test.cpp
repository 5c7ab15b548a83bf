#include "posenc/rows/xpos_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/angle.hpp"
#include "oracle/rotary.hpp"
#include "oracle/xpos.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

// The documented error, plus that of a phase: one rounding to Real, and the gain in double.
template <class Real>
double of_gained(double gain, double from_center) {
  auto const in_double = 2e-15 + 4e-18 * std::abs(from_center);
  return gain * (in_double + (std::same_as<Real, float> ? 6e-8 : 0) +
                 tolerance::of_phase(from_center)) +
         std::numeric_limits<Real>::min();
}

template <class Real>
void expect_exact(frequencies const& f, std::vector<double> const& positions,
                  xpos_decay const& decay) {
  auto const queries = xpos_query_rows<Real>(f, positions, decay),
             keys = xpos_key_rows<Real>(f, positions, decay);
  ASSERT_EQ(queries.tokens(), positions.size());
  ASSERT_EQ(keys.pairs(), f.pairs());
  for (std::size_t token = 0; token < positions.size(); ++token) {
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const n = static_cast<oracle::wide>(positions[token]),
                 from_center = n - static_cast<oracle::wide>(decay.center);
      auto const [c, s] = oracle::direction_at(n, static_cast<oracle::wide>(f.inv_freq()[i]));
      auto const zeta = oracle::xpos_zeta(i, f.rotary_dim(), decay.gamma);
      for (bool const is_query : {true, false}) {
        auto const& rows = is_query ? queries : keys;
        auto const gain =
            f.attention_factor() *
            static_cast<double>(oracle::pow(zeta, (is_query ? from_center : -from_center) /
                                                      static_cast<oracle::wide>(decay.scale_base)));
        auto const bound = of_gained<Real>(gain, static_cast<double>(oracle::abs(from_center)));
        ASSERT_NEAR(static_cast<double>(rows.cos(token)[i]), gain * static_cast<double>(c), bound)
            << positions[token] << ", pair " << i;
        ASSERT_NEAR(static_cast<double>(rows.sin(token)[i]), gain * static_cast<double>(s), bound)
            << positions[token] << ", pair " << i;
      }
    }
  }
}

TEST(xpos_rows, are_rotations_times_the_decay) {
  std::vector<double> const positions{0, 1, -1, 512, 2048, -2048, 0.5, 1024.25, 30'000, -30'000};
  numbers::in_float_and_double([&]<class Real>() {
    for (std::size_t const pairs : {1u, 2u, 31u, 32u, 64u}) {
      frequencies const f(oracle::inv_freq(2 * pairs, 1e4));
      expect_exact<Real>(f, positions, {});
      expect_exact<Real>(f, positions, {.gamma = 1.5, .scale_base = 800, .center = 900});
      expect_exact<Real>(frequencies(oracle::inv_freq(2 * pairs, 1e4), 1.25), positions, {});
    }
  });
  expect_exact<double>(frequencies(oracle::inv_freq(64, 1e4)), {250'000, -250'000}, {});
  expect_exact<double>(frequencies(oracle::inv_freq(64, 1e4)), {1e12 + 1000},
                       {.center = 1'000'000'000'000});
}

// zeta_0, zeta_1 and zeta_31 of 64 dims, from the formula; and zeta_0^4, which torchscale, counting
// from 0, reaches at 2048.
TEST(xpos_rows, fade_as_published) {
  auto const rows =
      xpos_query_rows<double>(frequencies(std::vector<double>(32, 0.0)), std::vector{512, 2048, 0});
  EXPECT_NEAR(rows.cos(0)[0], 0.28571428571428571, 1e-14);
  EXPECT_NEAR(rows.cos(0)[1], 0.30803571428571429, 1e-14);
  EXPECT_NEAR(rows.cos(0)[31], 0.97767857142857143, 1e-14);
  EXPECT_NEAR(rows.cos(1)[0], 0.0066639, 0.00000005);
  EXPECT_EQ(rows.cos(2)[0], 1);
  EXPECT_EQ(rows.sin(0)[0], 0);
  EXPECT_EQ(rows.view().rotated_pairs().size(), 1u);
  EXPECT_EQ(rows.view().rotated_pairs()[0].last, 32u)
      << "a pair of frequency 0 decays all the same";
}

TEST(xpos_rows, of_queries_are_undone_by_the_transpose_of_those_of_keys) {
  auto const f = geometric(34, 1e4);
  std::vector<std::int64_t> const positions{0, 700, -900};
  auto const x = numbers::random<double>(3 * 34);
  auto y = x;
  rotate<halves>(numbers::view(y, 3, 34), xpos_query_rows<double>(f, positions));
  EXPECT_FALSE(numbers::same_bits(x, y));
  rotate<halves>(numbers::view(y, 3, 34), xpos_key_rows<double>(f, positions).transpose());
  auto const largest_gain = std::pow(3.5, 900 / 512.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(x[i], y[i],
                2 * std::sqrt(2.0) *
                    (2 * of_gained<double>(1, 900) + 8 * tolerance::unit_roundoff<double>()) *
                    largest_gain);
  }
}

/// Up to gains whose squares are beyond the range of doubles.
TEST(xpos_rows, times_their_inverse_are_one) {
  frequencies const f({1, 0.3, 0.001, 0}, 1.25);
  auto const check = [&]<class Real>(std::vector<std::int64_t> const& positions) {
    for (auto const& rows :
         {xpos_query_rows<Real>(f, positions), xpos_key_rows<Real>(f, positions)}) {
      auto const undo = rows.inverse(), twice = undo.inverse();
      // One rounding of each number, three of doubles, two of the product; plus the roundings of
      // subnormals.
      auto const bound =
          4 * tolerance::unit_roundoff<Real>() + 6 * tolerance::unit_roundoff<double>();
      for (std::size_t token = 0; token < rows.tokens(); ++token) {
        for (std::size_t i = 0; i < f.pairs(); ++i) {
          double const c = rows.cos(token)[i], s = rows.sin(token)[i], c_undo = undo.cos(token)[i],
                       s_undo = undo.sin(token)[i];
          EXPECT_NEAR(c * c_undo - s * s_undo, 1, bound) << positions[token] << ", pair " << i;
          EXPECT_NEAR(s * c_undo + c * s_undo, 0, bound) << positions[token] << ", pair " << i;
          auto const gain = std::hypot(c, s);
          EXPECT_NEAR(static_cast<double>(twice.cos(token)[i]), c, 4 * bound * gain);
          EXPECT_NEAR(static_cast<double>(twice.sin(token)[i]), s, 4 * bound * gain);
        }
      }
      EXPECT_TRUE(std::ranges::equal(undo.view().rotated_pairs(), rows.view().rotated_pairs()));
    }
  };
  check.operator()<float>({0, 1, -1, 700, -900, 30'000, -30'000, 35'000, -35'000});
  check.operator()<double>({0, 1, -1, 700, -900, 200'000, -200'000, 285'000, -285'000});
}

TEST(xpos_rows, refuse_decays_that_are_none) {
  auto const f = geometric(8, 1e4);
  std::vector<int> const positions{1};
  EXPECT_EQ(message_of([&] { xpos_query_rows(f, positions, {.gamma = 0}); }),
            "posenc: xpos_query_rows: gamma must be finite and positive, got 0");
  EXPECT_EQ(message_of([&] { xpos_key_rows(f, positions, {.gamma = infinity()}); }),
            "posenc: xpos_key_rows: gamma must be finite and positive, got infinity");
  EXPECT_EQ(message_of([&] { xpos_query_rows(f, positions, {.scale_base = -512}); }),
            "posenc: xpos_query_rows: scale_base must be finite and positive, got -512");
  EXPECT_EQ(message_of([&] { xpos_query_rows(f, positions, {.scale_base = not_a_number()}); }),
            "posenc: xpos_query_rows: scale_base must be finite and positive, got NaN");
}

TEST(xpos_rows, refuse_positions_whose_gain_leaves_the_range) {
  auto const f = geometric(8, 1e4);
  EXPECT_EQ(message_of([&] {
              xpos_query_rows(f, std::vector{0, 40'000});
            }),
            "posenc: xpos_query_rows: gains must stay within 2^-126 to 2^126, the range of float, "
            "got position 40000 at token 1, the "
            "center being 0 and the attention factor 1");
  EXPECT_EQ(message_of([&] { xpos_key_rows(f, std::vector{-40'000}, {.center = 7}); }),
            "posenc: xpos_key_rows: gains must stay within 2^-126 to 2^126, the range of float, "
            "got position -40000 at token 0, the center "
            "being 7 and the attention factor 1");
  EXPECT_EQ(message_of([&] { xpos_query_rows<double>(f, std::vector{300'000}); }),
            "posenc: xpos_query_rows: gains must stay within 2^-1022 to 2^1022, the range of "
            "double, got position 300000 at token 0, the "
            "center being 0 and the attention factor 1");
  EXPECT_EQ(message_of([&] { xpos_query_rows(f, std::vector{not_a_number()}); }),
            "posenc: xpos_query_rows: a position must be finite and within [-2^63, 2^63), got NaN "
            "at token 0");
  EXPECT_NO_THROW(xpos_query_rows(f, std::vector{40'000}, {.center = 20'000}));
  EXPECT_NO_THROW(xpos_query_rows(f, std::vector{35'000, -35'000}));
}

TEST(xpos_rows, refuse_an_attention_factor_that_takes_a_gain_out_of_the_range) {
  std::string const of_float =
      "posenc: xpos_query_rows: gains must stay within 2^-126 to 2^126, the range of float, got "
      "position ";
  EXPECT_EQ(message_of([] {
              xpos_query_rows(frequencies({1, 0.1}, 1e-60), std::vector{0});
            }),
            of_float + "0 at token 0, the center being 0 and the attention factor 1e-60");
  EXPECT_EQ(message_of([] {
              xpos_query_rows(frequencies({1, 0.1}, 1e-30), std::vector{0, 10'000});
            }),
            of_float + "10000 at token 1, the center being 0 and the attention factor 1e-30");
  EXPECT_EQ(message_of([] {
              xpos_key_rows<double>(frequencies({1, 0.1}, 1e200), std::vector{250'000});
            }),
            "posenc: xpos_key_rows: gains must stay within 2^-1022 to 2^1022, the range of double, "
            "got position 250000 at token 0, the "
            "center being 0 and the attention factor 1e+200");
  // Positions at which one undoes the other.
  auto const rows = xpos_query_rows<double>(frequencies({1, 0.1}, 1e200), std::vector{250'000, 0}),
             undo = rows.inverse();
  EXPECT_NEAR(rows.cos(0)[0] * undo.cos(0)[0] - rows.sin(0)[0] * undo.sin(0)[0], 1,
              8 * tolerance::unit_roundoff<double>());
  EXPECT_NO_THROW(xpos_key_rows(frequencies({1, 0.1}, 1e-30), std::vector{30'000}));
}

}  // namespace
