// What a layer makes of the score of a query and a key at a distance, as a sparse matrix.
#pragma once

#include <algorithm>
#include <array>
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
#include "posenc/model/layer_description.hpp"
#include "posenc/rows/phase.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Two dims that rotate together.
struct rotated_dims {
  std::size_t x, y;
  double inv_freq, rest;
  double gain;  ///< on scores: the square of the attention factor
};

/// S(distance) of a layer: softmax_factor times a rotation of pairs of dims, 1 elsewhere.
class score_matrix {
 public:
  score_matrix(layer_description const& layer, std::size_t length)
      : dims_(layer.head_dim), factor_(layer.softmax_factor), is_rotated_(layer.head_dim) {
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
        pairs_.push_back({x, y, f.inv_freq()[i], f.rest()[i], gain});
        is_rotated_[x] = is_rotated_[y] = true;
      }
    }
  }

  std::vector<rotated_dims> const& pairs() const noexcept { return pairs_; }
  std::size_t dims() const noexcept { return dims_; }
  double factor() const noexcept { return factor_; }
  bool has_dims_apart() const { return std::ranges::count(is_rotated_, false) > 0; }

  /// The largest score of unit vectors, and the root mean square of Gaussian ones.
  double largest() const {
    double gain = has_dims_apart() ? 1 : 0;
    for (auto const& p : pairs_) gain = std::max(gain, p.gain);
    return std::abs(factor_) * gain;
  }
  double norm() const {
    auto sum = static_cast<double>(std::ranges::count(is_rotated_, false));
    for (auto const& p : pairs_) sum += 2 * p.gain * p.gain;
    return std::abs(factor_) * std::sqrt(sum);
  }

  /// The entries of a row of the matrix, by column.
  struct entry {
    std::size_t column;
    double value;
  };
  std::vector<std::array<entry, 2>> rows_at(std::int64_t distance) const {
    std::vector<std::array<entry, 2>> rows;
    for (std::size_t i = 0; i < dims_; ++i)
      rows.push_back({entry{i, is_rotated_[i] ? 0 : factor_}, entry{i, 0}});
    for (auto const& p : pairs_) {
      auto const [cos, sin] = cos_sin(phase_step(p.inv_freq, p.rest).at(distance));
      auto const times = factor_ * p.gain;
      rows[p.x] = {entry{p.x, times * cos}, entry{p.y, -times * sin}};
      rows[p.y] = {entry{p.y, times * cos}, entry{p.x, times * sin}};
    }
    return rows;
  }

 private:
  std::size_t dims_;
  double factor_;
  std::vector<bool> is_rotated_;
  std::vector<rotated_dims> pairs_;
};

/// S_a - S_b of two layers of the same head_dim.
class matrix_difference {
 public:
  matrix_difference(score_matrix const& a, score_matrix const& b)
      : a_(a),
        b_(b),
        largest_(std::max(a.largest(), b.largest())),
        norm_(std::max(a.norm(), b.norm())) {
    auto const same = [](rotated_dims const& p, rotated_dims const& q) {
      return p.x == q.x && p.y == q.y;
    };
    same_dims_ = std::ranges::equal(a.pairs(), b.pairs(), same);
    bool const same_gain =
        std::ranges::equal(a.pairs(), b.pairs(), {}, &rotated_dims::gain, &rotated_dims::gain);
    only_frequencies_ = same_dims_ && same_gain && a.factor() == b.factor();
  }

  /// Whether both matrices are equal at every distance.
  bool is_zero() const {
    auto const same = [](rotated_dims const& p, rotated_dims const& q) {
      return p.inv_freq == q.inv_freq && p.rest == q.rest;
    };
    return only_frequencies_ && std::ranges::equal(a_.pairs(), b_.pairs(), same);
  }

  score_difference at(std::int64_t distance) const {
    auto const rows = difference_at(distance);
    double squares = 0;
    for (auto const& one : rows) {
      for (auto const& e : one) squares += e.value * e.value;
    }
    return {distance, angle_at(distance), worst_of(rows) / largest_, std::sqrt(squares) / norm_};
  }

  double worst_at(std::int64_t distance) const {
    return worst_of(difference_at(distance)) / largest_;
  }

