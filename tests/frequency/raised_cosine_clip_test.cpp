#include "posenc/frequency/raised_cosine_clip.hpp"

#include <gtest/gtest.h>

#include "close_to.hpp"
#include "golden/frequency_rules.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

// 1 + cos(x) cancels near -1: for the last pair but one of n, the result is x^2 / 2 with x = pi /
// (n - 1).
double relative_error(double base, std::size_t n) {
  auto const steps = static_cast<double>(n > 1 ? n - 1 : 1);
  return tolerance::of_scaled(base) + 8 * tolerance::unit_roundoff<double>() * steps * steps;
}

TEST(raised_cosine_clip, has_the_known_values) {
  for (auto const& [dim, base, clipped, pair, inv_freq] : golden::raised_cosine_clip_values) {
    EXPECT_NEAR(raised_cosine_clip(geometric(dim, base), clipped).inv_freq()[pair], inv_freq,
                relative_error(base, clipped) * inv_freq)
        << pair;
  }
}

TEST(raised_cosine_clip, follows_its_formula) {
  for (std::size_t const n : {0u, 1u, 2u, 3u, 20u, 64u}) {
    SCOPED_TRACE(n);
    expect_close(raised_cosine_clip(geometric(128, 5e5), n),
                 oracle::raised_cosine_clip_rule(oracle::default_rule(128, 5e5), n),
                 relative_error(5e5, n));
  }
}

TEST(raised_cosine_clip, keeps_the_attention_factor) {
  EXPECT_EQ(raised_cosine_clip(frequencies({1, 0.5}, 1.5), 2).attention_factor(), 1.5);
}

TEST(raised_cosine_clip, refuses_more_pairs_than_there_are) {
  EXPECT_EQ(message_of([] { raised_cosine_clip(geometric(8, 1e4), 5); }),
            "posenc: raised_cosine_clip: n must be at most the number of pairs, 4, got 5");
}

}  // namespace
