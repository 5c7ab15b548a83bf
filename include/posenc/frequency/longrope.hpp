// One factor for each pair: LongRoPE, with a list for short sequences and one for long ones, and
// ggml's freq_factors.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

inline frequencies divided(char const* what, frequencies const& f, std::span<double const> factors,
                           double gain) {
  require(factors.size() == f.pairs(), what, " must have one factor for each of the ", f.pairs(),
          " pairs, got ", factors.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    require(is_finite(factors[i]) && factors[i] > 0, what,
            " must have finite factors above 0, got ", factors[i], " at pair ", i);
  }
  auto const divide = [&](std::size_t i, auto const& inv_freq) {
    return factors[i] >= 1e30 ? 0 : inv_freq / factors[i];
  };
  return changed(f, divide, gain);
}

}  // namespace detail

/// inv_freq_i / factors_i: ggml's freq_factors, in which llama.cpp stores Llama 3's rule, LongRoPE
/// and p-RoPE. A factor of 1e30 or more, which marks a pair that is not rotated, gives frequency 0.
/// [ggml.h, ggml_rope_ext]
/// Throws std::invalid_argument unless there is one finite factor above 0 for each pair.
inline frequencies divided_by_factors(frequencies const& f, list_view<double> factors) {
  return detail::divided("divided_by_factors: factors", f, factors, 1);
}

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
  detail::require_positive("longrope", "factor", scaling.factor);
  detail::require_above_1("longrope", "original_length", scaling.original_length);
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
/// vLLM use one list throughout.) Throws unless both lists have a finite factor above 0 for each
/// pair, and all else is as said above.
inline frequencies longrope(frequencies const& f, longrope_scaling const& scaling, double length) {
  detail::require_positive("longrope", "original_length", scaling.original_length);
  detail::require_positive("longrope", "length", length);
  auto const attention = attention_factor(scaling);
  detail::require_positive("longrope", "attention_factor", attention);
  auto const of_short =
      detail::divided("longrope: short_factor", f, scaling.short_factor, attention);
  auto const of_long = detail::divided("longrope: long_factor", f, scaling.long_factor, attention);
  return length > scaling.original_length ? of_long : of_short;
}

}}  // namespace posenc
