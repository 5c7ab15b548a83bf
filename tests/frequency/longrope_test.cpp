#include "posenc/frequency/longrope.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "close_to.hpp"
#include "golden/frequency_rules.hpp"
#include "non_numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

longrope_scaling some_scaling() {
  return {.short_factor = {1, 1.05, 1.1, 2},
          .long_factor = {1, 1.5, 8, 64.25},
          .original_length = 4096,
          .factor = 32};
}

TEST(longrope, takes_the_long_list_beyond_the_original_length) {
  auto const s = some_scaling();
  for (double const length : {1.0, 4096.0, 4097.0, 131072.0}) {
    expect_close(longrope(geometric(8, 1e4), s, length),
                 oracle::longrope_rule(8, 1e4, s.short_factor, s.long_factor, 4096, length),
                 tolerance::of_scaled(1e4));
  }
}

TEST(longrope, attention_factor_is_that_of_phi) {
  auto const expected = golden::phi_attention_factor;
  EXPECT_NEAR(attention_factor(some_scaling()), expected,
              8 * tolerance::unit_roundoff<double>() * expected);
  for (double const length : {1.0, 1e6})
    EXPECT_EQ(longrope(geometric(8, 1e4), some_scaling(), length).attention_factor(),
              attention_factor(some_scaling()));
}

TEST(longrope, attention_factor_may_be_given_and_is_1_for_no_longer_context) {
  auto given = some_scaling(), none = some_scaling();
  given.attention_factor = 1.25;
  none.factor = 1;
  EXPECT_EQ(attention_factor(given), 1.25);
  EXPECT_EQ(attention_factor(none), 1);
  EXPECT_EQ(longrope(frequencies({1, 0.5, 0.25, 0.125}, 2), given, 1).attention_factor(), 2.5);
}

TEST(longrope, refuses_lists_of_other_lengths_and_bad_factors) {
  auto const message = [](auto change) {
    auto s = some_scaling();
    change(s);
    return message_of([&] { longrope(geometric(8, 1e4), s, 1); });
  };
  EXPECT_EQ(message([](auto& s) { s.short_factor.pop_back(); }),
            "posenc: longrope: short_factor must have one factor for each of the 4 pairs, got 3");
  EXPECT_EQ(message([](auto& s) { s.long_factor.push_back(1); }),
            "posenc: longrope: long_factor must have one factor for each of the 4 pairs, got 5");
  EXPECT_EQ(message([](auto& s) { s.long_factor[2] = 0; }),
            "posenc: longrope: long_factor must have finite factors above 0, got 0 at pair 2");
  EXPECT_EQ(message([](auto& s) { s.short_factor[1] = not_a_number(); }),
            "posenc: longrope: short_factor must have finite factors above 0, got NaN at pair 1");
  EXPECT_EQ(message([](auto& s) { s.original_length = 1; }),
            "posenc: longrope: original_length must be finite and above 1, got 1");
  EXPECT_EQ(message([](auto& s) { s.factor = -2; }),
            "posenc: longrope: factor must be finite and positive, got -2");
  EXPECT_EQ(message([](auto& s) { s.attention_factor = -1; }),
            "posenc: longrope: attention_factor must be finite and positive, got -1");
  EXPECT_EQ(message_of([] { longrope(geometric(8, 1e4), some_scaling(), 0); }),
            "posenc: longrope: length must be finite and positive, got 0");
}

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
