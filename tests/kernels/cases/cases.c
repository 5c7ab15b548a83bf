/* The cases of attention.txt by posenc.h: a line each, its name and a hash of all bits, or the
 * error. One sequence is attended to by a call for each kv head, several by one call; and each
 * again by WORKERS. */
#include <stdbool.h>

#include "../numbers.h"
#if defined(HAS_THREADS)
#include <pthread.h>
enum { WORKERS = 3 };
#endif

enum { MOST = 8, PAGE = 16 };

/* ---- A line */

static char line[4096], copy[4096];

/* The rules of temperature by their values, from 1 on. */
enum { MOST_RULES = 16 };
static char rules[MOST_RULES][32];

/* What follows name= in the line; or otherwise. */
static char const* text(char const* name, char const* otherwise) {
  static char words[32][64];
  static int next;
  char* const word = words[next++ % 32];
  size_t const length = strlen(name);
  for (char const* at = line + strcspn(line, " "); (at = strstr(at, name)) != NULL; at += length) {
    if (at[-1] != ' ' || at[length] != '=') continue;
    at += length + 1;
    size_t const n = strcspn(at, " ");
    memcpy(word, at, n), word[n] = 0;
    return word;
  }
  return otherwise;
}
static double real(char const* name, double otherwise) {
  char const* const given = text(name, "");
  return *given == 0 ? otherwise : strtod(given, NULL);
}
static size_t size(char const* name, size_t otherwise) {
  return (size_t)real(name, (double)otherwise);
}
static bool is(char const* name) { return strcmp(text(name, "0"), "0") != 0; }
static posenc1_format type_of(char const* name) {
  return strcmp(name, "f64") == 0    ? POSENC1_F64
         : strcmp(name, "f16") == 0  ? POSENC1_F16
         : strcmp(name, "bf16") == 0 ? POSENC1_BF16
                                     : POSENC1_F32;
}

/* ---- Numbers */

static double number_of(size_t i, size_t n) {
  uint64_t const x = i;
  return ((double)((13 * x + 7 * n + x * x * (n + 2)) % 97) - 48) / 32;
}
static void* room(size_t bytes) {
  void* const memory = calloc(bytes + 64, 1);
  MUST(memory != NULL);
  return memory;
}
static void* numbers(posenc1_format type, size_t count, size_t n) {
  void* const all = room(count * 8);
  for (size_t i = 0; i < count; ++i) set_number(all, type, i, number_of(i, n));
  return all;
}
/* Of heads: |x| factor + more, or x. */
static double* of_heads(char const* name, size_t n, double factor, double more) {
  size_t const heads = size("heads", 4);
  double* const all = numbers(POSENC1_F64, heads, n);
  for (size_t h = 0; factor != 0 && h < heads; ++h) all[h] = fabs(all[h]) * factor + more;
  if (strcmp(text(name, ""), "nan") == 0) all[0] = NAN;
  return all;
}
static uint64_t hash(uint64_t value, void const* memory, size_t bytes) {
  for (size_t i = 0; memory != NULL && i < bytes; ++i)
    value = (value ^ ((unsigned char const*)memory)[i]) * 0x100000001b3u;
  return value;
}

static posenc1_cells cells(char const* name, size_t n, size_t tokens) {
  static char const* const types[] = {"bool", "bit", "f32", "f64", "f16", "bf16"};
  char const* const type = text(name, "");
  posenc1_cells c = {.heads = size("mask_heads", 1)};
  for (int i = 0; i < 6; ++i)
    if (strcmp(type, types[i]) == 0) c.type = (posenc1_cell_type)(i + 1);
  if (*type == 0) return c;
  size_t const count = size("queries", 1) * c.heads * tokens, row = (tokens + 7) / 8;
  unsigned char* const bytes = room(count * 8);
  c.data = bytes;
  for (size_t i = 0; i < count; ++i) {
    double const x = number_of(i, n);
    bool const hidden = x < -0.75;
    if (c.type == POSENC1_CELL_BOOL) bytes[i] = !hidden;
    if (c.type == POSENC1_CELL_BIT && !hidden)
      bytes[i / tokens * row + i % tokens / 8] |= (unsigned char)(1 << i % tokens % 8);
    if (c.type < POSENC1_CELL_F32) continue;
    posenc1_format const number = type_of(type);
    set_number(bytes, number, i, hidden ? 0 : x);
    float const infinite = -INFINITY;
    uint16_t const half = 0xfc00, bfloat16 = 0xff80; /* -infinity */
    if (hidden && number == POSENC1_F32) memcpy(bytes + 4 * i, &infinite, 4);
    if (hidden && number == POSENC1_F64) ((double*)(void*)bytes)[i] = -INFINITY;
    if (hidden && number == POSENC1_F16) memcpy(bytes + 2 * i, &half, 2);
    if (hidden && number == POSENC1_BF16) memcpy(bytes + 2 * i, &bfloat16, 2);
  }
  if (is("mask_slopes")) c.slopes = of_heads("mask_slopes", 9, 0, 0);
  return c;
}

