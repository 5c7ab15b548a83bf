// Rows of scores that differ by delta at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dispersion {

/// The first key has delta, the most there is; the others lie between 0 and it.
enum class shape {
  uniform,   ///< uniformly
  gaussian,  ///< normally, about the middle, with a spread of delta / 6; what falls beyond the ends
             ///< is drawn again
  gap,       ///< all at 0: the row that has the largest weight of all
};

inline constexpr std::string_view shape_names[] = {"uniform", "gaussian", "gap"};

/// What each draw of a seed begins with its own.
std::vector<float> scores_of(shape scores, float delta, std::size_t keys, std::uint64_t seed,
                             std::uint64_t draw);

}  // namespace dispersion
