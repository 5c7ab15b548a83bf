#include "posenc/frequency/proportional.hpp"

#include <gtest/gtest.h>

#include "close_to.hpp"
#include "golden/frequency_rules.hpp"
#include "oracle/frequency_rules.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(proportional, has_the_known_values) {
  for (auto const& [head_dim, base, p, pair, inv_freq] : golden::proportional_values) {
    EXPECT_NEAR(proportional(head_dim, base, p).inv_freq()[pair], inv_freq,
                tolerance::of_scaled(base) * inv_freq)
        << pair;
  }
}

TEST(proportional, follows_its_formula) {
  for (std::size_t const head_dim : {2u, 100u, 128u, 512u}) {
    for (double const p : {0.0, 0.25, 0.334, 0.58, 1.0}) {
      for (double const factor : {1.0, 8.0}) {
        expect_close(proportional(head_dim, 1e6, p, factor),
                     oracle::proportional_rule(head_dim, 1e6, p, factor),
                     tolerance::of_scaled(1e6));
      }
    }
  }
}

TEST(proportional, refuses_what_its_parts_do) {
  EXPECT_EQ(message_of([] { proportional(7, 1e6, 0.5); }),
            "posenc: geometric: the dimension must be even and positive, got 7");
  EXPECT_EQ(message_of([] { proportional(8, 1e6, 1.5); }),
            "posenc: truncated: p must be in [0, 1], got 1.5");
  EXPECT_EQ(message_of([] { proportional(8, 1e6, 0.5, -0.5); }),
            "posenc: linear: factor must be finite and positive, got -0.5");
}

}  // namespace
