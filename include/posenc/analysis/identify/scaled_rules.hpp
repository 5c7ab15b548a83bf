// Fits of the rules that scale a geometric series: linear, llama3, yarn, mixed_ntk, part_ntk.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "posenc/analysis/identify/fit.hpp"
#include "posenc/analysis/identify/starts.hpp"
#include "posenc/analysis/identify/table.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/yarn.hpp"

namespace posenc::inline POSENC_TARGET::detail {

inline fit_parameter base_parameter(std::size_t pairs, double step) {
  auto const base = std::exp(std::min(step * static_cast<double>(pairs), 69.0));
  return {"base", std::clamp(base, least_base, most_base), least_base, most_base};
}
inline fit_parameter factor_parameter(double factor) {
  return {"factor", std::clamp(factor, 1e-6, 1e12), 1e-6, 1e12};
}

inline rule_fit fit_linear(frequency_table const& table) {
  auto const n = table.pairs(), kept = table.rotated();
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; i < kept; ++i)
    points.emplace_back(static_cast<double>(i), std::log(table.value[i]));
  auto const [slope, offset] = line_through(points);
  rule_fit rule{"linear",
                {factor_parameter(std::exp(-offset)), base_parameter(n, -slope)},
                [n, kept](parameter_values const& p, bool exactly) {
                  return kept_pairs(linear(series_of(n, p[1], exactly), p[0]), kept);
                }};
  fit(table, rule);
  return rule;
}

/// Parameters: factor, base, original_length and high_freq_factor for low_freq_factor 1.
inline rule_fit fit_llama3(frequency_table const& table) {
  auto const n = table.pairs(), kept = table.rotated();
  std::vector<rule_fit> starts;
  for (auto const step : likely_steps(table)) {
    auto const m = multipliers(table, step);
    auto const slowest = m.back();
    std::vector<std::pair<double, double>> points;  // turns per token, share kept
    double fastest_divided = 0, slowest_kept = 1;
    for (std::size_t i = 0; i < kept; ++i) {
      auto const series = std::exp(-step * static_cast<double>(i)),
                 share = (m[i] - slowest) / (1 - slowest);
      if (share > 0.99) slowest_kept = series;
      if (share < 0.01) fastest_divided = std::max(fastest_divided, series);
      if (share >= 0.01 && share <= 0.99)
        points.emplace_back(series / (2 * std::numbers::pi), share);
    }
    auto const between = std::sqrt(std::max(fastest_divided, 1e-30) * slowest_kept);
    auto first = between / (2 * std::numbers::pi), last = first;  // turns per token
    if (points.size() == 1) {
      first = points[0].first / (1 + 3 * points[0].second), last = 4 * first;
    } else if (points.size() > 1) {
      auto const [slope, offset] = line_through(points);
      if (!(slope > 0)) continue;
      first = -offset / slope, last = (1 - offset) / slope;
      if (first <= 0) first = last / 1e3;
    }
    starts.push_back(
        {"llama3",
         {factor_parameter(1 / slowest),
          base_parameter(n, step),
          {"original_length", std::clamp(1 / first, 1e-3, 1e15), 1e-3, 1e15},
          {"high_freq_factor", std::clamp(last / first, 1.0, 1e6), 1, 1e6}},
         [n, kept](parameter_values const& p, bool exactly) {
           return kept_pairs(llama3(series_of(n, p[1], exactly), {p[0], 1, p[3], p[2]}), kept);
         }});
  }
  return best_fit(table, starts);
}

/// YaRN by its ramp, whose ends come of lengths and turns with a rounding error.
inline frequencies yarn_by_ramp(frequencies const& series, double factor, yarn_ramp const& ramp,
                                double extrapolation) {
  return changed(series, [&](std::size_t i, auto const& before) {
    return blended(ramp, i, before, before / factor, extrapolation);
  });
}

/// Parameters: factor, base, the ramp's first and last pair, and extrapolation if it is fitted.
inline rule_fit fit_yarn(frequency_table const& table, bool with_extrapolation) {
  auto const n = table.pairs(), kept = table.rotated();
  auto const last_index = 2 * static_cast<double>(n) - 1;
  std::vector<rule_fit> starts;
  for (auto const step : likely_steps(table)) {
    auto const m = multipliers(table, step);
    auto const fastest = with_extrapolation ? m.front() : 1, slowest = m.back();
    std::vector<std::pair<double, double>> points;  // pair, share of the ramp
    double last_kept = 0;
    for (std::size_t i = 0; i < kept; ++i) {
      auto const share = (fastest - m[i]) / (fastest - slowest);
      if (share < 0.01) last_kept = static_cast<double>(i);
      if (share >= 0.01 && share <= 0.99) points.emplace_back(static_cast<double>(i), share);
    }
    auto first = last_kept, last = last_kept + 1;
    if (points.size() == 1) {
      first = points[0].first - points[0].second, last = first + 1;
    } else if (points.size() > 1) {
      auto const [slope, offset] = line_through(points);
      if (!(slope > 0)) continue;
      first = -offset / slope, last = (1 - offset) / slope;
    }
    rule_fit start{with_extrapolation ? "yarn, extrapolation" : "yarn",
                   {factor_parameter(1 / slowest),
                    base_parameter(n, step),
                    {"first", std::clamp(first, 0.0, last_index - 1), 0, last_index - 0.5},
                    {"last", std::clamp(last, 0.5, last_index), 0.5, last_index}},
                   [n, kept](parameter_values const& p, bool exactly) {
                     yarn_ramp const ramp{p[2], std::max(p[3], p[2] + 0.001)};
                     auto const f = yarn_by_ramp(series_of(n, p[1], exactly), p[0], ramp,
                                                 p.size() > 4 ? p[4] : 1);
                     return kept_pairs(f, kept);
                   }};
    start.parameters[2].is_index = start.parameters[3].is_index = true;
    if (with_extrapolation) {
      auto const share = slowest == 1 ? 1 : (fastest - slowest) / (1 - slowest);
      start.parameters.push_back({"extrapolation", std::clamp(share, 0.0, 1.0), 0, 1});
    }
    starts.push_back(std::move(start));
  }
  return best_fit(table, starts);
}

