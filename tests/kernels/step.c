/* posenc1_rotate from and to caches against plain loops: formats by their definitions, rotation and
 * norm in double. */
#include "numbers.h"

enum { TOKENS = 6, HEADS = 3, DIM = 128, PAIRS = 24, PAGES = 3, PAGE = 4, SLOTS = PAGES * PAGE };
enum { FORMATS = 22, HEAD_BYTES = DIM * 4, ROOM = SLOTS * HEADS * HEAD_BYTES };

static int64_t const slots[TOKENS] = {7, -1, 0, 3, 11, 8};
static int64_t const positions[TOKENS] = {0, 3, 70, -5, 1000, 12};
static double const tensor_scale = 0.046875;

/* Few bits, so that 16 bits have it; no two dims of a group alike; a head of zeros. */
static double input(size_t token, size_t head, size_t dim) {
  if (token == 3 && head == 1) return 0;
  return (double)((int)((token * 37 + head * 11 + dim * 29) % 127) - 60) / 16;
}

/* ---- Formats in plain words: codes of a head, with its scales behind them */

static double e4m3_number(unsigned code) {
  unsigned const exponent = code >> 3 & 15, fraction = code & 7;
  double const x = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, (int)exponent - 10);
  return code >> 7 ? -x : x;
}
static unsigned e4m3_code(double x, int truncates) {
  unsigned best = 0;
  for (unsigned code = 1; code < 0x7f; ++code) {
    double const before = fabs(fabs(x) - e4m3_number(best)),
                 now = fabs(fabs(x) - e4m3_number(code));
    if (truncates ? e4m3_number(code) <= fabs(x) : now < before || (now == before && code % 2 == 0))
      best = code;
  }
  return best | (x < 0 ? 0x80 : 0);
}
static size_t put(unsigned char* to, void const* from, size_t size) {
  memcpy(to, from, size);
  return size;
}
static unsigned char code_of(float x) { return (unsigned char)(int)x; }

/* ggml's blocks of 32 beside q4_0, as its reference rounds. */
static int const values_of_iq4_nl[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113};
static int has_least(int format) { return format == POSENC1_Q4_1 || format == POSENC1_Q5_1; }
static int has_fifth(int format) { return format == POSENC1_Q5_0 || format == POSENC1_Q5_1; }
static size_t codes_of_block(int format) {
  return (size_t)(2 + (has_least(format) ? 2 : 0) + (has_fifth(format) ? 4 : 0));
}
static size_t plain_block(int format, float const* x, unsigned char* to) {
  int const most = has_fifth(format) ? 31 : 15;
  float extreme = 0, top = x[0], bottom = x[0];
  for (size_t i = 0; i < 32; ++i) {
    if (fabsf(x[i]) > fabsf(extreme)) extreme = x[i];
    top = fmaxf(top, x[i]), bottom = fminf(bottom, x[i]);
  }
  float d = has_least(format)          ? (top - bottom) / (float)most
            : format == POSENC1_IQ4_NL ? extreme / -127
                                       : extreme / -16;
  float const inverse = d == 0 ? 0 : 1 / d;
  float volatile products = 0, squares = 0;
  uint32_t fifths = 0;
  unsigned char* const codes = to + codes_of_block(format);
  memset(codes, 0, 16);
  for (size_t i = 0; i < 32; ++i) {
    float volatile const above = x[i] - (has_least(format) ? bottom : 0), product = above * inverse;
    int code = (int)fminf(product + (has_least(format) ? 0.5f : 16.5f), (float)most);
    if (format == POSENC1_IQ4_NL) {
      code = 0;
      for (int next = 1; next < 16; ++next)
        if (fabsf((float)values_of_iq4_nl[next] - product) <=
            fabsf((float)values_of_iq4_nl[code] - product))
          code = next;
      float const value = (float)values_of_iq4_nl[code];
      float volatile const square = x[i] * x[i], weighted = square * value, of_x = weighted * x[i],
                           of_value = weighted * value;
      products += of_x, squares += of_value;
    }
    codes[i % 16] = (unsigned char)(codes[i % 16] | (code & 15) << i / 16 * 4);
    fifths |= (uint32_t)code >> 4 << i;
  }
  if (format == POSENC1_IQ4_NL) d = squares == 0 ? 0 : products / squares;
  set_number(to, POSENC1_F16, 0, d);
  if (has_least(format)) set_number(to + 2, POSENC1_F16, 0, bottom);
  if (has_fifth(format)) put(codes - 4, &fifths, 4);
  return codes_of_block(format) + 16;
}
static double number_of_block(int format, unsigned char const* from, size_t i) {
  unsigned char const* const codes = from + codes_of_block(format);
  int code = codes[i % 16] >> i / 16 * 4 & 15;
  if (has_fifth(format)) {
    uint32_t fifths;
    memcpy(&fifths, codes - 4, 4);
    code |= (int)(fifths >> i & 1) << 4;
  }
  double const d = number_at(from, POSENC1_F16, 0);
  if (has_least(format)) return code * d + number_at(from, POSENC1_F16, 1);
  return (format == POSENC1_IQ4_NL ? values_of_iq4_nl[code] : code - 16) * d;
}

