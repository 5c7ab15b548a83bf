#pragma once

/// The decay of xPos from its definition [Sun 2022, section 3.2].

#include <cmath>
#include <cstddef>

namespace oracle {

/// zeta_i = (2i + gamma d) / ((1 + gamma) d).
inline long double xpos_zeta(std::size_t pair, std::size_t dim, long double gamma) {
  const long double d = static_cast<long double>(dim);
  return (2.0L * static_cast<long double>(pair) + gamma * d) / ((1.0L + gamma) * d);
}

}  // namespace oracle
