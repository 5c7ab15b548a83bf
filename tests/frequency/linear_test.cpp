#include "posenc/frequency/ntk.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "close_to.hpp"
#include "golden/frequency_rules.hpp"
#include "non_numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rows/phase.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using posenc::frequencies;
using posenc::linear;

TEST(linear, divides_every_frequency) {
  auto const f = posenc::geometric(128, 1e4);
  for (double const factor : {1e-6, 0.3, 1.0, 2.0, 8.0, 3.7, 1e6}) {
    auto const squeezed = linear(f, factor);
    ASSERT_EQ(squeezed.pairs(), f.pairs());
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const expected =
          static_cast<double>(static_cast<oracle::wide>(f.inv_freq()[i]) / factor);
      // -ffast-math multiplies by 1 / factor: two roundings.
      EXPECT_NEAR(squeezed.inv_freq()[i], expected,
                  3 * tolerance::unit_roundoff<double>() * expected);
    }
  }
}

TEST(linear, by_1_changes_nothing) {
  auto const f = posenc::geometric(128, 1e4), same = linear(f, 1);
  for (std::size_t i = 0; i < f.pairs(); ++i) EXPECT_EQ(same.inv_freq()[i], f.inv_freq()[i]);
}

TEST(linear, keeps_standing_pairs_and_the_attention_factor) {
  auto const squeezed = linear(frequencies({1, 0, 0.25}, 1.5), 4);
  EXPECT_EQ(squeezed.inv_freq()[0], 0.25);
  EXPECT_EQ(squeezed.inv_freq()[1], 0);
  EXPECT_EQ(squeezed.inv_freq()[2], 0.0625);
  EXPECT_EQ(squeezed.attention_factor(), 1.5);
}

TEST(linear, and_truncated_may_change_places) {
  auto const f = posenc::geometric(128, 1e6);
  auto const one = linear(posenc::truncated(f, 0.75), 8),
             other = posenc::truncated(linear(f, 8), 0.75);
  for (std::size_t i = 0; i < f.pairs(); ++i) EXPECT_EQ(one.inv_freq()[i], other.inv_freq()[i]);
}

TEST(linear, factor_must_be_finite_and_positive) {
  auto const message = [](double factor) {
    return message_of([&] { linear(frequencies({1.0}), factor); });
  };
  std::string const must = "posenc: linear: factor must be finite and positive, got ";
  EXPECT_EQ(message(0), must + "0");
  EXPECT_EQ(message(-2), must + "-2");
  EXPECT_EQ(message(not_a_number()), must + "NaN");
  EXPECT_EQ(message(infinity()), must + "infinity");
}

using namespace posenc;

TEST(resonance, has_the_known_wavelengths) {
  auto const f = resonance(geometric(128, 1e4));
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    auto const expected = 2 * std::numbers::pi / golden::resonance_wavelengths[i];
    EXPECT_NEAR(f.inv_freq()[i], expected, 2 * tolerance::unit_roundoff<double>() * expected) << i;
  }
}

TEST(resonance, follows_its_formula) {
  for (double const base : {1e4, 5e5}) {
    expect_close(resonance(geometric(64, base)),
                 oracle::resonance_rule(oracle::default_rule(64, base)),
                 tolerance::of_scaled(base));
  }
}

TEST(resonance, comes_back_to_where_it_was) {
  auto const f = resonance(geometric(128, 1e4));
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    // One turn per `wavelength` tokens, up to the rounding of 2 pi / wavelength, which adds up over
    // them.
    auto const angle =
        phase_step(f.inv_freq()[i]).at(std::int64_t{golden::resonance_wavelengths[i]});
    EXPECT_LE(std::abs(static_cast<double>(static_cast<std::int64_t>(angle)) * 0x1p-64),
              2 * tolerance::unit_roundoff<double>())
        << i;
  }
}

TEST(resonance, turns_no_faster_than_once_a_token_and_leaves_what_stands) {
  auto const f = resonance(frequencies({100, 7, 1e-20, 0}, 1.5));
  EXPECT_EQ(f.inv_freq()[0], 2 * std::numbers::pi);
  EXPECT_EQ(f.inv_freq()[1], 2 * std::numbers::pi);
  EXPECT_EQ(f.inv_freq()[2], 1e-20);
  EXPECT_EQ(f.inv_freq()[3], 0);
  EXPECT_EQ(f.attention_factor(), 1.5);
}

}  // namespace
