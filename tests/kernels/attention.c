/* posenc1_attend over every pair of formats, against plain loops in double; and what it refuses.
 * What it is asked, and numbers of every type, are cases of cases/. */
#include "numbers.h"

enum { TOKENS = 37, KV_HEADS = 2, GROUPS = 4, DIM = 40, VALUE_DIM = 23, PAGES = 11, PAGE = 4 };

static double sixteenth(size_t a, size_t b, size_t c) {
  return ((int)((a * 11 + b * 5 + c * 7 + a * b) % 49) - 24) / 16.0;
}
static double query(size_t head, size_t dim) { return sixteenth(head + 3, dim, 1); }
/* Every page in another order; every sixth token is not there. */
static int64_t slot_of(size_t token) {
  return token % 6 == 5 ? -1 : (int64_t)((token / PAGE * 4 + 2) % PAGES * PAGE + token % PAGE);
}

static void test_refusals(void) {
  static float keys[PAGES * PAGE * KV_HEADS * DIM], queries[2 * KV_HEADS * DIM],
      outputs[2 * KV_HEADS * DIM], before[2 * KV_HEADS * DIM];
  static int64_t slots[TOKENS];
  static char memory[1 << 16];
  for (size_t t = 0; t < TOKENS; ++t) slots[t] = slot_of(t);
  posenc1_heads const cache = {
      .data = keys, .format = POSENC1_F32, .slots = slots, .pages = PAGES, .page_tokens = PAGE};
  posenc1_attention good = {.queries = {.data = queries, .format = POSENC1_F32},
                            .outputs = {.data = outputs, .format = POSENC1_F32},
                            .keys = cache,
                            .values = cache,
                            .tokens = TOKENS,
                            .query_tokens = 1,
                            .heads = 2 * KV_HEADS,
                            .kv_heads = KV_HEADS,
                            .head_dim = DIM};
  size_t bytes = 0;
  MUST_WORK(posenc1_attention_memory(&good, 0, SIZE_MAX, &bytes));
  MUST(bytes <= sizeof memory);
  good.memory = memory, good.memory_bytes = bytes;
  memset(outputs, 0xff, sizeof outputs), memcpy(before, outputs, sizeof outputs);
#define MUST_REFUSE_WITH(change, words)                  \
  do {                                                   \
    posenc1_attention a = good;                          \
    change;                                              \
    MUST_REFUSE(posenc1_attend(&a, 0, SIZE_MAX), words); \
  } while (0)
  MUST_REFUSE_WITH(a.memory_bytes = bytes - 1, "memory must have");
  MUST_REFUSE_WITH(a.memory = NULL, "posenc1_attend: memory must not be null");
  MUST_REFUSE_WITH(a.kv_heads = 3, "kv_heads must divide heads, got 3 kv heads for 4 heads");
  MUST_REFUSE_WITH(a.heads = 0, "heads must be positive");
  MUST_REFUSE_WITH(a.head_dim = 0, "head_dim must be positive");
  MUST_REFUSE_WITH(a.keys.format = POSENC1_F64, "doubles alone or not at all, got formats 1, 2, 1");
  MUST_REFUSE_WITH(a.values.format = POSENC1_F64, "doubles alone or not at all");
  MUST_REFUSE_WITH(a.queries.format = POSENC1_F64, "doubles alone or not at all");
  MUST_REFUSE_WITH(a.outputs.format = POSENC1_F64, "doubles alone or not at all");
  MUST_REFUSE_WITH(a.queries.format = POSENC1_Q8_0, "must be ones of numbers, got 6 and 1");
  MUST_REFUSE_WITH(a.keys.format = (posenc1_format)22, "must be ones of the header, got 22 and 1");
  MUST_REFUSE_WITH(a.values.data = NULL, "data of values must not be null");
  MUST_REFUSE_WITH(a.queries.slots = slots, "must have no slots");
  MUST_REFUSE_WITH(a.outputs.slots = slots, "must have no slots");
  MUST_REFUSE_WITH(a.scale = NAN, "scale must be finite");
  MUST_REFUSE_WITH(a.keys.pages = 3, "a slot must be below 12 (3 pages of 4 tokens), got");
  MUST_REFUSE_WITH(a.values.pages = 3, "a slot must be below 12 (3 pages of 4 tokens), got");
  MUST_REFUSE_WITH(a.values.token_stride = 6,
                   "values: strides must be multiples of the 4 bytes of an element, got 0, 6 and");
  MUST_REFUSE_WITH(a.queries.data = (char*)queries + 2,
                   "queries: data must begin at a multiple of the 4 bytes of an element, got a "
                   "remainder of 2");
  MUST_REFUSE_WITH(a.keys.page_tokens = 0,
                   "keys: pages must have tokens and fit into memory, got 11 of 0");
  posenc1_cells const odd = {.data = (char*)queries + 2, .type = POSENC1_CELL_F32};
  MUST_REFUSE_WITH(a.mask = odd, "mask: data must begin at a multiple of the 4 bytes of a cell");
  MUST_REFUSE_WITH(a.mask = odd; a.mask.data = queries;
                   a.mask.head_stride = 2,
                   "mask: strides must be multiples of the 4 bytes of a cell, got 0, 2 and 0");
  MUST_REFUSE_WITH(a.temperature.rule = POSENC1_SSMAX, "temperature: scales must not be null");
  MUST_REFUSE_WITH(a.outputs.data = queries, "must overlap nothing");
  MUST_REFUSE_WITH(a.outputs.data = memory, "must overlap nothing");
  MUST_REFUSE_WITH(a.memory = keys, "must overlap nothing");
  MUST_REFUSE_WITH(a.sinks = (double*)(void*)memory, "must overlap nothing");
  MUST_REFUSE_WITH(a.values.slots = memcpy(memory, slots, sizeof slots), "must overlap nothing");
  MUST_REFUSE_WITH(a.outputs.head_stride = 4, "must not overlap");
  posenc1_attention huge = good;
  huge.tokens = SIZE_MAX / 8;
  MUST_REFUSE(posenc1_attention_memory(&huge, 0, 1, &bytes), "heads must fit into memory");
  MUST_REFUSE(posenc1_attend(&good, 3, SIZE_MAX), "first must be at most");
  MUST_REFUSE(posenc1_attend(NULL, 0, 0), "must not be null");
  MUST_REFUSE(posenc1_attention_memory(&good, 0, 1, NULL), "must not be null");
  MUST(memcmp(outputs, before, sizeof outputs) == 0);
  MUST_WORK(posenc1_attend(&good, 2, 2));
  MUST(memcmp(outputs, before, sizeof outputs) == 0);
  MUST_WORK(posenc1_attend(&good, 0, SIZE_MAX));
  /* The scale and the factor are two fields, of one product. */
  static float by_factor[2 * KV_HEADS * DIM];
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) keys[i] = (float)sixteenth(i, 1, 2);
  for (size_t i = 0; i < sizeof queries / sizeof *queries; ++i)
    queries[i] = (float)sixteenth(i, 2, 3);
  good.scale = 0.5;
  MUST_WORK(posenc1_attend(&good, 0, SIZE_MAX));
  good.scale = 0.125, good.factor = 4, good.outputs.data = by_factor;
  MUST_WORK(posenc1_attend(&good, 0, SIZE_MAX));
  MUST(memcmp(outputs, by_factor, sizeof outputs) == 0 && outputs[0] != outputs[1]);
}

