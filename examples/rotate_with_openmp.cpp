// Queries and keys rotated with OpenMP: rotate splits the work into tasks, which a parallel loop
// runs. The bits do not depend on the split.
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate_in_tasks.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace {

using posenc::bfloat16, posenc::heads_view, posenc::halves, posenc::rotated;

// An executor. A task throws nothing, so it may run in a parallel region.
void run_in_parallel(std::size_t n, posenc::task const& run) {
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < n; ++i) run(i);
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
                                  positions);  // once per step, shared by all threads

  auto q_alone = q, k_alone = k;
  posenc::rotate<halves>(heads_view(q_alone.data(), {tokens, q_heads, head_dim}), rows);
  posenc::rotate<halves>(heads_view(k_alone.data(), {tokens, k_heads, head_dim}), rows);

  // More tasks than threads, so that a thread that is held up leaves its work to others.
  auto const tasks = 4 * static_cast<std::size_t>(omp_get_max_threads());
  posenc::rotate(posenc::tasks(tasks, run_in_parallel), rows,
                 rotated<halves>(heads_view(q.data(), {tokens, q_heads, head_dim})),
                 rotated<halves>(heads_view(k.data(), {tokens, k_heads, head_dim})));

  auto const same_bits = [](auto const& a, auto const& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
  };
  bool const same = same_bits(q, q_alone) && same_bits(k, k_alone);
  std::printf("%zu tokens of %zu query heads and %zu key heads on %d threads: %s as on one\n",
              tokens, q_heads, k_heads, omp_get_max_threads(),
              same ? "the same bits" : "NOT the same bits");
  return same ? 0 : 1;
}
