// xPos: rotary embeddings whose scores fade with distance, each pair at its own pace.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/detail/prepared_apart.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/prepared_rotation.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/xpos_rows.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// The gains of xPos at positions: queries are multiplied by them (sign 1), keys divided (-1).
struct xpos_gains {
  token_positions positions;
  xpos_decay decay;
  double sign;
  frequencies of;

  /// Throws unless the heads of these tokens can be multiplied in half. Tokens without a position
  /// are left to who rotates them.
  void require_half(std::size_t first, std::size_t count) const {
    if (first > positions.size() || count > positions.size() - first) return;
    require_gains("xpos", "half", 14, positions_view(positions).subspan(first, count), decay, sign,
                  of);
  }
};

/// The prepared rotation of xPos, for queries or for keys, whose gains differ.
template <pair_layout Layout, std::floating_point Real>
class prepared_xpos {
 public:
  prepared_xpos(prepared_rotation<Layout, Real> rotation, xpos_gains gains)
      : rotation_(std::move(rotation)), gains_(std::move(gains)) {}

  template <class T>
  void encode_queries(heads_view<T> const& q, std::size_t first_token = 0) const {
    for_heads(q, first_token).encode_queries(q, first_token);
  }
  template <class T>
  void encode_keys(heads_view<T> const& k, std::size_t first_token = 0) const {
    for_heads(k, first_token).encode_keys(k, first_token);
  }
  template <class T>
  void backward_queries(heads_view<T> const& d, std::size_t first_token = 0) const {
    for_heads(d, first_token).backward_queries(d, first_token);
  }
  template <class T>
  void backward_keys(heads_view<T> const& d, std::size_t first_token = 0) const {
    for_heads(d, first_token).backward_keys(d, first_token);
  }

 private:
  template <class T>
  prepared_rotation<Layout, Real> const& for_heads(heads_view<T> const& x,
                                                   std::size_t first) const {
    if constexpr (std::same_as<storage_format_t<T>, half>) gains_.require_half(first, x.tokens());
    return rotation_;
  }

  prepared_rotation<Layout, Real> rotation_;
  xpos_gains gains_;
};

}  // namespace detail

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
  detail::prepared_apart<detail::prepared_xpos<Layout, Real>> prepare(
      token_positions const& positions) const {
    auto const side = [&](cos_sin_rows<Real> rows, double sign) {
      return detail::prepared_xpos<Layout, Real>(
          prepared_rotation<Layout, Real>(std::move(rows), block_),
          {positions, decay_, sign, frequencies_});
    };
    return {side(xpos_query_rows<Real>(frequencies_, positions, decay_), 1),
            side(xpos_key_rows<Real>(frequencies_, positions, decay_), -1)};
  }

 private:
  posenc::frequencies frequencies_;
  xpos_decay decay_;
  rotary_block block_;
};

static_assert(acts_on_queries_and_keys<xpos<halves>> && pulls_back_queries_and_keys<xpos<halves>>);

}}  // namespace posenc
