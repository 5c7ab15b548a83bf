/* posenc1_attend against plain loops in double. */
#include "numbers.h"

enum { TOKENS = 37, KV_HEADS = 2, GROUPS = 4, DIM = 40, VALUE_DIM = 23, PAGES = 11, PAGE = 4 };

/* How caches lie: contiguous; with gaps, tokens backwards; heads outside tokens; in pages. */
enum { DENSE, GAPS, HEADS_FIRST, PAGED, PLACES };

struct attention_options {
  posenc1_type query, cache, output;
  int place;
  size_t group, tokens;
  double scale;
  int sinks;
  size_t part; /* kv heads per call */
};

static double sixteenth(size_t a, size_t b, size_t c) {
  return ((int)((a * 11 + b * 5 + c * 7 + a * b) % 49) - 24) / 16.0;
}
static double query(size_t head, size_t dim) { return sixteenth(head + 3, dim, 1); }
static double key(size_t token, size_t head, size_t dim) { return sixteenth(token, dim, head); }
static double value(size_t token, size_t head, size_t dim) {
  return sixteenth(token + 5, head, dim + 2);
}
static double sink_of(size_t head) { return (double)head - 1.5; }

/* Every page in another order; every sixth token is not there. */
static int64_t slot_of(size_t token) {
  return token % 6 == 5 ? -1 : (int64_t)((token / PAGE * 4 + 2) % PAGES * PAGE + token % PAGE);
}

/* The first element of a head, in room for PAGES x PAGE tokens. */
static ptrdiff_t cached_at(int place, size_t token, size_t head, size_t dim) {
  ptrdiff_t const t = (ptrdiff_t)token, h = (ptrdiff_t)head, d = (ptrdiff_t)dim;
  switch (place) {
    case DENSE:
      return (t * KV_HEADS + h) * d;
    case GAPS:
      return (TOKENS - 1 - t) * (KV_HEADS * (d + 3) + 5) + h * (d + 3);
    case HEADS_FIRST:
      return (h * TOKENS + t) * d;
    default:
      return (ptrdiff_t)slot_of(token) < 0 ? -1 : ((ptrdiff_t)slot_of(token) * KV_HEADS + h) * d;
  }
}

static int64_t slots[TOKENS];

static posenc1_heads cache_at(void* memory, int place, posenc1_type type, size_t dim) {
  ptrdiff_t const size = (ptrdiff_t)sizes[type], d = (ptrdiff_t)dim;
  posenc1_heads h = {.data = memory, .type = type};
  if (place == GAPS) {
    h.data = (char*)memory + cached_at(GAPS, 0, 0, dim) * size;
    h.head_stride = (d + 3) * size, h.token_stride = -(KV_HEADS * (d + 3) + 5) * size;
  }
  if (place == HEADS_FIRST) h.token_stride = d * size, h.head_stride = TOKENS * d * size;
  if (place == PAGED) h.slots = slots, h.pages = PAGES, h.page_tokens = PAGE;
  return h;
}

enum { ROOM = PAGES * PAGE * KV_HEADS * (DIM + 8) };
static double keys[ROOM], values[ROOM], queries[KV_HEADS * GROUPS * DIM],
    outputs[KV_HEADS * GROUPS * (VALUE_DIM + 1)]; /* aligned for all types */
static double const sinks[KV_HEADS * GROUPS] = {-1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5};

static posenc1_attention attention_of(struct attention_options const* o) {
  memset(keys, 0xff, sizeof keys), memset(values, 0xff, sizeof values); /* NaN */
  memset(outputs, 0xff, sizeof outputs);
  for (size_t t = 0; t < TOKENS; ++t) {
    slots[t] = slot_of(t);
    for (size_t h = 0; h < KV_HEADS; ++h) {
      ptrdiff_t const k = cached_at(o->place, t, h, DIM), v = cached_at(o->place, t, h, VALUE_DIM);
      for (size_t d = 0; k >= 0 && d < DIM; ++d)
        set_number(keys, o->cache, (size_t)k + d, key(t, h, d));
      for (size_t d = 0; v >= 0 && d < VALUE_DIM; ++d)
        set_number(values, o->cache, (size_t)v + d, value(t, h, d));
    }
  }
  for (size_t i = 0; i < KV_HEADS * o->group * DIM; ++i)
    set_number(queries, o->query, i, query(i / DIM, i % DIM));
  posenc1_attention a = {.queries = {.data = queries, .type = o->query},
                         .outputs = {.data = outputs, .type = o->output},
                         .keys = cache_at(keys, o->place, o->cache, DIM),
                         .values = cache_at(values, o->place, o->cache, VALUE_DIM),
                         .tokens = o->tokens,
                         .heads = KV_HEADS * o->group,
                         .kv_heads = KV_HEADS,
                         .head_dim = DIM,
                         .value_dim = VALUE_DIM,
                         .scale = o->scale,
                         .sinks = o->sinks ? sinks : NULL};
  a.outputs.head_stride = (VALUE_DIM + 1) * (ptrdiff_t)sizes[o->output];
  return a;
}

