#include "posenc/analysis/identify/starts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "oracle/frequency_rules.hpp"

namespace {

using namespace posenc::detail;
using posenc::frequencies;
using list = std::vector<double>;

frequency_table table_of(list numbers, list bases = {}) {
  return {std::move(numbers), 0x1p-53, std::move(bases)};
}

TEST(starts, make_a_series_by_the_rule_or_in_plain_doubles) {
  for (auto const base : {0.5, 1.0, 1e4, 1e9}) {
    auto const expected = oracle::default_rule(64, base);
    for (bool const exactly : {false, true}) {
      if (exactly && base <= 1) continue;
      auto const made = series_of(32, base, exactly);
      ASSERT_EQ(made.pairs(), 32u);
      auto const roundoffs = exactly ? 1 : 8 + std::abs(std::log(base));
      for (std::size_t i = 0; i < 32; ++i)
        EXPECT_NEAR(made.inv_freq()[i], expected[i], expected[i] * roundoffs * 0x1p-53);
    }
  }
}

TEST(starts, keep_the_first_pairs) {
  frequencies const f({4, 2, 1});
  auto const kept = [&](std::size_t count) {
    auto const made = kept_pairs(f, count);
    return list(made.inv_freq().begin(), made.inv_freq().end());
  };
  EXPECT_EQ(kept(3), (list{4, 2, 1}));
  EXPECT_EQ(kept(2), (list{4, 2, 0}));
  EXPECT_EQ(kept(0), (list{0, 0, 0}));
}

TEST(starts, have_the_steps_of_the_slow_pairs_of_the_fast_ones_and_of_all) {
  list numbers;
  for (int i = 0; i < 20; ++i) numbers.push_back(std::exp(-0.5 * i));
  for (int i = 1; i <= 10; ++i) numbers.push_back(numbers[19] * std::exp(-0.2 * i));
  auto const steps = likely_steps(table_of(numbers));
  EXPECT_NEAR(steps[0], 0.2, 1e-14);
  EXPECT_NEAR(steps[1], 0.5, 1e-14);
  EXPECT_NEAR(steps[2], (19 * 0.5 + 10 * 0.2) / 29, 1e-14);
}

TEST(starts, have_the_steps_of_known_bases_next_then_of_usual_ones) {
  // Of a table that rises, nothing else: the steps of its pairs are negative.
  auto const steps = likely_steps(table_of({1, 2, 4, 0}, {1, 777, 0.5, 1.5}));
  ASSERT_EQ(steps.size(), 2 + std::size(usual_bases));
  EXPECT_DOUBLE_EQ(steps[0], std::log(777.0) / 4);
  EXPECT_DOUBLE_EQ(steps[1], std::log(1.5) / 4);
  EXPECT_DOUBLE_EQ(steps[2], std::log(1e4) / 4);
  EXPECT_TRUE(likely_steps(table_of({1, 0}, {777})).empty());
}

TEST(starts, know_what_multiplied_a_series) {
  list numbers, expected;
  for (int i = 0; i < 8; ++i) {
    expected.push_back(1 / (1.0 + i));
    numbers.push_back(expected.back() * std::pow(3.0, -i));
  }
  numbers.push_back(0);
  auto const found = multipliers(table_of(numbers), std::log(3.0));
  ASSERT_EQ(found.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(found[i], expected[i], 1e-14);
}

TEST(line_through, is_that_of_least_squares) {
  auto const exact = line_through({{1, 5}, {2, 7}, {4, 11}});
  EXPECT_NEAR(exact.slope, 2, 1e-15);
  EXPECT_NEAR(exact.offset, 3, 1e-14);
  auto const near = line_through({{0, 0}, {1, 3}, {2, 3}});
  EXPECT_NEAR(near.slope, 1.5, 1e-15);
  EXPECT_NEAR(near.offset, 0.5, 1e-15);
  auto const upright = line_through({{2, 1}, {2, 3}});
  EXPECT_EQ(upright.slope, 0);
  EXPECT_EQ(upright.offset, 2);
}

/// A frequency, and 1.
rule_fit start_at(double value) {
  return {"start", {{"f", value, 1e-3, 1e3}}, [](parameter_values const& p, bool) {
            return frequencies({p[0], 1});
          }};
}

TEST(starts, are_the_three_closest_by_their_logarithms) {
  auto const table = table_of({1, 1});
  std::vector<rule_fit> starts;
  for (auto const value : {1.6, 0.5, 100.0, 0.7, 1.1}) starts.push_back(start_at(value));
  auto const closest = closest_starts(table, starts);
  ASSERT_EQ(closest.size(), 3u);
  EXPECT_EQ(closest[0].values(), list{1.1});
  EXPECT_EQ(closest[1].values(), list{0.7});
  EXPECT_EQ(closest[2].values(), list{1.6});  // 0.5 is nearer as a number
  EXPECT_EQ(closest_starts(table, {start_at(2)}).size(), 1u);
  // A pair that rotates on one side only is 1 off: as e is.
  auto const with_zero = table_of({0, 1});
  auto stands = start_at(1);
  stands.make = [](parameter_values const&, bool) { return frequencies({0, 2.7}); };
  EXPECT_EQ(closest_starts(with_zero, {start_at(3), stands})[0].made()[0], 0);
  stands.make = [](parameter_values const&, bool) { return frequencies({0, 2.8}); };
  EXPECT_EQ(closest_starts(with_zero, {start_at(3), stands})[0].made()[0], 3);
}

TEST(best_fit, is_the_best_of_the_closest_or_none) {
  auto const table = table_of({5, 1});
  EXPECT_TRUE(best_fit(table, {}).parameters.empty());
  EXPECT_NEAR(best_fit(table, {start_at(4), start_at(300)}).values()[0], 5, 1e-14);
  auto bound = start_at(4.9);  // the closest, which cannot come closer
  bound.parameters[0].most = 4.9;
  EXPECT_NEAR(best_fit(table, {start_at(2), bound}).values()[0], 5, 1e-14);
  EXPECT_EQ(best_fit(table, {bound}).values()[0], 4.9);
}

}  // namespace
