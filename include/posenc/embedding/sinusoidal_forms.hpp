// Sinusoidal embeddings of well-known papers, models and libraries, by name, timesteps of diffusion
// models among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// Frequencies 10000^(-2j / dim); of an odd dim, the last cosine is left out.
template <class Layout>
sinusoidal<Layout> sinusoidal_of_the_paper(char const* name, std::size_t dim) {
  require(dim > 0, name, ": dim must be positive, got 0");
  return {geometric_series(name, dim + dim % 2, 1e4, static_cast<double>(dim) / 2),
          {.without_last = dim % 2 != 0}};
}

inline sinusoidal<halves> sinusoidal_of_whisper(char const* name, std::size_t dim,
                                                std::int64_t start) {
  require(dim % 2 == 0 && dim >= 4, name, ": dim must be even and at least 4, got ", dim);
  return sinusoidal<halves>(geometric_inclusive(dim, 1e4), start);
}

/// Frequencies scale * base^(-j / (h - shift)), h = floor(dim / 2); a zero if dim is odd.
inline sinusoidal<halves> sinusoidal_of_series(char const* name, std::size_t dim, double base,
                                               double shift, sinusoidal_form form,
                                               double scale = 1) {
  require(dim >= 2, name, ": dim must be at least 2, got ", dim);
  auto const h = dim / 2;
  form.zeros = dim % 2;
  auto const steps = h == 1 && shift == 1 ? 1 : static_cast<double>(h) - shift;
  auto const series = geometric_series(name, 2 * h, base, steps);
  auto const scaled = [=](std::size_t, auto const& inv_freq) { return scale * inv_freq; };
  return {changed(series, scaled), form};
}

}  // namespace detail

/// "Attention is all you need", XLM, DistilBERT: sin cos sin cos ..., of frequencies 10000^(-2j /
/// dim). [Vaswani 2017, 3.5; modeling_xlm.py, where the last cosine of an odd dim is left out]
/// Throws std::invalid_argument unless dim is positive.
inline sinusoidal<interleaved> vaswani_sinusoidal(std::size_t dim) {
  return detail::sinusoidal_of_the_paper<interleaved>("vaswani_sinusoidal", dim);
}

/// RoFormer, Marian, Pegasus: the same numbers, sines first, then cosines; of an odd dim, one
/// cosine less, so that its last sine makes <p_t, p_s> depend on more than t - s.
/// [RoFormerSinusoidalPositionalEmbedding]
inline sinusoidal<halves> roformer_sinusoidal(std::size_t dim) {
  return detail::sinusoidal_of_the_paper<halves>("roformer_sinusoidal", dim);
}

/// Whisper's encoder: sines, then cosines, as all that follow, of frequencies 10000^(-j / (dim/2 -
/// 1)). [whisper, sinusoids] Throws unless dim is even and at least 4.
inline sinusoidal<halves> whisper_sinusoidal(std::size_t dim) {
  return detail::sinusoidal_of_whisper("whisper_sinusoidal", dim, 0);
}

/// CTranslate2: the same, but for the first token, which is at position 1: give it position 0.
/// [SinusoidalPositionEncoder]
inline sinusoidal<halves> ctranslate2_sinusoidal(std::size_t dim) {
  return detail::sinusoidal_of_whisper("ctranslate2_sinusoidal", dim, 1);
}

/// tensor2tensor, get_timing_signal_1d: frequencies min (max / min)^(-j / (h - 1)), where h =
/// floor(dim / 2), and min and max are the timescales, then a zero if dim is odd. The quotient of
/// timescales is rounded to double. A single frequency is min_timescale. Throws unless dim is at
/// least 2 and the timescales are finite and positive.
inline sinusoidal<halves> tensor2tensor_sinusoidal(std::size_t dim, double min_timescale = 1,
                                                   double max_timescale = 1e4,
                                                   std::int64_t start_index = 0) {
  constexpr auto name = "tensor2tensor_sinusoidal";
  for (auto const scale : {min_timescale, max_timescale})
    detail::require_positive(name, "timescales", scale);
  return detail::sinusoidal_of_series(name, dim, max_timescale / min_timescale, 1,
                                      {.start = start_index}, min_timescale);
}

