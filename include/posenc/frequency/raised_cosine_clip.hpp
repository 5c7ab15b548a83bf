// The slowest pairs are slowed down to a standstill, smoothly: p-RoPE without an edge.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

/// The last n pairs, j = 0 .. n - 1, times (1 + cos(pi j / (n - 1))) / 2: the first of them is kept, the last stands still.
/// [hrlics/CoPE 2026, soft clipping; 20 of 64 there]. truncated is the hard clip. n = 1 changes nothing.
/// Throws std::invalid_argument unless there are n pairs.
inline frequencies raised_cosine_clip(frequencies const& f, std::size_t n) {
  detail::require(n <= f.pairs(), "raised_cosine_clip: at most all ", f.pairs(), " pairs can be clipped, got ", n);
  auto const kept = f.pairs() - n;
  return detail::changed(f, [&](std::size_t i, double inv_freq) {
    if (i <= kept) return inv_freq;
    if (i + 1 == f.pairs()) return 0.0;  // whatever the last bit of a cosine is
    return inv_freq * (1 + std::cos(std::numbers::pi * static_cast<double>(i - kept) / static_cast<double>(n - 1))) / 2;
  });
}

}  // namespace posenc
