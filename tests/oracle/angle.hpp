#pragma once

/// The cosine and sine of position * frequency, to about 1e-18 for every position below 2^63.

#include <math.h>

namespace oracle {

/// The unit vector at an angle.
struct direction {
  long double cos;
  long double sin;
};

// The C functions, called where no compiler sees which: under -ffast-math g++ would take the x87's fcos and fsin, which
// are wrong far from 0, and clang++ a product and a sum for fma.
inline long double (*volatile const cosine)(long double) = ::cosl;
inline long double (*volatile const sine)(long double) = ::sinl;
inline long double (*volatile const fused)(long double, long double, long double) = ::fmal;

/// The direction at position * frequency radians, the product taken exactly.
inline direction direction_at(long double position, long double frequency) {
  const long double angle = position * frequency;
  // A large position times a 53-bit frequency does not fit long double: fma recovers what the product lost.
  const long double lost = fused(position, frequency, -angle);
  const long double c = cosine(angle);
  const long double s = sine(angle);
  return {c * cosine(lost) - s * sine(lost), s * cosine(lost) + c * sine(lost)};
}

}  // namespace oracle
