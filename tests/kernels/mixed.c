/* Rows that differ by head: made right, and each head is rotated by those of its kv head, as if it
 * were rotated alone. */
#include "numbers.h"

enum {
  BATCHES = 2,
  TOKENS = 5,
  ALL_TOKENS = BATCHES * TOKENS,
  HEADS = 6,
  ROW_HEADS = 3,
  GROUP = HEADS / ROW_HEADS,
  AXES = 2,
  DIM = 64,
  PAIRS = 15,
  PAGES = 4,
  PAGE_TOKENS = 3,
  ROOM = 2 * ALL_TOKENS * HEADS * DIM
};

static double inv_freq[ROW_HEADS][AXES][PAIRS];
static int64_t const positions[AXES][ALL_TOKENS] = {{0, 7, 31, -3, 12, 99, 3, 5, 70, 71},
                                                    {2, 0, -8, 3, 41, 1 << 20, 5, 6, -70, 4}};
static int64_t const slots[ALL_TOKENS] = {11, -1, 0, 2, 4, 8, 7, 6, 1, 10};

static void test_mixed_rows(posenc1_row_maker const* maker) {
  static double rows[ROW_HEADS][ALL_TOKENS][2][PAIRS];
  static float floats[ROW_HEADS][ALL_TOKENS][2][PAIRS];
  double fractions[AXES][ALL_TOKENS];
  for (int fractional = 0; fractional < 2; ++fractional) {
    for (int a = 0; a < AXES; ++a)
      for (int t = 0; t < ALL_TOKENS; ++t)
        fractions[a][t] = (double)positions[a][t] / (fractional ? 24 : 1);
    if (fractional) {
      MUST_WORK_WITHOUT_MEMORY(
          posenc1_write_fractional_rows(maker, *fractions, NULL, ALL_TOKENS, POSENC1_F64, rows));
      MUST_WORK(
          posenc1_write_fractional_rows(maker, *fractions, NULL, ALL_TOKENS, POSENC1_F32, floats));
    } else {
      MUST_WORK_WITHOUT_MEMORY(
          posenc1_write_rows(maker, *positions, NULL, ALL_TOKENS, POSENC1_F64, rows));
      MUST_WORK(posenc1_write_rows(maker, *positions, NULL, ALL_TOKENS, POSENC1_F32, floats));
    }
    for (int h = 0; h < ROW_HEADS; ++h) {
      for (int t = 0; t < ALL_TOKENS; ++t) {
        for (int i = 0; i < PAIRS; ++i) {
          double const angle =
              fractions[0][t] * inv_freq[h][0][i] + fractions[1][t] * inv_freq[h][1][i];
          double const* const row = rows[h][t][0];
          /* The oracle's angle is off by up to 2^21 x 2^-53; a float by half a last place. */
          MUST(fabs(row[i] - cos(angle)) < 1e-9 && fabs(row[PAIRS + i] - sin(angle)) < 1e-9);
          MUST(fabs(floats[h][t][0][i] - row[i]) < 3.1e-8);
          MUST(fabs(floats[h][t][1][i] - row[PAIRS + i]) < 3.1e-8);
        }
      }
    }
  }
}

/* An operand's heads, with strides that say where they lie. */
struct memory {
  char bytes[8 * ROOM];
};
static posenc1_heads heads_in(struct memory* memory, posenc1_format format, int paged) {
  size_t of_head = 0, of_scales = 0;
  MUST_WORK(posenc1_format_bytes(format, DIM, &of_head, &of_scales));
  posenc1_heads h = {.data = memory->bytes, .format = format};
  h.head_stride = (ptrdiff_t)of_head, h.token_stride = HEADS * h.head_stride;
  h.page_stride = (paged ? PAGE_TOKENS : TOKENS) * h.token_stride;
  if (paged) h.slots = slots, h.pages = PAGES, h.page_tokens = PAGE_TOKENS;
  return h;
}
static posenc1_heads slice(posenc1_heads h, size_t head) {
  if (h.data != NULL) h.data = (char*)h.data + (ptrdiff_t)head * h.head_stride;
  return h;
}

