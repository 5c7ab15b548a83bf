// Sinusoidal embeddings of a grid, a block of each vector per axis: images (2-D), videos (3-D).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/embedding/detail/add_rows.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// An axis of a grid. Cell i has the coordinate first + i * step.
struct grid_axis {
  std::size_t cells;                ///< at least 1
  posenc::frequencies frequencies;  ///< of its block: two numbers per pair
  double first = 0, step = 1;       ///< coordinates, in cells
};

/// p of a grid cell: the sinusoidal vectors of its coordinates, concatenated. A position is the
/// index of a cell, row by row as patches are: row * width + column, or (frame * height + row) *
/// width + column.
///
///     mae_sin_cos(2, 3, dim)     position  0 1 2     row  0 0 0     column  0 1 2
///                                          3 4 5          1 1 1             0 1 2
///                                vector    [ of the column | of the row ]
///
/// Tokens before the grid, such as a class token, have no position in it: leave them out of the
/// view. Accuracy is that of sinusoidal. Throws std::invalid_argument unless there is at least one
/// axis, each has at least one cell, there are at most 2^32 cells, each axis has one block, and
/// coordinates are finite and below 2^62.
template <pair_layout Layout>
class sin_cos_grid {
 public:
  /// axes: the slowest first. blocks: the axis of each block of a vector.
  sin_cos_grid(std::vector<grid_axis> const& axes, std::vector<std::size_t> const& blocks) {
    // 2^32, or less if std::size_t has 32 bits.
    constexpr auto most = std::min<std::uint64_t>(std::uint64_t{1} << 32, ~std::size_t{0});
    detail::require(!axes.empty(), "sin_cos_grid: there must be at least one axis, got none");
    std::vector<std::size_t> strides(axes.size());
    for (auto axis = axes.size(); axis-- > 0;) {
      auto const& [cells, f, first, step] = axes[axis];
      detail::require(cells > 0 && cells <= most / cells_,
                      "sin_cos_grid: a grid must have 1 to 2^32 cells, got ", cells, " x ", cells_);
      auto const last = first + step * static_cast<double>(cells - 1);
      for (auto const c : {first, last}) {
        detail::require(is_finite(c) && c >= -0x1p62 && c <= 0x1p62,
                        "sin_cos_grid: coordinates must be finite and within 2^62, got ", c,
                        " on axis ", axis);
      }
      strides[axis] = cells_;
      cells_ *= cells;
    }
    std::vector<bool> taken(axes.size());
    for (auto const axis : blocks) {
      detail::require(axis < axes.size() && !taken[axis],
                      "sin_cos_grid: blocks must name each of the ", axes.size(),
                      " axes once, got ", axis);
      taken[axis] = true;
      blocks_.push_back({sinusoidal<Layout>(axes[axis].frequencies), strides[axis],
                         axes[axis].cells, axes[axis].first, axes[axis].step});
      dim_ += blocks_.back().wave.dim();
    }
    detail::require(blocks.size() == axes.size(),
                    "sin_cos_grid: there must be a block for each of the ", axes.size(),
                    " axes, got ", blocks.size());
  }

  std::size_t dim() const noexcept { return dim_; }      ///< numbers in a vector, of all blocks
  std::size_t cells() const noexcept { return cells_; }  ///< in all axes together

  /// Writes p to `vector`, which has dim() numbers. Throws if it has another size, or if the
  /// position is not in the grid.
  template <class Vector>
  void write(std::int64_t position, Vector&& vector) const {
    std::span<detail::span_value_t<Vector>> rest(vector);
    detail::require(rest.size() == dim_, "sin_cos_grid: a vector must have ", dim_,
                    " numbers, got ", rest.size());
    require_cell(position);
    for (auto const& block : blocks_) {
      auto const cell = static_cast<std::size_t>(position) / block.stride % block.cells;
      block.wave.write(block.first + block.step * static_cast<double>(cell),
                       rest.first(block.wave.dim()));
      rest = rest.subspan(block.wave.dim());
    }
  }

  /// Site 1: x[t] += p. x: [tokens][1][dim]; with several heads, each gets the same p.
  /// Throws, before anything is changed, unless x has heads of dim() and one position per token,
  /// each in the grid.
  template <class T>
  void embed(heads_view<T> const& x, token_positions const& positions) const {
    detail::require_embeddings("sin_cos_grid", x, dim_, positions);
    for (auto const position : positions) require_cell(position);
    detail::add_rows(x, [&](std::size_t token, auto vector) { write(positions[token], vector); });
  }

