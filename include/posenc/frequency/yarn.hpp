// YaRN as coded by its authors and everybody since: the ramp runs over the indices of pairs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <span>

#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The numbers of YaRN, with the names of rope_scaling.
struct yarn_scaling {
  double factor;           ///< s, above 0
  double original_length;  ///< O, the trained context in tokens
  double beta_fast = 32;   ///< more turns within O: frequency kept
  double beta_slow = 1;    ///< fewer turns within O: divided by factor
  bool truncate = true;    ///< round the ramp's ends outwards; not in gpt-oss
  std::optional<double> mscale = {}, mscale_all_dim = {};  ///< DeepSeek's; 0 means none
  std::optional<double> attention_factor = {};             ///< replaces the computed one
  /// ggml's ext_factor, in [0, 1]. It multiplies the share of each frequency that the ramp leaves
  /// undivided: at 1 YaRN acts as published, at 0 all frequencies are divided by factor.
  double extrapolation = 1;
};

/// The indices between which YaRN's ramp rises. beta_fast below beta_slow gives last < first: a
/// falling ramp.
struct yarn_ramp {
  double first, last;  ///< indices of pairs, fractional
  /// The ramp at pair i, from 0 to 1.
  double at(std::size_t i) const noexcept {
    return std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
  }
};

namespace detail {

/// (1 - ramp_i) before + ramp_i after, and of that sum the share `kept`; the rest is `after`.
inline two_doubles blended(yarn_ramp const& ramp, std::size_t i, two_doubles const& before,
                           two_doubles const& after, double kept = 1) {
  auto const share =
      (static_cast<double>(i) - two_doubles(ramp.first)) / (two_doubles(ramp.last) - ramp.first);
  auto const along = share.high <= 0   ? before
                     : share.high >= 1 ? after
                                       : after * share + before * (1 - share);
  return kept == 1 ? along : along * kept + after * (1 - two_doubles(kept));
}

/// 0.1 m ln s + 1, and 1 for s below 1. [Peng 2023, 3.4, with m = 1; get_mscale of jquesnelle/yarn]
inline double yarn_magnitude(double factor, double mscale = 1) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

inline void require_yarn(char const* what, yarn_scaling const& s) {
  require_positive(what, "factor", s.factor);
  require_positive(what, "original_length", s.original_length);
  require_positive(what, "beta_fast", s.beta_fast);
  require_positive(what, "beta_slow", s.beta_slow);
  for (auto const m : {s.mscale.value_or(0), s.mscale_all_dim.value_or(0)})
    require_not_negative(what, "mscale and mscale_all_dim", m);
  require_within(what, "extrapolation", s.extrapolation, 0, 1);
  require_positive(what, "attention_factor", s.attention_factor.value_or(1));
}

/// ln(O / (2 pi r)).
inline double logarithm_of_turns(yarn_scaling const& s, double turns) {
  auto const ratio = s.original_length / (turns * 2 * std::numbers::pi);
  bool const is_normal = is_finite(ratio) && ratio >= std::numeric_limits<double>::min();
  return is_normal ? std::log(ratio)
                   : std::log(s.original_length) - std::log(turns) - std::log(2 * std::numbers::pi);
}

inline yarn_ramp ramp_between(double first, double last, std::size_t rotary_dim, bool truncate) {
  if (truncate) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, static_cast<double>(rotary_dim) - 1);
  if (first == last) last += 0.001;
  return {first, last};
}

/// ramp_of_yarn for a series that need not be geometric.
inline yarn_ramp ramp_of_series(std::span<double const> inv_freq, yarn_scaling const& scaling) {
  auto const index = [&](double turns) {
    if (inv_freq.size() == 1) return 0.0;
    auto const target = -logarithm_of_turns(scaling, turns);
    std::size_t i = 0;
    while (i + 2 < inv_freq.size() && std::log(inv_freq[i + 1]) > target) ++i;
    auto const above = std::log(inv_freq[i]), below = std::log(inv_freq[i + 1]);
    return static_cast<double>(i) + (above - target) / (above - below);
  };
  return ramp_between(index(scaling.beta_fast), index(scaling.beta_slow), 2 * inv_freq.size(),
                      scaling.truncate);
}

}  // namespace detail