static void check_head(size_t head, struct attention_options const* o) {
  double const scale = o->scale == 0 ? 1 / sqrt(DIM) : o->scale;
  size_t const kv = head / o->group;
  double scores[TOKENS], top = -INFINITY, largest = 0, sum = 0, wanted[VALUE_DIM] = {0};
  for (size_t t = 0; t < o->tokens; ++t) {
    double magnitude = 0;
    scores[t] = 0;
    for (size_t d = 0; d < DIM; ++d) {
      double const product = scale * query(head, d) * key(t, kv, d);
      scores[t] += product, magnitude += fabs(product);
    }
    largest = fmax(largest, magnitude);
    if (o->place == PAGED && slot_of(t) < 0) scores[t] = -INFINITY;
    top = fmax(top, scores[t]);
  }
  for (size_t t = 0; t < o->tokens; ++t) sum += exp(scores[t] - top);
  if (o->sinks) sum += exp(sink_of(head) - top);
  for (size_t t = 0; t < o->tokens; ++t) {
    for (size_t d = 0; d < VALUE_DIM; ++d)
      wanted[d] += exp(scores[t] - top) / sum * value(t, kv, d);
  }
  for (size_t d = 0; d <= VALUE_DIM; ++d) {
    size_t const at = head * (VALUE_DIM + 1) + d;
    if (d == VALUE_DIM) { /* the gap between heads is left alone */
      MUST(((unsigned char*)outputs)[at * sizes[o->output]] == 0xff);
      break;
    }
    double const got = number_at(outputs, o->output, at);
    /* Roundings to the type of arithmetic. A score: of scale, DIM products and as many sums, of
     * magnitudes that sum to `largest`; its exponent, of at most twice that, by one more, and by 2
     * and itself in the exponential. Both of a weight and of the sum of weights. Then TOKENS
     * products and sums of values of at most 1.5. In double the oracle's own, too. */
    double const roundings =
        2 * ((DIM + 2) * largest + 2 * largest + 2 + 2 * largest) + 2 * TOKENS + 4;
    double const bound = (o->cache == POSENC1_F64 ? 2 : 1) * 1.5 * roundings *
                             (o->cache == POSENC1_F64 ? 0x1p-53 : 0x1p-24) +
                         roundoff[o->output] * (fabs(wanted[d]) + 0x1p-14);
    if (!(fabs(got - wanted[d]) <= bound)) {
      printf(
          "attention of types %d, %d to %d, place %d, group %zu, head %zu dim %zu is %.9g, "
          "must be %.9g\n",
          o->query, o->cache, o->output, o->place, o->group, head, d, got, wanted[d]);
      exit(1);
    }
  }
}

/* Attends in parts, each in memory of no more bytes than it needs, which begins anywhere. */
static void test_one(struct attention_options const* o) {
  posenc1_attention a = attention_of(o);
  for (size_t first = 0; first < KV_HEADS; first += o->part) {
    MUST_WORK(posenc1_attention_memory(&a, first, first + o->part, &a.memory_bytes));
    char* const memory = malloc(a.memory_bytes + 1);
    MUST(memory != NULL);
    memset(memory, 0xff, a.memory_bytes + 1);
    a.memory = memory + 1;
    MUST_WORK_WITHOUT_MEMORY(posenc1_attend(&a, first, first + o->part));
    free(memory);
  }
  for (size_t head = 0; head < KV_HEADS * o->group; ++head) check_head(head, o);
}

static void test_refusals(void) {
  struct attention_options const o = {.group = 2, .tokens = TOKENS, .place = PAGED, .part = 2};
  posenc1_attention good = attention_of(&o);
  static char memory[1 << 16];
  size_t bytes = 0;
  MUST_WORK(posenc1_attention_memory(&good, 0, SIZE_MAX, &bytes));
  MUST(bytes <= sizeof memory);
  good.memory = memory, good.memory_bytes = bytes;
  static double before[sizeof outputs / sizeof *outputs];
  memcpy(before, outputs, sizeof outputs);
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
  MUST_REFUSE_WITH(a.keys.type = POSENC1_F64, "doubles alone or not at all, got types 0, 1, 0");
  MUST_REFUSE_WITH(a.values.type = POSENC1_F64, "doubles alone or not at all");
  MUST_REFUSE_WITH(a.queries.type = POSENC1_F64, "doubles alone or not at all");
  MUST_REFUSE_WITH(a.outputs.type = POSENC1_F64, "doubles alone or not at all");
  MUST_REFUSE_WITH(a.keys.type = (posenc1_type)4, "must be ones of the header, got 0, 4, 0 and 0");
  MUST_REFUSE_WITH(a.keys.layout = POSENC1_INTERLEAVED, "must have one layout");
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
  MUST_REFUSE_WITH(a.keys.page_tokens = 0, "pages that have tokens, got 11 pages of 0 tokens");
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
}

