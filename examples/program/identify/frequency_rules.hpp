// A fit of each rule of released models to a table of frequencies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "frequency_fit.hpp"

namespace identifying {

using rule_parameters = std::vector<fit_parameter>;

constexpr double turn = 2 * std::numbers::pi;

inline fit_parameter positive(std::string name, double value, double least = 1e-12,
                              double most = 1e15) {
  return {std::move(name), std::clamp(value, least, most), least, most};
}
inline fit_parameter base_of(double base, double least = 1 + 0x1p-20) {
  return positive("base", base, least, 1e300);
}
inline fit_parameter fixed(std::string name, double value) {
  return {std::move(name), value, value, value, false};
}

/// The base of a series through two pairs.
inline double base_through(frequency_table const& table, std::size_t from, std::size_t to) {
  auto const x = table.value[from], y = table.value[to];
  if (!(x > 0 && y > 0 && from < to)) return 1;
  auto const step = std::log(x / y) / static_cast<double>(to - from);
  return std::exp(std::clamp(step * table.pairs(), -40.0, 600.0));
}

/// The fit from the start with the smallest errors; no parameters without starts.
inline rule_fit best_fit(frequency_table const& table, std::string const& name,
                         std::vector<rule_parameters> const& starts, formula const& frequency) {
  rule_fit best;
  double least = 1e300;
  for (auto const& start : starts) {
    rule_fit one{name, start, frequency};
    auto const sum = one.errors(table).squaredNorm();
    if (sum < least) least = sum, best = std::move(one);
  }
  if (!best.parameters.empty()) fit(table, best);
  return best;
}

/// Starts from bases of the series along the first pairs, the last ones, and all: rules mostly keep
/// the fast pairs, and divide the slow ones by a number.
std::vector<rule_parameters> by_bases(frequency_table const& table, auto const& start) {
  std::vector<rule_parameters> starts;
  if (table.expected_base) starts.push_back(start(*table.expected_base));
  for (std::size_t k = 1, last = table.rotated - 1; k <= last; k += k / 2 + 1) {
    for (auto const base : {base_through(table, 0, k), base_through(table, last - k, last)})
      if (base > 1) starts.push_back(start(base));
  }
  return starts;
}

inline rule_fit fit_geometric(frequency_table const& table, bool inclusive) {
  auto const off = inclusive ? 1.0 : 0.0, n = table.pairs();
  auto const base = std::pow(base_through(table, 0, table.rotated - 1), (n - off) / n);
  return best_fit(table, inclusive ? "geometric_inclusive" : "geometric",
                  {{base_of(base, 0x1p-60)}}, [off](values const& p, double i, double pairs) {
                    return std::pow(p[0], -i / (pairs - off));
                  });
}

inline rule_fit fit_linear(frequency_table const& table) {
  auto const factor = positive("factor", 1 / table.value[0]);
  auto const start = [&](double base) { return rule_parameters{factor, base_of(base)}; };
  return best_fit(table, "linear", by_bases(table, start), [](values const& p, double i, double n) {
    return std::pow(p[1], -i / n) / p[0];
  });
}

/// A guess of a rule that keeps pairs with more than `turns` turns in a length, divides those with
/// less than 1 by a factor, and blends along a ramp between.
struct ramp_guess {
  double factor, length, turns;

