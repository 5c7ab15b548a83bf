#include "posenc/softmax/softmax.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "golden/adaptive_temperature.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/softmax.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

template <class T>
row_statistics seen(std::vector<T> const& scores) {
  return statistics(std::span<T const>(scores));
}

template <class T>
std::vector<T> weights_of(std::vector<T> scores, double inverse_temperature = 1) {
  softmax(std::span<T>(scores), inverse_temperature);
  return scores;
}

/// `keys` scores in [-scale, scale]; on request, every third is masked.
template <class T>
std::vector<T> some_scores(std::size_t keys, double scale, bool masked = false) {
  auto scores = numbers::random<T>(keys, keys);
  for (auto& x : scores) x = static_cast<T>(static_cast<double>(x) * scale);
  for (std::size_t s = 1; masked && s < keys; s += 3) scores[s] = masked_score<T>;
  return scores;
}

/// Calls test(scores) for rows of many lengths and scales, with and without masked keys.
template <class T, class Test>
void for_many_rows(Test const& test) {
  for (std::size_t const keys : {1u, 2u, 3u, 4u, 7u, 8u, 9u, 31u, 64u, 100u, 1000u}) {
    for (double const scale : {0.0, 0.1, 1.0, 10.0, 300.0}) {
      for (bool const masked : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << keys << " keys of scale " << scale << (masked ? ", some masked" : ""));
        test(some_scores<T>(keys, scale, masked));
      }
    }
  }
}

template <class T>
void expect_weights(std::vector<T> const& scores, double inverse_temperature) {
  auto const weights = weights_of(scores, inverse_temperature);
  auto const expected = oracle::softmax(numbers::exact(scores), inverse_temperature);
  auto const max = static_cast<double>(*std::ranges::max_element(scores));
  for (std::size_t s = 0; s < scores.size(); ++s) {
    if (is_masked(scores[s])) {
      EXPECT_EQ(weights[s], 0) << "key " << s;
      continue;
    }
    auto const exponent = inverse_temperature * (static_cast<double>(scores[s]) - max);
    EXPECT_NEAR(static_cast<double>(weights[s]), expected[s],
                tolerance::of_weight<T>(expected[s], exponent, scores.size()))
        << "key " << s;
  }
}

TEST(softmax, takes_rows_of_any_kind) {
  std::vector<float> const scores{1, -2, 3};
  auto expected = scores, in_vector = scores, with_rule = scores;
  std::array<float, 3> in_array{1, -2, 3};
  float in_c[] = {1, -2, 3};
  std::vector<float> memory;
  softmax(std::span(expected), 0.5);
  softmax(in_vector, statistics(scores), 0.5);
  softmax(in_array, 0.5);
  softmax(in_c, 0.5);
  softmax(with_rule, constant_temperature(0.5), memory);
  EXPECT_TRUE(numbers::same_bits(in_vector, expected));
  EXPECT_TRUE(std::ranges::equal(in_array, expected));
  EXPECT_TRUE(std::ranges::equal(in_c, expected));
  EXPECT_TRUE(numbers::same_bits(with_rule, expected));
}

TEST(softmax, weights_are_the_textbooks_at_any_temperature) {
  numbers::in_float_and_double([]<class T>() {
    for_many_rows<T>([](std::vector<T> const& scores) {
      for (double const beta : {1.0, 2.4213877066315243, 0.5, 0.0}) expect_weights(scores, beta);
    });
  });
}

TEST(softmax, statistics_of_one_pass_are_the_textbooks) {
  numbers::in_float_and_double([]<class T>() {
    for_many_rows<T>([](std::vector<T> const& scores) {
      auto const row = seen(scores);
      auto const weights = oracle::softmax(numbers::exact(scores));
      auto const entropy = oracle::entropy(weights);
      auto const best = std::ranges::max_element(scores);
      EXPECT_EQ(row.keys, static_cast<std::size_t>(
                              std::ranges::count_if(scores, [](T x) { return !is_masked(x); })));
      EXPECT_EQ(row.max, static_cast<double>(*best));
      EXPECT_NEAR(row.entropy, entropy, tolerance::of_entropy<T>(entropy, row.keys));
      // max - ln p of the best key. A relative error of Z is an absolute error of its logarithm.
      auto const log_sum_exp =
          row.max - std::log(weights[static_cast<std::size_t>(best - scores.begin())]);
      EXPECT_NEAR(row.log_sum_exp, log_sum_exp,
                  tolerance::of_entropy<T>(0, row.keys) +
                      4 * tolerance::unit_roundoff<double>() * std::abs(row.log_sum_exp));
    });
  });
}

