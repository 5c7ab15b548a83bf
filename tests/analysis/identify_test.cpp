#include "posenc/analysis/identify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

using named_values = std::vector<std::pair<std::string, double>>;

template <class T>
std::vector<T> stored_as_type(std::span<double const> inv_freq) {
  std::vector<T> table;
  for (auto const x : inv_freq) {
    table.emplace_back();
    store(table.back(), static_cast<arithmetic_t<T>>(x));
  }
  return table;
}

std::string shown(frequency_explanation const& told) {
  auto text = told.rule;
  for (auto const& p : told.parameters)
    text += " " + p.name + " " + detail::shown(p.value.value_or(-1)) + " [" +
            detail::shown(p.least) + ", " + detail::shown(p.most) + "]";
  return text + ", off by " + detail::shown(told.relative_error);
}

// The best explanation is this rule, the range of each parameter holds its value, and the rule with
// the values that were found makes the table. Every other rule of no more parameters is worse.
void expect_found(identification const& found, std::string const& rule,
                  named_values const& parameters) {
  auto const& best = found.best();
  SCOPED_TRACE(shown(best));
  ASSERT_EQ(best.rule, rule);
  EXPECT_TRUE(best.within_rounding);
  for (auto const& [name, value] : parameters) {
    auto const& p = best[name];
    EXPECT_LE(p.least, value * (1 + 1e-14)) << name;
    EXPECT_GE(p.most, value * (1 - 1e-14)) << name;
    ASSERT_TRUE(p.value.has_value()) << name;
    EXPECT_LE(p.least, *p.value) << name;
    EXPECT_GE(p.most, *p.value) << name;
  }
  for (std::size_t i = 1; i < found.explanations.size(); ++i) {
    auto const& other = found.explanations[i];
    EXPECT_TRUE(!other.within_rounding || other.fitted >= best.fitted) << shown(other);
    EXPECT_TRUE(other.within_rounding || other.relative_error > best.relative_error)
        << shown(other);
  }
}

template <class T>
void expect_identified(frequencies const& f, std::string const& rule,
                       named_values const& parameters) {
  expect_found(identify(stored_as_type<T>(f.inv_freq())), rule, parameters);
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
}

TEST(identify, takes_the_simplest_base_that_fits) {
  numbers::in_float_and_double([]<class T>() {
    for (auto const base : {100.0, 1e4, 150'000.0, 5e5, 1e6, 11'158'840.0}) {
      auto const found = identify(stored_as_type<T>(geometric(128, base).inv_freq()));
      EXPECT_EQ(found.best()["base"].value, base);
      EXPECT_LE(found.best().ulps, 0.5);
    }
  });
}

TEST(identify, of_half_and_bfloat16_knows_their_rounding) {
  auto const f = geometric(128, 1e6);
  auto const halves = identify(stored_as_type<bfloat16>(f.inv_freq()));
  EXPECT_EQ(halves.unit_roundoff, 0x1p-8);
  expect_found(halves, "geometric", {{"base", 1e6}});
  EXPECT_EQ(halves.best()["base"].value, 1e6);
  EXPECT_GT(halves.best()["base"].most, 1.0001e6);
  // bfloat16 kept as floats: the first pair that its rounding moves is 4 * 10^-3 off.
  std::vector<float> floats;
  for (auto const x : stored_as_type<bfloat16>(f.inv_freq())) floats.push_back(load(x));
  auto const seen = identify(floats);
  EXPECT_EQ(seen.unit_roundoff, 0x1p-8);
  expect_found(seen, "geometric", {{"base", 1e6}});
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
    auto const table = stored_as_type<T>(ntk(geometric(128, 1e4), 8).inv_freq());
    auto const best = identify(table).best();
    EXPECT_EQ(best.rule, "geometric");
    auto const base = static_cast<double>(oracle::ntk_base(128, 1e4L, 8));
    EXPECT_NEAR(*best["base"].value, base, base * 64 * tolerance::unit_roundoff<T>());
    auto const named = [&](std::string const& rule) {
      return *std::ranges::find(best.same_table, rule, &named_rule::rule);
    };
    EXPECT_EQ(named("ntk").parameters[0].value, 1e4);
    EXPECT_EQ(named("ntk").parameters[1].name, "factor");
    EXPECT_EQ(named("ntk").parameters[1].value, 8);
    EXPECT_EQ(named("dynamic_ntk").parameters[1].value, 8);
  });
}

