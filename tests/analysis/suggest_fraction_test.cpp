#include "posenc/analysis/semantic_robustness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "non_numbers.hpp"
#include "posenc/analysis/context_bound.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(suggest_fraction, has_the_known_values) {
  // ln(length / 2 pi) / ln(base), with four digits
  EXPECT_NEAR(suggest_fraction(1e4, 8192), 0.7788, 5e-5);
  EXPECT_NEAR(suggest_fraction(1e4, 4096), 0.7035, 5e-5);
  EXPECT_NEAR(suggest_fraction(1e4, 2048), 0.6283, 5e-5);
  EXPECT_NEAR(suggest_fraction(5e5, 8192), 0.5466, 5e-5);
  EXPECT_NEAR(suggest_fraction(5e5, 131072), 0.7579, 5e-5);
}

TEST(suggest_fraction, is_the_exponent_of_one_turn) {
  for (double const base : {10.0, 1e4, 5e5}) {
    for (std::size_t const length : {7u, 100u, 8192u}) {
      auto const p = suggest_fraction(base, length);
      if (p < 1) {
        EXPECT_NEAR(std::pow(base, -p) * static_cast<double>(length), 2 * std::numbers::pi, 1e-12);
      }
    }
  }
  EXPECT_EQ(suggest_fraction(1e4, 6), 0);
  EXPECT_EQ(suggest_fraction(1e4, 1'000'000), 1);
}

TEST(suggest_fraction, of_frequencies_keeps_the_pairs_that_turn) {
  for (std::size_t const dim : {64u, 100u, 116u, 128u, 256u}) {
    auto const f = geometric(dim, 1e4);
    for (std::size_t const length : {1u, 6u, 7u, 100u, 2048u, 8192u, 100'000u}) {
      auto const found = suggest_fraction(f, length);
      auto const pairs = describe(f, length);
      auto const turning = std::ranges::count_if(pairs, [](auto const& p) { return p.turns >= 1; });
      EXPECT_EQ(found.kept, static_cast<std::size_t>(turning)) << dim << " " << length;
      // The exponents of pairs are i / pairs, so that p lies between the last kept and the next.
      auto const p = suggest_fraction(1e4, length);
      EXPECT_GE(found.fraction, found.kept < f.pairs() ? p - 1e-12 : 1);
      EXPECT_LE(found.fraction, p + 1 / static_cast<double>(f.pairs()) + 1e-12);
      auto const kept = truncated(f, found.fraction, exact_floor);
      EXPECT_EQ(f.pairs() - found.kept,
                static_cast<std::size_t>(std::ranges::count(kept.inv_freq(), 0.0)));
      EXPECT_NEAR(context_bound(kept, 1).certain, 1 - 2 * found.fraction, 1e-15);
    }
  }
}

TEST(suggest_fraction, counts_whole_turns_alone) {
  EXPECT_EQ(suggest_fraction(geometric(256, 1e4), 6283).kept, 96u) << "those of 0.75-RoPE";
  EXPECT_EQ(suggest_fraction(geometric(256, 1e4), 6284).kept, 97u);
  EXPECT_EQ(suggest_fraction(geometric(256, 1e4), 6).kept, 0u);
  EXPECT_EQ(suggest_fraction(truncated(geometric(256, 1e4), 0.25), 1'000'000).kept, 32u);
}

TEST(suggest_fraction, bad_input_is_rejected) {
  for (double const base : {1.0, 0.0, -2.0, not_a_number(), infinity()})
    EXPECT_EQ(message_of([=] {
                suggest_fraction(base, 10);
              }).find("posenc: suggest_fraction: base must be finite and above 1, got "),
              0u);
  EXPECT_EQ(message_of([] { suggest_fraction(1e4, 0); }),
            "posenc: suggest_fraction: length must be positive, got 0");
  EXPECT_EQ(message_of([] { suggest_fraction(geometric(4, 10), 0); }),
            "posenc: suggest_fraction: length must be positive, got 0");
  EXPECT_EQ(message_of([] {
              suggest_fraction(frequencies({1, 0.1, 0.2}), 10);
            }),
            "posenc: suggest_fraction: frequencies must not rise from pair to pair, got a rise at "
            "pair 2");
}

}  // namespace
