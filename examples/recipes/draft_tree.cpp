// Verify a draft: a tree of tokens (EAGLE, Medusa), of which one path is kept; then a block of
// tokens that all see each other (DFlash).
#include <algorithm>
#include <cstdio>
#include <posenc/posenc.hpp>

#include "plain_loops.h"

int main() {
  using namespace posenc;
  constexpr std::size_t cached = 20, drafts = 6, block = 4, tree = cached + drafts,
                        slots = tree + block;
  constexpr std::size_t parent[drafts] = {19, 20, 20, 21, 21, 22};  // slots: 19 is the last token
  std::vector<float> k(slots * KV_HEADS * DIM), v(k), q((drafts + block) * HEADS * DIM);
  keys_of(0, slots, KV_HEADS * DIM, k.data()), values_of(0, slots, KV_HEADS * DIM, v.data());
  queries_of(cached, drafts + block, HEADS * DIM, q.data());
  heads_view const keys(k.data(), {slots, KV_HEADS, DIM}), values(v.data(), {slots, KV_HEADS, DIM}),
      queries(q.data(), {drafts + block, HEADS, DIM});

  // A draft is one position after its parent, and sees itself and what its parent sees.
  bool sees[drafts][tree] = {};
  std::vector<std::size_t> positions;
  for (std::size_t t = 0; t < cached; ++t) positions.push_back(t);
  for (std::size_t d = 0; d < drafts; ++d) {
    positions.push_back(positions[parent[d]] + 1);
    std::fill_n(sees[d], cached, true);
    if (parent[d] >= cached) std::copy_n(sees[parent[d] - cached], tree, sees[d]);
    sees[d][cached + d] = true;
  }
  std::vector<std::int64_t> path{20, 22, 25};  // what the target model accepts, by slot
  for (std::size_t i = 0; i < block; ++i) positions.push_back(cached + path.size() + i);
  auto const frequencies = geometric(DIM, 10000);
  rotate<halves>(keys, cos_sin_rows(frequencies, positions));
  rotate<halves>(queries, cos_sin_rows(frequencies, std::span(positions).subspan(cached)));
  auto const verified = attention(encoded(queries.slice_tokens(0, drafts)),
                                  keys.slice_tokens(0, tree), values.slice_tokens(0, tree), nope(),
                                  {.mask = mask::given(given_mask(sees[0], {drafts, 1, tree}))});

  // The next step reads the slots of the path. No key is copied or rotated again.
  std::vector<std::int64_t> read;
  for (std::int64_t t = 0; t < 20; ++t) read.push_back(t);
  read.insert(read.end(), path.begin(), path.end());
  for (std::int64_t t = 26; t < 30; ++t) read.push_back(t);
  pages_shape const one_page{.pages = 1, .page_tokens = slots, .heads = KV_HEADS, .head_dim = DIM};
  auto const drafted =
      attention(encoded(queries.slice_tokens(drafts, block)), heads_view(k.data(), one_page, read),
                heads_view(v.data(), one_page, read), nope(), {.mask = mask::full});

  bool right = true;
  for (std::size_t i = 0; i < drafts + block; ++i) {
    std::vector<std::size_t> seen(read.begin(), read.end());
    if (i < drafts) seen.clear();
    for (std::size_t t = 0; i < drafts && t < tree; ++t)
      if (sees[i][t]) seen.push_back(t);
    std::vector<std::int64_t> at;
    for (auto const t : seen) at.push_back(static_cast<std::int64_t>(positions[t]));
    auto const* const outputs = i < drafts ? &verified.outputs[i * HEADS * DIM]
                                           : &drafted.outputs[(i - drafts) * HEADS * DIM];
    right &= is_right(outputs, cached + i, static_cast<std::int64_t>(positions[cached + i]),
                      seen.data(), at.data(), seen.size()) != 0;
  }
  std::printf("%.3f %.3f %s\n", verified.outputs[0], drafted.outputs.back(),
              right ? "right" : "wrong");
  return right ? 0 : 1;
}
