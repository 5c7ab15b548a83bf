// Numbers whose results are subnormal or not, of all sizes: subnormal ones are kept, though the
// CPU's own rounding flushes them.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "posenc/frequency/frequencies.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/simd/lanes.hpp"

namespace {

using posenc::bfloat16;
using posenc::halves;
using posenc::interleaved;
using alone = posenc::detail::one_lane<float>;

// Three groups of 32 pairs, the last of which overlaps the one before.
constexpr std::size_t most_pairs = 83;

constexpr std::size_t numbers_of_pairs[] = {1,  7,  15, 16, 17,  31,  32,  33,  63, 64,
                                            65, 95, 96, 97, 128, 160, 177, 256, 300};

// 0, or in magnitude at least 2^-63; below that; and cosines and sines, 0 or at least 2^-33; below.
constexpr std::array<std::uint16_t, 11> large_words{0x0000, 0x8000, 0x2000, 0x2001, 0xa000, 0xa001,
                                                    0x207f, 0x2080, 0x3f80, 0xbf81, 0x7f7f};
constexpr std::array<std::uint16_t, 8> small_words{0x1fff, 0x9fff, 0x0001, 0x8001,
                                                   0x007f, 0x0080, 0x1000, 0x9f80};
constexpr std::array large_turns{0.0f,     -0.0f,           0x1p-33f,        -0x1p-33f,
                                 0x1.8p0f, 0x1.000002p-33f, 0x1.020002p-33f, -0x1.020002p-33f,
                                 1.0f,     -0x1.fffffep-1f, 0x1.6a09e6p-1f};
constexpr std::array small_turns{0x1.fffffep-34f, -0x1p-60f, 0x1p-126f, -0x1p-149f};

struct problem {
  static constexpr std::size_t heads = 3;
  std::size_t pairs;
  std::vector<float> cos_sin = std::vector<float>(2 * pairs);
  std::vector<bfloat16> x = std::vector<bfloat16>(heads * pairs), y = x;
};

problem of_large(std::minstd_rand& random, std::size_t pairs = most_pairs) {
  problem p{pairs};
  for (auto& turn : p.cos_sin) turn = large_turns[random() % large_turns.size()];
  for (auto* numbers : {&p.x, &p.y})
    for (auto& number : *numbers)
      number = bfloat16::from_bits(large_words[random() % large_words.size()]);
  return p;
}

template <class Layout>
std::vector<bfloat16> rotated(problem const& p, bool one_by_one = false) {
  auto const pairs = p.pairs, head_dim = 2 * pairs;
  std::vector<bfloat16> all(p.heads * head_dim);
  for (std::size_t i = 0; i < p.heads * pairs; ++i) {
    auto* const head = all.data() + i / pairs * head_dim;
    head[Layout::x_index(i % pairs, pairs)] = p.x[i];
    head[Layout::y_index(i % pairs, pairs)] = p.y[i];
  }
  std::vector<posenc::pair_range> const everything{{0, pairs}};
  posenc::cos_sin_view<float> const row(p.cos_sin.data(), 1, pairs, everything);
  posenc::heads_view const heads(all.data(), {1, p.heads, head_dim});
  if (!one_by_one) posenc::rotate<Layout>(heads, row);
  for (std::size_t head = 0; one_by_one && head < p.heads; ++head)
    posenc::rotate<Layout>(heads.slice_heads(head, 1), row);
  return all;
}

template <class Layout>
void expect_exact(problem const& p, bool one_by_one) {
  auto const all = rotated<Layout>(p, one_by_one);
  auto const pairs = p.pairs;
  for (std::size_t i = 0; i < p.heads * pairs; ++i) {
    auto const x = static_cast<float>(p.x[i]), y = static_cast<float>(p.y[i]);
    auto const c = p.cos_sin[i % pairs], s = p.cos_sin[pairs + i % pairs];
    bfloat16 const of_x(alone::multiply_subtract(x, c, y * s)),
        of_y(alone::multiply_add(y, c, x * s));
    auto const* const head = all.data() + i / pairs * 2 * pairs;
    ASSERT_EQ(head[Layout::x_index(i % pairs, pairs)].bits, of_x.bits) << x << ' ' << y << ' ' << i;
    ASSERT_EQ(head[Layout::y_index(i % pairs, pairs)].bits, of_y.bits) << x << ' ' << y << ' ' << i;
  }
}

#if defined(__ARM_NEON) && !defined(__aarch64__)
constexpr bool flushes = true;  // NEON of 32-bit ARM takes subnormal numbers for 0
#else
constexpr bool flushes = false;
#endif

void expect_exact_in_both(problem const& p, bool one_by_one = false) {
  expect_exact<halves>(p, one_by_one);
  expect_exact<interleaved>(p, one_by_one);
}

TEST(rotate_bfloat16, is_exact_within_the_bounds) {
  std::minstd_rand random;
  for (int i = 0; i < 200; ++i) expect_exact_in_both(of_large(random));
}

TEST(rotate_bfloat16, is_exact_where_one_number_is_beyond_them) {
  if (flushes) GTEST_SKIP() << "the CPU flushes subnormal numbers";
  std::minstd_rand random;
  for (auto const word : small_words) {
    for (std::size_t i = 0; i < problem::heads * most_pairs; ++i) {
      auto p = of_large(random);
      (random() % 2 == 0 ? p.x : p.y)[i] = bfloat16::from_bits(word);
      expect_exact_in_both(p);
    }
  }
  for (auto const turn : small_turns) {
    for (std::size_t i = 0; i < 2 * most_pairs; ++i) {
      auto p = of_large(random);
      p.cos_sin[i] = turn;
      expect_exact_in_both(p);
    }
  }
}

// Fewer pairs than a register holds; one column of 1 to 4 groups, and several; with and without an
// overlap; blocks. All or some heads hold a tiny number, wherever it is.
TEST(rotate_bfloat16, is_exact_in_every_column) {
  if (flushes) GTEST_SKIP() << "the CPU flushes subnormal numbers";
  std::minstd_rand random;
  for (auto const pairs : numbers_of_pairs) {
    for (bool const one_by_one : {false, true}) {
      for (std::size_t i = 0; i < 30; ++i) {
        auto p = of_large(random, pairs);
        for (std::size_t head = 0; head < problem::heads; ++head) {
          auto const at =
              head * pairs + (i < pairs && i % 2 == 0 ? pairs - 1 - i : random() % pairs);
          auto const word = small_words[random() % small_words.size()];
          if (random() % 3 != 0) (random() % 2 == 0 ? p.x : p.y)[at] = bfloat16::from_bits(word);
        }
        expect_exact_in_both(p, one_by_one);
      }
    }
  }
}

#if defined(__FMA__) && !defined(__FAST_MATH__)  // else products are rounded, or subnormals flushed
// Differences of neighbours: x = 129 u, y = 128 u, c = (2^23 + 1) v, s = (129 2^16 + 1) v.
std::uint16_t smallest_difference(std::uint16_t y, float v) {
  problem p{most_pairs};
  for (std::size_t i = 0; i < most_pairs; ++i)
    p.cos_sin[i] = 0x800001 * v, p.cos_sin[most_pairs + i] = 0x810001 * v;
  for (auto& number : p.y) number = bfloat16::from_bits(y);
  for (auto& number : p.x) number = bfloat16::from_bits(static_cast<std::uint16_t>(y + 1));
  expect_exact_in_both(p);
  auto const bits = rotated<halves>(p)[0].bits;
  EXPECT_EQ(rotated<interleaved>(p)[0].bits, bits);
  return bits;
}

TEST(rotate_bfloat16, keeps_the_smallest_differences) {
  EXPECT_EQ(smallest_difference(0x2000, 0x1p-56f), 0x0080);  // 2^-63 and 2^-33: 2^-126, normal
  EXPECT_EQ(smallest_difference(0x1f80, 0x1p-56f), 0x0040);  // 2^-64
  EXPECT_EQ(smallest_difference(0x2000, 0x1p-57f), 0x0040);  // 2^-34
}
#endif

TEST(rotate_bfloat16, of_subnormal_numbers_alone_is_exact) {
  if (flushes) GTEST_SKIP() << "the CPU flushes subnormal numbers";
  std::minstd_rand random;
  for (int i = 0; i < 100; ++i) {
    auto p = of_large(random);
    for (auto* numbers : {&p.x, &p.y})
      for (auto& number : *numbers)
        number = bfloat16::from_bits(static_cast<std::uint16_t>(random() % 0x100));
    expect_exact_in_both(p);
  }
}

}  // namespace
