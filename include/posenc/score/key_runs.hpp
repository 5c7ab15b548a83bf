// Runs of keys that follow one another: their positions, on one axis or several.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "posenc/core/adjust_scores.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rows/axis_rows.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Of each key its position on each axis. On several axes, a key is given by its index, as m_rope
/// has it: of a token of `positions` or, beyond, index + delta on every axis.
template <built_position P>
class key_runs {
 public:
  static constexpr std::size_t most_axes = 8;
  using place = std::array<P, most_axes>;  ///< of a key, on each axis

  /// Keys that differ by 1 from one to the next on some axes, and on the others not at all.
  struct run {
    place begin = {};                            ///< of the position at offset 0
    std::array<bool, most_axes> moves = {true};  ///< the axes on which they differ
    std::size_t offset = 0;                      ///< of the first key
    std::size_t count = 1;                       ///< of keys
  };

  key_runs() = default;
  key_runs(axis_positions<P> positions, P delta)
      : positions_(std::move(positions)), delta_(delta), axes_(positions_->axes()) {
    require(axes_ <= most_axes, "key_bias: there must be at most ", most_axes, " axes, got ",
            axes_);
    require(is_finite(static_cast<double>(delta)), "key_bias: delta must be finite, got ", delta);
  }

  std::size_t axes() const noexcept { return axes_; }

  /// Throws if a key has no position.
  void check(positions_view keys) const {
    if (!positions_) return;
    for (auto const index : keys) {
      require(index >= 0, "key_bias: an index must not be negative, got ", index);
      if constexpr (std::integral<P>)
        require(delta_ <= 0 || index <= std::numeric_limits<P>::max() - delta_,
                "key_bias: an index plus delta must fit int64, got ", index, " plus ", delta_);
    }
  }

  place at(std::int64_t key) const noexcept {
    if (!positions_) return {static_cast<P>(key)};
    place result{};
    auto const index = static_cast<std::size_t>(key);
    for (std::size_t axis = 0; axis < axes_; ++axis)
      result[axis] =
          index < positions_->tokens() ? positions_->of(axis)[index] : static_cast<P>(key) + delta_;
    return result;
  }

  /// The run that keys[0] begins, within a stretch of `length` positions. On one axis, stretches
  /// begin at multiples of it, so that a key's place in one depends on its position alone.
  run first_of(positions_view keys, std::size_t length) const noexcept {
    if (!positions_) {
      auto const position = static_cast<std::uint64_t>(keys[0]), offset = position % length;
      auto const most = std::min(keys.size(), length - offset);
      auto count = most;
      if (!follow_one_another(keys.first(most)))
        for (count = 1; is_next(keys[count - 1], keys[count]);) ++count;
      return {
          {static_cast<P>(static_cast<std::int64_t>(position - offset))}, {true}, offset, count};
    }
    run result{at(keys[0]), {}, 0, 1};
    result.moves.fill(true);
    for (auto last = result.begin; result.count < std::min(keys.size(), length); ++result.count) {
      auto const next = at(keys[result.count]);
      auto moves = result.moves;
      bool follows = true;
      for (std::size_t axis = 0; axis < axes_; ++axis) {
        moves[axis] = next[axis] != last[axis];
        follows &= !moves[axis] || is_next(last[axis], next[axis]);
      }
      if (!follows || (result.count > 1 && moves != result.moves)) break;
      result.moves = moves, last = next;
    }
    return result;
  }

 private:
  static bool is_next(auto a, auto b) noexcept {
    if constexpr (std::integral<decltype(a)>)
      return static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a) == 1;
    else
      return b == a + 1;
  }

  std::optional<axis_positions<P>> positions_;
  P delta_ = 0;
  std::size_t axes_ = 1;
};

}  // namespace posenc::detail
