#pragma once

/// Masks and positions that attention_fuzz and attention_call_fuzz ask for, which may not fit.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "attention_plans.hpp"
#include "given_cells.hpp"
#include "posenc/attention/mask.hpp"

namespace fuzz {

inline std::vector<std::size_t> any_lengths(FuzzedDataProvider& data, std::size_t tokens,
                                            std::size_t sequences) {
  std::vector<std::size_t> lengths;
  auto rest = tokens;
  for (std::size_t i = 0; i + 1 < sequences; ++i) {
    lengths.push_back(data.ConsumeIntegralInRange<std::size_t>(0, rest));
    rest -= lengths.back();
  }
  lengths.push_back(rest);
  if (data.ConsumeIntegralInRange(0, 31) == 0)
    lengths.back() += data.ConsumeIntegralInRange<std::size_t>(0, 2);
  return lengths;
}

inline mask_plan any_mask(FuzzedDataProvider& data, std::size_t queries, std::size_t heads,
                          std::size_t keys, bool wild) {
  mask_plan m;
  m.causal = data.ConsumeBool();
  auto const any_size = [&] {
    return data.ConsumeIntegralInRange(0, 7) == 0
               ? data.ConsumeIntegralInRange<std::int64_t>(1,
                                                           std::numeric_limits<std::int64_t>::max())
               : data.ConsumeIntegralInRange<std::int64_t>(1, 20);
  };
  if (data.ConsumeIntegralInRange(0, 2) == 0) m.window = any_size();
  if (data.ConsumeIntegralInRange(0, 2) == 0) m.chunk = any_size();
  m.packed = data.ConsumeIntegralInRange(0, 3) == 0;
  if (m.packed) {
    auto const sequences = data.ConsumeIntegralInRange<std::size_t>(1, 4);
    m.query_lengths = any_lengths(data, queries, sequences),
    m.key_lengths = any_lengths(data, keys, sequences);
  }
  if (data.ConsumeIntegralInRange(0, 3) == 0)
    m.behind_and_ahead = {any_size() - 1, data.ConsumeBool() ? any_size() - 1 : posenc::mask::any};
  if (data.ConsumeBool())
    m.cells = std::make_shared<given_cells const>(data, queries, heads, keys, wild);
  return m;
}

inline positions any_positions(FuzzedDataProvider& data, std::size_t tokens, bool moderate) {
  positions at(tokens);
  auto const how = data.ConsumeIntegralInRange(0, 4);
  auto const first = moderate ? data.ConsumeIntegralInRange<std::int64_t>(-1000, 1'000'000)
                              : data.ConsumeIntegral<std::int64_t>();
  for (std::size_t i = 0; i < tokens; ++i) {
    if (how == 0) at[i] = data.ConsumeIntegralInRange<std::int64_t>(-30, 30);
    if (how == 1) at[i] = static_cast<std::int64_t>(i * 2);
    if (how == 2)
      at[i] = moderate ? data.ConsumeIntegralInRange<std::int64_t>(-1'000'000, 1'000'000)
                       : data.ConsumeIntegral<std::int64_t>();
    if (how >= 3) at[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + i);
  }
  return at;
}

inline bool sums_to(std::vector<std::size_t> const& lengths, std::size_t tokens) {
  return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}) == tokens;
}

/// How many queries and keys each sequence has.
inline std::vector<std::pair<std::size_t, std::size_t>> sequences_of(mask_plan const& mask,
                                                                     std::size_t queries,
                                                                     std::size_t keys) {
  if (!mask.packed) return {{queries, keys}};
  std::vector<std::pair<std::size_t, std::size_t>> all;
  for (std::size_t i = 0; i < mask.query_lengths.size(); ++i)
    all.emplace_back(mask.query_lengths[i], mask.key_lengths[i]);
  return all;
}

inline bool queries_outnumber_keys(mask_plan const& mask, std::size_t queries, std::size_t keys) {
  return std::ranges::any_of(sequences_of(mask, queries, keys),
                             [](auto const& lengths) { return lengths.first > lengths.second; });
}

/// Whether attention must refuse masks and positions, of which empty ones have defaults. (Queries
/// of no keys are at 0, 1, ...)
inline bool is_refused(mask_plan const& mask, positions const& of_queries, positions const& of_keys,
                       std::size_t queries, std::size_t keys) {
  auto const see_nothing = !mask.packed && keys == 0;
  return (of_queries.empty() && !see_nothing && queries_outnumber_keys(mask, queries, keys)) ||
         (!of_queries.empty() && of_queries.size() != queries) ||
         (!of_keys.empty() && of_keys.size() != keys) ||
         (mask.packed &&
          (!sums_to(mask.query_lengths, queries) || !sums_to(mask.key_lengths, keys)));
}

/// The defaults in place of empty ones.
inline void count_tokens(mask_plan const& mask, std::size_t queries, std::size_t keys,
                         positions& of_queries, positions& of_keys) {
  bool const counts_queries = of_queries.empty(), counts_keys = of_keys.empty();
  std::size_t first_key = 0;  // beyond those of a sequence
  for (auto const& [some_queries, some_keys] : sequences_of(mask, queries, keys)) {
    for (std::size_t s = 0; s < some_keys && counts_keys; ++s)
      of_keys.push_back(static_cast<std::int64_t>(s));
    first_key += some_keys;
    for (std::size_t t = 0; t < some_queries && counts_queries; ++t)
      of_queries.push_back(some_keys == 0 ? static_cast<std::int64_t>(t)
                                          : of_keys[first_key - some_queries + t]);
  }
}

}  // namespace fuzz
