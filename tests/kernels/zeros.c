/* What is not said: an error where models differ, and else what the header says. */
#include "numbers.h"

enum { TOKENS = 6, HEADS = 4, KV_HEADS = 2, DIM = 32, PAGE = 4, PAGES = 2 };

static float q[TOKENS * HEADS * DIM], k[TOKENS * KV_HEADS * DIM], v[TOKENS * KV_HEADS * DIM],
    outputs[TOKENS * HEADS * DIM], cache[PAGES * PAGE * KV_HEADS * DIM];
static int64_t const slots[TOKENS] = {4, 5, 6, 7, 0, 1};

static posenc1_heads floats(float* data) {
  return (posenc1_heads){.data = data, .format = POSENC1_F32};
}

/* Keys go into slots, or nowhere: without them, token 0 would be in slot 0, which is another's. */
static void test_slots(posenc1_rows const* rows) {
  posenc1_operand keys = {.from = floats(k),
                          .to = floats(cache),
                          .heads = KV_HEADS,
                          .head_dim = DIM,
                          .layout = POSENC1_HALVES};
  keys.to.pages = PAGES, keys.to.page_tokens = PAGE;
  for (size_t i = 0; i < sizeof cache / sizeof *cache; ++i) cache[i] = 7;
  MUST_REFUSE(
      posenc1_rotate(rows, &keys, 1, 0, 1),
      "operand 0.to: slots must be given where pages are, got null for 2 pages of 4 tokens");
  for (size_t i = 0; i < sizeof cache / sizeof *cache; ++i) MUST(cache[i] == 7);
  keys.to.slots = slots;
  MUST_WORK(posenc1_rotate(rows, &keys, 1, 0, 1));
  MUST(cache[0] != 7 && cache[2 * KV_HEADS * DIM] == 7);
  keys.to.format = POSENC1_INT8_PER_HEAD;
  keys.to.slots = NULL, keys.to.pages = keys.to.page_tokens = 0;
  MUST_REFUSE(posenc1_rotate(rows, &keys, 1, 0, 1),
              "scales must be given for this format where there are no slots");
}

/* A layout is said once: the target's is the source's. */
static void test_layout(posenc1_rows const* rows) {
  static float in_place[TOKENS * KV_HEADS * DIM];
  posenc1_operand x = {.from = floats(in_place), .heads = KV_HEADS, .head_dim = DIM};
  memcpy(in_place, k, sizeof in_place);
  MUST_REFUSE(posenc1_rotate(rows, &x, 1, 0, 1),
              "layout must be POSENC1_HALVES, POSENC1_INTERLEAVED or POSENC1_UNROTATED, got 0");
  MUST(memcmp(in_place, k, sizeof in_place) == 0);
  x.layout = POSENC1_INTERLEAVED;
  MUST_WORK(posenc1_rotate(rows, &x, 1, 0, 1));
  x.from = floats(k), x.to = floats(cache);
  MUST_WORK(posenc1_rotate(rows, &x, 1, 0, 1));
  MUST(memcmp(cache, in_place, sizeof in_place) == 0);
  x.factor = 1;
  MUST_WORK(posenc1_rotate(rows, &x, 1, 0, 1));
  MUST(memcmp(cache, in_place, sizeof in_place) == 0);
  x.to_layout = POSENC1_HALVES;
  MUST_WORK(posenc1_rotate(rows, &x, 1, 0, 1));
  MUST(memcmp(cache, in_place, sizeof in_place) != 0 && cache[1] == in_place[2]);
}

static void test_attention_of_zeros(void) {
  posenc1_attention good = {.queries = floats(q),
                            .outputs = floats(outputs),
                            .keys = floats(k),
                            .values = floats(v),
                            .tokens = TOKENS,
                            .query_tokens = TOKENS,
                            .heads = HEADS,
                            .kv_heads = KV_HEADS,
                            .head_dim = DIM};
  static float first[TOKENS * HEADS * DIM];
  static char memory[1 << 20];
  good.memory = memory, good.memory_bytes = sizeof memory;
#define MUST_REFUSE_WITH(change, words)                  \
  do {                                                   \
    posenc1_attention a = good;                          \
    change;                                              \
    MUST_REFUSE(posenc1_attend(&a, 0, SIZE_MAX), words); \
  } while (0)
  MUST_REFUSE_WITH(a.kv_heads = 0,
                   "posenc1_attend: kv_heads must be positive and below 2^32, got 0");
  MUST_REFUSE_WITH(a.query_tokens = 0, "posenc1_attend: query_tokens must be positive, got 0");
  MUST_REFUSE_WITH(a.queries.format = 0, "formats of queries and outputs must be ones of numbers");
  MUST_REFUSE_WITH(a.keys.format = 0,
                   "formats of keys and values must be ones of the header, got 0");
  MUST_REFUSE_WITH(a.mask.data = q, "mask: type must be one of the header, got 0");
  size_t bytes;
  MUST_REFUSE(posenc1_attention_memory_of(&good, 1, 0, &bytes),
              "workers must be at least 1, got 0");
  posenc1_worker const nobody = {.memory = memory, .memory_bytes = sizeof memory};
  MUST_REFUSE(posenc1_attend_as(&good, 1, &nobody), "index must be below count, got 0 of 0");
  /* A prompt sees no future: a key that changes changes nothing before it. */
  MUST_WORK(posenc1_attend(&good, 0, SIZE_MAX));
  memcpy(first, outputs, sizeof first);
  size_t const before_last = (size_t)(TOKENS - 1) * HEADS * DIM;
  k[(TOKENS - 1) * KV_HEADS * DIM] += 5;
  MUST_WORK(posenc1_attend(&good, 0, SIZE_MAX));
  MUST(memcmp(first, outputs, before_last * sizeof(float)) == 0);
  MUST(memcmp(first, outputs, sizeof first) != 0);
  memcpy(first, outputs, sizeof first);
  good.ahead = POSENC1_ALL_AHEAD;
  MUST_WORK(posenc1_attend(&good, 0, SIZE_MAX));
  MUST(memcmp(first, outputs, before_last * sizeof(float)) != 0);
  /* One key ahead is one. */
  posenc1_attention nearly = good;
  nearly.ahead = TOKENS - 1, nearly.outputs.data = first;
  MUST_WORK(posenc1_attend(&nearly, 0, SIZE_MAX));
  MUST(memcmp(first, outputs, sizeof first) == 0);
  /* The scale of 0 is 1 / sqrt(head_dim), the factor of 0 is 1. */
  nearly.scale = 1 / sqrt(DIM), nearly.factor = 1;
  MUST_WORK(posenc1_attend(&nearly, 0, SIZE_MAX));
  MUST(memcmp(first, outputs, sizeof first) == 0);
  nearly.scale = 0, nearly.factor = 2;
  MUST_WORK(posenc1_attend(&nearly, 0, SIZE_MAX));
  MUST(memcmp(first, outputs, sizeof first) != 0);
}

