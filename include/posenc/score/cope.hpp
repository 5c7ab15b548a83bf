// CoPE: the position of a key is a count of the keys between it and the query; the query gates
// which keys count.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "posenc/core/adjust_scores.hpp"
#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/for_doubles.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/multiply_add.hpp"
#include "posenc/simd/sigmoids.hpp"

namespace posenc::inline POSENC_TARGET {

/// Contextual position encoding: [Golovneva 2024, 4; github.com/facebookresearch/RAM,
/// projects/cope]
///
///     g_tu = sigmoid(score(t, u))                     a gate per key that is not after the query
///     p_ts = min(g_ts + ... + g_tt, positions - 1)    over the keys from s to t
///     score(t, s) += scale <q_t, e[p_ts]>             e is interpolated between whole positions
///
/// The gate is made of the scaled score, <q, k> / sqrt(head_dim), in the paper's listing and in its
/// code alike. They differ in what is added: the listing adds <q, e> as it is (--cope-nodiv of the
/// code), so scale = 1; the code divides it too unless told not to, so scale = 1 / sqrt(head_dim).
/// q is unscaled in both. Positions count along the row: keys in whatever order, keys of one
/// position counting for each other. Gaps between positions count 0. Causal: scores of keys after
/// the query, which the mask takes, are left alone. Scores that are not finite, as of a mask that
/// is there already, count 0 and stay what they are. Throws std::invalid_argument unless head_dim
/// is positive, the embeddings are a whole number of vectors, one or more, and finite, and scale is
/// finite.
class cope {
 public:
  /// embeddings: e, [positions][head_dim], shared by the heads of a layer; the code stores the
  /// transpose, [head_dim][positions].
  cope(std::span<float const> embeddings, std::size_t head_dim, double scale = 1)
      : embeddings_(embeddings.begin(), embeddings.end()), head_dim_(head_dim), scale_(scale) {
    detail::require(head_dim > 0, "cope: head_dim must be positive, got 0");
    detail::require(!embeddings.empty() && embeddings.size() % head_dim == 0,
                    "cope: the embeddings must be vectors of ", head_dim, " numbers, got ",
                    embeddings.size(), " numbers");
    for (std::size_t i = 0; i < embeddings.size(); ++i) {
      detail::require(is_finite(static_cast<double>(embeddings[i])),
                      "cope: embeddings must be finite, got ", embeddings[i], " at position ",
                      i / head_dim);
    }
    detail::require(is_finite(scale), "cope: scale must be finite, got ", scale);
  }

  std::size_t head_dim() const noexcept { return head_dim_; }  ///< of the embeddings
  /// How many positions have an embedding.
  std::size_t positions() const noexcept { return embeddings_.size() / head_dim_; }

  /// Site 3, with the row's query. Fastest where positions ascend. Allocates. Throws
  /// std::invalid_argument, before anything is changed, unless the query has head_dim() numbers and
  /// each key a position.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    require_row(row);
    along query{*this, detail::doubles_of(row.query)};
    auto const add = [&](std::size_t s, double bias) {
      row.scores[s] = static_cast<T>(static_cast<double>(row.scores[s]) + bias);
    };
    if (std::ranges::adjacent_find(row.key_positions, std::greater_equal()) !=
        row.key_positions.end()) {  // they do not rise
      for_positions(row, [&](double position, auto const& each_key) {
        auto const bias = scale_ * query(position);
        each_key([&](std::size_t s) { add(s, bias); });
      });
      return;
    }
    detail::sigmoids<T> gate(row.scores);
    auto const last = static_cast<double>(positions() - 1);
    auto s =
        static_cast<std::size_t>(std::ranges::upper_bound(row.key_positions, row.query_position) -
                                 row.key_positions.begin());
    std::vector<double> products;  // <q, e[p]>, as far as positions have come
    for (double position = 0; s > 0; --s) {
      position += gate(s - 1);
      if (position >= last) break;
      auto const floor = static_cast<std::size_t>(position);
      while (products.size() < floor + 2) query.append_to(products);
      add(s - 1, scale_ * between(products[floor], products[floor + 1],
                                  position - static_cast<double>(floor)));
    }
    if (s == 0) return;  // else all farther keys are at the last position
    typename detail::lanes<double>::number const bias(scale_ *
                                                      query.product<1>(positions() - 1)[0]);
    detail::change_doubles(row.scores.first(s),
                           [&](auto const& x, std::size_t) { return x + bias; });
  }

