// Timesteps of diffusion models: a sinusoidal vector of a time that may be fractional.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc::inline POSENC_TARGET {

/// The options of diffusers' get_timestep_embedding, with its names and defaults.
struct timestep_form {
  double scale = 1;                 ///< of angles; 1000 if times run from 0 to 1
  double max_period = 1e4;          ///< the base of the frequencies
  double downscale_freq_shift = 1;  ///< 0 in Stable Diffusion and most later models
  bool flip_sin_to_cos = false;     ///< cosines first, as in Stable Diffusion and later
};

/// sin(scale t f_j), then cos(scale t f_j), then a zero if dim is odd; f_j = max_period^(-j / (h -
/// shift)), h = floor(dim / 2), shift = downscale_freq_shift. [diffusers, embeddings.py,
/// get_timestep_embedding]
///
///     std::vector<float> vector(320);
///     timestep(320, {.downscale_freq_shift = 0, .flip_sin_to_cos = true}).write(981.5, vector);
///
/// Exact at any t; angles formed in float have a relative error of 6e-8 or more. A single frequency
/// is `scale`, whatever the shift.
/// Throws std::invalid_argument unless dim is at least 2, scale and max_period are finite and
/// positive, and the shift is finite and below h. (For h = 1, diffusers' default shift of 1 divides
/// by zero; it counts as 0 here.)
inline sinusoidal<halves> timestep(std::size_t dim, timestep_form const& form = {}) {
  detail::require(dim >= 2, "timestep: dim must be at least 2, got ", dim);
  detail::require(is_finite(form.scale) && form.scale > 0,
                  "timestep: scale must be finite and positive, got ", form.scale);
  detail::require(is_finite(form.max_period) && form.max_period > 0,
                  "timestep: max_period must be finite and positive, got ", form.max_period);
  auto const h = dim / 2;
  auto const shift = h == 1 && form.downscale_freq_shift == 1 ? 0 : form.downscale_freq_shift;
  detail::require(is_finite(shift) && shift < static_cast<double>(h),
                  "timestep: downscale_freq_shift must be finite and below ", h, ", got ", shift);
  auto const series =
      detail::geometric_series("timestep", 2 * h, form.max_period, static_cast<double>(h) - shift);
  auto const f = detail::changed(
      series, [&](std::size_t, auto const& inv_freq) { return form.scale * inv_freq; });
  return {f, {.cosine_first = form.flip_sin_to_cos, .zeros = dim % 2}};
}

/// cos(t f_j), then sin(t f_j), then a zero if dim is odd; f_j = max_period^(-j / h). [ggml,
/// ggml_timestep_embedding]
/// Throws std::invalid_argument unless dim is at least 2 and max_period is finite and positive.
inline sinusoidal<halves> ggml_timestep(std::size_t dim, double max_period = 1e4) {
  return timestep(dim,
                  {.max_period = max_period, .downscale_freq_shift = 0, .flip_sin_to_cos = true});
}

static_assert(acts_on_embeddings<decltype(timestep(2))>);

}  // namespace posenc
