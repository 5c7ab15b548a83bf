// What a layer makes of the score of a query and a key at a distance, as a sparse matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/analysis/comparison.hpp"
#include "posenc/core/fast_math.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/model/model_description.hpp"
#include "posenc/rows/phase.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The entries of each row, by column.
struct sparse_matrix {
  struct entry {
    std::size_t column;
    double value;
  };
  std::vector<std::vector<entry>> rows;

  void add(std::size_t row, std::size_t column, double value) {
    auto const found = std::ranges::find(rows[row], column, &entry::column);
    if (found != rows[row].end()) {
      found->value += value;
    } else {
      rows[row].push_back({column, value});
    }
  }
  /// The length of a row.
  double length(std::size_t row) const {
    double squares = 0;
    for (auto const& e : rows[row]) squares += e.value * e.value;
    return std::sqrt(squares);
  }
  double longest() const {
    double result = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) result = std::max(result, length(i));
    return result;
  }
  double norm() const {
    double squares = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) squares += length(i) * length(i);
    return std::sqrt(squares);
  }
  /// By the power method, 0.2 % too small at most.
  double largest_singular_value() const {
    std::vector<double> v(rows.size()), image(rows.size());
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1 + 0.1 * std::sin(static_cast<double>(i));
    double squares = 0;
    for (int step = 0; step < 1000; ++step) {
      double sum = 0;
      for (auto const x : v) sum += x * x;
      if (sum == 0) return longest();
      for (auto& x : v) x /= std::sqrt(sum);
      squares = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        image[i] = 0;
        for (auto const& e : rows[i]) image[i] += e.value * v[e.column];
        squares += image[i] * image[i];
      }
      std::ranges::fill(v, 0);
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (auto const& e : rows[i]) v[e.column] += e.value * image[i];
    }
    return std::max(longest(), std::sqrt(squares));
  }
};

/// Two dims that rotate together.
struct rotated_dims {
  std::size_t x, y;
  double inv_freq, rest;
  double gain;  ///< on scores: the square of the attention factor
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
    for (auto const i : apart) sum.add(i, i, times * factor);
    for (auto const& p : pairs) {
      auto const [cos, sin] = cos_sin(phase_step(p.inv_freq, p.rest).at(distance));
      auto const gain = times * factor * p.gain;
      sum.add(p.x, p.x, gain * cos), sum.add(p.x, p.y, -gain * sin);
      sum.add(p.y, p.y, gain * cos), sum.add(p.y, p.x, gain * sin);
    }
  }
};

/// S_a - S_b of two layers of the same head_dim.
class matrix_difference {
 public:
  matrix_difference(score_matrix const& a, score_matrix const& b)
      : a_(a), b_(b), largest_(std::max(a.largest(), b.largest())) {
    same_dims_ = std::ranges::equal(
        a.pairs, b.pairs, [](auto const& p, auto const& q) { return p.x == q.x && p.y == q.y; });
    only_frequencies_ =
        same_dims_ && a.factor == b.factor &&
        std::ranges::equal(a.pairs, b.pairs, {}, &rotated_dims::gain, &rotated_dims::gain);
  }

  /// Whether both matrices are equal at every distance.
  bool is_zero() const {
    return only_frequencies_ &&
           std::ranges::equal(a_.pairs, b_.pairs, [](auto const& p, auto const& q) {
             return p.inv_freq == q.inv_freq && p.rest == q.rest;
           });
  }

  score_difference at(std::int64_t distance) const {
    auto const s = matrix(distance);
    std::optional<double> angle;
    for (std::size_t i = 0; same_dims_ && i < a_.pairs.size(); ++i)
      angle = std::max(angle.value_or(0), std::abs(off(i)) * static_cast<double>(distance));
    if (same_dims_ && !angle) angle = 0;
    return {distance, angle, worst(s), s.norm() / std::max(a_.norm(), b_.norm())};
  }

  /// The first distance in [0, end) at which the worst score is above the threshold.
  std::optional<std::int64_t> first_above(double threshold, std::int64_t end) const {
    // A singular value is at least the length of a row, and at most the norm.
    auto const is_above = [&](std::int64_t distance) {
      auto const s = matrix(distance);
      return s.longest() > threshold * largest_ ||
             (s.norm() > threshold * largest_ && worst(s) > threshold);
    };
    auto first = only_frequencies_ ? before_first(threshold, end) : 0;
    for (; first < end; first += first < 4096 || only_frequencies_ ? 1 : first / 128)
      if (is_above(first)) return first;
    return {};
  }

 private:
  sparse_matrix matrix(std::int64_t distance) const {
    sparse_matrix result{std::vector<std::vector<sparse_matrix::entry>>(a_.dims())};
    a_.add_to(result, distance, 1), b_.add_to(result, distance, -1);
    return result;
  }
  /// With the same pairs, all 2 x 2 blocks are rotations times a number: rows have their length.
  double worst(sparse_matrix const& s) const {
    return (same_dims_ ? s.longest() : s.largest_singular_value()) / largest_;
  }

  /// The difference of a pair's frequencies.
  double off(std::size_t i) const {
    auto const &p = a_.pairs[i], &q = b_.pairs[i];
    return stored(p.inv_freq - q.inv_freq) + (p.rest - q.rest);
  }

  /// The first distance by the arcs of pairs, or one before it: a quotient may be rounded.
  std::int64_t before_first(double threshold, std::int64_t end) const {
    auto first = end;
    for (std::size_t i = 0; i < a_.pairs.size(); ++i) {
      auto const step = std::abs(std::remainder(off(i), 2 * std::numbers::pi));
      auto const sine = threshold * largest_ / (2 * std::abs(a_.factor) * a_.pairs[i].gain);
      if (step == 0 || sine >= 1) continue;
      auto const distance = 2 * std::asin(sine) / step;
      if (distance < static_cast<double>(end))
        first = std::min(first, static_cast<std::int64_t>(distance));
    }
    return first;
  }

  score_matrix const &a_, &b_;
  double largest_;
  bool same_dims_ = false, only_frequencies_ = false;
};

}  // namespace posenc::detail
