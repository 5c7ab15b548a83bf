// Sinusoidal embeddings of a grid: a block of each vector for each axis. Images (2-D), videos (3-D).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"
#include "posenc/embedding/add_rows.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc::inline POSENC_TARGET {

/// An axis of a grid: how many places it has, its frequencies, and the coordinate of its place i, first + i * step.
struct grid_axis {
  std::size_t places;
  posenc::frequencies frequencies;
  double first = 0, step = 1;
};

/// p of a place of a grid: the sinusoidal vectors of its coordinates, one behind the other. A position is the index of a place, counted in
/// rows as patches are: row * width + column, or (frame * height + row) * width + column.
///
///     mae_sin_cos(2, 3, dim)     position  0 1 2      row   0 0 0     column  0 1 2       vector  [ of the column | of the row ]
///                                          3 4 5            1 1 1             0 1 2
///
/// What stands before the grid, a class token, gets no vector: leave it out of the view.
/// Accuracy is that of sinusoidal. Throws std::invalid_argument unless there is an axis, each has a place, there are at most 2^32 places,
/// each axis has one block, and coordinates are finite and below 2^62.
template <pair_layout Layout>
class sin_cos_grid {
 public:
  /// axes: the slowest first. blocks: the axis that each block of a vector is of.
  sin_cos_grid(std::vector<grid_axis> const& axes, std::vector<std::size_t> const& blocks) {
    constexpr auto most = std::min<std::uint64_t>(std::uint64_t{1} << 32, ~std::size_t{0});  // less than 2^32 where a size has 32 bits
    detail::require(!axes.empty(), "sin_cos_grid: there must be at least one axis, got none");
    std::vector<std::size_t> strides(axes.size());
    for (auto axis = axes.size(); axis-- > 0;) {
      auto const& [places, f, first, step] = axes[axis];
      detail::require(places > 0 && places <= most / places_, "sin_cos_grid: a grid must have 1 to 2^32 places, got ", places, " x ",
                      places_);
      auto const last = first + step * static_cast<double>(places - 1);
      for (auto const c : {first, last}) {
        detail::require(is_finite(c) && c >= -0x1p62 && c <= 0x1p62, "sin_cos_grid: coordinates must be finite and within 2^62, got ", c,
                        " on axis ", axis);
      }
      strides[axis] = places_;
      places_ *= places;
    }
    std::vector<bool> taken(axes.size());
    for (auto const axis : blocks) {
      detail::require(axis < axes.size() && !taken[axis], "sin_cos_grid: blocks must name each of the ", axes.size(), " axes once, got ",
                      axis);
      taken[axis] = true;
      blocks_.push_back({sinusoidal<Layout>(axes[axis].frequencies), strides[axis], axes[axis].places, axes[axis].first, axes[axis].step});
      dim_ += blocks_.back().wave.dim();
    }
    detail::require(blocks.size() == axes.size(), "sin_cos_grid: there must be a block for each of the ", axes.size(), " axes, got ",
                    blocks.size());
  }

  std::size_t dim() const noexcept { return dim_; }
  std::size_t places() const noexcept { return places_; }

  /// p itself, into `row` of dim() numbers. Throws std::invalid_argument if it has another size, and unless the position is of the grid.
  template <class T>
  void write(std::int64_t position, std::span<T> row) const {
    detail::require(row.size() == dim_, "sin_cos_grid: a row must have ", dim_, " numbers, got ", row.size());
    require_place(position);
    for (auto const& block : blocks_) {
      auto const place = static_cast<std::size_t>(position) / block.stride % block.places;
      block.wave.write(block.first + block.step * static_cast<double>(place), row.first(block.wave.dim()));
      row = row.subspan(block.wave.dim());
    }
  }

  /// Site 1: x[t] += p. x: [tokens][1][dim]; several heads get the same p each.
  /// Throws std::invalid_argument, before anything is changed, unless x has dim() numbers a head and one position of the grid a token.
  template <class T>
  void embed(heads_view<T> const& x, positions_view positions) const {
    detail::require_embeddings("sin_cos_grid", x, dim_, positions);
    for (auto const position : positions) require_place(position);
    detail::add_rows(x, [&](std::size_t token, auto row) { write(positions[token], row); });
  }

