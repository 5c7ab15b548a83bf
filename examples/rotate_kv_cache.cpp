// Keys of a paged cache, as an inference engine holds them: bfloat16, pages of 16 tokens that
// belong to different sequences, slots filled in any order. New keys come as floats, with the
// queries: norm, rotation, conversion and the way into their slots are one pass over memory. Later
// the oldest tokens of a sequence leave, and its others are moved to new positions where they lie.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_table.hpp"
#include "posenc/rows/rerotation.hpp"

namespace {

using posenc::bfloat16, posenc::halves, posenc::heads_view, posenc::rotated;

constexpr std::size_t pages = 4, page_tokens = 16, tokens = pages * page_tokens, q_heads = 8,
                      kv_heads = 4, head_dim = 128;
constexpr float eps = 1e-6f;

// Key `head` of a token: normed and rotated in double, as it should be in the cache.
std::vector<double> exact_key(std::vector<float> const& keys, std::size_t token, std::size_t head,
                              std::vector<float> const& weight, posenc::frequencies const& f,
                              std::int64_t position) {
  auto const first =
      keys.begin() + static_cast<std::ptrdiff_t>((token * kv_heads + head) * head_dim);
  std::vector<double> key(first, first + head_dim);
  auto const mean_square = std::inner_product(key.begin(), key.end(), key.begin(), 0.0) / head_dim;
  for (std::size_t i = 0; i < head_dim; ++i)
    key[i] *= static_cast<double>(weight[i]) / std::sqrt(mean_square + static_cast<double>(eps));
  posenc::rotate<halves>(heads_view(key.data(), {1, 1, head_dim}),
                         posenc::cos_sin_rows<double>(f, std::vector{position}));
  return key;
}

}  // namespace

int main() {
  auto const frequencies = posenc::geometric(head_dim, 5e5);
  posenc::cos_sin_table const table(
      frequencies);  // once per model: any position costs as much as reading a table

  // Pages 0 and 2 hold a sequence at its start, 1 and 3 one at a million tokens.
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<bfloat16> cache(tokens * kv_heads * head_dim);
  posenc::pages_shape const cache_shape{pages, page_tokens, kv_heads, head_dim};
  std::vector<std::int64_t> slots(tokens), positions(tokens);
  std::iota(slots.begin(), slots.end(), 0);
  std::ranges::shuffle(slots, random);
  for (std::size_t t = 0; t < tokens; ++t) {
    auto const page = slots[t] / 16, within = slots[t] % 16;
    positions[t] = (page % 2 == 0 ? 0 : 1'000'000) + page / 2 * 16 + within;
  }

  // A step: the queries stay where they are, the keys go into their slots.
  std::vector<float> q(tokens * q_heads * head_dim), k(tokens * kv_heads * head_dim),
      weight(head_dim);
  for (auto* const x : {&q, &k, &weight}) std::ranges::generate(*x, [&] { return normal(random); });
  auto const rows = table.rows(positions);  // once per step, for every layer
  posenc::rotate(rows,
                 rotated<halves>(heads_view(q.data(), {tokens, q_heads, head_dim}))
                     .norm({weight, eps})
                     .scale(1 / std::sqrt(128.0f)),
                 rotated<halves>(heads_view(k.data(), {tokens, kv_heads, head_dim}),
                                 posenc::heads_view(cache.data(), cache_shape, slots))
                     .norm({weight, eps}));

  // Largest error of the cache, as a part of the largest key.
  auto const error = [&] {
    double largest_error = 0, largest = 0;
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t head = 0; head < kv_heads; ++head) {
        auto const exact = exact_key(k, t, head, weight, frequencies, positions[t]);
        auto const* const cached =
            cache.data() + (static_cast<std::size_t>(slots[t]) * kv_heads + head) * head_dim;
        for (std::size_t i = 0; i < head_dim; ++i) {
          largest_error =
              std::max(largest_error,
                       std::abs(exact[i] - static_cast<double>(static_cast<float>(cached[i]))));
          largest = std::max(largest, std::abs(exact[i]));
        }
      }
    }
    return largest_error / largest;
  };
  auto const error_written = error();
  std::printf(
      "64 keys of 4 heads normed, rotated and written to their slots: error %.5f of the largest "
      "(bfloat16 rounds by %.5f at most)\n",
      error_written, 0x1p-8);

  // The first page of the first sequence leaves; what is left of it, page 2, moves 16 positions
  // towards the start.
  std::vector<std::int64_t> moved;
  for (std::size_t t = 0; t < tokens; ++t) {
    if (slots[t] / 16 == 2) moved.push_back(slots[t]), positions[t] -= 16;
  }
  std::vector<std::int64_t> const deltas(moved.size(), -16);
  posenc::rotate<halves>(posenc::heads_view(cache.data(), cache_shape, moved),
                         posenc::shift_rows(frequencies, deltas));
  auto const error_moved = error();
  std::printf("%zu of them moved by -16 positions where they lie: error %.5f (rounded twice)\n",
              moved.size(), error_moved);

  bool const is_right = error_written < 1.01 * 0x1p-8 && error_moved < 1.01 * 0x1p-7 &&
                        moved.size() == page_tokens;
  return is_right && std::fflush(stdout) == 0 ? 0 : 1;
}
