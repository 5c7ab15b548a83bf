// The logarithm of a sum of exponentials, of two.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// ln(e^a + e^b), either of which may be nothing: -infinity, or as low as no logarithm is, for -ffast-math knows no infinity.
inline double log_add_exp(double a, double b) noexcept {
  auto const [less, more] = std::minmax(a, b);
  return less < std::numeric_limits<double>::lowest() / 2 ? more : more + std::log1p(std::exp(less - more));
}

}  // namespace posenc::detail
