// Rows in which each pair rotates by the position of its own axis: M-RoPE, axial and vision
// encodings.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/axis_positions.hpp"
#include "posenc/rotation/cos_sin_rows.hpp"
#include "posenc/rotation/pair_axes.hpp"
#include "posenc/rotation/phase_lanes.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// The pairs of each axis as masks for registers: [axis][pair] is all ones if the pair has that
/// axis, else 0.
class axis_masks {
 public:
  explicit axis_masks(pair_axes const& axes) : axes_(axes.axes()), stride_(axes.pairs() + phase_padding), masks_(axes_ * stride_, 0) {
    for (std::size_t pair = 0; pair < axes.pairs(); ++pair) masks_[axes.axis(pair) * stride_ + pair] = ~phase{0};
  }

  /// A function from a pair to the phases of a register of pairs from there on, each at the
  /// position of its axis; position: [axes]. Valid while steps, masks and positions live.
  template <class Position>
  auto at(phase_steps const& steps, Position const* position) const noexcept {
    return [&steps, position, axes = axes_, stride = stride_, masks = masks_.data()](std::size_t pair) noexcept {
      auto phases = steps.at(position[0])(pair) & phase_lanes::load_bits(masks + pair);
      for (std::size_t axis = 1; axis < axes; ++axis) {
        phases = phases | (steps.at(position[axis])(pair) & phase_lanes::load_bits(masks + axis * stride + pair));
      }
      return phases;
    };
  }

 private:
  std::size_t axes_, stride_;
  std::vector<phase> masks_;
};

/// Whether phase_steps has its fast path for a position.
inline bool is_near(std::int64_t position) noexcept { return std::in_range<std::uint32_t>(position); }
inline bool is_near(double position) noexcept { return position >= 0 && position < 0x1p32 && std::floor(position) == position; }

}  // namespace detail

/// cos and sin of positions.of(axes.axis(i))[t] * inv_freq_i, times attention_factor, for every
/// pair i of every token t. Any positions, in any order. [Qwen2-VL, 2.1]
///
///     axis_rows(geometric(128, 1e6), contiguous_axes(sections), positions)
///                                                        Qwen2-VL, sections {16, 24, 24}
///
/// Accuracy is that of cos_sin_rows. A token with equal positions on all axes, as in text, gets the
/// bits of that position's 1-D row. Pairs of frequency 0 are not rotated. Axes of the positions
/// that no pair has are not read.
/// Throws std::invalid_argument unless axes and frequencies have the same number of pairs and
/// positions have every axis that a pair has.
template <std::floating_point Real = float, position P>
cos_sin_rows<Real> axis_rows(frequencies const& f, pair_axes const& axes, axis_positions<P> const& positions) {
  detail::require(axes.pairs() == f.pairs(), "axis_rows: axes must be given for each of the ", f.pairs(), " pairs, got ", axes.pairs());
  detail::require(axes.axes() <= positions.axes(), "axis_rows: positions must have each of the ", axes.axes(), " axes of the pairs, got ",
                  positions.axes());
  detail::row_layout const layout(f);
  auto rows = detail::rows_access::make<Real>(layout, positions.tokens());
  phase_steps const steps(f);
  detail::axis_masks const masks(axes);
  std::vector<decltype(detail::widened(P{}))> at(axes.axes());
  std::vector<std::uint32_t> near(axes.axes());
  auto* row = detail::rows_access::data(rows);
  for (std::size_t token = 0; token < positions.tokens(); ++token, row += 2 * layout.pairs) {
    for (std::size_t axis = 0; axis < at.size(); ++axis) at[axis] = detail::widened(positions.of(axis)[token]);
    if (std::ranges::count(at, at[0]) == std::ranges::ssize(at)) {
      detail::write_row_at(at[0], steps, row, layout);
    } else if (std::ranges::all_of(at, [](auto p) { return detail::is_near(p); })) {
      std::ranges::transform(at, near.begin(), [](auto p) { return static_cast<std::uint32_t>(p); });
      detail::write_row(row, layout, masks.at(steps, near.data()));
    } else {
      detail::write_row(row, layout, masks.at(steps, at.data()));
    }
  }
  return rows;
}

}  // namespace posenc
