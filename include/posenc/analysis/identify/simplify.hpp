// The simplest parameters with which a rule still fits, and the ranges of those that do.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "posenc/analysis/identify/fit.hpp"
#include "posenc/analysis/identify/table.hpp"
#include "posenc/core/fast_math.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// x rounded to so many significant digits.
inline double rounded_to(double x, int digits) {
  if (x == 0) return 0;
  auto const places = digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(x))));
  // -ffast-math would take exp10, whose powers of ten are no whole numbers.
  auto const power = std::pow(stored(10.0), std::min(std::abs(places), 300));
  return places >= 0 ? std::round(x * power) / power : std::round(x / power) * power;
}

/// The fewest digits that write x to 15 digits; powers of 2 count as one digit.
inline int digits_of(double x) {
  if (x == 0 || std::exp2(std::round(std::log2(std::abs(x)))) == x) return 1;
  for (int digits = 1; digits < 15; ++digits) {
    if (std::abs(rounded_to(x, digits) - x) <= std::abs(x) * 1e-15) return digits;
  }
  return 15;
}

/// The simplest numbers near x: powers of 2, then numbers of ever more digits.
inline std::vector<double> simple_numbers(double x) {
  std::vector<double> result;
  if (std::abs(x) < 1e-6) result.push_back(0);
  if (x > 0) {
    auto const power = std::exp2(std::round(std::log2(x)));
    if (std::abs(x - power) < 2e-3 * power) result.push_back(power);
  }
  for (int digits = 1; digits < 12; ++digits) result.push_back(rounded_to(x, digits));
  return result;
}

struct interval {
  double least, most;
  bool is_empty() const noexcept { return !(least <= most); }
};

/// The simplest number of an interval above 0: a power of 2, or of the fewest digits.
inline double simplest_in(interval const& in) {
  auto const middle = in.most >= 1e30 ? in.least * 2 : (in.least + in.most) / 2;
  auto const power = std::exp2(std::floor(std::log2(in.most)));
  if (in.most < 1e30 && power >= in.least) return power;
  for (int digits = 1; digits < 15; ++digits) {
    auto const near = rounded_to(middle, digits);
    if (in.least <= near && near <= in.most) return near;
  }
  return middle;
}

/// All parameters that were fitted, rounded to so many digits at once.
inline rule_fit rounded_to(rule_fit rule, int digits) {
  for (auto& p : rule.parameters) {
    auto const rounded = p.is_index ? std::round(p.value) : rounded_to(p.value, digits);
    if (!p.is_fixed) p.value = std::clamp(rounded, p.least, p.most);
  }
  return rule;
}

/// Moves parameters to simple numbers, all at once and then one after another, as long as the table
/// stays explained: about as well as before.
inline void simplify(frequency_table const& table, rule_fit& rule) {
  if (rule.misfit > 1) return;
  auto const limit = std::clamp(2 * rule.misfit, 0.5, 1.0);
  bool are_simple = false;
  for (int digits = 1; digits < 12; ++digits) {
    auto const trial = rounded_to(rule, digits);
    if (table.misfit(trial.made(true)) > limit) continue;
    rule = trial, are_simple = true;
    break;
  }
  for (std::size_t j = 0; j < rule.parameters.size(); ++j) {
    auto const& p = rule.parameters[j];
    if (p.is_fixed) continue;
    auto candidates = simple_numbers(p.value);
    if (p.is_index) candidates.insert(candidates.begin(), std::round(p.value));
    if (p.name == "original_length") {
      auto const power = std::exp2(std::floor(std::log2(p.value)));
      candidates.insert(candidates.begin(), {power, 2 * power});
    }
    if (p.name == "base")
      candidates.insert(candidates.begin(), table.likely_bases.begin(), table.likely_bases.end());
    for (auto const candidate : candidates) {
      if (candidate < p.least || candidate > p.most) continue;
      auto trial = rule;
      trial.parameters[j].value = candidate, trial.parameters[j].is_held = true;
      if (!are_simple) fit(table, trial, 4);
      // The fast series is off by up to half a tolerance of doubles.
      bool const fits = !are_simple && trial.misfit <= limit;
      if (!fits && table.misfit(trial.made(true)) > limit) continue;
      rule = std::move(trial);
      break;
    }
    rule.parameters[j].is_held = true;
  }
}

/// Sets fits_from and fits_to of every parameter that was fitted: beyond them the rule leaves the
/// tolerances, the others fitted again.
inline void fit_ranges(frequency_table const& table, rule_fit& rule) {
  for (auto& p : rule.parameters) p.fits_from = p.fits_to = p.value, p.is_held = false;
  if (rule.misfit > 1) return;
  for (std::size_t j = 0; j < rule.parameters.size(); ++j) {
    auto& p = rule.parameters[j];
    if (p.is_fixed) continue;
    auto const fits = [&](double at) {
      auto trial = rule;
      trial.parameters[j].is_held = true;
      trial.parameters[j].move_to(at);
      fit(table, trial, 3);
      return trial.misfit <= 1;
    };
    for (bool const up : {false, true}) {
      auto const here = p.coordinate();
      auto const end_value = up ? p.most : p.least;
      auto const end = p.is_logarithmic() ? std::log(end_value) : end_value;
      double inside = 0, outside = std::abs(end - here), step = 1e-15 * (1 + std::abs(here));
      while (step < outside && fits(up ? here + step : here - step)) inside = step, step *= 4;
      outside = std::min(step, outside);
      for (int k = 0; k < 6 && inside > 0; ++k) {
        auto const middle = (inside + outside) / 2;
        (fits(up ? here + middle : here - middle) ? inside : outside) = middle;
      }
      auto moved = p;
      moved.move_to(up ? here + outside : here - outside);
      (up ? p.fits_to : p.fits_from) = moved.value;
    }
  }
}

}  // namespace posenc::detail
