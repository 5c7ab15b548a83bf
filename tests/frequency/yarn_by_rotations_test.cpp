#include "posenc/frequency/yarn_by_rotations.hpp"

#include <gtest/gtest.h>

#include "close_to.hpp"
#include "golden/yarn.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/yarn.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(yarn_by_rotations, has_the_known_values) {
  // The turns within the ramp, at most 32, over its width of 31.
  auto const relative = tolerance::of_blended(1e4, 16, 2 * tolerance::of_scaled(1e4));
  for (auto const& [s, pair, inv_freq] : golden::yarn_paper_values) {
    auto const f =
        yarn_by_rotations(geometric(s.dim, s.base),
                          {.factor = s.factor, .original_length = static_cast<double>(s.trained)});
    EXPECT_NEAR(f.inv_freq()[pair], inv_freq, relative * inv_freq) << pair;
  }
}

TEST(yarn_by_rotations, differs_from_the_code_of_the_field_by_up_to_three_times) {
  auto const paper =
      yarn_by_rotations(geometric(128, 1e4), {.factor = 16, .original_length = 4096});
  auto const code = yarn(128, 1e4, {.factor = 16, .original_length = 4096});
  EXPECT_NEAR(code.inv_freq()[36] / paper.inv_freq()[36], 2.956, 0.0005);
  EXPECT_EQ(code.attention_factor(), paper.attention_factor());
}

TEST(yarn_by_rotations, multiplies_the_attention_factor) {
  for (auto const& [factor, expected] : golden::yarn_attention_factors) {
    auto const f =
        yarn_by_rotations(frequencies({1, 0.5}, 1.5), {.factor = factor, .original_length = 4096});
    EXPECT_NEAR(f.attention_factor(), 1.5 * expected,
                8 * tolerance::unit_roundoff<double>() * expected);
  }
}

TEST(yarn_by_rotations, refuses_what_ntk_by_parts_does) {
  EXPECT_EQ(
      message_of([] { yarn_by_rotations(geometric(8, 1e4), {.factor = 0, .original_length = 1}); }),
      "posenc: ntk_by_parts: factor must be finite and positive, got 0");
}

}  // namespace
