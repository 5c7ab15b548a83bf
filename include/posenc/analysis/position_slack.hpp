// How far a key may move before a score changes: near keys and far ones are equally free.
#pragma once

#include <algorithm>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

inline double sum_of_budgets(char const* function, frequencies const& f,
                             std::span<double const> budgets) {
  require(budgets.size() == f.pairs(), function, ": there must be one budget for each of ",
          f.pairs(), " pairs, got ", budgets.size());
  double sum = 0;
  for (auto const b : budgets) require_not_negative(function, "budgets", b), sum += b;
  require_positive(function, "the sum of the budgets", sum);
  return sum;
}

}  // namespace detail

/// The most by which a score can change when its key, or its query, moves by up to `tokens`:
///
///     sum_i 2 b_i sin(min(tokens inv_freq_i, pi) / 2),   b_i = A^2 |q_i| |k_i|
///
/// b_i is the budget of pair i (score_by_frequency), A the attention factor. The distance is not in
/// it: a far key is as free as a near one. While no pair turns by more than half a turn, some
/// phases of q and k attain it, at any distance; each pair always can by itself.
/// [follows from b_i cos((r + tokens) inv_freq_i + c) - b_i cos(r inv_freq_i + c)] Exact to a
/// few roundings for each pair. Throws std::invalid_argument unless there is one budget for each
/// pair, at least 0 with a finite sum above 0, and tokens is finite and at least 0.
inline double largest_change_of_score(frequencies const& f, std::span<double const> budgets,
                                      double tokens) {
  constexpr auto* name = "largest_change_of_score";
  detail::sum_of_budgets(name, f, budgets);
  detail::require_not_negative(name, "tokens", tokens);
  double sum = 0;
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    auto const angle = std::min(tokens * f.inv_freq()[i], std::numbers::pi);
    sum += 2 * budgets[i] * std::sin(angle / 2);
  }
  return sum;
}

/// How many tokens a key may move before a score can change by more than `share` of the sum of the
/// budgets, which is the largest score that they allow. Infinite if even half a turn of every pair
/// changes less, as where most of the budget is in pairs of frequency 0 (p-RoPE). The result need
/// not be whole; below 1, no key may move. Within a few roundings. Throws
/// std::invalid_argument as above, and unless share is above 0 and finite.
inline double position_slack(frequencies const& f, std::span<double const> budgets, double share) {
  constexpr auto* name = "position_slack";
  detail::require_positive(name, "share", share);
  auto const allowed = share * detail::sum_of_budgets(name, f, budgets);
  auto slowest = std::numeric_limits<double>::max();
  for (auto const inv_freq : f.inv_freq())
    if (inv_freq > 0) slowest = std::min(slowest, inv_freq);
  auto low = 0.0, high = std::min(std::numbers::pi / slowest, std::numeric_limits<double>::max());
  if (largest_change_of_score(f, budgets, high) <= allowed)
    return std::numeric_limits<double>::infinity();
  for (auto middle = high / 2; low < middle && middle < high; middle = low + (high - low) / 2)
    (largest_change_of_score(f, budgets, middle) <= allowed ? low : high) = middle;
  return low;
}

}  // namespace posenc
