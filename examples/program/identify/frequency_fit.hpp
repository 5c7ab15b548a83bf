// Fits the parameters of a rule to a table of frequencies, and rounds them to simple numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "posenc/analysis/detail/eigen.hpp"

namespace identifying {

using values = std::vector<double>;

/// A table of unknown origin, with the absolute error that each of its numbers may have.
struct frequency_table {
  values value, tolerance;
  std::size_t rotated;  ///< pairs before the zeros at the end
  std::optional<double> expected_base;

  /// Numbers rounded to unit roundoff u, computed as base^exponent in float or as finely as they
  /// are stored: 4 ULP of the power, and the error of an exponent.
  frequency_table(values numbers, double u, std::optional<double> base = {})
      : value(std::move(numbers)), rotated(value.size()), expected_base(base) {
    for (auto const x : value)
      tolerance.push_back(x == 0 ? 0
                                 : x * (u + (8 + std::abs(std::log(x))) * std::min(u, 0x1p-24)));
    while (rotated > 0 && value[rotated - 1] == 0) --rotated;
  }

  double pairs() const noexcept { return static_cast<double>(value.size()); }
};

/// A positive parameter of a rule.
struct fit_parameter {
  std::string name;
  double value, least, most;  ///< the rule takes values from least to most
  bool is_free = true;        ///< chosen to fit

  void set(double x) { value = std::clamp(x, least, most); }
};

/// A rule in doubles, within half a tolerance: the frequency of a pair.
using formula = std::function<double(values const& parameters, double pair, double pairs)>;

struct rule_fit {
  std::string rule;
  std::vector<fit_parameter> parameters;
  formula frequency;
  double misfit = 1e30;  ///< the largest error in tolerances

  /// The errors of pairs that rotate in tolerances, at most 1e30. Sets misfit.
  Eigen::VectorXd errors(frequency_table const& table) {
    values p;
    for (auto const& one : parameters) p.push_back(one.value);
    Eigen::VectorXd result(table.rotated);
    for (std::size_t i = 0; i < table.rotated; ++i) {
      auto const off = frequency(p, static_cast<double>(i), table.pairs()) - table.value[i];
      result[static_cast<Eigen::Index>(i)] =
          std::clamp(off / std::max(table.tolerance[i], 1e-300), -1e30, 1e30);
    }
    misfit = result.cwiseAbs().maxCoeff();
    return result;
  }
};

/// A step of Levenberg and Marquardt in logarithms of parameters.
inline void take_step(frequency_table const& table, rule_fit& rule, double damping) {
  auto const from = rule.errors(table);
  Eigen::MatrixXd slopes(from.size(), 0);
  for (auto& p : rule.parameters) {
    if (!p.is_free) continue;
    auto const kept = p.value, by = 1e-7;
    p.value *= 1 + by;
    slopes.conservativeResize(Eigen::NoChange, slopes.cols() + 1);
    slopes.rightCols(1) = (rule.errors(table) - from) / by;
    p.value = kept;
  }
  Eigen::MatrixXd normal = slopes.transpose() * slopes;
  normal.diagonal() *= 1 + damping;
  Eigen::VectorXd const step = normal.ldlt().solve(slopes.transpose() * from);
  auto next = step.begin();
  for (auto& p : rule.parameters)
    if (p.is_free) p.set(p.value * std::exp(-*next++));
}

/// Least squares of the errors.
inline void fit(frequency_table const& table, rule_fit& rule) {
  auto const sum_of = [&](rule_fit one) { return one.errors(table).squaredNorm(); };
  double damping = 1e-6, sum = sum_of(rule);
  for (int step = 0; step < 40 && damping < 1e12; ++step) {
    auto trial = rule;
    take_step(table, trial, damping);
    auto const next = sum_of(trial);
    bool const is_better = next < sum;
    if (is_better) rule = std::move(trial);
    if (is_better && sum - next < 1e-3 * sum && damping <= 1e-6) break;
    damping = is_better ? std::max(damping / 30, 1e-9) : damping * 100;
    sum = std::min(sum, next);
  }
  rule.errors(table);
}

/// x > 0 rounded to so many significant digits.
inline double rounded_to(double x, int digits) {
  auto const places = digits - 1 - static_cast<int>(std::floor(std::log10(x)));
  auto const power = std::pow(10.0, std::min(std::abs(places), 300));
  return places >= 0 ? std::round(x * power) / power : std::round(x / power) * power;
}

/// Numbers near x, the simplest first: powers of 2 within a part of x, then ever more digits.
inline values simple_numbers(double x, double part) {
  values result;
  auto const power = std::exp2(std::floor(std::log2(x)));
  for (auto const near : {power, 2 * power})
    if (std::abs(near - x) < part * near) result.push_back(near);
  for (int digits = 1; digits < 12; ++digits) result.push_back(rounded_to(x, digits));
  return result;
}

/// Rounds parameters, all at once to as few digits as possible, then one after another to the
/// simplest number, as long as the table stays explained about as well.
inline void simplify(frequency_table const& table, rule_fit& rule) {
  auto const limit = std::clamp(2 * rule.misfit, 0.5, 1.0);
  auto const accept = [&](rule_fit trial) {
    trial.errors(table);
    if (trial.misfit > limit) return false;
    rule = std::move(trial);
    return true;
  };
  bool is_rounded = false;
  for (int digits = 1; digits < 15 && !is_rounded; ++digits) {
    auto trial = rule;
    for (auto& p : trial.parameters)
      if (p.is_free) p.set(rounded_to(p.value, digits));
    is_rounded = accept(std::move(trial));
  }
  for (std::size_t j = 0; j < rule.parameters.size(); ++j) {
    auto const p = rule.parameters[j];
    auto numbers = simple_numbers(p.value, p.name == "original_length" ? 1.0 : 2e-3);
    if (p.name == "base" && table.expected_base)
      numbers.insert(numbers.begin(), *table.expected_base);
    for (auto const simple : numbers) {
      auto trial = rule;
      trial.parameters[j].value = simple;
      if (p.is_free && p.least <= simple && simple <= p.most && accept(std::move(trial))) break;
    }
    rule.parameters[j].is_free = false;
  }
}

}  // namespace identifying
