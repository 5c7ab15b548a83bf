#pragma once

/// Every cosine and sine of rows, to compare.

#include <cstddef>
#include <vector>

#include "posenc/rows/cos_sin_view.hpp"

template <class Real>
std::vector<Real> all(posenc::cos_sin_view<Real> rows) {
  std::vector<Real> result;
  for (std::size_t token = 0; token < rows.tokens(); ++token) {
    result.insert(result.end(), rows.cos(token).begin(), rows.cos(token).end());
    result.insert(result.end(), rows.sin(token).begin(), rows.sin(token).end());
  }
  return result;
}
