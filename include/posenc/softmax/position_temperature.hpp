// A temperature that depends on the query's position, in steps: Llama 4, Ministral 3, Mistral 4.
#pragma once

#include <algorithm>
#include <cmath>

#include "posenc/core/require.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// beta = 1 + scale * ln(1 + floor((position + offset) / floor_scale)), by the query's position; a
/// factor on scores or, equivalently, on queries. 1 within the first floor_scale positions and at
/// negative ones.
/// Plain data, as in a model's configuration, which llama4_temperature and mistral_temperature
/// check: scale finite and not negative, floor_scale finite and positive, offset finite.
struct position_temperature {
  double scale;        ///< of the logarithm; 0: beta is 1
  double floor_scale;  ///< in tokens
  double offset;       ///< in tokens

  /// Site 4.
  double inverse_temperature(row_statistics const& row) const noexcept {
    auto const at = static_cast<double>(row.query_position) + offset;
    auto steps = std::floor(at / floor_scale);
    if ((steps + 1) * floor_scale <= at) ++steps;  // at / floor_scale may be a rounded product
    return 1 + scale * std::log1p(std::max(steps, 0.0));
  }
};

namespace detail {

inline position_temperature checked_temperature(char const* model, char const* scale_name,
                                                double scale, char const* length_name,
                                                double length, double offset) {
  require(is_finite(scale) && scale >= 0, model, ": ", scale_name,
          " must be finite and not negative, got ", scale);
  require(is_finite(length) && length > 0, model, ": ", length_name,
          " must be finite and positive, got ", length);
  return {scale, length, offset};
}

}  // namespace detail

/// Llama 4, on its layers without rotation: 1 + scale ln(1 + floor((p + 1) / floor_scale)), above 1
/// from p = floor_scale - 1 on. [llama-models, llama4/model.py; modeling_llama4.py, attn_scale and
/// floor_scale] Throws std::invalid_argument as said above.
inline position_temperature llama4_temperature(double scale = 0.1, double floor_scale = 8192) {
  return detail::checked_temperature("llama4_temperature", "scale", scale, "floor_scale",
                                     floor_scale, 1);
}

/// Ministral 3 and Mistral 4, on all layers: 1 + beta ln(1 + floor(p / original_length)), with p,
/// not p + 1: above 1 from p = original_length on. [modeling_ministral3.py, llama_4_scaling_beta
/// and original_max_position_embeddings] Throws std::invalid_argument likewise.
inline position_temperature mistral_temperature(double beta, double original_length) {
  return detail::checked_temperature("mistral_temperature", "beta", beta, "original_length",
                                     original_length, 0);
}

static_assert(acts_on_softmax<position_temperature>);

}  // namespace posenc