/* Returns the bytes of codes; *scales those of the scales behind. Rounds as engines do. */
static size_t plain_encode(int format, float const* x, unsigned char* to, size_t* scales) {
  size_t n = 0;
  float most = 0, top = x[0], bottom = x[0];
  for (size_t i = 0; i < DIM; ++i)
    most = fmaxf(most, fabsf(x[i])), top = fmaxf(top, x[i]), bottom = fminf(bottom, x[i]);
  *scales = 0;
  switch (format) {
    case POSENC1_U8_PER_HEAD: {
      float const range = (top - bottom) / 255, scale = range == 0 ? 1e-4f : range,
                  zero = -bottom / scale, inverse = 1 / scale;
      n += put(to, &scale, 4), n += put(to + n, &zero, 4);
      for (size_t i = 0; i < DIM; ++i)
        to[n++] = (unsigned char)fminf(fmaxf(rintf(fmaf(x[i], inverse, zero)), 0), 255);
      return n;
    }
    case POSENC1_Q8_0:
    case POSENC1_Q8_0_AVX2:
      for (size_t g = 0; g < DIM; g += 32) {
        float of_group = 0;
        for (size_t i = 0; i < 32; ++i) of_group = fmaxf(of_group, fabsf(x[g + i]));
        float const d = of_group / 127;
        set_number(to + n, POSENC1_F16, 0, d), n += 2;
        for (size_t i = 0; i < 32; ++i) {
          to[n++] = of_group == 0            ? 0
                    : format == POSENC1_Q8_0 ? code_of(roundf(x[g + i] * (1 / d)))
                                             : code_of(rintf(x[g + i] * (127 / of_group)));
        }
      }
      return n;
    case POSENC1_INT8_PER_HEAD:
    case POSENC1_INT8_PER_HEAD_TRUNCATED: {
      float const scale = fmaxf(most / 127, 1e-6f), inverse = 1 / scale;
      for (size_t i = 0; i < DIM; ++i)
        to[n++] = code_of(format == POSENC1_INT8_PER_HEAD ? rintf(x[i] * inverse)
                                                          : truncf(x[i] * inverse));
      *scales = put(to + n, &scale, 4);
      return n;
    }
    case POSENC1_INT8_STATIC:
      for (size_t i = 0; i < DIM; ++i)
        to[n++] = code_of(fminf(fmaxf(rintf(x[i] * (1 / (float)tensor_scale)), -128), 127));
      return n;
    case POSENC1_E4M3:
    case POSENC1_E4M3_TRUNCATED:
      for (size_t i = 0; i < DIM; ++i)
        to[n++] = (unsigned char)e4m3_code(x[i] * (1 / (float)tensor_scale),
                                           format == POSENC1_E4M3_TRUNCATED);
      return n;
    case POSENC1_DEEPSEEK_V4:
    case POSENC1_DEEPSEEK_V4_CPU: {
      double const least = format == POSENC1_DEEPSEEK_V4 ? 1e-4 / 448 : 1e-4;
      double of_group = 0;
      uint16_t word;
      for (size_t i = 0; i < 64; ++i) of_group = fmax(of_group, fabs(x[i]));
      int const exponent = (int)ceil(log2(fmax(of_group / 448, least)));
      for (size_t i = 0; i < 64; ++i) to[n++] = (unsigned char)e4m3_code(ldexp(x[i], -exponent), 0);
      for (size_t i = 64; i < DIM; ++i)
        set_number(&word, POSENC1_BF16, 0, x[i]), n += put(to + n, &word, 2);
      to[n] = (unsigned char)(exponent + 127), to[n + 1] = 0;
      *scales = 2;
      return n;
    }
    case POSENC1_Q4_0:
      for (size_t g = 0; g < DIM; g += 32) {
        float extreme = 0;
        for (size_t i = 0; i < 32; ++i)
          if (fabsf(x[g + i]) > fabsf(extreme)) extreme = x[g + i];
        float const d = extreme / -8, inverse = d == 0 ? 0 : 1 / d;
        set_number(to + n, POSENC1_F16, 0, d), n += 2;
        for (size_t i = 0; i < 16; ++i) {
          int of_two[2];
          for (size_t high = 0; high < 2; ++high) {
            float volatile const product = x[g + i + 16 * high] * inverse;
            of_two[high] = (int)fminf(product + 8.5f, 15);
          }
          to[n++] = (unsigned char)(of_two[0] | of_two[1] << 4);
        }
      }
      return n;
    case POSENC1_INT4_PER_HEAD: {
      float const scale = fmaxf((top - bottom) / 15, 1e-6f), inverse = 1 / scale,
                  zero = floorf(fminf(fmaxf(-bottom / scale + 0.5f, 0), 15));
      for (size_t i = 0; i < DIM; ++i) {
        float const sum = fminf(fmaxf(fmaf(x[i], inverse, zero) + 0.5f, 0), 15);
        if (i % 2 == 0)
          to[n] = (unsigned char)sum;
        else
          to[n] = (unsigned char)(to[n] | (int)sum << 4), ++n;
      }
      uint32_t bits;
      memcpy(&bits, &scale, 4), bits = (bits & ~15u) | (uint32_t)zero;
      *scales = put(to + n, &bits, 4);
      return n;
    }
    case POSENC1_INT4_STATIC:
      for (size_t i = 0; i < DIM; ++i) {
        int const code = (int)fminf(fmaxf(rintf(x[i] * (1 / (float)tensor_scale)), -8), 7) + 8;
        if (i % 2 == 0)
          to[n] = (unsigned char)code;
        else
          to[n] = (unsigned char)(to[n] | code << 4), ++n;
      }
      return n;
    case POSENC1_Q4_1:
    case POSENC1_Q5_0:
    case POSENC1_Q5_1:
    case POSENC1_IQ4_NL:
      for (size_t g = 0; g < DIM; g += 32) n += plain_block(format, x + g, to + n);
      return n;
    default:
      for (size_t i = 0; i < DIM; ++i) {
        set_number(to + n, (posenc1_format)format, 0, x[i]), n += sizes[format];
      }
      return n;
  }
}

static double plain_decode(int format, unsigned char const* codes, unsigned char const* scales,
                           size_t dim) {
  float scale, zero;
  switch (format) {
    case POSENC1_U8_PER_HEAD:
      memcpy(&scale, codes, 4), memcpy(&zero, codes + 4, 4);
      return ((double)codes[8 + dim] - zero) * scale;
    case POSENC1_Q8_0:
    case POSENC1_Q8_0_AVX2:
      codes += dim / 32 * 34;
      return (signed char)codes[2 + dim % 32] * number_at(codes, POSENC1_F16, 0);
    case POSENC1_INT8_PER_HEAD:
    case POSENC1_INT8_PER_HEAD_TRUNCATED:
      memcpy(&scale, scales, 4);
      return (double)(signed char)codes[dim] * scale;
    case POSENC1_INT8_STATIC:
      return (signed char)codes[dim] * tensor_scale;
    case POSENC1_E4M3:
    case POSENC1_E4M3_TRUNCATED:
      return e4m3_number(codes[dim]) * tensor_scale;
    case POSENC1_DEEPSEEK_V4:
    case POSENC1_DEEPSEEK_V4_CPU:
      if (dim >= 64) return number_at(codes + 64, POSENC1_BF16, dim - 64);
      return ldexp(e4m3_number(codes[dim]), scales[0] - 127);
    case POSENC1_Q4_0:
      codes += dim / 32 * 18;
      return ((codes[2 + dim % 16] >> dim % 32 / 16 * 4 & 15) - 8) *
             number_at(codes, POSENC1_F16, 0);
    case POSENC1_INT4_PER_HEAD: {
      uint32_t bits;
      memcpy(&bits, scales, 4);
      int const code = codes[dim / 2] >> dim % 2 * 4 & 15, of_zero = (int)(bits & 15);
      bits &= ~15u, memcpy(&scale, &bits, 4);
      return (code - of_zero) * (double)scale;
    }
    case POSENC1_INT4_STATIC:
      return ((codes[dim / 2] >> dim % 2 * 4 & 15) - 8) * tensor_scale;
    case POSENC1_Q4_1:
    case POSENC1_Q5_0:
    case POSENC1_Q5_1:
    case POSENC1_IQ4_NL:
      return number_of_block(format, codes + dim / 32 * (codes_of_block(format) + 16), dim % 32);
    default:
      return number_at(codes, (posenc1_format)format, dim);
  }
}

