// The logarithm of a sum of exponentials.
#pragma once

#include <algorithm>
#include <cmath>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// ln(e^a + e^b). Either may be -infinity. No overflow, whatever their difference.
inline double log_add_exp(double a, double b) noexcept {
  if (is_negative_infinity(a)) return b;
  if (is_negative_infinity(b)) return a;
  auto const [less, more] = std::minmax(a, b);
  return more + std::log1p(std::exp(less - more));
}

}}}  // namespace posenc::detail
