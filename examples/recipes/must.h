/* Shared by the programs in C: an error ends the program, and each attention allocates its scratch
 * memory. Your engine asks posenc1_attention_memory at each step, and keeps the memory. */
#ifndef POSENC_RECIPES_MUST_H
#define POSENC_RECIPES_MUST_H

#include <posenc/posenc.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must(posenc1_status status) {
  if (status != POSENC1_OK) puts(posenc1_error()), exit(1);
}

static inline void attend(posenc1_attention a) {
  must(posenc1_attention_memory(&a, 0, SIZE_MAX, &a.memory_bytes));
  a.memory = malloc(a.memory_bytes);
  must(posenc1_attend(&a, 0, SIZE_MAX));
  free(a.memory);
}

#endif