  /// Gradients of scores to those of the scores before, which made the gates too, and of the query;
  /// embeddings get none. Between two whole positions the slope is that of the line, on one that of
  /// the line above it, and beyond the last 0. Allocates. Throws std::invalid_argument, before
  /// anything is changed, as adjust_scores does and unless there is a gradient for each score and
  /// each number of the query.
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T> d_query) const {
    require_row(before);
    detail::require(d_scores.size() == before.scores.size() && d_query.size() == head_dim_,
                    "cope: there must be one gradient for each of ", before.scores.size(),
                    " scores and ", head_dim_, " numbers of the query, got ", d_scores.size(),
                    " and ", d_query.size());
    along query{*this, detail::doubles_of(before.query)};
    std::vector<double> d_positions,
        d_products(
            positions());  // of the position of each group of keys, nearest first; of <q, e[p]>
    for_positions(before, [&](double position, auto const& each_key) {
      double d_bias = 0;
      each_key([&](std::size_t s) { d_bias += static_cast<double>(d_scores[s]); });
      d_positions.push_back(0);
      if (d_bias == 0) return;
      query(position);
      d_positions.back() = scale_ * d_bias * (query.at_ceil - query.at_floor);
      auto const floor = static_cast<std::size_t>(query.floor);
      d_products[floor] += scale_ * d_bias * (1 - query.above);
      if (query.above > 0) d_products[floor + 1] += scale_ * d_bias * query.above;
    });
    // A gate counts for the keys of its own position and for all farther ones.
    std::partial_sum(d_positions.rbegin(), d_positions.rend(), d_positions.rbegin());
    auto d_gate = d_positions.begin();
    for_positions(before, [&](double, auto const& each_key) {
      each_key([&](std::size_t s) {
        auto const score = static_cast<double>(before.scores[s]);
        if (is_finite(score))
          d_scores[s] =
              static_cast<T>(static_cast<double>(d_scores[s]) + *d_gate * gate_slope(score));
      });
      ++d_gate;
    });
    for (std::size_t i = 0; i < head_dim_; ++i) {
      double sum = 0;
      for (std::size_t p = 0; p < positions(); ++p)
        sum += d_products[p] * static_cast<double>(embeddings_[p * head_dim_ + i]);
      d_query[i] = static_cast<T>(static_cast<double>(d_query[i]) + sum);
    }
  }

 private:
  template <class T>
  void require_row(score_row<T> const& row) const {
    detail::require(row.query.size() == head_dim_, "cope: the query must have ", head_dim_,
                    " numbers, got ", row.query.size());
    detail::require_keys("cope", row);
  }

  // Calls group(p, each_key) for keys that are not after the query, the nearest first, those of one
  // position together; p counts them.
  template <class T>
  static void for_positions(score_row<T> const& row, auto const& group) {
    auto const at = row.key_positions;
    std::vector<std::size_t> order;
    if (!std::is_sorted(at.begin(), at.end())) {
      order.resize(at.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return at[a] < at[b]; });
    }
    auto const key = [&](std::size_t i) { return order.empty() ? i : order[i]; };
    auto end = at.size();
    while (end > 0 && at[key(end - 1)] > row.query_position) --end;
    detail::sigmoids<T> gate(row.scores);
    double position = 0;
    while (end > 0) {
      auto const here = at[key(end - 1)];
      auto first = end;
      while (first > 0 && at[key(first - 1)] == here) position += gate(key(--first));
      group(position, [&](auto const& what) {
        for (auto i = first; i < end; ++i) what(key(i));
      });
      end = first;
    }
  }

  static double gate_slope(double score) noexcept {
    auto const e = std::exp(-std::abs(score));
    return e / ((1 + e) * (1 + e));
  }

  static double between(double at_floor, double at_ceil, double above) noexcept {
    return detail::multiply_add(above, at_ceil - at_floor, at_floor);
  }

  // <q, e[p]> of a p that only grows, so that each product is made once.
  struct along {
    double operator()(double position) {
      auto const last = static_cast<double>(of.positions() - 1);
      auto const p = std::min(position, last), whole = std::floor(p);
      if (whole != floor) {
        at_floor = whole == floor + 1 ? at_ceil : product<1>(static_cast<std::size_t>(whole))[0];
        at_ceil = whole < last ? product<1>(static_cast<std::size_t>(whole) + 1)[0] : at_floor;
        floor = whole;
      }
      above = p - floor;
      return between(at_floor, at_ceil, above);
    }

    // Of neighbouring positions, each summed alike however many there are.
    template <std::size_t Count>
    std::array<double, Count> product(std::size_t position) const noexcept {
      using registers = detail::lanes<double>;
      using number = typename registers::number;
      number sums[Count];
      std::fill_n(sums, Count, number(0.0));
      auto const* const q = query.data();
      auto const* const e = &of.embeddings_[position * of.head_dim_];
      for (std::size_t i = 0, dim = of.head_dim_; i < dim; i += registers::size) {
        auto const x = registers::load(q + i);
        for (std::size_t n = 0; n < Count; ++n)
          sums[n] = registers::multiply_add(x, detail::doubles_of(std::span(e + n * dim, dim), i),
                                            sums[n]);
      }
      std::array<double, Count> result;
      std::transform(sums, sums + Count, result.begin(), registers::sum);
      return result;
    }

    void append_to(std::vector<double>& products) const {
      auto const next = products.size();
      if (of.positions() - next < 4) return products.push_back(product<1>(next)[0]);
      for (auto const each : product<4>(next)) products.push_back(each);
    }

    cope const& of;
    std::vector<double> query;
    double floor = -2, above = 0, at_floor = 0,
           at_ceil = 0;  // no position yet; -2 is not adjacent to 0
  };

  std::vector<float> embeddings_;
  std::size_t head_dim_;
  double scale_;
};

static_assert(acts_on_scores<cope> && pulls_back_scores<cope>);

}  // namespace posenc
