// From positions to rows of cosines and sines in the caller's memory, without a table.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/rows/detail/phase_lanes.hpp"
#include "posenc/rows/detail/row_writer.hpp"
#include "posenc/rows/pair_axes.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Writes the rows of cos_sin_rows, bit for bit, into the caller's memory.
///
///     row_maker const maker(f);                           once per model
///     auto const rows = maker.write(positions, memory);   once per step; allocates nothing
///     rotate<halves>(q, rows);
///
/// With axes, positions are axis_rows': each pair is at the position of its axis. memory:
/// [tokens][2][pairs] floats, or doubles to rotate doubles. Returns a view of the memory and of the
/// maker. Preconditions, not checked: the memory has room for all rows, and every position is
/// finite and fits int64. Immutable, so threads may share it.
class row_maker {
 public:
  /// Keeps the frequencies, and nothing by position.
  explicit row_maker(posenc::frequencies f) : f_(std::move(f)) {}
  /// For positions on several axes. Throws std::invalid_argument unless axes and frequencies have
  /// the same number of pairs.
  row_maker(posenc::frequencies f, pair_axes const& axes)
      : f_(std::move(f)), axes_(axes.axes()), stride_(axes.pairs() + phase_steps::padding) {
    detail::require(axes.pairs() == f_.pairs(), "axis_rows: axes must be given for each of the ",
                    f_.pairs(), " pairs, got ", axes.pairs());
    masks_.assign(axes_ * stride_, 0);
    for (std::size_t pair = 0; pair < axes.pairs(); ++pair)
      masks_[axes.axis(pair) * stride_ + pair] = ~phase{0};
  }

  posenc::frequencies const& frequencies() const& noexcept { return f_; }  ///< [pairs]
  posenc::frequencies frequencies() && noexcept { return std::move(f_); }  ///< of a temporary
  std::size_t axes() const noexcept { return axes_; }                 ///< of each token's position
  std::size_t pairs() const noexcept { return f_.pairs(); }           ///< of each row
  std::size_t rotary_dim() const noexcept { return 2 * f_.pairs(); }  ///< also the length of a row

  /// positions: [axes][tokens]; memory: [tokens][2][pairs].
  template <std::floating_point Real, position_range Positions>
  cos_sin_view<Real> write(Positions const& positions, Real* memory) const& noexcept {
    auto const tokens = static_cast<std::size_t>(std::size(positions)) / axes_;
    auto const layout = detail::layout_of(f_);
    auto position = std::begin(positions);
    for (std::size_t token = 0; token < tokens; ++token, ++position) {
      auto* const row = memory + rotary_dim() * token;
      layout.write_unrotated(row);
      auto const at = [=](std::size_t axis) {
        return detail::widened(*std::next(position, static_cast<std::ptrdiff_t>(axis * tokens)));
      };
      std::size_t alike = 1;
      while (alike < axes_ && at(alike) == at(0)) ++alike;
      if (alike == axes_) {
        detail::write_row_at(at(0), f_.steps(), row, layout);
      } else {
        detail::write_row(row, layout,
                          detail::phases_on_axes<decltype(at)>{detail::phases_of_steps(f_.steps()),
                                                               masks_.data(), axes_, stride_, at});
      }
    }
    return {memory, tokens, pairs(), f_.rotated_pairs()};
  }
  /// Not from a temporary, because the rows view the maker.
  template <std::floating_point Real, position_range Positions>
  void write(Positions const& positions, Real* memory) const&& {
    write(positions, memory);
  }

 private:
  posenc::frequencies f_;
  std::size_t axes_ = 1, stride_ = 0;
  std::vector<phase> masks_;  // [axes][stride]: all ones if the pair has the axis
};

using axis_row_maker = row_maker;  ///< for positions on several axes

}}  // namespace posenc
