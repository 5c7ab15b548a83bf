/* Join, evict, renumber: cached keys move to other positions, where they lie. */
#include "must.h"
#include "plain_loops.h"

enum { SLOTS = 52 };
static float q[HEADS * DIM], k[SLOTS * KV_HEADS * DIM], v[SLOTS * KV_HEADS * DIM],
    cos_sin[SLOTS * DIM], out[HEADS * DIM];

int main(void) {
  posenc1_frequencies* f;
  posenc1_row_maker *maker, *mover;
  must(posenc1_frequencies_of_base(DIM, 10000, &f));
  must(posenc1_row_maker_create(f, 0, &maker));
  must(posenc1_rerotation_create(f, f, &mover));
  keys_of(0, SLOTS, KV_HEADS * DIM, k), values_of(0, SLOTS, KV_HEADS * DIM, v);

  /* A sequence of 40 tokens in slots 0 to 39, and another of 12 in slots 40 to 51. */
  int64_t positions[SLOTS];
  for (int64_t t = 0; t < SLOTS; ++t) positions[t] = t < 40 ? t : t - 40;
  must(posenc1_write_rows(maker, positions, NULL, SLOTS, POSENC1_F32, cos_sin));
  posenc1_rows rows = {.cos_sin = cos_sin, .tokens = SLOTS, .maker = maker};
  posenc1_operand keys = {.from = {.data = k, .format = POSENC1_F32},
                          .heads = KV_HEADS,
                          .head_dim = DIM,
                          .layout = POSENC1_HALVES};
  must(posenc1_rotate(&rows, &keys, 1, 0, 1));

  /* Tokens 10 to 19 go; what follows closes the gap, and the second sequence joins behind it. */
  int64_t left[SLOTS], moved[SLOTS], deltas[SLOTS];
  size_t lefts = 0, moves = 0;
  for (int64_t slot = 0; slot < SLOTS; ++slot) {
    if (slot < 10 || slot >= 20) left[lefts++] = slot;
    if (slot >= 20) moved[moves] = slot, deltas[moves++] = slot < 40 ? -10 : 30;
  }
  must(posenc1_write_rows(mover, deltas, NULL, moves, POSENC1_F32, cos_sin));
  posenc1_heads k_cache = {
      .data = k, .format = POSENC1_F32, .slots = moved, .pages = 13, .page_tokens = 4};
  rows.tokens = moves, rows.maker = mover, keys.from = k_cache;
  must(posenc1_rotate(&rows, &keys, 1, 0, 1));

  queries_of(SLOTS, 1, HEADS * DIM, q);
  must(posenc1_write_rows(maker, &(int64_t){42}, NULL, 1, POSENC1_F32, cos_sin));
  posenc1_heads const query = {.data = q, .format = POSENC1_F32};
  rows.tokens = 1, rows.maker = maker;
  must(posenc1_rotate(
      &rows,
      &(posenc1_operand){.from = query, .heads = HEADS, .head_dim = DIM, .layout = POSENC1_HALVES},
      1, 0, 1));
  k_cache.slots = left;
  posenc1_heads v_cache = k_cache;
  v_cache.data = v;
  attend((posenc1_attention){.queries = query,
                             .outputs = {.data = out, .format = POSENC1_F32},
                             .keys = k_cache,
                             .values = v_cache,
                             .tokens = lefts,
                             .query_tokens = 1,
                             .heads = HEADS,
                             .kv_heads = KV_HEADS,
                             .head_dim = DIM});

  size_t seen[SLOTS];
  for (size_t t = 0; t < lefts; ++t) seen[t] = (size_t)left[t], positions[t] = (int64_t)t;
  int const right = is_right(out, SLOTS, 42, seen, positions, lefts);
  printf("%.3f %.3f %s\n", out[0], out[HEADS * DIM - 1], right ? "right" : "wrong");
  posenc1_row_maker_destroy(maker), posenc1_row_maker_destroy(mover);
  posenc1_frequencies_destroy(f);
  return !right;
}
