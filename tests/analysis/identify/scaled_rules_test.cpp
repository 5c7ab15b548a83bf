#include "posenc/analysis/identify/scaled_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "oracle/frequency_rules.hpp"

namespace {

using namespace posenc::detail;
using list = std::vector<double>;

TEST(scaled_rules, keep_bases_and_factors_to_their_bounds) {
  EXPECT_NEAR(base_parameter(64, std::log(1e4) / 64).value, 1e4, 1e-10);
  EXPECT_EQ(base_parameter(64, -1).value, 1 + 0x1p-20);
  EXPECT_EQ(base_parameter(64, 100).value, std::exp(69.0));
  EXPECT_EQ(factor_parameter(8).value, 8);
  EXPECT_EQ(factor_parameter(-8).value, 1e-6);
  EXPECT_EQ(factor_parameter(1e13).value, 1e12);
}

/// The first numbers of a table, and those at its end that stand.
frequency_table table_of(list numbers, std::size_t zeros) {
  std::fill(numbers.end() - static_cast<std::ptrdiff_t>(zeros), numbers.end(), 0.0);
  return {numbers, 0x1p-24, {}};
}

constexpr double any = 0;

/// A fit finds the table of its own rule, with pairs that stand or without; and not another.
void expect_fits(list const& numbers, auto const& fit, list const& values, double error) {
  for (auto const zeros : {0, 6}) {
    auto const table = table_of(numbers, static_cast<std::size_t>(zeros));
    auto const found = fit(table);
    SCOPED_TRACE(found.rule + ", " + std::to_string(zeros) + " stand");
    EXPECT_LE(found.misfit, 1);
    EXPECT_EQ(found.misfit, table.misfit(found.made()));
    EXPECT_LE(table.misfit(found.made(true)), 1.5);  // doubles are as good
    ASSERT_EQ(found.parameters.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto const& p = found.parameters[i];
      auto const value = values[i] == any ? p.value : values[i];
      EXPECT_NEAR(p.value, value, value * error) << p.name;
    }
  }
  list other = numbers;
  other[20] *= 1.01;
  EXPECT_GT(fit(table_of(other, 0)).misfit, 1);
}

list const& series() {
  static list const one = oracle::default_rule(96, 5e5L);
  return one;
}

TEST(fit_linear, finds_factor_and_base) {
  expect_fits(oracle::linear_rule(series(), 6), fit_linear, {6, 5e5}, 1e-4);
}

TEST(fit_llama3, finds_factor_base_length_and_high_freq_factor) {
  expect_fits(oracle::llama3_rule(series(), 8, 1, 4, 8192), fit_llama3, {8, 5e5, 8192, 4}, 5e-4);
  // With low_freq_factor 2 the same table has twice the length, and half the other factor.
  expect_fits(oracle::llama3_rule(series(), 8, 2, 8, 16'384), fit_llama3, {8, 5e5, 8192, 4}, 5e-4);
}

TEST(fit_yarn, finds_factor_base_and_the_ends_of_the_ramp) {
  auto const [low, high] = oracle::yarn_range(96, 5e5L, 4096, 32, 1);
  list values{4, 5e5, static_cast<double>(low), static_cast<double>(high)};
  auto const table = oracle::yarn_rule(96, 5e5L, 4, 4096);
  expect_fits(
      table, [](auto const& t) { return fit_yarn(t, false); }, values, 1e-3);
  values.push_back(0.75);
  auto part = series();
  for (std::size_t i = 0; i < part.size(); ++i) part[i] = 0.75 * table[i] + 0.25 * part[i] / 4;
  expect_fits(
      part, [](auto const& t) { return fit_yarn(t, true); }, values, 1e-3);
}

TEST(fit_mixed_ntk, finds_factor_base_and_b) {
  expect_fits(oracle::ntk_mixed_rule(96, 5e5L, 16, 0.7L), fit_mixed_ntk, {16, 5e5, 0.7}, 1e-2);
}

TEST(fit_part_ntk, finds_factor_base_and_shares) {
  auto const plain = [](auto const& table) { return fit_part_ntk(table, false); };
  auto const shares = [](auto const& table) { return fit_part_ntk(table, true); };
  expect_fits(oracle::ntk_by_parts_rule(96, 5e5L, 4, 4096), plain, {4, 5e5, any, 1, 1}, 1e-3);
  expect_fits(oracle::ntk_by_parts_rule(96, 5e5L, 4, 4096, 0.9L, 0.75L), shares,
              {4, 5e5, any, 0.9, 0.75}, 1e-2);
}

TEST(lengths_of_part_ntk, are_one_for_each_way_in_which_the_ramps_ends_round) {
  auto const step = std::log(1e4) / 48;
  auto const ends = [&](double length) {
    std::array<double, 4> floors;
    double const turns[] = {0.75, 1.25, 2, 16};
    for (std::size_t i = 0; i < 4; ++i)
      floors[i] = std::floor(std::log(length / (2 * std::numbers::pi * turns[i])) / step);
    return floors;
  };
  auto const lengths = lengths_of_part_ntk(step, 500, 5000);
  std::set<std::array<double, 4>> tried, all;
  for (auto const length : lengths) tried.insert(ends(length));
  EXPECT_EQ(tried.size(), lengths.size());
  EXPECT_TRUE(std::ranges::is_sorted(lengths));
  for (auto length = lengths.front(); length < lengths.back(); length *= 1.0001)
    all.insert(ends(length));
  EXPECT_EQ(tried, all);
  EXPECT_LT(lengths.front(), 500 * std::exp(step));
  EXPECT_GT(lengths.back(), 5000 * std::exp(-step));
}

}  // namespace
