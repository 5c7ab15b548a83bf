// Position interpolation and its relatives, NTK-aware scaling among them: slow pairs are
// interpolated, fast ones less or not at all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/yarn.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// inv_freq_i / factor: a context `factor` times longer uses the angles of the trained one. [Chen
/// 2023, 3.2] Below 1 it shortens the context, here and in the other rules.
/// Throws std::invalid_argument unless factor is finite and positive.
inline frequencies linear(frequencies const& f, double factor) {
  detail::require_positive("linear", "factor", factor);
  return detail::changed(f, [&](std::size_t, auto const& inv_freq) { return inv_freq / factor; });
}

/// 2 pi / round(2 pi / inv_freq_i), a wavelength of at least one token: each pair repeats its
/// angles exactly, so that no angle is new beyond the trained length. [Wang 2024, 4.1] Pairs of
/// frequency 0, or of a wavelength above 2^53 tokens, are kept.
inline frequencies resonance(frequencies const& f) {
  return detail::changed(f, [](std::size_t, auto const& inv_freq) {
    if (inv_freq.high < detail::two_pi().high * 0x1p-53) return inv_freq;
    return detail::two_pi() / std::max(1.0, std::round((detail::two_pi() / inv_freq).high));
  });
}

namespace detail {

inline frequencies ntk_by(frequencies const& f, two_doubles const& factor) {
  require(f.pairs() >= 2, "ntk: there must be at least two pairs, got ", f.pairs());
  falling_powers const powers(log(factor) / static_cast<double>(f.pairs() - 1), f.pairs());
  return changed(f, [&](std::size_t i, auto const& inv_freq) { return inv_freq * powers(i); });
}

}  // namespace detail

/// inv_freq_i * factor^(-i / (d/2 - 1)): keeps the first pair and divides the last one by factor.
/// [bloc97 2023; Peng 2023, 3.1] For a geometric series this equals a change of base to base *
/// factor^(d / (d - 2)), the usual form of the rule. Throws unless factor is finite and positive
/// and there are at least two pairs.
inline frequencies ntk(frequencies const& f, double factor) {
  detail::require_positive("ntk", "factor", factor);
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
/// Throws unless factor is finite and positive, the lengths are finite and positive, factor *
/// length / M is finite, and there are at least two pairs.
inline frequencies dynamic_ntk(frequencies const& f, dynamic_ntk_scaling const& scaling,
                               double length) {
  detail::require_positive("dynamic_ntk", "factor", scaling.factor);
  detail::require_positive("dynamic_ntk", "trained_length", scaling.trained_length);
  detail::require_positive("dynamic_ntk", "length", length);
  detail::require(is_finite(scaling.factor * (length / scaling.trained_length)),
                  "dynamic_ntk: factor * length / trained_length must be finite, got ",
                  scaling.factor, " * ", length, " / ", scaling.trained_length);
  auto const factor = scaling.factor * (detail::two_doubles(length) / scaling.trained_length) -
                      (detail::two_doubles(scaling.factor) - 1);
  return detail::ntk_by(f, factor.high < 1 ? 1 : factor);
}

/// inv_freq_i * exp(-a (i + 1)^b), a = ln(factor) / (d/2)^b: divides the last pair by factor and
/// each pair before it by less. b = 1 is the purely exponential rule; 0.625 was found best. [Su
/// 2023, kexue 9706] Throws unless factor and b are finite and positive.
inline frequencies mixed_ntk(frequencies const& f, double factor, double b = 0.625) {
  detail::require_positive("mixed_ntk", "factor", factor);
  detail::require_positive("mixed_ntk", "b", b);
  detail::two_doubles const pairs(static_cast<double>(f.pairs()));
  auto const logarithm = log(detail::two_doubles(factor));
  // Keeps b times a logarithm finite; the power is 0 already.
  auto const exponent = std::min(b, 0x1p500);
  return detail::changed(f, [&](std::size_t i, auto const& inv_freq) {
    return inv_freq * exp(-(logarithm * pow(static_cast<double>(i + 1) / pairs, exponent)));
  });
}

/// The numbers of part_ntk.
struct part_ntk_scaling {
  double factor;           ///< above 0
  double original_length;  ///< in tokens
  double ntk = 1,          ///< ntk's part of what its ramp gives, 0 to 1: ntk_factor
      extrapolation = 1;   ///< the unscaled frequencies' part: extrapolation_factor
};

/// The rule that came before YaRN. From slow pairs to fast ones: linear, then ntk, then unscaled,
/// blended along two of YaRN's ramps, from 0.75 to 1.25 and from 2 to 16 turns within the original
/// length. [jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding, where these constants are fixed]
/// Throws unless rotary_dim is even and at least 4, base is finite and above 1, factor and length
/// are finite and positive, and the shares are in [0, 1].
inline frequencies part_ntk(std::size_t rotary_dim, double base, part_ntk_scaling const& scaling) {
  auto const factor = scaling.factor, length = scaling.original_length;
  detail::require_positive("part_ntk", "factor", factor);
  detail::require_positive("part_ntk", "original_length", length);
  detail::require_within("part_ntk", "ntk", scaling.ntk, 0, 1);
  detail::require_within("part_ntk", "extrapolation", scaling.extrapolation, 0, 1);
  auto const series = geometric(rotary_dim, base), slow = linear(series, factor),
             middle = ntk(series, factor);
  auto const inner = ramp_of_yarn(rotary_dim, base, {factor, length, 1.25, 0.75}),
             outer = ramp_of_yarn(rotary_dim, base, {factor, length, 16, 2});
  return detail::changed(series, [&](std::size_t i, auto const& inv_freq) {
    auto const slower = detail::blended(inner, i, detail::with_rest(middle, i),
                                        detail::with_rest(slow, i), scaling.ntk);
    return detail::blended(outer, i, inv_freq, slower, scaling.extrapolation);
  });
}

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
/// use this rule. The rule that the field calls YaRN has a ramp over the indices of pairs instead:
/// yarn. Throws unless factor and length are finite and positive, and 0 <= alpha <= beta, both
/// finite.
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

/// YaRN as published: ntk_by_parts with alpha 1 and beta 32, and an attention factor of 0.1
/// ln(factor) + 1 on rotated queries and on rotated keys, so that scores get its square, 1 / t.
/// [Peng 2023, 3.4] No model is known to be trained with it: the authors' code, and all code after
/// it, is yarn. Throws as ntk_by_parts does.
inline frequencies yarn_by_rotations(frequencies const& f, ntk_by_parts_scaling const& scaling) {
  auto const parts = ntk_by_parts(f, scaling);
  return parts.with_attention_factor(f.attention_factor() * detail::yarn_magnitude(scaling.factor));
}

}}  // namespace posenc
