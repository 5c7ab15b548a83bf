/* Layouts in which keys and values, or codes and scales, lie between each other: every call gives
 * the bits that it gives where they are dense, and touches nothing else. */
#include "numbers.h"

enum { TOKENS = 5, HEADS = 4, DIM = 32, PAGES = 3, PAGE = 4, GROUP = 2 };
enum { ALL = PAGES * PAGE * HEADS, SIZE = 2, ROOM = 5 * ALL * DIM };

static int64_t const positions[TOKENS] = {3, 4, 70, -5, 1000};
static int64_t const slots[TOKENS] = {9, -1, 2, 3, 4};

/* Strides, and from keys to values, in heads of numbers. */
struct layout {
  char const* name;
  ptrdiff_t page, token, head, values, first;
};
static struct layout const layouts[] = {
    {"[page][token][head], twice", PAGE* HEADS, HEADS, 1, ALL, 0},
    {"[page][head][token][keys, values]", 2 * HEADS* PAGE, 2, 2 * PAGE, 1, 0}, /* vLLM's */
    {"[page][token][head][keys, values]", 2 * HEADS* PAGE, 2 * HEADS, 2, 1, 0},
    {"[page][token][keys, values][head]", 2 * HEADS* PAGE, 2 * HEADS, 1, HEADS, 0},
    {"[page][keys, values][token][head]", 2 * HEADS* PAGE, HEADS, 1, PAGE* HEADS, 0},
    {"[page][keys, values][head][token]", 2 * HEADS* PAGE, 1, PAGE, PAGE* HEADS, 0},
    {"[head][page][token][keys, values]", 2 * PAGE, 2, 2 * PAGES* PAGE, 1, 0},
    {"[token][page][head][keys, values]", 2 * HEADS, 2 * PAGES* HEADS, 2, 1, 0},
    {"[page][token][keys, values][head], padded pages", 2 * HEADS* PAGE + 1, 2 * HEADS, 1, HEADS,
     0},
    {"[page][token][head][keys, values], padded pages", 2 * HEADS* PAGE + 3, 2 * HEADS, 2, 1, 0},
    {"[page][head][token][keys, values], padded pages", 2 * HEADS* PAGE + 1, 2, 2 * PAGE, 1, 0},
    {"[page][keys, values][token][head], padded pages", 2 * HEADS* PAGE + 1, HEADS, 1, PAGE* HEADS,
     0},
    {"[page][token][head][keys, values], padded tokens", (2 * HEADS + 1) * PAGE + 2, 2 * HEADS + 1,
     2, 1, 0},
    {"[page][token][keys, values][head], padded tokens", (2 * HEADS + 1) * PAGE, 2 * HEADS + 1, 1,
     HEADS, 0},
    {"[page][head][token][keys, values], padded heads", (2 * PAGE + 1) * HEADS, 2, 2 * PAGE + 1, 1,
     0},
    {"[page][head][token][values, keys], pages backwards", -2 * HEADS* PAGE, 2, 2 * PAGE, -1,
     2 * HEADS* PAGE*(PAGES - 1) + 1}};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static char* head_at(char* memory, struct layout const* l, size_t token, size_t head, int values) {
  ptrdiff_t const slot = (ptrdiff_t)slots[token];
  return memory + (l->first + slot / PAGE * l->page + slot % PAGE * l->token +
                   (ptrdiff_t)head * l->head + values * l->values) *
                      DIM * SIZE;
}
static posenc1_heads heads_in(char* memory, struct layout const* l, int values) {
  ptrdiff_t const bytes = DIM * SIZE;
  return (posenc1_heads){.data = memory + (l->first + values * l->values) * bytes,
                         .format = POSENC1_BF16,
                         .page_stride = l->page * bytes,
                         .token_stride = l->token * bytes,
                         .head_stride = l->head * bytes,
                         .slots = slots,
                         .pages = PAGES,
                         .page_tokens = PAGE};
}
static posenc1_operand from_floats(void* numbers, posenc1_heads to) {
  return (posenc1_operand){.from = {.data = numbers, .format = POSENC1_F32},
                           .to = to,
                           .heads = HEADS,
                           .head_dim = DIM,
                           .layout = POSENC1_UNROTATED};
}
static posenc1_status decode(posenc1_heads cache, float* numbers) {
  posenc1_rows const rows = {.tokens = TOKENS};
  posenc1_operand x = from_floats(numbers, (posenc1_heads){.data = NULL});
  x.to = x.from, x.from = cache;
  return posenc1_rotate(&rows, &x, 1, 0, 1);
}

