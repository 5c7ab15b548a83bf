#include "reporting/map.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace charts {
namespace {

constexpr std::size_t tints = 24;

double opacity_of(std::size_t tint) {
  return std::round(100.0 * static_cast<double>(tint) / tints) / 100;
}

}  // namespace

void draw_map(svg_drawing& out, box const& at, std::size_t rows, std::size_t columns,
              std::function<double(std::size_t row, std::size_t column)> const& of) {
  std::vector<std::vector<box>> of_tint(tints + 1);
  auto const width = at.width / static_cast<double>(columns);
  auto const height = at.height / static_cast<double>(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    auto const tint = [&](std::size_t column) {
      return static_cast<std::size_t>(std::lround(tints * std::clamp(of(row, column), 0.0, 1.0)));
    };
    for (std::size_t column = 0, next = 0; column < columns; column = next) {
      auto const here = tint(column);
      for (next = column + 1; next < columns && tint(next) == here;) ++next;
      of_tint[here].push_back({at.x + width * static_cast<double>(column),
                               at.y + height * static_cast<double>(row),
                               width * static_cast<double>(next - column), height});
    }
  }
  for (std::size_t tint = 1; tint <= tints; ++tint)
    if (!of_tint[tint].empty()) out.rectangles(of_tint[tint], "f0", opacity_of(tint));
  out.rectangle(at, "frame");
}

void draw_scale_of_roots(svg_drawing& out, box const& at) {
  auto const step = at.width / tints;
  for (std::size_t tint = 1; tint <= tints; ++tint)
    out.rectangle({at.x + step * static_cast<double>(tint - 1), at.y, step, at.height}, "f0",
                  opacity_of(tint));
  out.rectangle(at, "frame");
  for (double const weight : {0.0, 0.05, 0.25, 0.5, 1.0})
    out.text({at.x + at.width * std::sqrt(weight), at.y + at.height + 18}, 13, 60, "label middle",
             compact(weight));
}

}  // namespace charts
