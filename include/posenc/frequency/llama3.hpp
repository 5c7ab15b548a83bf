// Llama 3's rule: NTK by parts without a temperature.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/frequency/ntk.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The numbers of Llama 3's rule, with its names.
struct llama3_scaling {
  double factor;            ///< above 0; 8 in Llama 3.1, 32 in Llama 3.2
  double low_freq_factor;   ///< divides pairs of wavelengths above original_length / it
  double high_freq_factor;  ///< keeps pairs of wavelengths below original_length / it
  double original_length;   ///< in tokens
};

/// Between the two wavelengths the frequencies are blended, linearly in the turns within the
/// original length. No attention factor. [llama-models, model.py] Equal factors, as in Llama 4
/// Scout, are a step: pairs with a wavelength above the original length are divided. (Other code
/// divides 0 by 0 here.) Throws std::invalid_argument unless factor is finite and positive, 0 <=
/// low <= high, both finite, and the length is finite and positive.
inline frequencies llama3(frequencies const& f, llama3_scaling const& scaling) {
  auto const [factor, low, high, length] = scaling;
  detail::require_positive("llama3", "factor", factor);
  detail::require_positive("llama3", "original_length", length);
  detail::require(
      is_finite(low) && is_finite(high) && 0 <= low && low <= high,
      "llama3: low_freq_factor and high_freq_factor must be finite and 0 <= low <= high, got ", low,
      " and ", high);
  return ntk_by_parts(f, {.factor = factor, .original_length = length, .alpha = low, .beta = high});
}

}}  // namespace posenc
