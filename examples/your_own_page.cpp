// A page that no library knows, written in the step that makes its numbers: vLLM's cache for CPUs
// in FP8. Keys are columns, [page][head][dim][token], values rows, [page][head][token][dim]; both
// E4M3, as vLLM's writer truncates them. The page of keys is a sink of five lines.
#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include "posenc/cache/float_formats.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace {

using posenc::bfloat16, posenc::e4m3, posenc::halves, posenc::heads_view;

constexpr std::size_t tokens = 6, heads = 2, head_dim = 64, pages = 3, page_tokens = 32;

// Takes a rotated head, as floats, and puts it where the engine wants it.
struct key_columns {
  e4m3 format;
  std::byte* first;
  std::span<std::int64_t const> slots;

  void write(std::size_t token, std::size_t head, std::span<float const> key) const {
    if (slots[token] < 0) return;
    auto const slot = static_cast<std::size_t>(slots[token]), page = slot / page_tokens;
    std::array<std::byte, head_dim> codes;
    format.encode(key, codes.data());
    for (std::size_t dim = 0; dim < head_dim; ++dim)
      first[((page * heads + head) * head_dim + dim) * page_tokens + slot % page_tokens] =
          codes[dim];
  }
};

}  // namespace

int main() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<bfloat16> k(tokens * heads * head_dim), v(k.size());
  for (auto* const x : {&k, &v})
    for (auto& number : *x) number = bfloat16(normal(random));
  std::vector<std::int64_t> const positions{7, 8, 9, 0, 1, 2}, slots{40, 41, -1, 64, 65, 66};
  posenc::cos_sin_rows const rows(posenc::geometric(head_dim, 1e4), positions);
  auto const format = e4m3::of_scale(0.02f, posenc::e4m3_rounding::towards_zero);
  std::vector<std::byte> k_cache(pages * heads * head_dim * page_tokens), v_cache(k_cache.size());

  heads_view<bfloat16 const> const keys(k.data(), {tokens, heads, head_dim}),
      values(v.data(), {tokens, heads, head_dim});
  posenc::pages_strides const strides{heads * page_tokens * head_dim, head_dim,
                                      page_tokens * head_dim};
  // vLLM rotates in bfloat16 first, in a call of its own.
  posenc::rotate(rows,
                 posenc::rotated<halves>(keys, key_columns{format, k_cache.data(), slots})
                     .round<bfloat16>(posenc::rounding_points::separate_calls()),
                 posenc::unrotated(values, posenc::heads_view(format, v_cache.data(),
                                                              {pages, page_tokens, heads, head_dim},
                                                              strides, slots)));

  // The same in separate calls: rotated to bfloat16, then converted number by number.
  std::vector<bfloat16> rotated(k.size());
  posenc::rotate<halves, halves>(
      keys, heads_view<bfloat16>(rotated.data(), {tokens, heads, head_dim}), rows);
  std::size_t written = 0, different = 0;
  for (std::size_t i = 0; i < k.size(); ++i) {
    auto const token = i / (heads * head_dim), head = i / head_dim % heads, dim = i % head_dim;
    if (slots[token] < 0) continue;
    auto const slot = static_cast<std::size_t>(slots[token]), page = slot / page_tokens,
               within = slot % page_tokens, of_head = page * heads + head;
    std::byte key, value;
    format.encode(std::array{static_cast<float>(rotated[i])}, &key);
    format.encode(std::array{static_cast<float>(v[i])}, &value);
    different += key != k_cache[(of_head * head_dim + dim) * page_tokens + within];
    different += value != v_cache[(of_head * page_tokens + within) * head_dim + dim];
    written += 2;
  }
  std::size_t touched = 0;
  for (auto const* const cache : {&k_cache, &v_cache})
    for (auto const byte : *cache) touched += byte != std::byte{0};
  std::printf(
      "%zu codes of keys in columns and values in rows, written in one call: %zu differ from those "
      "of separate calls; %zu bytes elsewhere were written\n",
      written, different, touched > written ? touched - written : 0);
  return different == 0 && touched <= written && written == heads * head_dim * 5 * 2 ? 0 : 1;
}
