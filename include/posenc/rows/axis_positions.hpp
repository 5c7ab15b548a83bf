// Positions with several coordinates per token: time, height, width.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rows/row_writer.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

template <class Numbers>
using widened_t = decltype(widened(std::declval<std::ranges::range_value_t<Numbers>>()));

}  // namespace detail

/// One position per token on each axis, [axes][tokens]; fractional if P is double. pair_axes
/// assigns pairs to axes. Immutable.
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
    auto const count = static_cast<std::size_t>(std::ranges::size(numbers));
    detail::require(count % axes == 0, "axis_positions: all of the ", axes,
                    " axes must have the same number of tokens, got ", count, " positions");
    tokens_ = count / axes;
    std::size_t i = 0;
    for (auto const p : numbers) detail::require_position("axis_positions", p, i++ % tokens_);
    positions_.reserve(count);
    for (auto const p : numbers) positions_.push_back(static_cast<P>(p));
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

}  // namespace posenc
