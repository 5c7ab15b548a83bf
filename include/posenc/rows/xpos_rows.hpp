// Rows with xPos decay.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/detail/row_writer.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// How fast the pairs of xPos decay. The query at position n is multiplied by zeta_i^((n - center)
/// / scale_base) where, for d dims,
///
///     zeta_i = (2i + gamma d) / ((1 + gamma) d)     0.2857 for the first pair, the fastest;
///                                                   almost 1 for the last
///
/// The defaults are the paper's. center cancels in every score and only affects the range of keys
/// and queries: in the first pair, a query loses and a key gains a factor of 2 every 283 positions,
/// so that a center in the middle of the sequence doubles the length that half can hold.
struct xpos_decay {
  double gamma = 0.4;       ///< the paper's gamma: larger fades slower
  double scale_base = 512;  ///< in positions
  std::int64_t center = 0;  ///< the position whose gain is 1
};

namespace detail {

inline void require_decay(char const* what, xpos_decay const& decay) {
  require_positive(what, "gamma", decay.gamma);
  require_positive(what, "scale_base", decay.scale_base);
}

/// log2 zeta_i.
inline double xpos_log2(xpos_decay const& decay, std::size_t pair, std::size_t pairs) {
  return std::log2((static_cast<double>(pair) / static_cast<double>(pairs) + decay.gamma) /
                   (1 + decay.gamma));
}

/// sign: 1 for queries, -1 for keys.
void require_gains(char const* what, char const* format, double most_log2, auto const& positions,
                   xpos_decay const& decay, double sign, frequencies const& f) {
  auto const fastest = sign * xpos_log2(decay, 0, f.pairs()) / decay.scale_base,
             of_factor = std::log2(f.attention_factor());
  std::size_t token = 0;
  for (auto const p : positions) {
    // The other pairs' gains lie between 1 and the fastest pair's.
    auto const gain =
        fastest * (static_cast<double>(widened(p)) - static_cast<double>(decay.center));
    require(
        std::max({std::abs(gain), std::abs(of_factor), std::abs(of_factor + gain)}) <= most_log2,
        what, ": gains must stay within 2^-", most_log2, " to 2^", most_log2, ", the range of ",
        format, ", got position ", widened(p), " at token ", token++, ", the center being ",
        decay.center, " and the attention factor ", f.attention_factor());
  }
}

template <class Real>
cos_sin_rows<Real> xpos_rows(char const* what, frequencies const& f, auto const& positions,
                             xpos_decay const& decay, double sign) {
  require_decay(what, decay);
  checked_positions(what, positions);
  constexpr bool is_double = std::same_as<Real, double>;
  require_gains(what, is_double ? "double" : "float", is_double ? 1022 : 126, positions, decay,
                sign, f);
  pair_range const all{0, f.pairs()};
  row_layout const layout{f.pairs(), {&all, 1}, f.attention_factor(), true};
  std::vector<double> step(layout.pairs), pure(2 * layout.pairs);
  for (std::size_t i = 0; i < layout.pairs; ++i)
    step[i] = sign * xpos_log2(decay, i, layout.pairs) / decay.scale_base;
  auto const write = [&](auto position, Real* row) {
    write_row_at(position, f.steps(), pure.data(), layout);
    auto const from_center = static_cast<double>(position) - static_cast<double>(decay.center);
    for (std::size_t i = 0; i < layout.pairs; ++i) {
      auto const gain = std::exp2(from_center * step[i]);
      row[i] = static_cast<Real>(gain * pure[i]);
      row[layout.pairs + i] = static_cast<Real>(gain * pure[layout.pairs + i]);
    }
  };
  return {layout, positions, write};
}

}  // namespace detail

/// Rows for xPos queries: cos_sin_rows, with pair i times zeta_i^((n - center) / scale_base).
/// Pairs of frequency 0 are rotated too. [Sun 2022, 3.2; torchscale, xpos.py] Accuracy, relative to
/// the gain: 6e-8 in float, 2e-15 + 4e-18 |n - center| in double. inverse() undoes them, with
/// reciprocal gains; with an attention factor of 1, so does xpos_key_rows(...).transpose(). Throws
/// std::invalid_argument as cos_sin_rows does, unless gamma and scale_base are finite and positive,
/// and if a gain, alone or times the attention factor, leaves the range of normal floats, 2^-126 to
/// 2^126: with the paper's decay alone, beyond 35'000 positions from the center.
template <std::floating_point Real = float, position_range Positions>
cos_sin_rows<Real> xpos_query_rows(frequencies const& f, Positions const& positions,
                                   xpos_decay const& decay = {}) {
  return detail::xpos_rows<Real>("xpos_query_rows", f, positions, decay, 1);
}

/// Rows for xPos keys, with the reciprocal gain zeta_i^(-(n - center) / scale_base): scores decay
/// by zeta_i^((t - s) / scale_base).
template <std::floating_point Real = float, position_range Positions>
cos_sin_rows<Real> xpos_key_rows(frequencies const& f, Positions const& positions,
                                 xpos_decay const& decay = {}) {
  return detail::xpos_rows<Real>("xpos_key_rows", f, positions, decay, -1);
}

}}  // namespace posenc
