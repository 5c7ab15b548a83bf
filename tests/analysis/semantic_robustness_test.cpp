#include "posenc/analysis/semantic_robustness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "golden/wavelengths.hpp"
#include "non_numbers.hpp"
#include "oracle/angle.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/query_key/rope.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(semantic_robustness, slowest_pairs_flip_at_the_known_distances) {
  for (auto const& [head_dim, base, inv_freq, wavelength, zero_crossing, minimum] :
       golden::slowest_pairs) {
    auto const found = geometric(head_dim, base).inv_freq().back();
    EXPECT_NEAR(distance_of_cosine(found, 0), zero_crossing, 1e-12 * zero_crossing);
    EXPECT_NEAR(distance_of_cosine(found, -1), minimum, 1e-12 * minimum);
    EXPECT_EQ(distance_of_cosine(found, 1), 0);
  }
  // head_dim 256, base 1e4; rounded to tokens
  auto const slowest = geometric(256, 1e4).inv_freq().back();
  EXPECT_NEAR(distance_of_cosine(slowest, 0.99), 1317, 0.5);
  EXPECT_NEAR(distance_of_cosine(slowest, 0.9), 4197, 0.5);
  EXPECT_NEAR(distance_of_cosine(slowest, 0), 14617, 0.5);
  EXPECT_NEAR(distance_of_cosine(slowest, -1), 29235, 0.5);
  EXPECT_FALSE(is_finite(distance_of_cosine(0, 0.9)));
  EXPECT_EQ(distance_of_cosine(0, 1), 0);
}

TEST(semantic_robustness, slowest_pairs_turn_by_the_known_angles) {
  auto const last = [](frequencies const& f, std::size_t distance) {
    return semantic_robustness(f, distance + 1).lowest_cosines.back();
  };
  auto const expect = [&](frequencies const& f, std::size_t distance, double angle) {
    EXPECT_NEAR(last(f, distance), std::cos(angle), 5e-11);
  };
  expect(geometric(128, 1e4), 8192, 0.9459974019);
  expect(geometric(128, 5e5), 131072, 0.3218002138);
  expect(geometric(128, 1e6), 131072, 0.1626521942);
  expect(
      llama3(geometric(128, 5e5),
             {.factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_length = 8192}),
      131072, 0.04022502672);
  EXPECT_EQ(last(geometric(128, 1e4), 131072), -1) << "15.1 radians";
}

TEST(semantic_robustness, the_lowest_cosine_is_that_of_all_distances) {
  auto const f = truncated(geometric(64, 1e4), 0.9);
  constexpr std::size_t length = 3000;
  auto const found = semantic_robustness(f, length);
  ASSERT_EQ(found.lowest_cosines.size(), 32u);
  for (std::size_t i = 0; i < 32; ++i) {
    auto const inv_freq = f.inv_freq()[i];
    double lowest = 1;
    for (std::size_t r = 0; r < length; ++r)
      lowest = std::min(lowest, static_cast<double>(oracle::direction_at(r, inv_freq).cos));
    EXPECT_LE(found.lowest_cosines[i], lowest + 1e-15) << i;
    // Beyond pi, the nearest whole distance is within half a step of it.
    auto const whole = inv_freq * (length - 1) < 3.1 ? 1e-12 : 1 - std::cos(inv_freq / 2) + 1e-12;
    EXPECT_GE(found.lowest_cosines[i], lowest - whole) << i;
  }
}

TEST(semantic_robustness, counts_pairs_that_keep_the_cosine) {
  frequencies const f({1, 0.1, 0.01, 0.001, 0});
  EXPECT_EQ(semantic_robustness(f, 1).robust, 5u) << "of distance 0 alone";
  EXPECT_EQ(semantic_robustness(f, 101).robust, 2u) << "cos(0.1) = 0.995, cos(1) = 0.54";
  EXPECT_EQ(semantic_robustness(f, 101, 0.5).robust, 3u);
  EXPECT_EQ(semantic_robustness(f, 1'000'000).robust, 1u) << "no pair that rotates";
  EXPECT_EQ(semantic_robustness(f, 1'000'000, -1).robust, 5u);
}

