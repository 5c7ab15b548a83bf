// A row of scores to attention weights, at any temperature.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>

#include "posenc/core/row_statistics.hpp"

namespace posenc {

/// The score of a key that is not seen: -infinity, by its bits, for -ffast-math knows none.
template <std::floating_point T>
inline constexpr T masked_score = static_cast<T>(std::bit_cast<float>(0xff80'0000u));

/// True for -infinity, and for whatever is as low as no score is: a comparison with -infinity would be folded under -ffast-math.
template <std::floating_point T>
constexpr bool is_masked(T score) noexcept {
  return score < std::numeric_limits<T>::lowest() / 2;
}

/// The statistics of a row of scores, [keys], masked ones being -infinity. One pass, sums in double:
/// with Z = sum e^(x - max) and W = sum (x - max) e^(x - max), ln sum e^x = max + ln Z and H = ln Z - W / Z.
template <std::floating_point T>
row_statistics statistics(std::span<T const> scores, std::size_t head = 0, std::int64_t query_position = 0) noexcept {
  row_statistics row{.head = head, .query_position = query_position};
  double z = 0, w = 0;
  for (double const x : scores) {
    if (is_masked(static_cast<T>(x))) continue;
    if (row.keys++ == 0) row.max = x;
    if (x > row.max) {
      auto const shift = row.max - x, factor = std::exp(shift);
      w = (w + shift * z) * factor, z *= factor;
      row.max = x;
    }
    auto const below = x - row.max, e = std::exp(below);
    z += e, w += below * e;
  }
  if (row.keys == 0) return row;
  row.log_sum_exp = row.max + std::log(z);
  row.entropy = std::log(z) - w / z;
  return row;
}

/// scores -> softmax(inverse_temperature * scores) in place: weights that sum to 1, 0 where masked; all 0 if every key is masked.
/// `row`: the statistics of these very scores; inverse_temperature finite and at least 0, not checked. NaN, or +infinity, among the scores
/// makes every weight NaN.
template <std::floating_point T>
void softmax(std::span<T> scores, row_statistics const& row, double inverse_temperature = 1) noexcept {
  double sum = 0;
  for (auto& x : scores) {
    x = is_masked(x) ? T{0} : static_cast<T>(std::exp(inverse_temperature * (static_cast<double>(x) - row.max)));
    sum += static_cast<double>(x);
  }
  if (row.keys == 0) return;
  for (auto& x : scores) x = static_cast<T>(static_cast<double>(x) / sum);
}

/// The same where nothing depends on the statistics.
template <std::floating_point T>
void softmax(std::span<T> scores, double inverse_temperature = 1) noexcept {
  softmax(scores, statistics(std::span<T const>(scores)), inverse_temperature);
}

}  // namespace posenc
