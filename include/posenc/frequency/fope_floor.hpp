// FoPE's floor: a pair that never completes a turn in training gets frequency 0.
#pragma once

#include <cstddef>
#include <numbers>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

/// 0 for each inv_freq below 2 pi / trained_length, the length in tokens. [Hua 2024, 4.2] FoPE's
/// other half, a learned Fourier series per pair, is not in this library.
/// Throws std::invalid_argument unless the length is finite and positive.
inline frequencies fope_floor(frequencies const& f, double trained_length) {
  detail::require_length("fope_floor", "trained_length", trained_length);
  auto const floor = 2 * std::numbers::pi / trained_length;
  return detail::changed(
      f, [&](std::size_t, auto const& inv_freq) { return inv_freq.high < floor ? 0 : inv_freq; });
}

}  // namespace posenc
