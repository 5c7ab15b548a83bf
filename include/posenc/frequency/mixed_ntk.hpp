// Mixed NTK: an interpolation that grows smoothly from the fastest pair to the slowest.
#pragma once

#include <algorithm>
#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

/// inv_freq_i * exp(-a (i + 1)^b), a = ln(factor) / (d/2)^b: divides the last pair by factor and
/// each pair before it by less. b = 1 is the purely exponential rule; 0.625 was found best. [Su
/// 2023, kexue 9706]
/// Throws std::invalid_argument unless factor and b are finite and positive.
inline frequencies mixed_ntk(frequencies const& f, double factor, double b = 0.625) {
  detail::require_factor("mixed_ntk", factor);
  detail::require(is_finite(b) && b > 0, "mixed_ntk: b must be finite and positive, got ", b);
  using detail::two_doubles;
  auto const logarithm = log(two_doubles(factor)),
             pairs = two_doubles(static_cast<double>(f.pairs()));
  // Keeps b times a logarithm finite; the power is 0 already.
  auto const exponent = std::min(b, 0x1p500);
  return detail::changed(f, [&](std::size_t i, auto const& inv_freq) {
    return inv_freq * exp(-(logarithm * pow(static_cast<double>(i + 1) / pairs, exponent)));
  });
}

}  // namespace posenc