/// From c(beta_fast) to c(beta_slow), where c(r) = d ln(O / (2 pi r)) / (2 ln base) is the index of
/// the pair with r turns within O. Rounded outwards if truncate, clamped to [0, d - 1] (not d/2 -
/// 1), and 0.001 apart if equal. Throws as yarn does.
inline yarn_ramp ramp_of_yarn(std::size_t rotary_dim, double base, yarn_scaling const& scaling) {
  detail::require_yarn("yarn", scaling);
  detail::require_above_1("yarn", "base", base);
  auto const dim = static_cast<double>(rotary_dim);
  auto const index = [&](double turns) {
    return dim * detail::logarithm_of_turns(scaling, turns) / (2 * std::log(base));
  };
  return detail::ramp_between(index(scaling.beta_fast), index(scaling.beta_slow), rotary_dim,
                              scaling.truncate);
}

/// YaRN's factor on rotated queries and on rotated keys, so twice on scores: attention_factor if it
/// is given; else g(mscale) / g(mscale_all_dim) if both are; else g(1), where g(m) = 0.1 m
/// ln(factor) + 1, or 1 for factors below 1. [modeling_rope_utils.py]
/// If only mscale is given, vLLM and DeepSeek's own code take g(mscale).
inline double attention_factor(yarn_scaling const& scaling) {
  detail::require_yarn("attention_factor", scaling);
  if (scaling.attention_factor) return *scaling.attention_factor;
  auto const numerator = scaling.mscale.value_or(0),
             denominator = scaling.mscale_all_dim.value_or(0);
  if (numerator == 0 || denominator == 0) return detail::yarn_magnitude(scaling.factor);
  return detail::yarn_magnitude(scaling.factor, numerator) /
         detail::yarn_magnitude(scaling.factor, denominator);
}

/// The factor that DeepSeek V2 and V3 and Kimi K2 put on all scores besides, the dims that are not
/// rotated included: g(mscale_all_dim)^2, or 1 without mscale_all_dim. It is not part of the
/// frequencies: multiply attention's scale by it. [modeling_deepseek_v3.py]
inline double softmax_factor(yarn_scaling const& scaling) {
  detail::require_yarn("softmax_factor", scaling);
  auto const magnitude = detail::yarn_magnitude(scaling.factor, scaling.mscale_all_dim.value_or(0));
  return magnitude * magnitude;
}

/// With the geometric series e_i = base^(-2i / rotary_dim):
///
///     inv_freq_i = e_i / factor * (1 - kept_i) + e_i kept_i
///     kept_i = extrapolation (1 - clamp((i - first) / (last - first), 0, 1))
///
/// [jquesnelle/yarn; modeling_rope_utils.py; vLLM; llama.cpp, which always truncates.] The paper's
/// ramp, yarn_by_rotations, gives frequencies that differ by up to 3 times. The attention factor is
/// attention_factor(scaling). The ramp's ends are doubles: without truncate, pairs between them are
/// within 1e-14 of the formula. Throws std::invalid_argument unless rotary_dim is even and
/// positive, base is finite and above 1, mscale and mscale_all_dim are finite and not negative,
/// extrapolation is in [0, 1], and all else is finite and positive.
inline frequencies yarn(std::size_t rotary_dim, double base, yarn_scaling const& scaling) {
  auto const series = geometric(rotary_dim, base);
  auto const ramp = ramp_of_yarn(rotary_dim, base, scaling);
  auto const along_ramp = [&](std::size_t i, auto const& inv_freq) {
    return detail::blended(ramp, i, inv_freq, inv_freq / scaling.factor, scaling.extrapolation);
  };
  return detail::changed(series, along_ramp, attention_factor(scaling));
}

/// yarn of any frequencies, series by series: a series ends where a frequency is not below the one
/// before it, or is 0. axial has a series for each axis; truncated and proportional have one, and
/// pairs of frequency 0. c(r) is the index of the pair with r turns within O, interpolated linearly
/// in ln inv_freq; of a geometric series it is the c(r) above. A series of one pair is kept, like
/// the first pair of longer ones. Throws as yarn does.
inline frequencies yarn(frequencies const& f, yarn_scaling const& scaling) {
  detail::require_yarn("yarn", scaling);
  auto const inv_freq = f.inv_freq();
  std::size_t begin = 0, end = 0;
  yarn_ramp ramp{0, 1};
  auto const along_ramp = [&](std::size_t i, auto const& before) {
    if (i == end) {
      begin = end++;
      while (end < inv_freq.size() && inv_freq[end] > 0 && inv_freq[end] < inv_freq[end - 1]) ++end;
      if (inv_freq[begin] > 0) {
        ramp = detail::ramp_of_series(inv_freq.subspan(begin, end - begin), scaling);
      }
    }
    return detail::blended(ramp, i - begin, before, before / scaling.factor, scaling.extrapolation);
  };
  return detail::changed(f, along_ramp, attention_factor(scaling));
}

}}  // namespace posenc
