// Site 3 on a row of scores, however an encoding says what it does there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// Whether each position is one more than that before it.
inline bool follow_one_another(positions_view positions) noexcept {
  std::uint64_t breaks = 0;
  for (std::size_t s = 1; s < positions.size(); ++s)
    breaks |=
        static_cast<std::uint64_t>(positions[s]) - static_cast<std::uint64_t>(positions[s - 1]) - 1;
  return breaks == 0;
}

/// Throws, in the name of a function or encoding, unless each key has a position.
template <class T>
void require_keys(char const* what, score_row<T> const& row) {
  require(row.scores.size() == row.key_positions.size(), what,
          ": there must be one position per key, got ", row.key_positions.size(), " positions for ",
          row.scores.size(), " keys");
}
/// Throws too unless the row's head is one of `heads`.
template <class T>
void require_row(char const* what, score_row<T> const& row, std::size_t heads) {
  require(row.head < heads, what, ": the head must be below ", heads, ", got ", row.head);
  require_keys(what, row);
}

/// score += bias(key position), in double, rounded once.
template <class T>
void add_bias(score_row<T> const& row, auto const& bias) {
  for (std::size_t s = 0; s < row.scores.size(); ++s) {
    row.scores[s] = static_cast<T>(static_cast<double>(row.scores[s]) + bias(row.key_positions[s]));
  }
}

}  // namespace detail

/// Does to a row what attention does at site 3: calls the encoding's adjust_scores, or else adds
/// its bias to each score, in double, rounded once. Throws std::invalid_argument as the encoding
/// does; for a bias, unless each key has a position and the encoding has the row's head. A row in
/// braces is of floats: adjust_scores(alibi(8), {scores, head, query_position, key_positions,
/// query}).
template <class T = float, acts_on_scores E>
void adjust_scores(E const& e, score_row<T> const& row) {
  if constexpr (detail::adjusts_scores<E>) {
    e.adjust_scores(row);
  } else {
    if constexpr (knows_heads<E>) detail::require_row("adjust_scores", row, e.heads());
    detail::require_keys("adjust_scores", row);
    detail::add_bias(row, [&](std::int64_t key) {
      if constexpr (adds_bias_by_distance<E>) {
        return e.bias(row.head, distance_between(row.query_position, key));
      } else {
        return e.bias(row.head, row.query_position, key);
      }
    });
  }
}

}}  // namespace posenc
