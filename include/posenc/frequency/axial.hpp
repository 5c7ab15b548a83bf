// Frequencies for images and videos: of several axes side by side, and in even steps.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The frequencies of one axis after another, each series from its start: geometric(dims[0],
/// bases[0]), then geometric(dims[1], bases[1]) ...
///
///     dims 16, 56, 56         Flux, interleaved: index of the image, row, column
///     dims d/2, d/2           Qwen2-VL's vision model, ggml's GGML_ROPE_TYPE_VISION: row, column;
///                             halves of a whole head of d
///     dims d/4, 3d/8, 3d/8    CogVideoX, interleaved: time, row, column
///     dims d - 2w, w, w       Wan, interleaved, w = 2 floor(d / 6): 44, 42, 42 for d = 128
///     the same, and bases     Cosmos, halves: axis a of D dims scaled by s_a has 1e4 s_a^(D/(D -
///     2))
///
/// axial_axes(dims) assigns pairs to axes; axis_rows makes the rows. For interleaved layouts, and
/// for halves of the whole block, whose size is the sum of dims. Not for M-RoPE, where one series
/// of frequencies runs across all axes.
///
/// A model whose halves lie *inside* each axis's block is rotated block by block, with 1-D rows per
/// axis. Examples: Gemma 4's vision model, with base 100, and Allegro, with three blocks of d/3:
///
///     rotate<halves>(q, cos_sin_rows(geometric(head_dim / 2, 100), x), rotary_block::from(0));
///     rotate<halves>(q, cos_sin_rows(geometric(head_dim / 2, 100), y),
///                    rotary_block::from(head_dim / 2));
///
/// Throws std::invalid_argument unless there is at least one axis, all dims are even, positive and
/// at most 2^24, and there is a base for each axis, finite and positive.
inline frequencies axial(list_view<std::size_t> dims, list_view<double> bases) {
  detail::require(!dims.empty(), "axial: there must be at least one axis, got none");
  detail::require(bases.size() == dims.size(), "axial: there must be a base for each of the ",
                  dims.size(), " axes, got ", bases.size());
  for (auto const base : bases) detail::require_positive("axial", "base", base);
  std::vector<double> inv_freq, rest;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    detail::require(dims[axis] > 0 && dims[axis] % 2 == 0 && dims[axis] <= std::size_t{1} << 24,
                    "axial: the dims of an axis must be even, positive and at most 2^24, got ",
                    dims[axis], " on axis ", axis);
    auto const one = geometric(dims[axis], bases[axis]);
    inv_freq.insert(inv_freq.end(), one.inv_freq().begin(), one.inv_freq().end());
    rest.insert(rest.end(), one.rest().begin(), one.rest().end());
  }
  return {std::move(inv_freq), std::move(rest), 1};
}
/// With one base for all axes.
inline frequencies axial(list_view<std::size_t> dims, double base) {
  return axial(dims, std::vector(dims.size(), base));
}

/// inv_freq_i = pi (1 + i (max_freq / 2 - 1) / (dim/2 - 1)): from half a turn across an image to
/// max_freq / 4 turns, in even steps. [rotary-embedding-torch, freqs_for="pixel", where dim counts
/// one axis and max_freq is 10 unless given]
///
/// Positions are coordinates, n of them from -1 to 1: -1 + 2 t / (n - 1). Rotate an axis at a time,
/// each a block of the head:
///
///     std::vector<double> const x{-1, -1.0 / 3, 1.0 / 3, 1};    4 columns
///     rotate<interleaved>(q, cos_sin_rows(pixel(head_dim / 2), x), rotary_block::from(0));
///
/// A single pair has frequency pi. Throws unless dim is even, positive and at most 2^24, and
/// max_freq is finite and positive.
inline frequencies pixel(std::size_t dim, double max_freq = 10) {
  detail::require(dim > 0 && dim % 2 == 0 && dim <= std::size_t{1} << 24,
                  "pixel: dim must be even, positive and at most 2^24, got ", dim);
  detail::require_positive("pixel", "max_freq", max_freq);
  auto const pi = detail::two_pi() * 0.5, range = max_freq * detail::two_doubles(0.5) - 1;
  auto const pairs = dim / 2;
  auto const steps = pairs > 1 ? static_cast<double>(pairs - 1) : 1;
  return detail::for_pairs(
      pairs, 1, [&](std::size_t i) { return pi * (range * static_cast<double>(i) / steps + 1); });
}

}}  // namespace posenc
