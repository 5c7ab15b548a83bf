// Runs of keys that follow one another: their positions, on one axis or several.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/rows/axis_rows.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Of each key its position on each axis. On several axes, a key is given by its index, as m_rope
/// has it: of a token of `positions` or, beyond, index + delta on every axis.
template <built_position P>
class key_runs {
 public:
  static constexpr std::size_t most_axes = 8;
  using place = std::array<P, most_axes>;  ///< of a key, on each axis

  /// Keys whose positions differ by a whole number, below a length, which is the same on all axes
  /// that move; on the others they are equal.
  struct run {
    place begin = {};                            ///< of the position at offset 0
    std::array<bool, most_axes> moves = {true};  ///< the axes on which they differ
    std::size_t offset = 0;                      ///< of the first key
    std::size_t count = 1;                       ///< of keys
    bool is_dense = true;                        ///< each offset is the one before plus 1
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

  /// The run that keys[0] begins, of offsets below `length`. On one axis, offset 0 is at a multiple
  /// of it, so that a key's offset depends on its position alone.
  run first_of(positions_view keys, std::size_t length) const noexcept {
    auto const count_while = [&](auto const& belongs) {
      return static_cast<std::size_t>(std::ranges::find_if_not(keys, belongs) - keys.begin());
    };
    run result{at(keys[0])};
    if (!positions_) {
      result.offset = static_cast<std::size_t>(static_cast<std::uint64_t>(keys[0]) % length);
      result.begin[0] -= static_cast<P>(result.offset);
      result.count = std::min(keys.size(), length - result.offset);
      result.is_dense = follow_one_another(keys.first(result.count));
      if (!result.is_dense)
        result.count = count_while([&](std::int64_t key) {
          return distance(result.begin[0], static_cast<P>(key)) < length;
        });
      return result;
    }
    result.moves.fill(true);
    bool is_known = false;  // which axes move
    std::uint64_t n = 0;
    result.count = count_while([&](std::int64_t key) {
      auto const next = at(key);
      std::array<bool, most_axes> moves{};
      std::uint64_t moved = 0;
      for (std::size_t axis = 0; axis < axes_; ++axis) {
        auto const by = distance(result.begin[axis], next[axis]);
        if (by >= length || (by != 0 && moved != 0 && by != moved)) return false;
        moves[axis] = by != 0, moved = std::max(moved, by);
      }
      if (moved != 0 && is_known && moves != result.moves) return false;
      if (moved != 0) result.moves = moves, is_known = true;
      result.is_dense = result.is_dense && moved == n++;
      return true;
    });
    return result;
  }

  /// Of a key of the run.
  std::size_t offset(run const& of, std::int64_t key) const noexcept {
    auto const axis = positions_ ? std::ranges::find(of.moves, true) - of.moves.begin() : 0;
    auto const i = static_cast<std::size_t>(axis);
    return static_cast<std::size_t>(
        distance(of.begin[i], positions_ ? at(key)[i] : static_cast<P>(key)));
  }

 private:
  // b - a if that is a whole number, else more than any length.
  static std::uint64_t distance(P a, P b) noexcept {
    if constexpr (std::integral<P>) {
      return static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
    } else {
      auto const by = b - a;
      bool const is_whole = by >= 0 && by < 0x1p31 && by == std::floor(by) && a + by == b;
      return is_whole ? static_cast<std::uint64_t>(by) : std::numeric_limits<std::uint64_t>::max();
    }
  }

  std::optional<axis_positions<P>> positions_;
  P delta_ = 0;
  std::size_t axes_ = 1;
};

}}}  // namespace posenc::detail
