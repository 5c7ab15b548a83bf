// Position interpolation.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

/// inv_freq_i / factor: a context `factor` times longer uses the angles of the trained one. [Chen
/// 2023, 3.2] Below 1 it shortens the context, here and in the other rules.
/// Throws std::invalid_argument unless factor is finite and positive.
inline frequencies linear(frequencies const& f, double factor) {
  detail::require_positive("linear", "factor", factor);
  return detail::changed(f, [&](std::size_t, auto const& inv_freq) { return inv_freq / factor; });
}

}  // namespace posenc
