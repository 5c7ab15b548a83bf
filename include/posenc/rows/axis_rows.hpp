// Positions with several coordinates per token, and rows in which each pair rotates by the position
// of its own axis: M-RoPE, axial and vision encodings.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/pair_axes.hpp"
#include "posenc/rows/row_maker.hpp"
#include "posenc/rows/row_writer.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

template <position_range Numbers>
using widened_t = decltype(widened(std::declval<position_in<Numbers>>()));

}  // namespace detail

/// One position per token on each axis (time, height, width), [axes][tokens]; fractional if P is
/// double. pair_axes assigns pairs to axes. Immutable.
/// Throws std::invalid_argument unless there is at least one axis, all axes have the same number of
/// tokens, and each position is finite and fits int64.
template <position P = std::int64_t>
class axis_positions {
 public:
  /// of_axis[axis][token]
  explicit axis_positions(std::vector<std::vector<P>> const& of_axis) : axes_(of_axis.size()) {
    detail::require(axes_ > 0, "axis_positions: there must be at least one axis, got none");
    tokens_ = of_axis.front().size();
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      detail::require(of_axis[axis].size() == tokens_,
                      "axis_positions: all axes must have the same number of tokens, got ",
                      of_axis[axis].size(), " on axis ", axis, " and ", tokens_, " on axis 0");
      detail::checked_positions("axis_positions", of_axis[axis]);
    }
    positions_.reserve(axes_ * tokens_);
    for (auto const& one : of_axis) positions_.insert(positions_.end(), one.begin(), one.end());
  }

  /// Of one array, [axes][tokens], as position_ids are held: integers of any type become int64,
  /// fractional numbers double. Throws std::invalid_argument as above, and unless each axis has as
  /// many numbers.
  template <position_range Numbers>
  requires std::same_as<P, detail::widened_t<Numbers>> axis_positions(std::size_t axes,
                                                                      Numbers const& numbers)
      : axes_(axes) {
    detail::require(axes > 0, "axis_positions: there must be at least one axis, got none");
    auto const count = static_cast<std::size_t>(std::size(numbers));
    detail::require(count % axes == 0, "axis_positions: all of the ", axes,
                    " axes must have the same number of tokens, got ", count, " positions");
    tokens_ = count / axes;
    std::size_t i = 0;
    for (auto const p : numbers) detail::require_position("axis_positions", p, i++ % tokens_);
    positions_.assign(std::begin(numbers), std::end(numbers));
  }

  std::size_t axes() const noexcept { return axes_; }      ///< of each token
  std::size_t tokens() const noexcept { return tokens_; }  ///< on each axis

  /// The positions of all tokens on one axis. Precondition, not checked: axis < axes().
  std::span<P const> of(std::size_t axis) const noexcept {
    return {positions_.data() + axis * tokens_, tokens_};
  }

 private:
  std::size_t axes_;
  std::size_t tokens_ = 0;
  std::vector<P> positions_;  // [axes][tokens]
};

template <position_range Numbers>
axis_positions(std::size_t, Numbers const&) -> axis_positions<detail::widened_t<Numbers>>;

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
cos_sin_rows<Real> axis_rows(row_maker const& maker, axis_positions<P> const& positions) {
  detail::require(maker.axes() <= positions.axes(), "axis_rows: positions must have each of the ",
                  maker.axes(), " axes of the pairs, got ", positions.axes());
  return {maker, std::span(positions.of(0).data(), maker.axes() * positions.tokens())};
}
/// The same, without a maker to keep.
template <std::floating_point Real = float, position P>
cos_sin_rows<Real> axis_rows(frequencies const& f, pair_axes const& axes,
                             axis_positions<P> const& positions) {
  return axis_rows<Real>(row_maker(f, axes), positions);
}

}  // namespace posenc
