// Line charts as plain data. terminal_chart.hpp and svg_chart.hpp draw them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace charts {

struct range {
  double low = 0, high = 0;
};

/// One curve, x ascending. A value that is not finite, or not positive on a logarithmic axis,
/// leaves a gap.
struct series {
  std::string name = {};
  std::vector<double> x = {}, y = {};
  std::vector<double> low = {},
                      high = {};  ///< An optional band around the curve: empty, or as long as y.
};

struct axis {
  std::string label = {};
  bool logarithmic = false;
};

struct chart {
  std::string title = {};
  axis x = {}, y = {};
  std::vector<series> curves = {};
  std::optional<range> y_range = {};  ///< Without it, the chart shows all there is.
};

}  // namespace charts
