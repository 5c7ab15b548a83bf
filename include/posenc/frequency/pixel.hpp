// Frequencies in even steps, for images whose coordinates run from -1 to 1.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

/// inv_freq_i = pi (1 + i (max_freq / 2 - 1) / (dim/2 - 1)): from half a turn across an image to
/// max_freq / 4 turns, in even steps. [rotary-embedding-torch, freqs_for="pixel", where dim counts
/// one axis and max_freq is 10 unless given]
///
/// Positions are coordinates, n of them from -1 to 1: -1 + 2 t / (n - 1). Rotate an axis at a time,
/// each a block of the head:
///
///     std::vector<double> const x{-1, -1.0 / 3, 1.0 / 3, 1};    4 columns
///     rotate<interleaved>(q, cos_sin_rows(pixel(head_dim / 2), x), rotary_block::from(0));
///
/// A single pair has frequency pi. Throws std::invalid_argument unless dim is even, positive and at
/// most 2^24, and max_freq is finite and positive.
inline frequencies pixel(std::size_t dim, double max_freq = 10) {
  detail::require(dim > 0 && dim % 2 == 0 && dim <= std::size_t{1} << 24,
                  "pixel: dim must be even, positive and at most 2^24, got ", dim);
  detail::require(is_finite(max_freq) && max_freq > 0,
                  "pixel: max_freq must be finite and positive, got ", max_freq);
  using detail::two_doubles;
  auto const pi = detail::two_pi() * 0.5;
  auto const last = dim / 2 - 1;
  auto const steps = last > 0 ? static_cast<double>(last) : 1;
  auto const range = max_freq * two_doubles(0.5) - 1;
  return detail::for_pairs(
      dim / 2, 1, [&](std::size_t i) { return pi * (range * static_cast<double>(i) / steps + 1); });
}

}  // namespace posenc