TEST(softmax, statistics_do_not_depend_on_the_order_of_the_keys) {
  for (double const scale : {1.0, 50.0}) {
    auto scores = some_scores<double>(500, scale, true);
    auto const shuffled = seen(scores);
    std::ranges::sort(scores);  // the maximum is passed on at every key
    auto const rising = seen(scores);
    std::ranges::reverse(scores);
    auto const falling = seen(scores);
    for (auto const& row : {rising, falling}) {
      EXPECT_EQ(row.keys, shuffled.keys);
      EXPECT_EQ(row.max, shuffled.max);
      EXPECT_NEAR(row.entropy, shuffled.entropy,
                  2 * tolerance::of_entropy(shuffled.entropy, shuffled.keys));
      EXPECT_NEAR(row.log_sum_exp, shuffled.log_sum_exp,
                  2 * tolerance::of_entropy(0, shuffled.keys) * (1 + shuffled.log_sum_exp));
    }
  }
}

TEST(softmax, statistics_tell_whose_row_it_is) {
  std::vector<float> const scores{1, 2};
  auto const row = statistics(std::span(scores), 7, -123);
  EXPECT_EQ(row.head, 7u);
  EXPECT_EQ(row.query_position, -123);
}

TEST(softmax, entropies_and_weights_of_the_published_rows_are_the_published_ones) {
  for (auto const& [keys, logits, entropy, with_epsilon, beta, plain, adaptive] :
       golden::adaptive_examples) {
    std::vector<double> const scores(logits.begin(),
                                     logits.begin() + static_cast<std::ptrdiff_t>(keys));
    EXPECT_NEAR(seen(scores).entropy, entropy, tolerance::of_entropy(entropy, keys));
    EXPECT_NEAR(std::ranges::max(weights_of(scores)), plain,
                tolerance::of_weight<double>(plain, 0, keys));
    EXPECT_NEAR(std::ranges::max(weights_of(scores, beta)), adaptive,
                tolerance::of_weight<double>(adaptive, 0, keys));
  }
  std::vector<double> dispersed(1024);
  dispersed[5] = 3;
  EXPECT_NEAR(seen(dispersed).entropy, golden::adaptive_dispersed_entropy,
              tolerance::of_entropy(golden::adaptive_dispersed_entropy, 1024));
}

/// dH/dbeta = -beta Var_p(x). [Velickovic 2024, Proposition 3.2]
TEST(softmax, entropy_falls_with_the_inverse_temperature_at_the_published_slope) {
  constexpr double beta = 1.3;
  std::vector<double> const scores{1, 2, 3, 4};
  auto const p = weights_of(scores, beta);
  double mean = 0, squares = 0, tolerance = 0;
  for (std::size_t s = 0; s < p.size(); ++s) {
    mean += p[s] * scores[s], squares += p[s] * scores[s] * scores[s];
    tolerance += 3 * scores[s] * scores[s] * beta *
                 tolerance::of_weight<double>(p[s], beta * (scores[s] - 4), 4);
  }
  EXPECT_NEAR(-beta * (squares - mean * mean), golden::entropy_slope_1234, tolerance);
}

TEST(softmax, a_masked_key_weighs_nothing_and_takes_no_part) {
  numbers::in_float_and_double([]<class T>() {
    std::vector<T> const scores{T(0.5), masked_score<T>, 2, masked_score<T>, -1};
    auto const weights = weights_of(scores), others = weights_of(std::vector<T>{T(0.5), 2, -1});
    EXPECT_EQ(weights[1], 0);
    EXPECT_EQ(weights[3], 0);
    auto const near = [&](T actual, T expected) {
      auto const w = static_cast<double>(expected);
      EXPECT_NEAR(static_cast<double>(actual), w,
                  2 * tolerance::of_weight<T>(w, 3, 5));  // once each
    };
    near(weights[0], others[0]);
    near(weights[2], others[1]);
    near(weights[4], others[2]);
    EXPECT_EQ(seen(scores).keys, 3u);
    EXPECT_NEAR(seen(scores).entropy, seen(std::vector<T>{T(0.5), 2, -1}).entropy,
                2 * tolerance::of_entropy<T>(1, 3));
  });
}