/// Whether, in attention of a context, a query of one pair gives the wanted token, wherever it is,
/// more weight than any other; all others are `likeness` times as much like the query.
bool picks_the_wanted_token(frequencies const& f, std::size_t length, double likeness) {
  rope<halves> const encoding(f);
  std::vector<double> const q{6, 0};
  heads_view<double const> const query(q.data(), {1, 1, 2});
  for (std::size_t wanted = 0; wanted < length; ++wanted) {
    std::vector<double> k(2 * length);
    for (std::size_t s = 0; s < length; ++s) k[2 * s] = s == wanted ? 6 : 6 * likeness;
    heads_view<double const> const keys(k.data(), {length, 1, 2});
    auto const weights = attention(query, keys, keys, encoding, {.keep_weights = true}).weights;
    for (std::size_t s = 0; s < length; ++s)
      if (s != wanted && weights[s] >= weights[wanted]) return false;
  }
  return true;
}

TEST(semantic_robustness, a_slow_pair_picks_a_wrong_token_from_the_known_length_on) {
  for (double const inv_freq : {1.0, 0.3, 0.05, 0.02}) {
    for (double const likeness : {-1.0, -0.9, -0.3, 0.0, 0.2, 0.7, 0.95}) {
      auto const length = static_cast<std::size_t>(length_of_wrong_token(inv_freq, likeness));
      frequencies const f({inv_freq});
      for (std::size_t n = length > 12 ? length - 10 : 2; n < length; ++n)
        EXPECT_TRUE(picks_the_wanted_token(f, n, likeness)) << inv_freq << " " << likeness << n;
      EXPECT_FALSE(picks_the_wanted_token(f, length, likeness)) << inv_freq << " " << likeness;
    }
  }
  EXPECT_FALSE(is_finite(length_of_wrong_token(0, -1)));
  EXPECT_TRUE(picks_the_wanted_token(frequencies({0}), 500, -1));
  // In Python: pi / (2 f) + 1/2 = 13603.04 and arccos(0.9) / f = 3905.73 are passed at the next
  // whole distance, and the context has distance 0 as well.
  EXPECT_EQ(length_of_wrong_token(geometric(128, 1e4).inv_freq().back(), -1), 13605);
  EXPECT_EQ(length_of_wrong_token(geometric(128, 1e4).inv_freq().back(), 0.9), 3907);
}

TEST(semantic_robustness, bad_input_is_rejected) {
  EXPECT_EQ(message_of([] { semantic_robustness(geometric(4, 10), 0); }),
            "posenc: semantic_robustness: length must be positive, got 0");
  EXPECT_EQ(message_of([] { semantic_robustness(geometric(4, 10), 9, 1.5); }),
            "posenc: semantic_robustness: cosine must be in [-1, 1], got 1.5");
  EXPECT_EQ(message_of([] { distance_of_cosine(1, not_a_number()); }),
            "posenc: distance_of_cosine: cosine must be in [-1, 1], got NaN");
  EXPECT_EQ(message_of([] { length_of_wrong_token(1.5, 0); }),
            "posenc: length_of_wrong_token: inv_freq must be in [0, 1], got 1.5");
  EXPECT_EQ(message_of([] { length_of_wrong_token(0.5, 1); }),
            "posenc: length_of_wrong_token: likeness must be in [-1, 1), got 1");
  EXPECT_EQ(message_of([] { distance_of_cosine(-1, 0); }),
            "posenc: distance_of_cosine: inv_freq must be finite and at least 0, got -1");
  EXPECT_EQ(message_of([] { distance_of_cosine(infinity(), 0); }),
            "posenc: distance_of_cosine: inv_freq must be finite and at least 0, got infinity");
}

}  // namespace
