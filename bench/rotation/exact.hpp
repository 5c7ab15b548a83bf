// Cosine and sine of position * inv_freq in long double, with an unrounded product: the reference
// for errors.
#pragma once

#include <cmath>
#include <cstdint>

namespace bench {

struct exact_turn {
  long double cos, sin;

  exact_turn(std::int64_t position, double inv_freq) {
    auto const p = static_cast<long double>(position), f = static_cast<long double>(inv_freq);
    auto const angle = p * f, rest = std::fma(p, f, -angle);
    cos = std::cos(angle) - rest * std::sin(angle);
    sin = std::sin(angle) + rest * std::cos(angle);
  }
};

}  // namespace bench
