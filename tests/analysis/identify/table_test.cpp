#include "posenc/analysis/identify/table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "oracle/frequency_rules.hpp"

namespace {

using posenc::detail::error_of_power, posenc::detail::frequency_table;
using list = std::vector<double>;

TEST(frequency_table, takes_8_roundoffs_of_a_power_and_as_many_as_its_logarithm) {
  EXPECT_EQ(error_of_power(1, 0x1p-24), 8 * 0x1p-24);
  EXPECT_DOUBLE_EQ(error_of_power(std::exp(3.0), 1), 11);
  EXPECT_DOUBLE_EQ(error_of_power(std::exp(-3.0), 1), 11);
}

TEST(frequency_table, has_a_tolerance_of_storage_and_of_arithmetic_in_float_or_finer) {
  auto const relative = [](double u) { return frequency_table({0.5}, u, {}).tolerance[0] / 0.5; };
  auto const of_power = 8 + std::numbers::ln2;
  EXPECT_DOUBLE_EQ(relative(0x1p-53), (1 + of_power) * 0x1p-53);
  EXPECT_DOUBLE_EQ(relative(0x1p-24), (1 + of_power) * 0x1p-24);
  EXPECT_DOUBLE_EQ(relative(0x1p-8), 0x1p-8 + of_power * 0x1p-24);
  frequency_table const zero({1, 0}, 0x1p-24, {});
  EXPECT_EQ(zero.tolerance[1], 0);
  EXPECT_EQ(zero.unit_roundoff, 0x1p-24);
}

TEST(frequency_table, holds_powers_that_were_computed_in_float) {
  for (auto const base : {100.0, 1e4, 5e5, 1e9}) {
    list in_float, quotients;
    for (int i = 0; i < 64; ++i) {
      auto const exponent = static_cast<float>(2 * i) / 128.0f;
      in_float.push_back(static_cast<double>(1.0f / std::pow(static_cast<float>(base), exponent)));
    }
    frequency_table const table(in_float, 0x1p-24, {});
    EXPECT_LE(table.misfit(oracle::default_rule(128, base)), 1) << base;
    EXPECT_GT(table.misfit(oracle::default_rule(128, base * (1 + 1e-5))), 1) << base;
  }
}

TEST(frequency_table, of_given_tolerances_has_the_smallest_relative_one) {
  EXPECT_EQ(frequency_table({2, 0.5, 0}, list{0.5, 0.25, 0}, {}).unit_roundoff, 0.25);
  EXPECT_EQ(frequency_table({0, 0}, list{0, 0}, {}).unit_roundoff, 1);
}

TEST(frequency_table, rotates_the_pairs_before_the_zeros_at_its_end) {
  auto const rotated = [](list const& numbers) {
    return frequency_table(numbers, 0x1p-53, {}).rotated();
  };
  EXPECT_EQ(rotated({1, 0.5}), 2u);
  EXPECT_EQ(rotated({1, 0, 0.5, 0, 0}), 3u);
  EXPECT_EQ(rotated({0, 0}), 0u);
}

TEST(frequency_table, has_parts) {
  frequency_table const table({4, 3, 2, 1}, list{0.4, 0.3, 0.2, 0.1}, {500});
  auto const part = table.part(1, 2);
  EXPECT_EQ(part.value, (list{3, 2}));
  EXPECT_EQ(part.tolerance, (list{0.3, 0.2}));
  EXPECT_EQ(part.likely_bases, list{500});
  EXPECT_EQ(part.unit_roundoff, table.unit_roundoff);
}

TEST(frequency_table, measures_errors_in_tolerances) {
  frequency_table const table({2, 1, 0}, list{0.5, 0.25, 0}, {});
  EXPECT_EQ(table.misfit(0, 2.5), 1);
  EXPECT_EQ(table.misfit(0, 1), 2);
  EXPECT_EQ(table.misfit(0, 2), 0);
  EXPECT_EQ(table.misfit(2, 0), 0);
  EXPECT_EQ(table.misfit(2, 1e-20), 1e30);
  EXPECT_EQ(frequency_table({1}, list{1e-40}, {}).misfit(0, 2), 1e30);
  EXPECT_EQ(table.misfit(list{2.25, 0.5, 0}), 2);
}

TEST(frequency_table, measures_relative_errors) {
  frequency_table const table({2, 1, 0}, 0x1p-53, {});
  EXPECT_EQ(table.relative_error(list{2, 1, 0}), 0);
  EXPECT_EQ(table.relative_error(list{1.5, 1.125, 0}), 0.25);
  EXPECT_EQ(table.relative_error(list{2, 1, 1e-9}), 1);
  EXPECT_EQ(table.relative_error(list{2, 0, 0}), 1);
}

TEST(frequency_table, measures_units_in_the_last_place) {
  frequency_table const table({1.5, 0x1p-3, 0}, 0x1p-53, {});
  EXPECT_EQ(table.ulps(list{1.5, 0x1p-3, 0}), 0);
  EXPECT_EQ(table.ulps(list{1.5 + 3 * 0x1p-52, 0x1p-3 + 0x1p-55, 0}), 3);
  EXPECT_EQ(table.ulps(list{1.5, 0x1p-3 + 4 * 0x1p-55, 0}), 4);
  EXPECT_EQ(table.ulps(list{1.5, 0x1p-3, 3}), 1.5 * 0x1p52);
}

}  // namespace