/* How far a decoded number is from what was encoded, at most. */
static double step_of(int format, double x, double most) {
  switch (format) {
    case POSENC1_U8_PER_HEAD:
      return 2 * most / 255 * 0.51;
    case POSENC1_Q8_0:
    case POSENC1_Q8_0_AVX2:
      return most / 127 * 0.51 + most * 0x1p-11;
    case POSENC1_INT8_PER_HEAD:
      return most / 127 * 0.51;
    case POSENC1_INT8_PER_HEAD_TRUNCATED:
      return most / 127 * 1.01;
    case POSENC1_INT8_STATIC:
      return fmax(tensor_scale * 0.51, fabs(x) - 127 * tensor_scale);
    case POSENC1_E4M3:
      return fabs(x) / 15.9 + tensor_scale * 0x1p-10;
    case POSENC1_E4M3_TRUNCATED:
      return fabs(x) / 7.9 + tensor_scale * 0x1p-9;
    case POSENC1_DEEPSEEK_V4:
    case POSENC1_DEEPSEEK_V4_CPU: /* rounded to bfloat16 first */
      return fabs(x) / 15.9 + most * 0x1p-14 + fabs(x) * 0x1p-8;
    case POSENC1_Q4_0: /* a whole step opposite the extreme */
      return most / 8 * 1.01;
    case POSENC1_INT4_PER_HEAD:
      return 2 * most / 15 * 1.01;
    case POSENC1_Q4_1:
      return 2 * most / 15 * 0.51 + most * 0x1p-10;
    case POSENC1_Q5_0:
      return most / 16 * 1.01;
    case POSENC1_Q5_1:
      return 2 * most / 31 * 0.51 + most * 0x1p-10;
    case POSENC1_IQ4_NL: /* d is fitted, so the extreme may be off by more */
      return most * 0.2;
    case POSENC1_INT4_STATIC:
      return fmax(tensor_scale * 0.51, fabs(x) - 7 * tensor_scale);
    default:
      return fabs(x) * roundoff[format];
  }
}

/* A set of heads, into one target, or floats from a cache. */
static posenc1_operand unrotated(void const* floats, posenc1_heads to) {
  return (posenc1_operand){.from = {.data = (void*)floats, .format = POSENC1_F32},
                           .to = to,
                           .heads = HEADS,
                           .head_dim = DIM,
                           .layout = POSENC1_UNROTATED};
}
static posenc1_rows const no_rows = {.tokens = TOKENS};
static posenc1_status decode(posenc1_heads cache, float* floats) {
  posenc1_operand const x = {.from = cache,
                             .to = {.data = floats, .format = POSENC1_F32},
                             .heads = HEADS,
                             .head_dim = DIM,
                             .layout = POSENC1_UNROTATED};
  return posenc1_rotate(&no_rows, &x, 1, 0, 1);
}

/* ---- Caches of poisoned memory: dense, or of other strides, keys and values in a page together */

struct cache {
  double codes_of[(2 * ROOM + 1) / sizeof(double) + 1]; /* aligned for all formats */
  unsigned char scales[SLOTS * HEADS * 8];
};
static posenc1_heads cache_of(struct cache* memory, int format, int strided) {
  size_t bytes, of_scales;
  MUST_WORK(posenc1_format_bytes((posenc1_format)format, DIM, &bytes, &of_scales));
  memset(memory, 0xa5, sizeof *memory);
  posenc1_heads c = {.data = memory->codes_of,
                     .format = (posenc1_format)format,
                     .slots = slots,
                     .pages = PAGES,
                     .page_tokens = PAGE};
  if (format == POSENC1_INT8_STATIC || format == POSENC1_E4M3 || format == POSENC1_E4M3_TRUNCATED ||
      format == POSENC1_INT4_STATIC)
    c.scale = tensor_scale;
  if (strided) { /* pages backwards, heads outside tokens, codes at an odd address */
    ptrdiff_t const head = (ptrdiff_t)bytes * PAGE, page = HEADS * head;
    c.data = (unsigned char*)memory->codes_of + (format > POSENC1_BF16) + (PAGES - 1) * page;
    c.page_stride = -page, c.token_stride = (ptrdiff_t)bytes, c.head_stride = head;
    if (of_scales != 0) c.scales = memory->scales;
  }
  return c;
}

/* Where a head is. */
static unsigned char* codes_at(posenc1_heads const* c, size_t token, size_t head) {
  size_t bytes, of_scales;
  MUST_WORK(posenc1_format_bytes(c->format, DIM, &bytes, &of_scales));
  if (c->scales != NULL) of_scales = 0;
  ptrdiff_t const page = (ptrdiff_t)(slots[token] / PAGE), in = (ptrdiff_t)(slots[token] % PAGE);
  ptrdiff_t const b = (ptrdiff_t)bytes, s = (ptrdiff_t)of_scales, h = (ptrdiff_t)head;
  if (c->token_stride != 0)
    return (unsigned char*)c->data + page * c->page_stride + in * c->token_stride +
           h * c->head_stride;
  return (unsigned char*)c->data + page * (b + s) * HEADS * PAGE + (in * HEADS + h) * b;
}
static unsigned char* scales_at(posenc1_heads const* c, size_t token, size_t head) {
  size_t bytes, of_scales;
  MUST_WORK(posenc1_format_bytes(c->format, DIM, &bytes, &of_scales));
  size_t const page = (size_t)slots[token] / PAGE, in = (size_t)slots[token] % PAGE;
  if (c->scales != NULL)
    return (unsigned char*)c->scales + ((page * PAGE + in) * HEADS + head) * of_scales;
  return (unsigned char*)c->data + (page + 1) * bytes * HEADS * PAGE +
         page * of_scales * HEADS * PAGE + (in * HEADS + head) * of_scales;
}

