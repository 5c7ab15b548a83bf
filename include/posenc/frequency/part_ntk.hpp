// The blend of linear and NTK-aware scaling that came before YaRN.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/yarn.hpp"

namespace posenc::inline POSENC_TARGET {

/// The numbers of the blend.
struct part_ntk_scaling {
  double factor;           ///< above 0
  double original_length;  ///< in tokens
  double ntk = 1,          ///< its share in what the ramp gives it, 0 to 1: the code's ntk_factor
      extrapolation = 1;   ///< the same of unscaled frequencies: extrapolation_factor
};

/// From slow pairs to fast ones: linear, then ntk, then unscaled, blended along two of YaRN's
/// ramps, from 0.75 to 1.25 and from 2 to 16 turns within the original length. [jquesnelle/yarn,
/// LlamaPartNTKScaledRotaryEmbedding, where these constants are fixed]
/// Throws std::invalid_argument unless rotary_dim is even and at least 4, base is finite and above
/// 1, factor and length are finite and positive, and the shares are in [0, 1].
inline frequencies part_ntk(std::size_t rotary_dim, double base, part_ntk_scaling const& scaling) {
  auto const [factor, length, ntk_share, kept] = scaling;
  detail::require_factor("part_ntk", factor);
  detail::require_length("part_ntk", "original_length", length);
  detail::require_share("part_ntk", "ntk", ntk_share);
  detail::require_share("part_ntk", "extrapolation", kept);
  auto const series = geometric(rotary_dim, base), slow = linear(series, factor),
             middle = ntk(series, factor);
  auto const inner = ramp_of_yarn(
      rotary_dim, base,
      {.factor = factor, .original_length = length, .beta_fast = 1.25, .beta_slow = 0.75});
  auto const outer =
      ramp_of_yarn(rotary_dim, base,
                   {.factor = factor, .original_length = length, .beta_fast = 16, .beta_slow = 2});
  return detail::changed(
      series, [&, share = ntk_share, kept = kept](std::size_t i, auto const& inv_freq) {
        return detail::blended(outer, i, inv_freq,
                               detail::blended(inner, i, detail::with_rest(middle, i),
                                               detail::with_rest(slow, i), share),
                               kept);
      });
}

}  // namespace posenc