/* ---- Encoded keys and values: against what posenc1_read_cache decodes. Tokens are attended to
 * that have both slots. */

enum {
  FORMATS = 17,
  VIEW = FORMATS,
  CACHED = 150,
  CACHE_PAGES = 12,
  CACHE_PAGE = 16,
  MOST_DIM = 128
};
enum { CACHE_HEADS = CACHE_PAGES * CACHE_PAGE * KV_HEADS, CACHE_ROOM = CACHE_HEADS * MOST_DIM * 4 };

struct cached {
  double codes[CACHE_ROOM / sizeof(double) + 1], scales[CACHE_HEADS]; /* aligned for all types */
  int64_t slots[CACHED];
  float decoded[CACHED][KV_HEADS][MOST_DIM];
  posenc1_cache cache;
};

/* Tails of every register where the format has such heads. */
static size_t dim_of_format(int format, size_t otherwise) {
  if (format == POSENC1_FORMAT_DEEPSEEK_V4 || format == POSENC1_FORMAT_DEEPSEEK_V4_CPU) return 128;
  if (format == POSENC1_FORMAT_Q8_0 || format == POSENC1_FORMAT_Q8_0_AVX2 ||
      format == POSENC1_FORMAT_Q4_0)
    return 96;
  return format > POSENC1_FORMAT_Q4_0 ? otherwise / 2 * 2 : otherwise;
}

/* Strided: pages backwards, heads outside tokens, scales elsewhere, all at an odd address. */
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
    return;
  }
  MUST_WORK(posenc1_format_bytes((posenc1_format)format, dim, &bytes, &of_scales));
  c->cache = (posenc1_cache){.data = c->codes,
                             .format = (posenc1_format)format,
                             .slots = c->slots,
                             .pages = CACHE_PAGES,
                             .page_tokens = CACHE_PAGE};
  if (format >= POSENC1_FORMAT_INT8_STATIC && format <= POSENC1_FORMAT_E4M3_TRUNCATED)
    c->cache.scale = 0.046875;
  if (format == POSENC1_FORMAT_INT4_STATIC) c->cache.scale = 0.25;
  if (strided) {
    ptrdiff_t const head = (ptrdiff_t)bytes * CACHE_PAGE, page = KV_HEADS * head;
    c->cache.data = (char*)c->codes + 1 + (CACHE_PAGES - 1) * page;
    c->cache.page_stride = -page, c->cache.token_stride = (ptrdiff_t)bytes;
    c->cache.head_stride = head;
    if (of_scales != 0) c->cache.scales = (char*)c->scales + 1;
  }
  posenc1_step s = {.tokens = CACHED};
  s.values = (posenc1_step_heads){
      .from = {.data = numbers}, .to_cache = c->cache, .heads = KV_HEADS, .head_dim = dim};
  MUST_WORK(posenc1_write_step(&s, 0, 1));
  static float read[CACHED * KV_HEADS * MOST_DIM];
  MUST_WORK(posenc1_read_cache(&c->cache, CACHED, KV_HEADS, dim, read));
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
    /* As in check_head, with three more roundings of a score and of a weight, where scales are
     * multiplied by sums of codes, not by codes. */
    double const roundings =
                     2 * ((double)(a->head_dim + 5) * largest + 4 * largest + 2) + 2 * CACHED + 7,
                 bound = most * roundings * 0x1p-24;
    if (!(fabs(output[d] - wanted[d] / sum) <= bound)) {
      printf("attention of formats %d, %d, head %zu dim %zu is %.9g, must be %.9g\n",
             (int)a->key_cache.format, (int)a->value_cache.format, head, d, output[d],
             wanted[d] / sum);
      exit(1);
    }
  }
}

