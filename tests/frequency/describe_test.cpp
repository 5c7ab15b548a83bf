#include "posenc/frequency/describe.hpp"

#include <gtest/gtest.h>

#include <iomanip>
#include <sstream>
#include <string>

#include "golden/frequency_rules.hpp"
#include "golden/wavelengths.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/linear.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

TEST(describe, has_the_known_last_angles) {
  for (auto const& [dim, base, factor, position, angle, turns] : golden::slowest_angles) {
    auto const f = linear(geometric(dim, base), factor);
    EXPECT_NEAR(describe(f, position + 1).pairs.back().last_angle, angle,
                tolerance::of_power(base) * angle);
    EXPECT_NEAR(describe(f, position).pairs.back().turns, turns, 0.5e-4 * turns);
  }
}

TEST(describe, tells_wavelengths_in_tokens_and_turns_within_the_context) {
  auto const d = describe(geometric(128, 1e4), 131072);
  EXPECT_EQ(d.context, 131072u);
  EXPECT_EQ(d.attention_factor, 1);
  ASSERT_EQ(d.pairs.size(), 64u);
  EXPECT_NEAR(d.pairs[0].wavelength, 6.283185307179586, 1e-14);
  EXPECT_NEAR(d.pairs[32].wavelength, 628.3185307179586, tolerance::of_power(1e4) * 629);
  EXPECT_NEAR(d.pairs[63].wavelength, 54410.143130777, 0.5e-9);
  EXPECT_NEAR(d.pairs[63].turns, 2.40896, 0.5e-5);
  auto const llama3 = describe(geometric(128, 5e5), 8192);
  for (auto const& [pair, wavelength] : golden::llama3_wavelengths)
    EXPECT_NEAR(llama3.pairs[pair].wavelength, wavelength, 1e-8);
  for (auto const& pair : d.pairs) {
    EXPECT_NEAR(pair.turns * pair.wavelength, 131072,
                4 * tolerance::unit_roundoff<double>() * 131072)
        << pair.pair;
  }
}

TEST(describe, prints_a_line_a_pair) {
  std::ostringstream os;
  os << std::hex << describe(frequencies({1, 0.001, 0}), 1000) << 255;
  EXPECT_EQ(os.str(),
            "pair    rad/position      wavelength         turns      last angle\n"
            "0                  1         6.28319       159.155             999\n"
            "1              0.001         6283.19      0.159155           0.999\n"
            "2                  0    stands still             0               0\n"
            "ff")
      << "and leaves the stream as it was";
}

TEST(describe, context_must_be_positive) {
  EXPECT_EQ(message_of([] { describe(geometric(8, 1e4), 0); }),
            "posenc: describe: context must be positive, got 0");
}

}  // namespace
