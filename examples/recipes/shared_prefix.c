/* Several sequences whose prefix is shared: one pool of pages, a block table, one call. */
#include "must.h"
#include "plain_loops.h"

enum {
  PAGE_TOKENS = 8,
  PAGES = 7,
  PREFIX = 16,
  SEQUENCES = 3,
  TABLE = 4,
  MOST = TABLE * PAGE_TOKENS
};
static float q[SEQUENCES][HEADS * DIM], out[SEQUENCES][HEADS * DIM], k[MOST][KV_HEADS * DIM],
    v[MOST][KV_HEADS * DIM], cos_sin[MOST * DIM], k_pool[PAGES * PAGE_TOKENS * KV_HEADS * DIM],
    v_pool[PAGES * PAGE_TOKENS * KV_HEADS * DIM];

int main(void) {
  /* Pages 4 and 0 have the prefix, the others belong to one sequence each; -1: no page yet. */
  static int const table[SEQUENCES][TABLE] = {{4, 0, 2, 6}, {4, 0, 5, -1}, {4, 0, 3, -1}};
  static size_t const lengths[] = {27, 20, 17}, cached[] = {0, PREFIX, PREFIX};
  posenc1_frequencies* f;
  posenc1_row_maker* maker;
  must(posenc1_frequencies_of_base(DIM, 10000, &f));
  must(posenc1_row_maker_create(f, 0, &maker));
  int64_t slots[SEQUENCES][MOST], positions[MOST];
  size_t tokens[SEQUENCES][MOST]; /* 0 to 15 is the prefix, then each sequence has its tokens */
  posenc1_attention batch[SEQUENCES];
  for (size_t s = 0; s < SEQUENCES; ++s) {
    for (size_t t = 0; t < lengths[s]; ++t) {
      slots[s][t] = table[s][t / PAGE_TOKENS] * PAGE_TOKENS + (int64_t)(t % PAGE_TOKENS);
      positions[t] = (int64_t)t, tokens[s][t] = t < PREFIX ? t : 100 * s + t;
      keys_of(tokens[s][t], 1, KV_HEADS * DIM, k[t]),
          values_of(tokens[s][t], 1, KV_HEADS * DIM, v[t]);
    }
    size_t const first = cached[s], count = lengths[s] - first;
    queries_of(tokens[s][lengths[s] - 1], 1, HEADS * DIM, q[s]);
    must(posenc1_write_rows(maker, positions + first, NULL, count, POSENC1_F32, cos_sin));

    /* The first sequence writes the prefix too, the others what is behind it. */
    posenc1_heads k_cache = {.data = k_pool,
                             .format = POSENC1_F32,
                             .slots = slots[s] + first,
                             .pages = PAGES,
                             .page_tokens = PAGE_TOKENS};
    posenc1_heads v_cache = k_cache;
    v_cache.data = v_pool;
    posenc1_rows const rows = {.cos_sin = cos_sin, .tokens = count, .maker = maker};
    posenc1_operand const step[] = {{.from = {.data = k[first], .format = POSENC1_F32},
                                     .to = k_cache,
                                     .heads = KV_HEADS,
                                     .head_dim = DIM,
                                     .layout = POSENC1_HALVES},
                                    {.from = {.data = v[first], .format = POSENC1_F32},
                                     .to = v_cache,
                                     .heads = KV_HEADS,
                                     .head_dim = DIM,
                                     .layout = POSENC1_UNROTATED}};
    must(posenc1_rotate(&rows, step, 2, 0, 1));
    posenc1_rows const last = {.cos_sin = cos_sin + (count - 1) * DIM, .tokens = 1, .maker = maker};
    posenc1_operand const query = {.from = {.data = q[s], .format = POSENC1_F32},
                                   .heads = HEADS,
                                   .head_dim = DIM,
                                   .layout = POSENC1_HALVES};
    must(posenc1_rotate(&last, &query, 1, 0, 1));

    /* A query of each sequence, over its own slots. */
    k_cache.slots = v_cache.slots = slots[s];
    batch[s] = (posenc1_attention){.queries = query.from,
                                   .outputs = {.data = out[s], .format = POSENC1_F32},
                                   .keys = k_cache,
                                   .values = v_cache,
                                   .tokens = lengths[s],
                                   .query_tokens = 1,
                                   .heads = HEADS,
                                   .kv_heads = KV_HEADS,
                                   .head_dim = DIM};
  }
  posenc1_worker worker = {.index = 0, .count = 1}; /* of n threads, each with a barrier */
  must(posenc1_attention_memory_of(batch, SEQUENCES, 1, &worker.memory_bytes));
  worker.memory = malloc(worker.memory_bytes);
  must(posenc1_attend_as(batch, SEQUENCES, &worker));
  free(worker.memory);

  int right = 1;
  for (size_t t = 0; t < MOST; ++t) positions[t] = (int64_t)t;
  for (size_t s = 0; s < SEQUENCES; ++s)
    right &= is_right(out[s], tokens[s][lengths[s] - 1], positions[lengths[s] - 1], tokens[s],
                      positions, lengths[s]);
  printf("%.3f %.3f %s\n", out[0][0], out[SEQUENCES - 1][HEADS * DIM - 1],
         right ? "right" : "wrong");
  posenc1_row_maker_destroy(maker), posenc1_frequencies_destroy(f);
  return !right;
}
