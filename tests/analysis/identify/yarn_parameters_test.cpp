#include "posenc/analysis/identify/yarn_parameters.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <vector>

#include "oracle/frequency_rules.hpp"

namespace {

using namespace posenc::detail;
using posenc::frequency_explanation;

fit_parameter end_at(double index, double from, double to) {
  return {.name = "end", .value = index, .least = 0, .most = 127, .fits_from = from, .fits_to = to};
}
/// The index of the pair with one turn within a length, of 64 pairs.
double index_of(double length, double base) {
  return static_cast<double>(oracle::yarn_pair_of(1, 128, base, length));
}

TEST(length_of_ramp_end, has_all_lengths_whose_index_rounds_to_it) {
  for (auto const base : {1e4, 5e5}) {
    for (bool const is_first : {true, false}) {
      auto const end = is_first ? 20 : 46, from = is_first ? 20 : 45;  // down or up
      auto const found =
          length_of_ramp_end(64, {base, base}, end_at(end, end, end), true, is_first);
      auto const least = index_of(found.least, base), most = index_of(found.most, base);
      EXPECT_NEAR(least, from, 2e-9);
      EXPECT_NEAR(most, from + 1, 2e-9);
      EXPECT_TRUE(from < least && most < from + 1);
    }
  }
}

TEST(length_of_ramp_end, of_bases_goes_from_the_least_to_the_most) {
  auto const found = length_of_ramp_end(64, {1e4, 2e4}, end_at(20.5, 20.25, 20.75), false, true);
  EXPECT_NEAR(index_of(found.least, 1e4), 20.25, 1e-12);
  EXPECT_NEAR(index_of(found.most, 2e4), 20.75, 1e-12);
}

TEST(length_of_ramp_end, of_a_clamped_end_is_open) {
  interval const base{1e4, 1e4};
  EXPECT_EQ(length_of_ramp_end(64, base, end_at(0, 0, 0), true, true).least, 1e-30);
  EXPECT_NEAR(index_of(length_of_ramp_end(64, base, end_at(0, 0, 0), true, true).most, 1e4), 1,
              2e-9);
  EXPECT_EQ(length_of_ramp_end(64, base, end_at(127, 127, 127), true, false).most, 1e30);
  EXPECT_LT(length_of_ramp_end(64, base, end_at(126, 126, 126), true, false).most, 1e30);
}

/// What is told of a ramp over 64 pairs of base 10^4 and factor 4.
frequency_explanation told(double first, double last, std::vector<double> const& extrapolation = {},
                           std::size_t kept = 64) {
  rule_fit fit{"yarn", {{"factor", 4, 1, 100}, {"base", 1e4, 2, 1e9}}, {}};
  fit.parameters.push_back({"first", first, 0, 127}),
      fit.parameters.push_back({"last", last, 0, 127});
  for (auto const x : extrapolation) fit.parameters.push_back({"extrapolation", x, 0, 1});
  for (auto& p : fit.parameters) p.fits_from = p.fits_to = p.value;
  posenc::yarn_ramp const ramp{first, last};
  auto const series = posenc::geometric(128, 1e4);
  std::vector<double> made;
  for (std::size_t i = 0; i < 64; ++i) {
    auto const share = (1 - ramp.at(i)) * (extrapolation.empty() ? 1 : extrapolation[0]),
               f = series.inv_freq()[i];
    made.push_back(i < kept ? f / 4 * (1 - share) + f * share : 0);
  }
  frequency_explanation result{.rule = "yarn", .made = posenc::frequencies(made)};
  frequency_table const table(made, 0x1p-24, {});
  tell_yarn(table, fit, result);
  EXPECT_LE(table.misfit(result.made.inv_freq()), 1);
  EXPECT_EQ(result.made.attention_factor(), 1);
  return result;
}

double value(frequency_explanation const& of, std::string const& name) { return *of[name].value; }

TEST(tell_yarn, says_the_usual_turns_and_a_power_of_2_where_they_fit) {
  // 32 turns within 4096 tokens at index 20.95, one at 45.03.
  auto const usual = told(20, 46);
  EXPECT_EQ(value(usual, "original_length"), 4096);
  EXPECT_EQ(value(usual, "beta_fast"), 32);
  EXPECT_EQ(value(usual, "beta_slow"), 1);
  EXPECT_EQ(value(usual, "truncate"), 1);
  EXPECT_EQ(usual["truncate"].least, 0);
  // The ramp of no length for 32 turns and 1: its slow end says the length, its fast one the turns.
  auto const other = told(30, 46);
  EXPECT_EQ(value(other, "original_length"), 4096);
  EXPECT_EQ(value(other, "beta_fast"), 8);
  auto const turns_at = [](double pair) {
    return 4096 * std::pow(1e4, -pair / 64) / 2 / std::numbers::pi;
  };
  EXPECT_NEAR(other["beta_fast"].least, turns_at(31), 1e-6);
  EXPECT_NEAR(other["beta_fast"].most, turns_at(30), 1e-6);
}

TEST(tell_yarn, prefers_a_length_that_fits_both_ends_and_32_turns) {
  auto const both = told(21, 46);  // one turn alone would fit 4096 too
  EXPECT_EQ(value(both, "original_length"), 4400);
  EXPECT_EQ(value(both, "beta_fast"), 32);
  EXPECT_EQ(value(told(0, 26), "beta_fast"), 32);  // of 31.7 and more
}

TEST(tell_yarn, of_ends_between_pairs_says_that_they_are_not_rounded) {
  auto const found = told(index_of(4096 / 32.0, 1e4), index_of(4096, 1e4));
  EXPECT_EQ(value(found, "truncate"), 0);
  EXPECT_EQ(found["truncate"].most, 0);
  EXPECT_EQ(value(told(20.5, 46), "truncate"), 0);
  EXPECT_EQ(value(told(20, 46.5), "truncate"), 0);
  EXPECT_NEAR(value(found, "original_length"), 4096, 1e-6);
  EXPECT_NEAR(value(found, "beta_fast"), 32, 1e-6);
}

TEST(tell_yarn, names_extrapolation_and_keeps_pairs_that_stand) {
  auto const part = told(20, 46, {0.5});
  EXPECT_EQ(value(part, "extrapolation"), 0.5);
  EXPECT_EQ(told(20, 46).parameters.size() + 1, part.parameters.size());
  EXPECT_EQ(told(20, 46, {}, 60).made.inv_freq()[60], 0);
}

TEST(tell_yarn, remarks_on_a_ramp_that_does_not_end) {
  EXPECT_EQ(told(20, 63).remarks.size(), 2u);
  ASSERT_EQ(told(20, 64).remarks.size(), 3u);
  EXPECT_EQ(told(20, 64).remarks[2].substr(0, 39), "No pair is divided by the whole factor:");
}

}  // namespace