TEST(identify, tells_inclusive_series_by_the_simpler_base) {
  numbers::in_float_and_double([]<class T>() {
    auto const best = identify(stored_as_type<T>(geometric_inclusive(64, 1e4).inv_freq())).best();
    EXPECT_EQ(best.rule, "geometric_inclusive");
    EXPECT_EQ(best["base"].value, 1e4);
    EXPECT_EQ(best.same_table[0].rule, "geometric");
    auto const same = std::pow(1e4, 32.0 / 31);
    EXPECT_NEAR(*best.same_table[0].parameters[0].value, same,
                same * 32 * tolerance::unit_roundoff<T>());
  });
}

TEST(identify, finds_llama3) {
  for (auto const factor : {8.0, 32.0}) {
    numbers::in_float_and_double([&]<class T>() {
      auto const f = llama3(geometric(128, 5e5), {factor, 1, 4, 8192});
      auto const found = identify(stored_as_type<T>(f.inv_freq()));
      named_values const exact{{"factor", factor},
                               {"base", 5e5},
                               {"low_freq_factor", 1},
                               {"high_freq_factor", 4},
                               {"original_length", 8192}};
      expect_found(found, "llama3", exact);
      for (auto const& [name, value] : exact) EXPECT_EQ(found.best()[name].value, value) << name;
      EXPECT_EQ(found.best().same_table[0].rule, "ntk_by_parts");
    });
  }
  with_draws(2, []<class T>(drawn& draw) {
    auto const base = draw.log_between(1e5, 1e8), factor = draw.between(2, 64),
               high = draw.between(3, 16), length = draw.log_between(1000, 10'000);
    expect_identified<T>(llama3(geometric(128, base), {factor, 1, high, length}), "llama3",
                         {{"base", base},
                          {"factor", factor},
                          {"high_freq_factor", high},
                          {"original_length", length}});
  });
}

TEST(identify, says_that_llama3_by_a_step_is_yarn_by_a_step) {
  auto const found = identify(llama3(geometric(128, 5e5), {16, 1, 1, 8192}).inv_freq());
  expect_found(found, "llama3", {{"factor", 16}, {"base", 5e5}, {"original_length", 8192}});
  EXPECT_EQ(found.best()["original_length"].value, 8192);
  // The wavelengths of pairs 34 and 35 are 6703 and 8229.
  EXPECT_NEAR(found.best()["original_length"].least, 6703, 67);
  EXPECT_NEAR(found.best()["original_length"].most, 8229, 82);
  EXPECT_EQ(found.explanations[1].rule, "yarn");
  EXPECT_TRUE(found.explanations[1].within_rounding);
}

TEST(identify, finds_yarn) {
  for (auto const& [dim, base, factor] :
       {std::tuple(64, 1e4, 40.0), std::tuple(128, 1e6, 4.0), std::tuple(128, 5e4, 16.0)}) {
    numbers::in_float_and_double([&, d = dim, b = base, s = factor]<class T>() {
      auto const f = yarn(static_cast<std::size_t>(d), b, {.factor = s, .original_length = 4096});
      auto const found = identify(stored_as_type<T>(f.inv_freq()));
      expect_found(found, "yarn", {{"factor", s}, {"base", b}, {"original_length", 4096}});
      for (auto const& [name, value] : named_values{{"factor", s},
                                                    {"base", b},
                                                    {"original_length", 4096},
                                                    {"beta_fast", 32},
                                                    {"beta_slow", 1},
                                                    {"truncate", 1}})
        EXPECT_EQ(found.best()[name].value, value) << name;
    });
  }
}

TEST(identify, knows_the_lengths_whose_ramps_round_to_the_same_pairs) {
  // Ramp 10 to 23: 32 turns within O from index 10 up to 11, one turn from 22 up to 23.
  auto const f = yarn(64, 1e4, {.factor = 40, .original_length = 4096});
  auto const length = identify(stored_as_type<float>(f.inv_freq())).best()["original_length"];
  auto const turn = 2 * std::numbers::pi;
  EXPECT_NEAR(length.least, 32 * turn * std::pow(1e4, 10.0 / 32), 0.1);
  EXPECT_NEAR(length.most, turn * std::pow(1e4, 23.0 / 32), 0.1);
  EXPECT_EQ(length.value, 4096);
}

TEST(identify, finds_yarn_without_truncation_and_in_part) {
  with_draws(2, []<class T>(drawn& draw) {
    auto const base = draw.log_between(1e5, 1e7), factor = draw.between(2, 40),
               length = draw.log_between(2000, 8000), kept = draw.between(0.3, 0.9);
    auto const f =
        yarn(128, base, {.factor = factor, .original_length = length, .truncate = false});
    auto const found = identify(stored_as_type<T>(f.inv_freq()));
    expect_found(found, "yarn", {{"factor", factor}, {"base", base}, {"original_length", length}});
    EXPECT_EQ(found.best()["truncate"].value, 0);
    EXPECT_EQ(found.best()["beta_fast"].value, 32);
    expect_identified<T>(
        yarn(128, base, {.factor = factor, .original_length = 4096, .extrapolation = kept}), "yarn",
        {{"factor", factor}, {"base", base}, {"original_length", 4096}, {"extrapolation", kept}});
  });
}

TEST(identify, finds_mixed_and_part_ntk) {
  with_draws(2, []<class T>(drawn& draw) {
    auto const base = draw.log_between(1e4, 1e6), factor = draw.between(2, 32),
               b = draw.between(0.4, 0.9);
    expect_identified<T>(mixed_ntk(geometric(128, base), factor, b), "mixed_ntk",
                         {{"factor", factor}, {"base", base}, {"b", b}});
    auto const length = draw.log_between(1000, 8000);
    expect_identified<T>(part_ntk(128, base, {factor, length}), "part_ntk",
                         {{"factor", factor}, {"base", base}, {"original_length", length}});
  });
}

TEST(identify, finds_p_rope) {
  with_draws(10, []<class T>(drawn& draw) {
    auto const base = draw.log_between(100, 1e8), p = draw.between(0.1, 0.95),
               factor = draw.between(1.5, 30);
    expect_identified<T>(truncated(geometric(128, base), p), "truncated",
                         {{"base", base}, {"p", p}});
    expect_identified<T>(proportional(256, base, p, factor), "proportional",
                         {{"base", base}, {"p", p}, {"factor", factor}});
  });
  auto const same = identify(truncated(geometric(128, 1e4), 0.5).inv_freq()).best().same_table;
  EXPECT_EQ(same[0].rule, "fope_floor");
  EXPECT_EQ(same[1].rule, "geometric");  // 64 dims of 128
  EXPECT_EQ(same[1].parameters[0].value, 64);
  EXPECT_EQ(same[1].parameters[1].value, 100);
}

TEST(identify, finds_axes_even_steps_whole_wavelengths_and_a_clip) {
  with_draws(2, []<class T>(drawn& draw) {
    auto const base = draw.log_between(100, 1e6);
    expect_identified<T>(axial({16, 56, 56}, base), "axial",
                         {{"base", base}, {"dims 0", 16}, {"dims 1", 56}, {"dims 2", 56}});
    auto const max_freq = draw.between(4, 300);
    expect_identified<T>(pixel(32, max_freq), "pixel", {{"max_freq", max_freq}});
    expect_identified<T>(resonance(geometric(128, base)), "resonance", {{"base", base}});
    auto const n = draw.of({5, 20, 40});
    expect_identified<T>(raised_cosine_clip(geometric(128, base), n), "raised_cosine_clip",
                         {{"base", base}, {"n", static_cast<double>(n)}});
  });
}

TEST(identify, explains_sections_of_several_rules) {
  auto const a = geometric(32, 1e4), b = linear(geometric(64, 1e6), 8);
  std::vector<double> both(a.inv_freq().begin(), a.inv_freq().end());
  both.insert(both.end(), b.inv_freq().begin(), b.inv_freq().end());
  both[16] = 1.5;  // so that a second series begins
  auto const found = identify(both);
  EXPECT_FALSE(found.explanations[0].rule == "sections" && found.best().within_rounding);
  both[16] = b.inv_freq()[0];
  auto const falling = identify(both);
  EXPECT_EQ(falling.best().rule, "sections");
  ASSERT_EQ(falling.best().sections.size(), 2);
  EXPECT_EQ(falling.best().sections[0].rule, "geometric");
  EXPECT_EQ(falling.best().sections[1].rule, "linear");
  EXPECT_EQ(falling.best().sections[1]["factor"].value, 8);
}

TEST(identify, of_factors_for_each_pair_says_so) {
  std::vector<double> factors;
  drawn draw(1);
  for (int i = 0; i < 32; ++i) factors.push_back(draw.between(1, 3) + i);
  auto const found =
      identify(divided_by_factors(geometric(64, 1e4), factors).inv_freq(), {.base = 1e4});
  EXPECT_EQ(found.best().rule, "divided_by_factors");
  EXPECT_EQ(found.best()["base"].value, 1e4);
  for (std::size_t i = 0; i < 32; ++i)
    EXPECT_NEAR(found.best().factors[i], factors[i], factors[i] * 1e-15);
  EXPECT_GT(found.explanations[1].relative_error, 0.1);
}

TEST(identify, of_a_perturbed_table_reports_the_error) {
  auto const f = geometric(128, 1e4);
  for (auto const error : {1e-6, 1e-4, 0.01}) {
    std::vector<double> table(f.inv_freq().begin(), f.inv_freq().end());
    table[40] *= 1 + error;
    auto const found = identify(table);
    EXPECT_EQ(found.best().rule, "divided_by_factors");
    auto const second =
        *std::ranges::find(found.explanations, "geometric", &frequency_explanation::rule);
    EXPECT_FALSE(second.within_rounding);
    EXPECT_NEAR(second.relative_error, error, error / 10);
    EXPECT_NEAR(*second["base"].value, 1e4, 1e4 * error);
  }
}

TEST(identify, takes_other_forms) {
  auto const f = llama3(geometric(128, 5e5), {8, 1, 4, 8192});
  std::vector<double> const table(f.inv_freq().begin(), f.inv_freq().end());
  auto const form_of = [](std::vector<double> const& other) {
    auto const found = identify(other);
    EXPECT_EQ(found.best().rule, "llama3");
    EXPECT_EQ(found.best()["factor"].value, 8);
    return found.form;
  };
  std::vector<double> twice, wavelengths, reversed(table.rbegin(), table.rend()), shuffled = table;
  for (auto const x : table) twice.insert(twice.end(), {x, x}), wavelengths.push_back(1 / x);
  std::ranges::shuffle(shuffled, std::mt19937_64(1));
  EXPECT_EQ(form_of(table), table_form::inv_freq);
  EXPECT_EQ(form_of(twice), table_form::each_twice);
  EXPECT_EQ(form_of(reversed), table_form::reversed);
  EXPECT_EQ(form_of(wavelengths), table_form::wavelengths);
  EXPECT_EQ(form_of(shuffled), table_form::shuffled);
  auto negative = table;
  for (auto& x : negative) x = -x;
  auto const found = identify(negative);
  EXPECT_TRUE(found.negated);
  EXPECT_EQ(found.best().rule, "llama3");
}

TEST(identify, of_next_to_nothing_says_what_is_open) {
  auto const one = identify(std::vector<double>{1}).best();
  EXPECT_EQ(one.rule, "geometric");
  EXPECT_FALSE(one["base"].value.has_value());
  auto const zeros = identify(std::vector<float>(64)).best();
  EXPECT_EQ(zeros.rule, "truncated");
  EXPECT_EQ(zeros["p"].value, 0);
  EXPECT_TRUE(zeros.within_rounding);
  // YaRN has a parameter for each of these but the first.
  auto const five = identify(std::vector<double>{1, 0.8, 0.6, 0.4, 0.2}).best();
  EXPECT_EQ(five.rule, "divided_by_factors");
  auto const two = identify(std::vector<double>{1, 0.01}).best();
  EXPECT_EQ(two.rule, "geometric");
  EXPECT_EQ(two["base"].value, 1e4);
}

TEST(identify, of_decimals_takes_their_rounding) {
  std::vector<double> printed;
  auto const f = geometric(64, 5e5);
  for (auto const x : f.inv_freq()) printed.push_back(detail::rounded_to(x, 5));
  EXPECT_EQ(identify(printed).best().rule, "divided_by_factors");
  auto const found = identify(printed, {.unit_roundoff = 0.5e-4});
  EXPECT_EQ(found.best().rule, "geometric");
  EXPECT_EQ(found.best()["base"].value, 5e5);
}

TEST(identify_factors, knows_the_tensor_of_llama_3) {
  auto const series = geometric(128, 5e5), f = llama3(series, {8, 1, 4, 8192});
  std::vector<float> factors;
  for (std::size_t i = 0; i < 64; ++i)
    factors.push_back(static_cast<float>(series.inv_freq()[i] / f.inv_freq()[i]));
  auto const found = identify_factors(factors, 5e5);
  expect_found(found, "llama3",
               {{"factor", 8}, {"base", 5e5}, {"original_length", 8192}, {"high_freq_factor", 4}});
  EXPECT_EQ(found.best()["factor"].value, 8);
  std::vector<half> coarse;
  for (auto const x : factors) coarse.emplace_back(x);
  auto const rounded = identify_factors(coarse, 5e5);
  EXPECT_EQ(rounded.best().rule, "llama3");
  EXPECT_EQ(rounded.unit_roundoff, 0x1p-11);
  // Gemma 4: 1e30 for pairs that stand.
  std::vector<float> standing(64, 1.0f);
  std::fill(standing.begin() + 16, standing.end(), 1e30f);
  EXPECT_EQ(identify_factors(standing, 1e6).best().rule, "truncated");
  EXPECT_EQ(message_of([] { identify_factors(std::vector<float>{}, 1e4); }),
            "posenc: identify_factors: there must be 1 to 4096 factors, got 0");
}

TEST(identify_rows, reads_rows_exact_and_formed_in_float) {
  auto const f = yarn(64, 1e6, {.factor = 4, .original_length = 32768});
  std::vector<std::int64_t> positions;
  for (std::int64_t p = 0; p < 300; ++p) positions.push_back(p);
  positions.push_back(4096);
  auto const check = [&](auto const& rows) {
    auto const found = identify_rows(rows.view(), positions);
    expect_found(found, "yarn", {{"factor", 4}, {"base", 1e6}});
    EXPECT_EQ(found.best()["factor"].value, 4);
    EXPECT_EQ(found.best()["base"].value, 1e6);
    EXPECT_NEAR(*found.attention_factor, 1 + 0.1 * std::log(4.0), 1e-6);
    EXPECT_FALSE(found.negated);
  };
  check(cos_sin_rows<float>(f, positions));
  check(cos_sin_rows<double>(f, positions));
  check(float_angle_rows(f, positions));
  EXPECT_TRUE(
      identify_rows(cos_sin_rows<double>(f, positions).transpose().view(), positions).negated);
}

TEST(identify, refuses_what_is_no_table) {
  auto const message = [](std::vector<double> const& table, identify_options const& options = {}) {
    return message_of([&] { identify(table, options); });
  };
  EXPECT_EQ(message({}), "posenc: identify: there must be 1 to 4096 numbers, got 0");
  EXPECT_EQ(message({1, not_a_number()}),
            "posenc: identify: numbers must be finite and at most 2^64 in magnitude, got NaN at 1");
  EXPECT_EQ(
      message({infinity()}),
      "posenc: identify: numbers must be finite and at most 2^64 in magnitude, got infinity at 0");
  EXPECT_EQ(
      message({1e20}),
      "posenc: identify: numbers must be finite and at most 2^64 in magnitude, got 1e+20 at 0");
  EXPECT_EQ(message({1, 0, -0.5}), "posenc: identify: numbers must be of one sign, got -0.5 at 2");
  EXPECT_EQ(message({1}, {.base = 1}), "posenc: identify: base must be finite and above 1, got 1");
  EXPECT_EQ(message({1}, {.unit_roundoff = 0}),
            "posenc: identify: unit_roundoff must be in (0, 0.1], got 0");
  EXPECT_EQ(message_of([] { identify(std::vector<double>{1}).best()["factor"]; }),
            "posenc: frequency_explanation: geometric has no parameter factor");
}

TEST(identify_rows, refuses_rows_that_tell_nothing) {
  auto const f = geometric(8, 1e4);
  auto const message = [&](std::vector<std::int64_t> const& rows,
                           std::vector<std::int64_t> const& positions) {
    return message_of([&] { identify_rows(cos_sin_rows<float>(f, rows).view(), positions); });
  };
  EXPECT_EQ(message({0, 1}, {0}),
            "posenc: identify_rows: there must be rows, and a position for each, got 2 rows and 1 "
            "positions");
  EXPECT_EQ(message({0, 2}, {0, 2}),
            "posenc: identify_rows: a position other than 0 must be at most 1 in magnitude, the "
            "smallest is 2");
}

}  // namespace
