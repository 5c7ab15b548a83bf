// Sinks and a window in full precision, the rest in few bits: two calls and a merge.
#include <cstdio>
#include <posenc/posenc.hpp>

#include "plain_loops.h"

int main() {
  using namespace posenc;
  constexpr std::size_t sinks = 4, window = 16, tokens = 100, few = tokens - sinks - window;
  pages_shape const full_pages{1, sinks + window, KV_HEADS, DIM}, few_pages{1, few, KV_HEADS, DIM};
  std::vector<float> k_full((sinks + window) * KV_HEADS * DIM), v_full(k_full);
  std::vector<std::byte> k_few(few * KV_HEADS * q4_0().bytes(DIM)), v_few(k_few);
  auto const frequencies = geometric(DIM, 10000);
  std::vector<float> q(HEADS * DIM), k(KV_HEADS * DIM), v(k);
  heads_view const query(q.data(), {1, HEADS, DIM}), key(k.data(), {1, KV_HEADS, DIM}),
      value(v.data(), {1, KV_HEADS, DIM});
  for (std::size_t t = 0; t < tokens; ++t) {
    queries_of(t, 1, HEADS * DIM, q.data()), keys_of(t, 1, KV_HEADS * DIM, k.data());
    values_of(t, 1, KV_HEADS * DIM, v.data());
    cos_sin_rows const row(frequencies, std::vector{t});
    // Slots 0 to 3 are the sinks; behind them the window is a ring.
    std::vector<std::int64_t> slot{static_cast<std::int64_t>(t)};
    if (t >= sinks) slot = {4 + ring_slots(t - sinks, 1, window)[0]};
    heads_view const k_slot(k_full.data(), full_pages, slot),
        v_slot(v_full.data(), full_pages, slot);
    if (t >= sinks + window) {  // the token that leaves the window goes into few bits
      std::vector const to{static_cast<std::int64_t>(t - sinks - window)};
      rotate(row, unrotated(k_slot, heads_view(q4_0(), k_few.data(), few_pages, to)),
             unrotated(v_slot, heads_view(q4_0(), v_few.data(), few_pages, to)));
    }
    rotate(row, rotated<halves>(query), rotated<halves>(key, k_slot), unrotated(value, v_slot));
  }

  heads_view const keys(k_full.data(), {sinks + window, KV_HEADS, DIM}),
      values(v_full.data(), {sinks + window, KV_HEADS, DIM});
  heads_view const keys_in_few(q4_0(), k_few.data(), heads_shape{few, KV_HEADS, DIM}),
      values_in_few(q4_0(), v_few.data(), heads_shape{few, KV_HEADS, DIM});
  auto const step = merge(attention(encoded(query), keys, values, nope()),
                          attention(encoded(query), keys_in_few, values_in_few, nope()));

  // The same keys and values as numbers.
  std::vector<float> read_k(k_full), read_v(v_full);
  read_k.resize(tokens * KV_HEADS * DIM), read_v.resize(read_k.size());
  for (std::size_t i = 0; i < few * KV_HEADS; ++i) {
    auto const at = (sinks + window) * KV_HEADS * DIM + i * DIM;
    keys_in_few.read(i / KV_HEADS, i % KV_HEADS, std::span(read_k).subspan(at, DIM));
    values_in_few.read(i / KV_HEADS, i % KV_HEADS, std::span(read_v).subspan(at, DIM));
  }
  bool const right =
      is_right_over(step.outputs.data(), q.data(), read_k.data(), read_v.data(), tokens) != 0;
  std::printf("%.3f %.3f %s\n", step.outputs[0], step.outputs.back(), right ? "right" : "wrong");
  return right ? 0 : 1;
}
