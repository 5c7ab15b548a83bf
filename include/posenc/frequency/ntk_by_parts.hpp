// NTK by parts: pairs of many turns within the context are kept, pairs of less than one are
// interpolated.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

/// The numbers of NTK by parts, with YaRN's names.
struct ntk_by_parts_scaling {
  double factor;           ///< above 0
  double original_length;  ///< L, the trained context in tokens
  double alpha = 1;        ///< pairs of at most this many turns within L are interpolated
  double beta = 32;        ///< pairs of at least this many turns within L are kept
};

/// (1 - g) inv_freq / factor + g inv_freq, where g rises from 0 to 1 as the turns within the
/// trained context rise from alpha to beta [Peng 2023, 3.2]:
///
///     g_i = clamp((r_i - alpha) / (beta - alpha), 0, 1),   r_i = L inv_freq_i / 2 pi
///
/// alpha = beta is a step: pairs of at least that many turns are kept. yarn_by_rotations and llama3
/// use this rule. What the field calls YaRN has a ramp over the indices of pairs instead: yarn.
/// Throws std::invalid_argument unless factor and length are finite and positive, and 0 <= alpha <=
/// beta, both finite.
inline frequencies ntk_by_parts(frequencies const& f, ntk_by_parts_scaling const& scaling) {
  auto const [factor, length, alpha, beta] = scaling;
  detail::require_positive("ntk_by_parts", "factor", factor);
  detail::require_positive("ntk_by_parts", "original_length", length);
  detail::require(is_finite(alpha) && is_finite(beta) && 0 <= alpha && alpha <= beta,
                  "ntk_by_parts: alpha and beta must be finite and 0 <= alpha <= beta, got ", alpha,
                  " and ", beta);
  using detail::two_doubles;
  // In units of 2^100 turns if the number of turns might be beyond the range of doubles.
  auto const unit = scaling.original_length > 0x1p900 ? 0x1p-100 : 1.0;
  auto const within = scaling.original_length * unit, first = scaling.alpha * unit,
             last = scaling.beta * unit;
  return detail::changed(f, [&](std::size_t, auto const& inv_freq) {
    auto const divided = inv_freq / scaling.factor, turns = within * inv_freq / detail::two_pi();
    if (first == last) return turns.high >= first ? inv_freq : divided;
    // Compared before the division, whose quotient may be beyond that range too.
    auto const above = turns - first;
    if (above.high <= 0) return divided;
    if ((turns - last).high >= 0) return inv_freq;
    auto const kept = above / (two_doubles(last) - first);
    return (1 - kept) * divided + kept * inv_freq;
  });
}

}  // namespace posenc
