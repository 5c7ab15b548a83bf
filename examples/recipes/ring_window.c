/* A window cache as a ring: a layer that sees the last 16 tokens keeps 20 of them, for steps of up
 * to 5 tokens. */
#include "must.h"
#include "plain_loops.h"

enum { WINDOW = 16, CAPACITY = 20, TOKENS = 64, MOST = 5 }; /* CAPACITY = WINDOW + MOST - 1 */
static float q[MOST * HEADS * DIM], k[MOST * KV_HEADS * DIM], v[MOST * KV_HEADS * DIM],
    cos_sin[MOST * DIM], k_ring[CAPACITY * KV_HEADS * DIM], v_ring[CAPACITY * KV_HEADS * DIM],
    out[MOST * HEADS * DIM];

int main(void) {
  posenc1_frequencies* f;
  posenc1_row_maker* maker;
  must(posenc1_frequencies_of_base(DIM, 10000, &f));
  must(posenc1_row_maker_create(f, 0, &maker));
  int right = 1;
  for (size_t first = 0, count = MOST; first < TOKENS; first += count) {
    if (first == 60) count = 1; /* a prompt in pieces of 5 tokens, then steps of one */
    queries_of(first, count, HEADS * DIM, q), keys_of(first, count, KV_HEADS * DIM, k);
    values_of(first, count, KV_HEADS * DIM, v);
    int64_t positions[MOST];
    for (size_t t = 0; t < count; ++t) positions[t] = (int64_t)(first + t);
    must(posenc1_write_rows(maker, positions, NULL, count, POSENC1_F32, cos_sin));

    int64_t written[MOST], read[CAPACITY];
    size_t const kept = first + count < CAPACITY ? first + count : CAPACITY;
    must(posenc1_ring_slots(first, count, CAPACITY, written));
    must(posenc1_ring_slots(first + count - kept, kept, CAPACITY, read));
    posenc1_heads k_cache = {
        .data = k_ring, .format = POSENC1_F32, .slots = written, .pages = 5, .page_tokens = 4};
    posenc1_heads v_cache = k_cache;
    v_cache.data = v_ring;
    posenc1_heads const queries = {.data = q, .format = POSENC1_F32};
    posenc1_rows const rows = {.cos_sin = cos_sin, .tokens = count, .maker = maker};
    posenc1_operand const step[] = {
        {.from = queries, .heads = HEADS, .head_dim = DIM, .layout = POSENC1_HALVES},
        {.from = {.data = k, .format = POSENC1_F32},
         .to = k_cache,
         .heads = KV_HEADS,
         .head_dim = DIM,
         .layout = POSENC1_HALVES},
        {.from = {.data = v, .format = POSENC1_F32},
         .to = v_cache,
         .heads = KV_HEADS,
         .head_dim = DIM,
         .layout = POSENC1_UNROTATED}};
    must(posenc1_rotate(&rows, step, 3, 0, 1));
    k_cache.slots = v_cache.slots = read;
    attend((posenc1_attention){.queries = queries,
                               .outputs = {.data = out, .format = POSENC1_F32},
                               .keys = k_cache,
                               .values = v_cache,
                               .tokens = kept,
                               .query_tokens = count,
                               .heads = HEADS,
                               .kv_heads = KV_HEADS,
                               .head_dim = DIM,
                               .behind = WINDOW});

    for (size_t t = first; t < first + count; ++t) {
      size_t seen[WINDOW], n = t + 1 < WINDOW ? t + 1 : WINDOW;
      for (size_t i = 0; i < n; ++i) seen[i] = t + 1 - n + i;
      right &= is_right(out + (t - first) * HEADS * DIM, t, (int64_t)t, seen, NULL, n);
    }
  }
  printf("%.3f %.3f %s\n", out[0], out[HEADS * DIM - 1], right ? "right" : "wrong");
  posenc1_row_maker_destroy(maker), posenc1_frequencies_destroy(f);
  return !right;
}
