#include "posenc/softmax/softmax_gradient.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/softmax.hpp"
#include "posenc/softmax/softmax.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

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
