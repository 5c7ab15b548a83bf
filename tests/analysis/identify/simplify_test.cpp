#include "posenc/analysis/identify/simplify.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "oracle/frequency_rules.hpp"

namespace {

using namespace posenc::detail;
using list = std::vector<double>;

/// x by the C library, to so many digits.
double printed(double x, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*e", digits - 1, x);
  return std::strtod(text, nullptr);
}

TEST(simplify, rounds_to_digits_as_printing_does) {
  for (auto const x : {3.14159265358979, 9.96e7, 1.23456789e-9, -271.828182845, 0.0999}) {
    for (int digits = 1; digits < 15; ++digits) {
      auto const expected = printed(x, digits);
      EXPECT_NEAR(rounded_to(x, digits), expected, std::abs(expected) * 0x1p-52) << x;
    }
  }
  EXPECT_EQ(rounded_to(0.0, 3), 0);
  EXPECT_EQ(rounded_to(123'456.0, 2), 120'000);
}

TEST(simplify, counts_digits) {
  for (auto const& [x, digits] :
       {std::pair(0.0, 1), std::pair(1e4, 1), std::pair(-0.3, 1), std::pair(1.5e5, 2),
        std::pair(4096.0, 1), std::pair(0x1p-20, 1), std::pair(4097.0, 4),
        std::pair(11'158'840.0, 7), std::pair(1 / 3.0, 15)})
    EXPECT_EQ(digits_of(x), digits) << x;
}

TEST(simplify, tries_0_and_powers_of_2_before_digits) {
  EXPECT_EQ(simple_numbers(31.97)[0], 32);
  EXPECT_EQ(simple_numbers(31.97)[1], 30);
  EXPECT_EQ(simple_numbers(31.93)[0], 30);  // 0.2 % is as far as a power of 2 is tried
  EXPECT_EQ(simple_numbers(0.9e-6)[0], 0);
  EXPECT_NE(simple_numbers(1.1e-6)[0], 0);
  EXPECT_EQ(simple_numbers(-7.25).size(), 11u);
  EXPECT_EQ(simple_numbers(-7.25)[1], -7.3);
}

TEST(simplify, takes_the_power_of_2_or_the_fewest_digits_of_an_interval) {
  EXPECT_FALSE((interval{1, 1}).is_empty());
  EXPECT_TRUE((interval{1, 0.5}).is_empty());
  EXPECT_EQ(simplest_in({5, 40}), 32);
  EXPECT_EQ(simplest_in({4096, 4100}), 4096);
  EXPECT_EQ(simplest_in({3000, 1e30}), 6000);
  for (auto const& [least, most] :
       {std::pair(9990.0, 10'020.0), std::pair(4.8, 5.3), std::pair(0.123, 0.1249),
        std::pair(149'999.0, 150'001.0), std::pair(65.1, 65.9), std::pair(94.0, 119.0)}) {
    auto const simple = simplest_in({least, most});
    EXPECT_LE(least, simple);
    EXPECT_LE(simple, most);
    int fewest = 1;  // of all numbers of so many digits, one lies within
    auto const unit = [&, end = most] {
      return std::pow(10, std::floor(std::log10(end)) + 1 - fewest);
    };
    while (std::floor(most / unit() * (1 + 1e-12)) * unit() < least) ++fewest;
    EXPECT_EQ(digits_of(simple), fewest) << simple;
  }
}

/// base^(-2i / 64) with bases from `least`.
rule_fit series_at(double base, double least = 1.1) {
  return {"geometric", {{"base", base, least, 1e9}}, [](parameter_values const& p, bool) {
            return posenc::frequencies(oracle::default_rule(64, p[0]));
          }};
}
/// As found by a fit to float's rounding.
frequency_table const& table() {
  static frequency_table const one(oracle::default_rule(64, 1e4L), 0x1p-24, {});
  return one;
}
double simplified(rule_fit rule, frequency_table const& of = table()) {
  rule.misfit = of.misfit(rule.made());
  simplify(of, rule);
  return rule.parameters[0].value;
}

TEST(simplify, moves_to_simple_numbers_that_explain_the_table) {
  EXPECT_EQ(simplified(series_at(10'000.003)), 10'000);
  EXPECT_EQ(simplified(series_at(10'100)), 10'100);  // does not explain it
  EXPECT_EQ(simplified(series_at(10'000.003, 10'000.002)), 10'000.002);
  auto fixed = series_at(10'000.003);
  fixed.parameters[0].is_fixed = true;
  EXPECT_EQ(simplified(fixed), 10'000.003);
  auto known = table();
  known.likely_bases = {10'000.002};
  EXPECT_EQ(simplified(series_at(10'000.003), known), 10'000.002);
}

TEST(fit_ranges, end_where_a_pair_leaves_its_tolerance) {
  auto rule = series_at(1e4);
  rule.misfit = 0;
  fit_ranges(table(), rule);
  // ln(base) 2i / 64 may be off by the relative tolerance of pair i: least for the last.
  auto const relative = table().tolerance[31] / table().value[31] * 32 / 31;
  auto const& p = rule.parameters[0];
  for (auto const off : {1 - p.fits_from / 1e4, p.fits_to / 1e4 - 1}) {
    EXPECT_GE(off, relative * (1 - 1e-5));
    EXPECT_LE(off, relative * 1.1);
  }
  auto wrong = series_at(2e4);
  wrong.misfit = 2;
  fit_ranges(table(), wrong);
  EXPECT_EQ(wrong.parameters[0].fits_from, 2e4);
  EXPECT_EQ(wrong.parameters[0].fits_to, 2e4);
}

}  // namespace