static void test_others(posenc1_rows const* rows) {
  posenc1_operand x = {.from = floats(k),
                       .to = {.data = cache, .format = POSENC1_INT8_STATIC},
                       .heads = KV_HEADS,
                       .head_dim = DIM,
                       .layout = POSENC1_HALVES};
  MUST_REFUSE(posenc1_rotate(rows, &x, 1, 0, 1),
              "operand 0.to: scale must be finite and positive as float, with a finite inverse, "
              "got 0");
  x.to.format = 0;
  MUST_REFUSE(posenc1_rotate(rows, &x, 1, 0, 1), "format must be one of the header, got 0");
  x.to.data = NULL, x.norm.eps = 1, x.norm.weight = v;
  MUST_REFUSE(posenc1_rotate(rows, &x, 1, 0, 1),
              "weight_format of the norm must be one of numbers");
  x.norm.weight = NULL;
  posenc1_rows of_batches = *rows;
  of_batches.tokens = TOKENS / 2, of_batches.batches = 2;
  MUST_REFUSE(posenc1_rotate(&of_batches, &x, 1, 0, 1),
              "there must be one row for each of 3 tokens, or of 2 times as many, got 0");
  of_batches.cos_sin = NULL;
  MUST_REFUSE(posenc1_rotate(&of_batches, &x, 1, 0, 1), "cos_sin must not be null");
  /* Values have no rows, and need none. */
  posenc1_rows const none = {.tokens = TOKENS};
  posenc1_operand values = {.from = floats(v),
                            .to = floats(cache),
                            .heads = KV_HEADS,
                            .head_dim = DIM,
                            .layout = POSENC1_UNROTATED};
  MUST_WORK(posenc1_rotate(&none, &values, 1, 0, 1));
  MUST(memcmp(cache, v, sizeof v) == 0);
  values.layout = POSENC1_HALVES;
  MUST_REFUSE(posenc1_rotate(&none, &values, 1, 0, 1), "pairs must be positive");
  values.layout = 0;
  MUST_REFUSE(posenc1_rotate(&none, &values, 1, 0, 1),
              "operand 0: layout must be POSENC1_HALVES, POSENC1_INTERLEAVED or POSENC1_UNROTATED");
}

void test_zeros(void) {
  posenc1_frequencies* f;
  posenc1_row_maker* maker;
  float cos_sin[TOKENS * DIM];
  int64_t const positions[TOKENS] = {1, 2, 3, 4, 5, 6};
  for (size_t i = 0; i < sizeof q / sizeof *q; ++i) q[i] = (float)((int)(i * 7 % 31) - 15) / 8;
  for (size_t i = 0; i < sizeof k / sizeof *k; ++i) k[i] = (float)((int)(i * 5 % 37) - 18) / 8;
  for (size_t i = 0; i < sizeof v / sizeof *v; ++i) v[i] = (float)((int)(i * 3 % 41) - 20) / 8;
  MUST_WORK(posenc1_frequencies_of_base(DIM, 10000, &f));
  MUST_WORK(posenc1_row_maker_create(f, 0, &maker));
  MUST_WORK(posenc1_write_rows(maker, positions, NULL, TOKENS, POSENC1_F32, cos_sin));
  posenc1_rows const rows = {.cos_sin = cos_sin, .tokens = TOKENS, .maker = maker};
  test_slots(&rows);
  test_layout(&rows);
  test_attention_of_zeros();
  test_others(&rows);
  posenc1_row_maker_destroy(maker), posenc1_frequencies_destroy(f);
}
