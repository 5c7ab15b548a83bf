#include "posenc/frequency/frequencies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include "golden/frequency_rules.hpp"
#include "golden/wavelengths.hpp"
#include "non_numbers.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using posenc::frequencies;

TEST(frequencies, keep_what_they_are_given) {
  std::vector<double> const inv_freq{1, 0.5, 0, -0.0, 0x1p-1074, 0x1p64};
  frequencies const f(inv_freq, 1.25);
  EXPECT_EQ(std::vector<double>(f.inv_freq().begin(), f.inv_freq().end()), inv_freq);
  EXPECT_EQ(f.attention_factor(), 1.25);
  EXPECT_EQ(f.pairs(), 6u);
  EXPECT_EQ(f.rotary_dim(), 12u);
}

TEST(frequencies, of_a_temporary_can_be_read_in_a_loop) {
  std::vector<double> inv_freq, rest;
  std::vector<posenc::pair_range> rotated;
  for (auto const x : frequencies({1, 0.5, 0}).inv_freq()) inv_freq.push_back(x);
  for (auto const x : frequencies({1, 0.5}, {0x1p-60, 0}, 1).rest()) rest.push_back(x);
  for (auto const x : frequencies({0, 1, 0.5}).rotated_pairs()) rotated.push_back(x);
  EXPECT_EQ(inv_freq, (std::vector<double>{1, 0.5, 0}));
  EXPECT_EQ(rest, (std::vector<double>{0x1p-60, 0}));
  EXPECT_EQ(rotated, (std::vector<posenc::pair_range>{{1, 3}}));
}

TEST(frequencies, leave_the_attention_alone_unless_told_otherwise) {
  EXPECT_EQ(frequencies({1.0}).attention_factor(), 1);
}

TEST(frequencies, take_another_attention_factor_in_place_of_theirs) {
  frequencies const f({1, 0.5, 0}, {0x1p-53, -0x1p-60, 0}, 1.25);
  auto const louder = f.with_attention_factor(1.5);
  EXPECT_EQ(louder.attention_factor(), 1.5);
  EXPECT_TRUE(std::ranges::equal(louder.inv_freq(), f.inv_freq()));
  EXPECT_TRUE(std::ranges::equal(louder.rest(), f.rest()));
  EXPECT_EQ(f.attention_factor(), 1.25);
  std::string const must =
      "posenc: frequencies: attention_factor must be finite and positive, got ";
  EXPECT_EQ(message_of([&] { f.with_attention_factor(0); }), must + "0");
  EXPECT_EQ(message_of([&] { f.with_attention_factor(not_a_number()); }), must + "NaN");
}

std::vector<posenc::pair_range> rotated_pairs(frequencies const& f) {
  return {f.rotated_pairs().begin(), f.rotated_pairs().end()};
}

TEST(frequencies, rotate_the_pairs_of_non_zero_frequency) {
  using ranges = std::vector<posenc::pair_range>;
  EXPECT_EQ(rotated_pairs(frequencies({1, 0.5, 0x1p-1022})), (ranges{{0, 3}}));
#if !defined(__FAST_MATH__)  // which may take subnormal numbers for 0
  EXPECT_EQ(rotated_pairs(frequencies({1, 0.5, 0x1p-1074})), (ranges{{0, 3}}));
#endif
  EXPECT_EQ(rotated_pairs(frequencies({0, 1, 0.5, 0, -0.0, 0.25})), (ranges{{1, 3}, {5, 6}}));
  EXPECT_EQ(rotated_pairs(frequencies({0, 0})), ranges{});
}

TEST(frequencies, rotate_all_pairs_if_rows_have_a_factor) {
  using ranges = std::vector<posenc::pair_range>;
  frequencies const f({1, 0, 0.5});
  EXPECT_EQ(rotated_pairs(f.with_attention_factor(1.25)), (ranges{{0, 3}}));
  EXPECT_EQ(rotated_pairs(f.with_attention_factor(1.25).with_attention_factor(1)),
            (ranges{{0, 1}, {2, 3}}));
  EXPECT_EQ(rotated_pairs(frequencies({1, 0, 0.5}, 0.5)), (ranges{{0, 3}}));
}

