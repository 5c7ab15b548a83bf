// Which rule of frequency/, with which parameters, made a table of frequencies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/analysis/identify/rules.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/longrope.hpp"

namespace posenc::inline POSENC_TARGET {

/// A parameter of a frequency rule, by its name in the rule's header.
struct rule_parameter {
  std::string name;             ///< base, factor ...
  std::optional<double> value;  ///< the simplest that fits; nothing where any value would
};

/// A way in which a table may have been made.
struct frequency_explanation {
  std::string rule;  ///< the function in frequency/: geometric, linear, truncated, llama3 ...
  std::vector<rule_parameter> parameters = {};  ///< in the order of its arguments
  bool within_rounding = false;  ///< the table is this rule, but for the rounding of its numbers
  double relative_error = 0;     ///< the largest
  std::vector<double> factors = {};  ///< of divided_by_factors, one per pair
};

/// What identify() found.
struct identification {
  /// The rounding of the numbers, relative: of their type, or a coarser one that explains them.
  double unit_roundoff = 0;
  /// Best first: those within rounding, the simplest first; then the others, by their error. A
  /// factor for each pair (divided_by_factors) is first if no rule is within rounding, else last.
  std::vector<frequency_explanation> explanations = {};

  frequency_explanation const& best() const { return explanations.front(); }  ///< the first
};

/// What is known beforehand of a table.
struct identify_options {
  /// A base that is expected, as a file says it: preferred where the table leaves a choice.
  std::optional<double> base = {};
  /// The largest relative error of rounding a number: for decimals of k digits 0.5 10^(1 - k).
  /// Without, that of the numbers' type; if no rule explains them, of float, half and bfloat16 in
  /// turn, where all numbers are of that type (for doubles: computed in float).
  std::optional<double> unit_roundoff = {};
};

namespace detail::identifying {

inline frequency_explanation explanation_of(frequency_table const& table, rule_fit rule) {
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
inline frequency_explanation per_pair_factors(frequency_table const& table) {
  auto const base = table.expected_base.value_or(1e4);
  auto const series = geometric(2 * table.value.size(), base);
  frequency_explanation told{
      .rule = "divided_by_factors", .parameters = {{"base", base}}, .within_rounding = true};
  for (std::size_t i = 0; i < table.value.size(); ++i) {
    auto const x = table.value[i];
    told.factors.push_back(x == 0 ? 1e30 : std::min(series.inv_freq()[i] / x, 9e29));
  }
  return told;
}

/// Best first.
inline std::vector<frequency_explanation> explain(frequency_table const& table) {
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

inline double unit_roundoff_of(double) { return 0x1p-53; }
inline double unit_roundoff_of(float) { return 0x1p-24; }
inline double unit_roundoff_of(half) { return 0x1p-11; }
inline double unit_roundoff_of(bfloat16) { return 0x1p-8; }

}  // namespace detail::identifying

/// Which rule made a table of frequencies, one number per pair, in radians per position:
///
///     auto const found = identify(inv_freq);                 // std::vector<float>
///     found.best().rule;                                     // "llama3"
///     found.best().parameters[0];                            // "factor", 8
///     found.explanations[1];                                 // the next best: "yarn", off by 12 %
///
/// Tried are geometric (ntk is that of another base), geometric_inclusive, linear, truncated,
/// proportional, llama3 and yarn (of six numbers or more), computed in float as engines do: a
/// number may be off by its rounding and by (8 + |ln inv_freq|) unit roundoffs of float (of the
/// storage, if that is finer), the error of base^exponent. `within_rounding` says whether all are.
/// Parameters are the simplest that fit: a table of float determines a base to 5 to 7 digits.
/// low_freq_factor and beta_slow are taken to be 1; a frequency of 0 is a pair that does not
/// rotate. For a GGUF file's tensor rope_freqs, pass divided_by_factors(geometric(dim, base),
/// factors). Throws std::invalid_argument unless there are 1 to 4096 numbers, all from 0 to 2^64,
/// base is above 1 and unit_roundoff in (0, 0.1].
template <class List>
requires storable<detail::span_value_t<List const>> identification
identify(List const& inv_freq, identify_options const& options = {}) {
  using T = std::remove_cv_t<detail::span_value_t<List const>>;
  std::span<T const> const given(inv_freq);
  auto const finest = detail::identifying::unit_roundoff_of(storage_format_t<T>());
  auto const u = options.unit_roundoff.value_or(finest), base = options.base.value_or(2);
  detail::require(!given.empty() && given.size() <= 4096,
                  "identify: there must be 1 to 4096 numbers, got ", given.size());
  detail::require(is_finite(u) && u > 0 && u <= 0.1,
                  "identify: unit_roundoff must be in (0, 0.1], got ", u);
  detail::require_above_1("identify", "base", base);
  std::vector<double> numbers;
  for (auto const& one : given) {
    auto const x = static_cast<double>(load(one));
    detail::require(is_finite(x) && x >= 0 && x <= 0x1p64,
                    "identify: numbers must be from 0 to 2^64, got ", x, " at ", numbers.size());
    numbers.push_back(x);
  }
  identification found{u, detail::identifying::explain({numbers, u, options.base})};
  for (auto const coarser : {0x1p-24, 0x1p-11, 0x1p-8}) {
    bool const is_possible = coarser == 0x1p-24 || std::ranges::all_of(numbers, [&](double x) {
                               int exponent = 0;
                               auto const digits = std::frexp(x, &exponent) / coarser;
                               return digits == std::round(digits);
                             });
    if (found.best().factors.empty() || options.unit_roundoff || finest >= coarser || !is_possible)
      continue;
    auto explanations = detail::identifying::explain({numbers, coarser, options.base});
    if (explanations.front().factors.empty()) found = {coarser, std::move(explanations)};
  }
  return found;
}

}  // namespace posenc
