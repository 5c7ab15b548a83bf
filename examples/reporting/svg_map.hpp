// Maps of attention weights, query by key, and their scale of colours.
#pragma once

#include <cstddef>
#include <functional>

#include "reporting/svg_drawing.hpp"

namespace charts {

/// Queries downwards, keys to the right: weights of 0 to 1, in shades by their square root, so that
/// small ones can be told apart.
void draw_map(svg_drawing& out, box const& at, std::size_t length,
              std::function<double(std::size_t query, std::size_t key)> const& weight);

/// The shades of a map, from 0 to 1, with the weights under them; about 20 pixels more in height.
void draw_map_scale(svg_drawing& out, box const& at);

}  // namespace charts
