/* posenc1_attention_backward: against differences of posenc1_attend in double, from caches and at
 * strides, in parts; and what it refuses. Its bits are cases of cases/. */
#include "numbers.h"

enum { TOKENS = 13, QUERIES = 5, KV_HEADS = 2, HEADS = 4, DIM = 32, VALUE_DIM = 32, PAGE = 4 };
enum { OF_Q = QUERIES * HEADS * DIM, OF_O = QUERIES * HEADS * VALUE_DIM };
enum { OF_K = TOKENS * KV_HEADS * DIM, OF_V = TOKENS * KV_HEADS * VALUE_DIM };

static double some(size_t i, size_t n) {
  return ((double)((13 * i + 7 * n + i * i * (n + 2)) % 97) - 48) / 48;
}

static void* memory_of(posenc1_attention* a, size_t first, size_t last) {
  MUST_WORK(posenc1_attention_backward_memory(a, first, last, &a->memory_bytes));
  a->memory = malloc(a->memory_bytes);
  MUST(a->memory != NULL);
  memset(a->memory, 0xff, a->memory_bytes);
  return a->memory;
}
/* An attention of these shapes, whose heads have this format. */
static posenc1_attention of_shapes(posenc1_format format, double* log_sum_exp) {
  posenc1_heads const heads = {.format = format};
  return (posenc1_attention){.queries = heads,
                             .outputs = heads,
                             .keys = heads,
                             .values = heads,
                             .tokens = TOKENS,
                             .query_tokens = QUERIES,
                             .heads = HEADS,
                             .kv_heads = KV_HEADS,
                             .head_dim = DIM,
                             .log_sum_exp = log_sum_exp};
}
static void attend(posenc1_attention a) {
  MUST_WORK(posenc1_attention_memory(&a, 0, SIZE_MAX, &a.memory_bytes));
  a.memory = malloc(a.memory_bytes);
  MUST_WORK(posenc1_attend(&a, 0, SIZE_MAX));
  free(a.memory);
}

/* ---- In double: sum of d_outputs outputs, whose difference divided by that of a number is its
 * gradient, but for the square of the difference and roundings. */

static double q[OF_Q], k[OF_K], v[OF_V], o[OF_O], d_o[OF_O], d_q[OF_Q], d_k[OF_K], d_v[OF_V],
    sums[QUERIES * HEADS];

static double loss(posenc1_attention const* a) {
  double sum = 0;
  attend(*a);
  for (size_t i = 0; i < OF_O; ++i) sum += d_o[i] * o[i];
  return sum;
}
static void check(char const* name, posenc1_attention const* a, double* numbers,
                  double const* gradients, size_t count) {
  double const step = 1e-5;
  for (size_t i = 0; i < count; i += 7) {
    double const here = numbers[i];
    numbers[i] = here + step;
    double const above = loss(a);
    numbers[i] = here - step;
    double const wanted = (above - loss(a)) / (2 * step);
    numbers[i] = here;
    if (!(fabs(gradients[i] - wanted) < 1e-7)) {
      printf("gradient %zu of %s is %.9g, must be %.9g\n", i, name, gradients[i], wanted);
      exit(1);
    }
  }
}

