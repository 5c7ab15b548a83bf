// Sinusoidal embeddings of well-known papers, models and libraries, by name.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

template <class Layout>
sinusoidal<Layout> sinusoidal_of_the_paper(char const* name, std::size_t dim) {
  require(dim > 0, name, ": dim must be positive, got 0");
  return {geometric_series(name, dim + dim % 2, 1e4, static_cast<double>(dim) / 2),
          {.without_last = dim % 2 != 0}};
}

}  // namespace detail

/// "Attention is all you need", XLM, DistilBERT: sin cos sin cos ..., of frequencies
/// 10000^(-2j / dim). [Vaswani 2017, 3.5; modeling_xlm.py, where the last cosine of an odd dim is
/// left out]
/// Throws std::invalid_argument unless dim is positive.
inline sinusoidal<interleaved> vaswani_sinusoidal(std::size_t dim) {
  return detail::sinusoidal_of_the_paper<interleaved>("vaswani_sinusoidal", dim);
}

/// RoFormer, Marian, Pegasus: the same numbers, sines first, then cosines; of an odd dim, one
/// cosine less, so that its last sine makes <p_t, p_s> depend on more than t - s.
/// [RoFormerSinusoidalPositionalEmbedding]
/// Throws std::invalid_argument unless dim is positive.
inline sinusoidal<halves> roformer_sinusoidal(std::size_t dim) {
  return detail::sinusoidal_of_the_paper<halves>("roformer_sinusoidal", dim);
}

/// Whisper's encoder: sines, then cosines, of frequencies 10000^(-j / (dim/2 - 1)). [whisper,
/// sinusoids]
/// Throws std::invalid_argument unless dim is even and at least 4.
inline sinusoidal<halves> whisper_sinusoidal(std::size_t dim) {
  detail::require(dim % 2 == 0 && dim >= 4,
                  "whisper_sinusoidal: dim must be even and at least 4, got ", dim);
  return sinusoidal<halves>(geometric_inclusive(dim, 1e4));
}

/// CTranslate2: the same, but for the first token, which is at position 1: give it position 0.
/// [SinusoidalPositionEncoder]
/// Throws std::invalid_argument unless dim is even and at least 4.
inline sinusoidal<halves> ctranslate2_sinusoidal(std::size_t dim) {
  detail::require(dim % 2 == 0 && dim >= 4,
                  "ctranslate2_sinusoidal: dim must be even and at least 4, got ", dim);
  return sinusoidal<halves>(geometric_inclusive(dim, 1e4), 1);
}

/// tensor2tensor, get_timing_signal_1d: sines, then cosines, then a zero if dim is odd, of
/// frequencies min (max / min)^(-j / (h - 1)), where h = floor(dim / 2), and min and max are the
/// timescales. Their quotient is rounded to double. A single frequency is min_timescale.
/// Throws std::invalid_argument unless dim is at least 2 and the timescales are finite and
/// positive.
inline sinusoidal<halves> tensor2tensor_sinusoidal(std::size_t dim, double min_timescale = 1,
                                                   double max_timescale = 1e4,
                                                   std::int64_t start_index = 0) {
  detail::require(dim >= 2, "tensor2tensor_sinusoidal: dim must be at least 2, got ", dim);
  for (auto const scale : {min_timescale, max_timescale}) {
    detail::require(is_finite(scale) && scale > 0,
                    "tensor2tensor_sinusoidal: timescales must be finite and positive, got ",
                    scale);
  }
  auto const from_one = geometric_inclusive(dim - dim % 2, max_timescale / min_timescale);
  auto const f = detail::changed(
      from_one, [=](std::size_t, auto const& inv_freq) { return min_timescale * inv_freq; });
  return {f, {.start = start_index, .zeros = dim % 2}};
}

/// fairseq, M2M100, Speech2Text: sines, then cosines, then a zero if dim is odd, of frequencies
/// 10000^(-j / (h - 1)), h = floor(dim / 2). p_t = 0 for padding, whose position is padding_idx.
/// Positions are fairseq's, made by fairseq_positions: padding_idx + 1 for the first token.
/// [SinusoidalPositionalEmbedding] A single frequency is 1; fairseq divides by zero there.
/// Throws std::invalid_argument unless dim is at least 2.
inline sinusoidal<halves> fairseq_sinusoidal(std::size_t dim, std::int64_t padding_idx) {
  detail::require(dim >= 2, "fairseq_sinusoidal: dim must be at least 2, got ", dim);
  return {geometric_inclusive(dim - dim % 2, 1e4), {.zeros = dim % 2, .silent = padding_idx}};
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

/// x-transformers, ScaledSinusoidalEmbedding: scale times sines, then cosines, of frequencies
/// base^(-2j / dim). The scale is learned.
/// Throws std::invalid_argument unless dim is even and positive, base is finite and positive, and
/// scale is finite.
inline sinusoidal<halves> scaled_sinusoidal(std::size_t dim, double scale, double base = 1e4) {
  return {detail::geometric_series("scaled_sinusoidal", dim, base, static_cast<double>(dim) / 2),
          {.scale = scale}};
}

/// The same with the initial scale of the training, dim^(-1/2).
inline sinusoidal<halves> scaled_sinusoidal(std::size_t dim) {
  return scaled_sinusoidal(dim, 1 / std::sqrt(static_cast<double>(dim == 0 ? 1 : dim)));
}

static_assert(acts_on_embeddings<decltype(fairseq_sinusoidal(2, 0))>);

}  // namespace posenc
