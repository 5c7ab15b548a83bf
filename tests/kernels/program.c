/* The C API in C: every rotation against plain loops in double, on the instruction set that the
 * library chose, whose name is printed. */
#include "numbers.h"

enum { BATCHES = 2, TOKENS = 5, HEADS = 3, DIM = 40, PAIRS = 15, ALL = BATCHES * TOKENS * HEADS };

size_t allocations;
#if defined(__GLIBC__) && defined(COUNTS_ALLOCATIONS) /* glibc's own, by their other names */
void* __libc_malloc(size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void* malloc(size_t size) { return ++allocations, __libc_malloc(size); }
void* aligned_alloc(size_t alignment, size_t size) {
  return ++allocations, __libc_memalign(alignment, size);
}
#endif

/* ---- The rotation in plain loops */

static double input(size_t head, size_t dim) {
  return ((int)((head * 7 + dim * 3) % 33) - 16) / 8.0;
}
static double weight_of(size_t dim) { return 1 + (double)(dim % 5) / 4; }
static int64_t const positions[BATCHES * TOKENS] = {0, 7, 31, -3, 12, 99, 3, 5, 70, 71};

struct options {
  posenc1_layout from_layout, to_layout;
  size_t first_dim;
  double eps, factor;
  int rows_shared; /* those of batch 0 by all batches */
  size_t parts;    /* calls */
};

static size_t dim_of(posenc1_layout layout, size_t pair, size_t which) {
  return layout == POSENC1_HALVES ? pair + which * PAIRS : 2 * pair + which;
}

static void expected(double* out, size_t head, double const* inv_freq, double position,
                     struct options const* o) {
  double x[DIM], squares = 0, gain = o->factor == 0 ? 1 : o->factor;
  for (size_t i = 0; i < DIM; ++i) x[i] = input(head, i), squares += x[i] * x[i];
  for (size_t i = 0; i < DIM; ++i) x[i] *= (o->eps == 0 ? 1 : weight_of(i)) * gain;
  if (o->eps != 0) {
    for (size_t i = 0; i < DIM; ++i) x[i] /= sqrt(squares / DIM + o->eps);
  }
  memcpy(out, x, sizeof x);
  size_t const first = o->first_dim == POSENC1_LAST_DIMS ? DIM - 2 * PAIRS : o->first_dim;
  for (size_t pair = 0; pair < PAIRS; ++pair) {
    double const c = cos(position * inv_freq[pair]), s = sin(position * inv_freq[pair]);
    double const u = x[first + dim_of(o->from_layout, pair, 0)],
                 v = x[first + dim_of(o->from_layout, pair, 1)];
    out[first + dim_of(o->to_layout, pair, 0)] = u * c - v * s;
    out[first + dim_of(o->to_layout, pair, 1)] = u * s + v * c;
  }
}

/* ---- What is tested */

struct context {
  posenc1_row_maker* maker;
  double inv_freq[PAIRS];
  double* cos_sin[2]; /* float, double: [BATCHES][TOKENS][2][PAIRS] */
};

/* How heads lie: contiguous; with gaps, tokens backwards; heads outside tokens; in pages. */
enum { DENSE, GAPS, HEADS_FIRST, PAGED, PLACES };
enum { PAGES = 4, PAGE_TOKENS = 3 };
static int64_t const slots[BATCHES * TOKENS] = {11, -1, 0, 2, 4, 8, 7, 6, 1, 10};

/* Elements in memory; and the first element of a head, or -1. */
enum { ROOM = 4 * ALL * DIM };
static ptrdiff_t head_at(int place, size_t batch, size_t token, size_t head) {
  ptrdiff_t const b = (ptrdiff_t)batch, t = (ptrdiff_t)token, h = (ptrdiff_t)head;
  ptrdiff_t const slot = (ptrdiff_t)slots[batch * TOKENS + token];
  switch (place) {
    case DENSE:
      return ((b * TOKENS + t) * HEADS + h) * DIM;
    case GAPS:
      return (b * TOKENS + (TOKENS - 1 - t)) * (HEADS * (DIM + 3) + 5) + h * (DIM + 3);
    case HEADS_FIRST:
      return ((b * HEADS + h) * TOKENS + t) * DIM;
    default:
      return slot < 0 ? -1 : (slot * HEADS + h) * DIM;
  }
}

static posenc1_heads heads_at(void* memory, int place, posenc1_format type) {
  ptrdiff_t const size = (ptrdiff_t)sizes[type];
  posenc1_heads h = {.data = memory, .format = type};
  if (place == GAPS) {
    h.data = (char*)memory + head_at(GAPS, 0, 0, 0) * size;
    h.head_stride = (DIM + 3) * size, h.token_stride = -(HEADS * (DIM + 3) + 5) * size;
    h.page_stride = -h.token_stride * TOKENS;
  }
  if (place == HEADS_FIRST) {
    h.token_stride = DIM * size, h.head_stride = TOKENS * DIM * size;
    h.page_stride = HEADS * TOKENS * DIM * size;
  }
  if (place == PAGED) h.slots = slots, h.pages = PAGES, h.page_tokens = PAGE_TOKENS;
  return h;
}

static void test_rotation(struct context const* c, posenc1_format from, posenc1_format to,
                          int from_place, int to_place, int in_place, struct options o) {
  static double memory[2][ROOM]; /* aligned for all types */
  double weights[DIM];
  float float_weights[DIM];
  memset(memory, 0, sizeof memory);
  for (size_t i = 0; i < DIM; ++i) weights[i] = weight_of(i), float_weights[i] = (float)weights[i];
  for (size_t i = 0; i < ALL; ++i) {
    ptrdiff_t const at = head_at(from_place, i / HEADS / TOKENS, i / HEADS % TOKENS, i % HEADS);
    for (size_t d = 0; at >= 0 && d < DIM; ++d)
      set_number(memory[0], from, (size_t)at + d, input(i, d));
  }
  posenc1_rows const rows = {.cos_sin = c->cos_sin[from == POSENC1_F64],
                             .tokens = TOKENS,
                             .batches = BATCHES,
                             .rows = o.rows_shared ? TOKENS : BATCHES * TOKENS,
                             .maker = c->maker};
  posenc1_operand x = {.from = heads_at(memory[0], from_place, from),
                       .heads = HEADS,
                       .head_dim = DIM,
                       .layout = o.from_layout,
                       .to_layout = o.to_layout == o.from_layout ? 0 : o.to_layout,
                       .first_dim = o.first_dim,
                       .norm = {.eps = o.eps},
                       .factor = o.factor};
  if (o.eps != 0) {
    x.norm.weight = from == POSENC1_F64 ? (void*)weights : (void*)float_weights;
    x.norm.weight_format = from == POSENC1_F64 ? POSENC1_F64 : POSENC1_F32;
  }
  if (!in_place) x.to = heads_at(memory[1], to_place, to);
  /* As a pool of threads would, in parts that may end within tokens. */
  for (size_t part = o.parts; part-- > 0;)
    MUST_WORK_WITHOUT_MEMORY(posenc1_rotate(&rows, &x, 1, part, o.parts));
  for (size_t i = 0; i < ALL; ++i) {
    size_t const batch = i / HEADS / TOKENS, token = i / HEADS % TOKENS;
    int const place = in_place ? from_place : to_place;
    if (head_at(from_place, batch, token, i % HEADS) < 0) continue;
    ptrdiff_t const at = head_at(place, batch, token, i % HEADS);
    if (at < 0) continue;
    double wanted[DIM];
    expected(wanted, i, c->inv_freq,
             (double)positions[(o.rows_shared ? 0 : batch * TOKENS) + token], &o);
    for (size_t d = 0; d < DIM; ++d) {
      double const got = number_at(memory[in_place ? 0 : 1], to, (size_t)at + d);
      /* One rounding to the type; in float, or double, twelve of cosine, sine, three operations,
       * weight, gain (a sum of squares, a root, a division) and scale, on pairs of at most 4; and
       * of the oracle's angle two, at a position of at most 99. */
      double const arithmetic = from == POSENC1_F64 ? 0x1p-53 : 0x1p-24;
      double const bound = roundoff[to] * fabs(wanted[d]) +
                           4 * (12 * arithmetic + 2 * 99 * 0x1p-53) + 0x1p-24 * roundoff[to];
      if (!(fabs(got - wanted[d]) <= bound)) {
        printf(
            "types %d to %d, places %d to %d, layouts %d to %d, first dim %zu, eps %g: head %zu "
            "dim %zu is %.9g, must be %.9g\n",
            from, to, from_place, in_place ? -1 : to_place, o.from_layout, o.to_layout, o.first_dim,
            o.eps, i, d, got, wanted[d]);
        exit(1);
      }
    }
  }
}

static void test_rotations(struct context const* c) {
  size_t const blocks[] = {0, POSENC1_LAST_DIMS, 4};
  unsigned n = 0;
  for (int from = POSENC1_F32; from <= POSENC1_BF16; ++from) {
    for (int to = POSENC1_F32; to <= POSENC1_BF16; ++to) {
      if ((from == POSENC1_F64) != (to == POSENC1_F64)) continue;
      for (int layouts = 0; layouts < 4; ++layouts) {
        for (int fused = 0; fused < 2; ++fused) {
          for (int place = 0; place < PLACES; ++place, ++n) {
            struct options const o = {(posenc1_layout)(POSENC1_HALVES + layouts / 2),
                                      (posenc1_layout)(POSENC1_HALVES + layouts % 2),
                                      blocks[n % 3],
                                      fused ? 1e-3 : 0,
                                      fused ? 0.75 : 0,
                                      n % 5 == 0,
                                      n % 2 == 0 ? 5 : 1};
            test_rotation(c, (posenc1_format)from, (posenc1_format)to, place, (int)(n / 3 % PLACES),
                          0, o);
            if (from == to && o.from_layout == o.to_layout)
              test_rotation(c, (posenc1_format)from, (posenc1_format)to, place, place, 1, o);
          }
        }
      }
    }
  }
}

static void test_rows(struct context const* c) {
  posenc1_frequencies *f, *slower;
  posenc1_row_maker *table, *shift, *other, *back;
  posenc1_parameter const twice = {.name = "factor", .number = 2};
  MUST_WORK(posenc1_frequencies_of_numbers(c->inv_freq, PAIRS, 1.5, &f));
  MUST_WORK(posenc1_frequencies_of_rule(f, "linear", &twice, 1, &slower));
  MUST_WORK(posenc1_row_maker_create(f, 4096, &table));
  MUST_WORK(posenc1_rerotation_create(f, f, &shift));
  MUST_WORK(posenc1_rerotation_create(f, slower, &other));
  MUST_WORK(posenc1_rerotation_create(f, NULL, &back));
  posenc1_row_maker* const makers[] = {table, shift, other, back};
  int64_t const old[2] = {5, 900}, young[2] = {-4000, 77};
  for (int m = 0; m < 4; ++m) {
    double row[2][2][PAIRS];
    MUST_WORK_WITHOUT_MEMORY(
        posenc1_write_rows(makers[m], young, m == 0 ? NULL : old, 2, POSENC1_F64, row));
    for (int t = 0; t < 2; ++t) {
      for (int i = 0; i < PAIRS; ++i) {
        double const angle = c->inv_freq[i] * ((m == 3 ? 0 : (double)young[t] / (m == 2 ? 2 : 1)) -
                                               (m == 0 ? 0 : (double)old[t]));
        double const gain = m == 0 ? 1.5 : m == 3 ? 1 / 1.5 : 1;
        /* The product angle is off by up to 5000 x 2^-53. */
        MUST(fabs(row[t][0][i] - gain * cos(angle)) < 2e-12);
        MUST(fabs(row[t][1][i] - gain * sin(angle)) < 2e-12);
      }
    }
    posenc1_row_maker_destroy(makers[m]);
  }
  posenc1_frequencies_destroy(slower);
  posenc1_frequencies_destroy(f);
}

/* Each pair by the position of its axis, whole or not. */
static void test_axes(struct context const* c) {
  posenc1_frequencies *f, *on_axes, *slower;
  posenc1_row_maker *maker, *shift;
  posenc1_parameter const twice = {.name = "factor", .number = 2};
  size_t const sections[] = {5, 4, 6};
  MUST_WORK(posenc1_frequencies_of_numbers(c->inv_freq, PAIRS, 1, &f));
  MUST_WORK(posenc1_frequencies_on_axes(f, POSENC1_AXES_CONTIGUOUS, sections, 3, &on_axes));
  size_t axis[PAIRS];
  MUST(posenc1_frequencies_axes(f, axis) == 1 && axis[PAIRS - 1] == 0);
  MUST(posenc1_frequencies_axes(on_axes, axis) == 3 && posenc1_frequencies_axes(NULL, NULL) == 0);
  MUST(axis[4] == 0 && axis[5] == 1 && axis[8] == 1 && axis[9] == 2 && axis[PAIRS - 1] == 2);
  MUST_WORK(posenc1_frequencies_of_rule(on_axes, "linear", &twice, 1, &slower));
  MUST(posenc1_frequencies_axes(slower, NULL) == 3);
  MUST_WORK(posenc1_row_maker_create(on_axes, 0, &maker));
  MUST_WORK(posenc1_rerotation_create(f, f, &shift));
  int64_t const at[3 * 2] = {7, 900, -3, 900, 12, 900}; /* [axes][tokens] */
  double fractions[3 * 2];
  for (int i = 0; i < 6; ++i) fractions[i] = (double)at[i] / 24;
  for (int fractional = 0; fractional < 2; ++fractional) {
    double row[2][2][PAIRS];
    if (fractional)
      MUST_WORK_WITHOUT_MEMORY(
          posenc1_write_fractional_rows(maker, fractions, NULL, 2, POSENC1_F64, row));
    else
      MUST_WORK_WITHOUT_MEMORY(posenc1_write_rows(maker, at, NULL, 2, POSENC1_F64, row));
    for (int t = 0; t < 2; ++t) {
      for (int i = 0; i < PAIRS; ++i) {
        double const p =
            fractional ? fractions[axis[i] * 2 + (size_t)t] : (double)at[axis[i] * 2 + (size_t)t];
        MUST(fabs(row[t][0][i] - cos(p * c->inv_freq[i])) < 2e-13); /* 900 x 2^-53, twice */
        MUST(fabs(row[t][1][i] - sin(p * c->inv_freq[i])) < 2e-13);
      }
    }
  }
  double moved[2][PAIRS];
  MUST_WORK(posenc1_write_fractional_rows(shift, fractions, fractions + 2, 1, POSENC1_F64, moved));
  MUST(fabs(moved[0][0] - cos(10 / 24.0 * c->inv_freq[0])) < 1e-15);

  posenc1_row_maker* none = NULL;
  posenc1_frequencies* other = NULL;
  MUST_REFUSE(posenc1_row_maker_create(on_axes, 8, &none),
              "table_range must be 0 for frequencies on several axes, got 8");
  MUST_REFUSE(posenc1_row_maker_create(f, -1, &none), "table_range must be in [0, 2^32], got -1");
  MUST_REFUSE(posenc1_rerotation_create(f, on_axes, &none),
              "frequencies must be on one axis, got 3");
  MUST_REFUSE(posenc1_frequencies_on_axes(f, (posenc1_axes)9, sections, 3, &other),
              "axes must be one of posenc1_axes, got 9");
  MUST_REFUSE(posenc1_frequencies_on_axes(f, POSENC1_AXES_CONTIGUOUS, sections, 2, &other),
              "axes must be given for each of the 15 pairs, got 9");
  MUST_REFUSE(posenc1_frequencies_on_axes(f, POSENC1_AXES_BY_PAIR, sections, SIZE_MAX, &other),
              "count must be at most 2^24");
  MUST_REFUSE(posenc1_frequencies_on_axes(f, POSENC1_AXES_GGML, sections, 3, &other),
              "numbers must be of four sections, got 3");
  MUST_REFUSE(posenc1_frequencies_on_axes(f, POSENC1_AXES_GGML, NULL, 4, &other),
              "posenc1_frequencies_on_axes: numbers must not be null");
  fractions[3] = NAN;
  MUST_REFUSE(posenc1_write_fractional_rows(maker, fractions, NULL, 2, POSENC1_F64, moved),
              "a position must be finite and within [-2^63, 2^63), got NaN at token 1");
  fractions[3] = 0x1p63;
  MUST_REFUSE(posenc1_write_fractional_rows(maker, fractions, NULL, 2, POSENC1_F64, moved),
              "got 9223372036854775808 at token 1");
  MUST_REFUSE(posenc1_write_fractional_rows(maker, NULL, NULL, 2, POSENC1_F64, moved),
              "posenc1_write_fractional_rows: positions must not be null");
  float const bias[2 * PAIRS] = {1};
  posenc1_key_bias *of_text, *of_one_axis, *at_positions = NULL;
  MUST_WORK(
      posenc1_key_bias_create(on_axes, bias, 1, 1, 2 * PAIRS, POSENC1_HALVES, 0, 0, &of_text));
  MUST_WORK(posenc1_key_bias_create(f, bias, 1, 1, 2 * PAIRS, POSENC1_HALVES, 0, 0, &of_one_axis));
  MUST_REFUSE(posenc1_key_bias_at(of_one_axis, at, 2, 0, &at_positions),
              "posenc1_key_bias_at: f must be on axes, got one axis");
  MUST_REFUSE(posenc1_key_bias_at(of_text, NULL, 2, 0, &at_positions), "positions must not be");
  MUST_REFUSE(posenc1_key_bias_at(of_text, at, SIZE_MAX, 0, &at_positions),
              sizeof(size_t) > 4 ? "at most 2^40" : "at most 2^27");
  posenc1_key_bias_destroy(of_text), posenc1_key_bias_destroy(of_one_axis);
  size_t const all_on_one[PAIRS] = {0};
  MUST_WORK(posenc1_frequencies_on_axes(f, POSENC1_AXES_BY_PAIR, all_on_one, PAIRS, &other));
  MUST_WORK(
      posenc1_key_bias_create(other, bias, 1, 1, 2 * PAIRS, POSENC1_HALVES, 0, 0, &of_one_axis));
  MUST_REFUSE(posenc1_key_bias_at(of_one_axis, at, 2, 0, &at_positions), "got one axis");
  posenc1_key_bias_destroy(of_one_axis), posenc1_frequencies_destroy(other);
  posenc1_row_maker_destroy(maker), posenc1_row_maker_destroy(shift);
  posenc1_frequencies_destroy(on_axes), posenc1_frequencies_destroy(slower);
  posenc1_frequencies_destroy(f);
}

/* Pairs of frequency 0 are not rotated: of no position, not even if their rows say otherwise. */
static void test_rules(void) {
  posenc1_frequencies* f;
  posenc1_row_maker* maker;
  posenc1_parameter const p_rope[] = {{.name = "rotary_dim", .number = 8},
                                      {.name = "base", .number = 1e4},
                                      {.name = "p", .number = 0.5}};
  double inv_freq[4], factor, short_factor[] = {1, 1, 2, 2}, long_factor[] = {1, 4, 4, 8};
  MUST_WORK(posenc1_frequencies_of_rule(NULL, "truncated", p_rope, 3, &f));
  MUST(posenc1_frequencies_read(f, inv_freq, &factor) == 4 && factor == 1);
  MUST(inv_freq[0] == 1 && inv_freq[1] == 0.1 && inv_freq[2] == 0 && inv_freq[3] == 0);
  MUST_WORK(posenc1_row_maker_create(f, 0, &maker));
  float const row[8] = {0, 0, 9, 9, 1, 1, 9, 9};
  float head[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  posenc1_rows const rows = {.cos_sin = row, .tokens = 1, .maker = maker};
  posenc1_operand const x = {.from = {.data = head, .format = POSENC1_F32},
                             .heads = 1,
                             .head_dim = 8,
                             .layout = POSENC1_HALVES};
  MUST_WORK(posenc1_rotate(&rows, &x, 1, 0, 1));
  float const wanted[8] = {-5, -6, 3, 4, 1, 2, 7, 8};
  MUST(memcmp(head, wanted, sizeof head) == 0);
  posenc1_row_maker_destroy(maker);
  posenc1_frequencies_destroy(f);

  posenc1_parameter const longrope[] = {{.name = "rotary_dim", .number = 8},
                                        {.name = "base", .number = 1e4},
                                        {.name = "short_factor", .list = short_factor, .count = 4},
                                        {.name = "long_factor", .list = long_factor, .count = 4},
                                        {.name = "original_length", .number = 4096},
                                        {.name = "length", .number = 5000}};
  MUST_WORK(posenc1_frequencies_of_rule(NULL, "longrope", longrope, 6, &f));
  posenc1_frequencies_read(f, inv_freq, NULL);
  MUST(fabs(inv_freq[3] - 0.001 / 8) < 1e-18);
  posenc1_frequencies_destroy(f);

  posenc1_parameter const wrong[] = {{.name = "rotary_dim", .number = 8},
                                     {.name = "base", .number = 1e4},
                                     {.name = "facter", .number = 2}};
  MUST_REFUSE(posenc1_frequencies_of_rule(NULL, "geometric", wrong, 3, &f),
              "geometric: must have no parameter facter, only rotary_dim base");
  MUST_REFUSE(posenc1_frequencies_of_rule(NULL, "linear", wrong, 2, &f), "factor must be given");
  MUST_REFUSE(posenc1_frequencies_of_rule(NULL, "linear", wrong, 3, &f),
              "linear: must have no parameter facter, only rotary_dim base factor");
  posenc1_parameter const counted[] = {{.name = "rotary_dim", .number = 8, .count = 3}};
  MUST_REFUSE(posenc1_frequencies_of_rule(NULL, "geometric", counted, 1, &f),
              "rotary_dim must have a count of 0 without a list, got 3");
  MUST_REFUSE(posenc1_frequencies_of_rule(NULL, "yarm", wrong, 2, &f),
              "the rule must be one of linear, ntk, dynamic_ntk, ");
  MUST(strstr(posenc1_error(), ", pixel, axial, got yarm") != NULL);
  MUST_REFUSE(posenc1_frequencies_of_base(7, 1e4, &f), "must be even and positive, got 7");
  MUST_REFUSE(posenc1_frequencies_of_base(8, 1e4, NULL), "result must not be null");
  MUST_REFUSE(posenc1_frequencies_of_numbers(NULL, 2, 1, &f), "inv_freq must not be null");
  MUST_REFUSE(posenc1_frequencies_of_rule(NULL, NULL, NULL, 0, &f), "rule must not be null");
  MUST_REFUSE(posenc1_frequencies_of_rule(NULL, "linear", NULL, 1, &f),
              "parameters must not be null");
  MUST_REFUSE(posenc1_row_maker_create(NULL, 0, &maker), "f must not be null");
  MUST_REFUSE(posenc1_rerotation_create(NULL, NULL, &maker), "from must not be null");
  /* Counts of so many bytes that they begin anew from 0. */
  size_t const around = SIZE_MAX / sizeof(double) + 3;
  MUST_REFUSE(posenc1_frequencies_of_numbers(inv_freq, around, 1, &f), "pairs must be at most");
  posenc1_parameter const axial[] = {{.name = "dims", .list = long_factor, .count = around},
                                     {.name = "base", .number = 1e4}};
  MUST_REFUSE(posenc1_frequencies_of_rule(NULL, "axial", axial, 2, &f), "the count of dims");
  MUST_REFUSE(posenc1_frequencies_of_rule(NULL, "linear", wrong, SIZE_MAX, &f),
              "count must be at most 64, got ");
}

/* In place, of heads that follow each other. */
static posenc1_rows rows_of(struct context const* c) {
  return (posenc1_rows){.cos_sin = c->cos_sin[0],
                        .tokens = TOKENS,
                        .batches = BATCHES,
                        .rows = BATCHES * TOKENS,
                        .maker = c->maker};
}
static posenc1_operand of_floats(float* data) {
  return (posenc1_operand){.from = {.data = data, .format = POSENC1_F32},
                           .heads = HEADS,
                           .head_dim = DIM,
                           .layout = POSENC1_HALVES};
}

static void test_errors(struct context const* c) {
  static float memory[ALL * DIM], before[ALL * DIM];
  posenc1_rows const good_rows = rows_of(c);
  posenc1_operand const good = of_floats(memory);
  for (size_t i = 0; i < ALL * DIM; ++i) memory[i] = before[i] = 1;
#define MUST_REFUSE_WITH(change, words)                  \
  do {                                                   \
    posenc1_rows r = good_rows;                          \
    posenc1_operand x = good;                            \
    change;                                              \
    MUST_REFUSE(posenc1_rotate(&r, &x, 1, 0, 1), words); \
  } while (0)
  MUST_REFUSE_WITH(r.rows = 3, "one row for each of 5 tokens");
  MUST_REFUSE_WITH(x.head_dim = 0, "operand 0: head_dim must be positive");
  MUST_REFUSE_WITH(x.heads = 0, "operand 0: heads must be positive, got 0");
  MUST_REFUSE_WITH(r.pairs = PAIRS + 1, "pairs must be positive, and the maker's");
  MUST_REFUSE_WITH(x.first_dim = 11, "must lie within the head");
  MUST_REFUSE_WITH(x.from.token_stride = HEADS * DIM * 4 - 4, "must not overlap");
  MUST_REFUSE_WITH(x.from.head_stride = 6, "multiples of the 4 bytes");
  MUST_REFUSE_WITH(x.from.format = (posenc1_format)22, "format must be one of the header, got 22");
  MUST_REFUSE_WITH(x.layout = (posenc1_layout)4, "POSENC1_UNROTATED, got 4");
  MUST_REFUSE_WITH(x.to_layout = POSENC1_UNROTATED, "to_layout must be 0 or, where heads rotate");
  MUST_REFUSE_WITH(x.to_layout = POSENC1_INTERLEAVED, "to_layout must be the layout of heads that");
  MUST_REFUSE_WITH(x.layout = POSENC1_UNROTATED;
                   x.to_layout = POSENC1_HALVES, "to_layout must be 0 or, where heads rotate");
  MUST_REFUSE_WITH(x.to = x.from;
                   x.to_layout = POSENC1_INTERLEAVED, "source and target must not overlap");
  MUST_REFUSE_WITH(x.to = x.from; x.to.data = memory + 1, "source and target must not overlap");
  MUST_REFUSE_WITH(x.norm.eps = -1, "eps of the norm must be finite and positive");
  MUST_REFUSE_WITH(x.norm.eps = 1e-60, "must be finite and positive as float"); /* a float's 0 */
  MUST_REFUSE_WITH(x.norm.weight = before, "eps of the norm must be given");
  MUST_REFUSE_WITH(x.norm.weight = before; x.norm.eps = 1, "weight_format of the norm must be one");
  MUST_REFUSE_WITH(x.norm.weight = before; x.norm.eps = 1;
                   x.norm.weight_format = POSENC1_F64, "doubles for heads of doubles alone");
  MUST_REFUSE_WITH(x.factor = 1e300, "factor must be finite");
  MUST_REFUSE_WITH(x.from.scale = 2, "from: scale must be 0 for this format, got 2");
  MUST_REFUSE_WITH(x.from.scales = before, "from: scales must be null for numbers");
  MUST_REFUSE_WITH(r.cos_sin = NULL, "cos_sin must not be null");
  MUST_REFUSE_WITH(x.to = x.from;
                   x.to.format = POSENC1_F64, "to heads of double, others to others");
  MUST_REFUSE_WITH(x.from.slots = slots; x.from.pages = 3;
                   x.from.page_tokens = 3,
                   "a slot must be below 9 (3 pages of 3 tokens), got 11 for token 0");
  int64_t const of_pages[BATCHES * TOKENS] = {0, 1, 2, 3, -1, -1, -1, -1, -1, -1};
  MUST_REFUSE_WITH(x.from.slots = of_pages; x.from.page_stride = 5 * HEADS * DIM * 4;
                   x.from.pages = 2; x.from.page_tokens = 2; x.to = x.from;
                   x.to.page_tokens = 5, "source and target must not overlap");
  MUST_REFUSE_WITH(x.from.data = NULL, "from must have data, got null");
  MUST_REFUSE_WITH(x.from.data = (char*)memory + 1,
                   "from: data must begin at a multiple of the 4 bytes of an element, got a "
                   "remainder of 1");
  MUST_REFUSE_WITH(x.from.slots = of_pages;
                   x.from.pages = 3,
                   "from: pages must have tokens and fit into memory, got 3 of 0");
  MUST_REFUSE_WITH(
      r.cos_sin = (char*)c->cos_sin[0] + 2,
      "cos_sin must begin at a multiple of the 4 bytes of an element, got a remainder of 2");
  MUST_REFUSE_WITH(x.norm.eps = 1; x.norm.weight_format = POSENC1_F32;
                   x.norm.weight = (char*)before + 2, "weight must begin at a multiple of the 4");
  MUST_REFUSE_WITH(r.tokens = r.rows = r.batches = x.heads = 1;
                   r.cos_sin = (char*)c->cos_sin[0] + 2, "cos_sin must begin");
  /* Beyond the first address, the last one, and what a memory may have. */
  ptrdiff_t const far = PTRDIFF_MAX / 256 / TOKENS / BATCHES / 4 * 4;
  MUST_REFUSE_WITH(x.from.token_stride = -far, "from: heads must fit into memory");
  MUST_REFUSE_WITH(x.from.token_stride = (sizeof(size_t) > 4 ? 16 : 1000) * far,
                   "from: heads must fit into memory");
  MUST_REFUSE_WITH(x.heads = SIZE_MAX / 4, "must fit into memory");
  MUST_REFUSE_WITH(r.batches = SIZE_MAX / 2, "tokens must fit into memory");
  MUST_REFUSE(posenc1_rotate(&good_rows, &good, 1, 2, 2), "part must be below parts, got 2 of 2");
  MUST_REFUSE(posenc1_rotate(&good_rows, &good, 1, 0, 0), "part must be below parts, got 0 of 0");
  MUST_REFUSE(posenc1_rotate(&good_rows, &good, 17, 0, 1), "count must be at most 16, got 17");
  MUST_REFUSE(posenc1_rotate(NULL, &good, 1, 0, 1), "rows must not be null");
  MUST_REFUSE(posenc1_rotate(&good_rows, NULL, 1, 0, 1), "operands must not be null");
  MUST_WORK(posenc1_rotate(&good_rows, NULL, 0, 0, 1));
  /* The way of one token has the errors of all others. */
  posenc1_rows one = {.cos_sin = c->cos_sin[0], .tokens = 1, .maker = c->maker};
#define MUST_REFUSE_ONE(change, words)                     \
  do {                                                     \
    posenc1_operand x = good;                              \
    change;                                                \
    MUST_REFUSE(posenc1_rotate(&one, &x, 1, 0, 1), words); \
  } while (0)
  MUST_REFUSE_ONE(x.layout = 0, "layout must be");
  MUST_REFUSE_ONE(x.from.format = 0, "format must be one of the header, got 0");
  MUST_REFUSE_ONE(x.from.scale = 1, "scale must be 0");
  MUST_REFUSE_ONE(x.from.inverse = 1, "inverse must be 0");
  MUST_REFUSE_ONE(x.from.scales_head_stride = 4, "scales must be null");
  MUST_REFUSE_ONE(x.from.pages = 2, "slots must be given where pages are");
  MUST_REFUSE_ONE(x.norm.place = POSENC1_AFTER_ROTATION, "eps of the norm must be given");
  MUST_REFUSE_ONE(x.norm.plus_one = 1, "eps of the norm must be given");
  MUST_REFUSE_ONE(x.rounding = 32, "rounding must be a sum of points");
  MUST_REFUSE_ONE(x.hadamard = 3, "operand 0: the block of a Hadamard transform");
  MUST_REFUSE_ONE(x.to_layout = POSENC1_INTERLEAVED, "to_layout must be");
  MUST(memcmp(memory, before, sizeof memory) == 0);
  float row[2 * PAIRS];
  MUST_REFUSE(posenc1_write_rows(c->maker, positions, positions, 1, POSENC1_F32, row),
              "from_positions must be null");
  MUST_REFUSE(posenc1_write_rows(c->maker, positions, NULL, 1, POSENC1_F16, row), "format must be");
  MUST_REFUSE(posenc1_write_rows(c->maker, positions, NULL, 1, POSENC1_F32, (char*)row + 1),
              "memory must begin at a multiple of the 4");
  MUST_WORK(posenc1_write_rows(c->maker, NULL, NULL, 0, POSENC1_F32, NULL));
  /* Queries and keys side by side in each token do not overlap. */
  static float q_k[TOKENS * 2 * HEADS * DIM];
  posenc1_rows const rows = {.cos_sin = c->cos_sin[0], .tokens = TOKENS, .maker = c->maker};
  posenc1_operand side = of_floats(q_k);
  side.from.token_stride = 2 * HEADS * DIM * 4;
  side.to = side.from, side.to.data = q_k + HEADS * DIM;
  MUST_WORK(posenc1_rotate(&rows, &side, 1, 0, 1));
  side.to.data = q_k + HEADS * DIM - 1;
  MUST_REFUSE(posenc1_rotate(&rows, &side, 1, 0, 1), "must not overlap");
}

/* Heads that are named twice are rotated in place, whichever strides are left out. */
static void test_same_heads(struct context const* c) {
  static float once[ALL * DIM], twice[ALL * DIM];
  for (size_t i = 0; i < ALL * DIM; ++i) once[i] = twice[i] = (float)(i % 7);
  posenc1_rows const rows = rows_of(c);
  posenc1_operand x = of_floats(once);
  MUST_WORK(posenc1_rotate(&rows, &x, 1, 0, 1));
  x.from.data = twice, x.to = x.from;
  x.to.head_stride = DIM * 4, x.to.token_stride = HEADS * DIM * 4;
  MUST_WORK(posenc1_rotate(&rows, &x, 1, 0, 1));
  MUST(memcmp(once, twice, sizeof once) == 0);
}

static void test_model(void) {
  posenc1_frequencies* f = NULL;
  posenc1_layer layer;
  posenc1_status const status =
      posenc1_frequencies_of_model(getenv("POSENC_TEST_CONFIG"), 0, 4096, &layer, &f);
  if (status == POSENC1_NOT_BUILT) return;
  MUST(status == POSENC1_OK);
  double inv_freq[64];
  MUST(layer.layout == POSENC1_HALVES && layer.rotary_dim == 128 && layer.head_dim == 128 &&
       layer.first_dim == 0 && layer.behind == 0 && layer.factor == 1);
  MUST(layer.ahead == 0 && layer.chunk == 0 && layer.cap == 0 && !layer.sinks &&
       layer.both_ways == POSENC1_NO_BLOCK && layer.key_bias_is_separable == 0);
  MUST(layer.temperature_scale == 0 && layer.alibi_heads == 0 && !layer.learned_bias);
  MUST(posenc1_frequencies_read(f, inv_freq, NULL) == 64);
  MUST(inv_freq[0] == 1 && fabs(inv_freq[63] - pow(500000, -126 / 128.0) / 8) < 1e-20);
  posenc1_frequencies_destroy(f);
  MUST_REFUSE(posenc1_frequencies_of_model(getenv("POSENC_TEST_CONFIG"), 99, 1, &layer, &f),
              "layer must be below");
  MUST_REFUSE(posenc1_frequencies_of_model("no_such_file", 0, 1, &layer, &f), "no_such_file");
  MUST_REFUSE(posenc1_frequencies_of_model("", 0, 1, &layer, &f), "file must be a name, got none");
  MUST_REFUSE(posenc1_frequencies_of_model("/", 0, 1, &layer, &f), "/: must be a file");
}

static void test_slopes(void) {
  double slopes[6];
  MUST_WORK(posenc1_alibi_slopes(6, 8, 0.5, slopes));
  double const wanted[6] = {0.125, 0.03125, 0.0078125, 0.001953125, 0.25, 0.0625};
  for (size_t i = 0; i < 6; ++i) MUST(slopes[i] == wanted[i]);
  MUST_REFUSE(posenc1_alibi_slopes(0, 8, 1, slopes), "heads must be positive, got 0");
  MUST_REFUSE(posenc1_alibi_slopes(6, 0, 1, slopes), "max_bias must be finite and positive, got 0");
  MUST_REFUSE(posenc1_alibi_slopes(6, 8, NAN, slopes),
              "posenc1_alibi_slopes: factor must be finite and positive, got NaN");
  MUST_REFUSE(posenc1_alibi_slopes(6, 8, 1, NULL), "posenc1_alibi_slopes: slopes must not be null");
}

/* ---- The bits that a version promises: of x' = x c - y s and y' = y c + x s, the second product
 * is rounded, and the first joins it by fused multiply-add, where the set has one. 16 bits have the
 * float of that, rounded to nearest, ties to even. */

/* By the CPU's instruction: some C libraries round twice. */
#if defined(__x86_64__)
#define FUSING __attribute__((noinline, target("fma")))
#else
#define FUSING
#endif
static FUSING float fused_floats(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static FUSING double fused_doubles(double a, double b, double c) { return __builtin_fma(a, b, c); }

static float joined(int fused, float a, float b, float c) {
  float volatile product = a * b;
  return fused ? fused_floats(a, b, c) : product + c;
}

static double joined_doubles(int fused, double a, double b, double c) {
  double volatile product = a * b;
  return fused ? fused_doubles(a, b, c) : product + c;
}

static int fuses(void) {
#if defined(__aarch64__) || defined(__FP_FAST_FMAF) /* every CPU of the kind does */
  return 1;
#else
  return strcmp(posenc1_instruction_set(), "base") != 0;
#endif
}

/* Of any type that is computed in float. */
static void test_bits_of(posenc1_format type, posenc1_layout layout, float const* row) {
  float memory[2 * PAIRS], wanted[2 * PAIRS];
  /* Magnitudes from 1 down to the least subnormal number of 16 bits; NEON of 32-bit ARM takes
   * subnormal floats, as a bfloat16 is one, for 0. */
#if defined(__arm__)
  int const steps = type == POSENC1_BF16 ? 100 : 24;
#else
  int const steps = type == POSENC1_BF16 ? 133 : 24;
#endif
  for (size_t i = 0; i < 2 * PAIRS; ++i)
    set_number(memory, type, i, ldexp(sin(1.0 + (double)i), -(int)i * steps / (2 * PAIRS)));
  /* 1.5 times these is halfway between two numbers: one even one is above, one below. */
  set_number(memory, type, dim_of(layout, 0, 0), 1 + 2 * roundoff[type]);
  set_number(memory, type, dim_of(layout, 0, 1), -1 - 6 * roundoff[type]);
  for (size_t pair = 0; pair < PAIRS; ++pair) {
    size_t const x = dim_of(layout, pair, 0), y = dim_of(layout, pair, 1);
    float const u = (float)number_at(memory, type, x), v = (float)number_at(memory, type, y),
                cosine = row[pair], sine = row[PAIRS + pair];
    float volatile v_s = v * sine, u_s = u * sine;
    set_number(wanted, type, x, joined(fuses(), u, cosine, -v_s));
    set_number(wanted, type, y, joined(fuses(), v, cosine, u_s));
  }
  posenc1_rows const rows = {.cos_sin = row, .tokens = 1, .pairs = PAIRS};
  posenc1_operand const head = {.from = {.data = memory, .format = type},
                                .heads = 1,
                                .head_dim = 2 * PAIRS,
                                .layout = layout};
  MUST_WORK(posenc1_rotate(&rows, &head, 1, 0, 1));
  MUST(memcmp(memory, wanted, 2 * PAIRS * sizes[type]) == 0);
}

static void test_bits(struct context const* c) {
  size_t const token = 5;
  float row[2 * PAIRS];
  memcpy(row, (float const*)(void const*)c->cos_sin[0] + token * 2 * PAIRS, sizeof row);
  row[0] = 1.5f, row[PAIRS] = 0;
  for (int layout = POSENC1_HALVES; layout <= POSENC1_INTERLEAVED; ++layout) {
    test_bits_of(POSENC1_F32, (posenc1_layout)layout, row);
    test_bits_of(POSENC1_F16, (posenc1_layout)layout, row);
    test_bits_of(POSENC1_BF16, (posenc1_layout)layout, row);
    double doubles[2 * PAIRS], of_doubles[2 * PAIRS];
    double const* const row_2 = c->cos_sin[1] + token * 2 * PAIRS;
    for (size_t i = 0; i < 2 * PAIRS; ++i) doubles[i] = cos(3.0 * (double)i);
    for (size_t pair = 0; pair < PAIRS; ++pair) {
      size_t const x = dim_of((posenc1_layout)layout, pair, 0),
                   y = dim_of((posenc1_layout)layout, pair, 1);
      double volatile y_s = doubles[y] * row_2[PAIRS + pair],
                      x_s = doubles[x] * row_2[PAIRS + pair];
      of_doubles[x] = joined_doubles(fuses(), doubles[x], row_2[pair], -y_s);
      of_doubles[y] = joined_doubles(fuses(), doubles[y], row_2[pair], x_s);
    }
    posenc1_rows const rows = {.cos_sin = row_2, .tokens = 1, .pairs = PAIRS};
    posenc1_operand const head = {.from = {.data = doubles, .format = POSENC1_F64},
                                  .heads = 1,
                                  .head_dim = 2 * PAIRS,
                                  .layout = (posenc1_layout)layout};
    MUST_WORK(posenc1_rotate(&rows, &head, 1, 0, 1));
    MUST(memcmp(doubles, of_doubles, sizeof doubles) == 0);
  }
}

int main(void) {
  char const* const set = posenc1_instruction_set();
  if (set == NULL) {
    posenc1_frequencies* f;
    posenc1_row_maker* maker;
    char sentence[1024];
    strcpy(sentence, posenc1_error());
    MUST_WORK(posenc1_frequencies_of_base(8, 1e4, &f));
    MUST(posenc1_row_maker_create(f, 0, &maker) == POSENC1_NO_INSTRUCTION_SET);
    MUST(strcmp(sentence, posenc1_error()) == 0);
    posenc1_frequencies_destroy(f);
    printf("%s\n", sentence);
    return 2;
  }
  MUST(strcmp(posenc1_version(), POSENC_TEST_VERSION) == 0);
  struct context c;
  posenc1_frequencies* f;
  static float floats[BATCHES * TOKENS * 2 * PAIRS];
  static double doubles[BATCHES * TOKENS * 2 * PAIRS];
  MUST_WORK(posenc1_frequencies_of_base(2 * PAIRS, 500000.0, &f));
  MUST(posenc1_frequencies_read(f, c.inv_freq, NULL) == PAIRS);
  MUST_WORK(posenc1_row_maker_create(f, 0, &c.maker));
  posenc1_frequencies_destroy(f);
#if defined(__GLIBC__) && defined(COUNTS_ALLOCATIONS)
  MUST(allocations > 0);
#endif
  MUST_WORK(posenc1_write_rows(c.maker, positions, NULL, BATCHES * TOKENS, POSENC1_F32, floats));
  MUST_WORK(posenc1_write_rows(c.maker, positions, NULL, BATCHES * TOKENS, POSENC1_F64, doubles));
  c.cos_sin[0] = (double*)(void*)floats, c.cos_sin[1] = doubles;
  test_rotations(&c);
  test_rows(&c);
  test_axes(&c);
  test_bits(&c);
  test_rules();
  test_errors(&c);
  test_same_heads(&c);
  test_attention();
  test_gradients();
  test_step();
  test_layouts();
  test_zeros();
  test_mixed();
  if (getenv("POSENC_TEST_CONFIG") != NULL) test_model();
  test_slopes();
  posenc1_row_maker_destroy(c.maker);
  printf("ran %s\n", set);
  return 0;
}
