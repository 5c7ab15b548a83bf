// An engine's fused op, in ten lines: norms queries and keys and rotates them where they lie, with
// its own cache of cosines and sines. The arguments are those of SGLang's op for CPUs: query, key,
// norm weights, eps, is_neox, position ids, cos_sin_cache. 16-bit tensors are words, as a torch
// tensor's memory is; query and key are parts of one buffer, as a fused projection leaves them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_cache.hpp"

namespace {

using posenc::as, posenc::bfloat16, posenc::heads_view, posenc::rotated;
using words = heads_view<as<bfloat16>>;

void norm_and_rotate(words query, words key, std::span<float const> q_weight,
                     std::span<float const> k_weight, float eps, bool is_neox,
                     std::span<std::int64_t const> position_ids,
                     posenc::cos_sin_cache<float> const& cos_sin_cache) {
  thread_local std::vector<float> memory;
  memory.resize(position_ids.size() * cos_sin_cache.rotary_dim());
  auto const rows = cos_sin_cache.write(position_ids, memory.data());
  auto const rotate_pairs = [&]<class Layout>(Layout) {
    posenc::rotate(rows, rotated<Layout>(query).norm({q_weight, eps}),
                   rotated<Layout>(key).norm({k_weight, eps}));
  };
  is_neox ? rotate_pairs(posenc::halves{}) : rotate_pairs(posenc::interleaved{});
}

constexpr std::size_t tokens = 5, q_heads = 6, k_heads = 2, head_dim = 128, rotary_dim = 64,
                      all_heads = q_heads + 2 * k_heads, max_position = 4096;
constexpr float eps = 1e-6f;

// The same for one head, as a plain loop in double.
std::vector<double> plain(std::uint16_t const* head, std::vector<float> const& weight, bool is_neox,
                          float const* cos_sin) {
  std::vector<double> x(head_dim);
  double sum = 0;
  for (std::size_t i = 0; i < head_dim; ++i) {
    x[i] = static_cast<double>(static_cast<float>(bfloat16::from_bits(head[i])));
    sum += x[i] * x[i];
  }
  auto const gain = 1 / std::sqrt(sum / head_dim + static_cast<double>(eps));
  for (std::size_t i = 0; i < head_dim; ++i) x[i] *= gain * static_cast<double>(weight[i]);
  for (std::size_t i = 0; i < rotary_dim / 2; ++i) {
    auto& a = x[is_neox ? i : 2 * i];
    auto& b = x[is_neox ? i + rotary_dim / 2 : 2 * i + 1];
    auto const c = static_cast<double>(cos_sin[i]),
               s = static_cast<double>(cos_sin[i + rotary_dim / 2]);
    auto const rotated = a * c - b * s;
    b = a * s + b * c, a = rotated;
  }
  return x;
}

// The largest difference, in units of what storing as bfloat16 may round away.
double largest_error(bool is_neox) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> qkv(tokens * all_heads * head_dim);
  std::ranges::generate(qkv, [&] { return bfloat16(normal(random)).bits; });
  std::vector<float> q_weight(head_dim), k_weight(head_dim), cache(max_position * rotary_dim);
  for (auto* const w : {&q_weight, &k_weight})
    std::ranges::generate(*w, [&] { return normal(random); });
  for (std::size_t i = 0; i < cache.size(); ++i) {
    auto const pair = i % (rotary_dim / 2), position = i / rotary_dim;
    auto const angle = static_cast<double>(position) *
                       std::pow(1e4, -2.0 * static_cast<double>(pair) / rotary_dim);
    cache[i] =
        static_cast<float>(i % rotary_dim < rotary_dim / 2 ? std::cos(angle) : std::sin(angle));
  }
  std::vector<std::int64_t> const position_ids{0, 17, 4095, 1, 17};

  auto const before = qkv;
  posenc::heads_strides const strides{all_heads * head_dim, head_dim};
  norm_and_rotate(words(qkv.data(), {tokens, q_heads, head_dim}, strides),
                  words(qkv.data() + q_heads * head_dim, {tokens, k_heads, head_dim}, strides),
                  q_weight, k_weight, eps, is_neox, position_ids,
                  {cache.data(), {.positions = max_position, .rotary_dim = rotary_dim}});

  double largest = 0;
  for (std::size_t row = 0; row < tokens * all_heads; ++row) {
    auto const token = row / all_heads, head = row % all_heads;
    auto const* const now = qkv.data() + row * head_dim;
    auto const* const was = before.data() + row * head_dim;
    if (head >= q_heads + k_heads) {  // values
      if (!std::equal(now, now + head_dim, was)) return 1e9;
      continue;
    }
    auto const expected =
        plain(was, head < q_heads ? q_weight : k_weight, is_neox,
              cache.data() + static_cast<std::size_t>(position_ids[token]) * rotary_dim);
    for (std::size_t i = 0; i < head_dim; ++i) {
      auto const is = static_cast<double>(static_cast<float>(bfloat16::from_bits(now[i])));
      // The arithmetic is in float: at most 128 roundings of what is below 64.
      auto const allowed = std::abs(expected[i]) * 0x1p-8 + 64 * 128 * 0x1p-24;
      largest = std::max(largest, std::abs(is - expected[i]) / allowed);
    }
  }
  return largest;
}

}  // namespace

int main() {
  auto const halves = largest_error(true), interleaved = largest_error(false);
  std::printf(
      "norm, rotation and way through memory in one pass, over bfloat16 in words: "
      "error %.2f (halves) and %.2f (interleaved) of the rounding\n",
      halves, interleaved);
  return halves <= 1 && interleaved <= 1 && std::fflush(stdout) == 0 ? 0 : 1;
}
