#include "posenc/rotation/rotate.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "frequency/of_doubles.hpp"
#include "numbers.hpp"
#include "oracle/rotary.hpp"
#include "oracle/wide.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rotation/either_layout.hpp"
#include "rotation/placed_heads.hpp"
#include "tolerance.hpp"

namespace {

using posenc::arithmetic_t;
using posenc::cos_sin_rows;
using posenc::frequencies;
using posenc::geometric;
using posenc::halves;
using posenc::heads_shape;
using posenc::rotary_block;
using posenc::rotate;

// Whether each rotated number is within its tolerance of the oracle and all others kept their bits.
template <class T>
testing::AssertionResult rotates(either_layout layout, placed_heads<T> x, frequencies const& f,
                                 std::vector<std::int64_t> const& positions, rotary_block block,
                                 std::size_t first_dim) {
  auto const before = x.memory;
  auto const view = x.view();
  rotate_in(layout, view, cos_sin_rows<arithmetic_t<T>>(of_doubles(f), positions), block);
  auto unmoved = x.memory;
  for (std::size_t token = 0; token < view.tokens(); ++token)
    for (std::size_t head = 0; head < view.heads(); ++head) {
      std::vector<double> expected;
      for (std::size_t dim = 0; dim < view.head_dim(); ++dim)
        expected.push_back(static_cast<double>(posenc::load(before[x.at(token, head, dim)])));
      oracle::rotate(expected, f.inv_freq(), static_cast<oracle::wide>(positions[token]),
                     pairing_of(layout), first_dim, f.attention_factor());
      for (std::size_t i = 0; i < f.pairs(); ++i) {
        if (f.inv_freq()[i] == 0 && f.attention_factor() == 1) continue;
        auto const at_x = first_dim + x_index(layout, i, f.pairs()),
                   at_y = first_dim + y_index(layout, i, f.pairs());
        auto const old_x = static_cast<double>(posenc::load(before[x.at(token, head, at_x)]));
        auto const old_y = static_cast<double>(posenc::load(before[x.at(token, head, at_y)]));
        for (auto const dim : {at_x, at_y}) {
          auto const at = x.at(token, head, dim);
          auto const got = static_cast<double>(posenc::load(x.memory[at]));
          if (!(std::abs(got - expected[dim]) <=
                tolerance::of_rotated<T>(old_x, old_y, expected[dim], f.attention_factor())))
            return testing::AssertionFailure()
                   << "token " << token << ", head " << head << ", dim " << dim << " of "
                   << view.head_dim() << ": " << got << ", not " << expected[dim];
          unmoved[at] = before[at];
        }
      }
    }
  return numbers::same_bits(unmoved, before) << ", which should have stayed";
}

// Near and far positions, unordered.
std::vector<std::int64_t> const three_positions{1'000'003, -7, 131'071};

// All even head_dims with tails of every length, and those of models; 520 is four of the widest
// columns and a tail.
std::vector<std::size_t> even_head_dims() {
  std::vector<std::size_t> result;
  for (std::size_t dim = 2; dim <= 72; dim += 2) result.push_back(dim);
  result.insert(result.end(), {96, 128, 256, 520});
  return result;
}

TEST(rotate, turns_whole_heads_wherever_they_lie_and_nothing_else) {
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    for (auto const head_dim : even_head_dims())
      for (auto const arranged : arrangements) {
        auto const misaligned = head_dim / 2 % 16;
        placed_heads<T> const x({3, 2, head_dim}, arranged, misaligned);
        ASSERT_TRUE(rotates<T>(layout, x, geometric(head_dim, 1e4), three_positions,
                               rotary_block::first(), 0));
      }
  });
}

// Every number of registers and columns before every tail, at each misalignment of memory.
TEST(rotate, turns_heads_of_every_length) {
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    for (std::size_t pairs = 37; pairs <= 260; pairs += oracle::wide_cost > 1 ? 7 : 1) {
      placed_heads<T> const x({1, 2, 2 * pairs}, arrangements[pairs % 4], pairs / 4 % 16);
      ASSERT_TRUE((
          rotates<T>(layout, x, geometric(2 * pairs, 1e4), {1'000'003}, rotary_block::first(), 0)));
    }
  });
}

