/* MLA, absorbed (DeepSeek, Kimi, GLM): a token has one latent of 512 dims and one rotated key of
 * 64, which all heads share. The cache has them side by side: the latent is the key's first part,
 * and the value. */
#include <math.h>

#include "must.h"
#include "plain_loops.h"

enum { TOKENS = 40 };
static float q[TOKENS * MLA_HEADS * MLA_DIM], k[TOKENS * MLA_DIM], cache[TOKENS * MLA_DIM],
    cos_sin[TOKENS * MLA_ROPE], out[TOKENS * MLA_HEADS * MLA_LATENT];

int main(void) {
  posenc1_frequencies* f;
  posenc1_row_maker* maker;
  must(posenc1_frequencies_of_base(MLA_ROPE, 10000, &f));
  must(posenc1_row_maker_create(f, 0, &maker));
  double const scale = 1 / sqrt(128 + MLA_ROPE); /* by the dims of a query before absorption */
  int right = 1;
  for (size_t first = 0, count = 38; first < TOKENS; first += count, count = 1) {
    queries_of(first, count, MLA_HEADS * MLA_DIM, q); /* of each head: W_uk^T q, then q_pe */
    keys_of(first, count, MLA_DIM, k);                /* the latent, then k_pe */
    int64_t positions[TOKENS];
    for (size_t t = 0; t < count; ++t) positions[t] = (int64_t)(first + t);
    must(posenc1_write_rows(maker, positions, NULL, count, POSENC1_F32, cos_sin));

    posenc1_rows const rows = {.cos_sin = cos_sin, .tokens = count, .maker = maker};
    posenc1_heads const queries = {.data = q, .format = POSENC1_F32};
    posenc1_operand const step[] = {{.from = queries,
                                     .heads = MLA_HEADS,
                                     .head_dim = MLA_DIM,
                                     .layout = POSENC1_INTERLEAVED,
                                     .first_dim = POSENC1_LAST_DIMS},
                                    {.from = {.data = k, .format = POSENC1_F32},
                                     .to = {.data = cache + first * MLA_DIM, .format = POSENC1_F32},
                                     .heads = 1,
                                     .head_dim = MLA_DIM,
                                     .layout = POSENC1_INTERLEAVED,
                                     .first_dim = POSENC1_LAST_DIMS}};
    must(posenc1_rotate(&rows, step, 2, 0, 1));
    posenc1_heads const keys = {.data = cache, .format = POSENC1_F32};
    posenc1_heads values = keys;
    values.token_stride = MLA_DIM * sizeof(float);
    attend((posenc1_attention){.queries = queries,
                               .outputs = {.data = out, .format = POSENC1_F32},
                               .keys = keys,
                               .values = values,
                               .tokens = first + count,
                               .query_tokens = count,
                               .heads = MLA_HEADS,
                               .kv_heads = 1,
                               .head_dim = MLA_DIM,
                               .value_dim = MLA_LATENT,
                               .scale = scale});

    for (size_t t = 0; t < count; ++t)
      right &= is_right_of_mla(out + t * MLA_HEADS * MLA_LATENT, first + t, scale);
  }
  printf("%.3f %.3f %s\n", out[0], out[MLA_HEADS * MLA_LATENT - 1], right ? "right" : "wrong");
  posenc1_row_maker_destroy(maker), posenc1_frequencies_destroy(f);
  return !right;
}
