// A prompt and a decoding step over a paged cache, on threads: attention splits the work into
// tasks, which an executor runs. The bits do not depend on the split.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "posenc/attention/attention.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"

namespace {

using posenc::bfloat16, posenc::heads_view;

// An executor: the caller and n - 1 threads run a task each. An engine hands them to its own pool
// instead, which has its threads already: pool.parallel_for(n, run).
void run_on_threads(std::size_t n, posenc::task run) {
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < n; ++i) helpers.emplace_back(run, i);
  run(0);
}

}  // namespace

int main() {
  constexpr std::size_t tokens = 300, heads = 8, kv_heads = 2, head_dim = 64, page_tokens = 16;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  auto const numbers = [&](std::size_t count) {
    std::vector<bfloat16> x(count);
    std::ranges::generate(x, [&] { return bfloat16(normal(random)); });
    return x;
  };
  constexpr std::size_t pages = tokens / page_tokens + 1;
  auto const q = numbers(tokens * heads * head_dim),
             k = numbers(pages * page_tokens * kv_heads * head_dim),
             v = numbers(pages * page_tokens * kv_heads * head_dim);
  std::vector<std::int64_t> slots(pages * page_tokens);  // where in the cache each token is
  std::iota(slots.begin(), slots.end(), 0);
  std::ranges::shuffle(slots, random);
  slots.resize(tokens);
  posenc::pages_shape const shape{pages, page_tokens, kv_heads, head_dim};
  posenc::heads_view const keys(k.data(), shape, slots), values(v.data(), shape, slots);
  heads_view const all(q.data(), {tokens, heads, head_dim});
  posenc::scheme const encoding(posenc::rope<posenc::halves>(posenc::geometric(head_dim, 5e5)),
                                posenc::alibi(heads));

  auto const threads = std::max(2u, std::thread::hardware_concurrency());
  bool same = true;
  for (auto const& queries : {all, all.slice_tokens(tokens - 1, 1)}) {  // a prompt, then a step
    auto const alone = posenc::attention(queries, keys, values, encoding);
    auto const split =
        posenc::attention(posenc::tasks(threads, run_on_threads), queries, keys, values, encoding);
    bool const equal = std::memcmp(alone.outputs.data(), split.outputs.data(),
                                   alone.outputs.size() * sizeof alone.outputs[0]) == 0;
    std::printf("%zu queries of %zu heads, %zu keys in pages, on %u threads: %s as on one\n",
                queries.tokens(), heads, tokens, threads,
                equal ? "the same bits" : "NOT the same bits");
    same = same && equal;
  }
  return same && std::fflush(stdout) == 0 ? 0 : 1;
}
