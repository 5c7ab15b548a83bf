#include "posenc/frequency/divided_by_factors.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "close_to.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(divided_by_factors, divides_each_pair_by_its_factor) {
  std::vector<double> const factors{1, 0.5, 3, 1e6};
  expect_close(divided_by_factors(geometric(8, 1e4), factors),
               oracle::per_pair_rule(oracle::default_rule(8, 1e4), factors),
               tolerance::of_scaled(1e4));
  EXPECT_EQ(divided_by_factors(frequencies({1, 1, 1, 1}, 1.5), factors).attention_factor(), 1.5);
}

TEST(divided_by_factors, by_1e30_stands_still_as_p_rope_in_ggml) {
  std::vector<double> factors(256, 1e30);
  std::fill_n(factors.begin(), 64, 1.0);
  auto const ggml = divided_by_factors(geometric(512, 1e6), factors),
             p_rope = truncated(geometric(512, 1e6), 0.25);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(ggml.inv_freq()[i], p_rope.inv_freq()[i]) << i;
}

TEST(divided_by_factors, refuses_too_few_too_many_and_bad_factors) {
  auto const message = [](std::vector<double> const& factors) {
    return message_of([&] { divided_by_factors(geometric(4, 1e4), factors); });
  };
  EXPECT_EQ(
      message({1}),
      "posenc: divided_by_factors: factors must have one factor for each of the 2 pairs, got 1");
  EXPECT_EQ(
      message({1, 1, 1}),
      "posenc: divided_by_factors: factors must have one factor for each of the 2 pairs, got 3");
  EXPECT_EQ(
      message({1, -1}),
      "posenc: divided_by_factors: factors must have finite factors above 0, got -1 at pair 1");
}

}  // namespace