TEST(softmax, where_every_key_is_masked_every_weight_is_0_and_so_are_the_statistics) {
  numbers::in_float_and_double([]<class T>() {
    for (std::size_t const keys : {0u, 1u, 8u, 9u}) {
      std::vector<T> const scores(keys, masked_score<T>);
      for (double const beta : {1.0, 2.0})
        EXPECT_TRUE(numbers::same_bits(weights_of(scores, beta), std::vector<T>(keys)));
      auto const row = seen(scores);
      EXPECT_EQ(row.keys, 0u);
      EXPECT_EQ(row.max, 0);
      EXPECT_EQ(row.log_sum_exp, 0);
      EXPECT_EQ(row.entropy, 0);
    }
  });
}

TEST(softmax, one_key_has_all_the_weight_and_no_entropy) {
  numbers::in_float_and_double([]<class T>() {
    for (T const score :
         {T(0), T(-7.5), T(1e30), T(-1e30), T(-2e38), std::numeric_limits<T>::lowest()}) {
      for (auto const& scores :
           {std::vector<T>{score}, std::vector<T>{masked_score<T>, score, masked_score<T>}}) {
        auto weights = weights_of(scores);
        EXPECT_EQ(std::ranges::max(weights), 1);
        EXPECT_EQ(seen(scores).keys, 1u);
        EXPECT_EQ(seen(scores).max, static_cast<double>(score));
        EXPECT_EQ(seen(scores).log_sum_exp, static_cast<double>(score));
        EXPECT_EQ(seen(scores).entropy, 0);
      }
    }
  });
}

TEST(softmax, huge_scores_neither_overflow_nor_count_as_masked) {
  numbers::in_float_and_double([]<class T>() {
    std::vector<T> scores{T(-1e30), T(1e30), T(-1e30), 0, T(1e30)};
    for (double const beta : {1.0, 2.5})
      EXPECT_EQ(weights_of(scores, beta), (std::vector<T>{0, T(0.5), 0, 0, T(0.5)}));
    auto const row = seen(scores);
    EXPECT_EQ(row.keys, 5u);
    EXPECT_EQ(row.max, static_cast<double>(T(1e30)));
    EXPECT_NEAR(row.entropy, std::log(2), tolerance::of_entropy<T>(std::log(2), 5));
    EXPECT_EQ(row.log_sum_exp, row.max);
    for (T const low : {T(-1e30), std::numeric_limits<T>::lowest()}) {
      for (auto& x : scores) x = low;
      EXPECT_EQ(weights_of(scores), std::vector<T>(5, T(1) / 5));
      EXPECT_EQ(weights_of(scores, 1e-320), std::vector<T>(5, T(1) / 5));
      EXPECT_EQ(seen(scores).keys, 5u);
    }
  });
}

/// Scores so large that a double log_sum_exp cannot hold what the sum adds.
TEST(softmax, huge_scores_beside_a_sink_share_what_there_is) {
  for (double const score : {1e20, 1e300, std::numeric_limits<double>::max()}) {
    for (double const sink : {no_sink, std::numeric_limits<double>::lowest(), 0.0, 1e19}) {
      std::vector<double> scores{score, score, 0};
      softmax(std::span(scores), seen(scores), 1, sink);
      EXPECT_EQ(scores, (std::vector<double>{0.5, 0.5, 0})) << score << ' ' << sink;
    }
  }
  std::vector<double> low{-1e20, -1e20};
  softmax(std::span(low), seen(low), 1, 0);
  EXPECT_EQ(low, (std::vector<double>{0, 0}));
}

TEST(softmax, a_sink_as_low_as_numbers_are_is_one) {
  constexpr auto lowest = std::numeric_limits<double>::lowest();
  std::vector<double> weights{lowest};
  softmax(std::span(weights), seen(weights), 1, lowest);
  EXPECT_EQ(weights[0], 0.5);
  weights[0] = lowest;
  softmax(std::span(weights), seen(weights), 1, no_sink);
  EXPECT_EQ(weights[0], 1);
}

