// One factor per pair.
#pragma once

#include <cstddef>
#include <span>

#include "posenc/core/list_view.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

inline frequencies divided(char const* what, frequencies const& f, std::span<double const> factors,
                           double gain) {
  require(factors.size() == f.pairs(), what, " must have one factor for each of the ", f.pairs(),
          " pairs, got ", factors.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    require(is_finite(factors[i]) && factors[i] > 0, what,
            " must have finite factors above 0, got ", factors[i], " at pair ", i);
  }
  return changed(
      f,
      [&](std::size_t i, auto const& inv_freq) {
        return factors[i] >= 1e30 ? 0 : inv_freq / factors[i];
      },
      gain);
}

}  // namespace detail

/// inv_freq_i / factors_i: ggml's freq_factors, in which llama.cpp stores Llama 3's rule, LongRoPE
/// and p-RoPE. A factor of 1e30 or more, which marks a pair that is not rotated, gives frequency 0.
/// [ggml.h, ggml_rope_ext]
/// Throws std::invalid_argument unless there is one finite factor above 0 for each pair.
inline frequencies divided_by_factors(frequencies const& f, list_view<double> factors) {
  return detail::divided("divided_by_factors: factors", f, factors, 1);
}

}  // namespace posenc
