// Resonance RoPE: wavelengths rounded to whole tokens.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

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
