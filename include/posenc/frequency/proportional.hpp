// Gemma 4's "proportional" rule: p-RoPE, interpolated.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/truncated.hpp"

namespace posenc::inline POSENC_TARGET {

/// base^(-2i / head_dim) / factor for the first floor(p * head_dim / 2) pairs, 0 for the others.
/// [modeling_rope_utils.py, where p is partial_rotary_factor and head_dim is the whole head: every
/// dim is in a pair]
/// Throws as geometric, truncated and linear do.
inline frequencies proportional(std::size_t head_dim, double base, double p, double factor = 1) {
  return linear(truncated(geometric(head_dim, base), p), factor);
}

}  // namespace posenc
