// NTK-aware scaling: the slow pairs are interpolated, the fast ones are not.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

inline frequencies ntk_by(frequencies const& f, two_doubles const& factor) {
  require(f.pairs() >= 2, "ntk: there must be at least two pairs, got ", f.pairs());
  falling_powers const powers(log(factor) / static_cast<double>(f.pairs() - 1), f.pairs());
  return changed(f, [&](std::size_t i, auto const& inv_freq) { return inv_freq * powers(i); });
}

}  // namespace detail

/// inv_freq_i * factor^(-i / (d/2 - 1)): keeps the first pair and divides the last one by factor.
/// [bloc97 2023; Peng 2023, 3.1]
/// For a geometric series this equals a change of base to base * factor^(d / (d - 2)), the usual
/// form of the rule.
/// Throws std::invalid_argument unless factor is finite and positive and there are at least two
/// pairs.
inline frequencies ntk(frequencies const& f, double factor) {
  detail::require_factor("ntk", factor);
  return detail::ntk_by(f, factor);
}

/// The numbers of dynamic NTK.
struct dynamic_ntk_scaling {
  double factor;          ///< above 0
  double trained_length;  ///< M, in tokens: Hugging Face takes max_position_embeddings
};

/// ntk by factor * length / M - (factor - 1), identity up to the trained length M; `length` in
/// tokens. [emozilla 2023; modeling_rope_utils.py]
///
/// A function of the length alone. Hugging Face takes the largest length seen so far and leaves
/// cached keys as they are; rerotation_rows(dynamic_ntk(f, s, before), dynamic_ntk(f, s, now),
/// positions) rotates them to the new frequencies.
/// Throws std::invalid_argument unless factor is finite and positive, the lengths are finite and
/// positive, factor * length / M is finite, and there are at least two pairs.
inline frequencies dynamic_ntk(frequencies const& f, dynamic_ntk_scaling const& scaling,
                               double length) {
  detail::require_factor("dynamic_ntk", scaling.factor);
  detail::require_length("dynamic_ntk", "trained_length", scaling.trained_length);
  detail::require_length("dynamic_ntk", "length", length);
  detail::require(is_finite(scaling.factor * (length / scaling.trained_length)),
                  "dynamic_ntk: factor * length / trained_length must be finite, got ",
                  scaling.factor, " * ", length, " / ", scaling.trained_length);
  using detail::two_doubles;
  auto const factor = scaling.factor * (two_doubles(length) / scaling.trained_length) -
                      (two_doubles(scaling.factor) - 1);
  return detail::ntk_by(f, factor.high < 1 ? 1 : factor);
}

}  // namespace posenc
