// From positions to rows of cosines and sines in the caller's memory, without a table.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "posenc/core/compiler.hpp"
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
/// axis_row_maker writes those of axis_rows, whose pairs have each their axis:
///
///     axis_row_maker const maker(geometric(128, 1e6), contiguous_axes(sections));    Qwen2-VL
///
/// memory: [tokens][2][pairs] floats, or doubles to rotate doubles. Returns a view of the memory
/// and of the maker. Positions may have any integer type, or be fractional. Preconditions, not
/// checked: the memory has room for all rows, and every position is finite and fits int64.
/// Immutable, so threads may share it.
template <bool OfAxes>
class basic_row_maker {
 public:
  /// Keeps the frequencies, and nothing by position.
  explicit basic_row_maker(posenc::frequencies f) requires(!OfAxes) : f_(std::move(f)) {}
  /// For positions on several axes: each pair has the position of its own axis. Throws
  /// std::invalid_argument unless axes and frequencies have the same number of pairs.
  basic_row_maker(posenc::frequencies f, pair_axes const& axes) requires OfAxes
      : f_(std::move(f)),
        axes_(axes.axes()),
        mask_stride_(axes.pairs() + phase_steps::padding) {
    detail::require(axes.pairs() == f_.pairs(), "axis_rows: axes must be given for each of the ",
                    f_.pairs(), " pairs, got ", axes.pairs());
    masks_.assign(axes_ * mask_stride_, 0);
    for (std::size_t pair = 0; pair < axes.pairs(); ++pair)
      masks_[axes.axis(pair) * mask_stride_ + pair] = ~phase{0};
  }

  posenc::frequencies const& frequencies() const noexcept { return f_; }  ///< [pairs]
  std::size_t axes() const noexcept { return axes_; }                 ///< of each token's position
  std::size_t pairs() const noexcept { return f_.pairs(); }           ///< of each row
  std::size_t rotary_dim() const noexcept { return 2 * f_.pairs(); }  ///< also the length of a row

  /// positions: [axes][tokens]; memory: [tokens][2][pairs].
  template <std::floating_point Real, position_range Positions>
  cos_sin_view<Real> write(Positions const& positions, Real* memory) const noexcept {
    auto const size = static_cast<std::size_t>(std::size(positions)),
               tokens = OfAxes ? size / axes_ : size;
    auto const layout = detail::layout_of(f_);
    auto position = std::begin(positions);
    for (std::size_t token = 0; token < tokens; ++token, ++position) {
      auto* const row = memory + rotary_dim() * token;
      layout.write_unrotated(row);
      if constexpr (!OfAxes) {
        detail::write_row_at(detail::widened(*position), f_.steps(), row, layout);
      } else {
        write_axes(layout, row, [=](std::size_t axis) {
          return detail::widened(*std::next(position, static_cast<std::ptrdiff_t>(axis * tokens)));
        });
      }
    }
    return {memory, tokens, pairs(), f_.rotated_pairs()};
  }

 private:
  // A row at position at(axis) on each axis.
  void write_axes(detail::row_layout const& layout, auto* row, auto const& at) const noexcept {
    bool equal = true, near = true;
    for (std::size_t axis = 0; axis < axes_; ++axis)
      equal = equal && at(axis) == at(0), near = near && is_near(at(axis));
    if (equal) return detail::write_row_at(at(0), f_.steps(), row, layout);
    if (!near) return detail::write_row(row, layout, phases(at));
    detail::write_row(row, layout, phases([at](std::size_t axis) {
                        return static_cast<std::uint32_t>(at(axis));
                      }));
  }

  // A function from a pair to the phases of a register of pairs from there on, each at the position
  // of its axis.
  auto phases(auto const& at) const noexcept {
    return [this, at](std::size_t pair) POSENC_INLINED {
      auto const of_axis = [&](std::size_t axis) POSENC_INLINED {
        return detail::phases_at(f_.steps(), at(axis))(pair) &
               detail::phase_lanes::load_bits(masks_.data() + axis * mask_stride_ + pair);
      };
      auto result = of_axis(0);
      for (std::size_t axis = 1; axis < axes_; ++axis) result = result | of_axis(axis);
      return result;
    };
  }

  // Whether 32 bits hold a position.
  static bool is_near(std::int64_t position) noexcept {
    return std::in_range<std::uint32_t>(position);
  }
  static bool is_near(double position) noexcept {
    return position >= 0 && position < 0x1p32 && std::floor(position) == position;
  }

  posenc::frequencies f_;
  std::size_t axes_ = 1, mask_stride_ = 0;
  std::vector<phase> masks_;  // [axes][mask_stride_]: all ones if the pair has the axis
};

using row_maker = basic_row_maker<false>;      ///< for positions on one axis
using axis_row_maker = basic_row_maker<true>;  ///< for positions on several axes

}  // namespace posenc
