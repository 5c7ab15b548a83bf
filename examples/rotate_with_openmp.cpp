// Queries and keys rotated by OpenMP: q is split by tokens, k by heads. The bits do not depend on
// the split.
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace {

using posenc::bfloat16, posenc::heads_view, posenc::halves;
using rows_view = posenc::cos_sin_view<float>;

// No exception may leave a parallel region, so whatever can throw does so before it: rotate refuses
// rows that do not fit an empty view too, and the slices are made outside. Inside, each piece of q
// has the rows of its own tokens, and each piece of k has them all.
void rotate_step(heads_view<bfloat16> const& q, heads_view<bfloat16> const& k,
                 rows_view const& rows) {
  posenc::rotate<halves>(q.slice_heads(0, 0), rows);
  posenc::rotate<halves>(k.slice_heads(0, 0), rows);
  constexpr std::size_t together = 16;  // tokens
  std::vector<heads_view<bfloat16>> q_pieces, k_pieces;
  std::vector<rows_view> q_rows;
  for (std::size_t first = 0; first < q.tokens(); first += together) {
    auto const count = std::min(together, q.tokens() - first);
    q_pieces.push_back(q.slice_tokens(first, count));
    q_rows.push_back(rows.slice_tokens(first, count));
  }
  for (std::size_t head = 0; head < k.heads(); ++head) k_pieces.push_back(k.slice_heads(head, 1));

#pragma omp parallel
  {
#pragma omp for nowait
    for (std::size_t i = 0; i < q_pieces.size(); ++i)
      posenc::rotate<halves>(q_pieces[i], q_rows[i]);
#pragma omp for
    for (std::size_t i = 0; i < k_pieces.size(); ++i) posenc::rotate<halves>(k_pieces[i], rows);
  }
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

  rotate_step({q.data(), {tokens, q_heads, head_dim}}, {k.data(), {tokens, k_heads, head_dim}},
              rows);

  auto const same_bits = [](auto const& a, auto const& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
  };
  bool const same = same_bits(q, q_alone) && same_bits(k, k_alone);
  std::printf(
      "%zu tokens, %zu query heads split by tokens, %zu key heads by heads, on %d threads: %s as "
      "on one\n",
      tokens, q_heads, k_heads, omp_get_max_threads(),
      same ? "the same bits" : "NOT the same bits");
  return same ? 0 : 1;
}
