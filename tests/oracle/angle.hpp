#pragma once

/// The cosine and sine of position * frequency, to about 1e-18 for every position below 2^63.

#include <cmath>

namespace oracle {

/// The unit vector at an angle.
struct direction {
  long double cos;
  long double sin;
};

/// The direction at position * frequency radians, the product taken exactly.
inline direction direction_at(long double position, long double frequency) {
  const long double angle = position * frequency;
  // A large position times a 53-bit frequency does not fit long double: fma recovers what the product lost.
  const long double lost = std::fma(position, frequency, -angle);
  const long double c = std::cos(angle);
  const long double s = std::sin(angle);
  return {c * std::cos(lost) - s * std::sin(lost), s * std::cos(lost) + c * std::sin(lost)};
}

}  // namespace oracle
