#include "posenc/frequency/frequencies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "non_numbers.hpp"
#include "rejects.hpp"

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
  EXPECT_EQ(rotated_pairs(frequencies({1, 0.5, 0x1p-1074})), (ranges{{0, 3}}));
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

}  // namespace
