// p-RoPE, where only the highest frequencies rotate, and other rules that stop slow pairs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>

#include "posenc/core/target.hpp"
#include "posenc/frequency/ntk.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// How many of `pairs` pairs p-RoPE keeps: floor(p * pairs), by one of the two rules below.
using kept_pairs_rule = std::size_t (*)(double p, std::size_t pairs);

/// As the paper's code computes it, int(p * head_dim // 2), in floating point: p = 0.58 and
/// head_dim = 100 keep 28 pairs, for 0.58 * 100 is 57.99... Use it for models trained with that
/// code.
inline std::size_t published_floor(double p, std::size_t pairs) {
  return static_cast<std::size_t>(std::floor(p * static_cast<double>(2 * pairs) / 2));
}

/// As p reads in decimals: p = 0.58 and head_dim = 100 keep 29 pairs. A product within two
/// roundings of an integer counts as that integer.
inline std::size_t exact_floor(double p, std::size_t pairs) {
  auto const product = p * static_cast<double>(pairs), nearest = std::round(product);
  bool const is_integer =
      std::abs(product - nearest) <= 2 * std::numeric_limits<double>::epsilon() * product;
  return static_cast<std::size_t>(is_integer ? nearest : std::floor(product));
}

/// Which end of the frequencies `truncated` keeps.
enum class kept_end {
  fastest,  ///< p-RoPE
  slowest   ///< the paper's control, p-RoPE_reversed [Barbero 2024, table 2]
};

/// p-RoPE [Barbero 2024, 6.1]: keeps the highest fraction p of the frequencies and sets the others
/// to 0. p = 1 is RoPE, p = 0 is NoPE.
///
///     head_dim 16, base b, p 0.5     exponent of b (all divided by 16)
///     RoPE                            0  -2  -4  -6  -8 -10 -12 -14
///     truncated: p-RoPE               0  -2  -4  -6   .   .   .   .   same exponents, slow pairs 0
///     kept_end::slowest: _reversed    .   .   .   .  -8 -10 -12 -14   the control: fast pairs 0
///     partial rotary (GPT-NeoX)       0  -4  -8 -12   .   .   .   .   geometric(8, b): whole range
///                                                                     (the paper's _partial)
/// Throws std::invalid_argument unless p is in [0, 1] and the frequencies never rise from pair to
/// pair (geometric's do not, for a base of 1 or more).
inline frequencies truncated(frequencies const& f, double p,
                             kept_pairs_rule kept_pairs = published_floor,
                             kept_end end = kept_end::fastest) {
  detail::require_within("truncated", "p", p, 0, 1);
  auto const rise = std::ranges::is_sorted_until(f.inv_freq(), std::greater{});
  detail::require(rise == f.inv_freq().end(),
                  "truncated: frequencies must not rise from pair to pair, as for a base below 1, "
                  "got a rise at pair ",
                  rise - f.inv_freq().begin());
  auto const kept = std::min(kept_pairs(p, f.pairs()), f.pairs());
  auto const first = end == kept_end::fastest ? 0 : f.pairs() - kept;
  return detail::changed(f, [&](std::size_t i, auto const& inv_freq) {
    return first <= i && i < first + kept ? inv_freq : 0;
  });
}

/// Gemma 4's p-RoPE, interpolated: base^(-2i / head_dim) / factor for the first floor(p * head_dim
/// / 2) pairs, 0 for the others. [modeling_rope_utils.py, where p is partial_rotary_factor and
/// head_dim is the whole head: every dim is in a pair] Throws as these three do.
inline frequencies proportional(std::size_t head_dim, double base, double p, double factor = 1) {
  return linear(truncated(geometric(head_dim, base), p), factor);
}

/// p-RoPE without an edge: multiplies the frequencies of the last n pairs, j = 0 .. n - 1, by (1 +
/// cos(pi j / (n - 1))) / 2: 1 for the first of them, 0 for the last. n = 1 changes nothing.
/// [hrlics/CoPE 2026, soft clipping, with n = 20 of 64] Throws if n is above f.pairs().
inline frequencies raised_cosine_clip(frequencies const& f, std::size_t n) {
  detail::require(n <= f.pairs(), "raised_cosine_clip: n must be at most the number of pairs, ",
                  f.pairs(), ", got ", n);
  auto const sine = [](detail::two_doubles const& x) {  // by its Taylor series, up to pi / 2
    auto sum = x, term = x;
    for (int k = 2; k < 36; k += 2) {
      term = -term * x * x / (k * (k + 1));
      sum = sum + term;
    }
    return sum;
  };
  auto const kept = f.pairs() - n;
  return detail::changed(f, [&](std::size_t i, auto const& inv_freq) {
    if (i <= kept) return inv_freq;
    // (1 + cos 2x) / 2 = sin^2(pi / 2 - x), which is exactly 0 for the last pair.
    auto const root = sine(detail::two_pi() * 0.25 * static_cast<double>(f.pairs() - 1 - i) /
                           static_cast<double>(n - 1));
    return inv_freq * root * root;
  });
}

/// FoPE's floor: 0 for a pair that never completes a turn in training, inv_freq below 2 pi /
/// trained_length, in tokens. [Hua 2024, 4.2] FoPE's other half, a learned Fourier series per pair,
/// is not in this library. Throws unless the length is finite and positive.
inline frequencies fope_floor(frequencies const& f, double trained_length) {
  detail::require_positive("fope_floor", "trained_length", trained_length);
  auto const floor = detail::two_pi().high / trained_length;
  return detail::changed(
      f, [&](std::size_t, auto const& inv_freq) { return inv_freq.high < floor ? 0 : inv_freq; });
}

}}  // namespace posenc