static posenc1_heads source(size_t tokens, size_t dim, size_t n) {
  char const* const stored = text("keys", "f32");
  size_t const kv_heads = size("kv_heads", 2), count = tokens * kv_heads * dim;
  bool const cached_f16 = strcmp(stored, "cached_f16") == 0;
  posenc1_format const format = strcmp(stored, "q8_0") == 0            ? POSENC1_Q8_0
                                : strcmp(stored, "q4_0") == 0          ? POSENC1_Q4_0
                                : strcmp(stored, "q5_1") == 0          ? POSENC1_Q5_1
                                : strcmp(stored, "iq4_nl") == 0        ? POSENC1_IQ4_NL
                                : strcmp(stored, "int4_per_head") == 0 ? POSENC1_INT4_PER_HEAD
                                : strcmp(stored, "int8_per_head") == 0 ? POSENC1_INT8_PER_HEAD
                                : strcmp(stored, "u8_per_head") == 0   ? POSENC1_U8_PER_HEAD
                                : cached_f16                           ? POSENC1_F16
                                                                       : type_of(stored);
  if (format <= POSENC1_BF16 && !cached_f16)
    return (posenc1_heads){.data = numbers(format, count, n), .format = format};
  size_t const pages = (tokens + PAGE - 1) / PAGE;
  int64_t* const slots = room(tokens * sizeof *slots);
  for (size_t t = 0; t < tokens; ++t)
    slots[t] = is("slots") && t % 6 == 5 ? -1 : (int64_t)((pages - 1 - t / PAGE) * PAGE + t % PAGE);
  posenc1_heads const cache = {.data = room(count * 4 + PAGE * kv_heads * dim * 8),
                               .format = format,
                               .slots = slots,
                               .pages = pages,
                               .page_tokens = PAGE};
  posenc1_rows const rows = {.tokens = tokens};
  posenc1_operand const values = {
      .from = {.data = numbers(POSENC1_F32, count, n), .format = POSENC1_F32},
      .to = cache,
      .heads = kv_heads,
      .head_dim = dim,
      .layout = POSENC1_UNROTATED,
      .hadamard = size("hadamard", 0)};
  MUST_WORK(posenc1_rotate(&rows, &values, 1, 0, 1));
  return cache;
}

/* ---- A case */

static size_t list(char const* from, double* numbers) {
  size_t count = 0;
  for (char* end = NULL; *from != 0; from = end + (*end == ','))
    numbers[count++] = strtod(from, &end);
  return count;
}

/* What rotates, on the axes of the case. */
static posenc1_status frequencies_of_case(posenc1_frequencies** result) {
  static char const* const kinds[] = {
      "by_pair:", "contiguous:", "interleaved:", "ggml:", "ggml_interleaved:"};
  char const* const axes = text("axes", "");
  double numbers[64], bases[64];
  if (strncmp(axes, "axial:", 6) == 0) {
    size_t const dims = list(axes + 6, numbers), count = list(text("bases", ""), bases);
    posenc1_parameter const all[] = {{.name = "dims", .list = numbers, .count = dims},
                                     {.name = "base",
                                      .number = bases[0],
                                      .list = count > 1 ? bases : NULL,
                                      .count = count > 1 ? count : 0}};
    return posenc1_frequencies_of_rule(NULL, "axial", all, 2, result);
  }
  posenc1_frequencies* f = NULL;
  MUST_WORK(posenc1_frequencies_of_base(size("dim", 32), 1e4, &f));
  posenc1_status status = POSENC1_OK;
  bool found = false;
  for (int kind = 0; kind < 5; ++kind) {
    if (strncmp(axes, kinds[kind], strlen(kinds[kind])) != 0) continue;
    size_t given[64], count = list(axes + strlen(kinds[kind]), numbers);
    for (size_t i = 0; i < count; ++i) given[i] = (size_t)numbers[i];
    status = posenc1_frequencies_on_axes(f, (posenc1_axes)kind, given, count, result);
    found = true;
  }
  MUST(found || *axes == 0);
  if (!found) return *result = f, POSENC1_OK;
  posenc1_frequencies_destroy(f);
  return status;
}

