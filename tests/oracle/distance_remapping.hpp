#pragma once

/// Effective distances from their definitions: r = t - s, near where r < w.

#include <cmath>

#include "wide.hpp"

namespace oracle {

/// [Su 2023, ReRoPE]
inline wide rerope(long long t, long long s, long long w) {
  return t - s < w ? static_cast<wide>(t - s) : static_cast<wide>(w);
}

/// [Su 2023, Leaky ReRoPE]
inline wide leaky_rerope(long long t, long long s, long long w, wide k) {
  const wide r = static_cast<wide>(t - s), window = static_cast<wide>(w);
  return r < window ? r : window + (r - window) / k;
}

/// [Jin 2024, section 3.3]
inline wide self_extend(long long t, long long s, long long w, long long group) {
  if (t - s < w) return static_cast<wide>(t - s);
  const auto floored = [group](long long p) {
    return floor(static_cast<wide>(p) / static_cast<wide>(group));
  };
  return floored(t) - floored(s) + static_cast<wide>(w) - floored(w);
}

}  // namespace oracle