/* ---- Values: bytes by the definition, and back; nothing else is written. */

static void test_formats(void) {
  static struct cache memory, poison;
  static float heads[TOKENS][HEADS][DIM], back[TOKENS][HEADS][DIM];
  for (size_t i = 0; i < TOKENS * HEADS * DIM; ++i)
    (&heads[0][0][0])[i] = (float)input(i / DIM / HEADS, i / DIM % HEADS, i % DIM);
  for (int format = 1; format < FORMATS; ++format) {
    if (format == POSENC1_F64) continue;
    for (int strided = 0; strided < 2; ++strided) {
      posenc1_operand const values = unrotated(heads, cache_of(&memory, format, strided));
      posenc1_heads const* const c = &values.to;
      poison = memory;
      MUST_WORK_WITHOUT_MEMORY(posenc1_rotate(&no_rows, &values, 1, 0, 1));
      memset(back, 0, sizeof back);
      MUST_WORK_WITHOUT_MEMORY(decode(*c, &back[0][0][0]));
      for (size_t t = 0; t < TOKENS; ++t) {
        for (size_t h = 0; h < HEADS; ++h) {
          unsigned char wanted[HEAD_BYTES + 8];
          size_t scales;
          if (slots[t] < 0) {
            MUST(back[t][h][5] == 0);
            continue;
          }
          size_t const bytes = plain_encode(format, heads[t][h], wanted, &scales);
          unsigned char *const at = codes_at(c, t, h), *const scales_of = scales_at(c, t, h);
          for (size_t i = 0; i < bytes; ++i) {
            /* Without fused multiply-add a code of u8 or int4 may differ by one. */
            int const apart = abs((int)at[i] - (int)wanted[i]);
            MUST(apart == 0 || (format == POSENC1_U8_PER_HEAD && i >= 8 && apart == 1) ||
                 (format == POSENC1_INT4_PER_HEAD && (apart == 1 || (apart & ~1) == 16)));
          }
          MUST(memcmp(scales_of, wanted + bytes, scales) == 0);
          for (size_t d = 0; d < DIM; ++d) {
            double const x = plain_decode(format, at, scales_of, d);
            MUST(fabs(back[t][h][d] - x) <= 0x1p-22 * fabs(x) + 0x1p-20);
          }
          memset(at, 0xa5, bytes), memset(scales_of, 0xa5, scales);
        }
      }
      MUST(memcmp(&memory, &poison, sizeof memory) == 0);
    }
  }
}

/* ---- Keys: norm, rotation, scale */

struct variant {
  posenc1_norm_kind kind;
  posenc1_norm_place place;
  posenc1_eps_place eps_place;
  int plus_one;
  double eps, factor;
  posenc1_format weight_format;
  posenc1_layout from, to;
  size_t first_dim, from_hadamard, hadamard;
};
static struct variant const variants[] = {
    {.first_dim = 0},
    {.eps = 1e-3, .factor = 0.5, .from = POSENC1_INTERLEAVED, .first_dim = POSENC1_LAST_DIMS},
    {.eps = 0.5,
     .kind = POSENC1_L2,
     .eps_place = POSENC1_EPS_OUTSIDE,
     .weight_format = POSENC1_F16},
    {.eps = 0.25, .plus_one = 1, .weight_format = POSENC1_BF16, .to = POSENC1_INTERLEAVED},
    {.eps = 2,
     .place = POSENC1_AFTER_ROTATION,
     .eps_place = POSENC1_EPS_AT_LEAST,
     .factor = 3,
     .from = POSENC1_INTERLEAVED,
     .to = POSENC1_INTERLEAVED,
     .first_dim = 7},
    {.hadamard = POSENC1_LARGEST_BLOCK},
    {.eps = 1e-3, .factor = 2, .from_hadamard = 16, .hadamard = 64},
    {.from_hadamard = POSENC1_LARGEST_BLOCK, .first_dim = 3}};
enum { VARIANTS = sizeof variants / sizeof *variants };

static double weight_of(size_t dim) { return 1 + (double)(dim % 5) / 4; }

static size_t dim_of(posenc1_layout layout, size_t pair, size_t which) {
  return layout != POSENC1_INTERLEAVED ? pair + which * PAIRS : 2 * pair + which;
}

static void norm(double* x, struct variant const* v) {
  double r = 0;
  for (size_t i = 0; i < DIM; ++i) r += x[i] * x[i];
  if (v->kind == POSENC1_RMS) r /= DIM;
  double const root = v->eps_place == POSENC1_EPS_INSIDE    ? sqrt(r + v->eps)
                      : v->eps_place == POSENC1_EPS_OUTSIDE ? sqrt(r) + v->eps
                                                            : fmax(sqrt(r), v->eps);
  for (size_t i = 0; i < DIM; ++i) x[i] *= (weight_of(i) + v->plus_one) / root;
}

/* By Sylvester's matrix. */
static void transform(double* x, size_t block) {
  double y[DIM];
  if (block == 0) return;
  if (block == POSENC1_LARGEST_BLOCK) block = DIM;
  for (size_t i = 0; i < DIM; ++i) {
    y[i] = 0;
    for (size_t j = 0; j < block; ++j) {
      size_t ones = 0;
      for (size_t both = i % block & j; both != 0; both /= 2) ones += both % 2;
      y[i] += x[i / block * block + j] * (ones % 2 == 0 ? 1 : -1) / sqrt((double)block);
    }
  }
  memcpy(x, y, sizeof y);
}

static void expected(double* x, size_t token, double const* inv_freq, struct variant const* v) {
  double y[DIM];
  size_t const first = v->first_dim == POSENC1_LAST_DIMS ? DIM - 2 * PAIRS : v->first_dim;
  transform(x, v->from_hadamard);
  if (v->eps != 0 && v->place == POSENC1_BEFORE_ROTATION) norm(x, v);
  memcpy(y, x, sizeof y);
  for (size_t p = 0; p < PAIRS; ++p) {
    double const angle = (double)positions[token] * inv_freq[p], c = cos(angle), s = sin(angle),
                 u = x[first + dim_of(v->from, p, 0)], w = x[first + dim_of(v->from, p, 1)];
    y[first + dim_of(v->to, p, 0)] = u * c - w * s;
    y[first + dim_of(v->to, p, 1)] = u * s + w * c;
  }
  memcpy(x, y, sizeof y);
  if (v->eps != 0 && v->place == POSENC1_AFTER_ROTATION) norm(x, v);
  for (size_t i = 0; i < DIM; ++i) x[i] *= v->factor == 0 ? 1 : v->factor;
  transform(x, v->hadamard);
}

