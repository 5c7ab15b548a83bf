// Fits of rules that are no scaled series: several axes, even steps, whole wavelengths, a clip.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "posenc/analysis/identify/fit.hpp"
#include "posenc/analysis/identify/scaled_rules.hpp"
#include "posenc/analysis/identify/simplify.hpp"
#include "posenc/analysis/identify/starts.hpp"
#include "posenc/analysis/identify/table.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/truncated.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Parameter: base, which may be below 1.
inline rule_fit fit_geometric(frequency_table const& table) {
  auto const n = table.pairs(), kept = table.rotated();
  double xx = 0, xy = 0;
  for (std::size_t i = 1; i < kept; ++i) {
    auto const x = static_cast<double>(i);
    xx += x * x, xy += x * std::log(table.value[i]);
  }
  auto const exponent = xx == 0 ? 0 : -xy / xx * static_cast<double>(n);
  rule_fit rule{"geometric",
                {{"base", std::exp(std::clamp(exponent, -40.0, 690.0)), 0x1p-60, 1e300}},
                [n, kept](parameter_values const& p, bool exactly) {
                  return kept_pairs(series_of(n, p[0], exactly), kept);
                }};
  fit(table, rule);
  return rule;
}

/// Parameter: max_freq.
inline rule_fit fit_pixel(frequency_table const& table) {
  auto const n = table.pairs();
  auto const max_freq = 2 * table.value.back() / std::numbers::pi;
  rule_fit rule{"pixel",
                {{"max_freq", std::clamp(max_freq, 1e-9, 1e15), 1e-9, 1e15}},
                [n](parameter_values const& p, bool) { return pixel(2 * n, p[0]); }};
  fit(table, rule);
  return rule;
}

/// Where a series of frequencies ends: the next one is above it, by more than rounding.
inline std::vector<std::size_t> section_starts(frequency_table const& table) {
  std::vector<std::size_t> starts{0};
  for (std::size_t i = 1; i < table.pairs(); ++i) {
    auto const rise = table.value[i] - table.value[i - 1];
    if (rise > table.tolerance[i] + table.tolerance[i - 1]) starts.push_back(i);
  }
  return starts;
}

/// Parameter: base; the sections are those of the table.
inline rule_fit fit_axial(frequency_table const& table, std::vector<std::size_t> const& starts) {
  std::vector<std::size_t> dims;
  double step = 0, weight = 0;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    auto const end = k + 1 < starts.size() ? starts[k + 1] : table.pairs();
    dims.push_back(2 * (end - starts[k]));
    for (auto i = starts[k] + 1; i < end; ++i) {
      auto const x = static_cast<double>(i - starts[k]) / static_cast<double>(end - starts[k]);
      step -= table.value[i] > 0 ? x * std::log(table.value[i]) : 0, weight += x * x;
    }
  }
  auto const base = weight == 0 ? 1 : std::exp(std::clamp(step / weight, -40.0, 600.0));
  rule_fit rule{"axial", {{"base", base, 0x1p-60, 1e300}}, [dims](parameter_values const& p, bool) {
                  return axial(dims, p[0]);
                }};
  fit(table, rule);
  return rule;
}

/// Parameters: base, n. The pairs before the clip are a geometric series.
inline rule_fit fit_raised_cosine_clip(frequency_table const& table) {
  auto const pairs = table.pairs();
  std::vector<rule_fit> starts;
  auto const steps = likely_steps(table);
  for (std::size_t s = 0; s < std::min<std::size_t>(steps.size(), 3); ++s) {
    for (std::size_t n = 3; n <= pairs; ++n) {
      rule_fit start{"raised_cosine_clip",
                     {base_parameter(pairs, steps[s]), {"n", static_cast<double>(n), 3, 1e7, true}},
                     [pairs](parameter_values const& p, bool exactly) {
                       return raised_cosine_clip(series_of(pairs, p[0], exactly),
                                                 static_cast<std::size_t>(p[1]));
                     }};
      starts.push_back(std::move(start));
    }
  }
  return best_fit(table, starts);
}

/// Whether all wavelengths are whole numbers of tokens, which the table knows well enough: of each
/// number of tokens the tolerance is below a quarter. Some of them must be long, and no frequency
/// 0.
inline bool has_whole_wavelengths(frequency_table const& table) {
  double known = 0;
  for (std::size_t i = 0; i < table.pairs(); ++i) {
    auto const x = table.value[i];
    if (x == 0) return false;
    if (x > 2 * std::numbers::pi * 1.5) return false;
    auto const wavelength = 2 * std::numbers::pi / x,
               tolerance = wavelength * table.tolerance[i] / x;
    if (std::abs(wavelength - std::round(wavelength)) > tolerance) return false;
    known -= std::log2(std::min(2 * tolerance, 1.0));
  }
  return known > 40;
}

/// Parameter: base. All bases between two bounds round to the same wavelengths W_i of a geometric
/// series: (W_i - 1/2)^(pairs / i) < base (2 pi)^(-pairs / i) < (W_i + 1/2)^(pairs / i). Nothing if
/// there is no such base.
inline std::optional<rule_fit> fit_resonance(frequency_table const& table) {
  auto const n = table.pairs();
  double least = std::log(least_base), most = std::log(most_base);
  for (std::size_t i = 1; i < n; ++i) {
    auto const tokens = std::round(2 * std::numbers::pi / table.value[i]);
    auto const bound = [&](double wavelength) {
      return std::log(wavelength / (2 * std::numbers::pi)) * static_cast<double>(n) /
             static_cast<double>(i);
    };
    least = std::max(least, bound(tokens - 0.5)), most = std::min(most, bound(tokens + 0.5));
  }
  if (!(least < most)) return {};
  interval const bases{std::exp(least), std::exp(most)};
  rule_fit rule{"resonance",
                {{"base", simplest_in(bases), bases.least, bases.most}},
                [n](parameter_values const& p, bool exactly) {
                  return resonance(series_of(n, p[0], exactly));
                }};
  rule.misfit = table.misfit(rule.made(true));
  return rule;
}

}  // namespace posenc::detail
