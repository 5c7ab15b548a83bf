#include "reporting/scale.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <span>

namespace charts {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> multiples(double step, range within) {
  constexpr double rounding = 1e-9;  // must not lose a tick at the end of an axis
  std::vector<double> result;
  double const first = std::ceil(within.low / step - rounding),
               last = std::floor(within.high / step + rounding);
  for (int i = 0; first + i <= last; ++i) result.push_back((first + i) * step + 0.0);
  return result;
}

struct number {
  double value;
  std::string label;
};

std::vector<number> linear_ticks(range within, int at_most) {
  double const least = (within.high - within.low) / (at_most - 1);
  double const magnitude = std::pow(10.0, std::floor(std::log10(least)));
  double step = 10 * magnitude;
  for (double const factor : {5, 2, 1})
    step = factor * magnitude >= least ? factor * magnitude : step;

  double const largest = std::max(std::abs(within.low), std::abs(within.high));
  int const digits =
      static_cast<int>(std::floor(std::log10(largest)) - std::floor(std::log10(step))) + 1;
  std::vector<number> result;
  for (double const value : multiples(step, within))
    result.push_back({value, compact(value, std::max(digits, 3))});
  return result;
}

// Powers of ten; on a short axis 1, 2, 5, 10, 20, ...; on a very short one, as if it were linear.
std::vector<number> logarithmic_ticks(range exponents, int at_most) {
  double const span = exponents.high - exponents.low;
  if (span < 0.8)
    return linear_ticks({std::pow(10.0, exponents.low), std::pow(10.0, exponents.high)}, at_most);

  std::vector<number> result;
  for (double const factor : {1, 2, 5}) {
    double const shift = std::log10(factor), step = span > 2 ? std::ceil(span / (at_most - 1)) : 1;
    if (factor > 1 && span > 2) break;
    for (double const exponent : multiples(step, {exponents.low - shift, exponents.high - shift}))
      result.push_back(
          {factor * std::pow(10.0, exponent), compact(factor * std::pow(10.0, exponent))});
  }
  std::ranges::sort(result, {}, &number::value);
  return result;
}

std::string written(double value, std::chars_format format, int precision) {
  std::array<char, 64> text;
  return {text.data(),
          std::to_chars(text.data(), text.data() + text.size(), value, format, precision).ptr};
}

std::vector<double> values_of(chart const& c,
                              std::initializer_list<std::vector<double> series::*> members) {
  std::vector<double> result;
  for (series const& curve : c.curves)
    for (auto const member : members)
      result.insert(result.end(), (curve.*member).begin(), (curve.*member).end());
  return result;
}

// Points [first, last) of a curve, in one column; of others, those that are drawn at all.
struct column {
  std::size_t first, last;

  // Whether the curve goes up and down here, far enough to be seen.
  bool turns_back(series const& curve, plane const& axes) const {
    constexpr double visible = 0.02;
    if (last - first < 5) return false;
    double up = 0, down = 0;
    for (auto i = first + 1; i < last; ++i) {
      double const step = axes.y(curve.y[i]) - axes.y(curve.y[i - 1]);
      (step > 0 ? up : down) += std::abs(step);
    }
    return std::min(up, down) > visible;
  }
};

std::vector<column> columns_of(series const& curve, plane const& axes, int count) {
  std::vector<column> result;
  double before = nan;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    double const at = std::floor(axes.x(curve.x[i]) * count) + 0 * axes.y(curve.y[i]);
    if (at != before) result.push_back({i, i});  // always where there is nothing to draw
    result.back().last = i + 1;
    before = at;
  }
  return result;
}

series gathered(series const& curve, plane const& axes, int count) {
  auto const columns = columns_of(curve, axes, count);
  auto const crowded =
      std::ranges::find_if(columns, [&](column const& c) { return c.turns_back(curve, axes); });
  if (crowded == columns.end()) return curve;
  series result{.name = curve.name, .colour = curve.colour, .dashed = curve.dashed};
  auto const &low = curve.low.empty() ? curve.y : curve.low,
             &high = curve.high.empty() ? curve.y : curve.high;
  auto const add = [&](column const& c) {
    auto const over = [&](std::vector<double> const& values) {
      return std::span(values).subspan(c.first, c.last - c.first);
    };
    auto const mean = [&](std::vector<double> const& values) {
      double sum = 0;
      for (double const value : over(values)) sum += value;
      return sum / static_cast<double>(c.last - c.first);
    };
    result.x.push_back(mean(curve.x)), result.y.push_back(mean(curve.y));
    result.low.push_back(std::ranges::min(over(low)));
    result.high.push_back(std::ranges::max(over(high)));
  };
  for (auto c = columns.begin(); c != crowded; ++c)
    for (auto i = c->first; i < c->last; ++i) add({i, i + 1});
  std::for_each(crowded, columns.end(), add);
  return result;
}

}  // namespace

