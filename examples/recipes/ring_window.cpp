// A window cache as a ring: a layer that sees the last 16 tokens keeps 20 of them, for steps of up
// to 5 tokens.
#include <algorithm>
#include <cstdio>
#include <posenc/posenc.hpp>

#include "plain_loops.h"

int main() {
  using namespace posenc;
  constexpr std::size_t window = 16, capacity = 20, tokens = 64;  // window + 5 - 1 = 20
  pages_shape const ring{.pages = 5, .page_tokens = 4, .heads = KV_HEADS, .head_dim = DIM};
  std::vector<float> k_ring(capacity * KV_HEADS * DIM), v_ring(k_ring);
  auto const frequencies = geometric(DIM, 10000);
  bool right = true;
  for (std::size_t first = 0, count = 5; first < tokens; first += count) {
    if (first == 60) count = 1;  // a prompt in pieces of 5 tokens, then steps of one
    std::vector<float> q(count * HEADS * DIM), k(count * KV_HEADS * DIM), v(k);
    queries_of(first, count, HEADS * DIM, q.data());
    keys_of(first, count, KV_HEADS * DIM, k.data());
    values_of(first, count, KV_HEADS * DIM, v.data());
    std::vector<std::size_t> positions(count);
    for (std::size_t t = 0; t < count; ++t) positions[t] = first + t;
    heads_view const queries(q.data(), {count, HEADS, DIM}), keys(k.data(), {count, KV_HEADS, DIM}),
        values(v.data(), {count, KV_HEADS, DIM});

    auto const kept = std::min(first + count, capacity);
    auto const written = ring_slots(first, count, capacity),
               read = ring_slots(first + count - kept, kept, capacity);
    rotate(cos_sin_rows(frequencies, positions), rotated<halves>(queries),
           rotated<halves>(keys, heads_view(k_ring.data(), ring, written)),
           unrotated(values, heads_view(v_ring.data(), ring, written)));
    auto const step =
        attention(encoded(queries), heads_view(k_ring.data(), ring, read),
                  heads_view(v_ring.data(), ring, read), nope(),
                  {.mask = mask::causal & mask::sliding_window(std::int64_t{window})});

    for (std::size_t t = first; t < first + count; ++t) {
      std::vector<std::size_t> seen;
      for (auto s = t + 1 - std::min(t + 1, window); s <= t; ++s) seen.push_back(s);
      right &= is_right(&step.outputs[(t - first) * HEADS * DIM], t, static_cast<std::int64_t>(t),
                        seen.data(), nullptr, seen.size()) != 0;
    }
    if (first + count == tokens) std::printf("%.3f %.3f", step.outputs[0], step.outputs.back());
  }
  std::puts(right ? " right" : " wrong");
  return right ? 0 : 1;
}