static void test_caches(void) {
  static struct cached k, v, k_before, v_before;
  static float q[KV_HEADS * GROUPS * MOST_DIM], o[KV_HEADS * GROUPS * MOST_DIM];
  for (int kf = 0; kf <= VIEW; ++kf) {
    for (int vf = 0; vf <= VIEW; ++vf) {
      if (kf == 1 || vf == 1 || (kf == VIEW && vf == VIEW)) continue;
      size_t const head_dim = dim_of_format(kf, DIM), value_dim = dim_of_format(vf, VALUE_DIM),
                   group = 1 + (size_t)(kf + vf) % GROUPS;
      encode(&k, kf, head_dim, (kf + vf) % 2, 5), encode(&v, vf, value_dim, (kf + vf) / 2 % 2, 2);
      for (size_t i = 0; i < KV_HEADS * group * head_dim; ++i)
        q[i] = (float)query(i / head_dim, i % head_dim);
      posenc1_attention a = {.queries = {.data = q},
                             .outputs = {.data = o},
                             .tokens = CACHED,
                             .heads = KV_HEADS * group,
                             .kv_heads = KV_HEADS,
                             .head_dim = head_dim,
                             .value_dim = value_dim};
      if (kf == VIEW) a.keys.data = k.codes;
      if (kf != VIEW) a.key_cache = k.cache;
      if (vf == VIEW) a.values.data = v.codes;
      if (vf != VIEW) a.value_cache = v.cache;
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
  posenc1_attention good = {.queries = {.data = q},
                            .outputs = {.data = o},
                            .tokens = CACHED,
                            .heads = KV_HEADS,
                            .head_dim = MOST_DIM,
                            .memory = memory,
                            .memory_bytes = sizeof memory};
  for (int format = 0; format < FORMATS; ++format) {
    if (format == 1) continue;
    encode(&k, format, MOST_DIM, 1, 5);
    posenc1_attention a = good;
    a.outputs.data = whole, a.key_cache = k.cache, a.value_cache = k.cache;
    MUST_WORK(posenc1_attend(&a, 0, SIZE_MAX));
    a.outputs.data = parts;
    for (size_t head = KV_HEADS; head-- > 0;) MUST_WORK(posenc1_attend(&a, head, head + 1));
    MUST(memcmp(whole, parts, KV_HEADS * MOST_DIM * sizeof(float)) == 0);
  }

  encode(&k, POSENC1_FORMAT_INT8_PER_HEAD, MOST_DIM, 1, 5);
  encode(&v, POSENC1_FORMAT_Q8_0, MOST_DIM, 0, 2);
  good.key_cache = k.cache, good.value_cache = v.cache;
  MUST_WORK(posenc1_attention_memory(&good, 0, SIZE_MAX, &good.memory_bytes));
  MUST_WORK(posenc1_attend(&good, 0, SIZE_MAX));
  memcpy(whole, o, sizeof o);
  MUST_REFUSE_WITH(a.memory_bytes -= 1, "memory must have");
  MUST_REFUSE_WITH(a.keys.data = q, "there must be one of keys and key_cache, got both");
  MUST_REFUSE_WITH(a.key_cache.data = NULL, "one of keys and key_cache, got null for both");
  MUST_REFUSE_WITH(a.value_cache.data = NULL, "there must be one of values and value_cache");
  MUST_REFUSE_WITH(a.queries.type = POSENC1_F64, "caches are floats");
  MUST_REFUSE_WITH(a.outputs.type = POSENC1_F64, "caches are floats");
  MUST_REFUSE_WITH(a.key_cache.layout = POSENC1_INTERLEAVED, "must have one layout, got 0 and 1");
  MUST_REFUSE_WITH(a.key_cache.format = (posenc1_format)1, "key_cache: format must be one of");
  MUST_REFUSE_WITH(a.value_cache.pages = 3, "value_cache: a slot must be below 48 (3 pages of 16");
  MUST_REFUSE_WITH(a.head_dim = 100; a.value_dim = 100, "q8_0: head_dim must be a multiple of 32");
  MUST_REFUSE_WITH(a.value_cache.scale = 1, "value_cache: scale must be 0 for this format");
  MUST_REFUSE_WITH(a.value_cache.page_tokens = 0, "value_cache: pages must have tokens");
  MUST_REFUSE_WITH(a.outputs.data = k.codes, "must overlap nothing");
  MUST_REFUSE_WITH(a.outputs.data = k.scales, "must overlap nothing");
  MUST_REFUSE_WITH(a.outputs.data = v.codes, "must overlap nothing");
  MUST_REFUSE_WITH(a.memory = k.scales, "must overlap nothing");
  MUST_REFUSE_WITH(a.memory = v.slots, "must overlap nothing");
  MUST(memcmp(o, whole, sizeof o) == 0);
}

/* A cache without slots has token t in slot t, over more keys than a block has: the bits are those of
 * slots 0, 1, 2 ... */
static void test_caches_in_order(void) {
  enum { KEYS = 700, PAGE = 16, HEADS = 2, ROW = 32, PAGES = (KEYS + PAGE - 1) / PAGE, MOST = 40 };
  static float cache[PAGES * PAGE * HEADS * ROW], q[MOST * HEADS * ROW];
  static float in_order[MOST * HEADS * ROW], by_slots[MOST * HEADS * ROW];
  static int64_t slots[KEYS];
  for (size_t i = 0; i < sizeof cache / sizeof *cache; ++i)
    cache[i] = (float)((int)(i * 37 % 127) - 60) / 64;
  for (size_t i = 0; i < sizeof q / sizeof *q; ++i) q[i] = (float)((int)(i % 29) - 14) / 8;
  for (size_t t = 0; t < KEYS; ++t) slots[t] = (int64_t)t;
  for (size_t queries = 1; queries <= MOST; queries += MOST - 1) { /* in place, then in panels */
    posenc1_attention a = {.queries.data = q,
                           .outputs.data = in_order,
                           .tokens = KEYS,
                           .heads = HEADS,
                           .head_dim = ROW,
                           .query_tokens = queries,
                           .causal = 1};
    a.key_cache = (posenc1_cache){.data = cache, .pages = PAGES, .page_tokens = PAGE};
    a.value_cache = a.key_cache;
    MUST_WORK(posenc1_attention_memory(&a, 0, SIZE_MAX, &a.memory_bytes));
    char* const memory = malloc(a.memory_bytes);
    a.memory = memory;
    MUST_WORK(posenc1_attend(&a, 0, SIZE_MAX));
    a.outputs.data = by_slots, a.key_cache.slots = slots, a.value_cache.slots = slots;
    MUST_WORK(posenc1_attend(&a, 0, SIZE_MAX));
    free(memory);
    MUST(memcmp(in_order, by_slots, queries * HEADS * ROW * sizeof(float)) == 0);
    MUST(fabsf(in_order[0]) > 1e-6f);
  }
}

/* The memory that is said to be needed is enough, of numbers of any type, and of floats at odd
 * addresses: where the CPU converts no halves, those that are decoded are computed otherwise. */
static void test_memory(void) {
  enum { QUERIES = 33, KEYS = 40, ANYWHERE = 4 };
  static float numbers[KEYS * DIM + 1], q[QUERIES * DIM], o[QUERIES * DIM];
  static posenc1_type const types[] = {POSENC1_F32, POSENC1_F16, POSENC1_BF16};
  for (size_t n = 1; n <= QUERIES; n += 4) {
    for (int kind = 0; kind < ANYWHERE; ++kind) {
      posenc1_attention a = {.queries = {.data = q},
                             .outputs = {.data = o},
                             .tokens = KEYS,
                             .heads = 1,
                             .head_dim = DIM,
                             .query_tokens = n};
      if (kind < 3) {
        a.keys = a.values = (posenc1_heads){.data = numbers, .type = types[kind]};
      } else {
        a.key_cache = a.value_cache =
            (posenc1_cache){.data = (char*)numbers + 1, .pages = KEYS, .page_tokens = 1};
      }
      MUST_WORK(posenc1_attention_memory(&a, 0, SIZE_MAX, &a.memory_bytes));
      a.memory = malloc(a.memory_bytes);
      MUST(a.memory != NULL);
      MUST_WORK(posenc1_attend(&a, 0, SIZE_MAX));
      free(a.memory);
    }
  }
}

void test_attention(void) {
  for (int cache = 0; cache < 4; ++cache) {
    for (int place = 0; place < PLACES; ++place) {
      for (size_t group = 1; group <= GROUPS; ++group) {
        for (int n = 0; n < 3; ++n) {
          /* Every type that is computed as that of the cache. */
          static posenc1_type const floats[] = {POSENC1_F32, POSENC1_F16, POSENC1_BF16};
          struct attention_options const o = {
              .query = cache == POSENC1_F64 ? POSENC1_F64 : floats[n],
              .cache = (posenc1_type)cache,
              .output = cache == POSENC1_F64 ? POSENC1_F64 : floats[(n + group) % 3],
              .place = place,
              .group = group,
              .tokens = n == 2 && group == 3 ? 0 : TOKENS,
              .scale = n == 1 ? 0.75 : 0,
              .sinks = n != 1,
              .part = n == 0 ? 1 : KV_HEADS};
          test_one(&o);
        }
      }
    }
  }
  test_refusals();
  test_caches();
  test_caches_in_order();
  test_memory();
}
