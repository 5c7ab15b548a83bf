#include "posenc/frequency/yarn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "close_to.hpp"
#include "golden/yarn.hpp"
#include "non_numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/ntk.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

yarn_scaling scaling_of(golden::yarn_settings const& s) {
  return {.factor = s.factor,
          .original_length = static_cast<double>(s.trained),
          .beta_fast = s.beta_fast,
          .beta_slow = s.beta_slow,
          .truncate = s.truncate};
}

// An end of the ramp is a quotient of logarithms, an index up to dim: three roundings and the
// logarithms' own.
double error_of_end(std::size_t dim) {
  return 8 * tolerance::unit_roundoff<double>() * static_cast<double>(dim);
}

double relative_error(std::size_t dim, double base, double factor, double width) {
  return tolerance::of_blended(base, factor, 3 * error_of_end(dim) / std::abs(width));
}

TEST(yarn, has_the_known_ramps) {
  for (auto const& [dim, base, trained, fast, slow, truncate, low, high] : golden::yarn_ranges) {
    auto const ramp = ramp_of_yarn(dim, base,
                                   {.factor = 2,
                                    .original_length = static_cast<double>(trained),
                                    .beta_fast = fast,
                                    .beta_slow = slow,
                                    .truncate = truncate});
    EXPECT_NEAR(ramp.first, low, truncate ? 0 : error_of_end(dim));
    EXPECT_NEAR(ramp.last, high, truncate ? 0 : error_of_end(dim));
  }
}

TEST(yarn, has_the_known_values) {
  for (auto const& [settings, pair, inv_freq] : golden::yarn_values) {
    auto const ramp = ramp_of_yarn(settings.dim, settings.base, scaling_of(settings));
    EXPECT_NEAR(
        yarn(settings.dim, settings.base, scaling_of(settings)).inv_freq()[pair], inv_freq,
        relative_error(settings.dim, settings.base, settings.factor, ramp.last - ramp.first) *
            inv_freq)
        << settings.base << ", pair " << pair;
  }
}

TEST(yarn, follows_its_formula_degenerate_and_reversed_ramps_too) {
  struct betas {
    double fast, slow;
  };
  for (std::size_t const dim : {4u, 64u, 96u, 128u}) {
    for (auto const& [fast, slow] :
         {betas{32, 1}, betas{1, 1}, betas{1, 32}, betas{64, 0.5}, betas{1e9, 1e-9}}) {
      for (bool const truncate : {true, false}) {
        for (double const factor : {0.25, 40.0}) {
          yarn_scaling const scaling{.factor = factor,
                                     .original_length = 4096,
                                     .beta_fast = fast,
                                     .beta_slow = slow,
                                     .truncate = truncate};
          auto const ramp = ramp_of_yarn(dim, 1e4, scaling);
          expect_close(yarn(dim, 1e4, scaling),
                       oracle::yarn_rule(dim, 1e4, factor, 4096, fast, slow, truncate),
                       relative_error(dim, 1e4, factor, ramp.last - ramp.first));
        }
      }
    }
  }
}

// ggml's rope_yarn: theta_interp (1 - ramp_mix) + theta_extrap ramp_mix, where ramp_mix is the ramp
// times ext_factor.
TEST(yarn, keeps_a_share_of_what_the_ramp_keeps) {
  auto const base = 1e4, factor = 16.0;
  auto const whole = oracle::yarn_rule(64, base, factor, 4096);
  auto const divided = oracle::linear_rule(oracle::default_rule(64, base), factor);
  for (double const share : {0.0, 0.25, 0.5, 1.0}) {
    yarn_scaling const scaling{.factor = factor, .original_length = 4096, .extrapolation = share};
    std::vector<double> expected;
    for (std::size_t i = 0; i < whole.size(); ++i)
      expected.push_back(share * whole[i] + (1 - share) * divided[i]);
    expect_close(yarn(64, base, scaling), expected, tolerance::of_blended(base, factor, 0));
    EXPECT_EQ(yarn(64, base, scaling).attention_factor(), attention_factor(scaling));
  }
  auto const message = [](double share) {
    return message_of(
        [&] { yarn(64, 1e4, {.factor = 2, .original_length = 1, .extrapolation = share}); });
  };
  EXPECT_EQ(message(1.5), "posenc: yarn: extrapolation must be in [0, 1], got 1.5");
  EXPECT_EQ(message(-0.5), "posenc: yarn: extrapolation must be in [0, 1], got -0.5");
  EXPECT_EQ(message(not_a_number()), "posenc: yarn: extrapolation must be in [0, 1], got NaN");
}