TEST(softmax, a_long_row_of_equal_scores_is_even) {
  numbers::in_float_and_double([]<class T>() {
    constexpr std::size_t keys = 300'000;
    std::vector<T> const scores(keys, T(-12.5));
    for (auto const w : weights_of(scores)) ASSERT_EQ(w, static_cast<T>(1.0 / keys));
    EXPECT_NEAR(seen(scores).entropy, std::log(keys),
                tolerance::of_entropy<T>(std::log(keys), keys));
    EXPECT_NEAR(seen(scores).log_sum_exp, std::log(keys) - 12.5,
                tolerance::of_entropy<T>(std::log(keys), keys));
  });
}

TEST(softmax, a_constant_added_to_every_score_changes_nothing) {
  auto const scores = some_scores<double>(50, 3);
  auto shifted = scores;
  for (auto& x : shifted) x += 1024;
  auto const a = weights_of(scores), b = weights_of(shifted);
  for (std::size_t s = 0; s < a.size(); ++s)
    EXPECT_NEAR(b[s], a[s],
                2 * tolerance::of_weight<double>(a[s], 6, 50) +
                    tolerance::of_weight_by_scores(a[s], 1027 * 0x1p-53));
  EXPECT_NEAR(seen(shifted).entropy, seen(scores).entropy,
              2 * tolerance::of_entropy(seen(scores).entropy, 50) + 12 * 1027 * 0x1p-53);
}

/// SSMax multiplies scores by s ln n. A published port subtracts s ln n from each score instead,
/// which softmax cancels.
TEST(softmax, ssmax_as_a_shift_does_nothing_and_as_a_factor_sharpens) {
  constexpr double s_ln_n = 2.0;
  auto const scores = some_scores<double>(64, 3);
  auto shifted = scores;
  for (auto& x : shifted) x -= s_ln_n;
  auto const plain = std::ranges::max(weights_of(scores));
  EXPECT_NEAR(std::ranges::max(weights_of(shifted)), plain,
              2 * tolerance::of_weight<double>(plain, 6, 64) + 20 * 0x1p-53);
  EXPECT_GT(std::ranges::max(weights_of(scores, s_ln_n)), 1.5 * plain);
}

/// Below the smallest normal number of T.
TEST(softmax, at_a_small_inverse_temperature_is_the_textbooks) {
  auto const weights = weights_of<float>({3.3e38f, -3.3e38f, masked_score<float>, 0}, 1e-38);
  auto const sum = 1 + std::exp(-6.6) + std::exp(-3.3);
  EXPECT_NEAR(static_cast<double>(weights[0]), 1 / sum, 1e-6);
  EXPECT_NEAR(static_cast<double>(weights[1]), std::exp(-6.6) / sum, 1e-6);
  EXPECT_EQ(weights[2], 0);
  EXPECT_NEAR(static_cast<double>(weights[3]), std::exp(-3.3) / sum, 1e-6);
  EXPECT_EQ(weights_of<float>({3.3e38f, -3.3e38f, masked_score<float>}, 0),
            (std::vector<float>{0.5f, 0.5f, 0}));
  EXPECT_EQ(weights_of<double>({1.7e308, -1.7e308, masked_score<double>}, 0),
            (std::vector<double>{0.5, 0.5, 0}));
#if !defined(__FAST_MATH__)  // which may take subnormal numbers for 0
  EXPECT_NEAR(weights_of<double>({1.7e308, -1.7e308}, 1e-308)[1], 1 / (1 + std::exp(3.4)), 1e-14);
#endif
}

TEST(softmax, at_the_rule_of_a_sink_leaves_it_its_share) {
  std::vector<double> memory, even{0, 0}, two{0, std::log(2.0)};
  softmax(std::span(even), scheme{adaptive_temperature{}, softmax_off_by_one{}}, memory);
  EXPECT_NEAR(even[0], 1.0 / 3, 4 * 0x1p-53);
  EXPECT_NEAR(even[1], 1.0 / 3, 4 * 0x1p-53);
  softmax(std::span(two), scheme{constant_temperature(1), attention_sinks({0, std::log(5.0)})},
          memory, 1);
  EXPECT_NEAR(two[0], 1.0 / 8, 8 * 0x1p-53);
  EXPECT_NEAR(two[1], 2.0 / 8, 8 * 0x1p-53);
}

