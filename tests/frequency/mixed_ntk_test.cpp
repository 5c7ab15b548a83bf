#include "posenc/frequency/mixed_ntk.hpp"

#include <gtest/gtest.h>

#include "close_to.hpp"
#include "golden/frequency_rules.hpp"
#include "non_numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(mixed_ntk, has_the_known_values) {
  for (auto const& [dim, base, factor, b, pair, inv_freq] : golden::ntk_mixed_values) {
    EXPECT_NEAR(mixed_ntk(geometric(dim, base), factor, b).inv_freq()[pair], inv_freq,
                tolerance::of_scaled(base, factor) * inv_freq);
  }
}

TEST(mixed_ntk, follows_its_formula) {
  for (std::size_t const dim : {2u, 6u, 64u, 128u}) {
    for (double const b : {0.25, 0.625, 1.0, 2.0}) {
      for (double const factor : {0.25, 1.0, 2.0, 16.0}) {
        // The inner power, at most 1, is the exponent of the outer one.
        auto const relative =
            tolerance::of_scaled(1e4, factor) +
            std::abs(std::log(factor)) * tolerance::of_power(static_cast<double>(dim));
        expect_close(mixed_ntk(geometric(dim, 1e4), factor, b),
                     oracle::ntk_mixed_rule(dim, 1e4, factor, b), relative);
      }
    }
  }
}

TEST(mixed_ntk, with_b_1_is_the_series_of_another_base_past_its_start) {
  auto const expected = oracle::ntk_fixed_rule(128, 1e4, 8);
  expect_close(mixed_ntk(geometric(128, 1e4), 8, 1), expected, 2 * tolerance::of_scaled(1e4, 8));
}

TEST(mixed_ntk, with_a_large_b_divides_the_last_pair_alone) {
  auto const f = geometric(64, 1e4);
  for (double const b : {1e5, 1e10, 1e40, 1e300, 1.7e308}) {
    auto const mixed = mixed_ntk(f, 8, b);
    for (std::size_t i = 0; i + 1 < f.pairs(); ++i)
      EXPECT_EQ(mixed.inv_freq()[i], f.inv_freq()[i]) << b;
    EXPECT_EQ(mixed.inv_freq()[31], f.inv_freq()[31] / 8) << b;
  }
}

TEST(mixed_ntk, refuses_a_negative_factor_and_a_b_of_0) {
  EXPECT_EQ(message_of([] { mixed_ntk(geometric(8, 1e4), -0.5); }),
            "posenc: mixed_ntk: factor must be finite and positive, got -0.5");
  EXPECT_EQ(message_of([] { mixed_ntk(geometric(8, 1e4), 2, 0); }),
            "posenc: mixed_ntk: b must be finite and positive, got 0");
  EXPECT_EQ(message_of([] { mixed_ntk(geometric(8, 1e4), 2, not_a_number()); }),
            "posenc: mixed_ntk: b must be finite and positive, got NaN");
}

}  // namespace
