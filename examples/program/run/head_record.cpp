#include "head_record.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

namespace run {

std::vector<std::size_t> distance_bins(std::size_t tokens) {
  std::vector<std::size_t> bins{0, 1, 2, 3, 4};
  for (double at = 4; at < static_cast<double>(tokens); at *= 1.26)
    if (static_cast<std::size_t>(at) > bins.back()) bins.push_back(static_cast<std::size_t>(at));
  return bins;
}

void head_record::add(std::size_t query, std::span<float const> weights) {
  if (query < first_query) return;
  ++queries_;
  auto const keys = std::min(weights.size(), query + 1);
  for (std::size_t key = 0; key < keys; ++key)
    sums_[query - key] += static_cast<double>(weights[key]);
  for (auto const weight : weights.subspan(keys - std::min(keys, near_tokens), near_tokens))
    near_squares_ += static_cast<double>(weight) * static_cast<double>(weight);

  Eigen::Map<Eigen::ArrayXf const> const row(weights.data(),
                                             static_cast<Eigen::Index>(weights.size()));
  constexpr auto least = std::numeric_limits<float>::min();  // w ln w of 0 is 0
  auto const entropy = -(row * row.max(least).log()).cast<double>().sum();
  entropy_ += entropy / std::log(static_cast<double>(query) + 1);
  on_first_ += static_cast<double>(weights[0]);
  Eigen::Index largest = 0;
  row.maxCoeff(&largest);
  previous_ += static_cast<std::size_t>(largest) + 1 == query;
}

std::size_t head_record::queries_at(std::size_t distance) const {
  auto const tokens = first_query + queries_;
  return distance < tokens ? tokens - std::max(distance, first_query) : 0;
}

double head_record::at_distances(std::size_t first, std::size_t last) const {
  double sum = 0, count = 0;
  for (auto d = first; d < std::min(last, sums_.size()); ++d)
    sum += sums_[d], count += static_cast<double>(queries_at(d));
  return count == 0 ? 0 : sum / count;
}

double head_record::explained_by_distance() const {
  if (queries_ == 0) return 0;
  auto const count = static_cast<double>(queries_), all = count * static_cast<double>(near_tokens);
  double total = 0, between = 0;
  for (std::size_t d = 0; d < near_tokens; ++d)
    total += sums_[d], between += sums_[d] * sums_[d] / count;
  auto const of_mean = total * total / all, variance = near_squares_ - of_mean;
  return variance <= 0 ? 0 : (between - of_mean) / variance;
}

head_record::offset head_record::nearest_offset() const {
  offset best{1, at_distance(1)};
  for (std::size_t d = 2; d <= 3; ++d)
    if (at_distance(d) > best.weight) best = {d, at_distance(d)};
  return best;
}

}  // namespace run
