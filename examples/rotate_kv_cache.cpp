// Keys in a paged cache, as an inference engine holds them: bfloat16, pages of 16 tokens that belong to different sequences, slots
// filled out of order. Keys are rotated where they lie; later the oldest tokens leave and the others are moved to new positions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "posenc/query_key/rope.hpp"

namespace {

using posenc::bfloat16;

constexpr std::size_t page_tokens = 16, kv_heads = 4, head_dim = 128;

struct page {
  std::vector<bfloat16> keys = std::vector<bfloat16>(page_tokens * kv_heads * head_dim);
  std::vector<std::int64_t> positions = std::vector<std::int64_t>(page_tokens);

  posenc::heads_view<bfloat16> view() { return {keys.data(), {page_tokens, kv_heads, head_dim}}; }
};

// Largest difference between the page and `keys` rotated at its positions in double, as a fraction of the largest key.
double error_against_double(page& p, std::vector<bfloat16> const& keys, posenc::frequencies const& f) {
  std::vector<double> exact(keys.size());
  std::ranges::transform(keys, exact.begin(), [](bfloat16 key) { return static_cast<double>(static_cast<float>(key)); });
  posenc::rotate<posenc::halves>(posenc::heads_view(exact.data(), {page_tokens, kv_heads, head_dim}),
                                 posenc::cos_sin_rows<double>(f, p.positions));
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error = std::max(error, std::abs(exact[i] - static_cast<double>(static_cast<float>(p.keys[i]))));
    largest = std::max(largest, std::abs(exact[i]));
  }
  return error / largest;
}

}  // namespace

int main() {
  auto const frequencies = posenc::geometric(head_dim, 5e5);
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;

  // Two sequences share the cache: one is at its start, the other at a million tokens. Slots are filled in any order.
  std::vector<page> cache(4);
  std::vector<std::vector<bfloat16>> plain;
  for (std::size_t n = 0; n < cache.size(); ++n) {
    auto& [keys, positions] = cache[n];
    for (std::size_t slot = 0; slot < page_tokens; ++slot) {
      positions[slot] = static_cast<std::int64_t>((n % 2 == 0 ? 0 : 1'000'000) + n / 2 * page_tokens + slot);
    }
    std::shuffle(positions.begin(), positions.end(), random);
    std::ranges::generate(keys, [&] { return bfloat16(normal(random)); });
    plain.push_back(keys);
  }

  // Rotate each page in place. The rows of a page serve all its heads, and would serve every layer.
  double error = 0;
  for (std::size_t n = 0; n < cache.size(); ++n) {
    posenc::cos_sin_rows const rows(frequencies, cache[n].positions);
    posenc::rotate<posenc::halves>(cache[n].view(), rows);
    error = std::max(error, error_against_double(cache[n], plain[n], frequencies));
  }
  std::printf("4 pages x 16 tokens x 4 heads rotated in place; error %.5f of the largest key (bfloat16 rounds by %.5f at most)\n", error,
              0x1p-8);

  // The oldest page of the first sequence leaves; the rest of it moves 16 positions towards the start. Turning by -16 does it.
  auto& moved = cache[2];
  std::vector<std::int64_t> const back(page_tokens, -static_cast<std::int64_t>(page_tokens));
  posenc::rotate<posenc::halves>(moved.view(), posenc::cos_sin_rows(frequencies, back));
  for (auto& position : moved.positions) position -= static_cast<std::int64_t>(page_tokens);
  auto const error_moved = error_against_double(moved, plain[2], frequencies);
  std::printf("one page moved by -16 positions; error %.5f (rounded twice)\n", error_moved);

  // Slots of a page can be rotated on their own: here the token in slot 5 of the last page is written and rotated anew.
  auto& last = cache[3];
  auto const before = last.keys;
  std::copy_n(plain[3].begin() + 5 * kv_heads * head_dim, kv_heads * head_dim, last.keys.begin() + 5 * kv_heads * head_dim);
  posenc::cos_sin_rows const rows(frequencies, last.positions);
  posenc::rotate<posenc::halves>(last.view().slice_tokens(5, 1), rows.slice_tokens(5, 1));
  bool const same = last.keys == before;
  std::printf("one slot written anew: %s as in the whole page\n", same ? "the same bits" : "NOT the same bits");

  return error < 1.01 * 0x1p-8 && error_moved < 1.01 * 0x1p-7 && same ? 0 : 1;
}
