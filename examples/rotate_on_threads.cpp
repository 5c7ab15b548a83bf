// Queries and keys rotated on threads: rotate splits the work into tasks, which an executor runs.
// The bits do not depend on the split.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate_in_tasks.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace {

using posenc::bfloat16, posenc::heads_view, posenc::halves, posenc::rotated;

// An executor: the caller and n - 1 threads run a task each. An engine hands them to its own pool
// instead, which has its threads already: pool.parallel_for(n, run).
void run_on_threads(std::size_t n, posenc::task run) {
  std::vector<std::jthread> helpers;  // std::threads that are joined where they leave scope
  for (std::size_t i = 1; i < n; ++i) helpers.emplace_back(run, i);
  run(0);
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

  auto const threads = std::max(2u, std::thread::hardware_concurrency());
  posenc::rotate(posenc::tasks(threads, run_on_threads), rows,
                 rotated<halves>(heads_view(q.data(), {tokens, q_heads, head_dim})),
                 rotated<halves>(heads_view(k.data(), {tokens, k_heads, head_dim})));

  auto const same_bits = [](auto const& a, auto const& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
  };
  bool const same = same_bits(q, q_alone) && same_bits(k, k_alone);
  std::printf("%zu tokens of %zu query heads and %zu key heads on %u threads: %s as on one\n",
              tokens, q_heads, k_heads, threads, same ? "the same bits" : "NOT the same bits");
  return same && std::fflush(stdout) == 0 ? 0 : 1;
}
