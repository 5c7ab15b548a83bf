// Line charts as plain data. terminal_chart.hpp and svg_chart.hpp draw them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
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
  /// In SVG: the colour of the curve with this number rather than its own, 6 the text's; dashes.
  std::optional<std::size_t> colour = {};
  bool dashed = false;
};

struct axis {
  std::string label = {};
  bool logarithmic = false;
};

/// A vertical line with its name.
struct mark {
  double x = 0;
  std::string label = {};
};

/// In SVG: words at a place, where a curve needs no legend. x and y are values on the axes.
struct note {
  double x = 0, y = 0;
  std::string text = {};
  std::optional<std::size_t> colour = {};  ///< That of the curve with this number.
  bool ends = false;                       ///< There, rather than begins.
};

struct chart {
  std::string title = {};
  axis x = {}, y = {};
  std::vector<series> curves = {};
  std::optional<range> y_range = {};  ///< Without it, all there is; see worth_showing.
  std::vector<mark> marks = {};       ///< Within the chart, or they are left out.
  std::vector<note> notes = {};
  /// What a legend calls bands: those of the curves, or where they turn back within a column.
  std::string band = "extremes nearby";
};

inline bool has_band(chart const& c) {
  for (auto const& curve : c.curves)
    if (!curve.low.empty()) return true;
  return false;
}

/// first, first + by, ... up to last.
inline std::vector<double> steps(double first, double last, double by = 1) {
  std::vector<double> result;
  for (double i = 0; first + i * by <= last; ++i) result.push_back(first + i * by);
  return result;
}

/// Whole numbers from first to last, so many to each factor of ten at most.
inline std::vector<double> whole_powers(double first, double last, int to_ten) {
  std::vector<double> result{first};
  for (int i = 1; result.back() < last; ++i) {
    auto const next =
        std::fmin(std::round(first * std::pow(10.0, i / static_cast<double>(to_ten))), last);
    if (next > result.back()) result.push_back(next);
  }
  return result;
}

/// of(x) at each x.
series curve(std::string name, std::vector<double> xs, auto const& of) {
  series s{.name = std::move(name), .x = std::move(xs)};
  for (auto const x : s.x) s.y.push_back(of(x));
  return s;
}

/// For y_range, of curves against distance: their means, as bands of a few heads would flatten
/// them, nothing far below 0 (a bias of -500 would flatten the others), no weight far below a
/// uniform one.
inline range worth_showing(chart const& c) {
  range all{1e300, -1e300};
  std::size_t longest = 1;
  for (auto const& curve : c.curves) {
    longest = std::max(longest, curve.x.size());
    for (auto const y : curve.y) all = {std::min(all.low, y), std::max(all.high, y)};
  }
  auto const least =
      c.y.logarithmic ? 1e-6 / static_cast<double>(longest) : -std::abs(all.high) / 2;
  return {std::max(all.low, least), all.high};
}

}  // namespace charts
