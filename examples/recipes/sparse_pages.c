/* Sparse attention by pages (Quest) or by tokens (DeepSeek's indexer): choose, then attend to the
 * slots of what was chosen. */
#include <math.h>

#include "must.h"
#include "plain_loops.h"

enum { TOKENS = 512, PAGE_TOKENS = 16, PAGES = TOKENS / PAGE_TOKENS };
static float q[HEADS * DIM], k[TOKENS * KV_HEADS * DIM], v[TOKENS * KV_HEADS * DIM],
    cos_sin[TOKENS * DIM], bounds[PAGES][KV_HEADS][2][DIM], out[HEADS * DIM];

int main(void) {
  keys_of(0, TOKENS, KV_HEADS * DIM, k), values_of(0, TOKENS, KV_HEADS * DIM, v);
  queries_of(TOKENS - 1, 1, HEADS * DIM, q);
  posenc1_frequencies* f;
  posenc1_row_maker* maker;
  must(posenc1_frequencies_of_base(DIM, 10000, &f));
  must(posenc1_row_maker_create(f, 0, &maker));
  int64_t positions[TOKENS];
  for (int64_t t = 0; t < TOKENS; ++t) positions[t] = t;
  must(posenc1_write_rows(maker, positions, NULL, TOKENS, POSENC1_F32, cos_sin));
  posenc1_rows const rows = {.cos_sin = cos_sin, .tokens = TOKENS, .maker = maker},
                     last = {.cos_sin = cos_sin + (TOKENS - 1) * DIM, .tokens = 1, .maker = maker};
  posenc1_heads keys = {.data = k, .format = POSENC1_F32},
                values = {.data = v, .format = POSENC1_F32};
  posenc1_operand step = {
      .from = keys, .heads = KV_HEADS, .head_dim = DIM, .layout = POSENC1_HALVES};
  must(posenc1_rotate(&rows, &step, 1, 0, 1));
  step.from.data = q, step.heads = HEADS;
  must(posenc1_rotate(&last, &step, 1, 0, 1));

  /* Kept from step to step: a step changes the bounds of the page that it writes. */
  must(posenc1_page_bounds(&keys, TOKENS, KV_HEADS, DIM, PAGE_TOKENS, bounds));

  /* A page counts as much as the largest product that any of its keys may have with any query head.
   */
  double most[PAGES];
  size_t order[PAGES]; /* by that, the largest first */
  for (size_t p = 0; p < PAGES; ++p) {
    most[p] = -INFINITY;
    for (size_t h = 0; h < HEADS; ++h) {
      float(*const of)[DIM] = bounds[p][h * KV_HEADS / HEADS];
      double sum = 0;
      for (size_t i = 0; i < DIM; ++i)
        sum += fmax(q[h * DIM + i] * of[0][i], q[h * DIM + i] * of[1][i]);
      most[p] = fmax(most[p], sum);
    }
    size_t at = p;
    for (; at > 0 && most[order[at - 1]] < most[p]; --at) order[at] = order[at - 1];
    order[at] = p;
  }

  /* The kept share of the weights says what is lost: e^(log_sum_exp - that of all pages). */
  int right = 1;
  double of_all[HEADS], of_chosen[HEADS];
  for (size_t chosen = PAGES; chosen > 2; chosen /= 2) {
    int64_t slots[TOKENS];
    size_t seen[TOKENS];
    for (size_t i = 0; i < chosen * PAGE_TOKENS; ++i)
      seen[i] = order[i / PAGE_TOKENS] * PAGE_TOKENS + i % PAGE_TOKENS, slots[i] = (int64_t)seen[i];
    keys.slots = values.slots = slots, keys.pages = values.pages = PAGES;
    keys.page_tokens = values.page_tokens = PAGE_TOKENS;
    attend((posenc1_attention){.queries = {.data = q, .format = POSENC1_F32},
                               .outputs = {.data = out, .format = POSENC1_F32},
                               .keys = keys,
                               .values = values,
                               .tokens = chosen * PAGE_TOKENS,
                               .query_tokens = 1,
                               .heads = HEADS,
                               .kv_heads = KV_HEADS,
                               .head_dim = DIM,
                               .log_sum_exp = chosen == PAGES ? of_all : of_chosen});
    double share = 0;
    for (size_t h = 0; h < HEADS; ++h)
      share += (chosen == PAGES ? 1 : exp(of_chosen[h] - of_all[h])) / HEADS;
    printf("%zu of %d pages: %.2f of the weights\n", chosen, PAGES, share);
    right &= is_right(out, TOKENS - 1, TOKENS - 1, seen, NULL, chosen * PAGE_TOKENS);
  }
  puts(right ? "right" : "wrong");
  posenc1_row_maker_destroy(maker), posenc1_frequencies_destroy(f);
  return !right;
}
