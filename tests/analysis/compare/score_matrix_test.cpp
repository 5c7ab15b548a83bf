#include "posenc/analysis/compare/score_matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>

#include "analysis/compare/matrices.hpp"

namespace {

using namespace posenc;
using detail::score_matrix;
using matrices::layer, matrices::matrix;

TEST(score_matrix, has_a_rotation_for_each_pair_and_its_factor_elsewhere) {
  auto one = layer(frequencies({1, 0.25}, 2), halves(), 7);
  one.rotary[0].block = rotary_block::from(1);
  one.softmax_factor = -3;
  auto const s = matrix(one);
  auto const rows = s.rows_at(5);
  ASSERT_EQ(rows.size(), 7u);
  double dense[7][7] = {};
  for (std::size_t i = 0; i < 7; ++i) {
    for (auto const& e : rows[i]) dense[i][e.column] += e.value;
  }
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

TEST(score_matrix, is_largest_in_dims_apart_if_rotated_ones_shrink) {
  frequencies const f({1, 0.25}, 0.5);
  EXPECT_FALSE(matrix(layer(f)).has_dims_apart());
  EXPECT_EQ(matrix(layer(f)).largest(), 0.25);
  EXPECT_TRUE(matrix(layer(f, halves(), 5)).has_dims_apart());
  EXPECT_EQ(matrix(layer(f, halves(), 5)).largest(), 1);
  layer_description const nope{.name = "x", .head_dim = 9};
  EXPECT_EQ(matrix(nope).largest(), 1);
  EXPECT_EQ(matrix(nope).norm(), 3);
}

}  // namespace
