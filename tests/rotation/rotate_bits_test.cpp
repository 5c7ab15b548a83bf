#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "frequency/of_doubles.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"
#include "rotation/either_layout.hpp"
#include "rotation/every_type.hpp"
#include "rotation/placed_heads.hpp"
#include "tolerance.hpp"

namespace {

using posenc::arithmetic_t;
using posenc::cos_sin_rows;
using posenc::frequencies;
using posenc::geometric;
using posenc::halves;
using posenc::heads_view;
using posenc::interleaved;
using posenc::rotary_block;
using posenc::rotate;

// Lengths with columns of registers, registers and tails.
constexpr std::size_t head_dims[] = {2, 18, 64, 72, 130, 520};

TEST(rotate, at_position_0_is_the_identity_bit_for_bit) {
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    for (auto const head_dim : head_dims) {
      placed_heads<T> x({2, 3, head_dim}, arrangement::padded);
      auto const before = x.memory;
      rotate_in(layout, x.view(),
                cos_sin_rows<arithmetic_t<T>>(geometric(head_dim, 1e4), std::vector{0, 0}));
      EXPECT_TRUE(numbers::same_bits(x.memory, before));
    }
  });
}

TEST(rotate, by_the_inverse_gives_back_what_was_there) {
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    for (double const factor : {1.0, 1.25}) {
      auto const rule = geometric(72, 1e4);
      frequencies const f({rule.inv_freq().begin(), rule.inv_freq().end()}, factor);
      cos_sin_rows<arithmetic_t<T>> const rows(f, std::vector<std::int64_t>{1'000'003, -7});
      placed_heads<T> x({2, 3, 80}, arrangement::backwards);
      auto const before = x.memory;
      rotate_in(layout, x.view(), rows, rotary_block::from(5));
      rotate_in(layout, x.view(), rows.inverse(), rotary_block::from(5));
      // The error `once` of the rotation, which the inverse takes over from both numbers of a pair
      // and adds its own to.
      auto const once = tolerance::of_rotated<T>(factor, factor, 2 * factor);
      for (std::size_t i = 0; i < before.size(); ++i)
        EXPECT_NEAR(static_cast<double>(posenc::load(x.memory[i])),
                    static_cast<double>(posenc::load(before[i])), 4 * once);
    }
  });
}

TEST(rotate, gives_the_same_bits_however_tokens_and_heads_are_split) {
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    for (auto const arranged : arrangements) {
      placed_heads<T> whole({6, 5, 74}, arranged), by_tokens = whole, by_heads = whole;
      cos_sin_rows<arithmetic_t<T>> const rows(geometric(72, 1e4),
                                               std::vector{9, 1, 0, 9, -4, 100'000});
      rotate_in(layout, whole.view(), rows, rotary_block::last());
      for (auto const [first, count] : {std::array<std::size_t, 2>{0, 1}, {1, 3}, {4, 2}, {6, 0}})
        rotate_in(layout, by_tokens.view().slice_tokens(first, count),
                  rows.slice_tokens(first, count), rotary_block::last());
      for (auto const [first, count] : {std::array<std::size_t, 2>{0, 2}, {2, 0}, {2, 3}})
        rotate_in(layout, by_heads.view().slice_heads(first, count), rows, rotary_block::last());
      EXPECT_TRUE(numbers::same_bits(by_tokens.memory, whole.memory));
      EXPECT_TRUE(numbers::same_bits(by_heads.memory, whole.memory));
    }
  });
}

TEST(rotate, gives_a_pair_the_same_bits_in_a_register_as_alone) {
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    std::vector const positions{9, 100'000};
    auto const f = of_doubles(geometric(130, 1e4));
    placed_heads<T> whole({2, 3, 130}, arrangement::dense), pair_by_pair = whole;
    rotate_in(layout, whole.view(), cos_sin_rows<arithmetic_t<T>>(f, positions));
    for (std::size_t pair = 0; pair < f.pairs(); ++pair) {
      std::vector<double> one(f.pairs(), 0);
      one[pair] = f.inv_freq()[pair];
      rotate_in(layout, pair_by_pair.view(),
                cos_sin_rows<arithmetic_t<T>>(frequencies(one), positions));
    }
    EXPECT_TRUE(numbers::same_bits(pair_by_pair.memory, whole.memory));
  });
}

