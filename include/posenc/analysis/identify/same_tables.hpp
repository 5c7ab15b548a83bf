// Rules that make the same table, which no table can tell apart; and what rules call parameters.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "posenc/analysis/frequency_explanation.hpp"
#include "posenc/analysis/identify/fit.hpp"
#include "posenc/analysis/identify/simplify.hpp"
#include "posenc/analysis/identify/starts.hpp"
#include "posenc/analysis/identify/table.hpp"
#include "posenc/analysis/identify/yarn_parameters.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// A parameter, raised to a power: its simplest value in that interval.
inline rule_parameter power_of(rule_parameter const& p, std::string name, double exponent,
                               double divisor = 1) {
  auto const at = [&](double x) { return std::pow(x / divisor, exponent); };
  // A range of a double's own width has rounded ends.
  interval const in{std::min(at(p.least), at(p.most)) * (1 - 2e-14),
                    std::max(at(p.least), at(p.most)) * (1 + 2e-14)};
  auto const kept = at(*p.value);
  auto const simple = simplest_in(in);
  return {std::move(name), digits_of(simple) < 13 ? simple : kept, in.least, in.most};
}

/// The base and factor of ntk that make a geometric series of another base: the base of which the
/// factor is simplest, or any, if it is simple for none.
inline named_rule as_ntk(frequency_table const& table, rule_parameter const& base) {
  auto const d = 2 * static_cast<double>(table.pairs());
  named_rule best;
  int fewest = 100;
  auto const consider = [&](double before) {
    if (!(before > 1 && before < base.least)) return;
    auto const factor = power_of(base, "factor", (d - 2) / d, before);
    auto const digits = digits_of(*factor.value);
    if (digits >= fewest) return;
    fewest = digits, best = {"ntk", {{"base", before, least_base, base.most}, factor}};
  };
  for (auto const before : table.likely_bases) consider(before);
  for (auto const before : usual_bases) consider(before);
  if (fewest <= 4 || !(base.least > 1)) return best;
  return {"ntk", {{"base", {}, least_base, base.most}, {"factor", {}, 1, base.most}}};
}

/// Names a geometric series without zeros: other rules make the same table, and the simplest of
/// them is told.
inline void tell_geometric(frequency_table const& table, frequency_explanation& told) {
  auto const base = told.parameters[0];
  auto const pairs = table.pairs();
  if (pairs == 1) {
    told.parameters[0] = {"base", {}, 0x1p-60, 1e300};
    told.remarks.push_back("One pair: any base makes it.");
    return;
  }
  if (!(told.within_rounding = table.misfit(told.made.inv_freq()) <= 1)) return;
  auto const n = static_cast<double>(pairs);
  named_rule const plain{"geometric", {base}};
  named_rule const inclusive{"geometric_inclusive", {power_of(base, "base", (n - 1) / n)}};
  auto const digits = [](named_rule const& rule) { return digits_of(*rule.parameters[0].value); };
  if (pairs > 2 && digits(inclusive) + 2 <= digits(plain)) {
    told.rule = inclusive.rule, told.parameters = inclusive.parameters;
    told.made = geometric_inclusive(2 * pairs, *told.parameters[0].value);
    told.same_table.push_back(plain);
  } else if (pairs > 2) {
    told.same_table.push_back(inclusive);
  }
  if (pairs > 1) {
    auto scaled = as_ntk(table, base);
    if (!scaled.rule.empty()) {
      told.same_table.push_back(scaled);
      scaled.rule = "dynamic_ntk";
      scaled.parameters[1].name = "factor * length / trained_length - (factor - 1)";
      told.same_table.push_back(std::move(scaled));
    }
  }
  for (auto const parts : {2.0, 4.0}) {
    auto const whole = power_of(base, "base", parts);
    if (*base.value >= 1e4 || std::ranges::find(usual_bases, *whole.value) == std::end(usual_bases))
      continue;
    told.same_table.push_back({"truncated", {whole, {"p", 1 / parts, 1 / parts, 1 / parts}}});
    told.remarks.push_back("As truncated: of a head " + std::to_string(static_cast<int>(parts)) +
                           " times as long, without the pairs of frequency 0.");
  }
}

/// Names a series that ends in zeros: truncated, with p, the share of pairs that rotate.
inline void tell_zeros(frequency_table const& table, frequency_explanation& told) {
  auto const pairs = static_cast<double>(table.pairs()),
             kept = static_cast<double>(table.rotated());
  rule_parameter const p{"p", kept / pairs, kept / pairs, std::nextafter((kept + 1) / pairs, 0.0)};
  told.fitted += 1;
  auto const base = told.parameters.back();
  if (told.rule == "linear") {
    told.rule = "proportional";
    told.parameters = {base, p, told.parameters[0]};
    return;
  }
  told.parameters.push_back(p);
  if (told.rule != "geometric") {
    told.remarks.push_back("And truncated by p.");
    return;
  }
  told.rule = "truncated";
  if (!(table.misfit(told.made.inv_freq()) <= 1) || table.rotated() < 2) return;
  auto const turn = 2 * std::numbers::pi;
  auto const slowest = table.value[table.rotated() - 1];
  auto const next = slowest * slowest / table.value[table.rotated() - 2];
  interval const length{turn / slowest, turn / next};
  told.same_table.push_back(
      {"fope_floor", {base, {"trained_length", simplest_in(length), length.least, length.most}}});
  told.same_table.push_back(
      {"geometric", {{"dim", 2 * kept, 2 * kept, 2 * kept}, power_of(base, "base", kept / pairs)}});
  told.remarks.push_back("As geometric: of a part of the head, the other dims without a pair.");
}

/// What a fit of a rule leaves to say.
inline void tell_rest(frequency_table const& table, frequency_explanation& told) {
  bool const has_zeros = table.rotated() < table.pairs();
  auto const rule = told.rule;
  if (rule == "pixel" || rule == "axial" || rule == "resonance" || rule == "raised_cosine_clip")
    return;
  if (rule == "llama3") {
    auto const high = told.parameters.back();
    told.parameters.insert(told.parameters.end() - 2, {"low_freq_factor", 1, 1, 1});
    std::swap(told.parameters[3], told.parameters[4]);
    told.remarks.push_back(
        "low_freq_factor is 1 by convention: it, high_freq_factor and original_length times one "
        "number make the same table.");
    auto by_parts = told.parameters;
    by_parts[2].name = "alpha", by_parts[3].name = "beta";
    told.same_table.push_back({"ntk_by_parts", by_parts});
  }
  if (rule == "linear" && table.misfit(told.made.inv_freq()) <= 1) {
    auto const n = static_cast<double>(table.pairs());
    auto const factor = power_of(told.parameters[0], "factor", n);
    if (*factor.value < 1e9 && *factor.value > 1)
      told.same_table.push_back({"mixed_ntk", {factor, {"b", 1, 1, 1}}});
  }
  if (rule == "geometric" && !has_zeros) return tell_geometric(table, told);
  if (has_zeros) tell_zeros(table, told);
}

/// Of a table of zeros alone.
inline std::vector<frequency_explanation> explain_nothing(frequency_table const& table) {
  auto const share = std::nextafter(1 / static_cast<double>(table.pairs()), 0.0);
  frequency_explanation told{.rule = "truncated",
                             .parameters = {{"base", {}, 0x1p-60, 1e300}, {"p", 0, 0, share}},
                             .within_rounding = true,
                             .remarks = {"No pair rotates: NoPE, whatever the base."},
                             .made = frequencies(table.value)};
  return {std::move(told)};
}

}  // namespace posenc::detail