static void test_differences(void) {
  static float mask[QUERIES * TOKENS], bias[QUERIES * TOKENS], b[KV_HEADS * DIM];
  static double slopes[HEADS] = {0.5, 0.25, 0.125, 0.0625}, sinks[HEADS] = {-1, 0.5, 2, 0};
  posenc1_heads const doubles = {.format = POSENC1_F64};
  posenc1_attention a = of_shapes(POSENC1_F64, sums);
  a.queries.data = q, a.keys.data = k, a.values.data = v, a.outputs.data = o;
  posenc1_gradients d = {doubles, doubles, doubles, doubles};
  d.outputs.data = d_o, d.queries.data = d_q, d.keys.data = d_k, d.values.data = d_v;
  for (size_t i = 0; i < OF_Q; ++i) q[i] = 2 * some(i, 1);
  for (size_t i = 0; i < OF_K; ++i) k[i] = 2 * some(i, 2);
  for (size_t i = 0; i < OF_V; ++i) v[i] = some(i, 3);
  for (size_t i = 0; i < OF_O; ++i) d_o[i] = some(i, 4);
  for (size_t i = 0; i < KV_HEADS * DIM; ++i) b[i] = (float)some(i, 5);
  for (size_t i = 0; i < QUERIES * TOKENS; ++i)
    mask[i] = some(i, 6) < -0.75 ? -INFINITY : 0, bias[i] = (float)some(i, 7);
  posenc1_frequencies* f = NULL;
  posenc1_key_bias* key_bias = NULL;
  MUST_WORK(posenc1_frequencies_of_base(DIM, 100, &f));
  MUST_WORK(
      posenc1_key_bias_create(f, b, KV_HEADS, HEADS, DIM, POSENC1_INTERLEAVED, 0, 0, &key_bias));
  for (int all = 0; all < 3; ++all) {
    if (all > 0) {
      a.scale = 0.2, a.behind = 9, a.slopes = slopes, a.sinks = sinks;
      a.mask = (posenc1_cells){.data = mask, .type = POSENC1_CELL_F32};
      a.bias = (posenc1_cells){.data = bias, .type = POSENC1_CELL_F32};
      a.temperature = (posenc1_temperature){.rule = POSENC1_LOG_N_BY_POSITION, .length = 4};
    }
    if (all > 1) a.factor = 1.25, a.cap = 1.5, a.tau = 4, a.key_bias = key_bias;
    attend(a);
    void* const memory = memory_of(&a, 0, SIZE_MAX);
    if (all < 2)
      MUST_WORK_WITHOUT_MEMORY(posenc1_attention_backward(&a, &d, 0, SIZE_MAX));
    else
      MUST_WORK(posenc1_attention_backward(&a, &d, 0, SIZE_MAX));
    free(memory);
    check("queries", &a, q, d_q, OF_Q), check("keys", &a, k, d_k, OF_K);
    check("values", &a, v, d_v, OF_V);
  }
  posenc1_key_bias_destroy(key_bias), posenc1_frequencies_destroy(f);
}

/* ---- Of floats: keys and values in caches, gradients at strides, in parts */

static float x[OF_Q], keys[OF_K], y[OF_O], d_y[OF_O], d_x[OF_Q], d_keys[OF_K], d_values[OF_V];

