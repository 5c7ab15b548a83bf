// p-RoPE: only the highest frequencies rotate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

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

/// p-RoPE [Barbero 2024, 6.1]: keeps the highest fraction p of the frequencies and sets the others
/// to 0. p = 1 is RoPE, p = 0 is NoPE.
///
///     head_dim 16, base b, p 0.5     exponent of b (all divided by 16)
///     RoPE                            0  -2  -4  -6  -8 -10 -12 -14
///     truncated: p-RoPE               0  -2  -4  -6   .   .   .   .   same exponents, slow pairs 0
///     partial rotary (GPT-NeoX)       0  -4  -8 -12   .   .   .   .   geometric(8, b): whole range
///
/// Throws std::invalid_argument unless p is in [0, 1] and the frequencies never rise from pair to
/// pair (geometric's do not, for a base of 1 or more).
inline frequencies truncated(frequencies const& f, double p,
                             kept_pairs_rule kept_pairs = published_floor) {
  detail::require(is_finite(p) && p >= 0 && p <= 1, "truncated: p must be in [0, 1], got ", p);
  auto const rise = std::ranges::is_sorted_until(f.inv_freq(), std::greater{});
  detail::require(rise == f.inv_freq().end(),
                  "truncated: frequencies must not rise from pair to pair, as for a base below 1, "
                  "got a rise at pair ",
                  rise - f.inv_freq().begin());
  auto const kept = kept_pairs(p, f.pairs());
  return detail::changed(
      f, [&](std::size_t i, auto const& inv_freq) { return i < kept ? inv_freq : 0; });
}

}  // namespace posenc