TEST(rotate, gives_the_same_bits_in_both_layouts) {
  numbers::in_every_format([]<class T>() {
    for (auto const head_dim : head_dims) {
      auto const pairs = head_dim / 2;
      cos_sin_rows<arithmetic_t<T>> const rows(geometric(head_dim, 1e4), std::vector{9, 100'000});
      placed_heads<T> apart({2, 3, head_dim}, arrangement::dense), side_by_side = apart;
      auto const expect_permuted = [&](auto&& act) {
        for (std::size_t token = 0; token < 2; ++token)
          for (std::size_t head = 0; head < 3; ++head)
            for (std::size_t i = 0; i < pairs; ++i) {
              act(apart.memory[apart.at(token, head, halves::x_index(i, pairs))],
                  side_by_side
                      .memory[side_by_side.at(token, head, interleaved::x_index(i, pairs))]);
              act(apart.memory[apart.at(token, head, halves::y_index(i, pairs))],
                  side_by_side
                      .memory[side_by_side.at(token, head, interleaved::y_index(i, pairs))]);
            }
      };
      expect_permuted([](T const& from, T& to) { to = from; });
      rotate<halves>(apart.view(), rows);
      rotate<interleaved>(side_by_side.view(), rows);
      expect_permuted([](T const& a, T const& b) {
        EXPECT_TRUE(numbers::same_bits(std::vector{a}, std::vector{b}));
      });
    }
  });
}

// Types of others have the bits of posenc's own, in every loop of the kernel: whole heads and
// parts, with all pairs rotated or some.
TEST(rotate, gives_types_of_others_the_bits_of_its_own) {
  in_every_16_bit_type([]<class T>() {
    using own = typename posenc::storage_format<T>::type;
    auto const expect = [](either_layout layout, placed_heads<own> x, frequencies const& f,
                           rotary_block block) {
      cos_sin_rows<float> const rows(f, std::vector{9, -1, 100'000});
      std::vector<T> others(x.memory.size());
      std::memcpy(static_cast<void*>(others.data()), x.memory.data(), others.size() * sizeof(T));
      auto const heads = x.view();
      rotate_in(layout,
                heads_view<T>(others.data() + x.at(0, 0, 0), heads.shape(), heads.strides()), rows,
                block);
      rotate_in(layout, heads, rows, block);
      return std::memcmp(others.data(), x.memory.data(), others.size() * sizeof(T)) == 0;
    };
    for (auto const layout : {either_layout::halves, either_layout::interleaved})
      for (std::size_t pairs = 1; pairs <= 260; pairs += pairs < 70 ? 1 : 5) {
        auto const arranged = arrangements[pairs % 4];
        auto const all = geometric(2 * pairs, 1e4), some = posenc::truncated(all, 0.6);
        EXPECT_TRUE(
            expect(layout, {{3, 2, 2 * pairs}, arranged, pairs % 16}, all, rotary_block::first()))
            << pairs << " pairs";
        EXPECT_TRUE(expect(layout, {{3, 2, 2 * pairs + 5}, arranged, pairs % 16}, some,
                           rotary_block::from(pairs % 6)))
            << pairs << " pairs and more";
      }
  });
}

TEST(rotate, of_no_tokens_or_heads_does_nothing) {
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    auto const f = geometric(8, 1e4);
    rotate_in(layout, heads_view<T>(nullptr, {0, 4, 8}),
              cos_sin_rows<arithmetic_t<T>>(f, std::vector<int>{}));
    rotate_in(layout, heads_view<T>(nullptr, {3, 0, 8}),
              cos_sin_rows<arithmetic_t<T>>(f, std::vector{1, 2, 3}), rotary_block::last());
  });
}

TEST(rotate, of_a_single_head_never_takes_a_step) {
  auto const before = numbers::random<float>(8);
  auto heads = before;
  cos_sin_rows const rows(geometric(8, 1e4), std::vector{5});
  rotate<halves>(heads_view<float>(heads.data(), {1, 1, 8}), rows);
  constexpr auto most = std::numeric_limits<std::ptrdiff_t>::max();
  for (auto const stride : {most, most / 8 + 1, -(most / 8 + 1)}) {
    auto same = before;
    rotate<halves>(heads_view<float>(same.data(), {1, 1, 8}, {stride, stride}), rows);
    EXPECT_TRUE(numbers::same_bits(same, heads)) << stride;
  }
}

TEST(rotate, spreads_a_nan_to_its_pair_and_no_farther) {
#if defined(__FAST_MATH__)
  GTEST_SKIP() << "-ffast-math promises nothing of NaN";
#endif
  in_every_format_and_either_layout([]<class T>(either_layout layout) {
    for (std::size_t pair = 0; pair < 65; ++pair) {
      placed_heads<T> x({1, 2, 130}, arrangement::dense), clean = x;
      posenc::store(x.memory[x.at(0, 1, y_index(layout, pair, 65))],
                    static_cast<arithmetic_t<T>>(not_a_number()));
      cos_sin_rows<arithmetic_t<T>> const rows(geometric(130, 1e4), std::vector{5});
      rotate_in(layout, x.view(), rows);
      rotate_in(layout, clean.view(), rows);
      for (auto const dim : {x_index(layout, pair, 65), y_index(layout, pair, 65)}) {
        auto const at = x.at(0, 1, dim);
        EXPECT_FALSE(posenc::is_finite(static_cast<double>(posenc::load(x.memory[at])))) << dim;
        clean.memory[at] = x.memory[at];
      }
      EXPECT_TRUE(numbers::same_bits(x.memory, clean.memory));
    }
  });
}

template <class T>
void expect_refused(std::vector<int> const& positions, std::size_t rotary_dim, rotary_block block,
                    std::string const& message) {
  placed_heads<T> x({3, 2, 16}, arrangement::padded);
  auto const before = x.memory;
  cos_sin_rows<arithmetic_t<T>> const rows(geometric(rotary_dim, 1e4), positions);
  EXPECT_EQ(message_of([&] { rotate<halves>(x.view(), rows, block); }), message);
  EXPECT_EQ(message_of([&] { rotate<interleaved>(x.view(), rows, block); }), message);
  EXPECT_TRUE(numbers::same_bits(x.memory, before));
}

TEST(rotate, refuses_rows_that_do_not_fit_and_changes_nothing) {
  numbers::in_every_format([]<class T>() {
    auto const first = rotary_block::first();
    expect_refused<T>({1, 2}, 16, first,
                      "posenc: rotate: there must be one row per token, got 2 rows for 3 tokens");
    expect_refused<T>({1, 2, 3, 4}, 16, first,
                      "posenc: rotate: there must be one row per token, got 4 rows for 3 tokens");
    expect_refused<T>({}, 16, first,
                      "posenc: rotate: there must be one row per token, got 0 rows for 3 tokens");
    std::string const must =
        "posenc: rotary_block: the rotary block must lie within the head, got dims ";
    expect_refused<T>({1, 2, 3}, 18, first, must + "0 to 18 of head_dim 16");
    expect_refused<T>({1, 2, 3}, 18, rotary_block::last(), must + "0 to 18 of head_dim 16");
    expect_refused<T>({1, 2, 3}, 12, rotary_block::from(5), must + "5 to 17 of head_dim 16");
  });
}

TEST(rotate, refuses_rows_that_do_not_fit_a_view_of_nothing) {
  auto const f = geometric(8, 1e4);
  EXPECT_NE(
      message_of([&] {
        rotate<halves>(heads_view<float>(nullptr, {0, 4, 8}), cos_sin_rows(f, std::vector{1}));
      }),
      "");
  EXPECT_NE(
      message_of([&] {
        rotate<halves>(heads_view<float>(nullptr, {1, 0, 6}), cos_sin_rows(f, std::vector{1}));
      }),
      "");
}

}  // namespace
