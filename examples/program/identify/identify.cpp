#include "identify.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "frequency_rules.hpp"
#include "posenc/core/require.hpp"
#include "posenc/frequency/geometric.hpp"

namespace identifying {
namespace {

frequency_explanation explanation_of(frequency_table const& table, rule_fit rule) {
  auto const errors = rule.errors(table);
  frequency_explanation told{.rule = rule.rule, .within_rounding = rule.misfit <= 1};
  for (auto const& p : rule.parameters) told.parameters.push_back({p.name, p.value});
  for (std::size_t i = 0; i < table.rotated; ++i) {
    auto const relative = table.tolerance[i] / std::max(table.value[i], 1e-300);
    auto const error = std::abs(errors[static_cast<Eigen::Index>(i)]) * relative;
    told.relative_error = std::max(told.relative_error, error);
  }
  if (table.value.size() == 1) told.parameters[0].value = {};
  if (table.rotated == table.value.size()) return told;
  // A share p of the pairs rotates.
  told.parameters.push_back({"p", static_cast<double>(table.rotated) / table.pairs()});
  if (told.rule == "geometric") told.rule = "truncated";
  if (told.rule == "linear") {
    told.rule = "proportional";
    std::rotate(told.parameters.begin(), told.parameters.begin() + 1, told.parameters.end());
  }
  return told;
}

/// The last resort: a factor for each pair over a base.
frequency_explanation per_pair_factors(frequency_table const& table) {
  auto const base = table.expected_base.value_or(1e4);
  auto const series = posenc::geometric(2 * table.value.size(), base);
  frequency_explanation told{
      .rule = "divided_by_factors", .parameters = {{"base", base}}, .within_rounding = true};
  for (std::size_t i = 0; i < table.value.size(); ++i) {
    auto const x = table.value[i];
    told.factors.push_back(x == 0 ? 1e30 : std::min(series.inv_freq()[i] / x, 9e29));
  }
  return told;
}

/// Best first.
std::vector<frequency_explanation> explain(frequency_table const& table) {
  if (table.rotated == 0)
    return {{.rule = "truncated", .parameters = {{"base", {}}, {"p", 0}}, .within_rounding = true}};
  std::vector<frequency_explanation> list;
  for (auto const& rule : fit_rules(table)) list.push_back(explanation_of(table, rule));
  std::ranges::stable_sort(list, {}, [](frequency_explanation const& one) {
    return one.within_rounding ? 0 : one.relative_error;
  });
  list.insert(list.front().within_rounding ? list.end() : list.begin(), per_pair_factors(table));
  return list;
}

}  // namespace

identification identify(std::span<double const> inv_freq, identify_options const& options) {
  using posenc::is_finite, posenc::detail::require;
  auto const u = options.unit_roundoff.value_or(0x1p-53), base = options.base.value_or(2);
  require(!inv_freq.empty() && inv_freq.size() <= 4096,
          "identify: there must be 1 to 4096 numbers, got ", inv_freq.size());
  require(is_finite(u) && u > 0 && u <= 0.1, "identify: unit_roundoff must be in (0, 0.1], got ",
          u);
  posenc::detail::require_above_1("identify", "base", base);
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    auto const x = inv_freq[i];
    require(is_finite(x) && x >= 0 && x <= 0x1p64, "identify: numbers must be from 0 to 2^64, got ",
            x, " at ", i);
  }
  values const numbers(inv_freq.begin(), inv_freq.end());
  identification found{u, explain({numbers, u, options.base})};
  if (options.unit_roundoff) return found;
  for (auto const coarser : {0x1p-24, 0x1p-11, 0x1p-8}) {
    bool const is_possible = coarser == 0x1p-24 || std::ranges::all_of(numbers, [&](double x) {
                               int exponent = 0;
                               auto const digits = std::frexp(x, &exponent) / coarser;
                               return digits == std::round(digits);
                             });
    if (found.best().factors.empty() || !is_possible) continue;
    auto explanations = explain({numbers, coarser, options.base});
    if (explanations.front().factors.empty()) found = {coarser, std::move(explanations)};
  }
  return found;
}

}  // namespace identifying
