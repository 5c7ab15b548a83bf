// Planes: numbers from 0 to 1 to the right and upwards, a dot and its name for each thing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporting/svg_drawing.hpp"

namespace charts {

/// The grid of numbers from 0 to 1 upwards, a title over it, and what goes to the right under it.
void draw_unit_axis(svg_drawing& out, box const& at, std::string const& title,
                    std::string const& to_the_right);

struct dot {
  double x, y;  ///< 0 to 1
  std::string name;
};

/// Both axes from 0 to 1. A name stands beside its dot where it covers no dot and no other name;
/// those that come first are served first, and what has no room has no name.
void draw_plane(svg_drawing& out, box const& at, std::string const& title,
                std::string const& to_the_right, std::vector<dot> const& dots);

}  // namespace charts
