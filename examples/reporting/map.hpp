// Maps: a rectangle of cells, each in a shade of its number.
#pragma once

#include <cstddef>
#include <functional>

#include "reporting/svg_drawing.hpp"

namespace charts {

/// In shades of the first colour: 0 is the paper, and 1 or more the full colour.
void draw_map(svg_drawing& out, box const& at, std::size_t rows, std::size_t columns,
              std::function<double(std::size_t row, std::size_t column)> const& of);

/// The shades of a map of weights' square roots, so that small ones can be told apart, with the
/// weights under them; about 20 pixels more in height.
void draw_scale_of_roots(svg_drawing& out, box const& at);

}  // namespace charts