TEST(yarn, of_a_geometric_series_is_that_of_its_base) {
  for (auto const& s : {golden::gpt_oss, golden::gpt_oss_truncated, golden::deepseek_v3,
                        golden::kimi_k2, golden::llama2_by_16}) {
    auto scaling = scaling_of(s);
    for (double const share : {0.5, 1.0}) {
      scaling.extrapolation = share;
      auto const expected = yarn(s.dim, s.base, scaling);
      auto const ramp = ramp_of_yarn(s.dim, s.base, scaling);
      auto const f = yarn(geometric(s.dim, s.base), scaling);
      expect_close(f, {expected.inv_freq().begin(), expected.inv_freq().end()},
                   relative_error(s.dim, s.base, s.factor, ramp.last - ramp.first));
      EXPECT_EQ(f.attention_factor(), expected.attention_factor());
    }
  }
  // A series of one pair, and a ramp that falls.
  for (double const fast : {32.0, 1e-3}) {
    yarn_scaling const scaling{.factor = 4, .original_length = 4096, .beta_fast = fast};
    for (std::size_t const dim : {2u, 4u, 64u}) {
      auto const expected = yarn(dim, 1e4, scaling);
      expect_close(yarn(geometric(dim, 1e4), scaling),
                   {expected.inv_freq().begin(), expected.inv_freq().end()}, 1e-13);
    }
  }
}

TEST(yarn, of_several_axes_is_that_of_each) {
  for (bool const truncate : {true, false}) {
    yarn_scaling const scaling{.factor = 4, .original_length = 512, .truncate = truncate};
    auto const f = yarn(axial({16, 56, 56}, 1e4), scaling);
    std::vector<double> expected;
    for (std::size_t const dim : {16u, 56u, 56u}) {
      auto const axis = oracle::yarn_rule(dim, 1e4, 4, 512, 32, 1, truncate);
      expected.insert(expected.end(), axis.begin(), axis.end());
    }
    expect_close(f, expected, 1e-12);
  }
}

TEST(yarn, of_a_partly_standing_series_leaves_it_standing) {
  yarn_scaling const scaling{.factor = 4, .original_length = 4096};
  auto const f = yarn(frequencies({1, 0.5, 0.25, 0, 0}, 1.5), scaling);
  EXPECT_EQ(f.inv_freq()[3], 0);
  EXPECT_EQ(f.inv_freq()[4], 0);
  EXPECT_EQ(f.attention_factor(), 1.5 * attention_factor(scaling));
  EXPECT_EQ(yarn(frequencies({0, 1}), scaling).inv_freq()[0], 0);
  auto const rotating = yarn(frequencies({1, 0.5, 0.25}), scaling);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(f.inv_freq()[i], rotating.inv_freq()[i]);
}

// Frequencies 1, 1/2, 1/8, 1/128: c(r) is 1.5 where r turns within O are those of a frequency of
// 1/4, and beyond the ends as the last two pairs go on.
TEST(yarn, of_any_series_finds_turns_between_its_pairs) {
  auto const turns = [](double inv_freq) { return inv_freq * 1000 / (2 * std::numbers::pi); };
  frequencies const f({1, 0.5, 0.125, 0x1p-7});
  auto const ramp = [&](double fast, double slow) {
    yarn_scaling const scaling{.factor = 2,
                               .original_length = 1000,
                               .beta_fast = turns(fast),
                               .beta_slow = turns(slow),
                               .truncate = false};
    auto const scaled = yarn(f, scaling);
    std::vector<double> share;
    for (std::size_t i = 0; i < 4; ++i)
      share.push_back(2 - 2 * scaled.inv_freq()[i] / f.inv_freq()[i]);
    return share;
  };
  auto const near = [](std::vector<double> const& actual, std::vector<double> const& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-13);
  };
  near(ramp(1, 0x1p-7), {0, 1.0 / 3, 2.0 / 3, 1});
  near(ramp(0.25, 0x1p-7), {0, 0, 1.0 / 3, 1});  // from 1.5 to 3
  near(ramp(0.5, 0x1p-9), {0, 0, 0.4, 0.8});     // from 1 to 3.5
  near(ramp(4, 0.125), {0, 0.5, 1, 1});          // from -2, so from 0, to 2
}

TEST(yarn, keeps_the_ramp_within_the_dims_not_the_pairs) {
  auto const ramp = ramp_of_yarn(
      64, 1e4, {.factor = 2, .original_length = 4096, .beta_fast = 1e9, .beta_slow = 1e-9});
  EXPECT_EQ(ramp.first, 0);
  EXPECT_EQ(ramp.last, 63);
}

