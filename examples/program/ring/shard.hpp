// A rank's part of queries, keys and values.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/heads/heads_view.hpp"

namespace ring {

/// What all ranks know of the whole sequence.
struct sequence {
  std::size_t tokens, heads, kv_heads, head_dim;
  std::uint64_t seed;

  std::size_t query_size() const { return heads * head_dim; }             ///< of one token
  std::size_t key_value_size() const { return 2 * kv_heads * head_dim; }  ///< of one token
};

/// Keys and values of some tokens in one message, [2][tokens][kv_heads][head_dim].
struct keys_and_values {
  keys_and_values(sequence const& s, std::span<float const> numbers)
      : keys(numbers.data(), {numbers.size() / s.key_value_size(), s.kv_heads, s.head_dim}),
        values(numbers.data() + numbers.size() / 2, keys.shape()) {}
  posenc::heads_view<float const> keys, values;
};

struct shard {
  std::vector<std::int64_t> positions;
  std::vector<float> queries;     ///< [tokens][heads][head_dim]
  std::vector<float> key_values;  ///< as keys_and_values has them
};

/// One of a sequence's numbers, of variance 1 and spread evenly up to the root of 3; whoever makes
/// it, it is the same.
inline float number_at(std::uint64_t seed, std::uint64_t tensor, std::uint64_t index) {
  auto bits = seed * 3 + tensor + index * 0x9e3779b97f4a7c15u;
  for (int round = 0; round < 3; ++round)
    bits = (bits ^ (bits >> 31)) * 0xbf58476d1ce4e5b9u + index;
  return static_cast<float>((static_cast<double>(bits >> 11) * 0x1p-52 - 1) * std::sqrt(3.0));
}

/// The tokens at some positions of the sequence: each rank makes its own.
inline shard shard_at(sequence const& s, std::vector<std::int64_t> positions) {
  shard result{std::move(positions), {}, {}};
  auto const append = [&](std::vector<float>& to, std::uint64_t tensor, std::size_t size) {
    to.reserve(to.size() + result.positions.size() * size);
    for (auto const t : result.positions) {
      for (std::size_t i = 0; i < size; ++i)
        to.push_back(number_at(s.seed, tensor, static_cast<std::uint64_t>(t) * size + i));
    }
  };
  append(result.queries, 0, s.heads * s.head_dim);
  append(result.key_values, 1, s.kv_heads * s.head_dim);
  append(result.key_values, 2, s.kv_heads * s.head_dim);
  return result;
}

}  // namespace ring
