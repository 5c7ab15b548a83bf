// What a layer makes of the score of a query and a key at a distance, as a sparse matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/analysis/comparison.hpp"
#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/model/model_description.hpp"
#include "posenc/rows/phase.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The entries of each row, by column.
struct sparse_matrix : std::vector<std::map<std::size_t, double>> {
  using vector::vector;

  /// The largest length of a row.
  double longest() const {
    double most = 0;
    for (auto const& row : *this) most = std::max(most, squares(row));
    return std::sqrt(most);
  }
  double norm() const {
    double sum = 0;
    for (auto const& row : *this) sum += squares(row);
    return std::sqrt(sum);
  }
  /// By the power method, 0.2 % too small at most.
  double largest_singular_value() const {
    std::vector<double> v(size()), image(size());
    for (std::size_t i = 0; i < size(); ++i) v[i] = 1 + 0.1 * std::sin(static_cast<double>(i));
    double of_image = 0;
    for (int step = 0; step < 1000; ++step) {
      double sum = 0;
      for (auto const x : v) sum += x * x;
      if (sum == 0) return longest();
      for (auto& x : v) x /= std::sqrt(sum);
      of_image = 0;
      for (std::size_t i = 0; i < size(); ++i) {
        image[i] = 0;
        for (auto const& [column, value] : (*this)[i]) image[i] += value * v[column];
        of_image += image[i] * image[i];
      }
      std::ranges::fill(v, 0);
      for (std::size_t i = 0; i < size(); ++i)
        for (auto const& [column, value] : (*this)[i]) v[column] += value * image[i];
    }
    return std::max(longest(), std::sqrt(of_image));
  }

 private:
  static double squares(std::map<std::size_t, double> const& row) {
    double sum = 0;
    for (auto const& [column, value] : row) sum += value * value;
    return sum;
  }
};

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

  score_matrix(layer_description const& layer, std::size_t length) : factor(layer.softmax_factor) {
    std::vector<bool> is_rotated(layer.head_dim);
    for (auto const& rotary : layer.rotary) {
      auto const f = rotary.frequencies.at(length);
      auto const first = rotary.block.first_dim(layer.head_dim, f.rotary_dim());
      auto const gain = f.attention_factor() * f.attention_factor();
      for (std::size_t i = 0; i < f.pairs(); ++i) {
        auto const [x, y] = std::visit(
            [&]<class Layout>(Layout) {
              return std::pair(first + Layout::x_index(i, f.pairs()),
                               first + Layout::y_index(i, f.pairs()));
            },
            rotary.layout);
        pairs.push_back({x, y, f.inv_freq()[i], f.rest()[i], gain});
        if (rotary.opposite) std::swap(pairs.back().x, pairs.back().y);
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
    for (auto const i : apart) sum[i][i] += times * factor;
    for (auto const& p : pairs) {
      auto const [cos, sin] = cos_sin(phase_step(p.inv_freq, p.rest).at(distance));
      auto const gain = times * factor * p.gain;
      sum[p.x][p.x] += gain * cos, sum[p.x][p.y] -= gain * sin;
      sum[p.y][p.y] += gain * cos, sum[p.y][p.x] += gain * sin;
    }
  }

  bool operator==(score_matrix const&) const = default;
};

/// S_a - S_b of two layers of the same head_dim.
inline score_difference difference_at(std::int64_t distance, score_matrix const& a,
                                      score_matrix const& b) {
  sparse_matrix difference(a.dims());
  a.add_to(difference, distance, 1), b.add_to(difference, distance, -1);
  auto const gaussian = difference.norm() / std::max(a.norm(), b.norm());
  auto const largest = std::max(a.largest(), b.largest());
  if (!std::ranges::equal(a.pairs, b.pairs,
                          [](auto const& p, auto const& q) { return p.x == q.x && p.y == q.y; }))
    return {distance, {}, difference.largest_singular_value() / largest, gaussian};
  double angle = 0;
  for (std::size_t i = 0; i < a.pairs.size(); ++i) {
    auto const &p = a.pairs[i], &q = b.pairs[i];
    auto const off = stored(p.inv_freq - q.inv_freq) + (p.rest - q.rest);
    angle = std::max(angle, std::abs(off) * static_cast<double>(distance));
  }
  // All 2 x 2 blocks are rotations times a number: rows have their length.
  return {distance, angle, difference.longest() / largest, gaussian};
}

}  // namespace posenc::detail