/* ---- Encoded keys and values: against what posenc1_rotate decodes. Tokens are attended to
 * that have both slots. */

enum { FORMATS = 22, CACHED = 150, CACHE_PAGES = 12, CACHE_PAGE = 16, MOST_DIM = 128 };
/* Beside the formats: numbers that lie one behind the other. */
enum { VIEW = FORMATS };
enum { CACHE_HEADS = CACHE_PAGES * CACHE_PAGE * KV_HEADS, CACHE_ROOM = CACHE_HEADS * MOST_DIM * 4 };

struct cached {
  double codes[CACHE_ROOM / sizeof(double) + 1], scales[CACHE_HEADS]; /* aligned for all types */
  int64_t slots[CACHED];
  float decoded[CACHED][KV_HEADS][MOST_DIM];
  posenc1_heads cache;
};

/* Tails of every register where the format has such heads. */
static size_t dim_of_format(int format, size_t otherwise) {
  if (format == POSENC1_DEEPSEEK_V4 || format == POSENC1_DEEPSEEK_V4_CPU) return 128;
  if (format == POSENC1_INT4_PER_HEAD || format == POSENC1_INT4_STATIC) return otherwise / 2 * 2;
  int const has_blocks = format == POSENC1_Q8_0 || format == POSENC1_Q8_0_AVX2 ||
                         (format >= POSENC1_Q4_0 && format <= POSENC1_IQ4_NL);
  return has_blocks ? 96 : otherwise;
}

