// Charts as an SVG page, for a browser or a paper.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reporting/chart.hpp"
#include "reporting/svg_drawing.hpp"

namespace charts {

struct svg_page {
  std::string title = {}, subtitle = {};
  int charts_per_row = 2;
  double chart_width = 400,
         chart_height = 300;  ///< Of a chart with its labels but without its legend.
  /// What stands between the titles and the charts; null: nothing.
  std::function<void(svg_drawing&, point corner)> draw_above = {};
  double above_width = 0, above_height = 0;
};

/// A whole SVG file. Lengths are in pixels.
std::string svg(std::vector<chart> const& charts, svg_page const& page);

}  // namespace charts
