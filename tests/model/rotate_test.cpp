#include "posenc/model/rotate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "posenc/frequency/geometric.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"

namespace {
namespace of_rotate {

using namespace posenc;

rotary_description described(std::variant<halves, interleaved> layout, rotary_block block) {
  return {.rule = "default", .frequencies = geometric(6, 100.0), .layout = layout, .block = block};
}

/// 3 tokens, 2 heads, 10 dims.
std::vector<float> some_heads() {
  std::vector<float> x(60);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  return x;
}
heads_shape const shape{3, 2, 10};
std::vector<std::int64_t> const positions{0, 7, 1000};

std::vector<rotary_description> all_descriptions() {
  std::vector<rotary_description> result;
  for (auto const block : {rotary_block::first(), rotary_block::last(), rotary_block::from(2)}) {
    result.push_back(described(halves(), block));
    result.push_back(described(interleaved(), block));
  }
  return result;
}

TEST(model_rotate, rotates_each_pair_where_the_description_has_it) {
  for (auto const& rotary : all_descriptions()) {
    auto const f = rotary.frequencies.at(1);
    auto const before = some_heads();
    auto after = before;
    rotate(rotary, heads_view(after.data(), shape), cos_sin_rows(f, positions));
    auto expected = before;
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t h = 0; h < 2; ++h) {
        for (std::size_t i = 0; i < 3; ++i) {
          auto const [x, y] = dims_of_pair(rotary, 10, i);
          auto const at = (t * 2 + h) * 10;
          auto const angle = static_cast<double>(positions[t]) * f.inv_freq()[i];
          auto const c = std::cos(angle), s = std::sin(angle);
          double const a = before[at + x], b = before[at + y];
          expected[at + x] = static_cast<float>(a * c - b * s);
          expected[at + y] = static_cast<float>(a * s + b * c);
        }
      }
    }
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], expected[i], 4e-7) << i;
  }
}

TEST(model_rotate, turns_back_by_inverse_rows) {
  for (auto const& rotary : all_descriptions()) {
    cos_sin_rows const rows(rotary.frequencies.at(1), positions);
    auto x = some_heads();
    heads_view const heads(x.data(), shape);
    rotate(rotary, heads, rows);
    rotate(rotary, heads, rows.inverse());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], some_heads()[i], 4e-7);
  }
}

TEST(model_rotate, pairs_lie_in_their_block) {
  EXPECT_EQ(dims_of_pair(described(halves(), rotary_block::first()), 10, 1), (pair_dims{1, 4}));
  EXPECT_EQ(dims_of_pair(described(halves(), rotary_block::last()), 10, 1), (pair_dims{5, 8}));
  EXPECT_EQ(dims_of_pair(described(interleaved(), rotary_block::from(2)), 10, 2),
            (pair_dims{6, 7}));
}

TEST(model_rotate, refuses_a_block_outside_the_head) {
  auto x = some_heads();
  auto const rotary = described(halves(), rotary_block::from(6));
  cos_sin_rows const rows(rotary.frequencies.at(1), positions);
  EXPECT_NE(message_of([&] { rotate(rotary, heads_view(x.data(), shape), rows); }), "");
  EXPECT_EQ(x, some_heads());
}

}  // namespace of_rotate
}  // namespace
