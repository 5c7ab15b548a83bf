#include "posenc/analysis/identify/explain.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "oracle/frequency_rules.hpp"

namespace {

using namespace posenc::detail;
using posenc::frequencies, posenc::frequency_explanation;
using list = std::vector<double>;

std::string rules(std::vector<frequency_explanation> const& found) {
  std::string text;
  for (auto const& one : found) text += (text.empty() ? "" : " ") + one.rule;
  return text;
}

TEST(measure, compares_with_the_table) {
  frequency_table const table({1, 0.5}, list{0.125, 0.0625}, {});
  auto const measured = [&](list const& made) {
    frequency_explanation told{.rule = "x", .made = frequencies(made)};
    measure(table, told);
    return told;
  };
  EXPECT_TRUE(measured({1.125, 0.5}).within_rounding);
  EXPECT_FALSE(measured({1.126, 0.5}).within_rounding);
  EXPECT_EQ(measured({1, 0.75}).relative_error, 0.5);
  EXPECT_EQ(measured({1, 0.75}).ulps, 2);
}

TEST(per_pair_factors, divide_a_likely_base_or_10_000) {
  frequency_table const table({2, 0.005, 0, 1e-40}, 0x1p-53, {});
  auto const found = per_pair_factors(table);
  EXPECT_EQ(found["base"].value, 1e4);
  EXPECT_EQ(found.factors[0], 0.5);
  EXPECT_DOUBLE_EQ(found.factors[1], 20);
  EXPECT_EQ(found.factors[2], 1e30);  // stands
  EXPECT_EQ(found.factors[3], 9e29);  // almost
  EXPECT_EQ(found.fitted, 5u);
  EXPECT_FALSE(found.within_rounding);
  EXPECT_TRUE(per_pair_factors(table.part(0, 3)).within_rounding);
  EXPECT_EQ(found.same_table.at(0).rule, "longrope");
  EXPECT_EQ(per_pair_factors({{1, 0.5}, 0x1p-53, {16, 9}}).factors[1], 0.5);
}

frequency_explanation one(std::string const& rule, std::size_t fitted, bool within, double error) {
  return {rule, {}, fitted, within, error, 0, {}, {}, {}, {}, frequencies({1})};
}

TEST(sort_explanations, puts_simple_rules_within_rounding_first_then_small_errors) {
  std::vector<frequency_explanation> found{one("divided_by_factors", 5, true, 0),
                                           one("far", 1, false, 0.5),
                                           one("near", 3, false, 0.1),
                                           one("many", 4, true, 0),
                                           one("few", 2, true, 1e-8),
                                           one("also few", 2, true, 0)};
  sort_explanations(found);
  EXPECT_EQ(rules(found), "few also few many near far divided_by_factors");
  found.erase(found.begin(), found.begin() + 3);
  sort_explanations(found);
  EXPECT_EQ(rules(found), "divided_by_factors near far");
}

TEST(explanation_of, has_the_rules_name_and_simple_parameters) {
  frequency_table const table(oracle::default_rule(64, 1e4L), 0x1p-24, {});
  auto fitted = fit_geometric(table);
  fitted.rule = "series, of a kind";
  auto const found = explanation_of(table, fitted);
  EXPECT_EQ(found.rule, "series");
  EXPECT_EQ(found.fitted, 1u);
  auto const& base = found["base"];
  EXPECT_EQ(base.value, 1e4);
  EXPECT_TRUE(base.least < 1e4 && 1e4 < base.most);
  EXPECT_TRUE(found.within_rounding);
}

TEST(explain_series, of_three_parameters_needs_two_numbers_more) {
  auto const found = [](std::size_t pairs) {
    list const numbers{1, 0.8, 0.6, 0.4, 0.2};  // in even steps
    return rules(explain_series(frequency_table(numbers, 0x1p-53, {}).part(0, pairs)));
  };
  EXPECT_EQ(found(1), "geometric divided_by_factors");
  EXPECT_EQ(found(4).find("mixed_ntk"), std::string::npos);
  EXPECT_NE(found(5).find("mixed_ntk"), std::string::npos);
  EXPECT_EQ(found(5).find("yarn"), std::string::npos);
}

TEST(explain_series, leaves_out_what_includes_a_rule_that_explains) {
  auto const plain = oracle::default_rule(32, 1e4L);
  EXPECT_EQ(rules(explain_series({plain, 0x1p-24, {}})), "geometric divided_by_factors");
  auto const divided = rules(explain_series({oracle::linear_rule(plain, 3), 0x1p-24, {}}));
  EXPECT_TRUE(divided.starts_with("linear geometric")) << divided;
  EXPECT_EQ(divided.find("yarn"), std::string::npos);
}

TEST(explained_by_sections, adds_their_parameters_and_where_they_part) {
  auto numbers = oracle::default_rule(16, 1e4L);
  auto const second = oracle::linear_rule(oracle::default_rule(32, 1e6L), 0.5L);
  numbers.insert(numbers.end(), second.begin(), second.end());
  frequency_table const table(numbers, 0x1p-53, {});
  auto const found = explained_by_sections(table, {0, 8}, explain_series);
  EXPECT_EQ(found.rule, "sections");
  EXPECT_EQ(rules(found.sections), "geometric linear");
  EXPECT_EQ(found.fitted, 4u);  // base; factor, base; one place
  EXPECT_TRUE(found.within_rounding);
  EXPECT_EQ(found.made.pairs(), 24u);
}

TEST(explain, of_axes_says_their_dims) {
  auto numbers = oracle::default_rule(16, 1e4L);
  auto const second = oracle::default_rule(24, 1e4L);
  numbers.insert(numbers.end(), second.begin(), second.end());
  auto const found = explain({numbers, 0x1p-53, {}});
  EXPECT_EQ(found[0].rule, "axial");
  EXPECT_EQ(found[0]["dims 0"].value, 16);
  EXPECT_EQ(found[0]["dims 1"].value, 24);
  EXPECT_EQ(found.back().rule, "divided_by_factors");
  EXPECT_EQ(rules(found).find("sections"), std::string::npos);
  EXPECT_EQ(rules(explain({{0, 0}, 0x1p-53, {}})), "truncated");
}

}  // namespace
