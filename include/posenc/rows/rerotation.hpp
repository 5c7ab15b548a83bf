// Rows that rotate keys once more, after they were rotated: to other positions, or to other
// frequencies.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/phase_lanes.hpp"

namespace posenc::inline POSENC_TARGET {

/// Rows that move rotated keys by delta positions, one delta per token: the pure rotation R(delta),
/// since the keys already have the attention factor. Accuracy and errors are those of cos_sin_rows.
template <std::floating_point Real = float, position_range Deltas>
cos_sin_rows<Real> shift_rows(frequencies const& f, Deltas const& deltas) {
  if (f.attention_factor() == 1) return {f, deltas};
  return {f.with_attention_factor(1), deltas};
}

/// Rows that take keys rotated with `from` at from_positions to keys rotated with `to` at
/// to_positions:
///
///     A_to / A_from * R(q f_to) R(-p f_from)      p, q: old and new position of a token;
///                                                 f: inv_freq; A: attention factor
///
/// For dynamic NTK as the context grows, or LongRoPE from short to long. The angle is a difference
/// of phases, as exact as one angle up to two units of 2^-64 turns. Accuracy, with A_to = A_from:
/// that of cos_sin_rows. A pair is not rotated if both its frequencies are 0 and A_to = A_from.
/// Throws std::invalid_argument unless pairs and tokens agree, and at a position that is NaN or
/// does not fit int64.
template <std::floating_point Real = float, position_range From, position_range To>
cos_sin_rows<Real> rerotation_rows(frequencies const& from, frequencies const& to,
                                   From const& from_positions, To const& to_positions);

/// The same for keys that stay at their positions: angle p (f_to - f_from). Pairs of equal
/// frequencies are not rotated either.
template <std::floating_point Real = float, position_range Positions>
cos_sin_rows<Real> rerotation_rows(frequencies const& from, frequencies const& to,
                                   Positions const& positions);

/// Rows for one shift after another (StreamingLLM, a sliding context) without drift: each corrects
/// the rounding of those before.
/// The product of all rows handed out stays within 4.3e-8 of the exact rotation by the sum of their
/// deltas, as complex numbers: one rounding of cosine and sine to float, plus 5e-16 per shift; for
/// a key added later, the same bound holds once more. The rounding of the keys themselves comes on
/// top. The attention factor is not applied.
class repeated_shift {
 public:
  explicit repeated_shift(frequencies const& f)
      : f_(f.with_attention_factor(1)), so_far_(f.pairs(), 1.0) {}

  /// Rows for `tokens` tokens that all move by delta. Throws std::invalid_argument if the sum of
  /// all deltas does not fit int64; the sum is then unchanged.
  cos_sin_rows<float> next(std::int64_t delta, std::size_t tokens = 1) {
    using limits = std::numeric_limits<std::int64_t>;
    detail::require(delta < 0 ? total_ >= limits::min() - delta : total_ <= limits::max() - delta,
                    "repeated_shift: the sum of all shifts must fit int64, got ", delta, " after ",
                    total_);
    detail::row_layout const layout(f_);
    auto rows = detail::rows_access::make<float>(layout, tokens);
    std::vector<double> wanted(2 * layout.pairs);
    total_ += delta;
    detail::write_row_at(total_, f_.steps(), wanted.data(), layout);
    for (auto const [first, last] : layout.rotated_pairs) {
      for (auto i = first; i < last; ++i) {
        auto& done = so_far_[i];
        auto const step =
            std::complex(wanted[i], wanted[layout.pairs + i]) * std::conj(done) / std::norm(done);
        auto const cos = static_cast<float>(step.real()), sin = static_cast<float>(step.imag());
        done *= std::complex<double>(cos, sin);
        auto* row = detail::rows_access::data(rows);
        for (std::size_t token = 0; token < tokens; ++token, row += 2 * layout.pairs)
          row[i] = cos, row[layout.pairs + i] = sin;
      }
    }
    return rows;
  }

  std::int64_t total() const noexcept { return total_; }

 private:
  frequencies f_;
  std::int64_t total_ = 0;
  std::vector<std::complex<double>> so_far_;  // the product of all rows handed out
};

namespace detail {

inline double relative_gain(frequencies const& from, frequencies const& to) noexcept {
  return to.attention_factor() == from.attention_factor()
             ? 1
             : to.attention_factor() / from.attention_factor();
}

template <class Real>
cos_sin_rows<Real> rerotated(std::vector<pair_range> const& rotated_pairs, frequencies const& from,
                             frequencies const& to, auto const& from_positions,
                             auto const& to_positions) {
  auto const tokens = checked_positions("rerotation_rows", from_positions);
  require(checked_positions("rerotation_rows", to_positions) == tokens,
          "rerotation_rows: there must be as many new positions as old ones, got ",
          std::ranges::size(to_positions), " for ", tokens);
  auto const gain = relative_gain(from, to);
  row_layout const layout(from.pairs(), rotated_pairs, gain, gain);
  auto rows = rows_access::make<Real>(layout, tokens);
  auto* row = rows_access::data(rows);
  auto new_position = std::ranges::begin(to_positions);
  for (auto const p : from_positions) {
    auto const angles = [there = phases_at(to.steps(), widened(*new_position)),
                         here = phases_at(from.steps(), widened(p))](std::size_t i) {
      return there(i) - here(i);
    };
    write_row(row, layout, angles);
    row += 2 * layout.pairs, ++new_position;
  }
  return rows;
}

/// The pairs that rotates(old, young), or all if the attention factors differ.
std::vector<pair_range> rerotated_pairs(frequencies const& from, frequencies const& to,
                                        auto const& rotates) {
  require(from.pairs() == to.pairs(),
          "rerotation_rows: both frequencies must have the same number of pairs, got ",
          from.pairs(), " and ", to.pairs());
  auto const gain = relative_gain(from, to);
  return ranges_of(from.pairs(), [&](std::size_t i) {
    return gain != 1 || rotates(with_rest(from, i), with_rest(to, i));
  });
}

}  // namespace detail

template <std::floating_point Real, position_range From, position_range To>
cos_sin_rows<Real> rerotation_rows(frequencies const& from, frequencies const& to,
                                   From const& from_positions, To const& to_positions) {
  auto const pairs = detail::rerotated_pairs(from, to, [](auto const& old, auto const& young) {
    return old.high != 0 || young.high != 0;
  });
  return detail::rerotated<Real>(pairs, from, to, from_positions, to_positions);
}

template <std::floating_point Real, position_range Positions>
cos_sin_rows<Real> rerotation_rows(frequencies const& from, frequencies const& to,
                                   Positions const& positions) {
  auto const pairs = detail::rerotated_pairs(from, to, [](auto const& old, auto const& young) {
    return old.high != young.high || old.low != young.low;
  });
  return detail::rerotated<Real>(pairs, from, to, positions, positions);
}

}  // namespace posenc
