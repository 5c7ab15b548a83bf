// Neighbouring tokens: which a query sees, or a worker computes.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// From first up to but not including last.
struct token_range {
  std::size_t first, last;  ///< [first, last)
  friend bool operator==(token_range const&, token_range const&) = default;
};

}}  // namespace posenc
