// What a layer makes of the score of a query and a key at a distance, as a sparse matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "posenc/model/rotate.hpp"
#include "posenc/rows/phase.hpp"

namespace comparing {

/// How much scores differ at a distance from query to key.
struct score_difference {
  std::int64_t distance;  ///< query position - key position
  /// The largest |f_a - f_b| * distance of a pair, in radians, not reduced; nothing where the pairs
  /// are of other dims.
  std::optional<double> angle;
  /// The largest |q^T (S_a - S_b) k| of unit q and k, S the factor on scores and the rotation by
  /// this distance, over the largest |q^T S k| of either. By Cauchy and Schwarz max_i 2
  /// |sin(delta_i distance / 2)| where only the frequencies differ, by delta_i.
  double worst;
  /// Root mean square of q^T (S_a - S_b) k for q, k ~ N(0, I), the norm of S_a - S_b, over that of
  /// q^T S k: what a typical score is off by, where `worst` is what one could be made to be.
  double gaussian;
};

/// Entries by row and column.
using sparse_matrix = std::map<std::pair<std::size_t, std::size_t>, double>;

inline double length_of(std::vector<double> const& v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}
/// The length of each of n rows.
inline std::vector<double> lengths_of_rows(sparse_matrix const& m, std::size_t n) {
  std::vector<double> rows(n);
  for (auto const& [at, x] : m) rows[at.first] = std::hypot(rows[at.first], x);
  return rows;
}
/// By the power method, 0.2 % too small at most.
inline double largest_singular_value(sparse_matrix const& m, std::size_t n) {
  std::vector<double> v(n), image(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 1 + 0.1 * std::sin(static_cast<double>(i));
  for (int step = 0; step < 1000; ++step) {
    auto const length = length_of(v);
    if (length == 0) break;
    std::ranges::fill(image, 0);
    for (auto const& [at, x] : m) image[at.first] += x * v[at.second] / length;
    std::ranges::fill(v, 0);
    for (auto const& [at, x] : m) v[at.second] += x * image[at.first];
  }
  return std::max(std::ranges::max(lengths_of_rows(m, n)), length_of(image));
}

/// Two dims that rotate together.
struct rotated_dims {
  std::size_t x, y;
  double inv_freq, rest;
  double gain;  ///< on scores: the square of the attention factor
  bool operator==(rotated_dims const&) const = default;
};

/// S(distance) of a layer: softmax_factor times a rotation of pairs of dims, 1 elsewhere.
struct score_matrix {
  double factor;
  std::vector<std::size_t> apart;  ///< dims that are not rotated
  std::vector<rotated_dims> pairs;

  score_matrix(posenc::layer_description const& layer, std::size_t length)
      : factor(layer.softmax_factor) {
    std::vector<bool> is_rotated(layer.head_dim);
    for (auto const& rotary : layer.rotary) {
      auto const f = rotary.frequencies.at(length);
      for (std::size_t i = 0; i < f.pairs(); ++i) {
        auto const [x, y] = posenc::dims_of_pair(rotary, layer.head_dim, i);
        pairs.push_back({x, y, f.inv_freq()[i], f.rest()[i], std::pow(f.attention_factor(), 2)});
        is_rotated[x] = is_rotated[y] = true;
      }
    }
    for (std::size_t i = 0; i < layer.head_dim; ++i)
      if (!is_rotated[i]) apart.push_back(i);
  }

  std::size_t dims() const noexcept { return apart.size() + 2 * pairs.size(); }
  /// The largest score of unit vectors, and the root mean square of Gaussian ones.
  double largest() const {
    double gain = apart.empty() ? 0 : 1;
    for (auto const& p : pairs) gain = std::max(gain, p.gain);
    return std::abs(factor) * gain;
  }
  double norm() const {
    auto sum = static_cast<double>(apart.size());
    for (auto const& p : pairs) sum += 2 * p.gain * p.gain;
    return std::abs(factor) * std::sqrt(sum);
  }
  /// Adds `times` S(distance).
  void add_to(sparse_matrix& sum, std::int64_t distance, double times) const {
    for (auto const i : apart) sum[{i, i}] += times * factor;
    for (auto const& p : pairs) {
      auto const [cos, sin] = posenc::cos_sin(posenc::phase_step(p.inv_freq, p.rest).at(distance));
      auto const gain = times * factor * p.gain;
      sum[{p.x, p.x}] += gain * cos, sum[{p.x, p.y}] -= gain * sin;
      sum[{p.y, p.y}] += gain * cos, sum[{p.y, p.x}] += gain * sin;
    }
  }

  bool operator==(score_matrix const&) const = default;
};

/// S_a - S_b of two layers of the same head_dim.
inline score_difference difference_at(std::int64_t distance, score_matrix const& a,
                                      score_matrix const& b) {
  sparse_matrix difference;
  a.add_to(difference, distance, 1), b.add_to(difference, distance, -1);
  auto const rows = lengths_of_rows(difference, a.dims());
  auto const gaussian = length_of(rows) / std::max(a.norm(), b.norm());
  auto const largest = std::max(a.largest(), b.largest());
  if (!std::ranges::equal(a.pairs, b.pairs,
                          [](auto const& p, auto const& q) { return p.x == q.x && p.y == q.y; }))
    return {distance, {}, largest_singular_value(difference, a.dims()) / largest, gaussian};
  double angle = 0;
  for (std::size_t i = 0; i < a.pairs.size(); ++i) {
    auto const &p = a.pairs[i], &q = b.pairs[i];
    auto const off = (p.inv_freq - q.inv_freq) + (p.rest - q.rest);
    angle = std::max(angle, std::abs(off) * static_cast<double>(distance));
  }
  // All 2 x 2 blocks are rotations times a number: rows have their length.
  return {distance, angle, std::ranges::max(rows) / largest, gaussian};
}

}  // namespace comparing
