// Where the values of a chart go, and the round numbers along its axes.
#pragma once

#include <string>
#include <vector>

#include "reporting/chart.hpp"

namespace charts {

struct tick {
  double at;  ///< 0 ... 1 along the axis.
  std::string label;
};

/// Maps an axis, linear or logarithmic, to 0 ... 1.
class scale {
 public:
  scale(bool logarithmic, std::vector<double> const& values, double margin);

  /// NaN for a value that leaves a gap; below 0 or above 1 for one off the chart.
  double operator()(double value) const;

  /// About `at_most` (3 or more) round numbers; fewer where they would not be round.
  std::vector<tick> ticks(int at_most) const;

 private:
  double along(double value) const;

  bool logarithmic_;
  range shown_;  // of decimal logarithms when logarithmic_
};

struct point {
  double x, y;
};

/// Both axes of a chart.
struct plane {
  explicit plane(chart const& c);

  /// A curve, cut at its gaps, in the unit square.
  std::vector<std::vector<point>> strokes(std::vector<double> const& xs,
                                          std::vector<double> const& ys) const;

  scale x, y;
};

/// The curves of a chart as so many columns show them. From where a curve turns back within a
/// column, so that its stroke would fill an area, one point stands for the values of each column:
/// their mean, with the lowest and the highest as the band.
std::vector<series> gathered(chart const& c, plane const& axes, int columns);

/// As short as it gets: 0, 0.25, 10, 4k, 131k, 1.5M, 1e-5. At least 3 digits.
std::string compact(double value, int digits = 3);

}  // namespace charts
