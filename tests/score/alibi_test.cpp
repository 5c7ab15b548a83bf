#include "posenc/score/alibi.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "golden/alibi.hpp"
#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/alibi.hpp"
#include "oracle/fixed_point.hpp"
#include "oracle/softmax.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/softmax.hpp"
#include "rejects.hpp"
#include "score/rows.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

/// A slope is a power of 2 whose exponent is off by its last roundings.
double tolerance_of_slope(double slope) {
  return tolerance::of_exponential(slope, std::log(slope));
}

TEST(alibi, slopes_of_up_to_16_heads_are_the_published_ones) {
  for (auto const& [heads, slopes] : golden::alibi) {
    alibi const encoding(heads);
    ASSERT_EQ(encoding.slopes().size(), heads);
    for (std::size_t h = 0; h < heads; ++h)
      EXPECT_NEAR(encoding.slopes()[h], slopes[h], tolerance_of_slope(slopes[h]))
          << "head " << h << " of " << heads;
  }
}

TEST(alibi, slopes_of_a_temporary_can_be_read_in_a_loop) {
  std::vector<double> slopes;
  for (auto const slope : alibi::with_slopes({0.5, 0.25}).slopes()) slopes.push_back(slope);
  EXPECT_EQ(slopes, (std::vector<double>{0.5, 0.25}));
}

TEST(alibi, slopes_of_every_head_count_match_the_published_rule) {
  for (double const max_bias : {8.0, 16.0, 4.0, 5.3, 0.25}) {
    for (std::size_t heads = 1; heads <= 130; ++heads) {
      alibi const encoding(heads, max_bias);
      auto const slopes = oracle::alibi_slopes(heads, max_bias);
      ASSERT_EQ(encoding.slopes().size(), heads);
      for (std::size_t h = 0; h < heads; ++h)
        EXPECT_NEAR(encoding.slopes()[h], slopes[h], tolerance_of_slope(slopes[h]))
            << "head " << h << " of " << heads << ", max_bias " << max_bias;
    }
  }
}

/// In integers, for a long double holds too few places of an exponent of a thousand. A slope below
/// normal doubles is rounded once more.
TEST(alibi, slopes_are_within_one_ulp_whatever_max_bias_is) {
  auto const ln2 = oracle::log(oracle::fixed_point::whole(2));
  double largest = 0;
#if defined(__FAST_MATH__)
  constexpr bool flushes = true;  // subnormal numbers to 0
#else
  constexpr bool flushes = false;
#endif
  for (double const max_bias :
       {8.0, 7.3, 5.3, 100.1, 1000.7, 1022.5, 1074.9, 0.1, 1e-9, 1e-300, 3e4, 1e9 / 3}) {
    for (std::size_t const heads : {1u, 2u, 7u, 12u, 16u, 40u, 71u, 128u}) {
      alibi const encoding(heads, max_bias);
      auto const slopes = encoding.slopes();
      auto const powers = std::bit_floor(heads);
      for (std::size_t h = 0; h < heads; ++h) {
        auto const halves = h < powers ? 2 * (h + 1) : 2 * (h - powers) + 1;
        auto const exponent = oracle::fixed_point(max_bias) *
                              oracle::fixed_point::whole(static_cast<std::int64_t>(halves)) /
                              static_cast<std::uint32_t>(2 * powers);
        auto const whole = std::floor(exponent.number());
        if (flushes && whole >= 1020) continue;
        if (whole > 1075) {
          EXPECT_EQ(slopes[h], 0) << "head " << h << " of " << heads << ", max_bias " << max_bias;
          continue;
        }
        auto const expected = oracle::exp((oracle::fixed_point(whole) - exponent) *
                                          ln2);  // times 2^-whole: in (0.5, 1]
        auto const scaled = std::ldexp(slopes[h], static_cast<int>(whole));
        auto const error = std::abs((oracle::fixed_point(scaled) - expected).number());
        auto const ulp = expected.number() >= 1 ? 0x1p-52 : 0x1p-53,
                   of_subnormal = whole >= 1022 ? std::ldexp(1, static_cast<int>(whole) - 1075) : 0;
        EXPECT_LE(error, ulp + of_subnormal)
            << "head " << h << " of " << heads << ", max_bias " << max_bias;
        if (whole < 1022) largest = std::max(largest, error / ulp);
      }
    }
  }
  EXPECT_LE(largest, 0.8) << "half for the power, and what rounding its exponent costs";
}

