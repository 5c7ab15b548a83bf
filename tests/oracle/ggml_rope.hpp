#pragma once

/// ggml's GGML_OP_ROPE from its formulas [ggml, ops.cpp], one pair after another: the angles are
/// four numbers that shrink from pair to pair, as there, but wide ones.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wide.hpp"

namespace oracle {

struct ggml_rope {
  enum modes { normal = 0, neox = 2, mrope = 8, vision = 24, imrope = 40 };
  int n_dims = 0, mode = normal, n_ctx_orig = 0;
  double freq_base = 10000, freq_scale = 1, ext_factor = 0, attn_factor = 1, beta_fast = 32,
         beta_slow = 1;
  std::array<int, 4> sections{};
  int n_offs = 0;
  std::vector<double> freq_factors = {};  // or none
  bool forward = true;
};

/// The factor on rotated numbers.
inline wide ggml_magnitude(ggml_rope const& op) {
  return op.ext_factor == 0 ? wide(op.attn_factor)
                            : wide(op.attn_factor) * (1 + log(1 / wide(op.freq_scale)) / 10);
}

/// What YaRN leaves of the difference between the unscaled and the scaled angle of a pair.
inline wide ggml_mix(ggml_rope const& op, int pair) {
  if (op.ext_factor == 0) return 0;
  // The index of the pair with so many turns; of a context of 0, before all pairs.
  const auto index = [&](double turns) {
    return op.n_dims * log(op.n_ctx_orig / (wide(turns) * 2 * pi)) / (2 * log(wide(op.freq_base)));
  };
  wide low = 0, width = wide(1) / 1000;
  if (op.n_ctx_orig > 0) {
    low = floor(index(op.beta_fast));
    wide high = ceil(index(op.beta_slow));
    if (low < 0) low = 0;
    if (high > op.n_dims - 1) high = op.n_dims - 1;
    if (high - low > width) width = high - low;
  }
  wide ramp = (pair - low) / width;
  if (ramp < 0) ramp = 0;
  if (ramp > 1) ramp = 1;
  return (1 - ramp) * wide(op.ext_factor);
}

struct ggml_direction {
  wide cos, sin;
};

/// Cosine and sine of each pair of a token with positions t, h, w, e; those of MROPE, VISION and
/// IMROPE differ by pair.
inline std::vector<ggml_direction> ggml_row(ggml_rope const& op,
                                            std::array<std::int32_t, 4> const& position) {
  const int pairs = op.mode == ggml_rope::vision ? op.n_dims : op.n_dims / 2;
  const auto [s0, s1, s2, s3] = op.sections;
  const int all = s0 + s1 + s2 + s3;
  const wide step = pow(wide(op.freq_base), wide(-2) / op.n_dims), magnitude = ggml_magnitude(op);
  std::array<wide, 4> theta{wide(position[0]), wide(position[1]), wide(position[2]),
                            wide(position[3])};
  std::vector<ggml_direction> row;
  for (int pair = 0; pair < pairs; ++pair) {
    std::size_t axis = 0;
    if (op.mode >= ggml_rope::mrope) {
      const int sector = pair % all;
      if (op.mode == ggml_rope::vision) {
        if (sector == 0)
          theta[0] = position[0];
        else if (sector == s0)
          theta[1] = position[1];
        else if (sector == s0 + s1)
          theta[2] = position[2];
        else if (sector == s0 + s1 + s2)
          theta[3] = position[3];
      }
      if (op.mode == ggml_rope::imrope) {
        const int third = sector % 3, turn = sector / 3;
        axis = third == 0 && turn < s0   ? 0
               : third == 1 && turn < s1 ? 1
               : third == 2 && turn < s2 ? 2
                                         : 3;
      } else {
        axis = sector < s0 ? 0 : sector < s0 + s1 ? 1 : sector < s0 + s1 + s2 ? 2 : 3;
      }
    }
    wide unscaled = theta[axis];
    if (!op.freq_factors.empty())
      unscaled = unscaled / op.freq_factors[static_cast<std::size_t>(pair)];
    const wide mix = ggml_mix(op, pair),
               angle = wide(op.freq_scale) * unscaled * (1 - mix) + unscaled * mix;
    row.push_back(
        {cosine(angle) * magnitude, sine(angle) * (op.forward ? magnitude : wide(0) - magnitude)});
    for (auto& t : theta) t = t * step;
  }
  return row;
}

/// Rotates one head.
inline void rotate_as_ggml(std::span<double> head, ggml_rope const& op,
                           std::span<const ggml_direction> row) {
  for (std::size_t pair = 0; pair < row.size(); ++pair) {
    const auto first = static_cast<std::size_t>(op.n_offs);
    const auto x_at = first + (op.mode == ggml_rope::normal ? 2 * pair : pair);
    const auto y_at = op.mode == ggml_rope::normal ? x_at + 1 : x_at + row.size();
    const wide x = head[x_at], y = head[y_at];
    head[x_at] = static_cast<double>(x * row[pair].cos - y * row[pair].sin);
    head[y_at] = static_cast<double>(x * row[pair].sin + y * row[pair].cos);
  }
}

}  // namespace oracle
