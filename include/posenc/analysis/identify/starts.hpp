// Where to begin a fit: bases that a table of frequencies suggests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "posenc/analysis/identify/fit.hpp"
#include "posenc/analysis/identify/table.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc::inline POSENC_TARGET::detail {

constexpr double least_base = 1 + 0x1p-20, most_base = 1e30;

/// base^(-i / pairs), by the rule or in plain doubles.
inline frequencies series_of(std::size_t pairs, double base, bool exactly) {
  if (exactly) return geometric(2 * pairs, base);
  auto const step = std::log(base) / static_cast<double>(pairs);
  std::vector<double> inv_freq;
  for (std::size_t i = 0; i < pairs; ++i)
    inv_freq.push_back(std::exp(-step * static_cast<double>(i)));
  return frequencies(inv_freq);
}

/// Only the first `kept` pairs rotate.
inline frequencies kept_pairs(frequencies const& f, std::size_t kept) {
  return changed(f,
                 [kept](std::size_t i, auto const& inv_freq) { return i < kept ? inv_freq : 0; });
}

/// Bases of published models.
inline constexpr double usual_bases[] = {1e4,   5e5,   1e6, 1e5,   1e7, 5e6, 1.5e5, 1e2, 1e3,
                                         2.5e5, 1.6e5, 2e5, 3.2e7, 6e5, 8e6, 2e6,   1e8, 1.28e6};

/// ln of the ratio of neighbours, as ln(base) / pairs: of the fast pairs as far as they are a
/// geometric series, of the slow ones, of all; then those of likely and of usual bases.
inline std::vector<double> likely_steps(frequency_table const& table) {
  auto const n = table.rotated();
  std::vector<double> steps;
  if (n < 2) return steps;
  std::vector<double> logarithm;
  for (std::size_t i = 0; i < n; ++i) logarithm.push_back(std::log(table.value[i]));
  // From `from` on, in steps of +-1, as long as the series goes on.
  auto const along = [&](std::size_t from, bool up) {
    double step = 0;
    for (std::size_t k = 1; k < n; ++k) {
      auto const i = up ? from + k : from - k;
      auto const change = (up ? logarithm[from] - logarithm[i] : logarithm[i] - logarithm[from]);
      auto const now = change / static_cast<double>(k);
      auto const tolerance =
          4 * (table.tolerance[i] / table.value[i] + table.tolerance[from] / table.value[from]);
      if (k > 1 && std::abs(change - step * static_cast<double>(k)) >
                       tolerance * (1 + static_cast<double>(k) / static_cast<double>(k - 1)))
        break;
      step = now;
    }
    return step;
  };
  auto const add = [&](double step) {
    if (step > 0) steps.push_back(step);
  };
  add(along(n - 1, false));
  add(along(0, true));
  add((logarithm[0] - logarithm[n - 1]) / static_cast<double>(n - 1));
  auto const of_base = [&](double base) {
    if (base > 1) steps.push_back(std::log(base) / static_cast<double>(table.pairs()));
  };
  for (auto const base : table.likely_bases) of_base(base);
  for (auto const base : usual_bases) of_base(base);
  return steps;
}

/// inv_freq_i over exp(-step i): what a rule multiplied a geometric series by.
inline std::vector<double> multipliers(frequency_table const& table, double step) {
  std::vector<double> result;
  for (std::size_t i = 0; i < table.rotated(); ++i)
    result.push_back(table.value[i] * std::exp(step * static_cast<double>(i)));
  return result;
}

/// y = slope x + offset by least squares.
struct straight_line {
  double slope, offset;
};
inline straight_line line_through(std::vector<std::pair<double, double>> const& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  auto const n = static_cast<double>(points.size());
  for (auto const& [a, b] : points) x += a / n, y += b / n;
  for (auto const& [a, b] : points) xx += (a - x) * (a - x), xy += (a - x) * (b - y);
  auto const slope = xx == 0 ? 0 : xy / xx;
  return {slope, y - slope * x};
}

/// The three starts with the smallest errors of logarithms, best first.
inline std::vector<rule_fit> closest_starts(frequency_table const& table,
                                            std::vector<rule_fit> const& starts) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    auto const made = starts[k].made();
    double error = 0;
    for (std::size_t i = 0; i < made.size(); ++i) {
      bool const both = made[i] > 0 && table.value[i] > 0;
      auto const off = both                        ? std::log(made[i] / table.value[i])
                       : made[i] == table.value[i] ? 0
                                                   : 1;
      error += off * off;
    }
    order.emplace_back(error, k);
  }
  std::ranges::sort(order);
  std::vector<rule_fit> closest;
  for (std::size_t k = 0; k < std::min<std::size_t>(order.size(), 3); ++k)
    closest.push_back(starts[order[k].second]);
  return closest;
}

/// Fits from the closest starts; the rule of the best, or none without starts.
inline rule_fit best_fit(frequency_table const& table, std::vector<rule_fit> const& starts) {
  rule_fit best;
  for (auto& start : closest_starts(table, starts)) {
    if (best.misfit <= 1) break;
    fit(table, start);
    if (best.parameters.empty() || start.misfit < best.misfit) best = std::move(start);
  }
  return best;
}

}  // namespace posenc::detail
