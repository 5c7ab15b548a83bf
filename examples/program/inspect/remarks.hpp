// Remarks on the rotation of a kind of layers: what stands out at a given context.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "posenc/frequency/frequencies.hpp"
#include "posenc/model/model_description.hpp"

namespace inspect {

/// The longest distance from a query to a key of such a layer, in tokens: its window, its chunk, or
/// the context.
inline std::size_t reach_of(posenc::layer_description const& kind, std::size_t context) {
  return std::min({context, kind.window.value_or(context), kind.chunk.value_or(context)});
}

/// Up to which distance to look for a negative sum: beyond the reach, where that takes a moment. (A
/// million distances of 64 pairs take a tenth of a second.)
inline std::size_t farthest_of(std::size_t reach, std::size_t pairs) {
  return std::max(std::min(reach, (std::size_t{1} << 29) / pairs), (std::size_t{1} << 26) / pairs);
}

/// One sentence each.
std::vector<std::string> remarks(posenc::layer_description const& kind,
                                 posenc::frequencies const& f, std::size_t context);

/// How far heads see by their biases, or where they have neither rotation nor bias; else nothing.
std::string how_far(posenc::layer_description const& kind);

/// The largest error of an angle at the last position, in radians, if angles are computed in float,
/// as most code does.
double float_error(posenc::frequencies const& f, std::size_t context);

}  // namespace inspect