static posenc1_status rows_of(uint64_t* value) {
  posenc1_frequencies* f = NULL;
  posenc1_row_maker* maker = NULL;
  posenc1_status status;
  size_t const tokens = size("rows", 0), dim = size("dim", 32);
  size_t axes = 1, row_heads = 1, pairs = dim / 2;
  bool const mixed = sscanf(text("mixed", ""), "%zu:%zu", &row_heads, &axes) == 2;
  if (mixed) {
    double const* const inv_freq = numbers(POSENC1_F64, row_heads * axes * pairs, 14);
    status = posenc1_mixed_row_maker_create(inv_freq, row_heads, axes, pairs, 1, &maker);
  } else {
    status = frequencies_of_case(&f);
    axes = posenc1_frequencies_axes(f, NULL), pairs = posenc1_frequencies_read(f, NULL, NULL);
    if (status == POSENC1_OK) MUST_WORK(posenc1_row_maker_create(f, 0, &maker));
  }
  if (status != POSENC1_OK) return status;
  size_t const all = row_heads * tokens * 2 * pairs, heads = size("heads", 4);
  int64_t whole[256];
  double parts[256];
  for (size_t axis = 0; axis < axes; ++axis) {
    for (size_t t = 0; t < tokens; ++t) {
      whole[axis * tokens + t] = (int64_t)(1000 * t + 7 * axis * t + 5 * axis);
      parts[axis * tokens + t] = (double)whole[axis * tokens + t] / real("fraction", 1);
    }
  }
  void* const memory = room(all * sizeof(double));
  posenc1_format const types[] = {POSENC1_F32, POSENC1_F64};
  for (int i = 0; i < 2 && status == POSENC1_OK; ++i) {
    status = *text("fraction", "") == 0
                 ? posenc1_write_rows(maker, whole, NULL, tokens, types[i], memory)
                 : posenc1_write_fractional_rows(maker, parts, NULL, tokens, types[i], memory);
    *value = hash(*value, memory, all * sizes[types[i]]);
    if (!mixed || i != 0 || status != POSENC1_OK) continue;
    posenc1_rows const rows = {.cos_sin = memory, .tokens = tokens, .maker = maker};
    posenc1_operand const q = {
        .from = {.data = numbers(POSENC1_F32, tokens * heads * dim, 1), .format = POSENC1_F32},
        .heads = heads,
        .head_dim = dim,
        .layout = POSENC1_HALVES};
    status = posenc1_rotate(&rows, &q, 1, 0, 1);
    *value = hash(*value, q.from.data, tokens * heads * dim * sizeof(float));
  }
  free(memory);
  posenc1_row_maker_destroy(maker), posenc1_frequencies_destroy(f);
  return status;
}

static posenc1_status ring_of(uint64_t* value) {
  size_t first = 0, count = 0, capacity = 0;
  MUST(sscanf(text("ring", ""), "%zu:%zu:%zu", &first, &count, &capacity) == 3);
  int64_t* const slots = room(count * sizeof *slots);
  posenc1_status const status = posenc1_ring_slots(first, count, capacity, slots);
  *value = hash(*value, slots, count * sizeof *slots);
  free(slots);
  return status;
}

static posenc1_status bounds_of(uint64_t* value) {
  size_t const tokens = size("tokens", 37), heads = size("kv_heads", 2), dim = size("dim", 32),
               page = size("bounds", 0), pages = page == 0 ? 0 : (tokens + page - 1) / page;
  posenc1_heads const keys = source(tokens, dim, 2);
  size_t const bytes = pages * heads * 2 * dim * (keys.format == POSENC1_F64 ? 8 : 4);
  void* const bounds = room(bytes);
  posenc1_status const status = posenc1_page_bounds(&keys, tokens, heads, dim, page, bounds);
  *value = hash(*value, bounds, bytes);
  free(bounds);
  return status;
}

