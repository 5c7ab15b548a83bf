// The frequencies of the slowest pairs fall smoothly to 0: p-RoPE without an edge.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// sin x for 0 <= x <= pi / 2, by its Taylor series.
inline two_doubles sine(two_doubles const& x) noexcept {
  two_doubles sum = x, term = x;
  for (int k = 2; k < 36; k += 2) term = -term * x * x / (k * (k + 1)), sum = sum + term;
  return sum;
}

}  // namespace detail

/// Multiplies the frequencies of the last n pairs, j = 0 .. n - 1, by (1 + cos(pi j / (n - 1))) /
/// 2: 1 for the first of them, 0 for the last. n = 1 changes nothing. [hrlics/CoPE 2026, soft
/// clipping, with n = 20 of 64] truncated is the hard clip.
/// Throws std::invalid_argument if n is more than the number of pairs.
inline frequencies raised_cosine_clip(frequencies const& f, std::size_t n) {
  detail::require(n <= f.pairs(), "raised_cosine_clip: n must be at most the number of pairs, ",
                  f.pairs(), ", got ", n);
  auto const kept = f.pairs() - n;
  return detail::changed(f, [&](std::size_t i, auto const& inv_freq) {
    if (i <= kept) return inv_freq;
    // (1 + cos 2x) / 2 = sin^2(pi / 2 - x), which is exactly 0 for the last pair.
    auto const root =
        detail::sine(detail::two_pi() * 0.25 * static_cast<double>(f.pairs() - 1 - i) /
                     static_cast<double>(n - 1));
    return inv_freq * root * root;
  });
}

}  // namespace posenc
