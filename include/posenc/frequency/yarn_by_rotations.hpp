// YaRN as published: the ramp runs over the turns of a pair within the trained context.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/ntk_by_parts.hpp"
#include "posenc/frequency/yarn.hpp"

namespace posenc::inline POSENC_TARGET {

/// ntk_by_parts with alpha 1 and beta 32, and an attention factor of 0.1 ln(factor) + 1 on rotated
/// queries and on rotated keys, so that scores get its square, 1 / t. [Peng 2023, 3.4]
/// No model is known to be trained with it: the authors' code, and all code after it, is yarn.
/// Throws as ntk_by_parts does.
inline frequencies yarn_by_rotations(frequencies const& f, ntk_by_parts_scaling const& scaling) {
  auto const parts = ntk_by_parts(f, scaling);
  return parts.with_attention_factor(f.attention_factor() * detail::yarn_magnitude(scaling.factor));
}

}  // namespace posenc
