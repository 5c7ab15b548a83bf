// CoPE: a key's position is how many of the keys from it to the query count, and which ones count is up to the query.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "posenc/core/sites.hpp"
#include "posenc/score/add_bias.hpp"

namespace posenc {

/// Contextual position encoding: [Golovneva 2024, 4; github.com/facebookresearch/RAM, projects/cope]
///
///     g_tu = sigmoid(score(t, u))                                     a gate, of every key that is not after the query
///     p_ts = min(g_ts + ... + g_tt, positions - 1)                    over the keys from s to t
///     score(t, s) += scale <q_t, e[p_ts]>                             e between whole positions by linear interpolation
///
/// The gate is made of the scaled score, <q, k> / sqrt(head_dim), in the paper's listing and in its code alike. They differ in what is
/// added: the listing adds <q, e> as it is (--cope-nodiv of the code), so scale = 1; the code divides it too unless told not to, so
/// scale = 1 / sqrt(head_dim). q is unscaled in both.
/// Positions count along the row: keys in whatever order, keys of one position counting for each other. Gaps between positions count 0.
/// Causal: scores of keys after the query, which the mask takes, are left alone. Scores that are not finite, as of a mask that is there
/// already, count 0 and stay what they are.
/// Throws std::invalid_argument unless head_dim is positive, the embeddings are a whole number of vectors, one or more, and finite, and
/// scale is finite.
class cope {
 public:
  /// embeddings: e, [positions][head_dim], shared by the heads of a layer; the code stores the transpose, [head_dim][positions].
  cope(std::span<float const> embeddings, std::size_t head_dim, double scale = 1)
      : embeddings_(embeddings.begin(), embeddings.end()), head_dim_(head_dim), scale_(scale) {
    detail::require(head_dim > 0, "cope: head_dim must be positive, got 0");
    detail::require(!embeddings.empty() && embeddings.size() % head_dim == 0, "cope: the embeddings must be vectors of ", head_dim,
                    " numbers, got ", embeddings.size(), " numbers");
    for (std::size_t i = 0; i < embeddings.size(); ++i) {
      detail::require(is_finite(static_cast<double>(embeddings[i])), "cope: embeddings must be finite, got ", embeddings[i],
                      " at position ", i / head_dim);
    }
    detail::require(is_finite(scale), "cope: scale must be finite, got ", scale);
  }

  std::size_t head_dim() const noexcept { return head_dim_; }
  std::size_t positions() const noexcept { return embeddings_.size() / head_dim_; }

  /// Site 3, with the row's query. Allocates if positions do not ascend. Throws std::invalid_argument, before anything is changed, unless
  /// the query has head_dim() numbers and each key a position.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    detail::require(row.query.size() == head_dim_, "cope: the query must have ", head_dim_, " numbers, got ", row.query.size());
    detail::require_keys("cope", row);
    auto const at = row.key_positions;
    std::vector<std::size_t> order;
    if (!std::is_sorted(at.begin(), at.end())) {
      order.resize(at.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return at[a] < at[b]; });
    }
    auto const key = [&](std::size_t i) { return order.empty() ? i : order[i]; };
    auto end = at.size();
    while (end > 0 && at[key(end - 1)] > row.query_position) --end;
    along<T> query{*this, row.query};
    double position = 0;
    while (end > 0) {
      auto const here = at[key(end - 1)];
      auto first = end;
      while (first > 0 && at[key(first - 1)] == here) position += gate(static_cast<double>(row.scores[key(--first)]));
      auto const bias = scale_ * query(position);
      for (auto i = first; i < end; ++i) row.scores[key(i)] = static_cast<T>(static_cast<double>(row.scores[key(i)]) + bias);
      end = first;
    }
  }

 private:
  // Of a magnitude's exponential, which cannot overflow.
  static double gate(double score) noexcept {
    if (!is_finite(score)) return 0;
    auto const e = std::exp(-std::abs(score));
    return (score < 0 ? e : 1) / (1 + e);
  }

  // <q, e[p]> of a p that only grows, so that each product is made once.
  template <class T>
  struct along {
    double operator()(double position) {
      auto const last = static_cast<double>(of.positions() - 1);
      auto const p = std::min(position, last), whole = std::floor(p);
      if (whole != floor) {
        at_floor = whole == floor + 1 ? at_ceil : product(static_cast<std::size_t>(whole));
        at_ceil = whole < last ? product(static_cast<std::size_t>(whole) + 1) : at_floor;
        floor = whole;
      }
      return at_floor + (p - floor) * (at_ceil - at_floor);
    }

    double product(std::size_t position) const noexcept {
      double sum = 0;
      for (std::size_t i = 0; i < query.size(); ++i) {
        sum += static_cast<double>(query[i]) * static_cast<double>(of.embeddings_[position * of.head_dim_ + i]);
      }
      return sum;
    }

    cope const& of;
    std::span<T const> query;
    double floor = -2, at_floor = 0, at_ceil = 0;  // of no position yet, nor next to one
  };

  std::vector<float> embeddings_;
  std::size_t head_dim_;
  double scale_;
};

static_assert(acts_on_scores<cope>);

}  // namespace posenc