/* All heads in one call, or in one for those of each row; and neither as if row 0 were of all. */
static void must_be_alike(posenc1_row_maker const* maker, void const* const cos_sin[2],
                          posenc1_operand o, int paged, int shared, size_t parts) {
  static struct memory given, from[3], to[3], also[3];
  posenc1_format const type = o.from.format, target = o.to.format, second = o.also_to.format;
  for (size_t i = 0; i < ROOM; ++i)
    set_number(given.bytes, type, i, ((int)(i * i % 37 + i * 7 % 19) - 27) / 16.0);
  size_t const rows = shared ? TOKENS : ALL_TOKENS,
               row_bytes = rows * 2 * PAIRS * sizes[type == POSENC1_F64 ? POSENC1_F64 : 1];
  o.heads = HEADS, o.head_dim = DIM;
  posenc1_rows const all = {.cos_sin = cos_sin[type == POSENC1_F64],
                            .tokens = TOKENS,
                            .batches = BATCHES,
                            .rows = rows,
                            .maker = maker};
  for (int way = 0; way < 3; ++way) {
    from[way] = given, memset(&to[way], 0, sizeof *to), memset(&also[way], 0, sizeof *also);
    posenc1_operand x = o;
    posenc1_rows r = all;
    x.from = heads_in(&from[way], type, paged);
    if (target != 0) x.to = heads_in(&to[way], target, 1);
    if (second != 0) x.also_to = heads_in(&also[way], second, 0);
    if (way == 2) r.heads = 1;
    if (way != 1) {
      for (size_t part = parts; part-- > 0;)
        MUST_WORK_WITHOUT_MEMORY(posenc1_rotate(&r, &x, 1, part, parts));
      continue;
    }
    for (size_t row = 0; row < ROW_HEADS; ++row) {
      posenc1_operand some = x;
      some.heads = GROUP;
      some.from = slice(x.from, row * GROUP), some.to = slice(x.to, row * GROUP);
      some.also_to = slice(x.also_to, row * GROUP);
      r.cos_sin = (char const*)all.cos_sin + row * row_bytes, r.heads = 1;
      MUST_WORK(posenc1_rotate(&r, &some, 1, 0, 1));
    }
  }
  MUST(memcmp(&from[0], &from[1], sizeof *from) == 0);
  MUST(memcmp(&to[0], &to[1], sizeof *to) == 0);
  MUST(memcmp(&also[0], &also[1], sizeof *also) == 0);
  MUST(memcmp(&from[0], &from[2], sizeof *from) != 0 || memcmp(&to[0], &to[2], sizeof *to) != 0);
}

