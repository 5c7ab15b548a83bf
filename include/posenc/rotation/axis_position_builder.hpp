// The positions of text, images and videos in one sequence, on three axes: time, height, width.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/axis_positions.hpp"

namespace posenc::inline POSENC_TARGET {

/// What positions are built of: int64, or double for fractional ones.
template <class P>
concept built_position = std::same_as<P, std::int64_t> || std::same_as<P, double>;

/// Where a sequence goes on after a grid of height x width that began at `start` and used no position above `largest`.
template <built_position P>
using position_after_grid = P (*)(P start, P largest, std::size_t height, std::size_t width);

/// Beyond every position used, as Qwen2-VL and Qwen2.5-VL were trained. [Qwen2-VL, 2.1; transformers 4, get_rope_index]
template <built_position P>
P after_largest(P, P largest, std::size_t, std::size_t) {
  return largest + 1;
}

/// By the larger side of a frame, however long the video was. [transformers 5, get_rope_index] The same for images, and for videos of no
/// more frames, a step of 1 apart, than that side is long.
template <built_position P>
P after_longest_side(P start, P, std::size_t height, std::size_t width) {
  return start + static_cast<P>(std::max(height, width));
}

/// Appends parts of a sequence; each begins where the one before said. Text has the same position on all axes, one more every token; a
/// grid is counted from where it begins: its frames on axis 0, its rows on 1, its columns on 2, columns fastest.
///
///     axis_position_builder<>().text(2).image(2, 3).text(1).positions()          t  0 1 2 2 2 2 2 2 5
///                                                                                h  0 1 2 2 2 3 3 3 5
///                                                                                w  0 1 2 3 4 2 3 4 5
///
/// A part that is refused leaves the builder as it was.
template <built_position P = std::int64_t>
class axis_position_builder {
 public:
  explicit axis_position_builder(position_after_grid<P> after = after_largest<P>) : after_(after) {}

  /// Throws std::invalid_argument if positions would not stay below 2^53, where all are exact; as all parts do.
  axis_position_builder& text(std::size_t count) {
    require_room("text", static_cast<double>(count));
    positions_.reserve(positions_.size() + count);
    for (std::size_t i = 0; i < count; ++i) positions_.push_back({next_, next_, next_}), ++next_;
    end_ = std::max(end_, next_);
    return *this;
  }

  /// height x width tokens: of the grid as the language model sees it, after patches are merged (grid_thw / spatial_merge_size).
  /// Throws std::invalid_argument unless both are positive and it has at most 2^32 tokens.
  axis_position_builder& image(std::size_t height, std::size_t width) { return grid("image", 1, height, width, 1); }

  /// frames x height x width tokens, the frames `step` positions apart: tokens_per_second * seconds_per_grid for Qwen2.5-VL, which is
  /// truncated to integers frame by frame where P is one, the product formed in double: frame 49 of step 1/49 is at 0.
  /// (transformers 5, and some before, truncate the seconds instead: give tokens_per_second * floor(seconds_per_grid) for those.)
  /// Throws std::invalid_argument as image does, and unless step is finite and not negative.
  axis_position_builder& video(std::size_t frames, std::size_t height, std::size_t width, double step = 1) {
    return grid("video", frames, height, width, step);
  }

  std::size_t tokens() const noexcept { return positions_.size(); }
  P next() const noexcept { return next_; }  ///< where the next part begins

  /// What is to be added to the index of a token that is generated afterwards: largest position + 1 - tokens. That is next() - tokens,
  /// but where after_longest_side went back behind a long video: the models generate beyond it all the same.
  P rope_delta() const noexcept { return end_ - static_cast<P>(positions_.size()); }

  axis_positions<P> positions() const {
    std::vector<std::vector<P>> of_axis(3);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      of_axis[axis].reserve(positions_.size());
      for (auto const& position : positions_) of_axis[axis].push_back(position[axis]);
    }
    return axis_positions<P>(of_axis);
  }

 private:
  void require_room(char const* part, double more) const {
    detail::require(static_cast<double>(next_) + more < 0x1p53, "axis_position_builder: positions must stay below 2^53, got ", part,
                    " that takes ", more, " from ", static_cast<double>(next_), " on");
  }

  axis_position_builder& grid(char const* part, std::size_t frames, std::size_t height, std::size_t width, double step) {
    constexpr auto most = std::min<std::uint64_t>(std::uint64_t{1} << 32, ~std::size_t{0});  // less than 2^32 where a size has 32 bits
    detail::require(frames > 0 && height > 0 && width > 0, "axis_position_builder: ", part, " must have at least one token, got ", frames,
                    " x ", height, " x ", width);
    detail::require(height <= most / width && frames <= most / (std::uint64_t{height} * width), "axis_position_builder: ", part,
                    " must have at most 2^32 tokens, got ", frames, " x ", height, " x ", width);
    detail::require(is_finite(step) && step >= 0, "axis_position_builder: step must be finite and not negative, got ", step);
    auto const last_frame = static_cast<double>(frames - 1) * step;
    require_room(part, std::max({last_frame, static_cast<double>(height - 1), static_cast<double>(width - 1)}) + 1);
    positions_.reserve(positions_.size() + frames * height * width);
    for (std::size_t t = 0; t < frames; ++t) {
      auto const time = next_ + static_cast<P>(static_cast<double>(t) * step);
      for (std::size_t h = 0; h < height; ++h)
        for (std::size_t w = 0; w < width; ++w) positions_.push_back({time, next_ + static_cast<P>(h), next_ + static_cast<P>(w)});
    }
    auto const largest = next_ + std::max({static_cast<P>(last_frame), static_cast<P>(height - 1), static_cast<P>(width - 1)});
    next_ = after_(next_, largest, height, width);
    end_ = std::max(end_, largest + 1);
    return *this;
  }

  position_after_grid<P> after_;
  std::vector<std::array<P, 3>> positions_;  // [tokens][axes]
  P next_ = 0, end_ = 0;                     // end_: one beyond the largest
};

}  // namespace posenc