static void test_keys(posenc1_row_maker const* maker, float const* rows, double const* inv_freq) {
  static struct cache memory, whole;
  static double keys[TOKENS * HEADS * DIM], elsewhere[TOKENS * HEADS * DIM];
  static posenc1_format const types[] = {POSENC1_F32, POSENC1_F16, POSENC1_BF16};
  double weights[DIM];
  for (int format = 1; format < FORMATS; ++format) {
    if (format == POSENC1_F64) continue;
    for (int n = 0; n < 3 * VARIANTS; ++n) {
      struct variant const* const v = &variants[n / 3];
      posenc1_format const type = types[n % 3], other = types[(n + format) % 3];
      for (size_t i = 0; i < TOKENS * HEADS * DIM; ++i)
        set_number(keys, type, i, input(i / DIM / HEADS, i / DIM % HEADS, i % DIM));
      posenc1_format const of_weights = v->weight_format == 0 ? POSENC1_F32 : v->weight_format;
      for (size_t i = 0; i < DIM; ++i) set_number(weights, of_weights, i, weight_of(i));
      posenc1_rows const all = {.cos_sin = rows, .tokens = TOKENS, .maker = maker};
      posenc1_operand x_of = {
          .from = {.data = keys, .format = type},
          .to = {.data = elsewhere, .format = other},
          .also_to = cache_of(&memory, format, n % 2),
          .heads = HEADS,
          .head_dim = DIM,
          .layout = v->from == 0 ? POSENC1_HALVES : v->from,
          .to_layout = v->to == 0 ? POSENC1_HALVES : v->to,
          .first_dim = v->first_dim,
          .norm = {v->eps, v->kind, v->place, v->eps_place, v->eps == 0 ? NULL : weights,
                   v->eps == 0 ? 0 : of_weights, v->plus_one},
          .factor = v->factor,
          .hadamard = v->hadamard,
          .from_hadamard = v->from_hadamard};
      MUST_WORK_WITHOUT_MEMORY(posenc1_rotate(&all, &x_of, 1, 0, 1));
      whole = memory;
      for (size_t t = 0; t < TOKENS; ++t) {
        for (size_t h = 0; h < HEADS; ++h) {
          double x[DIM], most = 0, squares = 0;
          for (size_t d = 0; d < DIM; ++d) x[d] = input(t, h, d);
          expected(x, t, inv_freq, v);
          for (size_t d = 0; d < DIM; ++d) most = fmax(most, fabs(x[d])), squares += x[d] * x[d];
          /* In float: ten roundings of numbers of at most `most`, and a sum of DIM squares. A
           * transform has nine of at most the length of the head. */
          double const of_transforms = v->hadamard + v->from_hadamard == 0 ? 0 : 18 * sqrt(squares);
          double const arithmetic = (16 * most + of_transforms) * 0x1p-24;
          for (size_t d = 0; d < DIM; ++d) {
            double const got = number_at(elsewhere, other, (t * HEADS + h) * DIM + d);
            MUST(fabs(got - x[d]) <= roundoff[other] * fabs(x[d]) + arithmetic);
            if (slots[t] < 0) continue;
            double const cached = plain_decode(format, codes_at(&x_of.also_to, t, h),
                                               scales_at(&x_of.also_to, t, h), d);
            if (!(fabs(cached - x[d]) <= step_of(format, x[d], most) + 2 * arithmetic)) {
              printf("format %d, variant %d, token %zu head %zu dim %zu is %.9g, must be %.9g\n",
                     format, n, t, h, d, cached, x[d]);
              exit(1);
            }
          }
        }
      }
      /* In parts, of tokens or of heads: the same bytes. */
      x_of.to = cache_of(&memory, format, n % 2), x_of.also_to.data = NULL;
      size_t const parts = n % 2 == 0 ? 4 : 7;
      for (size_t i = parts; i-- > 0;) MUST_WORK(posenc1_rotate(&all, &x_of, 1, i, parts));
      MUST(memcmp(&memory, &whole, sizeof memory) == 0);
    }
  }
}

/* Heads in place, of every type: as the matrix says, and back; paged ones too. */
static void test_hadamard(void) {
  static double memory[SLOTS * HEADS * DIM], before[SLOTS * HEADS * DIM];
  static size_t const blocks[] = {POSENC1_LARGEST_BLOCK, 32, 2, 1, 0};
  for (int type = POSENC1_F32; type <= POSENC1_BF16; ++type) {
    for (int n = 0; n < 10; ++n) {
      size_t const block = blocks[n / 2], tokens = n % 2 == 0 ? SLOTS : TOKENS;
      for (size_t i = 0; i < SLOTS * HEADS * DIM; ++i)
        set_number(memory, (posenc1_format)type, i,
                   input(i / DIM / HEADS, i / DIM % HEADS, i % DIM));
      memcpy(before, memory, sizeof memory);
      posenc1_heads heads = {.data = memory, .format = (posenc1_format)type};
      if (n % 2 == 1) heads.slots = slots, heads.pages = PAGES, heads.page_tokens = PAGE;
      MUST_WORK_WITHOUT_MEMORY(posenc1_hadamard(&heads, tokens, HEADS, DIM, block));
      for (size_t slot = 0; slot < SLOTS; ++slot) {
        int given = n % 2 == 0;
        for (size_t t = 0; t < TOKENS; ++t) given |= slots[t] == (int64_t)slot;
        for (size_t h = 0; h < HEADS; ++h) {
          double x[DIM], squares = 0;
          size_t const at = (slot * HEADS + h) * DIM;
          for (size_t d = 0; d < DIM; ++d)
            x[d] = number_at(before, (posenc1_format)type, at + d), squares += x[d] * x[d];
          if (given) transform(x, block);
          for (size_t d = 0; d < DIM; ++d) {
            double const arithmetic =
                given
                    ? 9 * sqrt(squares) * roundoff[type == POSENC1_F64 ? POSENC1_F64 : POSENC1_F32]
                    : 0;
            MUST(fabs(number_at(memory, (posenc1_format)type, at + d) - x[d]) <=
                 arithmetic + fabs(x[d]) * roundoff[type]);
          }
        }
      }
    }
  }
  posenc1_heads const heads = {.data = memory, .format = POSENC1_F32};
  memcpy(before, memory, sizeof memory);
  MUST_REFUSE(posenc1_hadamard(&heads, 1, 1, 96, 64),
              "posenc1_hadamard: the block of a Hadamard transform must be a power of two, at most "
              "4096, that divides head_dim 96, got 64");
  MUST_REFUSE(posenc1_hadamard(NULL, 1, 1, 96, 32), "must not be null");
  MUST_REFUSE(posenc1_hadamard(&heads, 1, 1, 0, 1), "head_dim must be positive");
  posenc1_heads const nowhere = {.format = POSENC1_F32};
  MUST_REFUSE(posenc1_hadamard(&nowhere, 1, 1, 96, 32), "posenc1_hadamard: x: ");
  posenc1_heads const codes = {.data = memory, .format = POSENC1_Q8_0};
  MUST_REFUSE(posenc1_hadamard(&codes, 1, 1, 96, 32), "x: format must be one of numbers, got 6");
  MUST_WORK(posenc1_hadamard(&nowhere, 0, 1, 96, 32));
  MUST(memcmp(before, memory, sizeof memory) == 0);
}

