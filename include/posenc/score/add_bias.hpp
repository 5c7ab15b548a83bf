// What the biases of this folder have in common: a number is added to each score, by the key's position.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "posenc/core/require.hpp"
#include "posenc/core/score_row.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// |a - b|, below 2^64.
inline std::uint64_t distance(std::int64_t a, std::int64_t b) noexcept {
  auto const [near, far] = std::minmax(a, b);
  return static_cast<std::uint64_t>(far) - static_cast<std::uint64_t>(near);
}

/// Throws std::invalid_argument, in the name of an encoding, unless each key has a position.
template <class T>
void require_keys(char const* encoding, score_row<T> const& row) {
  require(row.scores.size() == row.key_positions.size(), encoding, ": there must be one position per key, got ", row.key_positions.size(),
          " positions for ", row.scores.size(), " keys");
}

/// Throws std::invalid_argument, in the name of an encoding of so many heads, unless the row's head is one and each key has a position.
template <class T>
void require_row(char const* encoding, score_row<T> const& row, std::size_t heads) {
  require(row.head < heads, encoding, ": the head must be below ", heads, ", got ", row.head);
  require_keys(encoding, row);
}

/// score += bias(key position), in double, rounded once.
template <class T>
void add_bias(score_row<T> const& row, auto const& bias) {
  for (std::size_t s = 0; s < row.scores.size(); ++s) {
    row.scores[s] = static_cast<T>(static_cast<double>(row.scores[s]) + bias(row.key_positions[s]));
  }
}

}  // namespace posenc::detail
