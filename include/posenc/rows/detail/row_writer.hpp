// Writes one row: the cosines and sines of every pair at one position.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>

#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/detail/phase_lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

constexpr std::int64_t widened(std::integral auto p) noexcept {
  return static_cast<std::int64_t>(p);
}
constexpr double widened(std::floating_point auto p) noexcept { return static_cast<double>(p); }
template <position_range R>
using widened_t = decltype(widened(std::declval<number_in<R>>()));

/// Throws unless each position is finite and fits int64.
template <position_range Positions>
Positions const& checked_positions(char const* what, Positions const& positions) {
  std::size_t token = 0;
  for (auto const p : positions) require_position(what, p, token++);
  return positions;
}

/// The common part of the rows of all tokens. Valid while their frequencies live.
struct row_layout {
  std::size_t pairs;
  std::span<pair_range const> rotated_pairs;  ///< the others have cosine 1 and sine 0
  double factor;                              ///< of cosines and sines: the attention factor
  bool has_gains = false;                     ///< each pair has another gain (xPos)

  /// Writes cosine 1 and sine 0 for the pairs that are not rotated.
  template <class Real>
  void write_unrotated(Real* row) const noexcept {
    auto const write = [&](std::size_t first, std::size_t last) {
      std::fill(row + first, row + last, Real{1});
      std::fill(row + pairs + first, row + pairs + last, Real{0});
    };
    std::size_t from = 0;
    for (auto const [first, last] : rotated_pairs) {
      write(from, first);
      from = last;
    }
    write(from, pairs);
  }
};

inline row_layout layout_of(frequencies const& f) noexcept {
  return {f.pairs(), f.rotated_pairs(), f.attention_factor()};
}

static_assert(2 * phase_lanes::size <= phase_steps::padding + 1);

// A separate function: in the loop over ranges, clang 14 keeps constants on the stack.
template <class Real>
[[gnu::noinline]] void write_pairs(Real* cos, Real* sin, pair_range range, double factor,
                                   auto const& angles) noexcept {
  auto const angles_from = angles;  // a local copy, which stays in registers
  phase_lanes::number const gain(factor);
  constexpr auto size = phase_lanes::size, two = 2 * size;  // two chains hide latency
  auto i = range.first;
  for (; range.last - i >= two; i += two)
    store_cos_sin(cos + i, sin + i, angles_from(i), angles_from(i + size), gain);
  if (i == range.last) return;
  std::array<Real, two> c, s;
  store_cos_sin(c.data(), s.data(), angles_from(i), angles_from(i + size), gain);
  std::copy_n(c.begin(), range.last - i, cos + i);
  std::copy_n(s.begin(), range.last - i, sin + i);
}

/// One row: factor * cos and factor * sin of angles_from(i), which gives the phases of a register
/// of pairs, i first.
template <class Real>
void write_row(Real* row, row_layout const& layout, auto const& angles_from) noexcept {
  for (auto const range : layout.rotated_pairs)
    write_pairs(row, row + layout.pairs, range, layout.factor, angles_from);
}

template <class Real>
void write_row_at(std::int64_t position, phase_steps const& steps, Real* row,
                  row_layout const& layout) noexcept {
  if (std::in_range<std::uint32_t>(position))
    return write_row(row, layout, phases_at(steps, static_cast<std::uint32_t>(position)));
  write_row(row, layout, phases_at(steps, position));
}
template <class Real>
void write_row_at(double position, phase_steps const& steps, Real* row,
                  row_layout const& layout) noexcept {
  auto const whole = whole_part(position);
  if (static_cast<double>(whole) == position) return write_row_at(whole, steps, row, layout);
  write_row(row, layout, phases_at(steps, position));
}

}}}  // namespace posenc::detail