/* What they compute is compared by cases/. */
static void test_caches(void) {
  int64_t two[2] = {7, 7};
  MUST_WORK(posenc1_ring_slots(9, 2, 10, two));
  MUST(two[0] == 9 && two[1] == 0);
  MUST_REFUSE(posenc1_ring_slots(0, 3, 2, two),
              "posenc1_ring_slots: count must be at most the capacity 2, got 3");
  MUST_REFUSE(posenc1_ring_slots(0, 1, 2, NULL), "posenc1_ring_slots: slots must not be null");
  MUST(two[0] == 9 && two[1] == 0);
  MUST_WORK(posenc1_ring_slots(0, 0, 2, NULL));

  static float memory[SLOTS * HEADS * DIM], bounds[2 * HEADS * 2 * DIM];
  posenc1_heads const keys = {.data = memory, .format = POSENC1_F32};
  for (size_t i = 0; i < SLOTS * HEADS * DIM; ++i) memory[i] = (float)i;
  MUST_WORK(posenc1_page_bounds(&keys, 3, HEADS, DIM, 2, bounds));
  MUST(bounds[0] == 0 && bounds[DIM] == HEADS * DIM);
  memset(bounds, 0xff, sizeof bounds);
  MUST_REFUSE(posenc1_page_bounds(NULL, 3, HEADS, DIM, 2, bounds), "keys must not be null");
  MUST_REFUSE(posenc1_page_bounds(&keys, 3, HEADS, DIM, 2, NULL), "bounds must not be null");
  MUST_REFUSE(posenc1_page_bounds(&keys, 3, HEADS, 0, 2, bounds), "head_dim must be positive");
  MUST_REFUSE(posenc1_page_bounds(&keys, 3, HEADS, DIM, 0, bounds),
              "posenc1_page_bounds: pages must have a token, got 0");
  MUST_REFUSE(posenc1_page_bounds(&keys, 3, HEADS, DIM, 2, (char*)bounds + 2),
              "bounds must begin at a multiple of the 4 bytes of an element, got a remainder of 2");
  posenc1_heads none = keys, beyond = keys;
  none.format = (posenc1_format)0;
  MUST_REFUSE(posenc1_page_bounds(&none, 3, HEADS, DIM, 2, bounds),
              "keys: format must be one of the header, got 0");
  two[1] = SLOTS, beyond.slots = two, beyond.pages = SLOTS, beyond.page_tokens = 1;
  MUST_REFUSE(posenc1_page_bounds(&beyond, 2, HEADS, DIM, 2, bounds), "keys: a slot must be below");
  for (size_t i = 0; i < sizeof bounds; ++i) MUST(((unsigned char*)bounds)[i] == 0xff);
  MUST_WORK(posenc1_page_bounds(&keys, 0, HEADS, DIM, 2, NULL));
}

/* An operand of several is what it is alone; cached keys move where they are, by decoding, rotating
 * and encoding; rounding as separate calls has their bits. */
static void test_ways(posenc1_row_maker const* maker, float const* rows) {
  static struct cache memory, moved;
  static uint16_t words[TOKENS * HEADS * DIM], queries[TOKENS * HEADS * DIM];
  static float numbers[TOKENS * HEADS * DIM], read[TOKENS * HEADS * DIM];
  float weights[DIM];
  for (size_t i = 0; i < DIM; ++i) weights[i] = (float)weight_of(i);
  for (size_t i = 0; i < TOKENS * HEADS * DIM; ++i) {
    numbers[i] = (float)input(i / DIM / HEADS, i / DIM % HEADS, i % DIM);
    set_number(words, POSENC1_BF16, i, numbers[i]), queries[i] = words[i];
  }
  posenc1_rows const all = {.cos_sin = rows, .tokens = TOKENS, .maker = maker};
  posenc1_norm const of_heads = {.eps = 1e-6, .weight = weights, .weight_format = POSENC1_F32};
  posenc1_operand step[2] = {unrotated(queries, (posenc1_heads){.data = NULL}),
                             unrotated(numbers, cache_of(&memory, POSENC1_Q8_0, 0))};
  step[0].layout = step[1].layout = POSENC1_HALVES;
  step[0].from.format = POSENC1_BF16, step[0].norm = of_heads, step[0].factor = 0.125;
  MUST_WORK(posenc1_rotate(&all, step, 2, 0, 1));
  posenc1_operand alone = step[0];
  alone.from.data = words;
  MUST_WORK(posenc1_rotate(&all, &alone, 1, 0, 1));
  MUST(memcmp(words, queries, sizeof words) == 0);

  posenc1_operand move = step[1], again = step[1];
  move.from = step[1].to, move.to = (posenc1_heads){.data = NULL};
  moved = memory;
  MUST_WORK(decode(step[1].to, read));
  again.from.data = read, again.to.data = moved.codes_of;
  MUST_WORK(posenc1_rotate(&all, &again, 1, 0, 1));
  MUST_WORK(posenc1_rotate(&all, &move, 1, 0, 1));
  MUST(memcmp(&memory, &moved, sizeof memory) == 0);

  for (int type = POSENC1_F16; type <= POSENC1_BF16; ++type) {
    posenc1_operand fused = unrotated(numbers, cache_of(&memory, POSENC1_E4M3, 0));
    fused.norm = of_heads;
    posenc1_operand first = fused;
    first.to = (posenc1_heads){.data = words, .format = (posenc1_format)type};
    fused.layout = POSENC1_HALVES, fused.rounding = POSENC1_ROUND_SEPARATE_CALLS;
    fused.rounded_to = (posenc1_format)type;
    MUST_WORK(posenc1_rotate(&all, &fused, 1, 0, 1));
    MUST_WORK(posenc1_rotate(&no_rows, &first, 1, 0, 1));
    posenc1_operand second = alone;
    second.norm = (posenc1_norm){.eps = 0}, second.factor = 0;
    second.from.format = (posenc1_format)type;
    MUST_WORK(posenc1_rotate(&all, &second, 1, 0, 1));
    posenc1_operand third = unrotated(NULL, cache_of(&moved, POSENC1_E4M3, 0));
    third.from = first.to;
    MUST_WORK(posenc1_rotate(&no_rows, &third, 1, 0, 1));
    MUST(memcmp(&memory, &moved, sizeof memory) == 0);
    fused.rounding = 0, fused.rounded_to = 0; /* which matters */
    MUST_WORK(posenc1_rotate(&all, &fused, 1, 0, 1));
    MUST(type == POSENC1_F16 || memcmp(&memory, &moved, sizeof memory) != 0);
  }
}

