// From positions to rows of cosines and sines in the caller's memory, without a table.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/rows/pair_axes.hpp"
#include "posenc/rows/phase_lanes.hpp"
#include "posenc/rows/row_writer.hpp"

namespace posenc::inline POSENC_TARGET {

/// Writes the rows of cos_sin_rows, bit for bit, into the caller's memory.
///
///     row_maker const maker(f);                           once per model
///     auto const rows = maker.write(positions, memory);   once per step; allocates nothing
///     rotate<halves>(q, rows);
///
/// memory: [tokens][2][pairs] floats, or doubles to rotate doubles. Returns a view of the memory
/// and of the maker. Positions may have any integer type. Preconditions, not checked: the memory
/// has room for all rows, and every position fits int64. Immutable, so threads may share it.
class row_maker {
 public:
  explicit row_maker(frequencies f) : f_(std::move(f)) {}

  std::size_t pairs() const noexcept { return f_.pairs(); }
  std::size_t rotary_dim() const noexcept { return 2 * f_.pairs(); }  ///< also the length of a row

  template <std::floating_point Real, integer_position_range Positions>
  cos_sin_view<Real> write(Positions const& positions, Real* memory) const noexcept {
    auto* row = memory;
    detail::row_layout const layout(f_);
    for (auto const p : positions) {
      layout.write_unrotated(row);
      detail::write_row_at(detail::widened(p), f_.steps(), row, layout);
      row += rotary_dim();
    }
    return {memory, static_cast<std::size_t>(std::size(positions)), pairs(), f_.rotated_pairs()};
  }

 private:
  template <std::floating_point>
  friend class cos_sin_rows;

  frequencies f_;
};

/// The same for positions on several axes: the rows of axis_rows, bit for bit.
///
///     axis_row_maker const maker(geometric(128, 1e6), contiguous_axes(sections));    Qwen2-VL
///     auto const rows = maker.write(positions, tokens, memory);
///
/// positions: [axes][tokens], of any integer type that fits int64. Preconditions and all else as
/// for row_maker.
/// Throws std::invalid_argument unless axes and frequencies have the same number of pairs.
class axis_row_maker {
 public:
  axis_row_maker(frequencies const& f, pair_axes const& axes)
      : f_(f),
        axes_(axes.axes()),
        mask_stride_(axes.pairs() + phase_steps::padding),
        masks_(axes_ * mask_stride_, 0) {
    detail::require(axes.pairs() == f.pairs(), "axis_rows: axes must be given for each of the ",
                    f.pairs(), " pairs, got ", axes.pairs());
    for (std::size_t pair = 0; pair < axes.pairs(); ++pair)
      masks_[axes.axis(pair) * mask_stride_ + pair] = ~phase{0};
  }

  std::size_t axes() const noexcept { return axes_; }
  std::size_t pairs() const noexcept { return f_.pairs(); }
  std::size_t rotary_dim() const noexcept { return 2 * f_.pairs(); }  ///< also the length of a row

  template <std::floating_point Real, std::integral P>
  cos_sin_view<Real> write(P const* positions, std::size_t tokens, Real* memory) const noexcept {
    for (std::size_t token = 0; token < tokens; ++token)
      write_row(positions + token, tokens, memory + rotary_dim() * token);
    return {memory, tokens, pairs(), f_.rotated_pairs()};
  }

 private:
  friend struct detail::rows_access;

  // position: one per axis, `stride` elements apart.
  template <class P, class Real>
  void write_row(P const* position, std::size_t stride, Real* row) const noexcept {
    detail::row_layout const layout(f_);
    layout.write_unrotated(row);
    auto const at = [=](std::size_t axis) { return detail::widened(position[axis * stride]); };
    bool equal = true, near = true;
    for (std::size_t axis = 0; axis < axes_; ++axis)
      equal = equal && at(axis) == at(0), near = near && is_near(at(axis));
    if (equal) {
      detail::write_row_at(at(0), f_.steps(), row, layout);
    } else if (near) {
      detail::write_row(row, layout, phases([at](std::size_t axis) {
                          return static_cast<std::uint32_t>(at(axis));
                        }));
    } else {
      detail::write_row(row, layout, phases(at));
    }
  }

  // A function from a pair to the phases of a register of pairs from there on, each at the position
  // of its axis.
  auto phases(auto const& at) const noexcept {
    return [this, at](std::size_t pair) noexcept {
      auto result = phases_of(at(0))(pair) & detail::phase_lanes::load_bits(masks_.data() + pair);
      for (std::size_t axis = 1; axis < axes_; ++axis) {
        result =
            result | (phases_of(at(axis))(pair) &
                      detail::phase_lanes::load_bits(masks_.data() + axis * mask_stride_ + pair));
      }
      return result;
    };
  }

  auto phases_of(auto position) const noexcept { return detail::phases_at(f_.steps(), position); }

  // Whether phases_at has its fast path for a position.
  static bool is_near(std::int64_t position) noexcept {
    return std::in_range<std::uint32_t>(position);
  }
  static bool is_near(double position) noexcept {
    return position >= 0 && position < 0x1p32 && std::floor(position) == position;
  }

  frequencies f_;
  std::size_t axes_, mask_stride_;
  std::vector<phase> masks_;  // [axes][mask_stride_]: all ones if the pair has the axis
};

}  // namespace posenc
