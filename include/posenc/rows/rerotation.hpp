// Rows that rotate keys once more: to other positions, or to other frequencies.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/detail/phase_lanes.hpp"
#include "posenc/rows/detail/row_writer.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Rows that move rotated keys by a delta of positions per token: the pure rotation R(delta), since
/// keys have the attention factor already. Accuracy and errors are as of cos_sin_rows.
template <std::floating_point Real = float, position_range Deltas>
cos_sin_rows<Real> shift_rows(frequencies const& f, Deltas const& deltas) {
  if (f.attention_factor() == 1) return {f, deltas};
  return {f.with_attention_factor(1), deltas};
}

namespace detail {

struct rerotation {
  frequencies from, to;
  double gain;
  std::vector<pair_range> rotated_pairs;

  /// stay: whether keys stay at their positions, so that pairs of equal frequencies stand.
  rerotation(frequencies old, frequencies young, bool stay)
      : from(std::move(old)), to(std::move(young)) {
    require(from.pairs() == to.pairs(),
            "rerotation_rows: both frequencies must have the same number of pairs, got ",
            from.pairs(), " and ", to.pairs());
    auto const old_factor = from.attention_factor(), factor = to.attention_factor();
    gain = factor == old_factor ? 1 : factor / old_factor;
    rotated_pairs = ranges_of(from.pairs(), [&](std::size_t i) {
      auto const a = with_rest(from, i), b = with_rest(to, i);
      return gain != 1 || (stay ? a.high != b.high || a.low != b.low : a.high != 0 || b.high != 0);
    });
  }

  row_layout layout() const noexcept { return {from.pairs(), rotated_pairs, gain}; }

  /// Writes the rotated pairs of a row.
  void write_row(auto from_position, auto to_position, auto* row) const noexcept {
    detail::write_row(
        row, layout(),
        [there = phases_at(to.steps(), to_position), here = phases_at(from.steps(), from_position)](
            std::size_t i) { return there(i) - here(i); });
  }
};

template <class Real>
cos_sin_rows<Real> rerotated(rerotation const& maker, auto const& from_positions,
                             auto const& to_positions) {
  checked_positions("rerotation_rows", from_positions);
  checked_positions("rerotation_rows", to_positions);
  require(std::size(from_positions) == std::size(to_positions),
          "rerotation_rows: there must be as many new positions as old ones, got ",
          std::size(to_positions), " for ", std::size(from_positions));
  auto to = std::begin(to_positions);
  auto const write = [&](auto from, Real* row) { maker.write_row(from, widened(*to++), row); };
  return cos_sin_rows<Real>(maker.layout(), from_positions, write);
}

}  // namespace detail

/// Rows that take keys rotated with `from` at from_positions to keys rotated with `to` at
/// to_positions:
///
///     A_to / A_from * R(q f_to) R(-p f_from)      p, q: old and new position of a token;
///                                                 f: inv_freq; A: attention factor
///
/// For dynamic NTK as the context grows, or LongRoPE from short to long. The angle is a difference
/// of phases, so that accuracy is that of cos_sin_rows. A pair is not rotated if both its
/// frequencies are 0 and A_to = A_from.
/// Throws std::invalid_argument as cos_sin_rows does, and unless pairs and tokens agree.
template <std::floating_point Real = float, position_range From, position_range To>
cos_sin_rows<Real> rerotation_rows(frequencies const& from, frequencies const& to,
                                   From const& from_positions, To const& to_positions) {
  return detail::rerotated<Real>({from, to, false}, from_positions, to_positions);
}

/// For keys that stay at their positions: angle p (f_to - f_from). Pairs of equal frequencies are
/// not rotated either.
template <std::floating_point Real = float, position_range Positions>
cos_sin_rows<Real> rerotation_rows(frequencies const& from, frequencies const& to,
                                   Positions const& positions) {
  return detail::rerotated<Real>({from, to, true}, positions, positions);
}

}}  // namespace posenc
