// Rows as most models compute them, with angles formed in float: wrong at long positions, but
// wanted for parity.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "posenc/core/fast_math.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/phase.hpp"

namespace posenc::inline POSENC_TARGET {

/// Rows as Hugging Face transformers and vLLM make them; cos_sin_rows are exact
/// instead and differ by up to 6e-2 at position one million [modeling_llama.py,
/// LlamaRotaryEmbedding.forward]:
///
///     angle = float(float(position) * float(inv_freq))
///     cos = float(float(cos angle) * float(attention_factor)),  sin likewise
///
/// Cosine and sine of this rounded angle are correctly rounded except for near-ties; a float libm
/// may differ by an ULP. So may an inv_freq computed in float: pass the model's own values to get
/// the same bits.
/// Throws std::invalid_argument at a position that is NaN or does not fit int64.
template <position_range Positions>
cos_sin_rows<float> float_angle_rows(frequencies const& f, Positions const& positions) {
  auto const factor = static_cast<float>(f.attention_factor());
  auto const write = [&](auto position, float* row) {
    auto const p = static_cast<float>(position);
    for (auto const [first, last] : f.rotated_pairs()) {
      for (auto i = first; i < last; ++i) {
        // Below 2^127, so that one phase_step is within 2^-64 turns.
        auto const angle = detail::stored(p * static_cast<float>(f.inv_freq()[i]));
        auto const [cos, sin] =
            cos_sin(phase_step(std::abs(static_cast<double>(angle))).at(std::int64_t{1}));
        row[i] = detail::stored(static_cast<float>(cos) * factor);
        row[f.pairs() + i] = detail::stored(static_cast<float>(angle < 0 ? -sin : sin) * factor);
      }
    }
  };
  return {detail::layout_of(f), detail::checked_positions("float_angle_rows", positions), write};
}

}  // namespace posenc