TEST(softmax, at_the_temperature_of_a_rule_is_softmax_at_that_temperature) {
  numbers::in_float_and_double([]<class T>() {
    std::vector<T> memory;
    for (std::size_t const keys : {1u, 7u, 40u, 600u}) {
      for (double const scale : {0.5, 6.0}) {  // some are sharpened, some are not
        for (bool const masked : {false, true}) {
          auto const scores = some_scores<T>(keys, scale, masked);
          auto of_rule = scores, of_beta = scores;
          auto const row = statistics(std::span<T const>(scores), 1, 2);
          softmax(std::span(of_rule), adaptive_temperature{}, memory, 1, 2);
          softmax(std::span(of_beta), row, adaptive_temperature{}.inverse_temperature(row));
#if defined(__FAST_MATH__)
          // Two ways, each within its error: of the entropy, which beta follows at most 3 times as
          // fast, and of the weights.
          auto const of_entropy = 2 * tolerance::of_entropy<T>(row.entropy, row.keys);
          for (std::size_t s = 0; s < keys; ++s) {
            auto const below = is_masked(scores[s]) ? 0 : row.max - static_cast<double>(scores[s]);
            auto const weight = static_cast<double>(of_beta[s]);
            EXPECT_NEAR(static_cast<double>(of_rule[s]), weight,
                        2 * tolerance::of_weight<T>(weight, 2.5 * below, keys) +
                            tolerance::of_weight_by_scores(weight, 3 * of_entropy * below));
          }
#else
          EXPECT_TRUE(numbers::same_bits(of_rule, of_beta)) << keys << " keys";
#endif
        }
      }
    }
  });
}

TEST(softmax, not_a_number_or_infinity_among_the_scores_makes_every_weight_not_a_number) {
#if defined(__FAST_MATH__)
  GTEST_SKIP() << "-ffast-math promises nothing for NaN";
#endif
  for (double const spoilt : {not_a_number(), infinity()}) {
    for (std::size_t const at : {0u, 2u, 5u}) {
      std::vector<double> scores{1, 2, masked_score<double>, 3, -1, 0};
      scores[at] = spoilt;
      for (auto const w : weights_of(scores)) EXPECT_FALSE(w <= 2 || w >= 2) << w;
    }
  }
}

TEST(softmax, the_masked_score_is_minus_infinity_and_no_other_is_masked) {
  numbers::in_float_and_double([]<class T>() {
    T const minus_infinity = static_cast<T>(-infinity()), masked = masked_score<T>;
    EXPECT_EQ(std::memcmp(&masked, &minus_infinity, sizeof(T)), 0);
    EXPECT_TRUE(is_masked(masked_score<T>));
    EXPECT_TRUE(is_masked(minus_infinity)) << "whoever says so";
    for (T const score : {std::numeric_limits<T>::lowest(), T(-2e38), T(-1e30), T(0), T(1e30),
                          std::numeric_limits<T>::max()})
      EXPECT_FALSE(is_masked(score)) << score;
  });
}

template <class T>
std::vector<T> pulled_back(std::vector<T> const& weights, std::vector<T> d, double beta = 1) {
  softmax_backward(std::span<T const>(weights), std::span(d), beta);
  return d;
}

