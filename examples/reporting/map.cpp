#include "reporting/map.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace charts {

void draw_map(svg_drawing& out, box const& at, std::size_t rows, std::size_t columns,
              std::function<double(std::size_t row, std::size_t column)> const& of) {
  constexpr std::size_t shades = 9;
  std::vector<std::vector<box>> of_shade(shades + 1);
  auto const width = at.width / static_cast<double>(columns);
  auto const height = at.height / static_cast<double>(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    auto const shade = [&](std::size_t column) {
      auto const part = std::clamp(of(row, column), 0.0, 1.0);
      return static_cast<std::size_t>(std::lround(static_cast<double>(shades) * part));
    };
    for (std::size_t column = 0, next = 0; column < columns; column = next) {
      auto const here = shade(column);
      for (next = column + 1; next < columns && shade(next) == here;) ++next;
      of_shade[here].push_back({at.x + width * static_cast<double>(column),
                                at.y + height * static_cast<double>(row),
                                width * static_cast<double>(next - column), height});
    }
  }
  for (std::size_t shade = 1; shade <= shades; ++shade)
    out.rectangles(of_shade[shade], "f0",
                   std::round(100 * static_cast<double>(shade) / shades) / 100);
  out.rectangle(at, "frame");
}

}  // namespace charts
