#pragma once

#include "chart.hpp"

#include <span>
#include <string>
#include <vector>

namespace charts {

struct tick {
  double value;
  std::string label;
};

/// Places values along an axis, from 0 at its beginning to 1 at its end, linearly or by their logarithm.
class scale {
public:
  scale(bool logarithmic, std::span<std::span<double const> const> values, double margin);

  /// NaN for a value that leaves a gap; below 0 or above 1 for one off the chart.
  double operator()(double value) const;

  /// Round numbers within the axis, rarely fewer than two and hardly ever more than `at_most`.
  std::vector<tick> ticks(int at_most) const;

private:
  double along(double value) const;

  bool logarithmic_;
  double low_, high_;  // decimal logarithms when logarithmic_
};

scale x_scale(chart const& c);
scale y_scale(chart const& c);

/// As short as it gets: 0, 0.25, 10, 4k, 131k, 1.5M, 1e-5. At least 3 digits.
std::string compact(double value, int digits = 3);

}  // namespace charts
