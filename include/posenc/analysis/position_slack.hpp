// How far a key may move before a score changes: near keys and far ones are equally free.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// sum_i 2 b_i sin(min(tokens inv_freq_i, pi) / 2).
inline double largest_change(frequencies const& f, std::span<double const> budgets, double tokens) {
  double sum = 0;
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    auto const angle = std::min(tokens * f.inv_freq()[i], std::numbers::pi);
    sum += 2 * budgets[i] * std::sin(angle / 2);
  }
  return sum;
}

}  // namespace detail

/// How many tokens a key, or a query, may move before a score can change by more than `share` of
/// the sum of the budgets, which is the largest score that they allow: the largest t with
///
///     sum_i 2 b_i sin(min(t inv_freq_i, pi) / 2) <= share sum_i b_i,   b_i = A^2 |q_i| |k_i|
///
/// b_i is the budget of pair i (score_by_frequency), A the attention factor. The distance is not in
/// it: a far key is as free as a near one. While no pair rotates by more than half a turn,
/// there are phases of q and k that attain the sum, at any distance; each pair alone always can.
/// [follows from b_i cos((r + t) inv_freq_i + c) - b_i cos(r inv_freq_i + c)]
///
/// Infinite if even half a turn of every pair changes less, as where most of the budget is in pairs
/// of frequency 0 (p-RoPE). Need not be whole; below 1, no key may move. Accurate to a few
/// roundings per pair. Throws std::invalid_argument unless there is one budget per pair, none is
/// negative, their sum is finite and positive, and share is finite and positive.
inline double position_slack(frequencies const& f, std::span<double const> budgets, double share) {
  constexpr auto* name = "position_slack";
  detail::require_positive(name, "share", share);
  detail::require(budgets.size() == f.pairs(), name, ": there must be one budget for each of ",
                  f.pairs(), " pairs, got ", budgets.size());
  double sum = 0;
  for (auto const b : budgets) {
    detail::require_not_negative(name, "budgets", b);
    sum += b;
  }
  detail::require_positive(name, "the sum of the budgets", sum);
  auto slowest = std::numeric_limits<double>::max();
  for (auto const inv_freq : f.inv_freq())
    if (inv_freq > 0) slowest = std::min(slowest, inv_freq);
  auto low = 0.0, high = std::min(std::numbers::pi / slowest, std::numeric_limits<double>::max());
  auto const is_allowed = [&](double tokens) {
    return detail::largest_change(f, budgets, tokens) <= share * sum;
  };
  if (is_allowed(high)) return std::numeric_limits<double>::infinity();
  for (auto middle = high / 2; low < middle && middle < high; middle = low + (high - low) / 2)
    (is_allowed(middle) ? low : high) = middle;
  return low;
}

}}  // namespace posenc
