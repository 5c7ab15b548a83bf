#include "posenc/score/sandwich.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "laws/score_laws.hpp"
#include "numbers.hpp"
#include "oracle/fixed_point.hpp"
#include "oracle/score_biases.hpp"
#include "posenc/frequency/geometric.hpp"
#include "score/rows.hpp"

namespace {

using namespace posenc;

/// Each cosine as promised, of a phase that is off as often as its two parts; a sum of numbers of
/// at most 2; the quotient by a rounded one.
double tolerance_of(double bias, std::size_t pairs, double distance, double compression) {
  auto const n = static_cast<double>(pairs);
  auto const sum = n * (2.5e-16 + 2 * tolerance::of_phase(distance)) +
                   tolerance::of_dot_product<double>(pairs, 2 * n);
  return sum / compression + 3 * tolerance::unit_roundoff<double>() * std::abs(bias);
}

TEST(sandwich, adds_the_inner_product_of_sinusoidal_embeddings_over_the_head_s_compression_ratio) {
  for (std::size_t const dims : {128u, 2u, 6u}) {
    auto const inv_freq = oracle::sandwich_frequencies(dims);
    for (std::size_t const heads : {12u, 1u, 5u}) {
      sandwich const encoding(heads, dims);
      EXPECT_EQ(encoding.heads(), heads);
      EXPECT_EQ(encoding.dims(), dims);
      numbers::in_float_and_double([&]<class T>() {
        auto const scores = numbers::random<T>(rows::keys.size());
        for (std::size_t head = 0; head < heads; ++head) {
          auto const actual = rows::adjusted(encoding, scores, head, 40, rows::keys);
          auto const compression = 8 * static_cast<double>(head + 1) / static_cast<double>(heads);
          for (std::size_t s = 0; s < scores.size(); ++s) {
            auto const distance = oracle::distance_between(40, rows::keys[s]);
            auto const bias =
                static_cast<double>(oracle::sandwich_bias(inv_freq, head, heads, distance));
            auto of_bias = tolerance_of(bias, dims / 2, static_cast<double>(distance), compression);
            for (auto const f : inv_freq)
              of_bias +=
                  tolerance::of_angle(static_cast<double>(distance), static_cast<double>(f)) /
                  compression;
            auto const expected = static_cast<double>(scores[s]) + bias;
            EXPECT_NEAR(static_cast<double>(actual[s]), expected,
                        rows::tolerance_of_sum<T>(expected, bias, of_bias))
                << "head " << head << " of " << heads << ", key " << rows::keys[s];
          }
        }
      });
    }
  }
}

TEST(sandwich, is_128_dims_wide_unless_said_otherwise) { EXPECT_EQ(sandwich(12).dims(), 128u); }

/// Against the formula in integers: positions of any size lose nothing.
TEST(sandwich, angles_are_exact_at_any_distance) {
  using oracle::fixed_point;
  auto const logarithm = oracle::log(fixed_point(1e4));
  auto const cos_sin_at =
      [](std::int64_t n,
         fixed_point const& f) {  // of twice the half, which fits, and of what is odd
        auto const [c, s] = oracle::cos_sin(fixed_point::whole(n / 2) * f);
        auto const [odd_c, odd_s] = oracle::cos_sin(fixed_point::whole(n % 2) * f);
        auto const twice_c = c * c - s * s, twice_s = s * c + s * c;
        return std::pair(twice_c * odd_c - twice_s * odd_s, twice_s * odd_c + twice_c * odd_s);
      };
  std::vector<fixed_point> frequencies;
  for (std::int64_t i = 0; i < 64; ++i)
    frequencies.push_back(oracle::exp(-(logarithm * fixed_point::whole(i) / 64)));
  auto const all_at = [&](std::int64_t n) {
    std::vector<std::pair<fixed_point, fixed_point>> result;
    for (auto const& f : frequencies) result.push_back(cos_sin_at(n, f));
    return result;
  };
  std::map<std::int64_t, std::vector<std::pair<fixed_point, fixed_point>>> at_query;
  for (std::int64_t const key : {std::int64_t{1'000'000}, std::int64_t{1} << 40,
                                 std::int64_t{1} << 52, rows::last / 2, rows::last}) {
    auto const at_key = all_at(key);
    for (std::int64_t const query :
         {std::int64_t{0}, std::int64_t{-1}, rows::first / 2 + 7, rows::first}) {
      auto& of_query = at_query[query];
      if (of_query.empty()) of_query = all_at(query);
      fixed_point sum;
      for (std::size_t i = 0; i < 64; ++i)
        sum = sum + at_key[i].first * of_query[i].first + at_key[i].second * of_query[i].second -
              fixed_point::whole(1);
      auto const expected = sum.number();
      auto const tolerance =
          tolerance_of(expected, 64, static_cast<double>(oracle::distance_between(query, key)), 1);
      EXPECT_NEAR(rows::bias(sandwich(8), 0, query, key), expected, tolerance)
          << key << " to " << query;
      EXPECT_EQ(rows::bias(sandwich(8), 0, key, query), rows::bias(sandwich(8), 0, query, key));
    }
  }
}

/// With dims = 2 there is one frequency, 1: (cos r - 1) / (8 (h + 1) / heads). And a port that
/// multiplies by the ratio.
TEST(sandwich, the_first_head_has_the_strongest_bias) {
  sandwich const encoding(4, 2);
  for (std::size_t head = 0; head < 4; ++head) {
    auto const ratio = 2 * static_cast<double>(head + 1), expected = (std::cos(3.0) - 1) / ratio;
    EXPECT_NEAR(rows::bias(encoding, head, 3, 0), expected, tolerance_of(expected, 1, 3, ratio))
        << head;
  }
}

TEST(sandwich, no_key_is_favoured_over_the_query_s_own_position) {
  sandwich const encoding(12);
  for (std::int64_t distance = 1; distance < 5000; ++distance)
    EXPECT_LT(rows::bias(encoding, 11, 0, -distance), 0) << distance;
  EXPECT_EQ(rows::bias(encoding, 11, 7, 7), 0);
}

TEST(sandwich, bad_settings_are_rejected) {
  EXPECT_EQ(message_of([] { sandwich(0); }),
            "posenc: sandwich: heads must be in [1, 65536], got 0");
  EXPECT_EQ(message_of([] { sandwich(65'537); }),
            "posenc: sandwich: heads must be in [1, 65536], got 65537");
  EXPECT_EQ(message_of([] { sandwich(1, 0); }),
            "posenc: sandwich: dims must be even, positive and at most 2^24, got 0");
  EXPECT_EQ(message_of([] { sandwich(1, 3); }),
            "posenc: sandwich: dims must be even, positive and at most 2^24, got 3");
  EXPECT_EQ(message_of([] { sandwich(1, 16'777'218); }),
            "posenc: sandwich: dims must be even, positive and at most 2^24, got 16777218");
}

TEST(sandwich, rows_of_other_heads_or_keys_are_refused) {
  rows::of_other_heads_or_keys_are_refused("adjust_scores", sandwich(3), 3);
}

TEST(sandwich, obeys_the_laws_of_its_site) {
  laws::obey("3 heads", sandwich(3), 3, laws::of_distance | laws::none_at_zero | laws::added);
}

}  // namespace
