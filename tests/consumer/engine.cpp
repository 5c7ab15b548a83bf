// Rotates queries and keys in its own buffers; exits with 0 if scores depend on distance alone.
#include <posenc/posenc.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

double score_in_paged_cache(std::int64_t query_position, std::int64_t key_position);

int main() {
  auto const near = score_in_paged_cache(7, 3), far = score_in_paged_cache(1'000'007, 1'000'003);
  std::printf("%.6f at position 7, %.6f at 1000007\n", near, far);

  std::vector<float> x(8 * 4 * 64, 1.0f);
  posenc::heads_view<float> const heads(x.data(), {.tokens = 8, .heads = 4, .head_dim = 64});
  auto const seen = posenc::attention(
      heads, heads, heads, posenc::scheme{posenc::alibi(4), posenc::adaptive_temperature{}});
  return std::abs(near - far) < 1e-5 && std::abs(seen.outputs.back() - 1) < 1e-6 ? 0 : 1;
}
