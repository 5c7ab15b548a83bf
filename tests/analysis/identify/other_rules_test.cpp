#include "posenc/analysis/identify/other_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

#include "oracle/frequency_rules.hpp"

namespace {

using namespace posenc::detail;
using list = std::vector<double>;
using starts = std::vector<std::size_t>;

frequency_table table_of(list const& numbers) { return {numbers, 0x1p-24, {}}; }

void expect_fits(frequency_table const& table, rule_fit const& found, list const& values) {
  SCOPED_TRACE(found.rule);
  EXPECT_LE(found.misfit, 1);
  EXPECT_EQ(found.misfit, table.misfit(found.made()));
  ASSERT_EQ(found.parameters.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(found.parameters[i].value, values[i], values[i] * 1e-4);
}

TEST(fit_geometric, finds_a_base_above_1_or_below) {
  for (auto const base : {1e4, 1.5, 1.0, 0.25, 1e-6}) {
    auto numbers = oracle::default_rule(64, base);
    expect_fits(table_of(numbers), fit_geometric(table_of(numbers)), {base});
    std::fill(numbers.begin() + 20, numbers.end(), 0.0);
    expect_fits(table_of(numbers), fit_geometric(table_of(numbers)), {base});
  }
  EXPECT_EQ(fit_geometric(table_of({1})).values(), list{1});
  EXPECT_GT(fit_geometric(table_of({1, 0.5, 0.1})).misfit, 1);
}

TEST(fit_pixel, finds_max_freq) {
  for (auto const max_freq : {10.0, 1.0, 256.0}) {
    list numbers;  // even steps of pi from 1 to max_freq / 2
    for (int i = 0; i < 16; ++i)
      numbers.push_back(std::numbers::pi * (1 + (max_freq / 2 - 1) * i / 15));
    expect_fits(table_of(numbers), fit_pixel(table_of(numbers)), {max_freq});
  }
  EXPECT_GT(fit_pixel(table_of({3, 5, 8})).misfit, 1);
}

TEST(section_starts, are_where_frequencies_rise_by_more_than_rounding) {
  EXPECT_EQ(section_starts(table_of({1, 0.5, 1, 0.1, 0, 0.1})), (starts{0, 2, 5}));
  EXPECT_EQ(section_starts(table_of({1, 1, 0, 0})), starts{0});
  auto const rising = [](double second) {
    return section_starts({{1, second}, list{0.25, 0.125}, {}}).size();
  };
  EXPECT_EQ(rising(1.375), 1u);
  EXPECT_EQ(rising(1.376), 2u);
}

TEST(fit_axial, finds_the_base_of_all_axes) {
  list numbers;
  for (auto const dims : {16u, 24u, 2u}) {
    auto const axis = oracle::default_rule(dims, 1e4L);
    numbers.insert(numbers.end(), axis.begin(), axis.end());
  }
  auto const table = table_of(numbers);
  EXPECT_EQ(section_starts(table), (starts{0, 8, 20}));
  expect_fits(table, fit_axial(table, {0, 8, 20}), {1e4});
  EXPECT_GT(fit_axial(table, {0, 9, 20}).misfit, 1);
  EXPECT_EQ(fit_axial(table_of({1, 1}), {0, 1}).values(), list{1});
}

TEST(fit_raised_cosine_clip, finds_base_and_n) {
  for (auto const n : {3u, 12u, 30u}) {
    auto const table = table_of(oracle::raised_cosine_clip_rule(oracle::default_rule(96, 5e5L), n));
    expect_fits(table, fit_raised_cosine_clip(table), {5e5, static_cast<double>(n)});
  }
}

TEST(has_whole_wavelengths, needs_long_ones_known_well) {
  auto const of = [](list const& wavelengths, double u) {
    list numbers;
    for (auto const x : wavelengths) numbers.push_back(x == 0 ? 0 : 2 * std::numbers::pi / x);
    return has_whole_wavelengths({numbers, u, {}});
  };
  list whole;
  for (int i = 6; i < 40; ++i) whole.push_back(i * i);
  EXPECT_TRUE(of(whole, 0x1p-24));
  EXPECT_FALSE(of(whole, 0x1p-8));  // of 36 tokens: 0.14 off
  EXPECT_FALSE(of({36, 49}, 0x1p-24));
  EXPECT_TRUE(of({36, 49}, 0x1p-53));
  auto const with = [&](double one) {
    auto wavelengths = whole;
    wavelengths.back() = one;
    return of(wavelengths, 0x1p-24);
  };
  EXPECT_FALSE(with(39.01));
  EXPECT_FALSE(with(0));
  EXPECT_FALSE(with(2.0 / 3.01));
  EXPECT_TRUE(with(1));
  auto const short_one = [](double turns) {  // per token, known not at all
    auto const x = 2 * std::numbers::pi;
    return has_whole_wavelengths({{x / 36, x / 49, x * turns}, list{1e-12, 1e-12, 100}, {}});
  };
  EXPECT_TRUE(short_one(1.49));
  EXPECT_FALSE(short_one(1.51));
}

TEST(fit_resonance, has_all_bases_that_round_to_the_same_wavelengths) {
  auto const plain = oracle::default_rule(32, 1e4L);
  auto const table = table_of(oracle::resonance_rule(plain));
  auto const found = fit_resonance(table);
  ASSERT_TRUE(found.has_value());
  EXPECT_LE(found->misfit, 1);
  EXPECT_EQ(found->values(), list{1e4});
  auto const misfit = [&](double base) {
    return table.misfit(oracle::resonance_rule(oracle::default_rule(32, base)));
  };
  auto const& p = found->parameters[0];
  for (auto const& [bound, inwards] : {std::pair(p.least, 1e-12), std::pair(p.most, -1e-12)}) {
    EXPECT_LE(misfit(bound * (1 + inwards)), 1);
    EXPECT_GT(misfit(bound * (1 - inwards)), 1);
  }
  // Of wavelengths 20, 90 and 20 there is no series.
  EXPECT_FALSE(fit_resonance(table_of({1, 2 * std::numbers::pi / 90, 2 * std::numbers::pi / 20}))
                   .has_value());
}

}  // namespace
