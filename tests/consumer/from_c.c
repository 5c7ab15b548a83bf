/* Rotates a head by the C API, with kernels that posenc_add_kernels compiled. */
#include <posenc/posenc.h>
#include <stdio.h>

int main(void) {
  float const row[2] = {0, 1}; /* cosine and sine of a quarter turn */
  float head[2] = {3, 4};
  posenc1_rows const rows = {.cos_sin = row, .tokens = 1, .pairs = 1};
  posenc1_operand const q = {.from = {.data = head, .format = POSENC1_F32}, .heads = 1,
                             .head_dim = 2, .layout = POSENC1_HALVES};
  if (posenc1_rotate(&rows, &q, 1, 0, 1) != POSENC1_OK) return puts(posenc1_error()), 1;
  printf("posenc %s on %s\n", posenc1_version(), posenc1_instruction_set());
  return head[0] != -4 || head[1] != 3;
}