TEST(yarn, a_reversed_ramp_divides_the_fast_pairs) {
  auto const f =
      yarn(64, 1e4, {.factor = 4, .original_length = 4096, .beta_fast = 1, .beta_slow = 32});
  EXPECT_EQ(f.inv_freq()[0], 0.25);
  EXPECT_EQ(f.inv_freq()[31], geometric(64, 1e4).inv_freq()[31]);
}

TEST(yarn, attention_factor_is_given_or_of_both_mscales_or_of_the_factor) {
  auto const of = [](yarn_scaling s) { return attention_factor(s); };
  auto const near = [](double value, double expected) {
    EXPECT_NEAR(value, expected, 8 * tolerance::unit_roundoff<double>() * expected);
  };
  for (auto const& [factor, expected] : golden::yarn_attention_factors) {
    near(of({.factor = factor, .original_length = 4096}), expected);
    near(yarn(64, 1e4, {.factor = factor, .original_length = 4096}).attention_factor(), expected);
  }
  near(of({.factor = 40, .original_length = 4096, .mscale = 1, .mscale_all_dim = 1}), 1);
  near(of({.factor = 40, .original_length = 4096, .mscale = 1, .mscale_all_dim = 0.707}),
       static_cast<double>(oracle::yarn_mscale(40) / oracle::yarn_mscale(40, 0.707L)));
  near(of({.factor = 40, .original_length = 4096, .mscale = 0.707}),
       static_cast<double>(oracle::yarn_mscale(40)));
  near(of({.factor = 40, .original_length = 4096, .mscale = 0.707, .mscale_all_dim = 0}),
       static_cast<double>(oracle::yarn_mscale(40)));
  for (double const factor : {0.01, 0.5, 1.0}) {
    EXPECT_EQ(of({.factor = factor, .original_length = 4096}), 1);
    EXPECT_EQ(of({.factor = factor, .original_length = 4096, .mscale = 2, .mscale_all_dim = 1}), 1);
    EXPECT_EQ(softmax_factor(
                  yarn_scaling{.factor = factor, .original_length = 4096, .mscale_all_dim = 1}),
              1);
  }
  near(of({.factor = 40, .original_length = 4096, .mscale_all_dim = 1}),
       static_cast<double>(oracle::yarn_mscale(40)));
  EXPECT_EQ(of({.factor = 40,
                .original_length = 4096,
                .mscale = 2,
                .mscale_all_dim = 1,
                .attention_factor = 1.25}),
            1.25);
}

TEST(yarn, softmax_factor_is_mscale_all_dim_squared) {
  auto const near = [](double value, double expected) {
    EXPECT_NEAR(value, expected, 16 * tolerance::unit_roundoff<double>() * expected);
  };
  near(softmax_factor(
           yarn_scaling{.factor = 40, .original_length = 4096, .mscale = 1, .mscale_all_dim = 1}),
       golden::deepseek_v3_softmax_factor);
  near(softmax_factor(yarn_scaling{.factor = 16, .original_length = 4096, .mscale_all_dim = 1}),
       golden::llama2_by_16_softmax_factor);
  EXPECT_EQ(softmax_factor(yarn_scaling{.factor = 40, .original_length = 4096}), 1);
  near(softmax_factor(
           yarn_scaling{.factor = 40, .original_length = 4096, .mscale = 1, .mscale_all_dim = 1}) /
           std::sqrt(192.0),
       golden::deepseek_v3_scale);
}

TEST(yarn, by_1_changes_nothing) {
  auto const f = geometric(64, 1e4), same = yarn(64, 1e4, {.factor = 1, .original_length = 4096});
  for (std::size_t i = 0; i < f.pairs(); ++i)
    EXPECT_NEAR(same.inv_freq()[i], f.inv_freq()[i],
                4 * tolerance::unit_roundoff<double>() * f.inv_freq()[i]);
  EXPECT_EQ(same.attention_factor(), 1);
}

