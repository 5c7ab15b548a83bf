// xPos: rotary embeddings whose scores fade with distance, each pair at its own pace.
#pragma once

#include <concepts>
#include <utility>

#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/half.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rotation/xpos_rows.hpp"

namespace posenc::inline POSENC_TARGET {

/// xPos [Sun 2022, 3.2]: q_t -> zeta^((t - c) / b) R_t q_t, k_s -> zeta^(-(s - c) / b) R_s k_s, pair by pair; zeta, b and c are those of
/// xpos_decay. The score of pair i is RoPE's times zeta_i^((t - s) / b): it depends on t - s alone, and grows where s is after t.
///
///     xpos<interleaved>(geometric(64, 1e4))                               torchscale
///     xpos<interleaved>(geometric(64, 1e4), {.center = length / 2})       what half needs of a long sequence
///
/// Makes the rows at every call: an engine makes them once a step, by xpos_query_rows and xpos_key_rows, and calls rotate itself.
/// Throws std::invalid_argument unless gamma and scale_base are finite and positive.
template <pair_layout Layout = halves>
class xpos {
 public:
  explicit xpos(posenc::frequencies f, xpos_decay decay = {}, rotary_block block = rotary_block::first())
      : frequencies_(std::move(f)), decay_(decay), block_(block) {
    detail::require_decay("xpos", decay);
  }

  posenc::frequencies const& frequencies() const noexcept { return frequencies_; }
  xpos_decay const& decay() const noexcept { return decay_; }

  /// Site 2, in place. x: [tokens][heads][head_dim], one position per token. Throws as rotate does, and at a position where a gain leaves
  /// the range of the numbers that are stored, before anything is changed: from the center 3'900 positions for half, 35'000 for float
  /// and bfloat16. Within it, numbers of a gained magnitude may still be too large for half.
  template <class T>
  void encode_queries(heads_view<T> const& q, positions_view positions) const {
    require_stored_gains<T>(positions, 1);
    rotate<Layout>(q, xpos_query_rows<arithmetic_t<T>>(frequencies_, positions, decay_), block_);
  }
  template <class T>
  void encode_keys(heads_view<T> const& k, positions_view positions) const {
    require_stored_gains<T>(positions, -1);
    rotate<Layout>(k, xpos_key_rows<arithmetic_t<T>>(frequencies_, positions, decay_), block_);
  }

  /// Gradients with respect to what was encoded to those of what it was made of: turned back, and of the same gain; throws as above.
  template <class T>
  void pull_back_queries(heads_view<T> const& d, positions_view positions) const {
    require_stored_gains<T>(positions, 1);
    rotate<Layout>(d, xpos_query_rows<arithmetic_t<T>>(frequencies_, positions, decay_).transpose(), block_);
  }
  template <class T>
  void pull_back_keys(heads_view<T> const& d, positions_view positions) const {
    require_stored_gains<T>(positions, -1);
    rotate<Layout>(d, xpos_key_rows<arithmetic_t<T>>(frequencies_, positions, decay_).transpose(), block_);
  }

 private:
  template <class T>
  void require_stored_gains(positions_view positions, [[maybe_unused]] double sign) const {
    if constexpr (std::same_as<storage_format_t<T>, half>) {
      detail::require_gains("xpos", "half", 14, positions, decay_, sign, frequencies_);
    }
  }

  posenc::frequencies frequencies_;
  xpos_decay decay_;
  rotary_block block_;
};

static_assert(acts_on_queries_and_keys<xpos<halves>> && pulls_back_queries_and_keys<xpos<halves>>);

}  // namespace posenc