TEST(frequencies, have_the_steps_of_their_pairs) {
  frequencies const f({1, 0.5, 0}, {0x1p-53, -0x1p-60, 0}, 1.25);
  auto const expect_steps = [&](frequencies const& actual) {
    posenc::phase_steps const expected(f.inv_freq(), f.rest());
    ASSERT_EQ(actual.steps().pairs(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(actual.steps().high()[i], expected.high()[i]);
      EXPECT_EQ(actual.steps().low()[i], expected.low()[i]);
      EXPECT_EQ(actual.steps().turns()[i], expected.turns()[i]);
    }
  };
  expect_steps(f), expect_steps(f.with_attention_factor(1));
}

TEST(frequencies, there_must_be_a_pair) {
  EXPECT_EQ(message_of([] { frequencies({}); }),
            "posenc: frequencies: there must be at least one pair, got none");
}

TEST(frequencies, each_must_be_from_0_to_2_to_the_64) {
  auto const message = [](double inv_freq) {
    return message_of([&] { frequencies({1, 0.5, inv_freq, 0.25}); });
  };
  std::string const must =
      "posenc: frequencies: inv_freq must be in [0, 2^64] radians per position, got ";
  EXPECT_EQ(message(-0.5), must + "-0.5 at pair 2");
  EXPECT_EQ(message(std::nextafter(0x1p64, 0x1p65)), must + "18446744073709555712 at pair 2");
  EXPECT_EQ(message(not_a_number()), must + "NaN at pair 2");
  EXPECT_EQ(message(infinity()), must + "infinity at pair 2");
  EXPECT_EQ(message(minus_infinity()), must + "-infinity at pair 2");
}

TEST(frequencies, keep_a_rest_and_take_none_that_is_larger_than_rounding) {
  frequencies const f({1, 0.5, 0}, {0x1p-53, -0x1p-60, 0}, 1.25);
  EXPECT_EQ(std::vector<double>(f.rest().begin(), f.rest().end()),
            (std::vector<double>{0x1p-53, -0x1p-60, 0}));
  EXPECT_EQ(f.attention_factor(), 1.25);
  EXPECT_EQ(frequencies({1, 0.5}).rest()[1], 0);
  auto const message = [](std::vector<double> const& rest) {
    return message_of([&] { frequencies({1, 0}, rest, 1); });
  };
  EXPECT_EQ(message({0}),
            "posenc: frequencies: there must be a rest for each of the 2 pairs, got 1");
  std::string const must = "posenc: frequencies: a rest must be at most 2^-53 of its inv_freq ";
  EXPECT_EQ(message({0x1p-52, 0}), must + "1, got 2.220446049250313e-16 at pair 0");
  EXPECT_EQ(message({0, 0x1p-60}), must + "0, got 8.673617379884035e-19 at pair 1");
  EXPECT_EQ(message({not_a_number(), 0}), must + "1, got NaN at pair 0");
}

TEST(frequencies, attention_factor_must_be_finite_and_positive) {
  auto const message = [](double factor) {
    return message_of([&] { frequencies({1.0}, factor); });
  };
  std::string const must =
      "posenc: frequencies: attention_factor must be finite and positive, got ";
  EXPECT_EQ(message(0), must + "0");
  EXPECT_EQ(message(-1), must + "-1");
  EXPECT_EQ(message(not_a_number()), must + "NaN");
  EXPECT_EQ(message(infinity()), must + "infinity");
}

using posenc::pair_range;

std::vector<pair_range> ranges_of(std::string const& chosen) {
  return posenc::detail::ranges_of(chosen.size(), [&](std::size_t i) { return chosen[i] == 'x'; });
}

TEST(ranges_of, are_the_longest_runs_of_what_is_chosen) {
  using ranges = std::vector<pair_range>;
  EXPECT_EQ(ranges_of(""), ranges());
  EXPECT_EQ(ranges_of("..."), ranges());
  EXPECT_EQ(ranges_of("xxx"), (ranges{{0, 3}}));
  EXPECT_EQ(ranges_of("x..xx.x"), (ranges{{0, 1}, {3, 5}, {6, 7}}));
  EXPECT_EQ(ranges_of(".xx."), (ranges{{1, 3}}));
}

using namespace posenc;

TEST(describe, has_the_known_last_angles) {
  for (auto const& [dim, base, factor, position, angle, turns] : golden::slowest_angles) {
    auto const f = linear(geometric(dim, base), factor);
    EXPECT_NEAR(describe(f, position + 1).back().last_angle, angle,
                tolerance::of_power(base) * angle);
    EXPECT_NEAR(describe(f, position).back().turns, turns, 0.5e-4 * turns);
  }
}

TEST(describe, tells_wavelengths_in_tokens_and_turns_within_the_context) {
  auto const d = describe(geometric(128, 1e4), 131072);
  ASSERT_EQ(d.size(), 64u);
  EXPECT_NEAR(d[0].wavelength, 6.283185307179586, 1e-14);
  EXPECT_NEAR(d[32].wavelength, 628.3185307179586, tolerance::of_power(1e4) * 629);
  EXPECT_NEAR(d[63].wavelength, 54410.143130777, 0.5e-9);
  EXPECT_NEAR(d[63].turns, 2.40896, 0.5e-5);
  auto const llama3 = describe(geometric(128, 5e5), 8192);
  for (auto const& [pair, wavelength] : golden::llama3_wavelengths)
    EXPECT_NEAR(llama3[pair].wavelength, wavelength, 1e-8);
  for (auto const& pair : d) {
    EXPECT_NEAR(pair.turns * pair.wavelength, 131072,
                4 * tolerance::unit_roundoff<double>() * 131072)
        << pair.pair;
  }
}

TEST(describe, of_a_pair_that_stands_has_an_infinite_wavelength) {
  auto const d = describe(frequencies({1, 0.001, 0}), 1000);
  EXPECT_EQ(d[1].last_angle, 0.999);
  EXPECT_TRUE(d[2].wavelength > 1e308);
  EXPECT_EQ(d[2].turns, 0);
}

TEST(describe, context_must_be_positive) {
  EXPECT_EQ(message_of([] { describe(geometric(8, 1e4), 0); }),
            "posenc: describe: context must be positive, got 0");
}

void expect_same(frequencies const& with_defaults, frequencies const& written_out) {
  for (std::size_t i = 0; i < with_defaults.pairs(); ++i) {
    EXPECT_EQ(with_defaults.inv_freq()[i], written_out.inv_freq()[i]) << i;
    EXPECT_EQ(with_defaults.rest()[i], written_out.rest()[i]) << i;
  }
  EXPECT_EQ(with_defaults.attention_factor(), written_out.attention_factor());
}

TEST(frequency_defaults, are_what_is_documented) {
  auto const f = geometric(100, 1e4);
  expect_same(frequencies({1, 0.5}), frequencies({1, 0.5}, {0, 0}, 1));
  expect_same(mixed_ntk(f, 8), mixed_ntk(f, 8, 0.625));
  expect_same(truncated(f, 0.58), truncated(f, 0.58, published_floor));
  EXPECT_NE(truncated(f, 0.58).inv_freq()[28], truncated(f, 0.58, exact_floor).inv_freq()[28]);
  expect_same(pixel(8), pixel(8, 10));
  expect_same(part_ntk(64, 1e4, {4, 4096}), part_ntk(64, 1e4, {4, 4096, 1, 1}));
  expect_same(proportional(64, 1e6, 0.25), proportional(64, 1e6, 0.25, 1));
  expect_same(ntk_by_parts(f, {.factor = 4, .original_length = 4096}),
              ntk_by_parts(f, {4, 4096, 1, 32}));
  expect_same(yarn(64, 1e4, {.factor = 4, .original_length = 4096}),
              yarn(64, 1e4, {4, 4096, 32, 1, true, {}, {}, {}, 1}));
  longrope_scaling const all{{2}, {3}, 4096, 1, {}};
  expect_same(longrope(frequencies({1}),
                       {.short_factor = {2}, .long_factor = {3}, .original_length = 4096}, 1),
              longrope(frequencies({1}), all, 1));
  EXPECT_EQ(attention_factor(all), 1);
}

TEST(frequency_defaults, smallest_sizes_are_taken) {
  EXPECT_EQ(geometric(2, 1e4).inv_freq()[0], 1);
  EXPECT_EQ(geometric_inclusive(2, 1e4).inv_freq()[0], 1);
  EXPECT_EQ(geometric_inclusive(4, 1e4).inv_freq()[1], 1e-4);
  EXPECT_EQ(ntk(frequencies({1, 0.5}), 2).inv_freq()[1], 0.25);
  EXPECT_EQ(mixed_ntk(frequencies({1}), 2).inv_freq()[0], 0.5);
  EXPECT_EQ(raised_cosine_clip(frequencies({1}), 1).inv_freq()[0], 1);
  EXPECT_EQ(raised_cosine_clip(frequencies({1, 0.5}), 2).inv_freq()[1], 0);
  EXPECT_EQ(yarn(2, 1e4, {.factor = 1, .original_length = 1}).inv_freq()[0], 1);
}

}  // namespace