/* Strided: pages backwards, heads outside tokens, scales elsewhere, codes at an odd address. */
static void encode(struct cached* c, int format, size_t dim, int strided, int salt) {
  static float numbers[CACHED * KV_HEADS * MOST_DIM];
  size_t bytes, of_scales;
  memset(c, 0xff, sizeof *c);
  for (size_t t = 0; t < CACHED; ++t) {
    c->slots[t] = (int)(t % 6) == salt ? -1 : (int64_t)((t * 5 + 3) % (CACHE_PAGES * CACHE_PAGE));
    for (size_t i = 0; i < KV_HEADS * dim; ++i)
      numbers[t * KV_HEADS * dim + i] = (float)sixteenth(t + (size_t)salt, i / dim, i % dim);
  }
  if (format == VIEW) {
    memcpy(c->codes, numbers, sizeof numbers);
    for (size_t i = 0; i < CACHED * KV_HEADS; ++i) {
      memcpy(c->decoded[i / KV_HEADS][i % KV_HEADS], numbers + i * dim, dim * sizeof(float));
      c->slots[i / KV_HEADS] = 0;
    }
    c->cache = (posenc1_heads){.data = c->codes, .format = POSENC1_F32};
    return;
  }
  MUST_WORK(posenc1_format_bytes((posenc1_format)format, dim, &bytes, &of_scales));
  c->cache = (posenc1_heads){.data = c->codes,
                             .format = (posenc1_format)format,
                             .slots = c->slots,
                             .pages = CACHE_PAGES,
                             .page_tokens = CACHE_PAGE};
  if (format >= POSENC1_INT8_STATIC && format <= POSENC1_E4M3_TRUNCATED) c->cache.scale = 0.046875;
  if (format == POSENC1_INT4_STATIC) c->cache.scale = 0.25;
  if (strided) {
    ptrdiff_t const head = (ptrdiff_t)bytes * CACHE_PAGE, page = KV_HEADS * head;
    c->cache.data = (char*)c->codes + (format > POSENC1_BF16) + (CACHE_PAGES - 1) * page;
    c->cache.page_stride = -page, c->cache.token_stride = (ptrdiff_t)bytes;
    c->cache.head_stride = head;
    if (of_scales != 0) c->cache.scales = (char*)c->scales + 1;
  }
  posenc1_rows const rows = {.tokens = CACHED};
  posenc1_operand values = {.from = {.data = numbers, .format = POSENC1_F32},
                            .to = c->cache,
                            .heads = KV_HEADS,
                            .head_dim = dim,
                            .layout = POSENC1_UNROTATED};
  MUST_WORK(posenc1_rotate(&rows, &values, 1, 0, 1));
  static float read[CACHED * KV_HEADS * MOST_DIM];
  values.from = c->cache, values.to = (posenc1_heads){.data = read, .format = POSENC1_F32};
  MUST_WORK(posenc1_rotate(&rows, &values, 1, 0, 1));
  for (size_t i = 0; i < CACHED * KV_HEADS; ++i)
    memcpy(c->decoded[i / KV_HEADS][i % KV_HEADS], read + i * dim, dim * sizeof(float));
}

