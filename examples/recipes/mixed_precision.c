/* Sinks and a window in full precision, the rest in few bits: two calls and a merge. */
#include <math.h>

#include "must.h"
#include "plain_loops.h"

enum { SINKS = 4, WINDOW = 16, TOKENS = 100, FULL = SINKS + WINDOW, FEW = TOKENS - FULL };
static float q[HEADS * DIM], k[KV_HEADS * DIM], v[KV_HEADS * DIM], cos_sin[DIM], out[HEADS * DIM],
    of_few[HEADS * DIM], k_full[FULL * KV_HEADS * DIM], v_full[FULL * KV_HEADS * DIM],
    read_k[TOKENS * KV_HEADS * DIM], read_v[TOKENS * KV_HEADS * DIM];
static unsigned char k_few[FEW * KV_HEADS * DIM], v_few[FEW * KV_HEADS * DIM]; /* 9 / 16 is used */

static posenc1_operand heads_of(void* from, posenc1_format of, void* to, posenc1_format as) {
  return (posenc1_operand){.from = {.data = from, .format = of},
                           .to = {.data = to, .format = as},
                           .heads = KV_HEADS,
                           .head_dim = DIM,
                           .layout = POSENC1_UNROTATED};
}

int main(void) {
  posenc1_frequencies* f;
  posenc1_row_maker* maker;
  size_t bytes, scale_bytes;
  must(posenc1_frequencies_of_base(DIM, 10000, &f));
  must(posenc1_row_maker_create(f, 0, &maker));
  must(posenc1_format_bytes(POSENC1_Q4_0, DIM, &bytes, &scale_bytes));
  posenc1_rows rows = {.cos_sin = cos_sin, .tokens = 1, .maker = maker};
  for (size_t t = 0; t < TOKENS; ++t) {
    queries_of(t, 1, HEADS * DIM, q), keys_of(t, 1, KV_HEADS * DIM, k);
    values_of(t, 1, KV_HEADS * DIM, v);
    must(posenc1_write_rows(maker, &(int64_t){(int64_t)t}, NULL, 1, POSENC1_F32, cos_sin));
    /* Slots 0 to 3 are the sinks; behind them the window is a ring. */
    int64_t slot = (int64_t)t;
    if (t >= SINKS) must(posenc1_ring_slots(t - SINKS, 1, WINDOW, &slot)), slot += SINKS;
    float *const k_slot = k_full + slot * KV_HEADS * DIM, *const v_slot =
                                                              v_full + slot * KV_HEADS * DIM;
    if (t >= FULL) { /* the token that leaves the window goes into few bits */
      size_t const at = (t - FULL) * KV_HEADS * bytes;
      posenc1_operand const leave[] = {heads_of(k_slot, POSENC1_F32, k_few + at, POSENC1_Q4_0),
                                       heads_of(v_slot, POSENC1_F32, v_few + at, POSENC1_Q4_0)};
      must(posenc1_rotate(&rows, leave, 2, 0, 1));
    }
    posenc1_operand step[] = {{.from = {.data = q, .format = POSENC1_F32},
                               .heads = HEADS,
                               .head_dim = DIM,
                               .layout = POSENC1_HALVES},
                              heads_of(k, POSENC1_F32, k_slot, POSENC1_F32),
                              heads_of(v, POSENC1_F32, v_slot, POSENC1_F32)};
    step[1].layout = POSENC1_HALVES;
    must(posenc1_rotate(&rows, step, 3, 0, 1));
  }

  double a_sum[HEADS], b_sum[HEADS];
  posenc1_attention a = {.queries = {.data = q, .format = POSENC1_F32},
                         .outputs = {.data = out, .format = POSENC1_F32},
                         .keys = {.data = k_full, .format = POSENC1_F32},
                         .values = {.data = v_full, .format = POSENC1_F32},
                         .tokens = FULL,
                         .query_tokens = 1,
                         .heads = HEADS,
                         .kv_heads = KV_HEADS,
                         .head_dim = DIM,
                         .log_sum_exp = a_sum};
  attend(a);
  a.keys = (posenc1_heads){.data = k_few, .format = POSENC1_Q4_0}, a.values = a.keys;
  a.values.data = v_few, a.outputs.data = of_few, a.tokens = FEW, a.log_sum_exp = b_sum;
  attend(a);
  for (size_t i = 0; i < HEADS * DIM; ++i) {
    double const share = 1 / (1 + exp(b_sum[i / DIM] - a_sum[i / DIM])); /* of the weights */
    out[i] = (float)(share * out[i] + (1 - share) * of_few[i]);
  }

  /* The same keys and values as numbers. */
  float *const rest_k = read_k + FULL * KV_HEADS * DIM, *const rest_v =
                                                            read_v + FULL * KV_HEADS * DIM;
  posenc1_operand const full[] = {heads_of(k_full, POSENC1_F32, read_k, POSENC1_F32),
                                  heads_of(v_full, POSENC1_F32, read_v, POSENC1_F32)},
                        few[] = {heads_of(k_few, POSENC1_Q4_0, rest_k, POSENC1_F32),
                                 heads_of(v_few, POSENC1_Q4_0, rest_v, POSENC1_F32)};
  must(posenc1_rotate(&(posenc1_rows){.tokens = FULL}, full, 2, 0, 1));
  must(posenc1_rotate(&(posenc1_rows){.tokens = FEW}, few, 2, 0, 1));
  int const right = is_right_over(out, q, read_k, read_v, TOKENS);
  printf("%.3f %.3f %s\n", out[0], out[HEADS * DIM - 1], right ? "right" : "wrong");
  posenc1_row_maker_destroy(maker), posenc1_frequencies_destroy(f);
  return !right;
}