/* Keys in place, and to a cache too: as two calls. */
static void test_in_place_and_also(posenc1_row_maker const* maker, float const* rows) {
  static struct cache memory, expected;
  static float keys[TOKENS * HEADS * DIM], rotated[TOKENS * HEADS * DIM];
  for (size_t i = 0; i < TOKENS * HEADS * DIM; ++i)
    keys[i] = rotated[i] = (float)input(i / DIM / HEADS, i / DIM % HEADS, i % DIM);
  posenc1_rows const all = {.cos_sin = rows, .tokens = TOKENS, .maker = maker};
  static posenc1_format const formats[] = {POSENC1_Q8_0, POSENC1_F32, POSENC1_BF16};
  for (int n = 0; n < 3; ++n) {
    posenc1_operand both = unrotated(keys, cache_of(&expected, formats[n], 0));
    both.layout = POSENC1_INTERLEAVED;
    posenc1_operand in_place = both;
    in_place.from.data = rotated, in_place.to.data = NULL;
    MUST_WORK(posenc1_rotate(&all, &both, 1, 0, 1));
    MUST_WORK(posenc1_rotate(&all, &in_place, 1, 0, 1));
    both.also_to = cache_of(&memory, formats[n], 0), both.to.data = NULL;
    for (size_t part = 3; part-- > 0;) MUST_WORK(posenc1_rotate(&all, &both, 1, part, 3));
    MUST(memcmp(keys, rotated, sizeof keys) == 0);
    MUST(memcmp(&memory, &expected, sizeof memory) == 0);
  }
}

/* Batches that share rows, and have their own: as one call each, into codes and numbers. */
static void test_batches(posenc1_row_maker const* maker, float const* rows) {
  enum { BATCHES = 3, OF_BATCH = TOKENS / BATCHES };
  static struct cache whole, parts;
  static float numbers[TOKENS * HEADS * DIM];
  for (size_t i = 0; i < TOKENS * HEADS * DIM; ++i)
    numbers[i] = (float)input(i / DIM / HEADS, i / DIM % HEADS, i % DIM);
  static posenc1_format const formats[] = {POSENC1_Q8_0, POSENC1_INT8_PER_HEAD, POSENC1_BF16};
  for (int n = 0; n < 6; ++n) {
    int const shared = n % 2;
    posenc1_rows all = {.cos_sin = rows, .tokens = OF_BATCH, .batches = BATCHES, .maker = maker};
    all.rows = shared ? OF_BATCH : TOKENS;
    posenc1_operand x = unrotated(numbers, cache_of(&whole, formats[n / 2], 0)), one = x;
    x.layout = one.layout = POSENC1_INTERLEAVED;
    for (size_t part = 4; part-- > 0;) MUST_WORK(posenc1_rotate(&all, &x, 1, part, 4));
    one.to = cache_of(&parts, formats[n / 2], 0);
    all.batches = 1, all.rows = 0;
    for (size_t b = 0; b < BATCHES; ++b) {
      all.cos_sin = rows + (shared ? 0 : b * OF_BATCH * 2 * PAIRS);
      one.from.data = numbers + b * OF_BATCH * HEADS * DIM;
      one.to.slots = slots + b * OF_BATCH;
      MUST_WORK(posenc1_rotate(&all, &one, 1, 0, 1));
    }
    MUST(memcmp(&whole, &parts, sizeof whole) == 0);
  }
}