static void check_cached(struct cached const* k, struct cached const* v, posenc1_attention const* a,
                         float const* output, size_t head) {
  double scores[CACHED], wanted[MOST_DIM] = {0}, largest = 0, sum = 0, most = 0;
  double const scale = 1 / sqrt((double)a->head_dim);
  size_t const kv = head / (a->heads / KV_HEADS);
  for (size_t t = 0; t < CACHED; ++t) {
    double magnitude = 0;
    scores[t] = 0;
    for (size_t d = 0; d < a->head_dim; ++d) {
      double const product = scale * query(head, d) * k->decoded[t][kv][d];
      scores[t] += product, magnitude += fabs(product);
    }
    if (k->slots[t] >= 0 && v->slots[t] >= 0) largest = fmax(largest, magnitude);
  }
  for (size_t t = 0; t < CACHED; ++t) {
    if (k->slots[t] < 0 || v->slots[t] < 0) continue;
    double const weight = exp(scores[t] - largest);
    sum += weight;
    for (size_t d = 0; d < a->value_dim; ++d)
      wanted[d] += weight * v->decoded[t][kv][d], most = fmax(most, fabs(v->decoded[t][kv][d]));
  }
  for (size_t d = 0; d < a->value_dim; ++d) {
    /* Roundings. A score: of scale, products and as many sums, of magnitudes that sum to `largest`;
     * its exponent, of at most twice that, by one more, and by 2 and itself in the exponential;
     * three more where scales are multiplied by sums of codes. Both of a weight and of the sum of
     * weights. Then products and sums of values of at most `most`. */
    double const roundings =
                     2 * ((double)(a->head_dim + 5) * largest + 4 * largest + 2) + 2 * CACHED + 7,
                 bound = most * roundings * 0x1p-24;
    if (!(fabs(output[d] - wanted[d] / sum) <= bound)) {
      printf("attention of formats %d, %d, head %zu dim %zu is %.9g, must be %.9g\n",
             (int)a->keys.format, (int)a->values.format, head, d, output[d], wanted[d] / sum);
      exit(1);
    }
  }
}

