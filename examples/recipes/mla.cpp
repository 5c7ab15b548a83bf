// MLA, absorbed (DeepSeek, Kimi, GLM): a token has one latent of 512 dims and one rotated key of
// 64, which all heads share. The cache has them side by side: the latent is the key's first part,
// and the value.
#include <cmath>
#include <cstdio>
#include <posenc/posenc.hpp>

#include "plain_loops.h"

int main() {
  using namespace posenc;
  constexpr std::size_t tokens = 40;
  auto const frequencies = geometric(MLA_ROPE, 10000);
  auto const scale = 1 / std::sqrt(128.0 + 64);  // by the dims of a query before absorption
  std::vector<float> cache(tokens * MLA_DIM);    // bfloat16 takes half
  bool right = true;
  for (std::size_t first = 0, count = 38; first < tokens; first += count, count = 1) {
    std::vector<float> q(count * MLA_HEADS * MLA_DIM), k(count * MLA_DIM);
    queries_of(first, count, MLA_HEADS * MLA_DIM, q.data());  // of each head: W_uk^T q, then q_pe
    keys_of(first, count, MLA_DIM, k.data());                 // the latent, then k_pe
    std::vector<std::size_t> positions(count);
    for (std::size_t t = 0; t < count; ++t) positions[t] = first + t;

    heads_view const queries(q.data(), {count, MLA_HEADS, MLA_DIM}),
        fresh(k.data(), {count, 1, MLA_DIM}), keys(cache.data(), {first + count, 1, MLA_DIM}),
        values(cache.data(), {first + count, 1, MLA_LATENT}, {.token = MLA_DIM, .head = MLA_DIM});
    auto const last = rotary_block::last();
    rotate(cos_sin_rows(frequencies, positions), rotated<interleaved>(queries).block(last),
           rotated<interleaved>(fresh, keys.slice_tokens(first, count)).block(last));
    auto const step = attention(encoded(queries), keys, values, nope(), {.scale = scale});

    for (std::size_t t = 0; t < count; ++t)
      right &= is_right_of_mla(&step.outputs[t * MLA_HEADS * MLA_LATENT], first + t, scale) != 0;
    if (first + count == tokens) std::printf("%.3f %.3f", step.outputs[0], step.outputs.back());
  }
  std::puts(right ? " right" : " wrong");
  return right ? 0 : 1;
}
