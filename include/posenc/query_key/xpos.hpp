// xPos: rotary embeddings whose scores fade with distance, each pair at its own pace.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/query_key/prepared_rotation.hpp"
#include "posenc/rows/xpos_rows.hpp"

namespace posenc::inline POSENC_TARGET {

/// What xpos prepares: rows for queries and rows for keys, as prepared_rotation has them.
/// In half, gains have less room than in float: encoding throws std::invalid_argument, before
/// anything is changed, at a position where one is beyond 2^-14 to 2^14, which is from the center
/// 3'900 positions. Within it, vectors times a gain may still be too large for half.
template <pair_layout Layout, std::floating_point Real>
class prepared_xpos {
 public:
  /// [tokens] rows each for queries and keys, as xpos.prepare makes them.
  prepared_xpos(frequencies const& f, token_positions positions, xpos_decay const& decay,
                rotary_block block)
      : queries_(xpos_query_rows<Real>(f, positions, decay), block),
        keys_(xpos_key_rows<Real>(f, positions, decay), block),
        positions_(std::move(positions)),
        frequencies_(f),
        decay_(decay) {}

  /// [tokens], times the gain.
  cos_sin_rows<Real> const& query_rows() const noexcept { return queries_.rows(); }
  /// [tokens], divided by the gain.
  cos_sin_rows<Real> const& key_rows() const noexcept { return keys_.rows(); }
  std::size_t tokens() const noexcept { return positions_.size(); }  ///< of the step

  /// Site 2, see acts_on_queries_and_keys.
  template <class T>
  void encode_queries(heads_view<T> const& q, std::size_t first_token = 0) const {
    require_stored_gains<T>(first_token, q.tokens(), 1);
    queries_.encode_queries(q, first_token);
  }
  /// Likewise, of keys.
  template <class T>
  void encode_keys(heads_view<T> const& k, std::size_t first_token = 0) const {
    require_stored_gains<T>(first_token, k.tokens(), -1);
    keys_.encode_keys(k, first_token);
  }

  /// Backward: gradients with respect to the encoded vectors -> gradients with respect to the
  /// inputs: rotated back, by the same gain.
  template <class T>
  void backward_queries(heads_view<T> const& d, std::size_t first_token = 0) const {
    require_stored_gains<T>(first_token, d.tokens(), 1);
    queries_.backward_queries(d, first_token);
  }
  /// Likewise, of keys.
  template <class T>
  void backward_keys(heads_view<T> const& d, std::size_t first_token = 0) const {
    require_stored_gains<T>(first_token, d.tokens(), -1);
    keys_.backward_keys(d, first_token);
  }

 private:
  template <class T>
  void require_stored_gains(std::size_t first, std::size_t tokens,
                            [[maybe_unused]] double sign) const {
    if constexpr (std::same_as<storage_format_t<T>, half>) {
      if (first > positions_.size() || tokens > positions_.size() - first)
        return;  // refused by the rotation
      detail::require_gains("xpos", "half", 14, positions_view(positions_).subspan(first, tokens),
                            decay_, sign, frequencies_);
    }
  }

  prepared_rotation<Layout, Real> queries_, keys_;
  token_positions positions_;
  frequencies frequencies_;
  xpos_decay decay_;
};

/// xPos [Sun 2022, 3.2]: q_t -> zeta^((t - c) / b) R_t q_t, k_s -> zeta^(-(s - c) / b) R_s k_s,
/// pair by pair; zeta, b and c are those of xpos_decay. The score of pair i is RoPE's times
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
  posenc::frequencies const& frequencies() const noexcept { return frequencies_; }
  xpos_decay const& decay() const noexcept { return decay_; }  ///< how fast scores fade

  /// Site 2. Throws std::invalid_argument at a position where a gain leaves the range of floats,
  /// 35'000 positions from the center.
  template <std::floating_point Real = float>
  prepared_xpos<Layout, Real> prepare(token_positions positions) const {
    return prepared_xpos<Layout, Real>(frequencies_, std::move(positions), decay_, block_);
  }

 private:
  posenc::frequencies frequencies_;
  xpos_decay decay_;
  rotary_block block_;
};

static_assert(acts_on_queries_and_keys<xpos<halves>> && pulls_back_queries_and_keys<xpos<halves>>);

}  // namespace posenc
