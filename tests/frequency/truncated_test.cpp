#include "posenc/frequency/truncated.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>

#include "close_to.hpp"
#include "golden/frequency_rules.hpp"
#include "golden/p_rope.hpp"
#include "non_numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "oracle/rotary.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using posenc::exact_floor;
using posenc::frequencies;
using posenc::geometric;
using posenc::published_floor;
using posenc::truncated;

std::size_t moving(frequencies const& f) {
  return static_cast<std::size_t>(
      std::count_if(f.inv_freq().begin(), f.inv_freq().end(), [](double x) { return x != 0; }));
}

TEST(truncated, keeps_as_many_pairs_as_known_of_models) {
  for (auto const& [p, head_dim, published, exact] : golden::p_rope_counts) {
    EXPECT_EQ(published_floor(p, head_dim / 2), published) << p << " of " << head_dim;
    EXPECT_EQ(exact_floor(p, head_dim / 2), exact) << p << " of " << head_dim;
    EXPECT_EQ(moving(truncated(geometric(head_dim, 1e6), p)), published);
    EXPECT_EQ(moving(truncated(geometric(head_dim, 1e6), p, exact_floor)), exact);
  }
}

TEST(truncated, counts_as_the_published_code_does_unless_told_otherwise) {
  for (int percent = 0; percent <= 100; ++percent)
    for (std::size_t head_dim = 2; head_dim <= 512; head_dim += 2)
      ASSERT_EQ(published_floor(percent / 100.0, head_dim / 2),
                oracle::p_rope_kept(percent / 100.0, head_dim))
          << percent << " " << head_dim;
}

TEST(truncated, counts_by_decimals_if_told_so) {
  for (std::size_t thousandths = 0; thousandths <= 1000; ++thousandths)
    for (std::size_t pairs = 1; pairs <= 260; ++pairs)
      ASSERT_EQ(exact_floor(static_cast<double>(thousandths) / 1000, pairs),
                thousandths * pairs / 1000)
          << thousandths << " " << pairs;
}

TEST(truncated, keeps_the_highest_frequencies_bit_for_bit_and_stops_the_others) {
  for (auto const p : {0.0, 0.1, 0.25, 0.5, 0.75, 0.99, 1.0}) {
    for (std::size_t const head_dim : {2u, 6u, 64u, 100u, 128u, 512u}) {
      auto const all = geometric(head_dim, 1e6), some = truncated(all, p);
      ASSERT_EQ(some.pairs(), all.pairs());
      for (std::size_t i = 0; i < all.pairs(); ++i)
        ASSERT_EQ(some.inv_freq()[i], i < oracle::p_rope_kept(p, head_dim) ? all.inv_freq()[i] : 0)
            << p << " of " << head_dim;
    }
  }
}

// 0.75-RoPE_reversed drops the highest quarter: of 8 pairs, the first 2.
TEST(truncated, reversed_keeps_the_lowest_frequencies_bit_for_bit) {
  auto const reversed = [](frequencies const& f, double p) {
    return truncated(f, p, published_floor, posenc::kept_end::slowest);
  };
  auto const all = geometric(16, 1e4), some = reversed(all, 0.75);
  EXPECT_EQ(some.inv_freq()[1], 0);
  EXPECT_EQ(some.inv_freq()[2], all.inv_freq()[2]);
  for (auto const p : {0.0, 0.1, 0.25, 0.5, 0.75, 0.99, 1.0}) {
    for (std::size_t const head_dim : {2u, 6u, 64u, 100u, 128u, 512u}) {
      auto const f = geometric(head_dim, 1e6), slow = reversed(f, p);
      auto const stopped = f.pairs() - oracle::p_rope_kept(p, head_dim);
      for (std::size_t i = 0; i < f.pairs(); ++i) {
        ASSERT_EQ(slow.inv_freq()[i], i < stopped ? 0 : f.inv_freq()[i]) << p << " of " << head_dim;
        ASSERT_EQ(slow.rest()[i], i < stopped ? 0 : f.rest()[i]) << p << " of " << head_dim;
      }
    }
  }
  EXPECT_EQ(
      truncated(
          all, 1, [](double, std::size_t pairs) { return pairs + 1; }, posenc::kept_end::slowest)
          .inv_freq()[0],
      1)
      << "no more than there are";
}