  ramp_guess(frequency_table const& table, double base) {
    auto const multiplier = [&](std::size_t i) {
      return table.value[i] * std::pow(base, static_cast<double>(i) / table.pairs());
    };
    std::size_t first = 0, last = table.rotated - 1;
    auto const slow = multiplier(last);
    auto const share = [&](std::size_t i) {
      return slow == 1 ? 0 : (multiplier(i) - slow) / (1 - slow);
    };
    while (first + 1 < last && share(first + 1) > 0.99) ++first;
    while (first + 1 < last && share(last - 1) < 0.01) --last;
    // The ramp begins half a pair behind the last pair that is kept, so that a step has none on it.
    turns = std::pow(base, static_cast<double>(last - first - 1) / table.pairs());
    length = turn * turns * std::pow(base, (static_cast<double>(first) + 0.5) / table.pairs());
    factor = 1 / slow;
  }
};

/// The share that is kept of x, from 0 at `none` to 1 at `all`.
inline double ramp(double x, double none, double all) {
  return none == all ? x >= all : std::clamp((x - none) / (all - none), 0.0, 1.0);
}
/// f of the share `kept`, f / factor of the rest. (A large factor would magnify 1 - kept's error.)
inline double divided(double f, double factor, double kept, double rest) {
  return f * (kept * factor + rest) / factor;
}

inline rule_fit fit_llama3(frequency_table const& table) {
  auto const start = [&](double base) {
    ramp_guess const guess(table, base);
    return rule_parameters{
        positive("factor", guess.factor), base_of(base), fixed("low_freq_factor", 1),
        positive("high_freq_factor", guess.turns, 1), positive("original_length", guess.length)};
  };
  return best_fit(table, "llama3", by_bases(table, start), [](values const& p, double i, double n) {
    auto const f = std::pow(p[1], -i / n), turns = p[4] * f / turn;
    return divided(f, p[0], ramp(turns, p[2], p[3]), ramp(-turns, -p[3], -p[2]));
  });
}

/// The pair with so many turns within a length.
inline double pair_of(double turns, double length, double base, double pairs) {
  return pairs * std::log(length / (turns * turn)) / std::log(base);
}

/// A power of 2, or the number of the fewest digits, from `least` to `most`, which are above 0.
inline double simplest_in(double least, double most) {
  auto const middle = most >= 1e30 ? least * 2 : (least + most) / 2;
  for (auto const x : simple_numbers(middle, 1))
    if (least <= x && x <= most) return x;
  return middle;
}

/// Sets original_length and beta_fast of a ramp whose ends are rounded to these pairs: beta_fast is
/// 32 if it can be, and the length the simplest.
inline void round_yarn(rule_fit& rule, double first, double last, double pairs) {
  auto const length_to = [&](double pair) {
    return std::min(turn * std::pow(rule.parameters[1].value, pair / pairs), 1e29);
  };
  // Not at the very edges, where a rounded logarithm may fall on either side.
  auto const fast_least = first > 0 ? length_to(first + 1e-9) : 1e-30,
             fast_most = length_to(first + 1 - 1e-9), slow_least = length_to(last - 1 + 1e-9),
             slow_most = last < 2 * pairs - 1 ? length_to(last - 1e-9) : 1e30,
             least = std::max(32 * fast_least, slow_least),
             most = std::min(32 * fast_most, slow_most);
  bool const is_32 = least <= most;
  auto const length = is_32 ? simplest_in(least, most) : simplest_in(slow_least, slow_most);
  rule.parameters[2] = fixed("original_length", length);
  rule.parameters[3] =
      fixed("beta_fast", is_32 ? 32 : simplest_in(length / fast_most, length / fast_least));
  rule.parameters[5].value = 1;
}

/// A ramp along pairs, whose ends are said by a length and the turns in it.
inline rule_fit fit_yarn(frequency_table const& table) {
  auto const n = table.pairs();
  auto const start = [&](double base) {
    ramp_guess const guess(table, base);
    return rule_parameters{positive("factor", guess.factor),
                           base_of(base),
                           positive("original_length", guess.length),
                           positive("beta_fast", guess.turns),
                           fixed("beta_slow", 1),
                           fixed("truncate", 0)};
  };
  auto const yarn = [](values const& p, double i, double pairs) {
    auto first = pair_of(p[3], p[2], p[1], pairs), last = pair_of(p[4], p[2], p[1], pairs);
    if (p[5] == 1) first = std::floor(first), last = std::ceil(last);
    first = std::max(first, 0.0), last = std::min(last, 2 * pairs - 1);
    if (first == last) last += 0.001;
    return divided(std::pow(p[1], -i / pairs), p[0], ramp(-i, -last, -first), ramp(i, first, last));
  };
  auto rule = best_fit(table, "yarn", by_bases(table, start), yarn);
  if (rule.parameters.empty()) return rule;
  auto const p = rule.parameters;
  auto const first = std::round(pair_of(p[3].value, p[2].value, p[1].value, n)),
             last = std::round(pair_of(1, p[2].value, p[1].value, n));
  auto rounded = rule;
  round_yarn(rounded, first, last, n), fit(table, rounded);
  if (rounded.misfit > std::clamp(2 * rule.misfit, 0.5, 1.0)) return rule;
  simplify(table, rounded), round_yarn(rounded, first, last, n), rounded.errors(table);
  return rounded;
}

/// The rules that a table of so many numbers may be of, fewest parameters first. Where one explains
/// the table, those that include it, for a factor of 1, say, are left out.
inline std::vector<rule_fit> fit_rules(frequency_table const& table) {
  auto const n = table.rotated;
  std::vector<rule_fit> rules;
  bool is_explained = false;
  auto const add = [&](rule_fit rule) {
    if (rule.parameters.empty()) return;
    simplify(table, rule);
    is_explained = is_explained || rule.misfit <= 1;
    rules.push_back(std::move(rule));
  };
  add(fit_geometric(table, false));
  if (is_explained && n > 2 && n == table.value.size()) {
    add(fit_geometric(table, true));
    auto const is_round = [&](std::size_t k) {
      auto const base = rules[k].parameters[0].value;
      return base == rounded_to(base, 2);
    };
    if (is_round(1) && !is_round(0)) std::swap(rules[0], rules[1]);
  }
  if (!is_explained && n > 1) add(fit_linear(table));
  // Four parameters would fit any table of fewer numbers.
  if (!is_explained && n > 5) add(fit_llama3(table)), add(fit_yarn(table));
  return rules;
}

}  // namespace identifying