static void test_mixed_rotations(posenc1_row_maker const* maker) {
  static float floats[2][ROW_HEADS * ALL_TOKENS * 2 * PAIRS];
  static double doubles[2][ROW_HEADS * ALL_TOKENS * 2 * PAIRS];
  int64_t first[AXES][TOKENS];
  for (int a = 0; a < AXES; ++a) memcpy(first[a], positions[a], sizeof first[a]);
  for (int shared = 0; shared < 2; ++shared) {
    int64_t const* const at = shared ? *first : *positions;
    size_t const count = shared ? TOKENS : ALL_TOKENS;
    MUST_WORK(posenc1_write_rows(maker, at, NULL, count, POSENC1_F32, floats[shared]));
    MUST_WORK(posenc1_write_rows(maker, at, NULL, count, POSENC1_F64, doubles[shared]));
  }
  posenc1_operand const all[] = {
      {.from = {.format = POSENC1_F32}, .layout = POSENC1_HALVES},
      {.from = {.format = POSENC1_F64}, .layout = POSENC1_INTERLEAVED, .first_dim = 5},
      {.from = {.format = POSENC1_BF16}, .layout = POSENC1_HALVES, .norm = {.eps = 1e-3}},
      {.from = {.format = POSENC1_F32},
       .to = {.format = POSENC1_F16},
       .layout = POSENC1_INTERLEAVED,
       .to_layout = POSENC1_HALVES,
       .factor = 0.75},
      {.from = {.format = POSENC1_F32}, .to = {.format = POSENC1_Q8_0}, .layout = POSENC1_HALVES},
      {.from = {.format = POSENC1_F16},
       .to = {.format = POSENC1_Q8_0},
       .also_to = {.format = POSENC1_F32},
       .layout = POSENC1_INTERLEAVED,
       .first_dim = POSENC1_LAST_DIMS,
       .hadamard = 16},
      {.from = {.format = POSENC1_BF16},
       .layout = POSENC1_HALVES,
       .norm = {.eps = 1e-3, .place = POSENC1_AFTER_ROTATION},
       .rounding = POSENC1_ROUND_HUGGING_FACE,
       .rounded_to = POSENC1_BF16}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    for (int shared = 0; shared < 2; ++shared) {
      void const* const cos_sin[2] = {floats[shared], doubles[shared]};
      for (int paged = 0; paged < 2; ++paged) {
        must_be_alike(maker, cos_sin, all[i], paged, shared, 1);
        must_be_alike(maker, cos_sin, all[i], paged, shared, 7);
        must_be_alike(maker, cos_sin, all[i], paged, shared, 100);
      }
    }
  }
}

/* A step of decoding, beside values that have another number of heads. */
static void test_mixed_token(posenc1_row_maker const* maker) {
  float row[ROW_HEADS][2][PAIRS], x[HEADS][DIM], alone[HEADS][DIM], v[1][DIM] = {{3}}, stored[DIM];
  int64_t const at[AXES] = {5, -77};
  MUST_WORK(posenc1_write_rows(maker, at, NULL, 1, POSENC1_F32, row));
  for (int i = 0; i < HEADS * DIM; ++i) x[i / DIM][i % DIM] = (float)(i % 13) - 6;
  memcpy(alone, x, sizeof x);
  posenc1_rows const rows = {.cos_sin = row, .tokens = 1, .maker = maker};
  posenc1_operand const step[] = {{.from = {.data = x, .format = POSENC1_F32},
                                   .heads = HEADS,
                                   .head_dim = DIM,
                                   .layout = POSENC1_HALVES},
                                  {.from = {.data = v, .format = POSENC1_F32},
                                   .to = {.data = stored, .format = POSENC1_F32},
                                   .heads = 1,
                                   .head_dim = DIM,
                                   .layout = POSENC1_UNROTATED}};
  for (int more = 1; more < 3; ++more) {
    MUST_WORK(posenc1_rotate(&rows, step, (size_t)more, 0, 1));
    for (int h = 0; h < HEADS; ++h) {
      posenc1_rows const own = {.cos_sin = row[h / GROUP], .tokens = 1, .maker = maker, .heads = 1};
      posenc1_operand head = step[0];
      head.from.data = alone[h], head.heads = 1;
      MUST_WORK(posenc1_rotate(&own, &head, 1, 0, 1));
    }
    MUST(memcmp(x, alone, sizeof x) == 0);
  }
  MUST(memcmp(v, stored, sizeof stored) == 0);
  /* The rows say so, if there is no maker. */
  posenc1_rows const without = {.cos_sin = row, .tokens = 1, .pairs = PAIRS, .heads = ROW_HEADS};
  MUST_WORK(posenc1_rotate(&rows, step, 1, 0, 1));
  float by_maker[HEADS][DIM];
  memcpy(by_maker, x, sizeof x), memcpy(x, alone, sizeof x);
  MUST_WORK(posenc1_rotate(&without, step, 1, 0, 1));
  MUST(memcmp(x, by_maker, sizeof x) == 0);

  posenc1_operand odd = step[0];
  odd.heads = 4;
  MUST_REFUSE(posenc1_rotate(&rows, &odd, 1, 0, 1),
              "posenc1_rotate: operand 0: heads must be a multiple of the heads of rows, got 4 "
              "heads and rows of 3");
  MUST_REFUSE(posenc1_rotate(&without, &odd, 1, 0, 1), "got 4 heads and rows of 3");
  odd.norm.eps = 1, odd.norm.place = POSENC1_AFTER_ROTATION;
  MUST_REFUSE(posenc1_rotate(&rows, &odd, 1, 0, 1), "got 4 heads and rows of 3");
  MUST(memcmp(x, by_maker, sizeof x) == 0);
}