static void test_refusals(posenc1_row_maker const* maker, float const* rows) {
  static struct cache memory, before;
  static float keys[TOKENS * HEADS * DIM];
  posenc1_rows const good_rows = {.cos_sin = rows, .tokens = TOKENS, .maker = maker};
  posenc1_operand good = unrotated(keys, cache_of(&memory, POSENC1_DEEPSEEK_V4, 0));
  good.layout = POSENC1_HALVES;
  before = memory;
#define MUST_REFUSE_WITH(change, words)                  \
  do {                                                   \
    posenc1_rows r = good_rows;                          \
    posenc1_operand x = good;                            \
    change;                                              \
    MUST_REFUSE(posenc1_rotate(&r, &x, 1, 0, 1), words); \
    MUST(memcmp(&memory, &before, sizeof memory) == 0);  \
  } while (0)
  int64_t const twice[TOKENS] = {4, 5, -1, 2, 3, 5};
  unsigned char* const codes = (unsigned char*)memory.codes_of;
  MUST_REFUSE_WITH(x.to.slots = twice, "a slot must be written once, got slot 5 again");
  MUST_REFUSE_WITH(x.also_to = x.to; x.to.data = NULL;
                   x.also_to.slots = twice, "operand 0.also_to: a slot must be written once");
  MUST_REFUSE_WITH(x.from = x.to; x.to.data = NULL;
                   x.from.slots = twice, "operand 0.from: a slot must be written once");
  MUST_REFUSE_WITH(x.to.pages = 2, "posenc1_rotate: operand 0.to: a slot must be below 8");
  MUST_REFUSE_WITH(x.to.page_tokens = 0, "pages must have tokens");
  MUST_REFUSE_WITH(x.to.pages = SIZE_MAX / 2, "pages must have tokens and fit into memory");
  MUST_REFUSE_WITH(x.to.format = (posenc1_format)FORMATS, "format must be one of the header");
  MUST_REFUSE_WITH(x.to.scale = 1, "scale must be 0 for this format, got 1");
  MUST_REFUSE_WITH(x.to.format = POSENC1_E4M3;
                   x.to.scale = -1, "scale must be finite and positive");
  MUST_REFUSE_WITH(x.to.format = POSENC1_E4M3;
                   x.to.scale = 1e-40, "scale must be finite and positive");
  MUST_REFUSE_WITH(x.to.format = POSENC1_E4M3;
                   x.to.scale = 0x1p120, "e4m3: the scale must be below 2^120");
  MUST_REFUSE_WITH(x.to.token_stride = 1000, "scales must be given where strides");
  MUST_REFUSE_WITH(x.to.scales = codes, "scales must not overlap codes");
  MUST_REFUSE_WITH(x.to.format = POSENC1_Q8_0; x.to.scales = memory.scales, "scales must be null");
  MUST_REFUSE_WITH(x.head_dim = 100, "deepseek_v4: head_dim must be a multiple of 64");
  MUST_REFUSE_WITH(x.head_dim = 8192; x.to.data = NULL;
                   x.hadamard = 64, "operand 0: head_dim must be at most 4096, got 8192");
  MUST_REFUSE_WITH(x.from.data = codes; x.from.format = POSENC1_F64; x.to.data = NULL;
                   x.layout = POSENC1_UNROTATED, "heads of double must rotate to one target");
  MUST_REFUSE_WITH(x.from.data = NULL, "operand 0: from must have data, got null");
  MUST_REFUSE_WITH(x.from.format = POSENC1_F64,
                   "heads of double must be rotated to heads of double");
  MUST_REFUSE_WITH(x.from.data = codes + 2, "data must begin at a multiple of the 4 bytes");
  MUST_REFUSE_WITH(x.from.data = codes, "source and target must not overlap");
  MUST_REFUSE_WITH(x.also_to = x.from;
                   x.also_to.data = codes, "targets of one set must not overlap each other");
  MUST_REFUSE_WITH(x.norm.weight = keys, "eps of the norm must be given");
  MUST_REFUSE_WITH(x.norm.kind = POSENC1_L2, "where its weights, kind or places are");
  MUST_REFUSE_WITH(x.norm.eps = 1;
                   x.norm.plus_one = 1, "weights of the norm must be given where plus_one");
  MUST_REFUSE_WITH(x.layout = POSENC1_UNROTATED;
                   x.first_dim = 2, "first_dim must be 0 for heads that do not rotate");
  MUST_REFUSE_WITH(x.norm.eps = -1, "eps of the norm must be finite and positive");
  MUST_REFUSE_WITH(x.norm.eps = 1; x.norm.kind = (posenc1_norm_kind)2, "kind, place");
  MUST_REFUSE_WITH(x.factor = INFINITY, "operand 0: factor must be finite");
  MUST_REFUSE_WITH(
      x.hadamard = 48,
      "posenc1_rotate: operand 0: the block of a Hadamard transform must be a power of "
      "two, at most 4096, that divides head_dim 128, got 48");
  MUST_REFUSE_WITH(x.from_hadamard = 256, "that divides head_dim 128, got 256");
  MUST_REFUSE_WITH(x.rounding = 32, "rounding must be a sum of points");
  MUST_REFUSE_WITH(x.rounding = 1, "rounded_to POSENC1_F16 or POSENC1_BF16, got 1 and 0");
  MUST_REFUSE_WITH(x.rounded_to = POSENC1_F16, "rounding must be a sum of points, rounded_to");
  MUST_REFUSE_WITH(x.first_dim = DIM - 2 * PAIRS + 1, "must lie within the head");
  MUST_REFUSE_WITH(r.pairs = 1, "pairs must be positive, and the maker's");
  MUST_REFUSE_WITH(r.pairs = DIM; r.maker = NULL, "must lie within the head");
  MUST_REFUSE_WITH(r.cos_sin = NULL, "cos_sin must not be null");
  posenc1_operand two[2] = {good, good};
  two[1].layout = POSENC1_UNROTATED;
  MUST_REFUSE(posenc1_rotate(&good_rows, two, 2, 0, 1),
              "heads that one operand writes must not overlap those of another");
  two[1].to.slots = twice;
  MUST_REFUSE(posenc1_rotate(&good_rows, two, 2, 0, 1),
              "operand 1.to: a slot must be written once");
  size_t bytes;
  MUST_REFUSE(posenc1_format_bytes(POSENC1_Q8_0, 40, &bytes, &bytes),
              "q8_0: head_dim must be a multiple of 32, got 40");
  MUST(memcmp(&memory, &before, sizeof memory) == 0);

  /* Keys and values of a page side by side do not overlap. */
  two[0].to.format = POSENC1_E4M3, two[0].to.page_stride = 2 * PAGE * HEADS * DIM;
  two[1].to = two[0].to, two[1].to.data = codes + PAGE * HEADS * DIM;
  MUST_WORK(posenc1_rotate(&good_rows, two, 2, 0, 1));
  two[1].to.data = codes + PAGE * HEADS * DIM - 1;
  MUST_REFUSE(posenc1_rotate(&good_rows, two, 2, 0, 1), "must not overlap");
}

void test_step(void) {
  posenc1_frequencies* f;
  posenc1_row_maker* maker;
  double inv_freq[PAIRS];
  float rows[TOKENS * 2 * PAIRS];
  MUST_WORK(posenc1_frequencies_of_base(2 * PAIRS, 10000, &f));
  posenc1_frequencies_read(f, inv_freq, NULL);
  MUST_WORK(posenc1_row_maker_create(f, 0, &maker));
  MUST_WORK(posenc1_write_rows(maker, positions, NULL, TOKENS, POSENC1_F32, rows));
  test_formats();
  test_keys(maker, rows, inv_freq);
  test_ways(maker, rows);
  test_in_place_and_also(maker, rows);
  test_batches(maker, rows);
  test_hadamard();
  test_caches();
  test_refusals(maker, rows);
  posenc1_row_maker_destroy(maker);
  posenc1_frequencies_destroy(f);
}