TEST(rotate, turns_the_first_the_last_or_any_dims_and_nothing_else) {
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    for (std::size_t const head_dim : {7u, 33u, 64u, 80u, 147u}) {
      for (std::size_t rotary_dim = 2; rotary_dim <= head_dim;
           rotary_dim += rotary_dim < 12 ? 2 : 22) {
        auto const f = geometric(rotary_dim, 1e4);
        auto const rest = head_dim - rotary_dim, middle = rest / 2;
        placed_heads<T> const x({3, 2, head_dim}, arrangements[rest % 4], rest % 3);
        ASSERT_TRUE(rotates<T>(layout, x, f, three_positions, rotary_block::first(), 0));
        ASSERT_TRUE(rotates<T>(layout, x, f, three_positions, rotary_block::last(), rest));
        ASSERT_TRUE(
            (rotates<T>(layout, x, f, three_positions, rotary_block::from(middle), middle)));
      }
    }
  });
}

TEST(rotate, turns_any_number_of_tokens_and_heads) {
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    for (std::size_t tokens = 1; tokens <= 5; ++tokens)
      for (std::size_t heads = 1; heads <= 5; ++heads)
        for (auto const arranged : arrangements) {
          std::vector<std::int64_t> positions(tokens, 5);
          positions[tokens / 2] = -3;
          ASSERT_TRUE(rotates<T>(layout, {{tokens, heads, 36}, arranged}, geometric(36, 1e4),
                                 positions, rotary_block::first(), 0));
        }
  });
}

// Frequencies, some of them 0.
std::vector<frequencies> with_standing_pairs() {
  auto const unrotated = [](std::size_t pairs, auto const& is_unrotated) {
    auto const all = geometric(2 * pairs, 1e4);
    std::vector<double> inv_freq(all.inv_freq().begin(), all.inv_freq().end());
    for (std::size_t i = 0; i < pairs; ++i)
      if (is_unrotated(i)) inv_freq[i] = 0;
    return frequencies(inv_freq);
  };
  std::vector<frequencies> result{posenc::truncated(geometric(512, 1e6), 0.25),
                                  posenc::truncated(geometric(100, 1e4), 0.58),
                                  posenc::truncated(geometric(64, 1e4), 0)};
  for (std::size_t const pairs : {3u, 33u, 131u}) {
    result.push_back(unrotated(pairs, [](std::size_t i) { return i == 0; }));
    result.push_back(unrotated(pairs, [](std::size_t i) { return i % 2 == 0; }));
    result.push_back(unrotated(pairs, [](std::size_t i) { return i % 19 == 11; }));
    result.push_back(
        unrotated(pairs, [=](std::size_t i) { return i > pairs / 4 && i < pairs / 2; }));
  }
  return result;
}

// A NaN with all bits set: no arithmetic keeps them, nor the sign of 0.
template <class T>
T full_nan() {
  std::array<unsigned char, sizeof(T)> bytes;
  bytes.fill(0xff);
  return std::bit_cast<T>(bytes);
}

TEST(rotate, leaves_the_bits_of_standing_pairs_alone) {
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    for (auto const& f : with_standing_pairs()) {
      placed_heads<T> x({3, 2, f.rotary_dim() + 3}, arrangement::padded, 1);
      for (std::size_t pair = 0; pair < f.pairs(); ++pair) {
        if (f.inv_freq()[pair] != 0) continue;
        for (std::size_t token = 0; token < 3; ++token) {
          x.memory[x.at(token, 0, x_index(layout, pair, f.pairs()))] = full_nan<T>();
          posenc::store(x.memory[x.at(token, 1, y_index(layout, pair, f.pairs()))],
                        arithmetic_t<T>(-0.0));
        }
      }
      ASSERT_TRUE(rotates<T>(layout, x, f, three_positions, rotary_block::first(), 0));
    }
  });
}

TEST(rotate, multiplies_by_the_attention_factor_the_standing_pairs_too) {
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    frequencies const f({1, 0.5, 0, 0.25, 0}, 1.19023807);
    ASSERT_TRUE(rotates<T>(layout, {{3, 2, 16}, arrangement::padded}, f, three_positions,
                           rotary_block::last(), 6));
  });
}

TEST(rotate, with_p_rope_leaves_the_tail_of_each_half_alone_and_no_suffix) {
  auto const f = posenc::truncated(geometric(128, 1e4), 0.25);
  std::size_t const kept = 16, pairs = 64;
  placed_heads<float> x({1, 1, 128}, arrangement::dense);
  auto const before = x.memory;
  rotate<halves>(x.view(), cos_sin_rows(f, std::vector{1}));
  for (std::size_t dim = 0; dim < 128; ++dim)
    EXPECT_EQ(x.memory[x.at(0, 0, dim)] != before[x.at(0, 0, dim)], dim % pairs < kept)
        << "a port to the first 32 dims turns " << dim;
}

}  // namespace
