/* What tests of the C API share: numbers of every type, by their definitions; and what must hold.
 */
#ifndef POSENC_TESTS_KERNELS_NUMBERS_H
#define POSENC_TESTS_KERNELS_NUMBERS_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "posenc/posenc.h"

#define MUST(holds)                                                   \
  do {                                                                \
    if (!(holds)) {                                                   \
      printf("line %d: %s: %s\n", __LINE__, #holds, posenc1_error()); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)
#define MUST_WORK(call) MUST((call) == POSENC1_OK)
/* The call is refused by a sentence that contains these words. */
#define MUST_REFUSE(call, words) \
  MUST((call) == POSENC1_INVALID_ARGUMENT && strstr(posenc1_error(), words) != NULL)

/* By format, of numbers. */
static size_t const sizes[] = {0, 4, 8, 2, 2};
/* Half of the distance from 1 to the next number. */
static double const roundoff[] = {0, 0x1p-24, 0x1p-53, 0x1p-11, 0x1p-8};

static inline double from_bits16(uint16_t bits, int exponent_bits) {
  int const mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  int const exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  double const mantissa = bits & ((1 << mantissa_bits) - 1);
  double const magnitude =
      exponent == 0 ? ldexp(mantissa, 1 - bias - mantissa_bits)
                    : ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return bits >> 15 ? -magnitude : magnitude;
}

static inline double number_at(void const* memory, posenc1_format type, size_t i) {
  char const* const at = (char const*)memory + i * sizes[type];
  float f;
  double d;
  uint16_t bits;
  switch (type) {
    case POSENC1_F32:
      return memcpy(&f, at, sizeof f), f;
    case POSENC1_F64:
      return memcpy(&d, at, sizeof d), d;
    default:
      return memcpy(&bits, at, sizeof bits), from_bits16(bits, type == POSENC1_F16 ? 5 : 8);
  }
}

/* Stores the number of the type that is nearest to x, ties to even. */
static inline void set_number(void* memory, posenc1_format type, size_t i, double x) {
  char* const at = (char*)memory + i * sizes[type];
  float const f = (float)x;
  int const exponent_bits = type == POSENC1_F16 ? 5 : 8, mantissa_bits = 15 - exponent_bits,
            bias = (1 << (exponent_bits - 1)) - 1,
            infinity = ((1 << exponent_bits) - 1) << mantissa_bits;
  int exponent, magnitude;
  uint16_t bits;
  switch (type) {
    case POSENC1_F32:
      memcpy(at, &f, sizeof f);
      return;
    case POSENC1_F64:
      memcpy(at, &x, sizeof x);
      return;
    default:
      frexp(x, &exponent);
      /* Subnormal numbers have the last place of the least normal one. */
      if (x == 0 || exponent < 2 - bias) exponent = 2 - bias;
      /* In last places; the leading bit, and a carry, add to the exponent's field. */
      magnitude = ((exponent + bias - 2) << mantissa_bits) +
                  (int)nearbyint(ldexp(fabs(x), mantissa_bits + 1 - exponent));
      bits = (uint16_t)((magnitude < infinity ? magnitude : infinity) | (signbit(x) ? 0x8000 : 0));
      memcpy(at, &bits, sizeof bits);
  }
}

/* How often the program asked for memory, if COUNTS_ALLOCATIONS is defined. */
extern size_t allocations;
#define MUST_WORK_WITHOUT_MEMORY(call)    \
  do {                                    \
    size_t const allocated = allocations; \
    MUST_WORK(call);                      \
    MUST(allocations == allocated);       \
  } while (0)

void test_attention(void); /* of attention.c */
void test_gradients(void); /* of gradients.c */
void test_step(void);      /* of step.c */
void test_layouts(void);   /* of layouts.c */
void test_zeros(void);     /* of zeros.c */
void test_mixed(void);     /* of mixed.c */

#endif
