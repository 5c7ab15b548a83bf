// Frequencies of several axes side by side: images, videos.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc {

/// The frequencies of each axis from its own start: geometric(dims[0], base), then geometric(dims[1], base) ...
///
///     axial({16, 56, 56}, 1e4)               Flux: an index of the image, rows, columns
///     axial({d / 2, d / 2}, 1e4)             Qwen2-VL's vision model, and ggml's GGML_ROPE_TYPE_VISION: halves of the whole head
///
/// Which axis a pair turns by is said by axial_axes(dims), and the rows are made by axis_rows. Interleaved layouts, and halves of the
/// whole block of the sum of dims. Not M-RoPE, where frequencies fall from the first pair to the last across all axes.
///
/// A model whose pairs are halves *inside* each axis's own block is rotated block by block, by 1-D rows of each axis. Gemma 4's vision
/// model is, with base 100, and Allegro, with three blocks:
///
///     rotate<halves>(q, cos_sin_rows(geometric(head_dim / 2, 100), x), rotary_block::from(0));
///     rotate<halves>(q, cos_sin_rows(geometric(head_dim / 2, 100), y), rotary_block::from(head_dim / 2));
///
/// Throws std::invalid_argument unless there is an axis, all dims are even and positive, and base is finite and positive.
inline frequencies axial(std::span<std::size_t const> dims, double base) {
  detail::require(!dims.empty(), "axial: there must be at least one axis, got none");
  std::vector<double> inv_freq;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    detail::require(dims[axis] > 0 && dims[axis] % 2 == 0, "axial: the dims of an axis must be even and positive, got ", dims[axis],
                    " on axis ", axis);
    auto const one = detail::geometric_series("axial", dims[axis], base, static_cast<double>(dims[axis]) / 2);
    inv_freq.insert(inv_freq.end(), one.inv_freq().begin(), one.inv_freq().end());
  }
  return frequencies(std::move(inv_freq));
}

namespace detail {

inline std::size_t axial_head_dim(char const* model, std::size_t head_dim, std::size_t of) {
  require(head_dim > 0 && head_dim % of == 0, model, ": head_dim must be a positive multiple of ", of, ", got ", head_dim);
  return head_dim;
}

}  // namespace detail
