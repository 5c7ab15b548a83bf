/// Every default of a frequency rule against its value written out.

#include <gtest/gtest.h>

#include <vector>

#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/mixed_ntk.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/ntk_by_parts.hpp"
#include "posenc/frequency/part_ntk.hpp"
#include "posenc/frequency/pixel.hpp"
#include "posenc/frequency/proportional.hpp"
#include "posenc/frequency/raised_cosine_clip.hpp"
#include "posenc/frequency/yarn.hpp"

namespace {

using namespace posenc;

void expect_same(frequencies const& with_defaults, frequencies const& written_out) {
  for (std::size_t i = 0; i < with_defaults.pairs(); ++i) {
    EXPECT_EQ(with_defaults.inv_freq()[i], written_out.inv_freq()[i]) << i;
    EXPECT_EQ(with_defaults.rest()[i], written_out.rest()[i]) << i;
  }
  EXPECT_EQ(with_defaults.attention_factor(), written_out.attention_factor());
}

TEST(frequency_defaults, are_what_is_documented) {
  auto const f = geometric(100, 1e4);
  expect_same(frequencies({1, 0.5}), frequencies({1, 0.5}, {0, 0}, 1));
  expect_same(mixed_ntk(f, 8), mixed_ntk(f, 8, 0.625));
  expect_same(truncated(f, 0.58), truncated(f, 0.58, published_floor));
  EXPECT_NE(truncated(f, 0.58).inv_freq()[28], truncated(f, 0.58, exact_floor).inv_freq()[28]);
  expect_same(pixel(8), pixel(8, 10));
  expect_same(part_ntk(64, 1e4, {4, 4096}), part_ntk(64, 1e4, {4, 4096, 1, 1}));
  expect_same(proportional(64, 1e6, 0.25), proportional(64, 1e6, 0.25, 1));
  expect_same(ntk_by_parts(f, {.factor = 4, .original_length = 4096}),
              ntk_by_parts(f, {4, 4096, 1, 32}));
  expect_same(yarn(64, 1e4, {.factor = 4, .original_length = 4096}),
              yarn(64, 1e4, {4, 4096, 32, 1, true, {}, {}, {}, 1}));
  longrope_scaling const all{{2}, {3}, 4096, 1, {}};
  expect_same(longrope(frequencies({1}),
                       {.short_factor = {2}, .long_factor = {3}, .original_length = 4096}, 1),
              longrope(frequencies({1}), all, 1));
  EXPECT_EQ(attention_factor(all), 1);
}

TEST(frequency_defaults, smallest_sizes_are_taken) {
  EXPECT_EQ(geometric(2, 1e4).inv_freq()[0], 1);
  EXPECT_EQ(geometric_inclusive(2, 1e4).inv_freq()[0], 1);
  EXPECT_EQ(geometric_inclusive(4, 1e4).inv_freq()[1], 1e-4);
  EXPECT_EQ(ntk(frequencies({1, 0.5}), 2).inv_freq()[1], 0.25);
  EXPECT_EQ(mixed_ntk(frequencies({1}), 2).inv_freq()[0], 0.5);
  EXPECT_EQ(raised_cosine_clip(frequencies({1}), 1).inv_freq()[0], 1);
  EXPECT_EQ(raised_cosine_clip(frequencies({1, 0.5}), 2).inv_freq()[1], 0);
  EXPECT_EQ(yarn(2, 1e4, {.factor = 1, .original_length = 1}).inv_freq()[0], 1);
}

}  // namespace
