#include "head_record.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <numeric>
#include <thread>

#include "posenc/attention/attention.hpp"

namespace run {

void head_record::add(std::size_t query, std::size_t seen, std::span<float const> weights) {
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
  if (seen > 1) entropy_ += entropy / std::log(static_cast<double>(seen));
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

void record_layer(std::span<head_record> heads, posenc::heads_view<float const> const& q,
                  posenc::heads_view<float const> const& k, posenc::attention_rules const& rules,
                  std::size_t threads) {
  auto const tokens = q.tokens(), kv_heads = k.heads(), group = heads.size() / kv_heads;
  if (tokens <= first_query) return;
  // What attention multiplies by the weights is nothing, of one dim.
  std::vector<float> const zeros(1);
  posenc::heads_view const values(zeros.data(), {tokens, 1, 1}, {.token = 0, .head = 0});
  auto const block = std::clamp<std::size_t>((std::size_t{1} << 18) / (tokens * group), 8, 128);
  std::vector<std::int64_t> positions(tokens);
  std::iota(positions.begin(), positions.end(), std::int64_t{0});

  std::atomic<std::size_t> next = 0;
  auto const work = [&] {
    posenc::attention_workspace<float> workspace;
    for (auto kv = next++; kv < kv_heads; kv = next++) {
      auto of_group = rules;
      of_group.first_head = rules.first_head + kv * group;
      of_group.all_heads = rules.all_heads == 0 ? heads.size() : rules.all_heads;
      for (std::size_t first = first_query; first < tokens; first += block) {
        auto const count = std::min(block, tokens - first);
        std::span const own = std::span(positions).subspan(first, count);
        auto const& weights =
            posenc::attention(posenc::encoded(q.slice_tokens(first, count)
                                                  .slice_heads(kv * group, group)),
                              k.slice_heads(kv, 1), values, of_group,
                              {.query_positions = own,
                               .key_positions = std::span(positions),
                               .keys_are_encoded = true,
                               .keep_weights = true},
                              workspace)
                .weights;
        for (std::size_t head = 0; head < group; ++head)
          for (std::size_t i = 0; i < count; ++i) {
            auto const sees = rules.sees.positions(own[i]);
            auto const last = static_cast<std::int64_t>(tokens) - 1;
            auto const seen = std::min(sees.last, last) - std::max<std::int64_t>(sees.first, 0) + 1;
            heads[kv * group + head].add(
                first + i, static_cast<std::size_t>(std::max<std::int64_t>(seen, 0)),
                std::span(weights).subspan((head * count + i) * tokens, tokens));
          }
      }
    }
  };
  std::exception_ptr error;
  std::vector<std::thread> others;
  std::atomic<bool> failed = false;
  auto const guarded = [&] {
    try {
      work();
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
      next = kv_heads;
    }
  };
  for (std::size_t i = 1; i < std::min(threads, kv_heads); ++i) others.emplace_back(guarded);
  guarded();
  for (auto& one : others) one.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace run
