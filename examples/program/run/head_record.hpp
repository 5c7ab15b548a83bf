// What a head attends to in a text, as means over its queries.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace run {

/// All means are over the queries from this one on: earlier ones have few keys.
inline constexpr std::size_t first_query = 33;
/// explained_by_distance() is about the keys that are nearer than this.
inline constexpr std::size_t near_tokens = 32;

/// Bounds of bins of distances: 0, 1, 2, 3, 4, then ten to each factor of ten.
std::vector<std::size_t> distance_bins(std::size_t tokens);

/// Of one head.
class head_record {
 public:
  explicit head_record(std::size_t tokens) : sums_(tokens) {}

  /// The weights of a query on the keys 0, 1, ...; keys without a weight are not seen.
  void add(std::size_t query, std::span<float const> weights);

  std::size_t queries() const { return queries_; }  ///< that are counted
  /// The mean weight of the keys at a distance, of queries that have such a key; 0 of none.
  double at_distance(std::size_t distance) const { return at_distances(distance, distance + 1); }
  /// Of the keys at distances from `first` on, `last` not included.
  double at_distances(std::size_t first, std::size_t last) const;
  /// The mean of a row's entropy over ln n, n being the number of tokens up to the query.
  double entropy() const { return mean(entropy_); }
  double on_first() const { return mean(on_first_); }  ///< the weight of the text's first token
  double on_self() const { return at_distance(0); }
  /// The share of queries whose largest weight is on the token before them.
  double previous() const { return mean(static_cast<double>(previous_)); }
  /// The share of the variance of the weights of near keys that their mean by distance explains:
  /// 1 if position alone decides, 0 if it says nothing.
  double explained_by_distance() const;
  /// The offset of 1 to 3 with the largest mean weight, and that weight.
  struct offset {
    std::size_t distance;
    double weight;
  };
  offset nearest_offset() const;

 private:
  double mean(double sum) const { return queries_ == 0 ? 0 : sum / static_cast<double>(queries_); }
  std::size_t queries_at(std::size_t distance) const;

  std::size_t queries_ = 0, previous_ = 0;
  double entropy_ = 0, on_first_ = 0, near_squares_ = 0;
  std::vector<double> sums_;  // [distance]
};

}  // namespace run
