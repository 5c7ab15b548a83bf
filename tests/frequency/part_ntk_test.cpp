#include "posenc/frequency/part_ntk.hpp"

#include <gtest/gtest.h>

#include "close_to.hpp"
#include "golden/frequency_rules.hpp"
#include "oracle/frequency_rules.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

// Both ramps end at whole indices, so that their shares are quotients of small integers.
double relative_error(double base, double factor) {
  return tolerance::of_blended(base, factor, 4 * tolerance::unit_roundoff<double>());
}

TEST(part_ntk, has_the_known_values) {
  for (auto const& [dim, base, factor, trained, pair, inv_freq] : golden::ntk_by_parts_values) {
    EXPECT_NEAR(part_ntk(dim, base, {factor, static_cast<double>(trained)}).inv_freq()[pair],
                inv_freq, relative_error(base, factor) * inv_freq)
        << pair;
  }
}

TEST(part_ntk, follows_its_formula) {
  for (std::size_t const dim : {4u, 64u, 128u}) {
    for (double const factor : {0.25, 1.0, 2.0, 16.0}) {
      for (double const length : {2048.0, 32768.0}) {
        expect_close(part_ntk(dim, 1e4, {factor, length}),
                     oracle::ntk_by_parts_rule(dim, 1e4, factor, length),
                     relative_error(1e4, factor));
      }
    }
  }
}

TEST(part_ntk, keeps_shares_of_ntk_and_of_the_unscaled) {
  for (double const ntk : {0.0, 0.25, 1.0}) {
    for (double const extrapolation : {0.0, 0.5, 1.0}) {
      expect_close(
          part_ntk(
              64, 1e4,
              {.factor = 8, .original_length = 2048, .ntk = ntk, .extrapolation = extrapolation}),
          oracle::ntk_by_parts_rule(64, 1e4, 8, 2048, ntk, extrapolation), relative_error(1e4, 8));
    }
  }
  EXPECT_EQ(message_of([] { part_ntk(64, 1e4, {.factor = 2, .original_length = 1, .ntk = 2}); }),
            "posenc: part_ntk: ntk must be in [0, 1], got 2");
  EXPECT_EQ(message_of([] {
              part_ntk(64, 1e4, {.factor = 2, .original_length = 1, .extrapolation = -1});
            }),
            "posenc: part_ntk: extrapolation must be in [0, 1], got -1");
}

TEST(part_ntk, refuses_what_is_no_scaling) {
  EXPECT_EQ(message_of([] {
              part_ntk(64, 1e4, {-0.5, 2048});
            }),
            "posenc: part_ntk: factor must be finite and positive, got -0.5");
  EXPECT_EQ(message_of([] {
              part_ntk(64, 1e4, {2, 0});
            }),
            "posenc: part_ntk: original_length must be finite and positive, got 0");
  EXPECT_EQ(message_of([] {
              part_ntk(2, 1e4, {2, 2048});
            }),
            "posenc: ntk: there must be at least two pairs, got 1");
}

}  // namespace
