#include "../examples/program/identify/identify.cpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../examples/program/identify/frequency_fit.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using namespace identifying;

using named_values = std::vector<std::pair<std::string, double>>;

// Numbers of T, as doubles.
template <class T>
std::vector<double> stored_as_type(std::span<double const> inv_freq) {
  std::vector<double> table;
  for (auto const x : inv_freq) {
    T stored;
    store(stored, static_cast<arithmetic_t<T>>(x));
    table.push_back(static_cast<double>(load(stored)));
  }
  return table;
}

// A parameter.
std::optional<double> value_of(frequency_explanation const& told, std::string const& name) {
  auto const found = std::ranges::find(told.parameters, name, &rule_parameter::name);
  return found == told.parameters.end() ? std::nullopt : found->value;
}

std::string shown(frequency_explanation const& told) {
  auto text = told.rule;
  for (auto const& p : told.parameters)
    text += " " + p.name + " " + detail::shown(p.value.value_or(-1));
  return text + ", off by " + detail::shown(told.relative_error);
}

// The best explanation is this rule with these parameters, to so many roundoffs of the table; and
// no other is better.
void expect_found(identification const& found, std::string const& rule,
                  named_values const& parameters, double roundoffs = 1e4) {
  auto const& best = found.best();
  SCOPED_TRACE(shown(best));
  ASSERT_EQ(best.rule, rule);
  EXPECT_TRUE(best.within_rounding);
  for (auto const& [name, value] : parameters) {
    ASSERT_TRUE(value_of(best, name).has_value()) << name;
    EXPECT_NEAR(*value_of(best, name), value, value * roundoffs * found.unit_roundoff) << name;
  }
  for (std::size_t i = 1; i < found.explanations.size(); ++i) {
    auto const& other = found.explanations[i];
    EXPECT_TRUE(other.within_rounding || other.relative_error > best.relative_error)
        << shown(other);
  }
}

// The rule of an explanation, with its parameters.
frequencies made(frequency_explanation const& told, std::size_t dim) {
  auto const value = [&](std::string const& name) { return *value_of(told, name); };
  auto const series = geometric(dim, value("base"));
  if (told.rule == "linear") return linear(series, value("factor"));
  if (told.rule == "truncated") return truncated(series, value("p"));
  if (told.rule == "proportional")
    return proportional(dim, value("base"), value("p"), value("factor"));
  if (told.rule == "llama3") {
    return llama3(series, {value("factor"), value("low_freq_factor"), value("high_freq_factor"),
                           value("original_length")});
  }
  if (told.rule == "yarn") {
    return yarn(dim, value("base"),
                {.factor = value("factor"),
                 .original_length = value("original_length"),
                 .beta_fast = value("beta_fast"),
                 .beta_slow = value("beta_slow"),
                 .truncate = value("truncate") == 1});
  }
  return told.rule == "geometric" ? series : geometric_inclusive(dim, value("base"));
}

// The rule with the parameters that were found makes the table, but for rounding.
template <class T>
void expect_identified(frequencies const& f, std::string const& rule,
                       named_values const& parameters, double roundoffs = 1e4) {
  auto const table = stored_as_type<T>(f.inv_freq());
  auto const found = identify(table);
  ASSERT_NO_FATAL_FAILURE(expect_found(found, rule, parameters, roundoffs));
  auto const again = made(found.best(), f.rotary_dim());
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    auto const x = f.inv_freq()[i];
    auto const tolerance =
        x == 0 ? 0 : x * (11 + std::abs(std::log(x))) * tolerance::unit_roundoff<T>();
    EXPECT_NEAR(again.inv_freq()[i], x, tolerance) << shown(found.best()) << " at " << i;
  }
}

class drawn {
 public:
  explicit drawn(std::uint64_t seed) : bits_(seed) {}
  double between(double least, double most) {
    return least + (most - least) * static_cast<double>(bits_() >> 11) * 0x1p-53;
  }
  double log_between(double least, double most) {
    return std::exp(between(std::log(least), std::log(most)));
  }
  std::size_t of(std::initializer_list<std::size_t> list) {
    return list.begin()[bits_() % list.size()];
  }

 private:
  std::mt19937_64 bits_;
};