static posenc1_key_bias* key_bias(size_t dim) {
  posenc1_frequencies* f = NULL;
  posenc1_key_bias* result = NULL;
  size_t const block = size("key_bias", 0);
  MUST_WORK(frequencies_of_case(&f));
  MUST_WORK(posenc1_key_bias_create(f, numbers(POSENC1_F32, size("kv_heads", 2) * dim, 11),
                                    size("kv_heads", 2), size("heads", 4), dim, POSENC1_HALVES, 0,
                                    block, &result));
  if (posenc1_frequencies_axes(f, NULL) > 1) {
    posenc1_key_bias* const of_text = result;
    int64_t at[3 * 60];
    for (int64_t t = 0; t < 60; ++t)
      at[t] = t / 12, at[60 + t] = t / 12 + t % 12 / 4, at[120 + t] = t / 12 + t % 4;
    MUST_WORK(posenc1_key_bias_at(of_text, at, 60, -40, &result));
    posenc1_key_bias_destroy(of_text);
  }
  posenc1_frequencies_destroy(f);
  return result;
}

struct batch {
  posenc1_attention of[MOST];
  posenc1_gradients gradients[MOST];
  size_t count;
};

static struct batch batch_of_case(void) {
  struct batch b = {.count = 0};
  char lengths[64];
  snprintf(lengths, sizeof lengths, "%s", text("lengths", ""));
  size_t const queries = size("queries", 1), heads = size("heads", 4), dim = size("dim", 32),
               value_dim = size("value_dim", 32);
  posenc1_format const type = type_of(text("type", "f32"));
  for (char* at = lengths; b.count == 0 || *at != 0; ++b.count) {
    size_t const tokens = *at == 0 ? size("tokens", 37) : strtoul(at, &at, 10), n = 10 * b.count;
    if (*at == ',') ++at;
    posenc1_attention* const a = &b.of[b.count];
    *a = (posenc1_attention){
        .queries = {.data = numbers(type, queries * heads * dim, 1 + n), .format = type},
        .outputs = {.data = room(queries * heads * value_dim * 8), .format = type},
        .tokens = tokens,
        .heads = heads,
        .kv_heads = size("kv_heads", 2),
        .head_dim = dim,
        .value_dim = value_dim,
        .sinks = is("sinks") ? of_heads("sinks", 7, 0, 0) : NULL,
        .query_tokens = queries,
        .dot_products = is("dots"),
        .behind = size("behind", 0),
        .ahead = is("causal")            ? 0
                 : size("ahead", 0) == 0 ? POSENC1_ALL_AHEAD
                                         : size("ahead", 0) - 1,
        .chunk = size("chunk", 0),
        .mask = cells("mask", 4 + n, tokens),
        .bias = cells("bias", 5 + n, tokens),
        .slopes = is("slopes") ? of_heads("slopes", 6, 0.25, 0) : NULL,
        .key_bias = is("key_bias") ? key_bias(dim) : NULL,
        .profiles = {is("profiles") ? numbers(POSENC1_F32, 3 * 20, 12) : NULL,
                     is("profiles") ? 3 : 0, is("profiles") ? 20 : 0,
                     is("profiles") ? numbers(POSENC1_F32, queries * heads * 3, 13 + n) : NULL}};
#define NUMBER(name) a->name = real(#name, 0);
#include "numbers_of_attention.h"
    MUST_WORK(posenc1_hadamard(&a->queries, queries, heads, dim, size("hadamard", 0)));
    a->keys = source(tokens, dim, 2 + n);
    a->values = source(tokens, value_dim, 3 + n);
    if (*text("first", "") != 0) {
      int64_t* const at_queries = room(queries * 8);
      int64_t* const at_keys = room(tokens * 8);
      for (size_t t = 0; t < queries; ++t) at_queries[t] = (int64_t)real("first", 0) + (int64_t)t;
      for (size_t t = 0; t < tokens; ++t) at_keys[t] = (int64_t)(t * size("stretch", 1));
      a->query_positions = at_queries, a->key_positions = at_keys;
    }
    char temperature[64];
    snprintf(temperature, sizeof temperature, "%s", text("temperature", ""));
    char* const rest = strchr(temperature, ':');
    if (rest != NULL) {
      *rest = 0;
      sscanf(rest + 1, "%lf:%lf:%lf", &a->temperature.length, &a->temperature.scale,
             &a->temperature.offset);
    }
    for (int i = 1; i < MOST_RULES && *temperature != 0; ++i)
      if (strcmp(temperature, rules[i]) == 0) a->temperature.rule = (posenc1_temperature_rule)i;
    if (a->temperature.rule == POSENC1_SSMAX)
      a->temperature.scales = of_heads("temperature", 8, 1, 0.125);
    if (is("gradients")) {
      size_t const kv_heads = a->kv_heads;
      posenc1_format const real = type == POSENC1_F64 ? type : POSENC1_F32;
      b.gradients[b.count] = (posenc1_gradients){
          {.data = numbers(type, queries * heads * value_dim, 16 + n), .format = type},
          {.data = room(queries * heads * dim * 8), .format = real},
          {.data = room(tokens * kv_heads * dim * 8), .format = real},
          {.data = room(tokens * kv_heads * value_dim * 8), .format = real}};
    }
    if (is("records") || is("gradients")) a->log_sum_exp = room(queries * heads * 8);
    if (is("records")) {
      a->scores = room(queries * heads * tokens * 8),
      a->weights = room(queries * heads * tokens * 8);
    }
  }
  return b;
}

