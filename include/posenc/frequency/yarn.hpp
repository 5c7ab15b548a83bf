// YaRN as coded by its authors and everybody since: the ramp runs over the indices of pairs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc::inline POSENC_TARGET {

struct yarn_scaling {
  double factor;           ///< s, above 0
  double original_length;  ///< O, the trained context in tokens
  double beta_fast = 32;   ///< more turns within O: frequency kept
  double beta_slow = 1;    ///< fewer turns within O: divided by factor
  bool truncate = true;    ///< round the ramp's ends outwards; not in gpt-oss
  std::optional<double> mscale = {}, mscale_all_dim = {};  ///< DeepSeek's; 0 means none
  std::optional<double> attention_factor = {};             ///< replaces the computed one
};

/// The indices between which YaRN's ramp rises. beta_fast below beta_slow gives last < first: a
/// falling ramp.
struct yarn_ramp {
  double first, last;
  /// The ramp at pair i, from 0 to 1.
  double at(std::size_t i) const noexcept {
    return std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
  }
};

namespace detail {

/// (1 - ramp_i) before + ramp_i after.
inline two_doubles blended(yarn_ramp const& ramp, std::size_t i, two_doubles const& before,
                           two_doubles const& after) {
  auto const share =
      (static_cast<double>(i) - two_doubles(ramp.first)) / (two_doubles(ramp.last) - ramp.first);
  if (share.high <= 0 || share.high >= 1) return share.high <= 0 ? before : after;
  return after * share + before * (1 - share);
}

/// 0.1 m ln s + 1, and 1 for s below 1. [Peng 2023, 3.4, with m = 1; get_mscale of jquesnelle/yarn]
inline double yarn_magnitude(double factor, double mscale = 1) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

inline void require_yarn(char const* what, yarn_scaling const& s) {
  require_factor(what, s.factor);
  require_length(what, "original_length", s.original_length);
  require_length(what, "beta_fast", s.beta_fast);
  require_length(what, "beta_slow", s.beta_slow);
  for (auto const m : {s.mscale.value_or(0), s.mscale_all_dim.value_or(0)}) {
    require(is_finite(m) && m >= 0, what,
            ": mscale and mscale_all_dim must be finite and not negative, got ", m);
  }
  auto const a = s.attention_factor.value_or(1);
  require(is_finite(a) && a > 0, what, ": attention_factor must be finite and positive, got ", a);
}

}  // namespace detail

/// From c(beta_fast) to c(beta_slow), where c(r) = d ln(O / (2 pi r)) / (2 ln base) is the index of
/// the pair with r turns within O. Rounded outwards if truncate, clamped to [0, d - 1] (not d/2 -
/// 1), and 0.001 apart if equal. Throws as yarn does.
inline yarn_ramp ramp_of_yarn(std::size_t rotary_dim, double base, yarn_scaling const& scaling) {
  detail::require_yarn("yarn", scaling);
  detail::require(is_finite(base) && base > 1, "yarn: base must be finite and above 1, got ", base);
  auto const dim = static_cast<double>(rotary_dim);
  auto const index = [&](double turns) {
    auto const ratio = scaling.original_length / (turns * 2 * std::numbers::pi);
    bool const is_normal = is_finite(ratio) && ratio >= std::numeric_limits<double>::min();
    auto const logarithm = is_normal ? std::log(ratio)
                                     : std::log(scaling.original_length) - std::log(turns) -
                                           std::log(2 * std::numbers::pi);
    return dim * logarithm / (2 * std::log(base));
  };
  auto first = index(scaling.beta_fast), last = index(scaling.beta_slow);
  if (scaling.truncate) first = std::floor(first), last = std::ceil(last);
  first = std::max(first, 0.0), last = std::min(last, dim - 1);
  if (first == last) last += 0.001;
  return {first, last};
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
///     inv_freq_i = e_i / factor * ramp_i + e_i (1 - ramp_i)
///     ramp_i = clamp((i - first) / (last - first), 0, 1)
///
/// [jquesnelle/yarn; modeling_rope_utils.py; vLLM; llama.cpp, which always truncates.] The paper's
/// ramp, yarn_by_rotations, gives frequencies that differ by up to 3 times. The attention factor is
/// attention_factor(scaling).
/// The ramp's ends are doubles: without truncate, pairs between them are within 1e-14 of the
/// formula.
/// Throws std::invalid_argument unless rotary_dim is even and positive, base is finite and above 1,
/// mscale and mscale_all_dim are finite and not negative, and all
/// else is finite and positive.
inline frequencies yarn(std::size_t rotary_dim, double base, yarn_scaling const& scaling) {
  auto const series = geometric(rotary_dim, base);
  auto const ramp = ramp_of_yarn(rotary_dim, base, scaling);
  auto const along_ramp = [&](std::size_t i, auto const& inv_freq) {
    return detail::blended(ramp, i, inv_freq, inv_freq / scaling.factor);
  };
  return detail::changed(series, along_ramp, attention_factor(scaling));
}

}  // namespace posenc