// Calls `test` with some draws, for float and double.
void with_draws(int count, auto const& test) {
  numbers::in_float_and_double([&]<class T>() {
    for (int seed = 1; seed <= count; ++seed) {
      SCOPED_TRACE(seed);
      drawn draw(static_cast<std::uint64_t>(seed));
      test.template operator()<T>(draw);
    }
  });
}

TEST(identify, finds_any_base) {
  with_draws(20, []<class T>(drawn& draw) {
    auto const base = draw.log_between(1.5, 1e9);
    expect_identified<T>(geometric(draw.of({6, 16, 64, 128, 512}), base), "geometric",
                         {{"base", base}});
  });
  numbers::in_float_and_double([]<class T>() {
    for (auto const base : {1.0, 0.25, 1e-6})
      expect_identified<T>(geometric(64, base), "geometric", {{"base", base}}, 100);
  });
}

TEST(identify, takes_the_simplest_base_that_fits) {
  numbers::in_float_and_double([]<class T>() {
    for (auto const base : {100.0, 1e4, 150'000.0, 5e5, 1e6, 11'158'840.0}) {
      auto const found = identify(stored_as_type<T>(geometric(128, base).inv_freq()));
      EXPECT_EQ(value_of(found.best(), "base"), base);
      EXPECT_LE(found.best().relative_error, 4 * found.unit_roundoff);
    }
  });
}

TEST(identify, takes_the_expected_base_where_the_table_leaves_a_choice) {
  auto const table = stored_as_type<bfloat16>(geometric(128, 1'000'042).inv_freq());
  EXPECT_EQ(value_of(identify(table).best(), "base"), 1e6);
  EXPECT_EQ(value_of(identify(table, {.base = 1'000'042}).best(), "base"), 1'000'042);
  EXPECT_EQ(value_of(identify(table, {.base = 2e6}).best(), "base"), 1e6);
}

TEST(identify, of_half_and_bfloat16_knows_their_rounding) {
  auto const f = geometric(128, 1e6), g = geometric(64, 1e4);
  // What rounding to bfloat16 moves is up to 4 * 10^-3 off.
  auto const of_bfloat16 = identify(stored_as_type<bfloat16>(f.inv_freq()));
  EXPECT_EQ(of_bfloat16.unit_roundoff, 0x1p-8);
  expect_found(of_bfloat16, "geometric", {{"base", 1e6}}, 0);
  auto const of_half = identify(stored_as_type<half>(g.inv_freq()));
  EXPECT_EQ(of_half.unit_roundoff, 0x1p-11);
  expect_found(of_half, "geometric", {{"base", 1e4}}, 0);
  EXPECT_EQ(identify(stored_as_type<float>(f.inv_freq())).unit_roundoff, 0x1p-24);
}

TEST(identify, finds_linear) {
  with_draws(10, []<class T>(drawn& draw) {
    auto const base = draw.log_between(100, 1e8), factor = draw.between(0.3, 40);
    expect_identified<T>(linear(geometric(draw.of({16, 64, 128}), base), factor), "linear",
                         {{"base", base}, {"factor", factor}});
  });
}

TEST(identify, says_that_ntk_is_another_base) {
  numbers::in_float_and_double([]<class T>() {
    expect_identified<T>(ntk(geometric(128, 1e4), 8), "geometric",
                         {{"base", static_cast<double>(oracle::ntk_base(128, 1e4L, 8))}}, 64);
  });
}

TEST(identify, tells_inclusive_series_by_the_simpler_base) {
  numbers::in_float_and_double([]<class T>() {
    expect_identified<T>(geometric_inclusive(64, 1e4), "geometric_inclusive", {{"base", 1e4}}, 0);
    auto const found = identify(stored_as_type<T>(geometric(64, 1e4).inv_freq()));
    expect_found(found, "geometric", {{"base", 1e4}}, 0);
    auto const& same = found.explanations[1];
    EXPECT_EQ(same.rule, "geometric_inclusive");
    EXPECT_TRUE(same.within_rounding);
    EXPECT_NEAR(*value_of(same, "base"), std::pow(1e4, 31.0 / 32), 1e5 * found.unit_roundoff);
  });
}

TEST(identify, finds_llama3) {
  numbers::in_float_and_double([]<class T>() {
    for (auto const& [factor, high] : {std::pair(8.0, 4.0), std::pair(32.0, 4.0)}) {
      auto const f = llama3(geometric(128, 5e5), {factor, 1, high, 8192});
      expect_identified<T>(f, "llama3",
                           {{"factor", factor},
                            {"base", 5e5},
                            {"low_freq_factor", 1},
                            {"high_freq_factor", high},
                            {"original_length", 8192}},
                           0);
    }
    // With low_freq_factor 2 the same table has twice the length, and half the other factor.
    expect_found(
        identify(stored_as_type<T>(llama3(geometric(96, 5e5), {8, 2, 8, 16'384}).inv_freq())),
        "llama3", {{"high_freq_factor", 4}, {"original_length", 8192}}, 0);
  });
  with_draws(4, []<class T>(drawn& draw) {
    auto const base = draw.log_between(1e5, 1e8), factor = draw.between(2, 64),
               high = draw.between(3, 16), length = draw.log_between(1000, 10'000);
    expect_identified<T>(llama3(geometric(128, base), {factor, 1, high, length}), "llama3",
                         {{"base", base},
                          {"factor", factor},
                          {"high_freq_factor", high},
                          {"original_length", length}});
  });
}

// Llama 4 Scout.
TEST(identify, says_that_llama3_by_a_step_is_yarn_by_a_step) {
  auto const found = identify(llama3(geometric(128, 5e5), {16, 1, 1, 8192}).inv_freq());
  expect_found(found, "llama3",
               {{"factor", 16}, {"base", 5e5}, {"high_freq_factor", 1}, {"original_length", 8192}},
               0);
  EXPECT_EQ(found.explanations[1].rule, "yarn");
  EXPECT_TRUE(found.explanations[1].within_rounding);
}

TEST(identify, finds_yarn) {
  // DeepSeek V2, Qwen3, DeepSeek V4, Ministral 3, gpt-oss.
  for (auto const& [dim, base, factor, length, truncate] :
       {std::tuple(64u, 1e4, 40.0, 4096.0, true), std::tuple(128u, 1e6, 4.0, 32'768.0, true),
        std::tuple(64u, 16e4, 16.0, 65'536.0, true), std::tuple(128u, 1e6, 16.0, 16'384.0, true),
        std::tuple(64u, 15e4, 32.0, 4096.0, false)}) {
    yarn_scaling const scaling{.factor = factor, .original_length = length, .truncate = truncate};
    auto const f = yarn(dim, base, scaling);
    named_values const exact{{"factor", factor}, {"base", base},   {"original_length", length},
                             {"beta_fast", 32},  {"beta_slow", 1}, {"truncate", truncate ? 1 : 0}};
    numbers::in_float_and_double([&]<class T>() { expect_identified<T>(f, "yarn", exact, 0); });
    expect_found(identify(stored_as_type<bfloat16>(f.inv_freq())), "yarn", exact, 0);
  }
}

TEST(identify, finds_the_turns_of_a_ramp_of_yarn_that_32_does_not_make) {
  numbers::in_float_and_double([]<class T>() {
    auto const ramp = [](double fast, bool truncate) {
      return yarn(128, 1e4,
                  {.factor = 4, .original_length = 4096, .beta_fast = fast, .truncate = truncate});
    };
    expect_identified<T>(ramp(8, true), "yarn", {{"original_length", 4096}, {"beta_fast", 8}}, 0);
    expect_identified<T>(ramp(10, false), "yarn", {{"original_length", 4096}, {"beta_fast", 10}},
                         0);
    // From before the first pair.
    expect_identified<T>(ramp(5000, true), "yarn", {{"factor", 4}, {"base", 1e4}}, 0);
  });
  // To behind the last pair: no pair says the whole factor.
  auto const beyond = yarn(128, 1e4, {.factor = 4, .original_length = 2e5});
  expect_identified<float>(beyond, "yarn", {{"base", 1e4}});
}

TEST(identify, finds_yarn_of_any_numbers) {
  with_draws(4, []<class T>(drawn& draw) {
    auto const base = draw.log_between(1e5, 1e7), factor = draw.between(2, 40),
               length = draw.log_between(2000, 8000);
    expect_identified<T>(yarn(128, base, {.factor = factor, .original_length = 4096}), "yarn",
                         {{"factor", factor}, {"base", base}, {"original_length", 4096}});
    // Of a length that is a whole number, as all lengths are.
    yarn_scaling const as_they_are{
        .factor = factor, .original_length = std::round(length), .truncate = false};
    expect_identified<T>(yarn(128, base, as_they_are), "yarn",
                         {{"factor", factor},
                          {"base", base},
                          {"original_length", std::round(length)},
                          {"truncate", 0}});
  });
}

TEST(identify, finds_p_rope) {
  with_draws(10, []<class T>(drawn& draw) {
    auto const base = draw.log_between(100, 1e8), p = draw.between(0.1, 0.95),
               factor = draw.between(1.5, 30);
    auto const half_head = std::floor(p * 64) / 64, head = std::floor(p * 128) / 128;
    expect_identified<T>(truncated(geometric(128, base), p), "truncated",
                         {{"base", base}, {"p", half_head}});
    expect_identified<T>(proportional(256, base, p, factor), "proportional",
                         {{"base", base}, {"p", head}, {"factor", factor}});
  });
}

TEST(identify, of_factors_for_each_pair_says_so) {
  std::vector<double> factors;
  drawn draw(1);
  for (int i = 0; i < 32; ++i) factors.push_back(draw.between(1, 3) + i);
  auto const found =
      identify(divided_by_factors(geometric(64, 1e4), factors).inv_freq(), {.base = 1e4});
  EXPECT_EQ(found.best().rule, "divided_by_factors");
  EXPECT_EQ(value_of(found.best(), "base"), 1e4);
  for (std::size_t i = 0; i < 32; ++i)
    EXPECT_NEAR(found.best().factors[i], factors[i], factors[i] * 1e-15);
  EXPECT_GT(found.explanations[1].relative_error, 0.1);
  // Of a table that rises there is no series; of a zero within it no logarithm.
  EXPECT_EQ(identify(std::vector{1.0, 2.0, 4.5, 8.0, 16.0, 32.0}).best().rule,
            "divided_by_factors");
  auto const with_zero = identify(std::vector{1.0, 0.0, 0.5, 0.25, 0.2, 0.1, 0.0}).best();
  EXPECT_EQ(with_zero.rule, "divided_by_factors");
  EXPECT_EQ(with_zero.factors[1], 1e30);
}

TEST(identify, of_a_perturbed_table_reports_the_error) {
  auto const f = geometric(128, 1e4);
  for (auto const error : {1e-6, 1e-4, 0.01}) {
    std::vector<double> table(f.inv_freq().begin(), f.inv_freq().end());
    table[40] *= 1 + error;
    auto const found = identify(table);
    EXPECT_EQ(found.best().rule, "divided_by_factors");
    EXPECT_TRUE(std::ranges::is_sorted(found.explanations.begin() + 1, found.explanations.end(), {},
                                       &frequency_explanation::relative_error));
    auto const second =
        *std::ranges::find(found.explanations, "geometric", &frequency_explanation::rule);
    EXPECT_FALSE(second.within_rounding);
    EXPECT_NEAR(second.relative_error, error, error / 10);
    EXPECT_NEAR(*value_of(second, "base"), 1e4, 1e4 * error);
  }
}

TEST(identify, of_next_to_nothing_says_what_is_open) {
  auto const one = identify(std::vector<double>{1}).best();
  EXPECT_EQ(one.rule, "geometric");
  EXPECT_FALSE(value_of(one, "base").has_value());
  auto const zeros = identify(std::vector<double>(64)).best();
  EXPECT_EQ(zeros.rule, "truncated");
  EXPECT_EQ(value_of(zeros, "p"), 0);
  EXPECT_TRUE(zeros.within_rounding);
  // YaRN has a parameter for each of these but the first.
  auto const five = identify(std::vector<double>{1, 0.8, 0.6, 0.4, 0.2});
  EXPECT_EQ(five.best().rule, "divided_by_factors");
  EXPECT_EQ(five.explanations.size(), 3u);
  auto const two = identify(std::vector<double>{1, 0.01}).best();
  EXPECT_EQ(two.rule, "geometric");
  EXPECT_EQ(value_of(two, "base"), 1e4);
}

TEST(identify, of_decimals_takes_their_rounding) {
  std::vector<double> printed;
  auto const f = geometric(64, 5e5);
  for (auto const x : f.inv_freq()) printed.push_back(rounded_to(x, 5));
  EXPECT_EQ(identify(printed).best().rule, "divided_by_factors");
  auto const found = identify(printed, {.unit_roundoff = 0.5e-4});
  EXPECT_EQ(found.best().rule, "geometric");
  EXPECT_EQ(value_of(found.best(), "base"), 5e5);
  EXPECT_EQ(found.unit_roundoff, 0.5e-4);
}

TEST(identify, knows_the_tensor_of_llama_3) {
  auto const of_factors = []<class T>(std::vector<T> const& factors, double base) {
    std::vector<double> divisors;
    for (auto const& x : factors) divisors.push_back(static_cast<double>(load(x)));
    auto const f = divided_by_factors(geometric(2 * divisors.size(), base), divisors);
    auto const u = std::is_same_v<T, float> ? 0x1p-24 : 0x1p-11;
    return identify(f.inv_freq(), {.base = base, .unit_roundoff = u});
  };
  auto const series = geometric(128, 5e5), f = llama3(series, {8, 1, 4, 8192});
  std::vector<float> factors;
  for (std::size_t i = 0; i < 64; ++i)
    factors.push_back(static_cast<float>(series.inv_freq()[i] / f.inv_freq()[i]));
  named_values const exact{
      {"factor", 8}, {"base", 5e5}, {"original_length", 8192}, {"high_freq_factor", 4}};
  expect_found(of_factors(factors, 5e5), "llama3", exact, 0);
  expect_found(of_factors(std::vector<half>(factors.begin(), factors.end()), 5e5), "llama3", exact,
               10);
  // Gemma 4: 1e30 for pairs that stand.
  std::vector<float> standing(64, 1.0f);
  std::fill(standing.begin() + 16, standing.end(), 1e30f);
  EXPECT_EQ(of_factors(standing, 1e6).best().rule, "truncated");
}

TEST(identify, refuses_what_is_no_table) {
  auto const message = [](std::vector<double> const& table, identify_options const& options = {}) {
    return message_of([&] { identify(table, options); });
  };
  EXPECT_EQ(message({}), "posenc: identify: there must be 1 to 4096 numbers, got 0");
  EXPECT_EQ(message(std::vector<double>(4097)),
            "posenc: identify: there must be 1 to 4096 numbers, got 4097");
  EXPECT_EQ(message({1, not_a_number()}),
            "posenc: identify: numbers must be from 0 to 2^64, got NaN at 1");
  EXPECT_EQ(message({infinity()}),
            "posenc: identify: numbers must be from 0 to 2^64, got infinity at 0");
  EXPECT_EQ(message({1e20}), "posenc: identify: numbers must be from 0 to 2^64, got 1e+20 at 0");
  EXPECT_EQ(message({1, 0, -0.5}),
            "posenc: identify: numbers must be from 0 to 2^64, got -0.5 at 2");
  EXPECT_EQ(message({1}, {.base = 1}), "posenc: identify: base must be finite and above 1, got 1");
  EXPECT_EQ(message({1}, {.unit_roundoff = 0}),
            "posenc: identify: unit_roundoff must be in (0, 0.1], got 0");
}

TEST(identify, allows_8_roundoffs_of_a_power_and_as_many_as_its_logarithm) {
  auto const relative = [](double u) { return frequency_table({0.5, 0}, u).tolerance[0] / 0.5; };
  auto const of_power = 8 - std::log(0.5);
  EXPECT_DOUBLE_EQ(relative(0x1p-53), (1 + of_power) * 0x1p-53);
  EXPECT_DOUBLE_EQ(relative(0x1p-24), (1 + of_power) * 0x1p-24);
  EXPECT_DOUBLE_EQ(relative(0x1p-8), 0x1p-8 + of_power * 0x1p-24);
  // Powers computed in float explain a table; those of a base 1e-5 off do not.
  std::vector<double> in_float;
  for (int i = 0; i < 64; ++i)
    in_float.push_back(1 / std::pow(5e5f, static_cast<float>(2 * i) / 128));
  expect_found(identify(in_float), "geometric", {{"base", 5e5}}, 0);
}

TEST(identify, rounds_to_digits_as_printing_does) {
  for (auto const x : {3.14159265358979, 9.96e7, 1.23456789e-9, 0.0999, 123'456.0}) {
    for (int digits = 1; digits < 15; ++digits) {
      char text[40];
      std::snprintf(text, sizeof text, "%.*e", digits - 1, x);
      auto const expected = std::strtod(text, nullptr);
      EXPECT_NEAR(rounded_to(x, digits), expected, expected * 0x1p-52) << x;
    }
  }
}

}  // namespace
