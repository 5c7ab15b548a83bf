#include "scale.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace charts {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double rounding = 1e-9;  // of an axis' units, so that a tick at its very end is not lost

// The least of 1, 2, 5, 10, 20, 50, ... of which `at_most` multiples reach across `span`.
double round_step(double span, int at_most) {
  double const least = span / (at_most - 1);
  double const magnitude = std::pow(10.0, std::floor(std::log10(least)));
  for (double const factor : {1.0, 2.0, 5.0})
    if (factor * magnitude >= least) return factor * magnitude;
  return 10 * magnitude;
}

std::vector<double> multiples(double step, range within) {
  std::vector<double> result;
  double const last = std::floor(within.high / step + rounding);
  for (double k = std::ceil(within.low / step - rounding); k <= last; ++k) result.push_back(k * step + 0.0);
  return result;
}

std::string written(double value, std::chars_format format, int precision) {
  std::array<char, 64> text;
  auto const end = std::to_chars(text.data(), text.data() + text.size(), value, format, precision).ptr;
  return {text.data(), end};
}

std::vector<tick> labelled(std::vector<double> const& values, int digits = 3) {
  std::vector<tick> result;
  for (double const value : values) result.push_back({value, compact(value, digits)});
  return result;
}

std::vector<tick> linear_ticks(range within, int at_most) {
  double const step = round_step(within.high - within.low, at_most);
  double const largest = std::max(std::abs(within.low), std::abs(within.high));
  int const digits = static_cast<int>(std::floor(std::log10(largest)) - std::floor(std::log10(step))) + 1;
  return labelled(multiples(step, within), std::clamp(digits, 3, 15));
}

// Powers of ten, if the axis spans some; else 1, 2, 5, 10, 20, ...; else as on a linear axis.
std::vector<tick> logarithmic_ticks(range exponents, int at_most) {
  double const span = exponents.high - exponents.low;
  std::vector<double> powers, finer;
  for (double const exponent : multiples(std::ceil(span / (at_most - 1)), exponents))
    powers.push_back(std::pow(10.0, exponent));
  if (powers.size() >= 3 || span > 2) return labelled(powers);

  for (double exponent = std::floor(exponents.low); exponent <= exponents.high; ++exponent)
    for (double const factor : {1.0, 2.0, 5.0}) {
      double const place = exponent + std::log10(factor);
      if (place >= exponents.low - rounding && place <= exponents.high + rounding)
        finer.push_back(factor * std::pow(10.0, exponent));
    }
  if (finer.size() >= 2 && finer.size() <= static_cast<std::size_t>(at_most)) return labelled(finer);
  if (powers.size() == 2) return labelled(powers);
  return linear_ticks({std::pow(10.0, exponents.low), std::pow(10.0, exponents.high)}, at_most);
}

}  // namespace

scale::scale(bool logarithmic, std::span<std::span<double const> const> values, double margin)
    : logarithmic_(logarithmic), low_(infinity), high_(-infinity) {
  for (auto const& some : values)
    for (double const value : some)
      if (double const place = along(value); !std::isnan(place)) {
        low_ = std::min(low_, place);
        high_ = std::max(high_, place);
      }
  if (low_ > high_) low_ = 0, high_ = 1;

  // A constant still needs an axis around it, and ticks need digits to differ in.
  double const size = std::max(std::abs(low_), std::abs(high_));
  if (high_ - low_ < std::max(1e-290, 1e-9 * size)) margin = logarithmic_ ? 0.5 : size < 1e-280 ? 1.0 : size / 2;
  else margin *= high_ - low_;
  low_ -= margin;
  high_ += margin;
}

double scale::along(double value) const {
  constexpr double largest = 1e280;  // leaves room for margins, differences and ticks to neither over- nor underflow
  if (!(std::abs(value) <= largest) || (logarithmic_ && !(value >= 1 / largest))) return nan;
  return logarithmic_ ? std::log10(value) : value;
}

double scale::operator()(double value) const {
  constexpr double far = 50;  // keeps coordinates small; nothing that far off can be seen
  return std::clamp((along(value) - low_) / (high_ - low_), -far, far);
}

std::vector<tick> scale::ticks(int at_most) const {
  return logarithmic_ ? logarithmic_ticks({low_, high_}, at_most) : linear_ticks({low_, high_}, at_most);
}

scale x_scale(chart const& c) {
  std::vector<std::span<double const>> values;
  for (series const& curve : c.curves) values.push_back(curve.x);
  return {c.x.logarithmic, values, 0};
}

scale y_scale(chart const& c) {
  if (c.y_range) {
    std::array<double, 2> const ends{c.y_range->low, c.y_range->high};
    std::array<std::span<double const>, 1> const values{ends};
    return {c.y.logarithmic, values, 0};
  }
  std::vector<std::span<double const>> values;
  for (series const& curve : c.curves) values.insert(values.end(), {curve.y, curve.low, curve.high});
  return {c.y.logarithmic, values, 0.04};
}

std::string compact(double value, int digits) {
  if (value == 0) return "0";
  // Rounding first lets 999999 become 1M, not 1000k.
  std::string const scientific = written(value, std::chars_format::scientific, digits - 1);
  std::size_t const e = scientific.find('e');
  if (e == std::string::npos) return scientific;

  int const exponent = std::stoi(scientific.substr(e + 1));
  if (exponent >= -3 && exponent < 12) {
    int const thousands = std::max(0, exponent / 3);
    std::string const suffix = std::array{"", "k", "M", "G"}[static_cast<std::size_t>(thousands)];
    return written(value / std::pow(1000.0, thousands), std::chars_format::general, digits) + suffix;
  }
  std::string mantissa = scientific.substr(0, e);
  if (mantissa.find('.') != std::string::npos) mantissa.erase(mantissa.find_last_not_of("0.") + 1);
  return mantissa + "e" + std::to_string(exponent);
}

}  // namespace charts
