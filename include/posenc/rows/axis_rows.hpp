// Rows in which each pair rotates by the position of its own axis: M-RoPE, axial and vision
// encodings.
#pragma once

#include <concepts>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/axis_positions.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/pair_axes.hpp"
#include "posenc/rows/row_maker.hpp"

namespace posenc::inline POSENC_TARGET {

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
cos_sin_rows<Real> axis_rows(axis_row_maker const& maker, axis_positions<P> const& positions) {
  detail::require(maker.axes() <= positions.axes(), "axis_rows: positions must have each of the ",
                  maker.axes(), " axes of the pairs, got ", positions.axes());
  return detail::rows_access::make<Real>(maker, positions.of(0).data(), positions.tokens());
}
/// The same, without a maker to keep.
template <std::floating_point Real = float, position P>
cos_sin_rows<Real> axis_rows(frequencies const& f, pair_axes const& axes,
                             axis_positions<P> const& positions) {
  return axis_rows<Real>(axis_row_maker(f, axes), positions);
}

}  // namespace posenc
