#pragma once

/// Random queries, keys and values, as attention takes them.

#include <cstddef>
#include <vector>

#include "numbers.hpp"
#include "posenc/heads/heads_view.hpp"

struct attention_sizes {
  std::size_t queries = 5, keys = 7, heads = 4, kv_heads = 2, head_dim = 8, value_dim = 6;
};

template <class T>
struct random_heads {
  explicit random_heads(attention_sizes const& sizes)
      : n(sizes),
        q(numbers::random<T>(n.queries * n.heads * n.head_dim, 1)),
        k(numbers::random<T>(n.keys * n.kv_heads * n.head_dim, 2)),
        v(numbers::random<T>(n.keys * n.kv_heads * n.value_dim, 3)) {}

  posenc::heads_view<T const> q_view() const {
    return {q.data(), {n.queries, n.heads, n.head_dim}};
  }
  posenc::heads_view<T const> k_view() const {
    return {k.data(), {n.keys, n.kv_heads, n.head_dim}};
  }
  posenc::heads_view<T const> v_view() const {
    return {v.data(), {n.keys, n.kv_heads, n.value_dim}};
  }

  attention_sizes n;
  std::vector<T> q, k, v;
};
