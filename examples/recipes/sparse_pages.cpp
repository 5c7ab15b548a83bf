// Sparse attention by pages (Quest) or by tokens (DeepSeek's indexer): choose, then attend to the
// slots of what was chosen.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <posenc/posenc.hpp>

#include "plain_loops.h"

int main() {
  using namespace posenc;
  constexpr std::size_t tokens = 512, page_tokens = 16, pages = tokens / page_tokens;
  std::vector<float> k(tokens * KV_HEADS * DIM), v(k), q(HEADS * DIM);
  keys_of(0, tokens, KV_HEADS * DIM, k.data()), values_of(0, tokens, KV_HEADS * DIM, v.data());
  queries_of(tokens - 1, 1, HEADS * DIM, q.data());
  heads_view const keys(k.data(), {tokens, KV_HEADS, DIM}), query(q.data(), {1, HEADS, DIM});
  std::vector<std::size_t> all(tokens);
  std::iota(all.begin(), all.end(), std::size_t{0});
  auto const frequencies = geometric(DIM, 10000);
  rotate<halves>(keys, cos_sin_rows(frequencies, all));
  rotate<halves>(query, cos_sin_rows(frequencies, std::vector{tokens - 1}));

  // Kept from step to step: a step changes the bounds of the page that it writes.
  std::vector<float> bounds(pages * KV_HEADS * 2 * DIM);
  page_bounds(keys, page_tokens, bounds);

  // A page counts as much as the largest product that any of its keys may have with any query head.
  std::vector<double> most(pages, -1e30);
  for (std::size_t p = 0; p < pages; ++p) {
    for (std::size_t h = 0; h < HEADS; ++h) {
      auto const* const least = &bounds[(p * KV_HEADS + h * KV_HEADS / HEADS) * 2 * DIM];
      double sum = 0;
      for (std::size_t i = 0; i < DIM; ++i)
        sum += std::max(query(0, h)[i] * least[i], query(0, h)[i] * least[DIM + i]);
      most[p] = std::max(most[p], sum);
    }
  }
  std::vector<std::size_t> order(pages);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](auto a, auto b) { return most[a] > most[b]; });

  // The kept share of the weights says what is lost: e^(log_sum_exp - that of all pages).
  pages_shape const shape{pages, page_tokens, KV_HEADS, DIM};
  bool right = true;
  std::vector<double> of_all;
  for (std::size_t chosen = pages; chosen > 2; chosen /= 2) {
    std::vector<std::int64_t> slots;
    for (std::size_t p = 0; p < chosen; ++p)
      for (std::size_t t = 0; t < page_tokens; ++t)
        slots.push_back(static_cast<std::int64_t>(order[p] * page_tokens + t));
    auto const step = attention(encoded(query), heads_view(k.data(), shape, slots),
                                heads_view(v.data(), shape, slots), nope());
    if (chosen == pages) of_all = step.log_sum_exp;
    double share = 0;
    for (std::size_t h = 0; h < HEADS; ++h)
      share += std::exp(step.log_sum_exp[h] - of_all[h]) / double{HEADS};
    std::printf("%zu of %zu pages: %.2f of the weights\n", chosen, pages, share);
    std::vector<std::size_t> const seen(slots.begin(), slots.end());
    right &= is_right(step.outputs.data(), tokens - 1, std::int64_t{tokens - 1}, seen.data(),
                      nullptr, seen.size()) != 0;
  }
  std::puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}