TEST(alibi, max_bias_is_8_unless_said_otherwise_and_the_exponent_of_the_flattest_head) {
  for (std::size_t const heads : {1u, 2u, 32u}) {
    EXPECT_EQ(alibi(heads).slopes().back(), 0x1p-8) << heads;
    EXPECT_EQ(alibi(heads, 16).slopes().back(), 0x1p-16) << heads;
  }
}

/// A port that takes heads itself for the next lower power of two.
TEST(alibi, heads_that_are_no_power_of_two_start_from_the_power_below_not_from_their_own_number) {
  for (std::size_t heads = 1; heads <= 130; ++heads) {
    auto const wrong = std::exp2(-8 / static_cast<double>(heads));
    auto const differs = std::abs(alibi(heads).slopes()[0] - wrong) > 2 * tolerance_of_slope(wrong);
    EXPECT_EQ(differs, !std::has_single_bit(heads)) << heads;
  }
}

TEST(alibi, takes_slopes_of_ones_own) {
  auto const encoding = alibi::with_slopes({0.5, 0, 0.125});
  ASSERT_EQ(encoding.heads(), 3u);
  EXPECT_EQ(encoding.bias(0, -4), -2);
  EXPECT_EQ(encoding.bias(1, 4), 0);
  EXPECT_EQ(encoding.bias(2, 4), -0.5);
  EXPECT_EQ(message_of([] { alibi::with_slopes({}); }),
            "posenc: alibi: there must be 1 to 65536 slopes, got 0");
  EXPECT_EQ(message_of([] {
              alibi::with_slopes({1, not_a_number()});
            }),
            "posenc: alibi: slopes must be finite, got NaN for head 1");
}

template <class T>
std::vector<T> adjusted(alibi const& encoding, std::vector<T> scores, std::size_t head,
                        std::int64_t query_position,
                        std::vector<std::int64_t> const& key_positions) {
  posenc::adjust_scores(encoding, score_row<T>{scores, head, query_position, key_positions, {}});
  return scores;
}

