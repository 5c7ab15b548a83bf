// Rotary position embeddings: queries and keys are rotated by their positions, so that <q_t, k_s>
// depends on t - s alone.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/prepared_rotation.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/row_maker.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// RoPE with any frequencies: q_t -> R_t q_t, k_s -> R_s k_s, where R_t rotates pair i by t *
/// inv_freq_i. [Su 2021, 3.2]
///
///     attention(q, k, v, rope<halves>(geometric(128, 1e4)));        Llama 2
///     rope<interleaved>(geometric(64, 1e4))                         GPT-J: first 64 of 256 dims
///     rope<halves>(truncated(geometric(512, 1e6), 0.25))            Gemma 4's global layers
///     rope<interleaved>(geometric(64, 1e4), rotary_block::last())   DeepSeek: last 64 dims
///
/// A program that does not call attention rotates queries and keys by the prepared value, or by
/// rotate():
///
///     auto const prepared = rope<halves>(f).prepare(positions);     once per step
///     prepared.encode_queries(q), prepared.encode_keys(k);          every layer
///     rotate<halves>(q, prepared.rows());                           the same
template <pair_layout Layout>
class rope {
 public:
  /// `block` says which dims of a head rotate.
  explicit rope(posenc::frequencies f, rotary_block block = rotary_block::first())
      : frequencies_(std::move(f)), maker_(frequencies_), block_(block) {}

  /// As given, in radians per position.
  posenc::frequencies const& frequencies() const& noexcept { return frequencies_; }
  posenc::frequencies frequencies() && { return std::move(frequencies_); }  ///< of a temporary

  /// Site 2: one row a position, of any integers, or fractional. Throws as cos_sin_rows does.
  template <std::floating_point Real = float, position_range Positions = token_positions>
  prepared_rotation<Layout, Real> prepare(Positions const& positions) const {
    return prepared_rotation<Layout, Real>(cos_sin_rows<Real>(maker_, positions), block_);
  }

 private:
  posenc::frequencies frequencies_;
  row_maker maker_;
  rotary_block block_;
};

static_assert(acts_on_queries_and_keys<rope<halves>> && pulls_back_queries_and_keys<rope<halves>>);

/// p-RoPE is RoPE with truncated frequencies: the highest fraction p of them rotates. [Barbero
/// 2024, 6.1] Throws unless head_dim is even and positive, base finite and positive, p in [0, 1].
template <pair_layout Layout>
rope<Layout> p_rope(std::size_t head_dim, double base, double p) {
  return rope<Layout>(truncated(geometric(head_dim, base), p));
}

}}  // namespace posenc