static void test_mixed_errors(posenc1_row_maker const* maker) {
  posenc1_row_maker* none = NULL;
  double const* const f = **inv_freq;
  float row[ROW_HEADS * 2 * PAIRS];
  MUST_REFUSE(posenc1_mixed_row_maker_create(NULL, 1, 1, 1, 1, &none), "inv_freq must not be null");
  MUST_REFUSE(posenc1_mixed_row_maker_create(f, 1, 1, 1, 1, NULL), "result must not be null");
  MUST_REFUSE(posenc1_mixed_row_maker_create(f, 0, 2, 3, 1, &none),
              "posenc: mixed_row_maker: there must be a head and an axis at least, got 0 heads and "
              "2 axes");
  MUST_REFUSE(posenc1_mixed_row_maker_create(f, 2, 2, 0, 1, &none),
              "there must be as many frequencies for each of 2 heads and 2 axes, got 0");
  MUST_REFUSE(posenc1_mixed_row_maker_create(f, 1, 1, 1, 0, &none),
              "mixed_row_maker: attention_factor must be finite and positive, got 0");
  MUST_REFUSE(posenc1_mixed_row_maker_create(f, 1 << 8, 1 << 8, (1 << 8) + 1, 1, &none),
              "inv_freq must have at most 2^24 numbers, got 256 heads of 256 axes of 257 pairs");
  /* heads x axes is 0 where it wraps. */
  MUST_REFUSE(posenc1_mixed_row_maker_create(f, SIZE_MAX / 2 + 1, 2, 3, 1, &none),
              "at most 2^24 numbers");
  double const infinite[] = {1, -INFINITY};
  MUST_REFUSE(posenc1_mixed_row_maker_create(infinite, 1, 2, 1, 1, &none),
              "inv_freq must be in [-2^64, 2^64] radians per position, got -infinity at pair 0 of "
              "head 0 on axis 1");
  MUST_REFUSE(posenc1_write_rows(maker, *positions, *positions, 1, POSENC1_F32, row),
              "from_positions must be null for a maker that does not rerotate");
  double const nowhere[AXES] = {0, NAN};
  MUST_REFUSE(posenc1_write_fractional_rows(maker, nowhere, NULL, 1, POSENC1_F32, row),
              "a position must be finite and within [-2^63, 2^63), got NaN at token 0");
}

void test_mixed(void) {
  posenc1_row_maker* maker;
  for (int h = 0; h < ROW_HEADS; ++h)
    for (int a = 0; a < AXES; ++a)
      for (int i = 0; i < PAIRS; ++i)
        inv_freq[h][a][i] = i == 7 ? 0 : sin(1.0 + h * 31 + a * 17 + i) * (i % 2 ? 1 : 0.01);
  MUST_WORK(posenc1_mixed_row_maker_create(**inv_freq, ROW_HEADS, AXES, PAIRS, 1, &maker));
  test_mixed_rows(maker);
  test_mixed_rotations(maker);
  test_mixed_token(maker);
  test_mixed_errors(maker);
  posenc1_row_maker_destroy(maker);
}