TEST(alibi, scores_fall_by_slope_times_distance_whatever_the_order_and_the_gaps) {
  std::vector<std::int64_t> const keys{0, 1, 2, 40, -7, 1'000'000, 39, 41, 40, -3'000'000'000};
  numbers::in_float_and_double([&]<class T>() {
    auto const scores = numbers::random<T>(keys.size());
    for (std::size_t const heads : {4u, 12u}) {
      for (std::size_t head = 0; head < heads; ++head) {
        auto const actual = adjusted(alibi(heads), scores, head, 40, keys);
        for (std::size_t s = 0; s < keys.size(); ++s) {
          auto const bias = oracle::bias(head, heads, 40, static_cast<double>(keys[s]));
          auto const expected = static_cast<double>(scores[s]) + bias;
          auto const of_bias = tolerance_of_slope(oracle::slope(head, heads)) *
                               static_cast<double>(std::abs(40 - keys[s]));
          auto const arithmetic =
              of_bias + (std::abs(bias) + std::abs(expected)) * tolerance::unit_roundoff<double>();
          EXPECT_NEAR(static_cast<double>(actual[s]), expected,
                      arithmetic + tolerance::of_storing<T>(expected))
              << "head " << head << " of " << heads << ", key " << keys[s];
        }
      }
    }
  });
}

/// What position s adds in BLOOM: slope * s, which softmax cannot tell from -slope * (t - s), but
/// can from -slope * |t - s|.
TEST(alibi, bloom_s_slope_times_position_agrees_under_a_causal_mask_and_differs_under_none) {
  constexpr std::size_t heads = 12, keys = 64, query = 40;
  std::vector<std::int64_t> positions(keys);
  for (std::size_t s = 0; s < keys; ++s) positions[s] = static_cast<std::int64_t>(s);
  auto const scores = numbers::random<double>(keys);
  for (std::size_t head = 0; head < heads; ++head) {
    alibi const encoding(heads);
    auto ours = adjusted(encoding, scores, head, query, positions), blooms = scores;
    for (std::size_t s = 0; s < keys; ++s)
      blooms[s] += encoding.slopes()[head] * static_cast<double>(s);
    auto const largest_difference = [&](std::size_t seen) {
      auto const a = oracle::softmax(std::span(ours).first(seen)),
                 b = oracle::softmax(std::span(blooms).first(seen));
      double largest = 0;
      for (std::size_t s = 0; s < seen; ++s) largest = std::max(largest, std::abs(a[s] - b[s]));
      return largest;
    };
    auto const rounding = 2 * (1 + encoding.slopes()[head] * keys) *
                          tolerance::unit_roundoff<double>();  // of either score
    auto const tolerance = tolerance::of_weight_by_scores(1, 2 * rounding);
    EXPECT_LE(largest_difference(query + 1), tolerance) << "head " << head;
    EXPECT_GT(largest_difference(keys), 1e6 * tolerance) << "head " << head;
  }
}

TEST(alibi, keys_on_either_side_of_a_query_are_penalised_alike) {
  for (std::int64_t const distance : {1, 2, 50, 1'000'000}) {
    auto const both =
        adjusted(alibi(8), std::vector<double>{0, 0}, 3, 7, {7 - distance, 7 + distance});
    EXPECT_EQ(both[0], both[1]);
    EXPECT_EQ(both[0], -0x1p-4 * static_cast<double>(distance));
  }
}

TEST(alibi, distances_are_exact_at_every_position) {
  constexpr auto last = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(
      adjusted(alibi(1), std::vector<double>{0, 0, 0}, 0, last, {last, last - 1, last - 256})[0],
      0);
  EXPECT_EQ(
      adjusted(alibi(1), std::vector<double>{0, 0, 0}, 0, last, {last, last - 1, last - 256})[1],
      -0x1p-8);
  EXPECT_EQ(
      adjusted(alibi(1), std::vector<double>{0, 0, 0}, 0, last, {last, last - 1, last - 256})[2],
      -1);
  EXPECT_EQ(adjusted(alibi(1), std::vector<double>{0}, 0, last,
                     {std::numeric_limits<std::int64_t>::min()})[0],
            -0x1p55)
      << "as far as int64 reaches";
}

TEST(alibi, bad_settings_are_rejected) {
  EXPECT_EQ(message_of([] { alibi(0); }), "posenc: alibi: heads must be positive, got 0");
  EXPECT_EQ(message_of([] { alibi(65'537); }),
            "posenc: alibi: heads must be at most 65536, got 65537");
  EXPECT_EQ(message_of([] { alibi(8, 0); }),
            "posenc: alibi: max_bias must be finite and positive, got 0");
  EXPECT_EQ(message_of([] { alibi(8, -8); }),
            "posenc: alibi: max_bias must be finite and positive, got -8");
  EXPECT_EQ(message_of([] { alibi(8, infinity()); }),
            "posenc: alibi: max_bias must be finite and positive, got infinity");
  EXPECT_EQ(message_of([] { alibi(8, not_a_number()); }),
            "posenc: alibi: max_bias must be finite and positive, got NaN");
}

TEST(alibi,
     a_head_without_a_slope_or_keys_without_positions_are_rejected_and_the_scores_left_alone) {
  rows::of_other_heads_or_keys_are_refused("adjust_scores", alibi(4), 4);
}

TEST(alibi, obeys_the_laws_of_its_site) {
  laws::obey("2 of 3 heads", alibi::with_slopes({0.5, 0.25, 0}), 3, laws::distance_penalty);
  laws::obey("8 heads", alibi(8), 8, laws::distance_penalty);
  laws::obey("1 head", alibi(1), 1, laws::distance_penalty);
  laws::obey("BLOOM's 112 heads", alibi(112), 112, laws::distance_penalty);
  laws::obey("max_bias 16", alibi(12, 16), 12, laws::distance_penalty);
  laws::obey("in a scheme", scheme(adaptive_temperature{}, alibi(5), nope()), 5,
             laws::distance_penalty);
}

}  // namespace
