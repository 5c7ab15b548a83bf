// The positions of tokens.
#pragma once

#include <cstdint>
#include <span>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// One position per token, counted in tokens, in any order; gaps, repeats and negative positions
/// are allowed.
using positions_view = std::span<std::int64_t const>;

}  // namespace posenc
