#include "posenc/frequency/resonance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "close_to.hpp"
#include "golden/frequency_rules.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rows/phase.hpp"

namespace {

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
