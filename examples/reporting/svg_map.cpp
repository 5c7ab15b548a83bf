#include "reporting/svg_map.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace charts {
namespace {

constexpr std::size_t shades = 24;

std::size_t shade_of(double weight) {
  return std::min(shades, static_cast<std::size_t>(std::lround(shades * std::sqrt(weight))));
}
double opacity_of(std::size_t shade) {
  return std::round(100.0 * static_cast<double>(shade) / shades) / 100;
}

}  // namespace

void draw_map(svg_drawing& out, box const& at, std::size_t length,
              std::function<double(std::size_t, std::size_t)> const& weight) {
  std::vector<std::vector<box>> of_shade(shades + 1);
  auto const size = at.width / static_cast<double>(length);
  for (std::size_t query = 0; query < length; ++query) {
    for (std::size_t key = 0, next = 0; key < length; key = next) {
      auto const shade = shade_of(weight(query, key));
      for (next = key + 1; next < length && shade_of(weight(query, next)) == shade;) ++next;
      of_shade[shade].push_back({at.x + size * static_cast<double>(key),
                                 at.y + size * static_cast<double>(query),
                                 size * static_cast<double>(next - key), size});
    }
  }
  for (std::size_t shade = 1; shade <= shades; ++shade)
    if (!of_shade[shade].empty()) out.rectangles(of_shade[shade], "f0", opacity_of(shade));
  out.rectangle(at, "frame");
}

void draw_map_scale(svg_drawing& out, box const& at) {
  auto const step = at.width / shades;
  for (std::size_t shade = 1; shade <= shades; ++shade)
    out.rectangle({at.x + step * static_cast<double>(shade - 1), at.y, step, at.height}, "f0",
                  opacity_of(shade));
  out.rectangle(at, "frame");
  for (double const weight : {0.0, 0.05, 0.25, 0.5, 1.0})
    out.text({at.x + at.width * std::sqrt(weight), at.y + at.height + 18}, 13, 60, "label middle",
             compact(weight));
}

}  // namespace charts
