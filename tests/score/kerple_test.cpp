#include "posenc/score/kerple.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/score_biases.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/t5_bias.hpp"
#include "score/rows.hpp"

namespace {

using namespace posenc;

struct learned_head {
  double p, a;  // of the authors' code
};
std::vector<learned_head> const learned{{1.3, 0.7}, {0.01, 0.01}, {2, 5}, {0.5, 0.03}};

template <class Head>
std::vector<Head> heads_of(std::vector<learned_head> const& numbers) {
  std::vector<Head> heads;
  for (auto const& [p, a] : numbers) heads.push_back({p, a});
  return heads;
}
kerple_log const log_kernel(heads_of<kerple_log_head>(learned));
kerple_power const power_kernel(heads_of<kerple_power_head>(learned));

/// A distance rounded and, for log1p, multiplied; the function within 4 ULP, of which a power tells
/// the distance's error p <= 2 times; the product.
double tolerance_of(double bias) {
  return 12 * tolerance::unit_roundoff<double>() * std::abs(bias);
}

template <class E, class Oracle>
void follows(E const& encoding, Oracle const& oracle) {
  numbers::in_float_and_double([&]<class T>() {
    auto const scores = numbers::random<T>(rows::keys.size());
    for (std::size_t head = 0; head < learned.size(); ++head) {
      auto const actual = rows::adjusted(encoding, scores, head, 40, rows::keys);
      for (std::size_t s = 0; s < scores.size(); ++s) {
        auto const bias = static_cast<double>(
            oracle(learned[head].p, learned[head].a, oracle::distance_between(40, rows::keys[s])));
        auto const expected = static_cast<double>(scores[s]) + bias;
        EXPECT_NEAR(static_cast<double>(actual[s]), expected,
                    rows::tolerance_of_sum<T>(expected, bias, tolerance_of(bias)))
            << "head " << head << ", key " << rows::keys[s];
      }
    }
  });
}

TEST(kerple_log, what_a_temporary_has_learned_can_be_read_in_a_loop) {
  std::vector<double> rates;
  for (auto const& head : kerple_log({{0.5, 0.25}, {0.5, 2}}).learned()) rates.push_back(head.rate);
  EXPECT_EQ(rates, (std::vector<double>{0.25, 2}));
}

TEST(kerple_log, falls_by_p_times_the_logarithm_of_1_and_a_distances) {
  follows(log_kernel, oracle::kerple_log_bias);
}

TEST(kerple_power, falls_by_a_times_the_distance_to_the_power_of_p) {
  follows(power_kernel, oracle::kerple_power_bias);
}

TEST(kerple_log, the_farthest_positions_are_2_to_the_63_apart) {
  auto const expected = static_cast<double>(oracle::kerple_log_bias(1, 1, 0x1p63L));
  EXPECT_NEAR(rows::bias(kerple_log({{.coefficient = 1, .rate = 1}}), 0, rows::last, rows::first),
              expected, tolerance_of(expected));
  EXPECT_NEAR(rows::bias(kerple_log({{.coefficient = 1, .rate = 1}}), 0, rows::first, rows::last),
              expected, tolerance_of(expected));
}

TEST(kerple_power, the_farthest_positions_are_2_to_the_63_apart) {
  EXPECT_NEAR(
      rows::bias(kerple_power({{.exponent = 2, .coefficient = 1}}), 0, rows::last, rows::first),
      -0x1p126, tolerance_of(0x1p126));
  EXPECT_NEAR(
      rows::bias(kerple_power({{.exponent = 0.5, .coefficient = 1}}), 0, rows::first, rows::last),
      -std::sqrt(0x1p63), tolerance_of(0x1p32));
}

TEST(kerple_power, is_alibi_where_the_exponent_is_1_and_the_coefficient_the_slope) {
  alibi const reference(8);
  std::vector<kerple_power_head> heads;
  for (auto const slope : reference.slopes())
    heads.push_back({.exponent = 1, .coefficient = slope});
  kerple_power const encoding(heads);
  for (std::size_t head = 1; head < 6; ++head) {  // of the last two, 0.01 is more than the slope
    for (std::int64_t const distance : {0, 1, 2, 50, 1'000'000}) {
      auto const expected = rows::bias(reference, head, 9, 9 - distance);
      EXPECT_NEAR(rows::bias(encoding, head, 9, 9 - distance), expected, tolerance_of(expected));
    }
  }
}

// The clamps of ParallelKerpleLog and ParallelKerplePower: eps = 1e-2 from below, and 2 from above
// for the power.
TEST(kerple, what_is_learned_is_clamped_as_published) {
  kerple_log const log({{.coefficient = -1, .rate = 0},
                        {.coefficient = 0.0099, .rate = 1e-300},
                        {.coefficient = 7, .rate = 9}});
  kerple_power const power({{.exponent = -1, .coefficient = 0},
                            {.exponent = 0.0099, .coefficient = 1e-300},
                            {.exponent = 7, .coefficient = 9}});
  for (std::size_t const head : {0u, 1u}) {
    EXPECT_EQ(log.learned()[head].coefficient, 0.01);
    EXPECT_EQ(log.learned()[head].rate, 0.01);
    EXPECT_EQ(power.learned()[head].exponent, 0.01);
    EXPECT_EQ(power.learned()[head].coefficient, 0.01);
  }
  EXPECT_EQ(log.learned()[2].coefficient, 7);
  EXPECT_EQ(log.learned()[2].rate, 9);
  EXPECT_EQ(power.learned()[2].exponent, 2);
  EXPECT_EQ(power.learned()[2].coefficient, 9);
  EXPECT_NEAR(rows::bias(power, 2, 0, -10), -900, tolerance_of(900));
}

TEST(kerple, bad_settings_are_rejected) {
  EXPECT_EQ(message_of([] { kerple_log({}); }),
            "posenc: kerple_log: there must be at least one head, got none");
  EXPECT_EQ(message_of([] { kerple_power({}); }),
            "posenc: kerple_power: there must be at least one head, got none");
  EXPECT_EQ(message_of([] {
              kerple_log({{1, 1}, {infinity(), 1}});
            }),
            "posenc: kerple_log: coefficient must be finite, got infinity for head 1");
  EXPECT_EQ(message_of([] {
              kerple_log({{1, 1}, {1, not_a_number()}});
            }),
            "posenc: kerple_log: rate must be finite, got NaN for head 1");
  EXPECT_EQ(message_of([] {
              kerple_power({{1, 1}, {not_a_number(), 1}});
            }),
            "posenc: kerple_power: exponent must be finite, got NaN for head 1");
  EXPECT_EQ(message_of([] {
              kerple_power({{1, 1}, {1, minus_infinity()}});
            }),
            "posenc: kerple_power: coefficient must be finite, got -infinity for head 1");
}

TEST(kerple, rows_of_other_heads_or_keys_are_refused) {
  rows::of_other_heads_or_keys_are_refused("adjust_scores", log_kernel, 4);
  rows::of_other_heads_or_keys_are_refused("adjust_scores", power_kernel, 4);
}

TEST(kerple, obeys_the_laws_of_its_site) {
  laws::obey("logarithmic", kerple_log({{1.3, 0.7}, {0, 0}}), 2, laws::distance_penalty);
  laws::obey("power", kerple_power({{0.4, 0.7}, {2, 3}, {0, 0}}), 3, laws::distance_penalty);
  laws::obey("beside another",  // rounded twice
             scheme(kerple_log({{.coefficient = 1, .rate = 1}}),
                    learned_relative(numbers::random<float>(3, 8), 1, 1)),
             1, laws::of_distance);
}

}  // namespace
