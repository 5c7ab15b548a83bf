#include "interval.hpp"

#include <cmath>
#include <numbers>

namespace retrieval {

// With theta = atan(t / sqrt(degrees)), a finite sum of powers of its cosine [Abramowitz, Stegun
// 1964, 26.7.3 and 26.7.4].
double within(double t, int degrees) {
  auto const theta = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  auto const cosine = std::cos(theta);
  bool const odd = degrees % 2 != 0;
  double term = odd ? cosine : 1, sum = 0;
  for (int k = odd ? 1 : 0; k <= degrees - 2; k += 2) {
    sum += term;
    term *= cosine * cosine * (k + 1) / (k + 2);
  }
  return odd ? 2 * std::numbers::inv_pi * (theta + std::sin(theta) * sum) : std::sin(theta) * sum;
}

double t_of_95_percent(int degrees) {
  double low = 0, high = 20;
  for (int halving = 0; halving < 60; ++halving) {
    auto const middle = (low + high) / 2;
    (within(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return high;
}

interval interval_of(std::vector<double> const& values) {
  auto const count = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (auto const x : values) mean += x / count;
  for (auto const x : values) squares += (x - mean) * (x - mean);
  auto const error = std::sqrt(squares / (count - 1) / count);
  return {mean, t_of_95_percent(static_cast<int>(values.size()) - 1) * error, error};
}

interval interval_of_difference(std::vector<double> const& a, std::vector<double> const& b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  return interval_of(differences);
}

}  // namespace retrieval
