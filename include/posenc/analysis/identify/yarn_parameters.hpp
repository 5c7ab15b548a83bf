// From the ramp of a YaRN table to YaRN's own parameters.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "posenc/analysis/frequency_explanation.hpp"
#include "posenc/analysis/identify/fit.hpp"
#include "posenc/analysis/identify/simplify.hpp"
#include "posenc/analysis/identify/starts.hpp"
#include "posenc/analysis/identify/table.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/yarn.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The lengths O per turn whose index c = pairs ln(O / 2 pi) / ln(base) rounds to a ramp's end, for
/// bases of an interval. The clamped ends 0 and 2 pairs - 1 stand for all beyond.
inline interval length_of_ramp_end(std::size_t pairs, interval const& base,
                                   fit_parameter const& end, bool truncate, bool is_first) {
  auto const length = [&](double of_base, double index) {
    auto const exponent = std::log(of_base) * index / static_cast<double>(pairs);
    return 2 * std::numbers::pi * std::exp(std::min(exponent, 700.0));
  };
  bool const is_clamped =
      is_first ? end.value <= 0 : end.value >= 2 * static_cast<double>(pairs) - 1;
  auto from = end.fits_from, to = end.fits_to;
  // Not at the very edges of the interval, where a rounded logarithm may fall on either side.
  if (truncate && is_first) from = end.value + 1e-9, to = end.value + 1 - 1e-9;
  if (truncate && !is_first) from = end.value - 1 + 1e-9, to = end.value - 1e-9;
  return {is_clamped && is_first ? 1e-30 : length(base.least, from),
          is_clamped && !is_first ? 1e30 : length(base.most, to)};
}

/// Sets parameters, remarks and `made` of an explanation from a fit of factor, base, first, last
/// and perhaps extrapolation.
inline void tell_yarn(frequency_table const& table, rule_fit const& fit,
                      frequency_explanation& told) {
  auto const pairs = told.made.pairs();
  auto const &factor = fit.parameters[0], &base = fit.parameters[1], &first = fit.parameters[2],
             &last = fit.parameters[3];
  auto const is_whole = [](double x) { return x == std::round(x); };
  bool const truncate = is_whole(first.value) && is_whole(last.value);
  interval const one_base{base.value, base.value}, all_bases{base.fits_from, base.fits_to};
  auto const lengths_of = [&](interval const& bases) {
    return std::pair(length_of_ramp_end(pairs, bases, first, truncate, true),
                     length_of_ramp_end(pairs, bases, last, truncate, false));
  };
  // Both ends by one length if beta_fast can be 32; else by beta_slow alone.
  auto const length_of = [](auto const& lengths) {
    auto const [fast, slow] = lengths;
    interval const both{std::max(32 * fast.least, slow.least), std::min(32 * fast.most, slow.most)};
    return both.is_empty() ? slow : both;
  };
  auto const at_base = lengths_of(one_base);
  auto const original = simplest_in(length_of(at_base));
  auto const turns_of = [&](interval const& fast) {
    return interval{original / std::min(fast.most, original * 1e12), original / fast.least};
  };
  auto const turns = turns_of(at_base.first);
  auto const in_turns = turns.least <= 32 && 32 <= turns.most ? 32 : simplest_in(turns);
  auto const length = length_of(lengths_of(all_bases));
  auto const beta_fast = turns_of(lengths_of(all_bases).first);

  yarn_scaling scaling{.factor = factor.value, .original_length = original};
  scaling.beta_fast = in_turns, scaling.truncate = truncate;
  auto const parameter = [](fit_parameter const& p) {
    return rule_parameter{p.name, p.value, p.fits_from, p.fits_to};
  };
  told.parameters = {parameter(factor),
                     parameter(base),
                     {"original_length", original, length.least, length.most},
                     {"beta_fast", in_turns, beta_fast.least, beta_fast.most},
                     {"beta_slow", 1, 1, 1},
                     {"truncate", truncate ? 1 : 0, 0, truncate ? 1.0 : 0.0}};
  if (fit.parameters.size() > 4) {
    scaling.extrapolation = fit.parameters[4].value;
    told.parameters.push_back(parameter(fit.parameters[4]));
  }
  auto const kept = static_cast<std::size_t>(
      std::ranges::count_if(told.made.inv_freq(), [](double f) { return f != 0; }));
  auto const made = kept_pairs(yarn(2 * pairs, base.value, scaling).with_attention_factor(1), kept);
  // The ends of a ramp that is not truncated have rounding errors, which a large factor magnifies.
  if (truncate || table.misfit(made.inv_freq()) <= 1) told.made = made;
  told.remarks.push_back(
      "beta_slow is 1 by convention: it, beta_fast and original_length times one number make the "
      "same table.");
  told.remarks.push_back("The attention factor is not in a table of frequencies.");
  if (last.value > static_cast<double>(pairs) - 1) {
    told.remarks.push_back(
        "No pair is divided by the whole factor: the factor and where the ramp ends go together.");
  }
}

}  // namespace posenc::detail