  /// The first distance in [0, end) at which the worst score is above the threshold.
  std::optional<std::int64_t> first_above(double threshold, std::int64_t end) const {
    if (only_frequencies_) return first_by_angle(threshold, end);
    for (std::int64_t r = 0; r < end; r += r < 4096 ? 1 : r / 128) {
      if (is_above(threshold, r)) return r;
    }
    return {};
  }

 private:
  using row = std::vector<score_matrix::entry>;

  std::vector<row> difference_at(std::int64_t distance) const {
    auto const a = a_.rows_at(distance), b = b_.rows_at(distance);
    std::vector<row> rows(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      auto const add = [&](score_matrix::entry const& e, double sign) {
        auto const found = std::ranges::find(rows[i], e.column, &score_matrix::entry::column);
        if (found == rows[i].end()) {
          rows[i].push_back({e.column, sign * e.value});
        } else {
          found->value += sign * e.value;
        }
      };
      for (auto const& e : a[i]) add(e, 1);
      for (auto const& e : b[i]) add(e, -1);
    }
    return rows;
  }

  /// The largest singular value. With the same pairs, all 2 x 2 blocks are rotations times a
  /// number, and rows have that length; else by the power method, 0.2 % too small at most.
  double worst_of(std::vector<row> const& rows) const {
    double longest = 0;
    for (auto const& one : rows) {
      double squares = 0;
      for (auto const& e : one) squares += e.value * e.value;
      longest = std::max(longest, std::sqrt(squares));
    }
    if (same_dims_ || longest == 0) return longest;
    std::vector<double> v(rows.size()), image(rows.size());
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1 + 0.1 * std::sin(static_cast<double>(i));
    double norm = 0;
    for (int step = 0; step < 1000; ++step) {
      double squares = 0;
      for (auto const x : v) squares += x * x;
      if (squares == 0) return longest;
      for (auto& x : v) x /= std::sqrt(squares);
      norm = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        image[i] = 0;
        for (auto const& e : rows[i]) image[i] += e.value * v[e.column];
        norm += image[i] * image[i];
      }
      std::ranges::fill(v, 0);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        for (auto const& e : rows[i]) v[e.column] += e.value * image[i];
      }
    }
    return std::max(longest, std::sqrt(norm));
  }

  /// worst_at(distance) > threshold, where it can be said without the power method: the largest
  /// singular value is at least the length of a row and at most the norm.
  bool is_above(double threshold, std::int64_t distance) const {
    auto const rows = difference_at(distance);
    double norm = 0;
    for (auto const& one : rows) {
      double squares = 0;
      for (auto const& e : one) squares += e.value * e.value;
      if (std::sqrt(squares) > threshold * largest_) return true;
      norm += squares;
    }
    return std::sqrt(norm) > threshold * largest_ && worst_of(rows) > threshold * largest_;
  }

  std::optional<double> angle_at(std::int64_t distance) const {
    if (!same_dims_) return {};
    double largest = 0;
    for (std::size_t i = 0; i < a_.pairs().size(); ++i)
      largest = std::max(largest, std::abs(difference_of(i)));
    return largest * static_cast<double>(distance);
  }

  double difference_of(std::size_t i) const {
    auto const &p = a_.pairs()[i], &q = b_.pairs()[i];
    return stored(p.inv_freq - q.inv_freq) + (p.rest - q.rest);
  }

  std::optional<std::int64_t> first_by_angle(double threshold, std::int64_t end) const {
    auto first = end;
    for (std::size_t i = 0; i < a_.pairs().size(); ++i) {
      auto const step = std::abs(std::remainder(difference_of(i), 2 * std::numbers::pi));
      auto const sine = threshold * largest_ / (2 * std::abs(a_.factor()) * a_.pairs()[i].gain);
      if (step == 0 || sine >= 1) continue;
      auto const distance = 2 * std::asin(sine) / step;
      if (distance < static_cast<double>(end))
        first = std::min(first, static_cast<std::int64_t>(distance));
    }
    // The quotient may be rounded to either side of a whole number.
    while (first < end && worst_at(first) <= threshold) ++first;
    return first < end ? std::optional(first) : std::nullopt;
  }

  score_matrix const &a_, &b_;
  double largest_, norm_;
  bool same_dims_ = false, only_frequencies_ = false;
};

}  // namespace posenc::detail