 private:
  struct axis_block {
    sinusoidal<Layout> wave;
    std::size_t stride, places;
    double first, step;
  };

  void require_place(std::int64_t position) const {
    detail::require(static_cast<std::uint64_t>(position) < places_, "sin_cos_grid: a position must be within [0, ", places_, "), got ",
                    position);
  }

  std::vector<axis_block> blocks_;
  std::size_t places_ = 1, dim_ = 0;
};

namespace detail {

/// base^(-j / (h - short_by)), j = 0 .. h - 1, of an axis that has `parts` in `of` of the dims, 2h.
inline frequencies frequencies_of_axis(char const* rule, std::size_t dim, std::size_t parts, std::size_t of, double base,
                                       double short_by = 0) {
  require(dim > 0 && dim % (2 * of) == 0, rule, ": dim must be a positive multiple of ", 2 * of, ", got ", dim);
  auto const axis_dim = dim / of * parts;
  return geometric_series(rule, axis_dim, base, static_cast<double>(axis_dim) / 2 - short_by);
}

}  // namespace detail

/// MAE, DiT, PixArt, SD3: column, then row; each dim / 2 numbers, sines, then cosines, over base^(-j / (dim / 4)). [mae, util/pos_embed.py;
/// diffusers, get_2d_sincos_pos_embed, of which interpolation is a grid_axis::step]
/// Throws std::invalid_argument unless the grid has a place, dim is a positive multiple of 4, and base finite and positive.
inline sin_cos_grid<halves> mae_sin_cos(std::size_t height, std::size_t width, std::size_t dim, double base = 1e4) {
  auto const f = detail::frequencies_of_axis("mae_sin_cos", dim, 1, 2, base);
  return {{{height, f}, {width, f}}, {1, 0}};
}

/// big_vision's ViT, MoE ViT, SimpleViT: the same over base^(-j / (dim / 4 - 1)). [big_vision, models/vit.py, posemb_sincos_2d]
inline sin_cos_grid<halves> vit_sin_cos(std::size_t height, std::size_t width, std::size_t dim, double base = 1e4) {
  auto const f = detail::frequencies_of_axis("vit_sin_cos", dim, 1, 2, base, dim > 4 ? 1 : 0);
  return {{{height, f}, {width, f}}, {1, 0}};
}

/// CogVideoX: frame (dim / 4), then column (3/8 dim), then row (3/8 dim), each sines, then cosines, over base^(-2j / its dims).
/// [diffusers, get_3d_sincos_pos_embed]
/// Throws std::invalid_argument unless the grid has a place, dim is a positive multiple of 16, and base finite and positive.
inline sin_cos_grid<halves> cogvideox_sin_cos(std::size_t frames, std::size_t height, std::size_t width, std::size_t dim,
                                              double base = 1e4) {
  auto const time = detail::frequencies_of_axis("cogvideox_sin_cos", dim, 2, 8, base);
  auto const space = detail::frequencies_of_axis("cogvideox_sin_cos", dim, 3, 8, base);
  return {{{frames, time}, {height, space}, {width, space}}, {0, 2, 1}};
}

struct detr_form {
  double base = 1e4;
  bool normalize = false;               ///< coordinates from scale / height (width) to scale, whatever the size: DETR's models have it
  double scale = 2 * std::numbers::pi;  ///< where normalized
};

/// DETR's PositionEmbeddingSine, of images without padding: row, then column, each dim / 2 numbers, sine and cosine in turn, over
/// base^(-4k / dim). Rows and columns are counted from 1; normalized, c becomes c / (places + 1e-6) * scale. [detr, position_encoding.py]
/// Throws std::invalid_argument unless the grid has a place, dim is a positive multiple of 4, base finite and positive, scale finite.
inline sin_cos_grid<interleaved> detr_sin_cos(std::size_t height, std::size_t width, std::size_t dim, detr_form const& form = {}) {
  auto const f = detail::frequencies_of_axis("detr_sin_cos", dim, 1, 2, form.base);
  auto const axis = [&](std::size_t places) {
    auto const step = form.normalize ? form.scale / (static_cast<double>(places) + 1e-6) : 1;
    return grid_axis{places, f, step, step};
  };
  return {{axis(height), axis(width)}, {0, 1}};
}

static_assert(acts_on_embeddings<sin_cos_grid<halves>>);

}  // namespace posenc
