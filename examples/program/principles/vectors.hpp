// Random words, and what is measured of vectors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "posenc/analysis/running_moments.hpp"
#include "reporting/chart.hpp"
#include "reporting/scale.hpp"

namespace principles {

using doubles = std::vector<double>;
using charts::compact;
using posenc::running_moments;

inline constexpr std::size_t dim = 64;  // of the words here

/// `count` words after one another, normally distributed.
inline doubles words(std::size_t count, std::uint64_t seed, std::size_t of_dim = dim) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  doubles result(count * of_dim);
  std::ranges::generate(result, [&] { return normal(bits); });
  return result;
}

inline double dot(doubles const& a, doubles const& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
inline double cosine(doubles const& a, doubles const& b) {
  return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}
inline doubles sum(doubles a, doubles const& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
inline double largest_difference(doubles const& a, doubles const& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// of(x) at x = first, first + 1, ... last.
inline charts::series curve(std::string name, int first, int last, auto const& of) {
  return charts::curve(std::move(name), charts::steps(first, last),
                       [&](double x) { return of(static_cast<int>(x)); });
}

/// The same of moments: their means, and a band from the lowest to the highest.
inline charts::series band(std::string name, int first, int last, auto const& of) {
  charts::series s{.name = std::move(name)};
  for (int x = first; x <= last; ++x) {
    running_moments const m = of(x);
    s.x.push_back(x), s.y.push_back(m.mean()), s.low.push_back(m.low()), s.high.push_back(m.high());
  }
  return s;
}

inline std::string extent(running_moments const& m) {
  return compact(m.low()) + " to " + compact(m.high());
}

}  // namespace principles
