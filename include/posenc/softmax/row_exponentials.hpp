// Masked scores; the passes over a row of scores that softmax is made of: largest score,
// exponentials, their sums.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/detail/log_add_exp.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/score_row.hpp"
#include "posenc/simd/exponential.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The score of a masked key: -infinity.
template <std::floating_point T>
inline constexpr T masked_score = detail::negative_infinity<T>;

/// True for -infinity only; also if a bias or an overflow in T made it.
template <std::floating_point T>
constexpr bool is_masked(T score) noexcept {
  return detail::is_negative_infinity(score);
}

/// No sink: a logit of -infinity. Any finite logit, however low, is a sink.
inline constexpr double no_sink = detail::negative_infinity<double>;

namespace detail {

/// Calls what(register, first index, size) along the row; masked scores pad the last register.
template <std::floating_point T>
POSENC_ALWAYS_INLINE inline void for_registers(T const* row, std::size_t count,
                                               auto&& what) noexcept {
  constexpr auto size = lanes<T>::size;
  std::size_t s = 0;
  for (; s + size <= count; s += size) what(lanes<T>::load(row + s), s, size);
  if (size == 1 || s == count) return;
  std::array<T, size> rest;
  std::fill(std::copy(row + s, row + count, rest.begin()), rest.end(), masked_score<T>);
  what(lanes<T>::load(rest.data()), s, count - s);
}

/// The largest score of a row; masked_score if all are masked.
template <std::floating_point T>
T largest(T const* row, std::size_t count) noexcept {
  using number = typename lanes<T>::number;
  auto most = number(masked_score<T>);
  for_registers(row, count, [&](number const& x, std::size_t, std::size_t) {
    most = lanes<T>::larger(most, x);
  });
  std::array<T, lanes<T>::size> numbers;
  lanes<T>::store(numbers.data(), most);
  return *std::ranges::max_element(numbers);
}

/// Sums over a row of e_s = e^(beta (x_s - max)).
struct exponential_sums {
  double keys = 0;          ///< number of keys that are not masked
  double exponentials = 0;  ///< sum e_s
  double exponents = 0;     ///< sum beta (x_s - max) e_s
};

/// Writes the e_s (0 if masked) to `weights`: the row or null. keys, exponents: if Statistics.
template <bool Statistics, std::floating_point T>
exponential_sums exponentials(T const* row, T* weights, std::size_t count, T max,
                              T beta = 1) noexcept {
  using registers = lanes<T>;
  using number = typename registers::number;
  constexpr auto few = 16 * registers::size;  // are summed in T, and these sums in double
  auto const top = number(is_masked(max) ? T{0} : max);  // any number will do if all are masked
  exponential_sums sums;
  for (std::size_t from = 0; from < count; from += few) {
    number keys(T{0}), all(T{0}), exponents(T{0});
    auto const add = [&](number const& x, std::size_t at, std::size_t size) {
      auto const exponent = (x - top) * number(beta), e = exponential(registers(), exponent);
      if (weights != nullptr && size == registers::size) {
        registers::store(weights + from + at, e);
      } else if (weights != nullptr) {
        std::array<T, registers::size> numbers;
        registers::store(numbers.data(), e);
        std::copy_n(numbers.begin(), size, weights + from + at);
      }
      all = all + e;
      if constexpr (Statistics) {
        exponents = exponents + registers::larger(exponent, number(lowest_exponent<T>)) * e;
        keys = keys + one_unless_masked(registers(), x);
      }
    };
    for_registers(row + from, std::min(few, count - from), add);
    sums.exponentials += static_cast<double>(registers::sum(all));
    if constexpr (Statistics) {
      sums.keys += static_cast<double>(registers::sum(keys));
      sums.exponents += static_cast<double>(registers::sum(exponents));
    }
  }
  return sums;
}

/// The same for any beta; in double if beta is below the normal range of T. beta = 0 (for which
/// -inf * 0 would be NaN): uniform over visible keys. beta beyond the range of T: its largest.
template <std::floating_point T>
double exponentials_at(T const* row, T* weights, std::size_t count, T max, double beta) noexcept {
  using limits = std::numeric_limits<T>;
  if (!(beta < static_cast<double>(limits::min()))) {  // NaN too
    auto const factor = static_cast<T>(std::min(beta, static_cast<double>(limits::max())));
    return exponentials<false>(row, weights, count, max, factor).exponentials;
  }
  // Multiplied first: the difference of two scores may be beyond the range of doubles.
  auto const of_max = stored(beta * static_cast<double>(max));
  double sum = 0;
  for (std::size_t s = 0; s < count; ++s) {
    auto const e = is_masked(row[s]) ? 0 : std::exp(beta * static_cast<double>(row[s]) - of_max);
    weights[s] = static_cast<T>(e);
    sum += e;
  }
  return sum;
}

/// A sum of the exponentials of a row: e^largest * sum.
struct scaled_sum {
  double largest, sum;

