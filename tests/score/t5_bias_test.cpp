#include "posenc/score/t5_bias.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/wide.hpp"
#include "rejects.hpp"
#include "score/rows.hpp"

namespace {

using namespace posenc;

struct known_bucket {
  std::int64_t relative;  ///< key - query
  std::size_t bucket;
};

// Of T5: 32 buckets, max_distance 128. Source: modeling_t5.py's formula.
TEST(relative_buckets, has_the_known_buckets) {
  relative_buckets const decoder(32, 128, false), encoder(32, 128, true);
  for (auto const& [relative, bucket] :
       {known_bucket{0, 0}, known_bucket{-15, 15}, known_bucket{-16, 16}, known_bucket{-20, 17},
        known_bucket{-32, 21}, known_bucket{-64, 26}, known_bucket{-127, 31},
        known_bucket{-128, 31}, known_bucket{-100'000, 31}, known_bucket{1, 0},
        known_bucket{100, 0}}) {
    EXPECT_EQ(decoder(-relative), bucket) << relative;
  }
  for (auto const& [relative, bucket] :
       {known_bucket{0, 0}, known_bucket{-1, 1}, known_bucket{-8, 8}, known_bucket{-64, 14},
        known_bucket{1, 17}, known_bucket{8, 24}, known_bucket{128, 31}, known_bucket{-128, 15}}) {
    EXPECT_EQ(encoder(-relative), bucket) << relative;
  }
}

// An edge e (max / e)^(k / (n - e)) is reached when r^(n - e) e^k >= e^(n - e) max^k: in logarithms
// of long double, ties to the edge.
std::size_t t5_bucket(std::size_t n, std::size_t max_distance, std::size_t r) {
  auto const e = n / 2;
  if (r < e) return r;
  auto const log = [](std::size_t x) { return oracle::log(static_cast<oracle::wide>(x)); };
  auto const of_r = static_cast<oracle::wide>(n - e) * (log(r) - log(e)),
             of_step = log(max_distance) - log(e);
  std::size_t k = 0;
  while (k + 1 < n - e && of_r >= static_cast<oracle::wide>(k + 1) * of_step - 1e-12L) ++k;
  return e + k;
}

TEST(relative_buckets, follows_its_formula) {
  for (std::size_t const buckets : {4u, 8u, 32u, 64u, 320u}) {
    for (std::size_t const max_distance : {161u, 128u * 8, 800u, 4096u}) {
      relative_buckets const one(buckets, max_distance, false),
          two(2 * buckets, max_distance, true);
      EXPECT_EQ(one.count(), buckets);
      EXPECT_EQ(two.count(), 2 * buckets);
      for (std::size_t r = 0; r < max_distance + 10; ++r) {
        auto const expected = t5_bucket(buckets, max_distance, r);
        auto const distance = static_cast<std::int64_t>(r);
        ASSERT_EQ(one(distance), expected) << r;
        ASSERT_EQ(two(distance), expected) << r;
        ASSERT_EQ(two(-distance), r == 0 ? 0 : expected + buckets) << r;
      }
    }
  }
}

// 375 = 3 * 5^3 and 84035 = 5 * 7^5: each power begins a bucket, where double logarithms fall
// short.
TEST(relative_buckets, begin_at_whole_powers) {
  relative_buckets const fives(6, 375, false), sevens(10, 84'035, false);
  std::size_t bucket = 3;
  for (std::int64_t r : {3, 15, 75}) EXPECT_EQ(fives(r), bucket++) << r;
  for (std::int64_t r : {14, 74}) EXPECT_EQ(fives(r), r == 14 ? 3u : 4u) << r;
  bucket = 5;
  for (std::int64_t r : {5, 35, 245, 1715, 12'005}) EXPECT_EQ(sevens(r), bucket++) << r;
}

TEST(relative_buckets, takes_the_farthest_positions) {
  using limits = std::numeric_limits<std::int64_t>;
  EXPECT_EQ(relative_buckets(32, 128, false)(limits::max()), 31u);
  EXPECT_EQ(relative_buckets(32, 128, true)(-limits::max()), 31u);
  EXPECT_EQ(relative_buckets(32, 128, true)(limits::min()), 31u);
}

TEST(relative_buckets, refuses_odd_numbers_and_short_distances) {
  EXPECT_EQ(
      message_of([] { relative_buckets(0, 128, false); }),
      "posenc: relative_buckets: buckets must be a multiple of 2, at most 65536 and not 0, got 0");
  EXPECT_EQ(
      message_of([] { relative_buckets(30, 128, true); }),
      "posenc: relative_buckets: buckets must be a multiple of 4, at most 65536 and not 0, got 30");
  EXPECT_EQ(message_of([] { relative_buckets(32, 16, false); }),
            "posenc: relative_buckets: max_distance must be above 16 and at most 2^24, got 16");
}

TEST(t5_bias, adds_the_weight_of_the_bucket_and_head) {
  relative_buckets const buckets(8, 20, false);
  std::vector<float> weights(8 * 3);
  std::iota(weights.begin(), weights.end(), 1.0f);
  t5_bias const bias(buckets, weights, 3);
  std::vector<std::int64_t> const keys{40, 39, 38, 10, 41};
  std::vector<double> scores(5, 0.5);
  posenc::adjust_scores(bias, score_row<double>{scores, 2, 40, keys, {}});
  for (std::size_t s = 0; s < keys.size(); ++s)
    EXPECT_EQ(scores[s], 0.5 + weights[buckets(40 - keys[s]) * 3 + 2]);
}

TEST(t5_bias, refuses_other_numbers_of_weights_heads_and_keys) {
  relative_buckets const buckets(8, 20, false);
  std::vector<float> weights(24);
  EXPECT_EQ(message_of([&] { t5_bias(buckets, weights, 2); }),
            "posenc: t5_bias: there must be one weight for each of 8 buckets and 2 heads, got 24");
  EXPECT_EQ(message_of([&] { t5_bias(buckets, weights, 0); }),
            "posenc: t5_bias: there must be one weight for each of 8 buckets and 0 heads, got 24");
  t5_bias const bias(buckets, weights, 3);
  std::vector<float> scores(2);
  std::vector<std::int64_t> const keys{0, 1, 2};
  EXPECT_EQ(message_of([&] {
              posenc::adjust_scores(
                  bias, score_row<float>{scores, 3, 0, positions_view(keys).first(2), {}});
            }),
            "posenc: adjust_scores: the head must be below 3, got 3");
  EXPECT_EQ(
      message_of([&] {
        posenc::adjust_scores(bias, score_row<float>{scores, 0, 0, keys, {}});
      }),
      "posenc: adjust_scores: there must be one position per key, got 3 positions for 2 keys");
  weights[3] = float_of_bits(0x7fc00000);
  EXPECT_EQ(message_of([&] { t5_bias(buckets, weights, 3); }),
            "posenc: t5_bias: weights must be finite, got NaN");
}

TEST(t5_bias, obeys_the_laws_of_its_site) {
  auto const table = numbers::random<float>(64, 8);
  laws::obey("bidirectional", t5_bias(relative_buckets(32, 128, true), table, 2), 2,
             laws::of_distance | laws::added);
  laws::obey("causal", t5_bias(relative_buckets(32, 128, false), table, 2), 2,
             laws::of_distance | laws::added);
}

struct known {
  std::int64_t distance, bucket;
};

// make_log_bucket_position of modeling_deberta_v2.py in 60 digits, for position_buckets 256 and
// max_relative_positions 512, DeBERTa V3's.
TEST(deberta_buckets, has_the_known_buckets) {
  deberta_buckets const rows(256, 512);
  EXPECT_EQ(rows.count(), 512u);
  for (auto const& [distance, bucket] :
       {known{0, 0}, known{1, 1}, known{127, 127}, known{128, 128}, known{129, 129},
        known{130, 130}, known{200, 169}, known{256, 192}, known{300, 207}, known{400, 233},
        known{510, 255}, known{511, 255}}) {
    EXPECT_EQ(rows(distance), static_cast<std::size_t>(256 + bucket)) << distance;
    EXPECT_EQ(rows(-distance), static_cast<std::size_t>(256 - bucket)) << -distance;
  }
}

// 4 * 10^3 + 1 and 6 * 3^5 + 1: each power ends a bucket, where double logarithms are beyond it.
TEST(deberta_buckets, end_at_whole_powers) {
  deberta_buckets const tens(8, 4001), threes(12, 1459);
  EXPECT_EQ(tens(40), 8u + 4 + 1);
  EXPECT_EQ(tens(400), 8u + 4 + 2);
  EXPECT_EQ(threes(18), 12u + 6 + 1);
  EXPECT_EQ(threes(54), 12u + 6 + 2);
  EXPECT_EQ(threes(486), 12u + 6 + 4);
}

TEST(deberta_buckets, clips_to_its_table) {
  deberta_buckets const rows(256, 512);
  auto const most = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t const distance : {std::int64_t{512}, std::int64_t{100'000}, most}) {
    EXPECT_EQ(rows(distance), 511u);
    EXPECT_EQ(rows(-distance), 0u);
  }
  EXPECT_EQ(rows(std::numeric_limits<std::int64_t>::min()), 0u);
}

// The least k with (m - 1) ln(d / m) <= k ln((max - 1) / m), in logarithms of wide numbers.
std::int64_t oracle_bucket(std::size_t buckets, std::size_t max_position, std::size_t d) {
  auto const m = buckets / 2;
  if (d <= m) return static_cast<std::int64_t>(d);
  auto const of_half = [&](std::size_t x) {
    return oracle::log(static_cast<oracle::wide>(x) / static_cast<oracle::wide>(m));
  };
  auto const of_d = static_cast<oracle::wide>(m - 1) * of_half(d),
             of_step = of_half(max_position - 1);
  std::size_t k = 0;
  while (of_d > static_cast<oracle::wide>(k) * of_step + 1e-12L) ++k;
  return static_cast<std::int64_t>(m + k);
}

TEST(deberta_buckets, follows_its_formula) {
  for (std::size_t const buckets : {4u, 8u, 32u, 256u}) {
    for (std::size_t const max_position : {132u, 512u, 4097u}) {
      deberta_buckets const rows(buckets, max_position);
      for (std::size_t d = 0; d < max_position; ++d) {
        auto const bucket = oracle_bucket(buckets, max_position, d);
        auto const distance = static_cast<std::int64_t>(d);
        auto const zero = static_cast<std::int64_t>(buckets);
        ASSERT_EQ(rows(distance), static_cast<std::size_t>(zero + bucket)) << d;
        ASSERT_EQ(rows(-distance), static_cast<std::size_t>(zero - bucket)) << d;
      }
    }
  }
}

TEST(deberta_buckets, refuses_sizes_without_steps) {
  std::string const must =
      "posenc: deberta_buckets: buckets must be even and from 4 to 65536, got ";
  EXPECT_EQ(message_of([] { deberta_buckets(7, 512); }), must + "7");
  EXPECT_EQ(message_of([] { deberta_buckets(2, 512); }), must + "2");
  EXPECT_EQ(message_of([] { deberta_buckets(65'538, 1 << 20); }), must + "65538");
  EXPECT_EQ(message_of([] { deberta_buckets(256, 129); }),
            "posenc: deberta_buckets: max_position must be above 129 and at most 2^24, got 129");
  EXPECT_EQ(message_of([] { deberta_buckets(256, (1 << 24) + 1); }),
            "posenc: deberta_buckets: max_position must be above 129 and at most 2^24, got "
            "16777217");
}

/// weights[r][h] = 100 r + h.
std::vector<float> numbered(std::size_t max_distance, std::size_t heads) {
  std::vector<float> weights;
  for (std::size_t r = 0; r <= 2 * max_distance; ++r)
    for (std::size_t h = 0; h < heads; ++h) weights.push_back(static_cast<float>(100 * r + h));
  return weights;
}

TEST(learned_relative, adds_the_weight_of_the_clipped_distance_and_head) {
  numbers::in_float_and_double([]<class T>() {
    for (std::size_t const k : {0u, 1u, 4u}) {
      learned_relative const encoding(numbered(k, 3), 3, k);
      EXPECT_EQ(encoding.heads(), 3u);
      EXPECT_EQ(encoding.max_distance(), k);
      auto const most = static_cast<std::int64_t>(k);
      for (std::int64_t const query : {0, 40, -1'000'000}) {
        for (std::int64_t difference = -9; difference <= 9; ++difference) {  // query - key
          auto const clipped = difference < -most ? -most : difference > most ? most : difference;
          for (std::size_t head = 0; head < 3; ++head) {
            auto const actual = rows::adjusted(encoding, std::vector<T>{T(0.5)}, head, query,
                                               {query - difference})[0];
            EXPECT_EQ(actual,
                      static_cast<T>(100 * (clipped + most)) + static_cast<T>(head) + T(0.5))
                << difference << " of " << k;
          }
        }
      }
    }
  });
}

TEST(learned_relative, the_farthest_keys_take_the_last_rows) {
  learned_relative const encoding(numbered(2, 1), 1, 2);
  EXPECT_EQ(rows::bias(encoding, 0, rows::last, rows::first), 400);
  EXPECT_EQ(rows::bias(encoding, 0, rows::first, rows::last), 0);
}

TEST(learned_relative, other_numbers_of_weights_are_refused) {
  EXPECT_EQ(message_of([] { learned_relative(numbered(2, 3), 2, 2); }),
            "posenc: learned_relative: there must be one weight for each of 5 distances and 2 "
            "heads, got 15");
  EXPECT_EQ(message_of([] { learned_relative(numbered(2, 3), 3, 3); }),
            "posenc: learned_relative: there must be one weight for each of 7 distances and 3 "
            "heads, got 15");
  EXPECT_EQ(message_of([] { learned_relative(std::vector<float>(16), 3, 2); }),
            "posenc: learned_relative: there must be one weight for each of 5 distances and 3 "
            "heads, got 16");
  EXPECT_EQ(message_of([] { learned_relative({}, 0, 0); }),
            "posenc: learned_relative: there must be one weight for each of 1 distances and 0 "
            "heads, got 0");
  EXPECT_EQ(message_of([] { learned_relative({}, 1, 16'777'217); }),
            "posenc: learned_relative: max_distance must be at most 2^24, got 16777217");
  auto weights = numbered(2, 3);
  weights[7] = static_cast<float>(infinity());
  EXPECT_EQ(message_of([&] { learned_relative(weights, 3, 2); }),
            "posenc: learned_relative: weights must be finite, got infinity in row 2");
}

TEST(learned_relative, rows_of_other_heads_or_keys_are_refused) {
  rows::of_other_heads_or_keys_are_refused("adjust_scores", learned_relative(numbered(2, 3), 3, 2),
                                           3);
}

TEST(learned_relative, obeys_the_laws_of_its_site) {
  laws::obey("3 heads", learned_relative(numbers::random<float>(39, 8), 3, 6), 3,
             laws::of_distance | laws::added);
}

}  // namespace
