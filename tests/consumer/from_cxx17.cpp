// Rotates a head by the C API, in C++17.
#include <posenc/posenc.h>

#include <cstdio>

static_assert(__cplusplus < 202002L, "posenc.h needs no C++20");

int main() {
  float const row[2] = {0, 1};  // cosine and sine of a quarter turn
  float head[2] = {3, 4};
  posenc1_rows rows{};
  posenc1_operand q{};
  rows.cos_sin = row, rows.tokens = rows.pairs = 1;
  q.from.data = head, q.from.format = POSENC1_F32, q.layout = POSENC1_HALVES;
  q.heads = 1, q.head_dim = 2;
  if (posenc1_rotate(&rows, &q, 1, 0, 1) != POSENC1_OK) return std::puts(posenc1_error()), 1;
  return head[0] != -4 || head[1] != 3;
}
