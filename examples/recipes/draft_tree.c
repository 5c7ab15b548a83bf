/* Verify a draft: a tree of tokens (EAGLE, Medusa), of which one path is kept; then a block of
 * tokens that all see each other (DFlash). */
#include <string.h>

#include "must.h"
#include "plain_loops.h"

enum { CACHED = 20, DRAFTS = 6, BLOCK = 4, TREE = CACHED + DRAFTS, SLOTS = TREE + BLOCK };
static float q[(DRAFTS + BLOCK) * HEADS * DIM], k[SLOTS * KV_HEADS * DIM],
    v[SLOTS * KV_HEADS * DIM], cos_sin[SLOTS * DIM], out[(DRAFTS + BLOCK) * HEADS * DIM];

int main(void) {
  static size_t const parent[DRAFTS] = {19, 20, 20, 21, 21, 22}; /* slots: 19 is the last token */
  keys_of(0, SLOTS, KV_HEADS * DIM, k), values_of(0, SLOTS, KV_HEADS * DIM, v);
  queries_of(CACHED, DRAFTS + BLOCK, HEADS * DIM, q);

  /* A draft is one position after its parent, and sees itself and what its parent sees. */
  unsigned char sees[DRAFTS][TREE] = {{0}};
  int64_t positions[SLOTS];
  for (int64_t t = 0; t < CACHED; ++t) positions[t] = t;
  for (size_t d = 0; d < DRAFTS; ++d) {
    positions[CACHED + d] = positions[parent[d]] + 1;
    memset(sees[d], 1, CACHED);
    if (parent[d] >= CACHED) memcpy(sees[d], sees[parent[d] - CACHED], TREE);
    sees[d][CACHED + d] = 1;
  }
  static int64_t const path[] = {20, 22, 25}; /* what the target model accepts, by slot */
  for (int64_t i = 0; i < BLOCK; ++i) positions[TREE + i] = CACHED + 3 + i;

  posenc1_frequencies* f;
  posenc1_row_maker* maker;
  must(posenc1_frequencies_of_base(DIM, 10000, &f));
  must(posenc1_row_maker_create(f, 0, &maker));
  must(posenc1_write_rows(maker, positions, NULL, SLOTS, POSENC1_F32, cos_sin));
  posenc1_rows const rows = {.cos_sin = cos_sin, .tokens = SLOTS, .maker = maker},
                     of_queries = {.cos_sin = cos_sin + CACHED * DIM,
                                   .tokens = DRAFTS + BLOCK,
                                   .maker = maker};
  posenc1_operand step = {.from = {.data = k, .format = POSENC1_F32},
                          .heads = KV_HEADS,
                          .head_dim = DIM,
                          .layout = POSENC1_HALVES};
  must(posenc1_rotate(&rows, &step, 1, 0, 1));
  step.from.data = q, step.heads = HEADS;
  must(posenc1_rotate(&of_queries, &step, 1, 0, 1));
  posenc1_attention a = {.queries = {.data = q, .format = POSENC1_F32},
                         .outputs = {.data = out, .format = POSENC1_F32},
                         .keys = {.data = k, .format = POSENC1_F32},
                         .values = {.data = v, .format = POSENC1_F32},
                         .tokens = TREE,
                         .query_tokens = DRAFTS,
                         .heads = HEADS,
                         .kv_heads = KV_HEADS,
                         .head_dim = DIM,
                         .ahead = POSENC1_ALL_AHEAD,
                         .mask = {.data = sees, .type = POSENC1_CELL_BOOL}};
  attend(a);

  /* The next step reads the slots of the path. No key is copied or rotated again. */
  int64_t read[CACHED + 3 + BLOCK];
  for (int64_t t = 0; t < CACHED; ++t) read[t] = t;
  for (int64_t i = 0; i < 3; ++i) read[CACHED + i] = path[i];
  for (int64_t i = 0; i < BLOCK; ++i) read[CACHED + 3 + i] = TREE + i;
  a.queries.data = q + DRAFTS * HEADS * DIM, a.outputs.data = out + DRAFTS * HEADS * DIM;
  a.keys.slots = a.values.slots = read, a.keys.pages = a.values.pages = 1;
  a.keys.page_tokens = a.values.page_tokens = SLOTS;
  a.tokens = CACHED + 3 + BLOCK, a.query_tokens = BLOCK, a.mask.data = NULL;
  attend(a);

  int right = 1;
  for (size_t i = 0; i < DRAFTS + BLOCK; ++i) {
    size_t seen[SLOTS], n = 0;
    int64_t at[SLOTS];
    for (size_t t = 0; t < (i < DRAFTS ? TREE : a.tokens); ++t)
      if (i >= DRAFTS || sees[i][t]) seen[n++] = i < DRAFTS ? t : (size_t)read[t];
    for (size_t t = 0; t < n; ++t) at[t] = positions[seen[t]];
    right &= is_right(out + i * HEADS * DIM, CACHED + i, positions[CACHED + i], seen, at, n);
  }
  printf("%.3f %.3f %s\n", out[0], out[(DRAFTS + BLOCK) * HEADS * DIM - 1],
         right ? "right" : "wrong");
  posenc1_row_maker_destroy(maker), posenc1_frequencies_destroy(f);
  return !right;
}
