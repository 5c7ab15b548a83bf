// Queries and keys rotated by a pool of threads: q is split by tokens, k by heads, and a thread
// that is free takes the next piece. The bits do not depend on the split.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace {

using posenc::bfloat16, posenc::heads_view, posenc::halves, posenc::cos_sin_view;

// Some heads of some tokens, and the rows of those tokens.
struct piece {
  heads_view<bfloat16> heads;
  cos_sin_view<float> rows;
};

// No exception may leave a thread, so whatever can throw does so before there are any: rotate
// refuses rows that do not fit an empty view too, and the slices are made here. What the threads do
// then is noexcept.
void rotate_step(heads_view<bfloat16> const& q, heads_view<bfloat16> const& k,
                 cos_sin_view<float> const& rows, unsigned threads) {
  posenc::rotate<halves>(q.slice_heads(0, 0), rows);
  posenc::rotate<halves>(k.slice_heads(0, 0), rows);
  constexpr std::size_t together = 16;  // tokens
  std::vector<piece> pieces;
  for (std::size_t first = 0; first < q.tokens(); first += together) {
    auto const count = std::min(together, q.tokens() - first);
    pieces.push_back({q.slice_tokens(first, count), rows.slice_tokens(first, count)});
  }
  for (std::size_t head = 0; head < k.heads(); ++head)
    pieces.push_back({k.slice_heads(head, 1), rows});

  std::atomic<std::size_t> next = 0;
  auto const work = [&]() noexcept {
    for (std::size_t i; (i = next++) < pieces.size();)
      posenc::rotate<halves>(pieces[i].heads, pieces[i].rows);
  };
  std::vector<std::jthread> helpers;  // std::threads that are joined where they leave scope
  for (unsigned n = 1; n < threads; ++n) helpers.emplace_back(work);
  work();
}

}  // namespace

int main() {
  constexpr std::size_t tokens = 515, q_heads = 32, k_heads = 8, head_dim = 128;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<bfloat16> q(tokens * q_heads * head_dim), k(tokens * k_heads * head_dim);
  for (auto* const x : {&q, &k})
    std::ranges::generate(*x, [&] { return bfloat16(normal(random)); });
  std::vector<std::int64_t> positions(tokens);
  std::iota(positions.begin(), positions.end(), 1'000'000);
  posenc::cos_sin_rows const rows(posenc::geometric(head_dim, 5e5),
                                  positions);  // once a step, shared by all threads

  auto q_alone = q, k_alone = k;
  posenc::rotate<halves>(heads_view(q_alone.data(), {tokens, q_heads, head_dim}), rows);
  posenc::rotate<halves>(heads_view(k_alone.data(), {tokens, k_heads, head_dim}), rows);

  auto const threads = std::max(2u, std::thread::hardware_concurrency());
  rotate_step({q.data(), {tokens, q_heads, head_dim}}, {k.data(), {tokens, k_heads, head_dim}},
              rows, threads);

  auto const same_bits = [](auto const& a, auto const& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
  };
  bool const same = same_bits(q, q_alone) && same_bits(k, k_alone);
  std::printf(
      "%zu tokens, %zu query heads split by tokens, %zu key heads by heads, on %u threads: %s as "
      "on one\n",
      tokens, q_heads, k_heads, threads, same ? "the same bits" : "NOT the same bits");
  return same ? 0 : 1;
}
