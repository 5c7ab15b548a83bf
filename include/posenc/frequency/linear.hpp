// Position interpolation; wavelengths of whole tokens.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

/// inv_freq_i / factor: a context `factor` times longer uses the angles of the trained one. [Chen
/// 2023, 3.2] Below 1 it shortens the context, here and in the other rules.
/// Throws std::invalid_argument unless factor is finite and positive.
inline frequencies linear(frequencies const& f, double factor) {
  detail::require_positive("linear", "factor", factor);
  return detail::changed(f, [&](std::size_t, auto const& inv_freq) { return inv_freq / factor; });
}

/// 2 pi / round(2 pi / inv_freq_i), a wavelength of at least one token: each pair repeats its
/// angles exactly, so that no angle is new beyond the trained length. [Wang 2024, 4.1] Pairs of
/// frequency 0, and those with a wavelength above 2^53 tokens, are kept.
inline frequencies resonance(frequencies const& f) {
  return detail::changed(f, [](std::size_t, auto const& inv_freq) {
    if (inv_freq.high < detail::two_pi().high * 0x1p-53) return inv_freq;
    return detail::two_pi() / std::max(1.0, std::round((detail::two_pi() / inv_freq).high));
  });
}

}  // namespace posenc
