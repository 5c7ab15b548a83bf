#pragma once

/// The positions that are farthest from 0.

#include <cstdint>
#include <limits>

inline constexpr auto farthest = std::numeric_limits<std::int64_t>::max(),
                      farthest_back = std::numeric_limits<std::int64_t>::min();
