// Positions on several axes, and rows in which each pair rotates by its own axis: M-RoPE, axial and
// vision encodings.
#pragma once

#include <algorithm>
#include <array>
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
#include "posenc/rows/detail/row_writer.hpp"
#include "posenc/rows/pair_axes.hpp"
#include "posenc/rows/row_maker.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// One position per token on each axis (time, height, width); fractional if P is double. Immutable.
/// Throws std::invalid_argument unless there is at least one axis, all axes have the same number of
/// tokens, and each position is finite and fits int64.
template <position P = std::int64_t>
class axis_positions {
 public:
  /// of_axis[axis][token]
  explicit axis_positions(std::vector<std::vector<P>> const& of_axis) : axes_(of_axis.size()) {
    require_axes();
    tokens_ = of_axis.front().size();
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      auto const& one = detail::checked_positions("axis_positions", of_axis[axis]);
      detail::require(one.size() == tokens_,
                      "axis_positions: all axes must have the same number of tokens, got ",
                      one.size(), " on axis ", axis, " and ", tokens_, " on axis 0");
      positions_.insert(positions_.end(), one.begin(), one.end());
    }
  }

  /// From one array, [axes][tokens], like position_ids: integers of any type become int64,
  /// fractional numbers double.
  template <position_range Numbers>
  requires std::same_as<P, detail::widened_t<Numbers>> axis_positions(std::size_t axes,
                                                                      Numbers const& numbers)
      : axes_(axes) {
    require_axes();
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

  /// The positions of all tokens on one axis; a vector if this is a temporary. Precondition, not
  /// checked: axis < axes().
  std::span<P const> of(std::size_t axis) const& noexcept {
    return {positions_.data() + axis * tokens_, tokens_};
  }
  /// The positions of a temporary on an axis, moved out.
  std::vector<P> of(std::size_t axis) && {
    auto const all = of(axis);
    return {all.begin(), all.end()};
  }

 private:
  void require_axes() const {
    detail::require(axes_ > 0, "axis_positions: there must be at least one axis, got none");
  }

  std::size_t axes_, tokens_ = 0;
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
/// bits of that position's 1-D row. Axes that no pair has are not read. Throws
/// std::invalid_argument unless axes and frequencies have the same number of pairs and positions
/// have every axis that a pair has.
template <std::floating_point Real = float, position P>
cos_sin_rows<Real> axis_rows(axis_row_maker const& maker, axis_positions<P> const& positions) {
  detail::require(maker.axes() <= positions.axes(), "axis_rows: positions must have each of the ",
                  maker.axes(), " axes of the pairs, got ", positions.axes());
  return {maker, std::span(positions.of(0).data(), maker.axes() * positions.tokens())};
}
/// The same, without a maker to keep.
template <std::floating_point Real = float, position P>
cos_sin_rows<Real> axis_rows(frequencies const& f, pair_axes const& axes,
                             axis_positions<P> const& positions) {
  return axis_rows<Real>(axis_row_maker(f, axes), positions);
}

/// int64, or double for fractional positions.
template <class P>
concept built_position = std::same_as<P, std::int64_t> || std::same_as<P, double>;

/// The first position of a part that follows an image or a video.
enum class after_grid {
  largest,      ///< one beyond the largest position, as Qwen2-VL and Qwen2.5-VL were trained
                ///< [Qwen2-VL, 2.1; transformers 4, get_rope_index]
  longest_side  ///< the grid's start plus its longer side [transformers 5]: the same for images,
                ///< and for videos of step 1 with no more frames than that
};

/// Appends the parts of a sequence, each at the position after the part before. Text grows by 1 per
/// token on all axes. A grid counts from its start: frames on axis 0, rows on axis 1, columns on
/// axis 2, columns fastest.
///
///     axis_position_builder<>().text(2).image(2, 3).text(1).positions()      t  0 1 2 2 2 2 2 2 5
///                                                                            h  0 1 2 2 2 3 3 3 5
///                                                                            w  0 1 2 3 4 2 3 4 5
///
/// Parts throw std::invalid_argument if a position would reach 2^53, beyond which doubles are not
/// exact; the builder is then unchanged.
template <built_position P = std::int64_t>
class axis_position_builder {
 public:
  /// `after`: where a part begins that follows a grid.
  explicit axis_position_builder(after_grid after = after_grid::largest) : after_(after) {}

  /// Appends `count` tokens of text.
  axis_position_builder& text(std::size_t count) {
    require_room("text", static_cast<double>(count));
    positions_.reserve(positions_.size() + count);
    for (std::size_t i = 0; i < count; ++i) {
      positions_.push_back({next_, next_, next_});
      ++next_;
    }
    end_ = std::max(end_, next_);
    return *this;
  }

  /// Appends height x width tokens: the grid that the language model sees, after patches are merged
  /// (grid_thw / spatial_merge_size). Throws unless both are positive, with at most 2^32 tokens.
  axis_position_builder& image(std::size_t height, std::size_t width) {
    return grid("image", 1, height, width, 1);
  }

  /// Appends frames x height x width tokens, with frames `step` positions apart: tokens_per_second
  /// * seconds_per_grid for Qwen2.5-VL. With integer positions, frame * step is computed in double
  /// and truncated per frame: frame 49 of step 1/49 is at 0. (transformers 5, and some versions
  /// before, truncate the seconds instead: pass tokens_per_second * floor(seconds_per_grid).)
  /// Throws as image does, and unless step is finite and not negative.
  axis_position_builder& video(std::size_t frames, std::size_t height, std::size_t width,
                               double step = 1) {
    return grid("video", frames, height, width, step);
  }

  /// Appends an image as RoPE-Tie does: rows are s apart, columns t, so that the gaps before and
  /// after the image are equal. [Su 2024, kexue 10040] With the text before at L (-1 if none),
  /// patch (y, x), both from 1, is at row L + y s and column L + x t, the next part at L + (height
  /// + 1) s = L + (width + 1) t. Integers: s = width + 1, t = height + 1. Doubles: the next part
  /// begins where it would after text of as many tokens. Axis 0 stays at L + 1. Throws as image
  /// does.
  axis_position_builder& tied_image(std::size_t height, std::size_t width) {
    require_grid("tied_image", 1, height, width);
    auto const rows = static_cast<P>(height + 1), columns = static_cast<P>(width + 1);
    P const span = std::same_as<P, double> ? (rows - 1) * (columns - 1) + 1 : rows * columns;
    require_room("tied_image", static_cast<double>(span - 1));
    positions_.reserve(positions_.size() + height * width);
    P const last = next_ - 1, s = span / rows, t = span / columns;
    for (std::size_t y = 1; y <= height; ++y)
      for (std::size_t x = 1; x <= width; ++x)
        positions_.push_back({next_, last + static_cast<P>(y) * s, last + static_cast<P>(x) * t});
    next_ = last + span;
    end_ = std::max(end_, next_);
    return *this;
  }

  std::size_t tokens() const noexcept { return positions_.size(); }  ///< of all parts so far
  P next() const noexcept { return next_; }  ///< the position of the next part

  /// Add this to the index of a token that is generated later: largest position + 1 - tokens, also
  /// if longest_side steps back after a long video; next() - tokens after a tied image.
  P rope_delta() const noexcept { return end_ - static_cast<P>(positions_.size()); }

  /// The positions of all parts so far, on three axes: time, height, width.
  axis_positions<P> positions() const {
    std::vector<P> all;  // [axes][tokens]
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (auto const& position : positions_) all.push_back(position[axis]);
    return axis_positions<P>(3, all);
  }

 private:
  void require_room(char const* part, double more) const {
    detail::require(static_cast<double>(next_) + more < 0x1p53,
                    "axis_position_builder: positions must stay below 2^53, got ", part, " of ",
                    more, " positions from ", static_cast<double>(next_), " on");
  }

  static void require_grid(char const* part, std::size_t frames, std::size_t height,
                           std::size_t width) {
    // 2^32, or less if std::size_t has 32 bits.
    constexpr auto most = std::min<std::uint64_t>(0x1'0000'0000, ~std::size_t{0});
    auto const require_tokens = [&](bool holds, char const* how_many) {
      detail::require(holds, "axis_position_builder: ", part, " must have at ", how_many, ", got ",
                      frames, " x ", height, " x ", width);
    };
    require_tokens(frames > 0 && height > 0 && width > 0, "least one token");
    require_tokens(height <= most / width && frames <= most / (std::uint64_t{height} * width),
                   "most 2^32 tokens");
  }

  axis_position_builder& grid(char const* part, std::size_t frames, std::size_t height,
                              std::size_t width, double step) {
    require_grid(part, frames, height, width);
    detail::require_not_negative("axis_position_builder", "step", step);
    auto const last_frame = static_cast<double>(frames - 1) * step;
    require_room(part, std::max({last_frame, static_cast<double>(height - 1),
                                 static_cast<double>(width - 1)}) +
                           1);
    positions_.reserve(positions_.size() + frames * height * width);
    for (std::size_t t = 0; t < frames; ++t) {
      auto const time = next_ + static_cast<P>(static_cast<double>(t) * step);
      for (std::size_t h = 0; h < height; ++h)
        for (std::size_t w = 0; w < width; ++w)
          positions_.push_back({time, next_ + static_cast<P>(h), next_ + static_cast<P>(w)});
    }
    auto const largest = next_ + std::max({static_cast<P>(last_frame), static_cast<P>(height - 1),
                                           static_cast<P>(width - 1)});
    next_ = after_ == after_grid::largest ? largest + 1
                                          : next_ + static_cast<P>(std::max(height, width));
    end_ = std::max(end_, largest + 1);
    return *this;
  }

  after_grid after_;
  std::vector<std::array<P, 3>> positions_;  // [tokens][axes]
  P next_ = 0, end_ = 0;                     // end_: the largest position + 1
};

}}  // namespace posenc
