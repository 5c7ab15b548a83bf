#include "posenc/analysis/identify/same_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "oracle/frequency_rules.hpp"

namespace {

using namespace posenc::detail;
using posenc::frequency_explanation, posenc::named_rule, posenc::rule_parameter;
using list = std::vector<double>;

rule_parameter exactly(std::string name, double x) { return {std::move(name), x, x, x}; }

std::string named(named_rule const& rule) {
  auto text = rule.rule;
  for (auto const& p : rule.parameters) text += " " + p.name;
  return text;
}

TEST(power_of, is_the_simplest_number_of_the_interval_of_powers) {
  auto const square = power_of({"base", 100.01, 99, 101}, "square", 2);
  EXPECT_EQ(square.name, "square");
  EXPECT_EQ(square.value, 10'000);
  EXPECT_NEAR(square.least, 9801, 1e-9);
  EXPECT_NEAR(square.most, 10'201, 1e-9);
  auto const falling = power_of({"base", 8, 4, 16}, "x", -1, 2);  // 2 / base
  EXPECT_EQ(falling.value, 0.5);
  EXPECT_NEAR(falling.least, 0.125, 1e-12);
  EXPECT_NEAR(falling.most, 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(*power_of(exactly("base", 3), "root", 0.5).value, std::numbers::sqrt3);
}

TEST(as_ntk, has_the_base_whose_factor_is_simplest) {
  auto const base = static_cast<double>(oracle::ntk_base(128, 1e4L, 6));
  frequency_table table(oracle::default_rule(128, base), 0x1p-53, {});
  auto const usual = as_ntk(table, {"base", base, base * (1 - 1e-12), base * (1 + 1e-12)});
  EXPECT_EQ(named(usual), "ntk base factor");
  EXPECT_EQ(usual.parameters[0].value, 1e4);
  EXPECT_EQ(usual.parameters[1].value, 6);
  auto const other = static_cast<double>(oracle::ntk_base(128, 4321, 6));
  rule_parameter const of_other{"base", other, other * (1 - 1e-12), other * (1 + 1e-12)};
  EXPECT_FALSE(as_ntk(table, of_other).parameters[0].value.has_value());
  table.likely_bases = {4321};
  EXPECT_EQ(as_ntk(table, of_other).parameters[0].value, 4321);
  EXPECT_TRUE(as_ntk(table, exactly("base", 0.5)).rule.empty());
}

/// A rule that was fitted, exactly, and what is told of it.
frequency_explanation told(std::string const& rule, std::vector<rule_parameter> const& parameters,
                           list const& numbers) {
  frequency_table const table(numbers, 0x1p-53, {});
  frequency_explanation result{
      .rule = rule, .parameters = parameters, .fitted = 1, .made = posenc::frequencies(numbers)};
  tell_rest(table, result);
  return result;
}

TEST(tell_rest, of_zeros_says_which_share_rotates) {
  auto numbers = oracle::default_rule(64, 1e4L);
  std::fill(numbers.begin() + 8, numbers.end(), 0.0);
  auto const truncated = told("geometric", {exactly("base", 1e4)}, numbers);
  EXPECT_EQ(truncated.rule, "truncated");
  EXPECT_EQ(truncated.fitted, 2u);
  EXPECT_EQ(truncated["p"].value, 0.25);
  EXPECT_EQ(truncated["p"].least, 0.25);
  EXPECT_EQ(truncated["p"].most, std::nextafter(9.0 / 32, 0));
  // Pair 7 turns once in 2 pi 10^(4 * 7 / 32) = 47.1 tokens, pair 8 in 62.8.
  auto const& floor = truncated.same_table[0];
  EXPECT_EQ(named(floor), "fope_floor base trained_length");
  EXPECT_NEAR(floor.parameters[1].least, 47.12, 0.01);
  EXPECT_NEAR(floor.parameters[1].most, 62.83, 0.01);
  EXPECT_EQ(truncated.same_table[1].parameters[0].value, 16);
  EXPECT_NEAR(*truncated.same_table[1].parameters[1].value, 10, 1e-12);
  auto const divided = told("linear", {exactly("factor", 8), exactly("base", 1e4)}, numbers);
  EXPECT_EQ(named({divided.rule, divided.parameters}), "proportional base p factor");
  EXPECT_EQ(told("yarn", {exactly("factor", 8)}, numbers).remarks.back(), "And truncated by p.");
}

TEST(tell_rest, of_llama3_has_the_order_of_its_arguments_and_ntk_by_parts) {
  auto const found = told("llama3",
                          {exactly("factor", 8), exactly("base", 5e5),
                           exactly("original_length", 8192), exactly("high_freq_factor", 4)},
                          oracle::default_rule(64, 5e5L));
  EXPECT_EQ(named({"", found.parameters}),
            " factor base low_freq_factor high_freq_factor original_length");
  EXPECT_EQ(found.parameters[3].value, 4);
  EXPECT_EQ(named(found.same_table.at(0)), "ntk_by_parts factor base alpha beta original_length");
}

TEST(tell_rest, of_linear_knows_mixed_ntk_with_b_1) {
  // linear by s is f_0 / s: mixed_ntk divides pair i by factor^((i + 1) / pairs).
  auto const numbers = oracle::linear_rule(oracle::default_rule(8, 1e4L), 2);
  auto const found = told("linear", {exactly("factor", 2), exactly("base", 1e4)}, numbers);
  EXPECT_EQ(named(found.same_table.at(0)), "mixed_ntk factor b");
  EXPECT_EQ(found.same_table[0].parameters[0].value, 16);
  EXPECT_TRUE(
      told("linear", {exactly("factor", 0.5), exactly("base", 1e4)}, numbers).same_table.empty());
}

TEST(tell_rest, of_a_base_that_is_a_root_of_a_usual_one_knows_the_longer_head) {
  auto const found = told("geometric", {exactly("base", 100)}, oracle::default_rule(64, 100));
  auto const& longer = *std::ranges::find(found.same_table, "truncated", &named_rule::rule);
  EXPECT_EQ(longer.parameters[0].value, 1e4);
  EXPECT_EQ(longer.parameters[1].value, 0.5);
  auto wrong = found;  // it does not make the table
  wrong.same_table.clear();
  tell_rest({oracle::default_rule(64, 101), 0x1p-53, {}}, wrong);
  EXPECT_TRUE(wrong.same_table.empty());
  auto const one = told("geometric", {exactly("base", 1)}, {1});
  EXPECT_FALSE(one["base"].value.has_value());
  EXPECT_TRUE(told("pixel", {exactly("max_freq", 10)}, {1, 0}).remarks.empty());
}

TEST(explain_nothing, is_nope) {
  auto const found = explain_nothing({{0, 0, 0, 0}, 0x1p-24, {}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].within_rounding && found[0]["p"].value == 0);
  EXPECT_EQ(found[0]["p"].most, std::nextafter(0.25, 0));
  EXPECT_EQ(found[0].made.pairs(), 4u);
}

}  // namespace
