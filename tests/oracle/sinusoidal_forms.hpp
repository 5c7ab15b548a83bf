#pragma once

/// Sinusoidal vectors as libraries compute them, from their formulas in wide numbers: one function
/// per library.

#include <cmath>
#include <cstddef>
#include <vector>

#include "angle.hpp"

namespace oracle {

/// `angles`: position * frequency of each number, to bound the error of its angle.
struct sinusoidal_forms_row {
  std::vector<double> numbers;
  std::vector<double> angles;  ///< of each number, 0 for a zero
};

namespace forms {

inline void put(sinusoidal_forms_row& row, std::size_t at, wide number, wide angle) {
  row.numbers[at] = static_cast<double>(number);
  row.angles[at] = static_cast<double>(angle);
}

inline sinusoidal_forms_row zeros(std::size_t dim) {
  return {std::vector<double>(dim), std::vector<double>(dim)};
}

}  // namespace forms

/// diffusers get_timestep_embedding, which includes those of DDPM and Stable Diffusion.
inline sinusoidal_forms_row diffusers_timestep(wide t, std::size_t dim, bool flip_sin_to_cos,
                                               wide shift, wide scale, wide max_period) {
  auto row = forms::zeros(dim);
  const std::size_t half = dim / 2;
  for (std::size_t j = 0; j < half; ++j) {
    const wide frequency =
        exp(-log(max_period) * static_cast<wide>(j) / (static_cast<wide>(half) - shift));
    const auto [c, s] = direction_at(t, scale * frequency);
    forms::put(row, flip_sin_to_cos ? half + j : j, s, scale * frequency * t);
    forms::put(row, flip_sin_to_cos ? j : half + j, c, scale * frequency * t);
  }
  return row;
}

/// tensor2tensor get_timing_signal_1d; with timescales 1 and 10000, fairseq's
/// SinusoidalPositionalEmbedding.
inline sinusoidal_forms_row timing_signal(wide position, std::size_t dim, wide shortest,
                                          wide longest) {
  auto row = forms::zeros(dim);
  const std::size_t half = dim / 2;
  const wide increment = log(longest / shortest) / (half > 1 ? static_cast<wide>(half - 1) : 1.0L);
  for (std::size_t j = 0; j < half; ++j) {
    const wide frequency = shortest * exp(-increment * static_cast<wide>(j));
    const auto [c, s] = direction_at(position, frequency);
    forms::put(row, j, s, frequency * position);
    forms::put(row, half + j, c, frequency * position);
  }
  return row;
}

/// One axis of a grid of patches: `dim` numbers for coordinate x, from index `at` on. alternating:
/// DETR's order, else MAE's.
inline void put_axis(sinusoidal_forms_row& row, std::size_t at, std::size_t dim, wide x,
                     bool alternating, wide divisor, wide temperature = 10000.0L) {
  const std::size_t half = dim / 2;
  for (std::size_t j = 0; j < half; ++j) {
    const wide frequency = pow(temperature, -static_cast<wide>(j) / divisor);
    const auto [c, s] = direction_at(x, frequency);
    forms::put(row, at + (alternating ? 2 * j : j), s, frequency * x);
    forms::put(row, at + (alternating ? 2 * j + 1 : half + j), c, frequency * x);
  }
}

}  // namespace oracle
