#pragma once

/// Results of attention that come in two ways: the same bits, or under -ffast-math, which may
/// reorder the sums of either way, numbers that are close.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "numbers.hpp"
#include "posenc/attention/detail/block_attention.hpp"
#include "tolerance.hpp"

/// Numbers of weighted sums of a few hundred numbers within [-1, 1].
template <class T>
void expect_same_numbers(char const* what, std::vector<T> const& actual,
                         std::vector<T> const& expected) {
#if defined(__FAST_MATH__)
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!posenc::is_finite(static_cast<double>(expected[i]))) continue;
    ASSERT_NEAR(actual[i], expected[i], tolerance::of_dot_product<float>(512, 4)) << what << i;
  }
#else
  EXPECT_TRUE(numbers::same_bits(actual, expected)) << what;
#endif
}

template <class T>
void expect_same_results(posenc::attention_result<T> const& actual,
                         posenc::attention_result<T> const& expected) {
  expect_same_numbers("outputs", actual.outputs, expected.outputs);
  expect_same_numbers("log_sum_exp", actual.log_sum_exp, expected.log_sum_exp);
  expect_same_numbers("scores", actual.scores, expected.scores);
  expect_same_numbers("weights", actual.weights, expected.weights);
}