/// Parameters: factor, base, b. The logarithm of the table is linear in ln(base) and ln(factor).
inline rule_fit fit_mixed_ntk(frequency_table const& table) {
  auto const n = table.pairs(), kept = table.rotated();
  std::vector<rule_fit> starts;
  for (auto const b : {0.625, 1.0, 0.3, 0.5, 0.8, 1.3, 1.7, 2.2, 3.0}) {
    std::vector<std::vector<double>> normal(2, std::vector<double>(2));
    std::vector<double> solution(2);
    for (std::size_t i = 0; i < kept; ++i) {
      auto const pair = static_cast<double>(i);
      double const by[] = {pair, std::pow((pair + 1) / static_cast<double>(n), b)};
      for (std::size_t j = 0; j < 2; ++j) {
        solution[j] -= by[j] * std::log(table.value[i]);
        for (std::size_t k = 0; k < 2; ++k) normal[j][k] += by[j] * by[k];
      }
    }
    if (!solve(normal, solution)) continue;
    rule_fit start{"mixed_ntk",
                   {factor_parameter(std::exp(std::clamp(solution[1], -10.0, 25.0))),
                    base_parameter(n, std::max(solution[0], 1e-9)),
                    {"b", b, 0.01, 8}},
                   [n, kept](parameter_values const& p, bool exactly) {
                     return kept_pairs(mixed_ntk(series_of(n, p[1], exactly), p[0], p[2]), kept);
                   }};
    starts.push_back(std::move(start));
  }
  return best_fit(table, starts);
}

/// Lengths, one for each way in which the ends of part_ntk's ramps, at 0.75, 1.25, 2 and 16 turns,
/// round to pairs.
inline std::vector<double> lengths_of_part_ntk(double step, double least, double most) {
  std::vector<double> ends, lengths;
  for (auto const turns : {0.75, 1.25, 2.0, 16.0}) {
    auto const one = 2 * std::numbers::pi * turns;
    for (auto pair = std::ceil(std::log(least / one) / step); one * std::exp(step * pair) < most;
         ++pair)
      ends.push_back(one * std::exp(step * pair));
  }
  std::ranges::sort(ends);
  for (std::size_t i = 1; i < ends.size(); ++i) lengths.push_back(std::sqrt(ends[i - 1] * ends[i]));
  return lengths;
}

/// Parameters: factor, base, original_length, ntk, extrapolation. The length sets only where ramps
/// begin and end, at whole pairs, so that it is tried rather than fitted: first far apart.
inline rule_fit fit_part_ntk(frequency_table const& table, bool with_shares) {
  auto const n = table.pairs(), kept = table.rotated();
  auto const start_at = [&](double step, double length) {
    auto const slowest = multipliers(table, step).back();
    rule_fit start{with_shares ? "part_ntk, shares" : "part_ntk",
                   {factor_parameter(1 / slowest),
                    base_parameter(n, step),
                    {"original_length", length, 1, 1e9},
                    {"ntk", 1, 0, 1, !with_shares},
                    {"extrapolation", 1, 0, 1, !with_shares}},
                   [n, kept](parameter_values const& p, bool) {
                     part_ntk_scaling const scaling{p[0], p[2], p[3], p[4]};
                     return kept_pairs(part_ntk(2 * n, p[1], scaling), kept);
                   }};
    start.parameters[2].is_held = true;
    return start;
  };
  auto const steps = likely_steps(table);
  std::vector<rule_fit> coarse, fine;
  for (std::size_t s = 0; s < std::min<std::size_t>(steps.size(), 2); ++s) {
    if (s > 0 && std::abs(steps[s] / steps[0] - 1) < 1e-4) break;
    auto const ratio = std::exp(std::max(steps[s], 0.05));
    double length = 128;
    while (length < 0x1p21) coarse.push_back(start_at(steps[s], length)), length *= ratio;
  }
  if (coarse.empty()) return {};
  auto const nearest = closest_starts(table, coarse).front();
  auto const step = std::max(std::log(nearest.parameters[1].value) / static_cast<double>(n), 0.01);
  auto const around = nearest.parameters[2].value, width = std::exp(3 * std::max(step, 0.05));
  for (auto const length : lengths_of_part_ntk(step, around / width, around * width))
    fine.push_back(start_at(step, length));
  return best_fit(table, fine);
}

}  // namespace posenc::detail
