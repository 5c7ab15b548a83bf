// Fits the parameters of a rule to a table of frequencies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "posenc/analysis/identify/table.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET::detail {

struct fit_parameter {
  std::string name;
  double value, least, most;          ///< the rule takes values from least to most
  bool is_fixed = false;              ///< not chosen to fit
  bool is_held = false;               ///< for a while
  bool is_index = false;              ///< of a pair, mostly whole
  double fits_from = 0, fits_to = 0;  ///< of fit_ranges

  bool is_logarithmic() const noexcept { return least > 0; }
  double coordinate() const { return is_logarithmic() ? std::log(value) : value; }
  void move_to(double at) { value = std::clamp(is_logarithmic() ? std::exp(at) : at, least, most); }
};

using parameter_values = std::vector<double>;

/// A rule of some parameters. `make` gives its frequencies: exactly, or fast, within the tolerance
/// of a table.
struct rule_fit {
  std::string rule;
  std::vector<fit_parameter> parameters;
  std::function<frequencies(parameter_values const&, bool exactly)> make;
  double misfit = 1e30;  ///< of fit()

  parameter_values values() const {
    parameter_values result;
    for (auto const& one : parameters) result.push_back(one.value);
    return result;
  }
  std::vector<double> made(bool exactly = false) const {
    auto const f = make(values(), exactly);
    return {f.inv_freq().begin(), f.inv_freq().end()};
  }
  std::size_t fitted() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(parameters, [](auto const& p) { return !p.is_fixed; }));
  }
};

/// Solves a x = b in place, by elimination; false if a is singular.
inline bool solve(std::vector<std::vector<double>>& a, std::vector<double>& b) {
  auto const n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    auto pivot = k;
    for (auto i = k + 1; i < n; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    if (!(std::abs(a[pivot][k]) > 1e-290)) return false;
    std::swap(a[k], a[pivot]), std::swap(b[k], b[pivot]);
    for (auto i = k + 1; i < n; ++i) {
      auto const times = a[i][k] / a[k][k];
      for (auto j = k; j < n; ++j) a[i][j] -= times * a[k][j];
      b[i] -= times * b[k];
    }
  }
  for (auto k = n; k-- > 0;) {
    for (auto j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return true;
}

/// Least squares by steps of Levenberg and Marquardt, in units of tolerances.
class fitter {
 public:
  fitter(frequency_table const& table, rule_fit& rule) : table_(table), rule_(rule) {
    for (std::size_t j = 0; j < rule.parameters.size(); ++j) {
      auto const& p = rule.parameters[j];
      if (!p.is_fixed && !p.is_held) free_.push_back(j);
    }
  }

  void run(int steps) {
    auto at = residuals();
    auto sum = squares(at);
    double damping = 1e-6;
    for (int step = 0; step < steps && !free_.empty() && damping < 1e12; ++step) {
      auto const before = rule_.parameters;
      if (!take_step(at, damping)) break;
      auto const there = residuals();
      auto const now = squares(there);
      if (now < sum) {
        bool const is_done = sum - now < 1e-3 * sum && damping <= 1e-6;
        at = there, sum = now, damping = std::max(damping / 30, 1e-9);
        if (is_done) break;
      } else {
        rule_.parameters = before, damping *= 100;
      }
    }
    rule_.misfit = table_.misfit(rule_.made());
  }

 private:
  std::vector<double> residuals() const {
    auto result = rule_.made();
    for (std::size_t i = 0; i < result.size(); ++i) {
      auto const misfit = table_.misfit(i, result[i]);
      result[i] = result[i] < table_.value[i] ? -misfit : misfit;
    }
    return result;
  }
  static double squares(std::vector<double> const& r) {
    double sum = 0;
    for (auto const x : r) sum += x * x;
    return sum;
  }

  bool take_step(std::vector<double> const& at, double damping) {
    std::vector<std::vector<double>> columns;
    for (auto const j : free_) {
      auto& p = rule_.parameters[j];
      auto const kept = p.value;
      auto const here = p.coordinate();
      auto const by = 1e-7 * (1 + (p.is_logarithmic() ? 0 : std::abs(here)));
      p.move_to(p.value < p.most ? here + by : here - by);
      auto const moved = p.coordinate() - here;
      auto column = residuals();
      for (std::size_t i = 0; i < column.size(); ++i)
        column[i] = moved == 0 ? 0 : (column[i] - at[i]) / moved;
      columns.push_back(std::move(column));
      p.value = kept;
    }
    auto const n = free_.size();
    std::vector<std::vector<double>> normal(n, std::vector<double>(n));
    std::vector<double> step(n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < at.size(); ++i) step[j] -= columns[j][i] * at[i];
      for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t i = 0; i < at.size(); ++i) normal[j][k] += columns[j][i] * columns[k][i];
      }
    }
    for (std::size_t j = 0; j < n; ++j)
      normal[j][j] = normal[j][j] == 0 ? 1 : normal[j][j] * (1 + damping);
    if (!solve(normal, step)) return false;
    for (std::size_t j = 0; j < n; ++j) {
      auto& p = rule_.parameters[free_[j]];
      p.move_to(p.coordinate() + step[j]);
    }
    return true;
  }

  frequency_table const& table_;
  rule_fit& rule_;
  std::vector<std::size_t> free_;
};

inline void fit(frequency_table const& table, rule_fit& rule, int steps = 40) {
  fitter(table, rule).run(steps);
}

}  // namespace posenc::detail
