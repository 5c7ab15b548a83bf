/* Rotates a head by the C API, with kernels that posenc_add_kernels compiled. */
#include <posenc/posenc.h>
#include <stdio.h>

int main(void) {
  float const row[2] = {0, 1}; /* cosine and sine of a quarter turn */
  float head[2] = {3, 4};
  posenc1_rotation const q = {.from = {.data = head}, .tokens = 1, .heads = 1, .head_dim = 2,
                              .cos_sin = row, .rows = 1, .pairs = 1};
  if (posenc1_rotate(&q, 0, SIZE_MAX) != POSENC1_OK) return puts(posenc1_error()), 1;
  printf("posenc %s on %s\n", posenc1_version(), posenc1_instruction_set());
  return head[0] != -4 || head[1] != 3;
}