  /// From exponents beta (x - max). Clamped to finite: -infinity would mean that there are no keys.
  scaled_sum(double beta, double max, double its_sum) noexcept : largest(beta * max), sum(its_sum) {
    if (!is_finite(largest) && is_finite(beta))
      largest = std::copysign(std::numeric_limits<double>::max(), max);
  }

  /// Adds the sum over other keys of the same row.
  void add(scaled_sum const& other) noexcept {
    auto const most = std::max(largest, other.largest);
    sum = sum * std::exp(largest - most) + other.sum * std::exp(other.largest - most);
    largest = most;
  }
};

struct row_share {
  double log_sum_exp;  ///< ln(e^largest sum + e^sink)
  double share;  ///< exponentials times it are weights; 1 / sum without a sink; 0 without keys
};

inline row_share share_of(scaled_sum const& row, double sink) noexcept {
  if (row.sum == 0) return {sink, 0};
  auto const log_sum_exp = row.largest + std::log(row.sum);
  if (is_masked(sink)) return {log_sum_exp, 1 / row.sum};
  return {log_add_exp(log_sum_exp, sink), 1 / (row.sum + std::exp(sink - row.largest))};
}

/// For a row that is part of a longer one: e^(largest - log_sum_exp), at most 1 / sum, since a
/// double log_sum_exp of large scores cannot hold what the other keys add.
inline double share_within(scaled_sum const& row, double log_sum_exp) noexcept {
  if (row.sum == 0) return 0;
  return std::min(std::exp(row.largest - log_sum_exp), 1 / row.sum);
}

template <std::floating_point T>
row_statistics statistics_of(exponential_sums const& sums, std::span<T const> scores, double max,
                             std::size_t head, std::int64_t query_position) noexcept {
  row_statistics row{.head = head, .query_position = query_position};
  if constexpr (std::same_as<T, float>)
    row.scores.floats = scores;
  else
    row.scores.doubles = scores;
  if (sums.keys == 0) return row;
  row.keys = static_cast<std::size_t>(sums.keys);
  row.max = max;
  row.log_sum_exp = max + std::log(sums.exponentials);
  row.entropy = std::log(sums.exponentials) - sums.exponents / sums.exponentials;
  return row;
}

/// The exponentials of a row, e^(beta (x - max)), and their sum.
template <std::floating_point T>
struct row_exponentials {
  T const* numbers;
  scaled_sum sum;
  double beta = 1;
};

/// Overwrites the scores; if a temperature rule returns 1, the exponentials are already in
/// `memory`, as long as the row, and stay there. beta is temperature(statistics, max), or 1 without
/// a rule.
template <bool Temperature, std::floating_point T>
row_exponentials<T> exponentiate(std::span<T> x, [[maybe_unused]] T* memory,
                                 [[maybe_unused]] auto const& temperature) {
  auto const max = largest(x.data(), x.size());
  auto const top = static_cast<double>(max);
  if constexpr (!Temperature) {
    return {x.data(),
            {1, top, exponentials<false>(x.data(), x.data(), x.size(), max).exponentials}};
  } else {
    auto const plain = exponentials<true>(x.data(), memory, x.size(), max);
    double const beta = temperature(plain, top);
    if (beta == 1) return {memory, {1, top, plain.exponentials}};
    return {x.data(), {beta, top, exponentials_at(x.data(), x.data(), x.size(), max, beta)}, beta};
  }
}

}  // namespace detail
}}  // namespace posenc