std::vector<series> gathered(chart const& c, plane const& axes, int columns) {
  std::vector<series> result;
  for (auto const& curve : c.curves) result.push_back(gathered(curve, axes, columns));
  return result;
}

scale::scale(bool logarithmic, std::vector<double> const& values, double margin)
    : logarithmic_(logarithmic), shown_{HUGE_VAL, -HUGE_VAL} {
  for (double const value : values)
    if (double const place = along(value); !std::isnan(place))
      shown_ = {std::min(shown_.low, place), std::max(shown_.high, place)};
  if (shown_.low > shown_.high) shown_ = {0, 1};

  // A constant needs an axis around it, too, and ticks need digits to differ in.
  double const size = std::max(std::abs(shown_.low), std::abs(shown_.high)),
               span = shown_.high - shown_.low;
  bool const constant = span < std::max(1e-290, 1e-6 * size);
  double const more = !constant ? margin * span : logarithmic_ ? 0.5 : size < 1e-280 ? 1 : size / 2;
  shown_ = {shown_.low - more, shown_.high + more};
}

double scale::along(double value) const {
  constexpr double largest = 1e280;  // leaves room for differences and margins
  if (!(std::abs(value) <= largest) || (logarithmic_ && value < 1 / largest)) return nan;
  return logarithmic_ ? std::log10(value) : value;
}

double scale::operator()(double value) const {
  constexpr double far = 50;  // off the chart in any case, yet a small number
  return std::clamp((along(value) - shown_.low) / (shown_.high - shown_.low), -far, far);
}

std::vector<tick> scale::ticks(int at_most) const {
  std::vector<tick> result;
  for (auto const& [value, label] :
       logarithmic_ ? logarithmic_ticks(shown_, at_most) : linear_ticks(shown_, at_most)) {
    double const at =
        ((logarithmic_ ? std::log10(value) : value) - shown_.low) / (shown_.high - shown_.low);
    result.push_back({std::clamp(at, 0.0, 1.0), label});
  }
  return result;
}

plane::plane(chart const& c)
    : x(c.x.logarithmic, values_of(c, {&series::x}), 0),
      y(c.y_range ? scale(c.y.logarithmic, {c.y_range->low, c.y_range->high}, 0)
                  : scale(c.y.logarithmic, values_of(c, {&series::y, &series::low, &series::high}),
                          0.04)) {}

std::vector<std::vector<point>> plane::strokes(std::vector<double> const& xs,
                                               std::vector<double> const& ys) const {
  std::vector<std::vector<point>> result(1);
  for (std::size_t i = 0; i < std::min(xs.size(), ys.size()); ++i) {
    point const next{x(xs[i]), y(ys[i])};
    if (!std::isnan(next.x) && !std::isnan(next.y))
      result.back().push_back(next);
    else if (!result.back().empty())
      result.emplace_back();
  }
  if (result.back().empty()) result.pop_back();
  return result;
}

std::string compact(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value == 0 ? "0" : "?";
  // Rounded before anything else, 999999 becomes 1M, not 1000k.
  std::string const scientific = written(value, std::chars_format::scientific, digits - 1);
  std::size_t const e = scientific.find('e');
  int const exponent = std::stoi(scientific.substr(e + 1)), thousands = std::max(exponent / 3, 0);
  if (exponent < -3 || exponent >= 12)
    return scientific.substr(0, scientific.find_last_not_of("0.", e - 1) + 1) + 'e' +
           std::to_string(exponent);
  return written(value / std::pow(1000.0, thousands), std::chars_format::general, digits) +
         std::array{"", "k", "M", "G"}[static_cast<std::size_t>(thousands)];
}

}  // namespace charts