/// dx_s = sum_j beta p_j ([j = s] - p_s) dp_j for the weights given, which may sum to less than 1.
/// Roundings: the mean, a dot product in double, to T; a difference, two products, and beta.
TEST(softmax_backward, is_the_jacobian_of_softmax) {
  numbers::in_float_and_double([]<class T>() {
    for (std::size_t const keys : {1u, 2u, 7u, 100u}) {
      for (double const beta : {1.0, 0.3, 2.5, 0.0}) {
        for (double const sink : {no_sink, 1.0}) {
          auto weights = numbers::random<T>(keys, 3);
          for (auto& x : weights) x *= 5;
          softmax(std::span(weights), statistics(std::span<T const>(weights)), beta, sink);
          auto const d_weights = numbers::random<T>(keys, 4);
          auto const actual = pulled_back(weights, d_weights, beta);
          auto const p = numbers::exact(weights), dp = numbers::exact(d_weights);
          for (std::size_t s = 0; s < keys; ++s) {
            oracle::wide expected = 0;
            double magnitude = std::abs(dp[s]);
            for (std::size_t j = 0; j < keys; ++j) {
              auto const jacobian = static_cast<oracle::wide>(p[j]) *
                                    ((j == s ? 1 : 0) - static_cast<oracle::wide>(p[s]));
              expected +=
                  static_cast<oracle::wide>(beta) * jacobian * static_cast<oracle::wide>(dp[j]);
              magnitude += std::abs(p[j] * dp[j]);
            }
            auto const roundings = 6 * tolerance::unit_roundoff<T>() +
                                   static_cast<double>(keys) * tolerance::unit_roundoff<double>();
            EXPECT_NEAR(static_cast<double>(actual[s]), static_cast<double>(expected),
                        beta * p[s] * magnitude * roundings)
                << s << " of " << keys << ", beta " << beta;
          }
        }
      }
    }
  });
}

/// Central differences of the oracle's softmax. The error of D(h) is h^2 / 6 times a third
/// derivative, so D(2h) - D(h) is three times that. Weights have an error of a few roundings, which
/// is divided by h.
TEST(softmax_backward, is_what_a_change_of_a_score_does) {
  std::vector<double> const x{0.3, -1.2, 2.0, 0.7, -0.4}, dp{1, -2, 0.5, 3, -0.25};
  for (double const beta : {1.0, 1.7}) {
    auto const loss = [&](std::size_t s, double step) {
      auto moved = x;
      moved[s] += step;
      auto const p = oracle::softmax(moved, beta);
      oracle::wide sum = 0;
      for (std::size_t j = 0; j < p.size(); ++j)
        sum += static_cast<oracle::wide>(p[j]) * static_cast<oracle::wide>(dp[j]);
      return sum;
    };
    auto const actual = pulled_back(oracle::softmax(x, beta), dp, beta);
    for (std::size_t s = 0; s < x.size(); ++s) {
      constexpr double h = 1e-4;
      auto const near = static_cast<double>((loss(s, h) - loss(s, -h)) / (2 * h));
      auto const far = static_cast<double>((loss(s, 2 * h) - loss(s, -2 * h)) / (4 * h));
      EXPECT_NEAR(actual[s], near,
                  std::abs(far - near) + 32 * tolerance::unit_roundoff<double>() / h)
          << s;
    }
  }
}

TEST(softmax_backward, of_equal_weights_is_the_distance_from_the_mean) {
  EXPECT_EQ(pulled_back<double>({0.25, 0.25, 0.25, 0.25}, {1, 2, 3, 6}),
            (std::vector<double>{-0.5, -0.25, 0, 0.75}));
  EXPECT_EQ(pulled_back<float>({0.5F, 0.5F}, {3, 3}, 7), (std::vector<float>{0, 0}));
  EXPECT_EQ(pulled_back<float>({1}, {5}), std::vector<float>{0});
  EXPECT_TRUE(pulled_back<float>({}, {}).empty());
}

TEST(softmax_backward, of_a_key_without_weight_is_0_whatever_its_gradient) {
  for (double const anything : {5.0, not_a_number(), infinity(), minus_infinity()}) {
    EXPECT_EQ(pulled_back<double>({0.5, 0, 0.5}, {1, anything, 3}),
              (std::vector<double>{-0.5, 0, 0.5}));
    EXPECT_EQ(pulled_back<double>({0, 0}, {anything, 1}), (std::vector<double>{0, 0}));
  }
}

TEST(softmax_backward, refuses_other_than_one_gradient_a_weight_and_leaves_them_alone) {
  std::vector<float> const weights{0.5F, 0.5F};
  std::vector<float> d{1, 2, 3};
  EXPECT_EQ(message_of([&] { softmax_backward(std::span(weights), std::span(d)); }),
            "posenc: softmax_backward: there must be one gradient for each of 2 weights, got 3");
  EXPECT_EQ(d, (std::vector<float>{1, 2, 3}));
}

}  // namespace
