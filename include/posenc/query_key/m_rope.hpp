// Multimodal rotary embeddings: tokens have time, height and width; each pair rotates by one axis.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/prepared_rotation.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "posenc/rows/pair_axes.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// M-RoPE [Qwen2-VL, 2.1]: pair i of a token rotates by its position on axis a(i), times
/// inv_freq_i. Text, whose positions are equal on all axes, is rotated as rope does. The position
/// that site 2 gives is a token's index in the sequence:
///
///     index < positions.tokens()     positions.of(axis)[index]       the prompt
///     beyond                         index + delta, on every axis    text that is generated
///
///     Qwen2-VL, where the prompt is an axis_position_builder:
///     m_rope<halves>(geometric(128, 1e6), contiguous_axes(sections),
///                    prompt.positions(), prompt.rope_delta())
///
/// <q_t, k_s> depends on the differences of their positions on each axis alone, not on t - s.
template <pair_layout Layout, built_position P = std::int64_t>
class m_rope {
 public:
  /// delta: what is added to the index of a token beyond the positions. Throws
  /// std::invalid_argument unless axes and frequencies have as many pairs, positions every axis
  /// that a pair has, and delta is finite.
  m_rope(posenc::frequencies f, pair_axes axes, axis_positions<P> positions, P delta,
         rotary_block block = rotary_block::first())
      : frequencies_(std::move(f)),
        axes_(std::move(axes)),
        positions_(std::move(positions)),
        delta_(delta),
        block_(block),
        maker_((detail::require(axes_.pairs() == frequencies_.pairs(),
                                "m_rope: axes must be given for each of the ", frequencies_.pairs(),
                                " pairs, got ", axes_.pairs()),
                axis_row_maker(frequencies_, axes_))) {
    detail::require(axes_.axes() <= positions_.axes(), "m_rope: positions must have each of the ",
                    axes_.axes(), " axes of the pairs, got ", positions_.axes());
    detail::require(is_finite(static_cast<double>(delta)), "m_rope: delta must be finite, got ",
                    delta);
  }

  /// [pairs], in radians per position.
  posenc::frequencies const& frequencies() const& noexcept { return frequencies_; }
  posenc::frequencies frequencies() && { return std::move(frequencies_); }  ///< of a temporary
  pair_axes const& axes() const& noexcept { return axes_; }                 ///< [pairs]
  pair_axes axes() && noexcept { return std::move(axes_); }                 ///< of a temporary
  /// [axes][tokens] of the prompt.
  axis_positions<P> const& positions() const& noexcept { return positions_; }
  axis_positions<P> positions() && noexcept { return std::move(positions_); }  ///< of a temporary

  /// Site 2: one row an index, in any order. Throws if one is negative or leaves int64 with delta.
  template <std::floating_point Real = float>
  prepared_rotation<Layout, Real> prepare(token_positions const& indices) const {
    return prepared_rotation<Layout, Real>(axis_rows<Real>(maker_, at(indices)), block_);
  }

 private:
  axis_positions<P> at(token_positions const& indices) const {
    std::vector<std::vector<P>> of_axis(axes_.axes());
    for (std::size_t token = 0; token < indices.size(); ++token) {
      auto const index = indices[token];
      detail::require(index >= 0, "m_rope: an index must not be negative, got ", index,
                      " at token ", token);
      bool const is_known = static_cast<std::uint64_t>(index) < positions_.tokens();
      if constexpr (std::same_as<P, std::int64_t>) {
        detail::require(is_known || delta_ <= 0 || index <= std::numeric_limits<P>::max() - delta_,
                        "m_rope: an index plus delta must fit int64, got ", index, " plus ", delta_,
                        " at token ", token);
      }
      for (std::size_t axis = 0; axis < of_axis.size(); ++axis)
        of_axis[axis].push_back(is_known ? positions_.of(axis)[static_cast<std::size_t>(index)]
                                         : static_cast<P>(index) + delta_);
    }
    return axis_positions<P>(of_axis);
  }

  posenc::frequencies frequencies_;
  pair_axes axes_;
  axis_positions<P> positions_;
  P delta_;
  rotary_block block_;
  axis_row_maker maker_;
};

static_assert(acts_on_queries_and_keys<m_rope<halves>> &&
              pulls_back_queries_and_keys<m_rope<halves>>);

}}  // namespace posenc
