// What attention is measured on: heads of 128 floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "baselines.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/heads/heads_view.hpp"
#include "report/buffer.hpp"

namespace bench {

inline constexpr std::size_t attended_dim = 128;

inline matrix some_numbers(std::size_t tokens, std::size_t dims, std::size_t seed) {
  matrix x(static_cast<Eigen::Index>(tokens), static_cast<Eigen::Index>(dims));
  auto const& all = tile<float>();
  for (Eigen::Index i = 0; i < x.size(); ++i)
    x.data()[i] = all[(static_cast<std::size_t>(i) + 1000 * seed) % all.size()];
  return x;
}

inline constexpr std::size_t page_tokens = 16;

/// Where tokens are in a paged cache: pages in another order, the tokens of each in order.
inline std::vector<std::int64_t> slots_of_pages(std::size_t tokens) {
  std::vector<std::int64_t> slots(tokens);
  std::iota(slots.begin(), slots.end(), 0);
  constexpr std::ptrdiff_t page = page_tokens;
  for (auto i = slots.begin(); slots.end() - i >= 2 * page; i += 2 * page)
    std::rotate(i, i + page, i + 2 * page);
  return slots;
}

/// n queries, keys and values.
struct prompt {
  explicit prompt(std::size_t n, std::size_t query_heads = 1, std::size_t key_heads = 1)
      : tokens(n),
        heads(query_heads),
        kv_heads(key_heads),
        x{some_numbers(n, heads * attended_dim, 1), some_numbers(n, kv_heads * attended_dim, 2),
          some_numbers(n, kv_heads * attended_dim, 3)},
        outputs(x.q),
        slots(slots_of_pages(n)) {}

  posenc::heads_view<float const> q() const { return {x.q.data(), {tokens, heads, attended_dim}}; }
  posenc::heads_view<float const> k() const {
    return {x.k.data(), {tokens, kv_heads, attended_dim}};
  }
  posenc::heads_view<float const> v() const {
    return {x.v.data(), {tokens, kv_heads, attended_dim}};
  }
  /// The numbers of k or v, of n in whole pages, as if their tokens were in other places.
  posenc::heads_view<float const, posenc::in_pages> paged(matrix const& of) const {
    return {of.data(), {tokens / page_tokens, page_tokens, kv_heads, attended_dim}, slots};
  }
  std::size_t visible() const { return heads * tokens * (tokens + 1) / 2; }
  matrix& all_scores() {
    if (scores.size() == 0) scores.resize(x.tokens(), x.tokens());
    return scores;
  }

  /// The largest error of some of one head's outputs, against sums in long double.
  double max_error(std::span<float const> given) const {
    double error = 0;
    for (Eigen::Index t = 0; t < x.tokens(); t += 97) {
      std::vector<long double> exact(attended_dim);
      long double all = 0;
      for (Eigen::Index s = 0; s <= t; ++s) {
        long double score = 0;
        for (Eigen::Index i = 0; i < x.head_dim(); ++i)
          score += static_cast<long double>(x.q(t, i)) * static_cast<long double>(x.k(s, i));
        auto const weight = std::exp(score / std::sqrt(static_cast<long double>(attended_dim)));
        all += weight;
        for (std::size_t i = 0; i < attended_dim; ++i)
          exact[i] += weight * static_cast<long double>(x.v(s, static_cast<Eigen::Index>(i)));
      }
      for (std::size_t i = 0; i < attended_dim; ++i) {
        auto const ours =
            static_cast<long double>(given[static_cast<std::size_t>(t) * attended_dim + i]);
        error = std::max(error, static_cast<double>(std::abs(exact[i] / all - ours)));
      }
    }
    return error;
  }

  std::size_t tokens, heads, kv_heads;
  qkv x;
  matrix scores, outputs;
  std::vector<std::int64_t> slots;
  posenc::attention_workspace<float> workspace;
};

}  // namespace bench
