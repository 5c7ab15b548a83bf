#include "predictions.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace run {
namespace {

auto row_of(std::span<float const> logits) {
  return Eigen::Map<Eigen::ArrayXf const>(logits.data(), static_cast<Eigen::Index>(logits.size()));
}

}  // namespace

double log_sum_exp(std::span<float const> logits) {
  auto const row = row_of(logits);
  auto const top = static_cast<double>(row.maxCoeff());
  return top + std::log((row.cast<double>() - top).exp().sum());
}

double divergence(std::span<float const> model, std::span<float const> other, double of_other) {
  auto const of_p = row_of(model).cast<double>() - log_sum_exp(model),
             of_q = row_of(other).cast<double>() - of_other;
  return std::max(0.0, (of_p.exp() * (of_p - of_q)).sum());  // rounding aside, never below
}

std::size_t largest(std::span<float const> logits) {
  return static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
}

double mean_of(std::span<double const> list) {
  return list.empty() ? 0
                      : std::accumulate(list.begin(), list.end(), 0.0) /
                            static_cast<double>(list.size());
}

std::vector<double> predictions::parts(std::size_t count) const {
  std::vector<double> result;
  std::span const all(cross_entropy);
  for (std::size_t i = 0; i < count; ++i) {
    auto const first = i * all.size() / count, last = (i + 1) * all.size() / count;
    result.push_back(mean_of(all.subspan(first, last - first)));
  }
  return result;
}

retrieval::interval predictions::mean() const {
  auto const blocks = std::min(most_blocks, cross_entropy.size() / least_block);
  auto const mean = mean_of(cross_entropy);
  if (blocks < 2) return {mean, NAN, NAN};
  auto found = retrieval::interval_of(parts(blocks));
  found.mean = mean;
  return found;
}

double predictions::mean_kl() const { return mean_of(kl); }

double predictions::agreement() const {
  return static_cast<double>(std::ranges::count(agrees, 1)) / static_cast<double>(agrees.size());
}

top_logits top_of(std::size_t position, std::span<float const> logits, std::size_t count) {
  std::vector<std::size_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  auto const n = static_cast<std::ptrdiff_t>(std::min(count, ids.size()));
  std::ranges::partial_sort(ids, ids.begin() + n, std::ranges::greater{},
                            [&](std::size_t id) { return logits[id]; });
  ids.resize(static_cast<std::size_t>(n));
  top_logits result{position, ids, {}};
  for (auto const id : ids) result.logits.push_back(logits[id]);
  return result;
}

}  // namespace run