 private:
  struct axis_block {
    sinusoidal<Layout> wave;
    std::size_t stride, cells;
    double first, step;
  };

  void require_cell(std::int64_t position) const {
    detail::require(static_cast<std::uint64_t>(position) < cells_,
                    "sin_cos_grid: a position must be within [0, ", cells_, "), got ", position);
  }

  std::vector<axis_block> blocks_;
  std::size_t cells_ = 1, dim_ = 0;
};

namespace detail {

/// base^(-j / (h - short_by)), j = 0 .. h - 1, for an axis with 2h dims: `parts` of `of` equal
/// parts of dim.
inline frequencies frequencies_of_axis(char const* rule, std::size_t dim, std::size_t parts,
                                       std::size_t of, double base, double short_by = 0) {
  require(dim > 0 && dim % (2 * of) == 0, rule, ": dim must be a positive multiple of ", 2 * of,
          ", got ", dim);
  auto const axis_dim = dim / of * parts;
  return geometric_series(rule, axis_dim, base, static_cast<double>(axis_dim) / 2 - short_by);
}

}  // namespace detail

/// MAE, DiT, PixArt, SD3: column, then row, dim / 2 numbers each: sines, then cosines, of
/// frequencies base^(-j / (dim / 4)). [mae, util/pos_embed.py; diffusers, get_2d_sincos_pos_embed,
/// whose interpolation is a grid_axis::step] Throws unless the grid has a cell, dim is a positive
/// multiple of 4, and base is finite and positive.
inline sin_cos_grid<halves> mae_sin_cos(std::size_t height, std::size_t width, std::size_t dim,
                                        double base = 1e4) {
  auto const f = detail::frequencies_of_axis("mae_sin_cos", dim, 1, 2, base);
  return {{{height, f}, {width, f}}, {1, 0}};
}

/// big_vision's ViT, MoE ViT, SimpleViT: the same with frequencies base^(-j / (dim / 4 - 1)).
/// [big_vision, models/vit.py, posemb_sincos_2d]
inline sin_cos_grid<halves> vit_sin_cos(std::size_t height, std::size_t width, std::size_t dim,
                                        double base = 1e4) {
  auto const f = detail::frequencies_of_axis("vit_sin_cos", dim, 1, 2, base, dim > 4 ? 1 : 0);
  return {{{height, f}, {width, f}}, {1, 0}};
}

/// CogVideoX: frame (dim / 4), column (3/8 dim), row (3/8 dim), each sines, then cosines, of
/// frequencies base^(-2j / its dims). [diffusers, get_3d_sincos_pos_embed] Throws unless the grid
/// has a cell, dim is a positive multiple of 16, and base is finite and positive.
inline sin_cos_grid<halves> cogvideox_sin_cos(std::size_t frames, std::size_t height,
                                              std::size_t width, std::size_t dim,
                                              double base = 1e4) {
  auto const time = detail::frequencies_of_axis("cogvideox_sin_cos", dim, 2, 8, base);
  auto const space = detail::frequencies_of_axis("cogvideox_sin_cos", dim, 3, 8, base);
  return {{{frames, time}, {height, space}, {width, space}}, {0, 2, 1}};
}

/// The options of DETR's embedding.
struct detr_form {
  double base = 1e4;                    ///< of the frequencies
  bool normalize = false;               ///< coordinates up to `scale`; in DETR's models
  double scale = 2 * std::numbers::pi;  ///< used if normalize
};

/// DETR's PositionEmbeddingSine for images without padding: row, then column, dim / 2 numbers each:
/// sine and cosine alternating, of frequencies base^(-4k / dim). Rows and columns count from 1; if
/// normalize, c becomes c / (cells + 1e-6) * scale. [detr, position_encoding.py]
/// Throws unless the grid has a cell, dim is a positive multiple of 4, base is finite and positive,
/// and scale is finite.
inline sin_cos_grid<interleaved> detr_sin_cos(std::size_t height, std::size_t width,
                                              std::size_t dim, detr_form const& form = {}) {
  auto const f = detail::frequencies_of_axis("detr_sin_cos", dim, 1, 2, form.base);
  auto const axis = [&](std::size_t cells) {
    auto const step = form.normalize ? form.scale / (static_cast<double>(cells) + 1e-6) : 1;
    return grid_axis{cells, f, step, step};
  };
  return {{axis(height), axis(width)}, {0, 1}};
}

static_assert(acts_on_embeddings<sin_cos_grid<halves>>);

}}  // namespace posenc