/// c(r) where O / (2 pi r) is beyond the range of doubles, either way.
TEST(yarn, has_a_ramp_between_any_numbers_of_turns) {
  auto const none = std::numeric_limits<double>::min(), most = std::numeric_limits<double>::max();
  auto const index = [](double length, double turns) {
    return 64 * (std::log(length) - std::log(turns) - std::log(2 * std::numbers::pi)) /
           (2 * std::log(1e308));
  };
  auto const scaling = yarn_scaling{.factor = 8,
                                    .original_length = 1e290,
                                    .beta_fast = 1e10,
                                    .beta_slow = none,
                                    .truncate = false};
  auto const ramp = ramp_of_yarn(64, 1e308, scaling);
  EXPECT_NEAR(ramp.first, index(1e290, 1e10), 1e-12);
  EXPECT_NEAR(ramp.last, index(1e290, none), 1e-12);
  auto const often = ramp_of_yarn(
      64, 1e4,
      {.factor = 8, .original_length = 1, .beta_fast = most, .beta_slow = most, .truncate = false});
  EXPECT_EQ(often.first, 0);
  EXPECT_LT(often.last, -1000);
  auto const f = geometric(64, 1e4);
  // Both ends are beyond the last pair: `last` becomes less than `first`, and the falling ramp is 1
  // at all pairs, as in the field's code.
  auto const all = yarn(64, 1e4,
                        {.factor = 8,
                         .original_length = 1e300,
                         .beta_fast = none,
                         .beta_slow = none,
                         .truncate = false});
  for (std::size_t i = 0; i < f.pairs(); ++i) EXPECT_EQ(all.inv_freq()[i], f.inv_freq()[i] / 8);
}

TEST(yarn, refuses_what_is_no_scaling) {
  auto const message = [](yarn_scaling s, double base = 1e4) {
    return message_of([&] { yarn(64, base, s); });
  };
  auto const nan = not_a_number();
  EXPECT_EQ(message({.factor = -0.5, .original_length = 1}),
            "posenc: yarn: factor must be finite and positive, got -0.5");
  EXPECT_EQ(message({.factor = 2, .original_length = 0}),
            "posenc: yarn: original_length must be finite and positive, got 0");
  EXPECT_EQ(message({.factor = 2, .original_length = 1, .beta_fast = 0}),
            "posenc: yarn: beta_fast must be finite and positive, got 0");
  EXPECT_EQ(message({.factor = 2, .original_length = 1, .beta_slow = nan}),
            "posenc: yarn: beta_slow must be finite and positive, got NaN");
  EXPECT_EQ(message({.factor = 2, .original_length = 1, .mscale = -1}),
            "posenc: yarn: mscale and mscale_all_dim must be finite and not negative, got -1");
  EXPECT_EQ(message({.factor = 2, .original_length = 1, .attention_factor = 0}),
            "posenc: yarn: attention_factor must be finite and positive, got 0");
  EXPECT_EQ(message({.factor = 2, .original_length = 1}, 1),
            "posenc: yarn: base must be finite and above 1, got 1");
}

TEST(yarn_by_rotations, has_the_known_values) {
  // The turns within the ramp, at most 32, over its width of 31.
  auto const relative = tolerance::of_blended(1e4, 16, 2 * tolerance::of_scaled(1e4));
  for (auto const& [s, pair, inv_freq] : golden::yarn_paper_values) {
    auto const f =
        yarn_by_rotations(geometric(s.dim, s.base),
                          {.factor = s.factor, .original_length = static_cast<double>(s.trained)});
    EXPECT_NEAR(f.inv_freq()[pair], inv_freq, relative * inv_freq) << pair;
  }
}

TEST(yarn_by_rotations, differs_from_the_code_of_the_field_by_up_to_three_times) {
  auto const paper =
      yarn_by_rotations(geometric(128, 1e4), {.factor = 16, .original_length = 4096});
  auto const code = yarn(128, 1e4, {.factor = 16, .original_length = 4096});
  EXPECT_NEAR(code.inv_freq()[36] / paper.inv_freq()[36], 2.956, 0.0005);
  EXPECT_EQ(code.attention_factor(), paper.attention_factor());
}

TEST(yarn_by_rotations, multiplies_the_attention_factor) {
  for (auto const& [factor, expected] : golden::yarn_attention_factors) {
    auto const f =
        yarn_by_rotations(frequencies({1, 0.5}, 1.5), {.factor = factor, .original_length = 4096});
    EXPECT_NEAR(f.attention_factor(), 1.5 * expected,
                8 * tolerance::unit_roundoff<double>() * expected);
  }
}

TEST(yarn_by_rotations, refuses_what_ntk_by_parts_does) {
  EXPECT_EQ(
      message_of([] { yarn_by_rotations(geometric(8, 1e4), {.factor = 0, .original_length = 1}); }),
      "posenc: ntk_by_parts: factor must be finite and positive, got 0");
}

}  // namespace