static void test_views(void) {
  enum { GAP = 3 };
  static char pages[2][16 * KV_HEADS * DIM * 4];
  static int64_t slots[TOKENS];
  static float apart[OF_K * 3], of_part[OF_Q];
  for (size_t i = 0; i < OF_Q; ++i) x[i] = (float)some(i, 1);
  for (size_t i = 0; i < OF_O; ++i) d_y[i] = (float)some(i, 4);
  for (size_t t = 0; t < TOKENS; ++t) slots[t] = (int64_t)(3 - t / PAGE) * PAGE + (int64_t)t % PAGE;
  posenc1_rows const rows = {.tokens = TOKENS};
  for (int format = POSENC1_F16; format <= POSENC1_IQ4_NL; ++format) {
    if (format == POSENC1_DEEPSEEK_V4 || format == POSENC1_DEEPSEEK_V4_CPU) continue;
    int const has_scale = (format >= POSENC1_INT8_STATIC && format <= POSENC1_E4M3_TRUNCATED) ||
                          format == POSENC1_INT4_STATIC;
    posenc1_attention a = of_shapes(POSENC1_F32, sums);
    a.queries.data = x, a.outputs.data = y;
    for (int side = 0; side < 2; ++side) {
      posenc1_heads* const cache = side == 0 ? &a.keys : &a.values;
      *cache = (posenc1_heads){.data = pages[side],
                               .format = (posenc1_format)format,
                               .slots = slots,
                               .pages = 4,
                               .page_tokens = PAGE,
                               .scale = has_scale ? 0.0625 : 0};
      for (size_t i = 0; i < OF_K; ++i) keys[i] = (float)some(i, 2 + (size_t)side);
      posenc1_operand const write = {.from = {.data = keys, .format = POSENC1_F32},
                                     .to = *cache,
                                     .heads = KV_HEADS,
                                     .head_dim = DIM,
                                     .layout = POSENC1_UNROTATED};
      MUST_WORK(posenc1_rotate(&rows, &write, 1, 0, 1));
    }
    posenc1_gradients d = {{.data = d_y, .format = POSENC1_F32},
                           {.data = d_x, .format = POSENC1_F32},
                           {.data = d_keys, .format = POSENC1_F32},
                           {.data = d_values, .format = POSENC1_F32}};
    attend(a);
    void* memory = memory_of(&a, 0, SIZE_MAX);
    MUST_WORK_WITHOUT_MEMORY(posenc1_attention_backward(&a, &d, 0, SIZE_MAX));
    free(memory);

    /* Keys of the cache as floats have the same gradients; written backwards, with gaps that stay,
     * by a call for each kv head. */
    static float decoded[2][OF_K];
    for (int side = 0; side < 2; ++side) {
      posenc1_operand const read = {.from = side == 0 ? a.keys : a.values,
                                    .to = {.data = decoded[side], .format = POSENC1_F32},
                                    .heads = KV_HEADS,
                                    .head_dim = DIM,
                                    .layout = POSENC1_UNROTATED};
      MUST_WORK(posenc1_rotate(&rows, &read, 1, 0, 1));
    }
    a.keys = (posenc1_heads){.data = decoded[0], .format = POSENC1_F32};
    a.values = (posenc1_heads){.data = decoded[1], .format = POSENC1_F32};
    ptrdiff_t const head = (DIM + GAP) * sizeof(float), token = -KV_HEADS * head;
    d.queries.data = of_part;
    d.keys = (posenc1_heads){.data = apart + (TOKENS - 1) * KV_HEADS * (DIM + GAP),
                             .format = POSENC1_F32,
                             .token_stride = token,
                             .head_stride = head};
    for (size_t i = 0; i < sizeof apart / sizeof *apart; ++i) apart[i] = 99;
    for (size_t n = KV_HEADS; n-- > 0;) {
      memory = memory_of(&a, n, n + 1);
      MUST_WORK(posenc1_attention_backward(&a, &d, n, n + 1));
      free(memory);
    }
    MUST(memcmp(of_part, d_x, sizeof d_x) == 0);
    for (size_t t = 0; t < TOKENS; ++t) {
      for (size_t h = 0; h < KV_HEADS; ++h) {
        float const* const from = apart + ((TOKENS - 1 - t) * KV_HEADS + h) * (DIM + GAP);
        MUST(memcmp(from, d_keys + (t * KV_HEADS + h) * DIM, DIM * sizeof(float)) == 0);
        MUST(from[DIM] == 99 && from[DIM + GAP - 1] == 99);
      }
    }
  }
}

static int is_untouched(void const* memory, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if (((unsigned char const*)memory)[i] != 0xff) return 0;
  return 1;
}

