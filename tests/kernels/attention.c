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
  MUST_REFUSE_WITH(a.memory = NULL, "memory must have");
  MUST_REFUSE_WITH(a.kv_heads = 3, "multiple of kv_heads, got 4 and 3");
  MUST_REFUSE_WITH(a.heads = 0, "heads must be positive");
  MUST_REFUSE_WITH(a.head_dim = 0, "head_dim must be positive");
  MUST_REFUSE_WITH(a.values.type = POSENC1_F16, "must have one type");
  MUST_REFUSE_WITH(a.queries.type = POSENC1_F64, "must have one type");
  MUST_REFUSE_WITH(a.outputs.type = POSENC1_F64, "must have one type");
  MUST_REFUSE_WITH(a.keys.type = (posenc1_type)4, "keys: type must be one of the header, got 4");
  MUST_REFUSE_WITH(a.keys.layout = POSENC1_INTERLEAVED, "must have one layout");
  MUST_REFUSE_WITH(a.queries.slots = slots, "must have no slots");
  MUST_REFUSE_WITH(a.outputs.slots = slots, "must have no slots");
  MUST_REFUSE_WITH(a.scale = NAN, "scale must be finite");
  MUST_REFUSE_WITH(a.keys.pages = 3, "a slot must be below 12 (3 pages of 4 tokens), got");
  MUST_REFUSE_WITH(a.values.pages = 3, "a slot must be below 12 (3 pages of 4 tokens), got");
  MUST_REFUSE_WITH(a.values.token_stride = 6,
                   "values: data and strides must be multiples of the 4");
  MUST_REFUSE_WITH(a.outputs.data = queries, "must overlap nothing");
  MUST_REFUSE_WITH(a.outputs.data = memory, "must overlap nothing");
  MUST_REFUSE_WITH(a.memory = keys, "must overlap nothing");
  MUST_REFUSE_WITH(a.sinks = (double*)(void*)memory, "must overlap nothing");
  MUST_REFUSE_WITH(a.values.slots = memcpy(memory, slots, sizeof slots), "must overlap nothing");
  MUST_REFUSE_WITH(a.outputs.head_stride = 4, "must not overlap");
  posenc1_attention huge = good;
  huge.tokens = SIZE_MAX / 8;
  MUST_REFUSE(posenc1_attention_memory(&huge, 0, 1, &bytes), "must fit into memory");
  MUST_REFUSE(posenc1_attend(&good, 3, SIZE_MAX), "first must be at most");
  MUST_REFUSE(posenc1_attend(NULL, 0, 0), "must not be null");
  MUST_REFUSE(posenc1_attention_memory(&good, 0, 1, NULL), "must not be null");
  MUST(memcmp(outputs, before, sizeof outputs) == 0);
  MUST_WORK(posenc1_attend(&good, 2, 2));
  MUST(memcmp(outputs, before, sizeof outputs) == 0);
  MUST_WORK(posenc1_attend(&good, 0, SIZE_MAX));
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
}
