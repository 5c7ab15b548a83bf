#pragma once

/// Effective distances from their definitions: r = t - s, near where r < w.

#include <cmath>

namespace oracle {

/// [Su 2023, ReRoPE]
inline long double rerope(long long t, long long s, long long w) {
  return t - s < w ? static_cast<long double>(t - s) : static_cast<long double>(w);
}

/// [Su 2023, Leaky ReRoPE]
inline long double leaky_rerope(long long t, long long s, long long w, long double k) {
  const long double r = static_cast<long double>(t - s), window = static_cast<long double>(w);
  return r < window ? r : window + (r - window) / k;
}

/// [Jin 2024, section 3.3]
inline long double self_extend(long long t, long long s, long long w, long long group) {
  if (t - s < w) return static_cast<long double>(t - s);
  const auto floored = [group](long long p) { return std::floor(static_cast<long double>(p) / static_cast<long double>(group)); };
  return floored(t) - floored(s) + static_cast<long double>(w) - floored(w);
}

}  // namespace oracle
