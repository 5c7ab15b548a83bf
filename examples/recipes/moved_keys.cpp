// Join, evict, renumber: cached keys move to other positions, where they lie.
#include <cstdio>
#include <posenc/posenc.hpp>

#include "plain_loops.h"

int main() {
  using namespace posenc;
  constexpr std::size_t slots = 52;
  auto const frequencies = geometric(DIM, 10000);
  std::vector<float> k(slots * KV_HEADS * DIM), v(k), q(HEADS * DIM);
  pages_shape const pages{.pages = 13, .page_tokens = 4, .heads = KV_HEADS, .head_dim = DIM};
  keys_of(0, slots, KV_HEADS * DIM, k.data()), values_of(0, slots, KV_HEADS * DIM, v.data());

  // A sequence of 40 tokens in slots 0 to 39, and another of 12 in slots 40 to 51.
  std::vector<std::size_t> positions;
  for (std::size_t t = 0; t < slots; ++t) positions.push_back(t < 40 ? t : t - 40);
  rotate<halves>(heads_view(k.data(), {slots, KV_HEADS, DIM}),
                 cos_sin_rows(frequencies, positions));

  // Tokens 10 to 19 go; what follows closes the gap, and the second sequence joins behind it.
  std::vector<std::int64_t> moved, left, deltas;
  for (std::int64_t slot = 0; slot < 52; ++slot) {
    if (slot < 10 || slot >= 20) left.push_back(slot);
    if (slot >= 20) moved.push_back(slot), deltas.push_back(slot < 40 ? -10 : 30);
  }
  rotate<halves>(heads_view(k.data(), pages, moved), shift_rows(frequencies, deltas));

  queries_of(slots, 1, HEADS * DIM, q.data());
  heads_view const query(q.data(), {1, HEADS, DIM});
  rotate<halves>(query, cos_sin_rows(frequencies, std::vector{42}));
  auto const step = attention(encoded(query), heads_view(k.data(), pages, left),
                              heads_view(v.data(), pages, left), nope());

  std::vector<std::size_t> const seen(left.begin(), left.end());
  std::vector<std::int64_t> at;
  for (std::size_t t = 0; t < seen.size(); ++t) at.push_back(static_cast<std::int64_t>(t));
  bool const right =
      is_right(step.outputs.data(), slots, 42, seen.data(), at.data(), seen.size()) != 0;
  std::printf("%.3f %.3f %s\n", step.outputs[0], step.outputs.back(), right ? "right" : "wrong");
  return right ? 0 : 1;
}