static uint64_t results_of(struct batch const* b) {
  uint64_t value = 0xcbf29ce484222325u;
  for (size_t i = 0; i < b->count; ++i) {
    posenc1_attention const* const a = &b->of[i];
    size_t const rows = a->query_tokens * a->heads,
                 bytes = a->outputs.format == POSENC1_F64 ? 8 : 4;
    value = hash(value, a->outputs.data, rows * a->value_dim * sizes[a->outputs.format]);
    value = hash(value, a->log_sum_exp, rows * 8);
    value = hash(value, a->scores, rows * a->tokens * bytes);
    value = hash(value, a->weights, rows * a->tokens * bytes);
    posenc1_gradients const* const d = &b->gradients[i];
    value = hash(value, d->queries.data, rows * a->head_dim * bytes);
    value = hash(value, d->keys.data, a->tokens * a->kv_heads * a->head_dim * bytes);
    value = hash(value, d->values.data, a->tokens * a->kv_heads * a->value_dim * bytes);
  }
  return value;
}

static posenc1_status by_heads(posenc1_attention a) {
  for (size_t head = a.kv_heads; head-- > 0;) {
    posenc1_status status = posenc1_attention_memory(&a, head, head + 1, &a.memory_bytes);
    if (status != POSENC1_OK) return status;
    a.memory = malloc(a.memory_bytes);
    status = posenc1_attend(&a, head, head + 1);
    free(a.memory);
    if (status != POSENC1_OK) return status;
  }
  return POSENC1_OK;
}

/* Of each kv head, as a pool of threads has it. */
static posenc1_status backward(struct batch const* b) {
  posenc1_status status = POSENC1_OK;
  for (size_t i = 0; is("gradients") && i < b->count; ++i) {
    posenc1_attention a = b->of[i];
    for (size_t head = a.kv_heads; status == POSENC1_OK && head-- > 0;) {
      MUST_WORK(posenc1_attention_backward_memory(&a, head, head + 1, &a.memory_bytes));
      a.memory = malloc(a.memory_bytes);
      status = posenc1_attention_backward(&a, &b->gradients[i], head, head + 1);
      free(a.memory);
    }
  }
  return status;
}

