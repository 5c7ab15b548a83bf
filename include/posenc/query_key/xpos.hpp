// xPos: rotary embeddings whose scores fade with distance, each pair at its own pace.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/rows/xpos_rows.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// xPos [Sun 2022, 3.2]: q_t -> zeta^((t - c) / b) R_t q_t, k_s -> zeta^(-(s - c) / b) R_s k_s,
/// pair by pair, with zeta, b and c of xpos_decay. The score of pair i is RoPE's times
/// zeta_i^((t - s) / b): it depends on t - s alone, and grows where s is after t.
///
///     xpos<interleaved>(geometric(64, 1e4))                               torchscale
///     xpos<interleaved>(geometric(64, 1e4), {.center = length / 2})   for long sequences in half
template <pair_layout Layout>
class xpos {
 public:
  /// `block` says which dims of a head rotate. Throws std::invalid_argument unless gamma and
  /// scale_base are finite and positive.
  explicit xpos(posenc::frequencies f, xpos_decay decay = {},
                rotary_block block = rotary_block::first())
      : frequencies_(std::move(f)), decay_(decay), block_(block) {
    detail::require_decay("xpos", decay);
  }

  /// As given, in radians per position.
  posenc::frequencies const& frequencies() const& noexcept { return frequencies_; }
  posenc::frequencies frequencies() && { return std::move(frequencies_); }  ///< of a temporary
  xpos_decay const& decay() const noexcept { return decay_; }  ///< how fast scores fade

  /// Site 2: queries times the gain, keys divided by it. Throws at a position where a gain leaves
  /// the range of floats, 35'000 positions from the center; encoding half does where one is beyond
  /// 2^-14 to 2^14, 3'900 positions from it. (Within, vectors times a gain may still be too large
  /// for half.)
  template <std::floating_point Real = float>
  detail::prepared_apart<prepared_rotation<Layout, Real>> prepare(
      token_positions const& positions) const {
    auto const in_half = [&](double sign) {
      return [=, f = frequencies_, decay = decay_](std::size_t first, std::size_t tokens) {
        detail::require_gains("xpos", "half", 14, positions_view(positions).subspan(first, tokens),
                              decay, sign, f);
      };
    };
    return {prepared_rotation<Layout, Real>(xpos_query_rows<Real>(frequencies_, positions, decay_),
                                            block_, in_half(1)),
            prepared_rotation<Layout, Real>(xpos_key_rows<Real>(frequencies_, positions, decay_),
                                            block_, in_half(-1))};
  }

 private:
  posenc::frequencies frequencies_;
  xpos_decay decay_;
  rotary_block block_;
};

static_assert(acts_on_queries_and_keys<xpos<halves>> && pulls_back_queries_and_keys<xpos<halves>>);

}}  // namespace posenc
