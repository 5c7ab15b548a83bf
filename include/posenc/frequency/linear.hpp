// Position interpolation.
#pragma once

#include <utility>
#include <vector>

#include "posenc/frequency/frequencies.hpp"

namespace posenc {

/// inv_freq_i / factor: a context `factor` times longer is squeezed into the angles of the trained one. [Chen 2023, 3.2]
/// Throws std::invalid_argument unless factor is finite and at least 1.
inline frequencies linear(frequencies const& f, double factor) {
  detail::require(is_finite(factor) && factor >= 1, "linear: factor must be finite and at least 1, got ", factor);
  std::vector<double> inv_freq(f.inv_freq().begin(), f.inv_freq().end());
  for (auto& frequency : inv_freq) frequency /= factor;
  return frequencies(std::move(inv_freq), f.attention_factor());
}

}  // namespace posenc