/// fairseq, M2M100, Speech2Text: frequencies 10000^(-j / (h - 1)), h = floor(dim / 2), then a zero
/// if dim is odd. p_t = 0 for padding, whose position is padding_idx. Positions are fairseq's, made
/// by fairseq_positions: padding_idx + 1 for the first token. [SinusoidalPositionalEmbedding] A
/// single frequency is 1; fairseq divides by zero there. Throws unless dim is at least 2.
inline sinusoidal<halves> fairseq_sinusoidal(std::size_t dim, std::int64_t padding_idx) {
  return detail::sinusoidal_of_series("fairseq_sinusoidal", dim, 1e4, 1, {.silent = padding_idx});
}

/// The positions of a sequence of token ids: padding_idx for padding tokens, wherever they are;
/// padding_idx + 1, + 2 ... for the others. [fairseq, make_positions]
inline std::vector<std::int64_t> fairseq_positions(positions_view token_ids,
                                                   std::int64_t padding_idx) {
  std::vector<std::int64_t> positions;
  positions.reserve(token_ids.size());
  auto last = padding_idx;
  for (auto const id : token_ids) positions.push_back(id == padding_idx ? padding_idx : ++last);
  return positions;
}

/// x-transformers, ScaledSinusoidalEmbedding: sines and cosines of frequencies base^(-2j / dim),
/// times `scale`, a learned number that starts as dim^(-1/2). Throws unless dim is even and
/// positive, base is finite and positive, and scale is finite.
inline sinusoidal<halves> scaled_sinusoidal(std::size_t dim, double scale, double base = 1e4) {
  return {detail::geometric_series("scaled_sinusoidal", dim, base, static_cast<double>(dim) / 2),
          {.scale = scale}};
}

/// The options of diffusers' get_timestep_embedding, with its names and defaults.
struct timestep_form {
  double scale = 1;                 ///< of angles; 1000 if times run from 0 to 1
  double max_period = 1e4;          ///< the base of the frequencies
  double downscale_freq_shift = 1;  ///< 0 in Stable Diffusion and most later models
  bool flip_sin_to_cos = false;     ///< cosines first, as in Stable Diffusion and later
};

/// A time t, which may be fractional: sin(scale t f_j), then cos(scale t f_j), then a zero if dim
/// is odd; f_j = max_period^(-j / (h - shift)), h = floor(dim / 2), shift = downscale_freq_shift.
/// [diffusers, embeddings.py, get_timestep_embedding]
///
///     std::vector<float> vector(320);
///     timestep(320, {.downscale_freq_shift = 0, .flip_sin_to_cos = true}).write(981.5, vector);
///
/// Exact at any t; angles formed in float have a relative error of 6e-8 or more. A single frequency
/// is `scale`, whatever the shift. Throws unless dim is at least 2, scale and max_period are finite
/// and positive, and the shift is finite and below h. (For h = 1, diffusers' default shift of 1
/// divides by zero; it counts as 0 here.)
inline sinusoidal<halves> timestep(std::size_t dim, timestep_form const& form = {}) {
  detail::require(dim >= 2, "timestep: dim must be at least 2, got ", dim);
  detail::require_positive("timestep", "scale", form.scale);
  detail::require_positive("timestep", "max_period", form.max_period);
  auto const h = dim / 2;
  auto const shift = h == 1 && form.downscale_freq_shift == 1 ? 0 : form.downscale_freq_shift;
  detail::require(is_finite(shift) && shift < static_cast<double>(h),
                  "timestep: downscale_freq_shift must be finite and below ", h, ", got ", shift);
  return detail::sinusoidal_of_series("timestep", dim, form.max_period, shift,
                                      {.cosine_first = form.flip_sin_to_cos}, form.scale);
}

/// cos(t f_j), then sin(t f_j), then a zero if dim is odd; f_j = max_period^(-j / h). [ggml,
/// ggml_timestep_embedding] Throws unless dim is at least 2 and max_period is finite and positive.
inline sinusoidal<halves> ggml_timestep(std::size_t dim, double max_period = 1e4) {
  return timestep(dim,
                  {.max_period = max_period, .downscale_freq_shift = 0, .flip_sin_to_cos = true});
}

static_assert(acts_on_embeddings<decltype(fairseq_sinusoidal(2, 0))>);
static_assert(acts_on_embeddings<decltype(timestep(2))>);

}}  // namespace posenc