#if defined(HAS_THREADS)
struct worker_thread {
  struct batch const* batch;
  posenc1_worker worker;
  posenc1_status status;
};
static void wait_for_all(void* barrier) { pthread_barrier_wait(barrier); }
static void* work(void* of) {
  struct worker_thread* const self = of;
  self->status = posenc1_attend_as(self->batch->of, self->batch->count, &self->worker);
  return NULL;
}
/* Workers that differ, or lack what they must have, all return an error, and nothing is written. */
static void disagree(struct batch const* b, int how) {
  struct worker_thread all[WORKERS];
  pthread_t threads[WORKERS];
  pthread_barrier_t barrier;
  struct batch other = *b;
  pthread_barrier_init(&barrier, NULL, WORKERS);
  size_t bytes = 0;
  MUST_WORK(posenc1_attention_memory_of(b->of, b->count, WORKERS, &bytes));
  char* const memory = malloc(bytes + 64);
  uint64_t const before = results_of(b);
  if (how == 0) other.of[0].scale = 0.5;
  if (how == 1) other.of[0].cap = -1;
  if (how == 2) other.of[0].query_positions = NULL, other.of[0].query_tokens += 2000;
  if (how == 8) other.count -= 1;
  if (how == 11) other.of[0].tau += 1;
  if (how == 12) other.of[0].outputs.data = (char*)other.of[0].outputs.data + 8;
  for (size_t i = 0; i < WORKERS; ++i) {
    all[i] =
        (struct worker_thread){b, {i, WORKERS, wait_for_all, &barrier, memory, bytes}, POSENC1_OK};
    if ((how < 3 || how == 8 || how > 10) && i == 1) all[i].batch = &other;
    if ((how == 9 || how == 10) && i == (size_t)how - 9) all[i].worker.count += 1;
    if (how == 3) all[i].worker.memory_bytes = 100;
    if (how == 4 && i == 1) all[i].worker.memory = NULL;
    if (how == 5) all[i].worker.index += 1;
    if (how == 6) all[i].worker.index = 0;
    if (how == 7 && i == 2) all[i].worker.memory = memory + 64;
    MUST(pthread_create(&threads[i], NULL, work, &all[i]) == 0);
  }
  for (size_t i = 0; i < WORKERS; ++i) {
    pthread_join(threads[i], NULL);
    MUST(all[i].status == POSENC1_INVALID_ARGUMENT);
  }
  MUST(results_of(b) == before);
  free(memory), pthread_barrier_destroy(&barrier);
}
static void by_workers(struct batch const* b, posenc1_status wanted) {
  struct worker_thread all[WORKERS];
  pthread_t threads[WORKERS];
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, WORKERS);
  size_t bytes = 0;
  if (posenc1_attention_memory_of(b->of, b->count, WORKERS, &bytes) != POSENC1_OK) return;
  void* const memory = malloc(bytes);
  for (size_t i = 0; i < WORKERS; ++i) {
    all[i] =
        (struct worker_thread){b, {i, WORKERS, wait_for_all, &barrier, memory, bytes}, POSENC1_OK};
    MUST(pthread_create(&threads[i], NULL, work, &all[i]) == 0);
  }
  for (size_t i = 0; i < WORKERS; ++i) {
    pthread_join(threads[i], NULL);
    MUST(all[i].status == wanted);
  }
  free(memory), pthread_barrier_destroy(&barrier);
}
#endif

int main(int count, char** arguments) {
  FILE* const file = fopen(count > 1 ? arguments[1] : "attention.txt", "r");
  MUST(file != NULL);
  for (int values = 1; fgets(copy, sizeof copy, file) != NULL;) {
    copy[strcspn(copy, "\r\n")] = 0;
    if (sscanf(copy, "=temperature %31s", rules[values]) == 1) MUST(++values < MOST_RULES);
    if (*copy == 0 || *copy == '#' || *copy == '=') continue;
    char* const error = strstr(copy, " error ");
    if (error != NULL) *error = 0;
    snprintf(line, sizeof line, "%s", copy);
    printf("%.*s ", (int)strcspn(line, " "), line);
    posenc1_status (*const of)(uint64_t*) = is("rows")            ? rows_of
                                            : is("ring")          ? ring_of
                                            : *text("bounds", "") ? bounds_of
                                                                  : NULL;
    if (of != NULL) {
      uint64_t value = 0xcbf29ce484222325u;
      if (of(&value) == POSENC1_OK)
        printf("%llx\n", (unsigned long long)value);
      else
        printf("error %s\n", posenc1_error());
      continue;
    }
    struct batch const b = batch_of_case();
    posenc1_status status;
    if (b.count == 1) {
      status = by_heads(b.of[0]);
    } else {
      posenc1_worker alone = {.count = 1};
      MUST_WORK(posenc1_attention_memory_of(b.of, b.count, 1, &alone.memory_bytes));
      alone.memory = malloc(alone.memory_bytes);
      status = posenc1_attend_as(b.of, b.count, &alone);
      free(alone.memory);
    }
    if (status == POSENC1_OK) status = backward(&b);
    if (status != POSENC1_OK) {
      printf("error %s\n", posenc1_error());
    } else {
      printf("%llx\n", (unsigned long long)results_of(&b));
    }
#if defined(HAS_THREADS)
    uint64_t const before = results_of(&b);
    for (size_t i = 0; i < b.count; ++i)
      memset(b.of[i].outputs.data, 0xff, b.of[i].query_tokens * b.of[i].heads * b.of[i].value_dim);
    by_workers(&b, status);
    for (int how = 0; status == POSENC1_OK && how < 13; ++how) disagree(&b, how);
    MUST(status != POSENC1_OK || results_of(&b) == before);
#endif
  }
  posenc1_worker const without_barrier = {.count = 2};
  MUST_REFUSE(posenc1_attend_as(NULL, 0, &without_barrier),
              "must be a barrier for 2 workers, got null");
  MUST_REFUSE(posenc1_attend_as(NULL, 0, NULL), "must not be null");
  MUST_WORK(posenc1_attend_as(NULL, 0, &(posenc1_worker){.count = 1}));
  return fclose(file);
}
