// Rotates a head by the C API, in C++17.
#include <posenc/posenc.h>

#include <cstdio>

static_assert(__cplusplus < 202002L, "posenc.h needs no C++20");

int main() {
  float const row[2] = {0, 1};  // cosine and sine of a quarter turn
  float head[2] = {3, 4};
  posenc1_rotation q{};
  q.from.data = head;
  q.tokens = q.heads = q.rows = q.pairs = 1, q.head_dim = 2, q.cos_sin = row;
  if (posenc1_rotate(&q, 0, SIZE_MAX) != POSENC1_OK) return std::puts(posenc1_error()), 1;
  return head[0] != -4 || head[1] != 3;
}
