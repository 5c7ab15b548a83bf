#include "../examples/program/compare/score_matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace posenc;
using namespace comparing;

layer_description layer(posenc::frequencies f,
                        std::variant<posenc::halves, posenc::interleaved> layout = posenc::halves(),
                        std::size_t head_dim = 4) {
  return {.name = "x",
          .head_dim = head_dim,
          .rotary = {{.rule = "default", .frequencies = std::move(f), .layout = layout}}};
}

score_matrix matrix(layer_description const& one) { return {one, 4096}; }

TEST(score_matrix, has_a_rotation_for_each_pair_and_its_factor_elsewhere) {
  auto one = layer(frequencies({1, 0.25}, 2), halves(), 7);
  one.rotary[0].block = rotary_block::from(1);
  one.softmax_factor = -3;
  auto const s = matrix(one);
  ASSERT_EQ(s.dims(), 7u);
  sparse_matrix sum;
  s.add_to(sum, 5, 1);
  double dense[7][7] = {};
  for (auto const& [at, value] : sum) dense[at.first][at.second] = value;
  double expected[7][7] = {};
  for (auto const apart : {0, 5, 6}) expected[apart][apart] = -3;
  for (auto const& [x, y, angle] : {std::tuple(1, 3, 5.0), std::tuple(2, 4, 1.25)}) {
    expected[x][x] = expected[y][y] = -12 * std::cos(angle);
    expected[x][y] = 12 * std::sin(angle), expected[y][x] = -12 * std::sin(angle);
  }
  double squares = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = 0; j < 7; ++j) {
      EXPECT_NEAR(dense[i][j], expected[i][j], 1e-14) << i << ' ' << j;
      squares += expected[i][j] * expected[i][j];
    }
  }
  EXPECT_NEAR(s.norm(), std::sqrt(squares), 1e-13);
  EXPECT_EQ(s.largest(), 12);
}

TEST(score_matrix, of_the_opposite_angle_is_that_of_the_opposite_distance) {
  auto opposite = layer(frequencies({1, 0.25}));
  opposite.rotary[0].opposite = true;
  sparse_matrix there, back;
  matrix(opposite).add_to(there, 3, 1);
  matrix(layer(frequencies({1, 0.25}))).add_to(back, -3, 1);
  for (auto const& [at, value] : back) EXPECT_NEAR(there[at], value, 1e-15);
  auto const off = difference_at(3, matrix(opposite), matrix(layer(frequencies({1, 0.25}))));
  EXPECT_NEAR(off.worst, 2 * std::sin(0.75), 2e-3 * 2 * std::sin(0.75));  // above 2 sin(3)
}

TEST(score_matrix, is_largest_in_dims_apart_if_rotated_ones_shrink) {
  frequencies const f({1, 0.25}, 0.5);
  EXPECT_TRUE(matrix(layer(f)).apart.empty());
  EXPECT_EQ(matrix(layer(f)).largest(), 0.25);
  EXPECT_EQ(matrix(layer(f, halves(), 5)).apart, std::vector<std::size_t>{4});
  EXPECT_EQ(matrix(layer(f, halves(), 5)).largest(), 1);
  layer_description const nope{.name = "x", .head_dim = 9};
  EXPECT_EQ(matrix(nope).largest(), 1);
  EXPECT_EQ(matrix(nope).norm(), 3);
}

TEST(score_matrix, is_equal_only_if_every_number_is) {
  auto const are_equal = [](layer_description const& a, layer_description const& b) {
    return matrix(a) == matrix(b);
  };
  std::vector<double> const f{1, 0.5};
  auto const a = layer(frequencies(f));
  auto twice = a;
  twice.softmax_factor = 2;
  EXPECT_TRUE(are_equal(a, a));
  EXPECT_FALSE(are_equal(a, layer(frequencies({1, 0.5 + 0x1p-53}))));
  EXPECT_FALSE(are_equal(a, layer(frequencies(f, {0, 0x1p-60}, 1))));
  EXPECT_FALSE(are_equal(a, layer(frequencies(f, 2))));
  EXPECT_FALSE(are_equal(a, layer(frequencies(f), interleaved())));
  EXPECT_FALSE(are_equal(a, twice));
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

TEST(difference_at, of_pairs_of_other_dims_has_its_largest_singular_value) {
  other_dims const s(0.37);
  for (std::int64_t r = 0; r < 40; ++r) {
    auto const expected = largest_of_other_dims(0.37 * static_cast<double>(r));
    auto const found = difference_at(r, s.a, s.b);
    EXPECT_LE(found.worst, expected * (1 + 1e-12)) << r;
    EXPECT_GE(found.worst, expected * (1 - 2e-3)) << r;
    EXPECT_EQ(found.angle, std::nullopt);
  }
}

TEST(difference_at, tells_singular_values_apart_that_are_close) {
  auto a = layer(frequencies({0.3, 0}), halves(), 8);
  a.rotary.push_back(a.rotary[0]);
  a.rotary[1].frequencies = frequencies({0.31, 0}), a.rotary[1].block = rotary_block::from(4);
  auto b = a;
  b.rotary[0].layout = b.rotary[1].layout = interleaved();
  auto const x = matrix(a), y = matrix(b);
  EXPECT_NEAR(difference_at(1, x, y).worst, largest_of_other_dims(0.31), 1e-4);
}

TEST(difference_at, has_the_angle_that_is_not_reduced) {
  auto const a = matrix(layer(frequencies({5, 0.25}))), b = matrix(layer(frequencies({1, 0.5})));
  EXPECT_EQ(difference_at(100, a, b).angle, 400);
  auto const c = matrix(layer(frequencies({1, 0.25}, {0, 0x1p-56}, 1))),
             d = matrix(layer(frequencies({1, 0.25})));
  EXPECT_EQ(difference_at(1 << 10, c, d).angle, 0x1p-46);
}

}  // namespace
