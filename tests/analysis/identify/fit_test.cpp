#include "posenc/analysis/identify/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace {

using namespace posenc::detail;
using posenc::frequencies;
using list = std::vector<double>;

TEST(fit_parameter, moves_by_its_logarithm_if_it_is_above_0) {
  fit_parameter scale{"factor", 8, 1e-6, 100}, share{"ntk", 0.5, 0, 1};
  EXPECT_TRUE(scale.is_logarithmic());
  EXPECT_FALSE(share.is_logarithmic());
  EXPECT_DOUBLE_EQ(scale.coordinate(), std::log(8));
  EXPECT_EQ(share.coordinate(), 0.5);
  scale.move_to(std::log(20)), share.move_to(0.75);
  EXPECT_DOUBLE_EQ(scale.value, 20);
  EXPECT_EQ(share.value, 0.75);
  scale.move_to(50), share.move_to(-3);
  EXPECT_EQ(scale.value, 100);
  EXPECT_EQ(share.value, 0);
}

/// Both pairs have the first parameter's frequency, the second is of no effect.
rule_fit one_number(double value, double least = 0.001, double most = 100) {
  return {
      "one", {{"f", value, least, most}, {"other", 2, 1, 3}}, [](parameter_values const& p, bool) {
        return frequencies({p[0], p[0]});
      }};
}

TEST(rule_fit, makes_the_frequencies_of_its_values) {
  auto rule = one_number(4);
  EXPECT_EQ(rule.values(), (list{4, 2}));
  EXPECT_EQ(rule.made(), (list{4, 4}));
  rule.make = [](parameter_values const&, bool exactly) { return frequencies({exactly ? 2. : 1}); };
  EXPECT_EQ(rule.made(), list{1});
  EXPECT_EQ(rule.made(true), list{2});
  EXPECT_EQ(rule.fitted(), 2u);
  rule.parameters[0].is_held = true;
  EXPECT_EQ(rule.fitted(), 2u);
  rule.parameters[0].is_fixed = true;
  EXPECT_EQ(rule.fitted(), 1u);
}

TEST(solve, eliminates_with_pivots) {
  std::vector<list> a{{0, 2, 1}, {1, 1, 1}, {4, 0, -1}};
  list b{7, 6, 1};
  ASSERT_TRUE(solve(a, b));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(b[i], (list{1, 2, 3})[i], 1e-15);
  // Without exchanging rows, 1 / 1e-20 would take all digits of the second equation.
  std::vector<list> small{{1e-20, 1}, {1, 1}};
  list of_small{1, 2};
  ASSERT_TRUE(solve(small, of_small));
  EXPECT_DOUBLE_EQ(of_small[0], 1);
  std::vector<list> singular{{1, 2}, {2, 4}};
  EXPECT_FALSE(solve(singular, of_small));
}

TEST(fit, is_the_mean_weighted_by_tolerances) {
  frequency_table const table({1, 2}, list{0.1, 0.2}, {});
  auto rule = one_number(30);
  fit(table, rule);
  // (1 / 0.1^2 + 2 / 0.2^2) / (1 / 0.1^2 + 1 / 0.2^2) = 150 / 125
  EXPECT_NEAR(rule.parameters[0].value, 1.2, 1e-3);
  EXPECT_NEAR(rule.misfit, 4, 1e-2);
  EXPECT_EQ(rule.parameters[1].value, 2);
  EXPECT_EQ(one_number(30).misfit, 1e30);
}

TEST(fit, finds_two_parameters_exactly) {
  frequency_table const table({3, 1.5, 0.75, 0.375}, 0x1p-53, {});
  rule_fit rule{
      "series",
      {{"first", 10, 1e-3, 1e3}, {"ratio", 0.9, 0.01, 1}},
      [](parameter_values const& p, bool) {
        return frequencies({p[0], p[0] * p[1], p[0] * p[1] * p[1], p[0] * p[1] * p[1] * p[1]});
      }};
  fit(table, rule);
  EXPECT_LE(rule.misfit, 1);
  EXPECT_NEAR(rule.parameters[0].value, 3, 1e-14);
  EXPECT_NEAR(rule.parameters[1].value, 0.5, 1e-14);
}

TEST(fit, leaves_what_is_fixed_or_held_and_keeps_to_bounds) {
  frequency_table const table({2, 2}, 0x1p-53, {});
  for (auto const member : {&fit_parameter::is_fixed, &fit_parameter::is_held}) {
    auto rule = one_number(4);
    rule.parameters[0].*member = true;
    fit(table, rule);
    EXPECT_EQ(rule.parameters[0].value, 4);
    EXPECT_EQ(rule.misfit, table.misfit(list{4, 4}));
  }
  auto above = one_number(4, 3, 5), below = one_number(0.5, 0.1, 1);
  fit(table, above), fit(table, below);
  EXPECT_EQ(above.parameters[0].value, 3);
  EXPECT_EQ(below.parameters[0].value, 1);
  for (auto const bound : {1.0, 5.0}) {  // it leaves them too
    auto inwards = one_number(bound, 1, 5);
    fit(table, inwards);
    EXPECT_NEAR(inwards.parameters[0].value, 2, 1e-14);
  }
}

TEST(fit, takes_so_many_steps_at_most) {
  frequency_table const table({2, 2}, 0x1p-53, {});
  auto none = one_number(4), one = none;
  fit(table, none, 0), fit(table, one, 1);
  EXPECT_EQ(none.parameters[0].value, 4);
  EXPECT_EQ(none.misfit, table.misfit(list{4, 4}));
  EXPECT_LT(one.misfit, none.misfit);
  EXPECT_GT(one.misfit, 1);
}

}  // namespace