TEST(truncated, by_1_is_rope_and_by_0_is_nope) {
  EXPECT_EQ(moving(truncated(geometric(128, 1e4), 1)), 64u);
  EXPECT_EQ(moving(truncated(geometric(128, 1e4), 0)), 0u);
}

TEST(truncated, keeps_the_attention_factor) {
  EXPECT_EQ(truncated(frequencies({1, 0.5}, 1.5), 0.5).attention_factor(), 1.5);
}

TEST(truncated, takes_a_rule_of_ones_own) {
  EXPECT_EQ(moving(truncated(geometric(128, 1e4), 0.5,
                             [](double, std::size_t pairs) { return pairs - 1; })),
            63u);
  EXPECT_EQ(moving(truncated(geometric(128, 1e4), 0.5,
                             [](double, std::size_t pairs) { return pairs + 1; })),
            64u)
      << "no more than there are";
}

TEST(truncated, is_not_partial_rotary) {
  auto const p_rope = truncated(geometric(512, 1e6), 0.25);
  auto const partial = geometric(128, 1e6);  // a port that divides the exponent by rotary_dim
  ASSERT_EQ(moving(p_rope), partial.pairs());
  EXPECT_EQ(p_rope.rotary_dim(), 512u) << "pairs lie half a head apart, not half a rotary block";
  EXPECT_EQ(p_rope.inv_freq()[0], partial.inv_freq()[0]);
  for (std::size_t i = 1; i < partial.pairs(); ++i)
    EXPECT_GT(p_rope.inv_freq()[i], 1.1 * partial.inv_freq()[i]);
  auto const expected = oracle::p_rope_inv_freq(512, 1e6, 0.25);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(p_rope.inv_freq()[i], expected[i], tolerance::of_power(1e6) * expected[i]);
}

TEST(truncated, refuses_frequencies_that_rise) {
  std::string const must =
      "posenc: truncated: frequencies must not rise from pair to pair, as for a base below 1, got "
      "a rise at pair ";
  EXPECT_EQ(message_of([] { truncated(geometric(8, 0.5), 0.5); }), must + "1");
  EXPECT_EQ(message_of([] { truncated(frequencies({1, 0.5, 0.25, 0.375}), 0.5); }), must + "3");
  EXPECT_EQ(moving(truncated(frequencies({1, 1, 0.5, 0.5, 0, 0}), 0.5)), 3u)
      << "equal ones do not rise";
}

TEST(truncated, p_must_be_from_0_to_1) {
  auto const message = [](double p) {
    return message_of([&] { truncated(frequencies({1.0}), p); });
  };
  std::string const must = "posenc: truncated: p must be in [0, 1], got ";
  EXPECT_EQ(message(-0.25), must + "-0.25");
  EXPECT_EQ(message(std::nextafter(1.0, 2.0)), must + "1.0000000000000002");
  EXPECT_EQ(message(75), must + "75");
  EXPECT_EQ(message(not_a_number()), must + "NaN");
  EXPECT_EQ(message(infinity()), must + "infinity");
}

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

TEST(fope_floor, stops_as_many_pairs_as_is_known) {
  for (auto const& [dim, base, trained, moving] : golden::fope_counts) {
    auto const f = fope_floor(geometric(dim, base), static_cast<double>(trained));
    EXPECT_EQ(static_cast<std::size_t>(
                  std::ranges::count_if(f.inv_freq(), [](double x) { return x != 0; })),
              moving);
    expect_close(
        f, oracle::fope_floor_rule(oracle::default_rule(dim, base), static_cast<double>(trained)),
        tolerance::of_scaled(base));
  }
}

TEST(fope_floor, keeps_a_pair_that_turns_just_once) {
  auto const once = 2 * std::numbers::pi / 512;
  auto const f = fope_floor(frequencies({once, std::nextafter(once, 0.0)}, 1.5), 512);
  EXPECT_EQ(f.inv_freq()[0], once);
  EXPECT_EQ(f.inv_freq()[1], 0);
  EXPECT_EQ(f.attention_factor(), 1.5);
}

TEST(fope_floor, trained_length_must_be_positive) {
  EXPECT_EQ(message_of([] { fope_floor(geometric(8, 1e4), 0); }),
            "posenc: fope_floor: trained_length must be finite and positive, got 0");
  EXPECT_EQ(message_of([] { fope_floor(geometric(8, 1e4), infinity()); }),
            "posenc: fope_floor: trained_length must be finite and positive, got infinity");
}

}  // namespace
