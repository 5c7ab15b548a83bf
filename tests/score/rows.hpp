#pragma once

/// Rows of scores for the tests of this folder: what an encoding makes of one, and which ones it
/// refuses.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "guarded_buffer.hpp"
#include "numbers.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/encoding/sites.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace rows {

/// Numbers that end where memory ends, if that can be had: who reads or writes beyond them stops
/// the program. One object for each array of a call.
class at_the_end_of_memory {
 public:
  /// A copy of the numbers, valid until the next call; or themselves.
  template <class T>
  std::span<T> put(std::vector<T>& numbers) {
#if defined(__linux__)
    if (memory_.holds(numbers.size() * sizeof(T)))
      return {memory_.put(guarded_buffer::location::below_guard, numbers), numbers.size()};
#endif
    return numbers;
  }

 private:
#if defined(__linux__)
  guarded_buffer memory_;
#endif
};

template <class T, posenc::acts_on_scores E>
std::vector<T> adjusted(E const& encoding, std::vector<T> scores, std::size_t head,
                        std::int64_t query_position, std::vector<std::int64_t> key_positions,
                        std::type_identity_t<std::vector<T>> query = {}) {
  thread_local at_the_end_of_memory of_scores, of_keys, of_query;
  std::span const row = of_scores.put(scores);
  posenc::adjust_scores(encoding,
                        posenc::score_row<T>{row, head, query_position, of_keys.put(key_positions),
                                             of_query.put(query)});
  return {row.begin(), row.end()};
}

/// What is added to a score of 0.
template <posenc::acts_on_scores E>
double bias(E const& encoding, std::size_t head, std::int64_t query_position,
            std::int64_t key_position) {
  return adjusted(encoding, std::vector<double>{0}, head, query_position, {key_position})[0];
}

/// Near, far, on both sides and in no order, with gaps, and one that is there twice.
inline std::vector<std::int64_t> const keys{0, 1, 2, 40, -7, 1'000'000, 39, 41, 40, -3'000'000'000};

/// As far from each other as a distance reaches, 2^63 - 1.
inline constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min() / 2,
                              last = std::numeric_limits<std::int64_t>::max() / 2;

/// score + bias in double, stored as T, where the bias is off by of_bias.
template <class T>
double tolerance_of_sum(double expected, double bias, double of_bias) {
  auto const arithmetic =
      of_bias + (std::abs(bias) + std::abs(expected)) * tolerance::unit_roundoff<double>();
  return arithmetic + tolerance::of_storing<T>(std::abs(expected) + arithmetic);
}

/// Sums of a score and a bias that were made in two ways: the same bits. But a compiler may fuse
/// the bias's last product with the sum (FMA) and divide by a reciprocal (-ffast-math): then one of
/// them lacks a rounding or two of the bias.
template <class T>
void expect_same_sums(std::vector<T> const& actual, std::vector<T> const& expected,
                      std::vector<T> const& scores) {
#if defined(__FP_FAST_FMA) || defined(__FMA__) || defined(__FAST_MATH__)
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t s = 0; s < actual.size(); ++s) {
    auto const sum = static_cast<double>(expected[s]);
    auto const of_bias =
        2 * std::abs(sum - static_cast<double>(scores[s])) * tolerance::unit_roundoff<double>();
    EXPECT_NEAR(static_cast<double>(actual[s]), sum, of_bias + 2 * tolerance::of_storing<T>(sum));
  }
#else
  EXPECT_TRUE(numbers::same_bits(actual, expected)) << "of " << scores.size() << " scores";
#endif
}

/// An encoding of so many heads refuses another head, and keys without positions, and changes
/// nothing then.
template <posenc::acts_on_scores E>
void of_other_heads_or_keys_are_refused(std::string const& name, E const& encoding,
                                        std::size_t heads) {
  std::vector<std::int64_t> const positions{0, 1, 2};
  auto const before = numbers::random<float>(3);
  auto scores = before;
  auto const rejected = [&](std::size_t head, std::size_t count) {
    return message_of([&] {
      posenc::adjust_scores(
          encoding, posenc::score_row<float>{
                        scores, head, 2, posenc::positions_view(positions).first(count), {}});
    });
  };
  auto const n = std::to_string(heads);
  EXPECT_EQ(rejected(heads, 3), "posenc: " + name + ": the head must be below " + n + ", got " + n);
  EXPECT_EQ(rejected(0, 2),
            "posenc: " + name + ": there must be one position per key, got 2 positions for 3 keys");
  EXPECT_EQ(rejected(0, 0),
            "posenc: " + name + ": there must be one position per key, got 0 positions for 3 keys");
  EXPECT_TRUE(numbers::same_bits(scores, before));
}

}  // namespace rows
