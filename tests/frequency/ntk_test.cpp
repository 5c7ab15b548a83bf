#include "posenc/frequency/ntk.hpp"

#include <gtest/gtest.h>

#include <string>

#include "close_to.hpp"
#include "golden/frequency_rules.hpp"
#include "non_numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(ntk, is_the_geometric_series_of_another_base) {
  for (auto const& [dim, base, factor, new_base] : golden::ntk_bases) {
    expect_close(ntk(geometric(dim, base), factor), oracle::default_rule(dim, new_base),
                 tolerance::of_scaled(base, factor));
  }
  for (std::size_t const dim : {4u, 6u, 64u, 96u, 128u, 512u}) {
    for (double const factor : {0.01, 0.5, 1.0, 1.5, 2.0, 8.0, 1e3}) {
      expect_close(ntk(geometric(dim, 1e6), factor), oracle::ntk_rule(dim, 1e6, factor),
                   tolerance::of_scaled(1e6, factor));
    }
  }
}

TEST(ntk, keeps_the_first_pair_and_divides_the_last) {
  auto const f = geometric(128, 1e4), scaled = ntk(f, 8);
  EXPECT_EQ(scaled.inv_freq().front(), f.inv_freq().front());
  EXPECT_EQ(scaled.inv_freq().back(), f.inv_freq().back() / 8);
}

TEST(ntk, keeps_standing_pairs_and_the_attention_factor) {
  auto const scaled = ntk(frequencies({1, 0, 0.25}, 1.5), 4);
  EXPECT_EQ(scaled.inv_freq()[1], 0);
  EXPECT_EQ(scaled.attention_factor(), 1.5);
}

TEST(ntk, needs_a_positive_factor_and_two_pairs) {
  auto const message = [](double factor, std::size_t dim) {
    return message_of([&] { ntk(geometric(dim, 1e4), factor); });
  };
  std::string const must = "posenc: ntk: factor must be finite and positive, got ";
  EXPECT_EQ(message(-0.5, 8), must + "-0.5");
  EXPECT_EQ(message(not_a_number(), 8), must + "NaN");
  EXPECT_EQ(message(infinity(), 8), must + "infinity");
  EXPECT_EQ(message(2, 2), "posenc: ntk: there must be at least two pairs, got 1");
}

TEST(dynamic_ntk, grows_the_base_with_the_length) {
  for (auto const& [dim, base, factor, trained, length, new_base, last] :
       golden::dynamic_ntk_values) {
    auto const f = dynamic_ntk(geometric(dim, base), {factor, static_cast<double>(trained)},
                               static_cast<double>(length));
    expect_close(f, oracle::default_rule(dim, new_base), tolerance::of_scaled(base, new_base));
    EXPECT_NEAR(f.inv_freq().back(), last, tolerance::of_scaled(base, new_base) * last);
  }
  for (double const factor : {0.25, 3.0}) {
    for (double const length : {1.0, 4096.0, 4097.0, 10000.0, 1e6}) {
      auto const s = factor * (length > 4096 ? length / 4096 : 1) - (factor - 1);
      expect_close(dynamic_ntk(geometric(64, 1e4), {factor, 4096}, length),
                   oracle::dynamic_ntk_rule(64, 1e4, factor, 4096, length),
                   tolerance::of_scaled(1e4, s));
    }
  }
}

TEST(dynamic_ntk, changes_nothing_up_to_the_trained_length) {
  auto const f = geometric(128, 1e4);
  for (double const length : {1.0, 2047.0, 2048.0}) {
    auto const same = dynamic_ntk(f, {2, 2048}, length);
    for (std::size_t i = 0; i < f.pairs(); ++i) EXPECT_EQ(same.inv_freq()[i], f.inv_freq()[i]);
  }
}

TEST(dynamic_ntk, refuses_what_is_no_length_or_factor) {
  auto const message = [](dynamic_ntk_scaling s, double length) {
    return message_of([&] { dynamic_ntk(geometric(8, 1e4), s, length); });
  };
  EXPECT_EQ(message({-0.9, 2048}, 1),
            "posenc: dynamic_ntk: factor must be finite and positive, got -0.9");
  EXPECT_EQ(message({2, 0}, 1),
            "posenc: dynamic_ntk: trained_length must be finite and positive, got 0");
  EXPECT_EQ(message({2, 2048}, -1),
            "posenc: dynamic_ntk: length must be finite and positive, got -1");
  EXPECT_EQ(message({2, 2048}, not_a_number()),
            "posenc: dynamic_ntk: length must be finite and positive, got NaN");
  EXPECT_EQ(message({1e300, 1}, 1e300),
            "posenc: dynamic_ntk: factor * length / trained_length must be finite, got 1e+300 * "
            "1e+300 / 1");
  EXPECT_EQ(message({2, 1e-300}, 1e300),
            "posenc: dynamic_ntk: factor * length / trained_length must be finite, got 2 * 1e+300 "
            "/ 1e-300");
}

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