static void test_caches(void) {
  static struct cached k, v, k_before, v_before;
  static float q[KV_HEADS * GROUPS * MOST_DIM], o[KV_HEADS * GROUPS * MOST_DIM];
  for (int kf = 1; kf <= VIEW; ++kf) {
    for (int vf = 1; vf <= VIEW; ++vf) {
      if (kf == POSENC1_F64 || vf == POSENC1_F64) continue;
      size_t const head_dim = dim_of_format(kf, DIM), value_dim = dim_of_format(vf, VALUE_DIM),
                   group = 1 + (size_t)(kf + vf) % GROUPS;
      encode(&k, kf, head_dim, (kf + vf) % 2, 5), encode(&v, vf, value_dim, (kf + vf) / 2 % 2, 2);
      for (size_t i = 0; i < KV_HEADS * group * head_dim; ++i)
        q[i] = (float)query(i / head_dim, i % head_dim);
      posenc1_attention a = {.queries = {.data = q, .format = POSENC1_F32},
                             .outputs = {.data = o, .format = POSENC1_F32},
                             .keys = k.cache,
                             .values = v.cache,
                             .tokens = CACHED,
                             .query_tokens = 1,
                             .heads = KV_HEADS * group,
                             .kv_heads = KV_HEADS,
                             .head_dim = head_dim,
                             .value_dim = value_dim};
      k_before = k, v_before = v;
      for (size_t first = 0; first < KV_HEADS; ++first) {
        MUST_WORK(posenc1_attention_memory(&a, first, first + 1, &a.memory_bytes));
        char* const memory = malloc(a.memory_bytes);
        MUST(memory != NULL);
        memset(memory, 0xff, a.memory_bytes);
        a.memory = memory;
        MUST_WORK_WITHOUT_MEMORY(posenc1_attend(&a, first, first + 1));
        free(memory);
      }
      for (size_t head = 0; head < a.heads; ++head)
        check_cached(&k, &v, &a, o + head * value_dim, head);
      MUST(memcmp(&k, &k_before, sizeof k) == 0 && memcmp(&v, &v_before, sizeof v) == 0);
    }
  }
  /* The split changes no bit. */
  static float whole[KV_HEADS * GROUPS * MOST_DIM], parts[KV_HEADS * GROUPS * MOST_DIM];
  static char memory[1 << 20];
  posenc1_attention good = {.queries = {.data = q, .format = POSENC1_F32},
                            .outputs = {.data = o, .format = POSENC1_F32},
                            .tokens = CACHED,
                            .query_tokens = 1,
                            .heads = KV_HEADS,
                            .kv_heads = KV_HEADS,
                            .head_dim = MOST_DIM,
                            .memory = memory,
                            .memory_bytes = sizeof memory};
  for (int format = 1; format < FORMATS; ++format) {
    if (format == POSENC1_F64) continue;
    encode(&k, format, MOST_DIM, 1, 5);
    posenc1_attention a = good;
    a.outputs.data = whole, a.keys = k.cache, a.values = k.cache;
    MUST_WORK(posenc1_attend(&a, 0, SIZE_MAX));
    a.outputs.data = parts;
    for (size_t head = KV_HEADS; head-- > 0;) MUST_WORK(posenc1_attend(&a, head, head + 1));
    MUST(memcmp(whole, parts, KV_HEADS * MOST_DIM * sizeof(float)) == 0);
  }

  encode(&k, POSENC1_INT8_PER_HEAD, MOST_DIM, 1, 5);
  encode(&v, POSENC1_Q8_0, MOST_DIM, 0, 2);
  good.keys = k.cache, good.values = v.cache;
  MUST_WORK(posenc1_attention_memory(&good, 0, SIZE_MAX, &good.memory_bytes));
  MUST_WORK(posenc1_attend(&good, 0, SIZE_MAX));
  memcpy(whole, o, sizeof o);
  MUST_REFUSE_WITH(a.memory_bytes -= 1, "memory must have");
  MUST_REFUSE_WITH(a.queries.format = POSENC1_F64, "doubles alone or not at all");
  MUST_REFUSE_WITH(a.values.pages = 3, "values: a slot must be below 48 (3 pages of 16");
  MUST_REFUSE_WITH(a.head_dim = 100; a.value_dim = 100, "q8_0: head_dim must be a multiple of 32");
  MUST_REFUSE_WITH(a.values.scale = 1, "values: scale must be 0 for this format");
  MUST_REFUSE_WITH(a.values.page_tokens = 0, "values: pages must have tokens");
  MUST_REFUSE_WITH(a.outputs.data = k.codes, "must overlap nothing");
  MUST_REFUSE_WITH(a.outputs.data = k.scales, "must overlap nothing");
  MUST_REFUSE_WITH(a.outputs.data = v.codes, "must overlap nothing");
  MUST_REFUSE_WITH(a.memory = k.scales, "must overlap nothing");
  MUST_REFUSE_WITH(a.memory = v.slots, "must overlap nothing");
  MUST(memcmp(o, whole, sizeof o) == 0);
}

/* The memory that is said to be needed is enough, of numbers of any type: where
 * the CPU converts no halves, those that are decoded are computed otherwise. */
static void test_memory(void) {
  enum { QUERIES = 33, KEYS = 40 };
  static float numbers[KEYS * DIM], q[QUERIES * DIM], o[QUERIES * DIM];
  static posenc1_format const types[] = {POSENC1_F32, POSENC1_F16, POSENC1_BF16};
  for (size_t n = 1; n <= QUERIES; n += 4) {
    for (int kind = 0; kind < 3; ++kind) {
      posenc1_heads const read = {.data = numbers, .format = types[kind]};
      posenc1_attention a = {.queries = {.data = q, .format = POSENC1_F32},
                             .outputs = {.data = o, .format = POSENC1_F32},
                             .keys = read,
                             .values = read,
                             .tokens = KEYS,
                             .query_tokens = n,
                             .heads = 1,
                             .kv_heads = 1,
                             .head_dim = DIM,
                             .ahead = POSENC1_ALL_AHEAD};
      MUST_WORK(posenc1_attention_memory(&a, 0, SIZE_MAX, &a.memory_bytes));
      a.memory = malloc(a.memory_bytes);
      MUST(a.memory != NULL);
      MUST_WORK(posenc1_attend(&a, 0, SIZE_MAX));
      free(a.memory);
    }
  }
}

void test_attention(void) {
  test_refusals();
  test_caches();
  test_memory();
}
