// From fits of all rules to explanations, in order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "posenc/analysis/frequency_explanation.hpp"
#include "posenc/analysis/identify/fit.hpp"
#include "posenc/analysis/identify/other_rules.hpp"
#include "posenc/analysis/identify/same_tables.hpp"
#include "posenc/analysis/identify/scaled_rules.hpp"
#include "posenc/analysis/identify/simplify.hpp"
#include "posenc/analysis/identify/starts.hpp"
#include "posenc/analysis/identify/table.hpp"
#include "posenc/analysis/identify/yarn_parameters.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/longrope.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Its errors against the table; whether it explains it.
inline void measure(frequency_table const& table, frequency_explanation& told) {
  auto const made = told.made.inv_freq();
  told.within_rounding = table.misfit(made) <= 1;
  told.relative_error = table.relative_error(made);
  told.ulps = table.ulps(made);
}

/// Of a rule that was fitted, by its own name and parameters.
inline frequency_explanation explanation_of(frequency_table const& table, rule_fit& rule) {
  auto const fitted = rule.fitted();
  simplify(table, rule);
  fit_ranges(table, rule);
  frequency_explanation told{.rule = rule.rule.substr(0, rule.rule.find(',')),
                             .fitted = fitted,
                             .made = rule.make(rule.values(), true)};
  for (auto const& p : rule.parameters)
    told.parameters.push_back({p.name, p.value, p.fits_from, p.fits_to});
  if (told.rule == "yarn") tell_yarn(table, rule, told);
  tell_rest(table, told);
  measure(table, told);
  return told;
}

/// The last resort: a factor for each pair over a base.
inline frequency_explanation per_pair_factors(frequency_table const& table) {
  auto const base = table.likely_bases.empty() ? 1e4 : table.likely_bases.front();
  auto const series = geometric(2 * table.pairs(), base);
  std::vector<double> factors;
  for (std::size_t i = 0; i < table.pairs(); ++i) {
    auto const x = table.value[i];
    factors.push_back(x == 0 ? 1e30 : std::min(series.inv_freq()[i] / x, 9e29));
  }
  frequency_explanation told{.rule = "divided_by_factors",
                             .parameters = {{"base", base, least_base, most_base}},
                             .fitted = table.pairs() + 1,
                             .factors = factors,
                             .made = divided_by_factors(series, factors)};
  told.same_table.push_back({"longrope", {{"base", base, least_base, most_base}}});
  told.remarks.push_back("Any table is a factor for each pair; any base has such factors.");
  measure(table, told);
  return told;
}

/// Rules within rounding by simplicity, then the others by error. Factors for each pair, which
/// always fit, are first if no rule is within rounding, else last.
inline void sort_explanations(std::vector<frequency_explanation>& list) {
  auto const is_rule = [](auto const& one) { return one.rule != "divided_by_factors"; };
  bool const found = std::ranges::any_of(
      list, [&](auto const& one) { return one.within_rounding && is_rule(one); });
  auto const group = [&](auto const& one) {
    return !is_rule(one) ? (found ? 3 : 0) : one.within_rounding ? 1 : 2;
  };
  std::ranges::stable_sort(list, [&](auto const& a, auto const& b) {
    if (group(a) != group(b)) return group(a) < group(b);
    if (group(a) == 2 && a.relative_error != b.relative_error)
      return a.relative_error < b.relative_error;
    return a.fitted < b.fitted;
  });
}

/// A table whose sections have rules of their own.
inline frequency_explanation explained_by_sections(
    frequency_table const& table, std::vector<std::size_t> const& starts,
    std::function<std::vector<frequency_explanation>(frequency_table const&)> const& explain_one) {
  std::vector<frequency_explanation> sections;
  std::vector<double> inv_freq, rest;
  std::size_t fitted = starts.size() - 1;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    auto const end = k + 1 < starts.size() ? starts[k + 1] : table.pairs();
    auto one = explain_one(table.part(starts[k], end - starts[k])).front();
    auto const &f = one.made.inv_freq(), &r = one.made.rest();
    inv_freq.insert(inv_freq.end(), f.begin(), f.end()),
        rest.insert(rest.end(), r.begin(), r.end());
    fitted += one.fitted;
    sections.push_back(std::move(one));
  }
  frequency_explanation told{.rule = "sections",
                             .fitted = fitted,
                             .sections = std::move(sections),
                             .made = frequencies(inv_freq, rest, 1)};
  measure(table, told);
  return told;
}

/// The explanations of one series that falls, with zeros at its end or without. Where a rule
/// explains it, those that include that rule, for a factor of 1, say, are left out.
inline std::vector<frequency_explanation> explain_series(frequency_table const& table) {
  std::vector<frequency_explanation> list;
  auto const n = table.rotated();
  bool is_explained = false;
  auto const add = [&](rule_fit fitted) {
    // So many parameters would fit any table.
    auto const count = fitted.fitted();
    if (fitted.parameters.empty() || count > n || (count > 2 && count + 2 > n)) return;
    list.push_back(explanation_of(table, fitted));
    is_explained = is_explained || list.back().within_rounding;
  };
  add(fit_geometric(table));
  if (!is_explained && n > 1) add(fit_linear(table));
  if (!is_explained && n > 2) {
    add(fit_mixed_ntk(table)), add(fit_llama3(table)), add(fit_yarn(table, false));
    add(fit_part_ntk(table, false));
    if (n + 1 == table.pairs()) add(fit_raised_cosine_clip(table));
  }
  if (!is_explained && n > 5) add(fit_yarn(table, true)), add(fit_part_ntk(table, true));
  list.push_back(per_pair_factors(table));
  sort_explanations(list);
  return list;
}

/// All explanations of a table whose numbers are frequencies, best first.
inline std::vector<frequency_explanation> explain(frequency_table const& table) {
  if (table.rotated() == 0) return explain_nothing(table);
  std::vector<frequency_explanation> list;
  auto const starts = section_starts(table);
  if (starts.size() == 1) list = explain_series(table);
  if (starts.size() > 1) {
    auto axes = fit_axial(table, starts);
    list.push_back(explanation_of(table, axes));
    for (std::size_t k = 0; k < starts.size(); ++k) {
      auto const end = k + 1 < starts.size() ? starts[k + 1] : table.pairs();
      auto const dims = 2 * static_cast<double>(end - starts[k]);
      list.front().parameters.push_back({"dims " + std::to_string(k), dims, dims, dims});
    }
    if (!list.front().within_rounding && starts.size() <= 8) {
      auto sections = explained_by_sections(table, starts, explain_series);
      bool const are_rules = std::ranges::none_of(
          sections.sections, [](auto const& one) { return one.rule == "divided_by_factors"; });
      if (are_rules) list.push_back(std::move(sections));
    }
    list.push_back(per_pair_factors(table));
  }
  if (table.pairs() > 1) {
    auto steps = fit_pixel(table);
    list.push_back(explanation_of(table, steps));
  }
  if (has_whole_wavelengths(table)) {
    if (auto whole = fit_resonance(table)) {
      list.push_back(explanation_of(table, *whole));
      auto& base = list.back().parameters[0];
      base.least = whole->parameters[0].least, base.most = whole->parameters[0].most;
    }
  }
  sort_explanations(list);
  return list;
}

}  // namespace posenc::detail
