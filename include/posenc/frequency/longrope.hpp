// LongRoPE: a searched factor for each pair, one list for short sequences and one for long ones.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/divided_by_factors.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

/// The numbers of LongRoPE, with the names of rope_scaling.
struct longrope_scaling {
  std::vector<double> short_factor, long_factor;  ///< one per pair
  double original_length;                         ///< O, in tokens, above 1; the longest short one
  double factor = 1;                              ///< whole context / O, for the attention factor
  std::optional<double> attention_factor = {};    ///< replaces the computed one
};

/// sqrt(1 + ln(factor) / ln(O)), or 1 if factor is at most 1: on rotated queries and on rotated
/// keys, for short and long sequences alike. [Ding 2024, 3.4 of the published code;
/// modeling_rope_utils.py]
inline double attention_factor(longrope_scaling const& scaling) {
  if (scaling.attention_factor) return *scaling.attention_factor;
  detail::require(is_finite(scaling.factor) && scaling.factor > 0,
                  "longrope: factor must be finite and positive, got ", scaling.factor);
  detail::require(is_finite(scaling.original_length) && scaling.original_length > 1,
                  "longrope: original_length must be finite and above 1, got ",
                  scaling.original_length);
  return scaling.factor <= 1
             ? 1
             : std::sqrt(1 + std::log(scaling.factor) / std::log(scaling.original_length));
}

/// inv_freq_i / factor_i, with the long list for sequences of more than original_length tokens;
/// also called "su". [Ding 2024, 3.3]
///
/// A function of the length alone. Keys that were cached while the sequence was short have other
/// frequencies than later ones: rerotation_rows(longrope(f, s, before), longrope(f, s, now),
/// positions) rotates them to the new frequencies. (Hugging Face drops the cache; llama.cpp and
/// vLLM use one list throughout.)
/// Throws std::invalid_argument unless both lists have a finite factor above 0 for each pair, and
/// all else is as said above.
inline frequencies longrope(frequencies const& f, longrope_scaling const& scaling, double length) {
  detail::require_length("longrope", "original_length", scaling.original_length);
  detail::require_length("longrope", "length", length);
  auto const attention = attention_factor(scaling);
  detail::require(is_finite(attention) && attention > 0,
                  "longrope: attention_factor must be finite and positive, got ", attention);
  auto const of_short =
      detail::divided("longrope: short_factor", f, scaling.short_factor, attention);
  auto const of_long = detail::divided("longrope: long_factor", f, scaling.long_factor, attention);
  return length > scaling.original_length ? of_long : of_short;
}

}  // namespace posenc