/* What all calls leave in memory, and give. */
struct results {
  char memory[ROOM];
  uint16_t heads[4][2][TOKENS][HEADS][DIM]; /* after a call each: keys, values */
  float read[2][TOKENS * HEADS * DIM], outputs[HEADS * GROUP * DIM];
};

static void keep(struct results* r, struct layout const* l, int call) {
  for (size_t t = 0; t < TOKENS; ++t)
    for (size_t i = 0; slots[t] >= 0 && i < (size_t)2 * HEADS; ++i)
      memcpy(r->heads[call][i / HEADS][t][i % HEADS],
             head_at(r->memory, l, t, i % HEADS, (int)(i / HEADS)), DIM * SIZE);
}

static void run_all(struct results* r, struct layout const* l, posenc1_row_maker const* maker,
                    float const* rows) {
  static float numbers[2][TOKENS * HEADS * DIM], queries[HEADS * GROUP * DIM];
  for (size_t i = 0; i < 2 * TOKENS * HEADS * DIM; ++i)
    (&numbers[0][0])[i] = (float)((int)(i * 37 % 127) - 60) / 16;
  for (size_t i = 0; i < HEADS * GROUP * DIM; ++i) queries[i] = (float)((int)(i % 29) - 14) / 8;
  memset(r, 0, sizeof *r), memset(r->memory, 0x77, sizeof r->memory);

  posenc1_rows const all = {.cos_sin = rows, .tokens = TOKENS, .maker = maker};
  posenc1_operand kv[2] = {from_floats(numbers[0], heads_in(r->memory, l, 0)),
                           from_floats(numbers[1], heads_in(r->memory, l, 1))};
  for (int rotates = 0; rotates < 2; ++rotates) {
    if (rotates) kv[0].layout = POSENC1_HALVES;
    MUST_WORK(posenc1_rotate(&all, kv, 2, 0, 1));
    keep(r, l, rotates);
  }
  /* Keys move where they are, then to where values are. */
  posenc1_operand move = kv[0];
  move.from = kv[0].to, move.to = (posenc1_heads){.data = NULL};
  MUST_WORK(posenc1_rotate(&all, &move, 1, 0, 1));
  keep(r, l, 2);
  move.to = heads_in(r->memory, l, 1);
  MUST_WORK(posenc1_rotate(&all, &move, 1, 0, 1));
  keep(r, l, 3);
  for (int values = 0; values < 2; ++values)
    MUST_WORK(decode(heads_in(r->memory, l, values), r->read[values]));
  static char work[1 << 16];
  posenc1_attention const a = {.queries = {.data = queries, .format = POSENC1_F32},
                               .outputs = {.data = r->outputs, .format = POSENC1_F32},
                               .keys = heads_in(r->memory, l, 0),
                               .values = heads_in(r->memory, l, 1),
                               .tokens = TOKENS,
                               .query_tokens = 1,
                               .heads = HEADS * GROUP,
                               .kv_heads = HEADS,
                               .head_dim = DIM,
                               .memory = work,
                               .memory_bytes = sizeof work};
  MUST_WORK(posenc1_attend(&a, 0, SIZE_MAX));
  for (size_t t = 0; t < TOKENS; ++t)
    for (size_t i = 0; slots[t] >= 0 && i < (size_t)2 * HEADS; ++i)
      memset(head_at(r->memory, l, t, i % HEADS, (int)(i / HEADS)), 0x77, DIM * SIZE);
}

