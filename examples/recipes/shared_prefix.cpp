// Several sequences whose prefix is shared: one pool of pages, a block table, one call.
#include <cstdio>
#include <posenc/posenc.hpp>

#include "plain_loops.h"

int main() {
  using namespace posenc;
  constexpr std::size_t page_tokens = 8, prefix = 16, sequences = 3;
  // Pages 4 and 0 have the prefix, the others belong to one sequence each; -1: no page yet.
  std::vector<int> const table{4, 0, 2, 6, 4, 0, 5, -1, 4, 0, 3, -1};
  std::vector<std::size_t> const lengths{27, 20, 17}, cached{0, prefix, prefix}, one(sequences, 1);
  pages_shape const pool{
      .pages = 7, .page_tokens = page_tokens, .heads = KV_HEADS, .head_dim = DIM};
  std::vector<float> k_pool(7 * page_tokens * KV_HEADS * DIM), v_pool(k_pool);
  auto const frequencies = geometric(DIM, 10000);

  // The first sequence writes the prefix too, the others what is behind it.
  auto const token = [](std::size_t s, std::size_t t) { return t < prefix ? t : 100 * s + t; };
  std::vector<float> k, v, q(sequences * HEADS * DIM);
  std::vector<std::size_t> positions, of_queries;
  for (std::size_t s = 0; s < sequences; ++s) {
    for (auto t = cached[s]; t < lengths[s]; ++t) {
      positions.push_back(t);
      k.resize(positions.size() * KV_HEADS * DIM), v.resize(k.size());
      keys_of(token(s, t), 1, KV_HEADS * DIM, k.data() + k.size() - KV_HEADS * DIM);
      values_of(token(s, t), 1, KV_HEADS * DIM, v.data() + v.size() - KV_HEADS * DIM);
    }
    of_queries.push_back(lengths[s] - 1);
    queries_of(token(s, of_queries[s]), 1, HEADS * DIM, &q[s * HEADS * DIM]);
  }
  auto const written = slots_of(table, lengths, page_tokens, cached);
  heads_view const keys(k.data(), {written.size(), KV_HEADS, DIM}),
      values(v.data(), {written.size(), KV_HEADS, DIM}), queries(q.data(), {sequences, HEADS, DIM});
  rotate(cos_sin_rows(frequencies, positions),
         rotated<halves>(keys, heads_view(k_pool.data(), pool, written)),
         unrotated(values, heads_view(v_pool.data(), pool, written)));

  // A query of each sequence, over its own slots, one sequence after another.
  rotate<halves>(queries, cos_sin_rows(frequencies, of_queries));
  auto const read = slots_of(table, lengths, page_tokens);
  auto const step = attention(encoded(queries), heads_view(k_pool.data(), pool, read),
                              heads_view(v_pool.data(), pool, read), nope(),
                              {.mask = mask::causal & mask::packed(one, lengths)});

  bool right = true;
  for (std::size_t s = 0; s < sequences; ++s) {
    std::vector<std::size_t> seen;
    std::vector<std::int64_t> at;
    for (std::size_t t = 0; t < lengths[s]; ++t)
      seen.push_back(token(s, t)), at.push_back(static_cast<std::int64_t>(t));
    right &= is_right(&step.outputs[s * HEADS * DIM], seen.back(), at.back(), seen.data(),
                      at.data(), seen.size()) != 0;
  }
  std::printf("%.3f %.3f %s\n", step.outputs[0], step.outputs.back(), right ? "right" : "wrong");
  return right ? 0 : 1;
}
