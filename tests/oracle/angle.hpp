#pragma once

/// The cosine and sine of position * frequency, to about 1e-18 for every position below 2^63.

#include "wide.hpp"

namespace oracle {

/// The unit vector at an angle.
struct direction {
  wide cos;
  wide sin;
};

/// The direction at position * frequency radians, the product taken exactly.
inline direction direction_at(wide position, wide frequency) {
  const auto [angle, lost] = angle_at(position, frequency);
  const wide c = cosine(angle);
  const wide s = sine(angle);
  return {c * cosine(lost) - s * sine(lost), s * cosine(lost) + c * sine(lost)};
}

}  // namespace oracle