static void test_keys_and_values(posenc1_row_maker const* maker, float const* rows) {
  static struct results dense, other;
  run_all(&dense, &layouts[0], maker, rows);
  for (int i = 1; i < LAYOUTS; ++i) {
    run_all(&other, &layouts[i], maker, rows);
    if (memcmp(&dense, &other, sizeof dense) != 0) printf("%s\n", layouts[i].name);
    MUST(memcmp(&dense, &other, sizeof dense) == 0);
  }
  /* A byte nearer, they overlap. */
  struct layout const* const l = &layouts[1];
  posenc1_rows const all = {.cos_sin = rows, .tokens = TOKENS, .maker = maker};
  posenc1_operand kv[2] = {from_floats(dense.read, heads_in(other.memory, l, 0)),
                           from_floats(dense.read, heads_in(other.memory, l, 1))};
  kv[1].to.data = (char*)kv[1].to.data - SIZE;
  MUST_REFUSE(posenc1_rotate(&all, kv, 2, 0, 1), "must not overlap those of another");
  kv[1].to = heads_in(other.memory, l, 1), kv[1].to.head_stride -= SIZE;
  MUST_REFUSE(posenc1_rotate(&all, kv, 2, 0, 1), "must not overlap");
}

/* Codes and the scale behind them, head by head; and other slots of the pages that are read. */
static void test_codes_and_scales(void) {
  static float numbers[TOKENS * HEADS * DIM], read[3][TOKENS * HEADS * DIM];
  static char dense[ALL * (DIM + 4)], other[ALL * (DIM + 4)], spread[ALL * (DIM + 8)];
  static int64_t const elsewhere[TOKENS] = {0, 1, 11, -1, 5};
  for (size_t i = 0; i < TOKENS * HEADS * DIM; ++i) numbers[i] = (float)((int)(i % 53) - 26) / 8;
  posenc1_heads const in_pages = {.data = dense,
                                  .format = POSENC1_INT8_PER_HEAD,
                                  .slots = slots,
                                  .pages = PAGES,
                                  .page_tokens = PAGE};
  posenc1_heads beside = in_pages;
  beside.data = other, beside.scales = other + DIM;
  beside.token_stride = beside.scales_token_stride = DIM + 4;
  beside.head_stride = beside.scales_head_stride = PAGE * (DIM + 4);
  beside.page_stride = beside.scales_page_stride = HEADS * PAGE * (DIM + 4);
  /* The same, [page][token][head][codes, scale], with bytes behind each token and each page. */
  posenc1_heads padded = beside;
  padded.data = spread, padded.scales = spread + DIM;
  padded.head_stride = padded.scales_head_stride = DIM + 4;
  padded.token_stride = padded.scales_token_stride = HEADS * (DIM + 4) + 3;
  padded.page_stride = padded.scales_page_stride = PAGE * padded.token_stride + 7;
  posenc1_heads const* const caches[] = {&in_pages, &beside, &padded};
  for (int i = 0; i < 3; ++i) {
    posenc1_rows const rows = {.tokens = TOKENS};
    posenc1_operand const x = from_floats(numbers, *caches[i]);
    MUST_WORK(posenc1_rotate(&rows, &x, 1, 0, 1));
    posenc1_operand copy = x;
    copy.from = *caches[i], copy.to.slots = elsewhere;
    MUST_WORK(posenc1_rotate(&rows, &copy, 1, 0, 1));
    MUST_WORK(decode(copy.to, read[i]));
    copy.to.slots = (int64_t const[TOKENS]){0, 1, 11, -1, 9};
    MUST_REFUSE(posenc1_rotate(&rows, &copy, 1, 0, 1), "source and target must not overlap");
  }
  MUST(memcmp(read[0], read[1], sizeof read[0]) == 0 && read[0][0] != 0);
  MUST(memcmp(read[0], read[2], sizeof read[0]) == 0);
  beside.scales = other + DIM - 1;
  MUST_REFUSE(decode(beside, read[0]), "must not overlap codes");
}

void test_layouts(void) {
  posenc1_frequencies* f;
  posenc1_row_maker* maker;
  float rows[TOKENS * DIM];
  MUST_WORK(posenc1_frequencies_of_base(DIM, 10000, &f));
  MUST_WORK(posenc1_row_maker_create(f, 0, &maker));
  MUST_WORK(posenc1_write_rows(maker, positions, NULL, TOKENS, POSENC1_F32, rows));
  test_keys_and_values(maker, rows);
  test_codes_and_scales();
  posenc1_row_maker_destroy(maker);
  posenc1_frequencies_destroy(f);
}
