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

/// What xpos prepares: other rows for queries than for keys, used as those of prepared_rotation.
/// In half, gains have less room than in float: encoding throws std::invalid_argument, before
/// anything is changed, at a position where one is beyond 2^-14 to 2^14, which is from the center
/// 3'900 positions. Within it, vectors times a gain may still be too large for half.
template <pair_layout Layout, std::floating_point Real>
class prepared_xpos {
 public:
  /// One row each for queries and keys at every position.
  prepared_xpos(frequencies const& f, token_positions positions, xpos_decay const& decay,
                rotary_block block)
      : queries_(xpos_query_rows<Real>(f, positions, decay), block),
        keys_(xpos_key_rows<Real>(f, positions, decay), block),
        positions_(std::move(positions)),
        frequencies_(f),
        decay_(decay) {}

  /// Site 2, see acts_on_queries_and_keys: times the gain.
  template <class T>
  void encode_queries(heads_view<T> const& q, std::size_t first_token = 0) const {
    checked(queries_, q, first_token).encode_queries(q, first_token);
  }
  /// Divided by the gain.
  template <class T>
  void encode_keys(heads_view<T> const& k, std::size_t first_token = 0) const {
    checked(keys_, k, first_token).encode_keys(k, first_token);
  }
  /// Backward, see pulls_back_queries_and_keys: rotated back, times the same gain.
  template <class T>
  void backward_queries(heads_view<T> const& d, std::size_t first_token = 0) const {
    checked(queries_, d, first_token).backward_queries(d, first_token);
  }
  /// Likewise, of keys.
  template <class T>
  void backward_keys(heads_view<T> const& d, std::size_t first_token = 0) const {
    checked(keys_, d, first_token).backward_keys(d, first_token);
  }

 private:
  using rotation = prepared_rotation<Layout, Real>;

  template <class T>
  rotation const& checked(rotation const& r, heads_view<T> const& x, std::size_t first) const {
    bool const is_covered = first <= r.tokens() && x.tokens() <= r.tokens() - first;  // r refuses
    if constexpr (std::same_as<storage_format_t<T>, half>) {
      if (is_covered) {
        auto const at = positions_view(positions_).subspan(first, x.tokens());
        detail::require_gains("xpos", "half", 14, at, decay_, &r == &queries_ ? 1 : -1,
                              frequencies_);
      }
    }
    return r;
  }

  rotation queries_, keys_;
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
