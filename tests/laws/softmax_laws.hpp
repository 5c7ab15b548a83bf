#pragma once

/// Site 4: the laws of every encoding that returns an inverse temperature for a row, or a sink for
/// a head. The test of an encoding says in one line which it obeys:
///
///     laws::obey("trained with 1024 tokens", log_n(1024), laws::never_flattens);

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "numbers.hpp"
#include "oracle/softmax.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "posenc/softmax/softmax.hpp"
#include "tolerance.hpp"

namespace laws {

/// Rows of every kind: uniform, uneven, dominated by one key, tied, short, long, partly masked.
template <class T>
std::vector<std::vector<T>> rows_of_scores() {
  std::vector<std::vector<T>> rows;
  for (std::size_t const keys : {1u, 2u, 3u, 8u, 50u, 381u, 382u, 3000u}) {
    rows.emplace_back(keys, T(-3));
    rows.emplace_back(keys, T(0)).front() = 5;
    for (T const scale : {T(0.1), T(3), T(20), T(1000)}) {
      auto& row = rows.emplace_back(numbers::random<T>(keys, keys));
      for (auto& x : row) x *= scale;
      auto& masked = rows.emplace_back(row);
      for (std::size_t s = 1; s < keys; s += 3) masked[s] = posenc::masked_score<T>;
    }
  }
  return rows;
}

/// For any entropy that a row of that many keys can have.
template <posenc::acts_on_softmax E>
void inverse_temperature_is_positive_and_finite(E const& encoding) {
  for (std::size_t const keys : {0u, 1u, 2u, 3u, 8u, 100u, 382u, 10'000u, 10'000'000u}) {
    auto const largest = keys == 0 ? 0 : std::log(static_cast<double>(keys));
    for (int i = 0; i <= 100; ++i) {
      posenc::row_statistics const row{.keys = keys, .entropy = largest * i / 100};
      auto const beta = static_cast<double>(encoding.inverse_temperature(row));
      EXPECT_TRUE(posenc::is_finite(beta) && beta > 0)
          << keys << " keys, entropy " << row.entropy << ": " << beta;
    }
  }
}

/// The same of rules that look at the scores.
template <posenc::acts_on_softmax E>
void inverse_temperature_of_scores_is_positive_and_finite(E const& encoding) {
  numbers::in_float_and_double([&]<class T>() {
    for (auto const& scores : rows_of_scores<T>()) {
      auto const beta = static_cast<double>(
          encoding.inverse_temperature(posenc::statistics(std::span<T const>(scores))));
      EXPECT_TRUE(posenc::is_finite(beta) && beta > 0) << scores.size() << " keys: " << beta;
    }
  });
}

/// Calls law(scores, weights, exponents) for every row; exponents are beta (x - max), and 0 where
/// masked.
template <class T, posenc::acts_on_softmax E, class Law>
void for_every_row(E const& encoding, Law const& law) {
  for (auto const& scores : rows_of_scores<T>()) {
    auto const seen = posenc::statistics(std::span<T const>(scores));
    auto const beta = static_cast<double>(encoding.inverse_temperature(seen));
    auto weights = scores;
    posenc::softmax(std::span<T>(weights), seen, beta);
    std::vector<double> exponents;
    for (auto const x : scores)
      exponents.push_back(posenc::is_masked(x) ? 0 : beta * (static_cast<double>(x) - seen.max));
    SCOPED_TRACE(testing::Message()
                 << scores.size() << " keys from " << scores.front() << " to " << scores.back());
    law(scores, weights, exponents);
  }
}

/// Up to the rounding of the weights.
template <class T>
void expect_order_kept(std::vector<T> const& scores, std::vector<T> const& weights,
                       std::vector<double> const& exponents) {
  std::vector<std::size_t> rising(scores.size());
  std::iota(rising.begin(), rising.end(), std::size_t{0});
  std::ranges::stable_sort(rising, {}, [&](std::size_t s) {
    return std::max(scores[s], std::numeric_limits<T>::lowest());
  });
  for (std::size_t i = 1; i < rising.size(); ++i) {
    auto const lower = static_cast<double>(weights[rising[i - 1]]),
               higher = static_cast<double>(weights[rising[i]]);
    EXPECT_LE(lower - tolerance::of_weight<T>(lower, exponents[rising[i - 1]], scores.size()),
              higher);
  }
}

template <posenc::acts_on_softmax E>
void order_is_kept(E const& encoding) {
  numbers::in_float_and_double(
      [&]<class T>() { for_every_row<T>(encoding, expect_order_kept<T>); });
}

template <posenc::acts_on_softmax E>
void weights_sum_to_one(E const& encoding) {
  numbers::in_float_and_double([&]<class T>() {
    for_every_row<T>(encoding, [](std::vector<T> const&, std::vector<T> const& weights,
                                  std::vector<double> const&) {
      auto const n = static_cast<double>(weights.size());
      // Roundings: the exponentials, summed in T by sixteens; the reciprocal of the sum, the
      // products with it; and the sum here.
      auto const tolerance =
          19 * tolerance::unit_roundoff<T>() + 2 * n * tolerance::unit_roundoff<double>();
      EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, tolerance);
      EXPECT_GE(*std::ranges::min_element(weights), 0);
    });
  });
}

/// Up to the rounding of the weights. Only for rules that promise it.
template <posenc::acts_on_softmax E>
void entropy_is_never_raised(E const& encoding) {
  numbers::in_float_and_double([&]<class T>() {
    for_every_row<T>(encoding, [](std::vector<T> const& scores, std::vector<T> const& weights,
                                  std::vector<double> const& exponents) {
      auto plain = scores;
      posenc::softmax(std::span<T>(plain));
      double tolerance = 0;  // d(p ln p) = (ln p + 1) dp, for either row
      for (std::size_t s = 0; s < scores.size(); ++s)
        for (auto const& row : {weights, plain}) {
          if (auto const p = static_cast<double>(row[s]); p > 0)
            tolerance +=
                std::abs(std::log(p) - 1) * tolerance::of_weight<T>(p, exponents[s], scores.size());
        }
      EXPECT_LE(oracle::entropy(numbers::exact(weights)),
                oracle::entropy(numbers::exact(plain)) + tolerance);
    });
  });
}

/// What a rule promises beyond the laws of all: it never raises the entropy of a row, or it may.
enum class flattening { never_flattens, may_flatten };
using enum flattening;
/// What a rule looks at.
enum class sight { statistics_alone, scores };

/// A temperature rule, by its name in a configuration, keeps what it promises, and what all rules
/// promise.
template <posenc::acts_on_softmax E>
void obey(char const* name, E const& encoding, flattening promised,
          sight sees = sight::statistics_alone) {
  SCOPED_TRACE(name);
  if (sees == sight::statistics_alone) inverse_temperature_is_positive_and_finite(encoding);
  inverse_temperature_of_scores_is_positive_and_finite(encoding);
  order_is_kept(encoding);
  weights_sum_to_one(encoding);
  if (promised == never_flattens) entropy_is_never_raised(encoding);
}

/// With a sink, weights sum to 1 - e^sink / (e^sink + sum_j e^x_j) and keep the order of the
/// scores.
template <posenc::adds_sink E>
void sinks_take_their_share(E const& encoding, std::size_t head) {
  auto const sink = static_cast<double>(encoding.sink(head));
  numbers::in_float_and_double([&]<class T>() {
    for_every_row<T>(
        posenc::constant_temperature(1), [&](std::vector<T> const& scores, std::vector<T> const&,
                                             std::vector<double> const& exponents) {
          auto const seen = posenc::statistics(std::span<T const>(scores));
          auto weights = scores;
          posenc::softmax(std::span<T>(weights), seen, 1, sink);
          oracle::wide keys = 0;
          for (std::size_t s = 0; s < scores.size(); ++s)
            if (!posenc::is_masked(scores[s]))
              keys += oracle::exp(static_cast<oracle::wide>(exponents[s]));
          auto const above = sink - seen.max;
          auto const expected =
              static_cast<double>(keys / (keys + oracle::exp(static_cast<oracle::wide>(above))));
          auto const n = static_cast<double>(scores.size());
          // The error without a sink, plus that of e^(sink - max).
          auto const tolerance = expected * (19 * tolerance::unit_roundoff<T>() +
                                             2 * n * tolerance::unit_roundoff<double>()) +
                                 tolerance::of_exponential(expected, above) +
                                 2 * n * static_cast<double>(std::numeric_limits<T>::min());
          EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), expected, tolerance)
              << "sink " << sink;
          expect_order_kept(scores, weights, exponents);
        });
  });
}

template <posenc::adds_sink E>
void obey_with_sinks(char const* name, E const& encoding, std::size_t heads) {
  SCOPED_TRACE(name);
  for (std::size_t head = 0; head < heads; ++head) sinks_take_their_share(encoding, head);
}

}  // namespace laws
