#include "posenc/analysis/compare/score_matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/compare/matrices.hpp"

namespace {

using namespace posenc;
using detail::matrix_difference, detail::score_matrix;
using matrices::layer, matrices::matrix;

TEST(matrix_difference, is_zero_only_if_every_number_is_equal) {
  auto const is_zero = [](layer_description const& a, layer_description const& b) {
    auto const x = matrix(a), y = matrix(b);
    return matrix_difference(x, y).is_zero();
  };
  std::vector<double> const f{1, 0.5};
  auto const a = layer(frequencies(f));
  auto twice = a;
  twice.softmax_factor = 2;
  EXPECT_TRUE(is_zero(a, a));
  EXPECT_FALSE(is_zero(a, layer(frequencies({1, 0.5 + 0x1p-53}))));
  EXPECT_FALSE(is_zero(a, layer(frequencies(f, {0, 0x1p-60}, 1))));
  EXPECT_FALSE(is_zero(a, layer(frequencies(f, 2))));
  EXPECT_FALSE(is_zero(a, layer(frequencies(f), interleaved())));
  EXPECT_FALSE(is_zero(a, twice));
}

/// One pair of dims 0 and 2, or of 0 and 1, and one that stands. The largest singular value of the
/// difference of both, as S_a - S_b = [0 s -s; -s 1-c 0; s 0 c-1] in dims 0, 1, 2 has it.
struct other_dims {
  explicit other_dims(double inv_freq)
      : a(matrix(layer(frequencies({inv_freq, 0})))),
        b(matrix(layer(frequencies({inv_freq, 0}), interleaved()))) {}
  score_matrix a, b;
};
double largest_of_other_dims(double angle) {
  return std::sqrt(2 * std::pow(std::sin(angle), 2) + std::pow(1 - std::cos(angle), 2));
}

TEST(matrix_difference, of_pairs_of_other_dims_has_its_largest_singular_value) {
  other_dims const s(0.37);
  matrix_difference const difference(s.a, s.b);
  for (std::int64_t r = 0; r < 40; ++r) {
    auto const expected = largest_of_other_dims(0.37 * static_cast<double>(r));
    auto const found = difference.at(r);
    EXPECT_LE(found.worst, expected * (1 + 1e-12)) << r;
    EXPECT_GE(found.worst, expected * (1 - 2e-3)) << r;
    EXPECT_EQ(found.angle, std::nullopt);
    EXPECT_EQ(found.worst, difference.worst_at(r));
  }
}

TEST(matrix_difference, tells_singular_values_apart_that_are_close) {
  auto a = layer(frequencies({0.3, 0}), halves(), 8);
  a.rotary.push_back(a.rotary[0]);
  a.rotary[1].frequencies = frequencies({0.31, 0}), a.rotary[1].block = rotary_block::from(4);
  auto b = a;
  b.rotary[0].layout = b.rotary[1].layout = interleaved();
  auto const x = matrix(a), y = matrix(b);
  EXPECT_NEAR(matrix_difference(x, y).worst_at(1), largest_of_other_dims(0.31), 1e-4);
}

TEST(matrix_difference, of_other_dims_is_first_above_exactly_up_to_4096_then_within_1_percent) {
  for (auto const& [inv_freq, error] : {std::pair(1e-3, 0.0), std::pair(1.0 / 8000, 0.0),
                                        std::pair(1e-5, 0.01), std::pair(1e-6, 0.01)}) {
    other_dims const s(inv_freq);
    matrix_difference const difference(s.a, s.b);
    std::int64_t first = 0;
    while (largest_of_other_dims(inv_freq * static_cast<double>(first)) <= 0.5) ++first;
    auto const found = difference.first_above(0.5, 4 * first);
    ASSERT_TRUE(found.has_value());
    EXPECT_GE(*found, first);
    EXPECT_LE(static_cast<double>(*found - first), error * static_cast<double>(first));
    EXPECT_EQ(difference.first_above(0.5, first), std::nullopt);
  }
}

TEST(matrix_difference, of_frequencies_is_first_above_though_steps_pass_the_arc) {
  for (auto const step : {0.3, 2.0, 3.0, std::numbers::pi, 6.2, 7.0}) {
    auto const a = matrix(layer(frequencies({0, 0}))), b = matrix(layer(frequencies({step, 0})));
    matrix_difference const difference(a, b);
    for (auto const threshold : {0x1p-8, 0.5, 1.5, 1.99}) {
      std::optional<std::int64_t> first;
      for (std::int64_t r = 0; r < 50 && !first; ++r) {
        if (2 * std::abs(std::sin(step * static_cast<double>(r) / 2)) > threshold) first = r;
      }
      EXPECT_EQ(difference.first_above(threshold, 50), first) << step << ' ' << threshold;
    }
    EXPECT_EQ(difference.first_above(2, 50), std::nullopt);
  }
}

TEST(matrix_difference, has_the_angle_that_is_not_reduced) {
  auto const a = matrix(layer(frequencies({5, 0.25}))), b = matrix(layer(frequencies({1, 0.5})));
  EXPECT_EQ(matrix_difference(a, b).at(100).angle, 400);
  auto const c = matrix(layer(frequencies({1, 0.25}, {0, 0x1p-56}, 1))),
             d = matrix(layer(frequencies({1, 0.25})));
  EXPECT_EQ(matrix_difference(c, d).at(1 << 10).angle, 0x1p-46);
}

}  // namespace
