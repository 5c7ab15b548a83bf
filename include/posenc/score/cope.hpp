// CoPE: the position of a key is a count of the keys between it and the query; the query gates
// which keys count.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/simd/multiply_add.hpp"
#include "posenc/simd/sigmoids.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Contextual position encoding: [Golovneva 2024, 4; github.com/facebookresearch/RAM,
/// projects/cope]
///
///     g_tu = sigmoid(score(t, u))                     a gate per key that is not after the query
///     p_ts = min(g_ts + ... + g_tt, positions - 1)    over the keys from s to t
///     score(t, s) += scale <q_t, e[p_ts]>             e is interpolated between whole positions
///
/// The gate is made of the scaled score, <q, k> / sqrt(head_dim). The paper's listing adds <q, e>
/// as it is (--cope-nodiv of the code): scale = 1; its code divides it too: scale = 1 /
/// sqrt(head_dim). q is unscaled in both. Keys stand in any order, keys of one position count for
/// each other, gaps between positions count 0. Causal: scores of keys after the query are left
/// alone. Scores that are not finite, as of a mask that is there already, count 0 and stay what
/// they are. Throws std::invalid_argument unless head_dim is positive, the embeddings are a whole
/// number of vectors, one or more, and finite, and scale is finite.
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
    detail::require_finite("cope: embeddings", embeddings, " at position ", head_dim);
    detail::require(is_finite(scale), "cope: scale must be finite, got ", scale);
  }

  std::size_t head_dim() const noexcept { return head_dim_; }  ///< of the embeddings
  /// How many positions have an embedding.
  std::size_t positions() const noexcept { return embeddings_.size() / head_dim_; }

  /// Site 3, with the row's query. Fastest where positions ascend. Allocates. Throws,
  /// before anything is changed, unless the query has head_dim() numbers and each key a position.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    require_row(row);
    query_products query{*this, detail::doubles_of(row.query)};
    auto const last = positions() - 1;
    for (keys_by_position<T> keys(row); keys.next();) {
      bool const is_last = keys.position >= static_cast<double>(last);  // then of all farther keys
      auto const bias =
          scale_ * (is_last ? query.product<1>(last)[0] : query.between(place_of(keys.position)));
      if (is_last && keys.are_in_order()) {
        typename detail::lanes<double>::number const b(bias);
        return detail::change_doubles(row.scores.first(keys.end),
                                      [&](auto const& x, std::size_t) { return x + b; });
      }
      for (auto i = is_last ? 0 : keys.first; i < keys.end; ++i) {
        auto& score = row.scores[keys[i]];
        score = static_cast<T>(static_cast<double>(score) + bias);
      }
      if (is_last) return;
    }
  }

  /// From gradients of the scores to gradients of the scores before, which made the gates too, and
  /// of the query; embeddings get none. At a whole position the slope is that of the line above it,
  /// beyond the last 0. Allocates. Throws, before anything is changed, as adjust_scores does and
  /// unless there is a gradient for each score and each number of the query.
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T> d_query) const {
    require_row(before);
    detail::require(d_scores.size() == before.scores.size() && d_query.size() == head_dim_,
                    "cope: there must be one gradient for each of ", before.scores.size(),
                    " scores and ", head_dim_, " numbers of the query, got ", d_scores.size(),
                    " and ", d_query.size());
    query_products query{*this, detail::doubles_of(before.query)};
    // Sums for each position, nearest first, and for <q, e[p]>.
    std::vector<double> d_positions, d_products(positions());
    for (keys_by_position<T const> keys(before); keys.next();) {
      double d_bias = 0;
      for (auto i = keys.first; i < keys.end; ++i) d_bias += static_cast<double>(d_scores[keys[i]]);
      d_positions.push_back(0);
      if (d_bias == 0) continue;
      auto const at = place_of(keys.position);
      d_positions.back() = scale_ * d_bias * (query(at.ceil) - query(at.floor));
      d_products[at.floor] += scale_ * d_bias * (1 - at.above);
      d_products[at.ceil] += scale_ * d_bias * at.above;
    }
    // A gate counts for the keys of its position and for all farther ones.
    std::partial_sum(d_positions.rbegin(), d_positions.rend(), d_positions.rbegin());
    auto d_gate = d_positions.begin();
    for (keys_by_position<T const> keys(before); keys.next(); ++d_gate) {
      for (auto i = keys.first; i < keys.end; ++i) {
        auto const score = static_cast<double>(before.scores[keys[i]]);
        auto& d = d_scores[keys[i]];
        if (is_finite(score))
          d = static_cast<T>(static_cast<double>(d) + *d_gate * gate_slope(score));
      }
    }
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

  /// The keys that are not after the query, position by position, the nearest first: [first, end)
  /// in the order of positions.
  template <class T>
  class keys_by_position {
   public:
    explicit keys_by_position(score_row<T> const& row) : at_(row.key_positions), gate_(row.scores) {
      if (!std::is_sorted(at_.begin(), at_.end())) {
        order_.resize(at_.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::stable_sort(order_.begin(), order_.end(),
                         [&](std::size_t a, std::size_t b) { return at_[a] < at_[b]; });
      }
      first = at_.size();
      while (first > 0 && at_[(*this)[first - 1]] > row.query_position) --first;
    }

    bool next() {
      end = first;
      while (first > 0 && at_[(*this)[first - 1]] == at_[(*this)[end - 1]])
        position += gate_((*this)[--first]);
      return first < end;
    }
    bool are_in_order() const noexcept { return order_.empty(); }
    std::size_t operator[](std::size_t i) const noexcept { return are_in_order() ? i : order_[i]; }

    std::size_t first = 0, end = 0;
    double position = 0;  // as counted by the gates of these keys and of all nearer ones

   private:
    positions_view at_;
    detail::sigmoids<T> gate_;
    std::vector<std::size_t> order_;  // empty: as they are
  };

  static double gate_slope(double score) noexcept {
    auto const e = std::exp(-std::abs(score));
    return e / ((1 + e) * (1 + e));
  }

  /// A position by the whole ones around it, of which the last is around all that is beyond it.
  struct place {
    std::size_t floor, ceil;
    double above;  // floor
  };
  place place_of(double position) const noexcept {
    auto const last = positions() - 1;
    auto const p = std::min(position, static_cast<double>(last));
    auto const floor = static_cast<std::size_t>(p);
    return {floor, std::min(floor + 1, last), p - static_cast<double>(floor)};
  }

  /// <q, e[p]>, each made once, in the order of p.
  struct query_products {
    double operator()(std::size_t position) {
      while (products.size() <= position) {
        auto const next = products.size();
        if (of.positions() - next < 4) {
          products.push_back(product<1>(next)[0]);
        } else {
          for (auto const each : product<4>(next)) products.push_back(each);
        }
      }
      return products[position];
    }
    double between(place const& at) {
      auto const at_ceil = (*this)(at.ceil), at_floor = products[at.floor];
      return detail::multiply_add(at.above, at_ceil - at_floor, at_floor);
    }

    // Products of neighbouring positions, each summed alike however many there are.
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

    cope const& of;
    std::vector<double> query, products = {};
  };

  std::vector<float> embeddings_;
  std::size_t head_dim_;
  double scale_;
};

static_assert(acts_on_scores<cope> && pulls_back_scores<cope>);

}}  // namespace posenc
