#pragma once

/// The decay of xPos from its definition [Sun 2022, section 3.2].

#include <cmath>
#include <cstddef>

#include "wide.hpp"

namespace oracle {

/// zeta_i = (2i + gamma d) / ((1 + gamma) d).
inline wide xpos_zeta(std::size_t pair, std::size_t dim, wide gamma) {
  const wide d = static_cast<wide>(dim);
  return (2.0L * static_cast<wide>(pair) + gamma * d) / ((1.0L + gamma) * d);
}

}  // namespace oracle