static void test_refusals(void) {
  static char memory[1 << 18];
  static int64_t slots[TOKENS];
  posenc1_heads const floats = {.format = POSENC1_F32};
  posenc1_attention good = of_shapes(POSENC1_F32, sums);
  good.queries.data = x, good.outputs.data = y, good.keys.data = good.values.data = keys;
  good.memory = memory;
  posenc1_gradients all = {floats, floats, floats, floats};
  all.outputs.data = d_y, all.queries.data = d_x, all.keys.data = d_keys;
  all.values.data = d_values;
  MUST_WORK(posenc1_attention_backward_memory(&good, 0, SIZE_MAX, &good.memory_bytes));
  MUST(good.memory_bytes <= sizeof memory);
  memset(d_x, 0xff, sizeof d_x), memset(d_keys, 0xff, sizeof d_keys);
  memset(d_values, 0xff, sizeof d_values);
#define MUST_REFUSE_WITH(change, words)                                         \
  do {                                                                          \
    posenc1_attention a = good;                                                 \
    posenc1_gradients d = all;                                                  \
    change;                                                                     \
    MUST_REFUSE(posenc1_attention_backward(&a, &d, 0, SIZE_MAX),                \
                "posenc: posenc1_attention_backward: " words);                  \
    MUST(is_untouched(d_x, sizeof d_x) && is_untouched(d_keys, sizeof d_keys)); \
    MUST(is_untouched(d_values, sizeof d_values));                              \
  } while (0)
  MUST_REFUSE_WITH(a.memory_bytes -= 1; (void)d, "memory must have ");
  MUST_REFUSE_WITH(a.memory = NULL; (void)d, "memory must not be null");
  MUST_REFUSE_WITH(a.log_sum_exp = NULL; (void)d, "log_sum_exp must not be null");
  MUST_REFUSE_WITH(a.kv_heads = 3; (void)d, "kv_heads must divide heads, got 3");
  MUST_REFUSE_WITH(a.cap = -1; (void)d, "cap must be finite and positive, got -1");
  MUST_REFUSE_WITH(a.queries.slots = slots; (void)d, "queries and outputs must have no slots");
  MUST_REFUSE_WITH(a.keys.slots = slots; a.keys.pages = 1; a.keys.page_tokens = TOKENS;
                   slots[3] = -1; (void)d, "keys and values must all have a slot");
  MUST_REFUSE_WITH(d.queries.slots = slots; (void)a, "gradients must have no slots");
  MUST_REFUSE_WITH(d.outputs.format = POSENC1_F64;
                   (void)a,
                   "gradients of outputs must be numbers that are no doubles, got format 2");
  MUST_REFUSE_WITH(d.outputs.format = POSENC1_Q8_0;
                   (void)a,
                   "gradients of outputs must be numbers that are no doubles, got format 6");
  MUST_REFUSE_WITH(d.queries.format = POSENC1_BF16;
                   (void)a,
                   "gradients of queries: format must be 1 as numbers are computed, got 4");
  MUST_REFUSE_WITH(d.values.format = POSENC1_F64;
                   (void)a, "gradients of values: format must be 1 as numbers are computed, got 2");
  MUST_REFUSE_WITH(d.outputs.data = NULL; (void)a, "gradients of outputs: data must not be null");
  MUST_REFUSE_WITH(d.keys.data = NULL; (void)a, "gradients of keys: data must not be null");
  MUST_REFUSE_WITH(d.keys.head_stride = 6;
                   (void)a,
                   "gradients of keys: strides must be multiples of the 4 bytes of an element");
  MUST_REFUSE_WITH(d.keys.head_stride = 4; (void)a, "gradients of keys: ");
  posenc1_cells const added = {.data = d_x, .type = POSENC1_CELL_F32};
#define MUST_NOT_OVERLAP(change)                                                     \
  MUST_REFUSE_WITH(change,                                                           \
                   "gradients of queries, keys and values, and memory must overlap " \
                   "nothing")
  MUST_NOT_OVERLAP(d.queries.data = x; (void)a);
  MUST_NOT_OVERLAP(d.queries.data = y; (void)a);
  MUST_NOT_OVERLAP(d.queries.data = d_y; (void)a);
  MUST_NOT_OVERLAP(d.queries.data = memory; (void)a);
  MUST_NOT_OVERLAP(d.outputs.data = memory; (void)a);
  MUST_NOT_OVERLAP(d.keys.data = keys; (void)a);
  MUST_NOT_OVERLAP(d.values.data = d_keys; (void)a);
  MUST_NOT_OVERLAP(a.log_sum_exp = (double*)(void*)d_x; (void)d);
  MUST_NOT_OVERLAP(a.sinks = (double*)(void*)d_x; (void)d);
  MUST_NOT_OVERLAP(a.mask = added; (void)d);
  MUST_REFUSE(posenc1_attention_backward(&good, &all, 3, SIZE_MAX), "first must be at most");
  MUST_REFUSE(posenc1_attention_backward(NULL, &all, 0, 0), "attention must not be null");
  MUST_REFUSE(posenc1_attention_backward(&good, NULL, 0, 0), "gradients must not be null");
  MUST_REFUSE(posenc1_attention_backward_memory(&good, 0, 1, NULL), "bytes must not be null");
  MUST_REFUSE(posenc1_attention_backward_memory(NULL, 0, 1, &good.memory_bytes),
              "attention must not be null");
  posenc1_attention huge = good;
  huge.tokens = SIZE_MAX / 8;
  MUST_REFUSE(posenc1_attention_backward_memory(&huge, 0, 1, &good.memory_bytes),
              "heads must fit into memory");
  MUST_WORK(posenc1_attention_backward(&good, &all, 2, 2));
  MUST(is_untouched(d_x, sizeof d_x));
  /* Of no keys gradients are 0, and those of keys are nowhere; scores are not looked at. */
  good.tokens = 0, good.scores = d_y, good.weights = (char*)d_y + 1;
  all.keys.data = all.values.data = NULL;
  MUST_WORK(posenc1_attention_backward(&good, &all, 0, SIZE_MAX));
  for (size_t i = 0; i < OF_Q; ++i) MUST(d_x[i] == 0);
}

void test_gradients(void) {
  test_differences();
  test_views();
  test_refusals();
}
