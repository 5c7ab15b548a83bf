#include "posenc/frequency/ntk.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <string>

#include "close_to.hpp"
#include "non_numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(ntk_by_parts, blends_by_the_turns_within_the_trained_context) {
  for (std::size_t const dim : {2u, 64u, 128u}) {
    for (double const beta : {1.5, 4.0, 32.0}) {
      auto const turns_error = tolerance::of_scaled(1e4) * 4096 / (2 * std::numbers::pi);
      for (double const factor : {0.25, 16.0}) {
        expect_close(
            ntk_by_parts(geometric(dim, 1e4),
                         {.factor = factor, .original_length = 4096, .alpha = 1, .beta = beta}),
            oracle::yarn_paper_rule(dim, 1e4, factor, 4096, 1, beta),
            tolerance::of_blended(1e4, factor, turns_error / (beta - 1)));
      }
    }
  }
}

TEST(ntk_by_parts, is_a_step_where_alpha_equals_beta) {
  auto const two_pi = 2 * std::numbers::pi;
  frequencies const f({two_pi / 512, two_pi / 1024, two_pi / 1025, 0},
                      1.5);  // 2 turns, exactly 1, less than 1, none
  auto const stepped =
      ntk_by_parts(f, {.factor = 4, .original_length = 1024, .alpha = 1, .beta = 1});
  EXPECT_EQ(stepped.inv_freq()[0], f.inv_freq()[0]);
  EXPECT_EQ(stepped.inv_freq()[1], f.inv_freq()[1]) << "exactly alpha is kept";
  EXPECT_EQ(stepped.inv_freq()[2], f.inv_freq()[2] / 4);
  EXPECT_EQ(stepped.inv_freq()[3], 0);
  EXPECT_EQ(stepped.attention_factor(), 1.5);
}

TEST(ntk_by_parts, keeps_what_turns_more_often_than_doubles_count) {
  frequencies const f({100., 1.});
  for (double const length : {1e308, 1.7e308}) {
    for (auto const& scaled :
         {ntk_by_parts(f, {.factor = 8, .original_length = length}), llama3(f, {8, 1, 4, length}),
          ntk_by_parts(f, {.factor = 8, .original_length = length, .alpha = 1, .beta = 1})}) {
      EXPECT_EQ(scaled.inv_freq()[0], 100);
      EXPECT_EQ(scaled.inv_freq()[1], 1);
    }
  }
  auto const steep = ntk_by_parts(f, {.factor = 8,
                                      .original_length = 1e20,
                                      .alpha = 0,
                                      .beta = std::numeric_limits<double>::min()});
  EXPECT_EQ(steep.inv_freq()[0], 100);
  // 1.59e307 of 1.7e308 turns.
  auto const between = ntk_by_parts(
      frequencies({1.}), {.factor = 8, .original_length = 1e308, .alpha = 0, .beta = 1.7e308});
  EXPECT_NEAR(between.inv_freq()[0], 0.125 + 0.875 / (3.4 * std::numbers::pi), 8 * 0x1p-53);
}

TEST(ntk_by_parts, refuses_what_is_no_scaling) {
  auto const message = [](ntk_by_parts_scaling s) {
    return message_of([&] { ntk_by_parts(geometric(8, 1e4), s); });
  };
  EXPECT_EQ(message({.factor = -0.5, .original_length = 1}),
            "posenc: ntk_by_parts: factor must be finite and positive, got -0.5");
  EXPECT_EQ(message({.factor = 2, .original_length = 0}),
            "posenc: ntk_by_parts: original_length must be finite and positive, got 0");
  std::string const must =
      "posenc: ntk_by_parts: alpha and beta must be finite and 0 <= alpha <= beta, got ";
  EXPECT_EQ(message({.factor = 2, .original_length = 1, .alpha = 33}), must + "33 and 32");
  EXPECT_EQ(message({.factor = 2, .original_length = 1, .alpha = -1}), must + "-1 and 32");
  EXPECT_EQ(message({.factor = 2, .original_length = 1, .beta = infinity()}),
            must + "1 and infinity");
}

}  // namespace
