// The cases of the kernel: types, layouts, pairs that are not rotated, tails, memory beyond the
// cache.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#include "core/own_storage.hpp"
#include "frequency/of_doubles.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "rotation/either_layout.hpp"
#include "rotation/every_type.hpp"
#include "rotation/placed_heads.hpp"

namespace {

using posenc::arithmetic_t;
using posenc::bfloat16;
using posenc::cos_sin_rows;
using posenc::frequencies;
using posenc::geometric;
using posenc::half;
using posenc::halves;
using posenc::interleaved;
using posenc::rotary_block;
using posenc::rotate;
using posenc::rotated;

frequencies with_every_third_pair_standing(std::size_t pairs) {
  auto const all = geometric(2 * pairs, 1e4);
  std::vector<double> inv_freq(all.inv_freq().begin(), all.inv_freq().end());
  for (std::size_t i = 1; i < pairs; i += 3) inv_freq[i] = 0;
  return frequencies(inv_freq);
}

// Blocks of few and many pairs, with all of them rotated, or some, or the first ones; with a
// factor.
std::vector<frequencies> rules() {
  std::vector<frequencies> result{
      geometric(2, 1e4), of_doubles(geometric(36, 1e4)), of_doubles(geometric(130, 1e4)),
      with_every_third_pair_standing(47), posenc::truncated(of_doubles(geometric(160, 1e4)), 0.25)};
  auto const f = geometric(42, 1e4);
  result.emplace_back(std::vector<double>(f.inv_freq().begin(), f.inv_freq().end()), 1.19023807);
  return result;
}

/// A rotation from one place to another, in two layouts; so that its test is compiled once for all.
template <class S, class T>
struct rotation_elsewhere {
  either_layout from, to;
  void (*rotate)(posenc::heads_view<S> const&, posenc::heads_view<T> const&,
                 cos_sin_rows<arithmetic_t<T>> const&, rotary_block);
};

template <class S, class T>
testing::AssertionResult carries_elsewhere(rotation_elsewhere<S, T> const& elsewhere,
                                           frequencies const& f, std::size_t rest, arrangement from,
                                           arrangement to, std::size_t misaligned) {
  auto const head_dim = f.rotary_dim() + rest;
  placed_heads<S> source({2, 3, head_dim}, from, misaligned, 1);
  placed_heads<T> target({2, 3, head_dim}, to, 15 - misaligned, 2);
  for (auto const block :
       {rotary_block::first(), rotary_block::last(), rotary_block::from(rest / 2)}) {
    auto const read = source.memory;
    auto const before = target.memory;
    elsewhere.rotate(source.view(), target.view(), cos_sin_rows<arithmetic_t<T>>(f, two_positions),
                     block);
    if (auto const same = numbers::same_bits(source.memory, read); !same)
      return testing::AssertionFailure() << "the source changed: " << same.message();
    if (auto const right = are_treated(elsewhere.from, elsewhere.to, source, target, before,
                                       two_positions, {f, block});
        !right)
      return right;
  }
  return testing::AssertionSuccess();
}

template <class S, class T>
void expect_carries(rotation_elsewhere<S, T> const& elsewhere) {
  std::size_t i = 0;
  for (auto const& f : rules())
    for (std::size_t const rest : {0u, 5u, 37u}) {
      auto const from = arrangements[i % 4], to = arrangements[i / 4 % 4];
      ASSERT_TRUE(carries_elsewhere(elsewhere, f, rest, from, to, i % 16)) << "rule and rest " << i;
      i += 7;
    }
}

template <class From, class To, class S, class T>
void expect_carries_elsewhere() {
  expect_carries<S, T>({number_of(From()), number_of(To()),
                        [](auto const& source, auto const& target, auto const& rows,
                           rotary_block block) { rotate<From, To>(source, target, rows, block); }});
}

// Each pair of types is a kernel of its own, so each is compiled in one layout; every type is read
// and written in each.
TEST(rotate, goes_from_every_type_to_every_other_of_its_arithmetic) {
  auto const from = []<class S>(std::type_identity<S>) {
    expect_carries_elsewhere<halves, halves, S, float>();
    expect_carries_elsewhere<halves, halves, S, half>();
    expect_carries_elsewhere<halves, halves, S, bfloat16>();
  };
  from(std::type_identity<float>());
  from(std::type_identity<half>());
  from(std::type_identity<bfloat16>());
  expect_carries_elsewhere<halves, halves, engine::brain_float, half>();
  expect_carries_elsewhere<halves, halves, double, double>();
  expect_carries_elsewhere<interleaved, interleaved, float, half>();
  expect_carries_elsewhere<interleaved, interleaved, bfloat16, half>();
  expect_carries_elsewhere<interleaved, interleaved, half, float>();
  expect_carries_elsewhere<interleaved, interleaved, float, bfloat16>();
  expect_carries_elsewhere<interleaved, interleaved, double, double>();
}

TEST(rotate, goes_from_either_layout_to_the_other) {
  auto const both_ways = []<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    expect_carries_elsewhere<halves, interleaved, S, T>();
    expect_carries_elsewhere<interleaved, halves, S, T>();
  };
  both_ways(std::type_identity<float>(), std::type_identity<float>());
  both_ways(std::type_identity<float>(), std::type_identity<bfloat16>());
  both_ways(std::type_identity<bfloat16>(), std::type_identity<half>());
  both_ways(std::type_identity<double>(), std::type_identity<double>());
}

TEST(rotate, goes_elsewhere_with_the_bits_that_it_has_in_place) {
  in_every_format_and_a_layout([]<class T, class Layout>() {
    for (auto const& f : rules()) {
      placed_heads<T> in_place({2, 3, f.rotary_dim() + 5}, arrangement::padded, 3),
          elsewhere = in_place;
      auto const source = in_place;
      std::vector<T> copy(2 * 3 * (f.rotary_dim() + 5));
      posenc::heads_view<T> const target(copy.data(), {2, 3, f.rotary_dim() + 5});
      cos_sin_rows<arithmetic_t<T>> const rows(f, two_positions);
      rotate<Layout>(in_place.view(), rows, rotary_block::from(2));
      rotate<Layout>(elsewhere.view(), elsewhere.view(), rows,
                     rotary_block::from(2));  // onto itself
      EXPECT_TRUE(numbers::same_bits(elsewhere.memory, in_place.memory));
      elsewhere = source;
      rotate<Layout>(posenc::heads_view<T const>(elsewhere.view()), target, rows,
                     rotary_block::from(2));
      EXPECT_TRUE(numbers::same_bits(elsewhere.memory, source.memory));
      for (std::size_t token = 0; token < 2; ++token)
        for (std::size_t head = 0; head < 3; ++head)
          EXPECT_TRUE(numbers::same_bits(
              std::vector<T>(target(token, head).begin(), target(token, head).end()),
              std::vector<T>(in_place.view()(token, head).begin(),
                             in_place.view()(token, head).end())));
    }
  });
}

// The same tokens, all at once (more than the cache holds) and one by one. in_place may be null.
template <class S, class T>
void expect_prefill_equals_decode(
    std::size_t heads, std::size_t head_dim, std::size_t rotary_dim,
    std::function<void(posenc::heads_view<S const>, posenc::heads_view<T>,
                       posenc::cos_sin_view<arithmetic_t<T>>)> const& go,
    std::function<void(posenc::heads_view<S>, posenc::cos_sin_view<arithmetic_t<T>>)> const&
        in_place) {
  auto const least = std::size_t{1} << 20;  // bytes
  auto const tokens = least / (heads * rotary_dim * sizeof(S)) + 2;
  std::vector<std::int64_t> positions(tokens);
  for (std::size_t t = 0; t < tokens; ++t) positions[t] = static_cast<std::int64_t>(t % 61);
  cos_sin_rows<arithmetic_t<T>> const rows(geometric(rotary_dim, 1e4), positions);
  auto const source = numbers::random<S>(tokens * heads * head_dim);
  std::vector<T> whole(source.size()), by_tokens(source.size()), by_heads(source.size());
  posenc::heads_shape const shape{tokens, heads, head_dim};
  posenc::heads_view const from(source.data(), shape);
  go(from, {whole.data(), shape}, rows.view());
  posenc::heads_view const to(by_tokens.data(), shape);
  for (std::size_t t = 0; t < tokens; ++t)
    go(from.slice_tokens(t, 1), to.slice_tokens(t, 1), rows.slice_tokens(t, 1));
  EXPECT_TRUE(numbers::same_bits(by_tokens, whole));
  posenc::heads_view const to_heads(by_heads.data(), shape);
  go(from.slice_heads(0, 2), to_heads.slice_heads(0, 2), rows.view()),
      go(from.slice_heads(2, heads - 2), to_heads.slice_heads(2, heads - 2), rows.view());
  EXPECT_TRUE(numbers::same_bits(by_heads, whole));
  if constexpr (std::same_as<S, T>) {
    if (in_place == nullptr) return;
    auto changed = source;
    in_place({changed.data(), shape}, rows.view());
    EXPECT_TRUE(numbers::same_bits(changed, whole));
  }
}
template <class From, class To, class S, class T>
void expect_prefill_equals_decode(std::size_t heads, std::size_t head_dim, std::size_t rotary_dim,
                                  auto const& treated) {
  std::function<void(posenc::heads_view<S>, posenc::cos_sin_view<arithmetic_t<T>>)> in_place;
  if constexpr (std::same_as<From, To> && std::same_as<S, T>)
    in_place = [&](auto const& x, auto const& rows) {
      posenc::rotate(rows, treated(rotated<From>(x)));
    };
  expect_prefill_equals_decode<S, T>(
      heads, head_dim, rotary_dim,
      [&](auto const& from, auto const& to, auto const& rows) {
        posenc::rotate(rows, treated(rotated<From, To>(from, to)));
      },
      in_place);
}

// One column of pairs, and several, with a tail.
TEST(rotate, beyond_the_cache_gives_each_token_the_bits_that_it_has_alone) {
  auto const plainly = [](auto const& r) { return r; };
  in_every_format_and_layout([&]<class T, class Layout>() {
    expect_prefill_equals_decode<Layout, Layout, T, T>(7, 72, 72, plainly);
    expect_prefill_equals_decode<Layout, Layout, T, T>(9, 617, 614, plainly);
  });
  expect_prefill_equals_decode<halves, interleaved, float, bfloat16>(5, 614, 614, plainly);
  expect_prefill_equals_decode<interleaved, halves, bfloat16, half>(5, 614, 614, plainly);
}

TEST(rotate, beyond_the_cache_norms_and_scales_each_token_as_alone) {
  numbers::in_every_format([]<class T>() {
    std::vector<arithmetic_t<T>> const weight = numbers::random<arithmetic_t<T>>(614);
    auto const fused = [&](auto const& r) {
      return r.norm({weight, arithmetic_t<T>(1e-6)}).scale(arithmetic_t<T>(0.125));
    };
    expect_prefill_equals_decode<halves, halves, T, T>(67, 614, 600, fused);
    expect_prefill_equals_decode<interleaved, interleaved, T, T>(3, 614, 614, fused);
  });
}

// Numbers of every kind, in registers of one kind and mixed ones; rotated; with all pairs but two
// not rotated; rotated by position 0.
template <class S>
std::vector<S> of_every_kind(std::size_t count) {
  std::vector<float> const kinds{1.f,         -1.f,          0.f,          -0.f,
                                 0x1p-126f,   -0x1p-126f,    0x1p-127f,    -0x1.8p-130f,
                                 0x1p-149f,   0x1.fep-127f,  0x1.01p-126f, 0x1.ffp-127f,
                                 0x1p-133f,   0x1.8p-134f,   0x1p-134f,    -0x1.02p-134f,
                                 0x1.ffp127f, -0x1.fefp127f, 65504.f,      65520.f,
                                 0x1p-14f,    0x1p-24f,      0x1p-25f,     0x1.8p-25f,
                                 1.00390625f, 1.01171875f,   -1.00390637f, 3.f};
  std::vector<S> result(count);
  std::uint64_t bits = 1;
  for (std::size_t i = 0; i < count; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    auto const any = kinds[static_cast<std::size_t>(bits >> 40) % kinds.size()];
    posenc::store(result[i], i / 64 % 3 == 0 ? any : (bits >> 33) % 16 == 0 ? any : 1.5f);
  }
  return result;
}

// The instruction that rounds to bfloat16 flushes subnormals to zero; the kernel must not.
TEST(rotate, rounds_subnormals_and_zeros_as_it_does_other_numbers) {
#if defined(__arm__)
  GTEST_SKIP() << "NEON of 32-bit ARM takes subnormal numbers for 0";
#endif
  auto const from_to = []<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    std::size_t const head_dim = 192, heads = 64;
    auto const source = of_every_kind<S>(head_dim * heads);
    std::vector<T> expected(source.size());
    for (std::size_t i = 0; i < source.size(); ++i)
      posenc::store(expected[i], posenc::load(source[i]));
    auto const expect = [&]<class From, class To>(From, To, frequencies const& f, auto&& treated) {
      std::vector<T> target(source.size());
      posenc::heads_view const to(target.data(), {1, heads, head_dim});
      posenc::rotate(
          cos_sin_rows(f, std::vector{0}),
          treated(rotated<From, To>(posenc::heads_view(source.data(), {1, heads, head_dim}), to)));
      std::vector<T> as_before(target.size());
      for (std::size_t head = 0; head < heads; ++head)
        for (std::size_t i = 0; i < head_dim / 2; ++i) {
          auto const at = head * head_dim;
          as_before[at + From::x_index(i, head_dim / 2)] =
              target[at + To::x_index(i, head_dim / 2)];
          as_before[at + From::y_index(i, head_dim / 2)] =
              target[at + To::y_index(i, head_dim / 2)];
        }
      EXPECT_TRUE(numbers::same_bits(as_before, expected));
    };
    auto const plainly = [](auto const& r) { return r; };
    auto const times_1 = [](auto const& r) { return r.scale(1); };
    auto const unrotated = frequencies(std::vector<double>(head_dim / 2));
    expect(halves(), halves(), unrotated, plainly);
    expect(halves(), interleaved(), unrotated, plainly);
    expect(interleaved(), halves(), unrotated, plainly);
    expect(interleaved(), interleaved(), unrotated, plainly);
    expect(halves(), halves(), unrotated, times_1);
    expect(interleaved(), interleaved(), unrotated, times_1);
  };
#if defined(__FAST_MATH__) || defined(__arm__)
  GTEST_SKIP() << "-ffast-math links code that has the CPU flush subnormals, as NEON of 32-bit ARM "
                  "always does";
#endif
  from_to(std::type_identity<float>(), std::type_identity<bfloat16>());
  from_to(std::type_identity<bfloat16>(), std::type_identity<bfloat16>());
  from_to(std::type_identity<bfloat16>(), std::type_identity<half>());
}

// Each pair rotated by itself.
template <class Layout, class T>
std::vector<T> pair_by_pair(std::vector<T> const& from, posenc::heads_shape const& shape,
                            posenc::cos_sin_view<float> const& rows) {
  std::vector<T> result(from.size());
  auto const pairs = shape.head_dim / 2;
  for (std::size_t head = 0; head < shape.tokens * shape.heads; ++head) {
    auto const cos = rows.cos(head / shape.heads), sin = rows.sin(head / shape.heads);
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const at_x = head * shape.head_dim + Layout::x_index(i, pairs),
                 at_y = head * shape.head_dim + Layout::y_index(i, pairs);
      auto const x = posenc::load(from[at_x]), y = posenc::load(from[at_y]);
      posenc::store(result[at_x], posenc::detail::multiply_add(x, cos[i], -(y * sin[i])));
      posenc::store(result[at_y], posenc::detail::multiply_add(y, cos[i], x * sin[i]));
    }
  }
  return result;
}

// The bits of a rotated pair do not depend on its neighbours, though the register of a tail, or a
// whole column, is rounded at once.
TEST(rotate, gives_a_pair_the_same_bits_beside_subnormals_as_beside_others) {
#if defined(__FAST_MATH__) || defined(__arm__)
  GTEST_SKIP() << "-ffast-math links code that has the CPU flush subnormals, as NEON of 32-bit ARM "
                  "always does";
#endif
  auto const in = []<class T, class Layout>(std::type_identity<T>, Layout) {
    for (std::size_t const head_dim : {18u, 66u, 130u, 520u}) {
      posenc::heads_shape const shape{1, 5, head_dim};
      auto mixed = of_every_kind<T>(head_dim * 5);
      cos_sin_rows const rows(geometric(head_dim, 1e4), std::vector{3});
      auto const alone = pair_by_pair<Layout>(mixed, shape, rows);
      rotate<Layout>(posenc::heads_view(mixed.data(), shape), rows);
      EXPECT_TRUE(numbers::same_bits(mixed, alone));
    }
  };
  in(std::type_identity<half>(), halves()), in(std::type_identity<half>(), interleaved());
  in(std::type_identity<bfloat16>(), halves()), in(std::type_identity<bfloat16>(), interleaved());
}

// In one pair of a head, all results are subnormal: x and y are tiny, or small beside a small
// cosine and sine. It is in any place of any column, in L1 and beyond the cache.
TEST(rotate, gives_a_head_the_same_bits_before_and_behind_a_tiny_pair) {
#if defined(__FAST_MATH__) || defined(__arm__)
  GTEST_SKIP() << "-ffast-math links code that has the CPU flush subnormals, as NEON of 32-bit ARM "
                  "always does";
#endif
  auto const in = []<class Layout>(Layout, posenc::heads_shape const& shape) {
    auto const tokens = shape.tokens, heads = shape.heads, head_dim = shape.head_dim,
               pairs = head_dim / 2;
    std::vector<posenc::pair_range> const all{{0, pairs}};
    auto cos_sin = numbers::random<float>(tokens * head_dim, 2);
    auto x_y = numbers::random<bfloat16>(tokens * heads * head_dim);
    auto const set = [&](std::size_t head, std::size_t pair, float x, float y) {
      auto* const block = &x_y[head * head_dim];
      block[Layout::x_index(pair, pairs)] = bfloat16(x);
      block[Layout::y_index(pair, pairs)] = bfloat16(y);
    };
    for (std::size_t token = 0; token < tokens; ++token) {
      auto const small = 7 * token % pairs;
      bool const has_small = token % 2 == 1;
      if (has_small) {
        cos_sin[token * head_dim + small] = 0x1p-70f;
        cos_sin[token * head_dim + pairs + small] = 0x1p-71f;
      }
      for (auto head = token * heads; head < (token + 1) * heads; ++head) {
        if (has_small) set(head, small, 0x1p-60f, -0x1.8p-60f);
        if (head % 3 != 0) set(head, 5 * head % pairs, 0x1.8p-128f, -0x1.1p-127f);
      }
    }
    posenc::cos_sin_view<float> const rows(cos_sin.data(), tokens, pairs, all);
    auto const alone = pair_by_pair<Layout>(x_y, shape, rows);
    rotate<Layout>(posenc::heads_view(x_y.data(), shape), rows);
    EXPECT_TRUE(numbers::same_bits(x_y, alone)) << tokens << " tokens, head_dim " << head_dim;
  };
  for (posenc::heads_shape const& shape : {posenc::heads_shape{41, 7, 66},
                                           {41, 7, 128},
                                           {41, 7, 144},
                                           {41, 7, 192},
                                           {41, 7, 210},
                                           {41, 7, 256},
                                           {41, 7, 602},
                                           {151, 7, 512}})
    in(halves(), shape), in(interleaved(), shape);
}

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)  // which has one lane
// Two registers stored at once: each kind of numbers beside each other kind.
TEST(lanes, store_two_registers_as_one_lane_does) {
  in_every_16_bit_type([]<class T>() {
    using lanes = posenc::detail::lanes<T>;
    using words = posenc::detail::word_lanes<T>;
    std::vector<float> cases;
    for (std::uint32_t high = 0; high < 65536; ++high)
      for (std::uint32_t const low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
        cases.push_back(float_of_bits(high << 16 | low));
    for (std::uint32_t const beside : {0x3f80'0000u, 0u, 0x8000'0001u}) {
      std::vector<float> const others(lanes::size, float_of_bits(beside));
      T other{};
      posenc::detail::one_lane<T>::store(&other, others[0]);
      auto const is = [](T const& stored, T const& expected) {
        return std::memcmp(&stored, &expected, sizeof(T)) == 0;
      };
      for (std::size_t i = 0; i < cases.size(); i += lanes::size) {
        std::array<T, 2 * lanes::size> in_pairs{}, first{}, second{};
        auto const x = posenc::detail::lanes<float>::load(&cases[i]),
                   y = posenc::detail::lanes<float>::load(others.data());
        lanes::store_pairs(in_pairs.data(), x, y);
        words::store(first.data(), {x, y}), words::store(second.data(), {y, x});
        for (std::size_t j = 0; j < lanes::size; ++j) {
          T alone{};
          posenc::detail::one_lane<T>::store(&alone, cases[i + j]);
          auto const at_x = words::in_order ? j : 2 * j,
                     at_y = words::in_order ? lanes::size + j : 2 * j + 1;
          ASSERT_TRUE(is(in_pairs[2 * j], alone) && is(first[at_x], alone) &&
                      is(second[at_y], alone))
              << cases[i + j];
          ASSERT_TRUE(is(in_pairs[2 * j + 1], other) && is(first[at_y], other) &&
                      is(second[at_x], other))
              << cases[i + j];
        }
      }
    }
  });
}
#endif

TEST(rotate, carries_nan_and_infinity_where_nothing_turns) {
  std::vector<half> source(40), target(40);
  for (std::size_t i = 0; i < 40; ++i)
    source[i] = std::bit_cast<half>(
        static_cast<std::uint16_t>(i % 3 == 0   ? 0xffff
                                   : i % 3 == 1 ? 0x7c00
                                                : 0xfc01));  // NaN, infinity, NaN
  frequencies const f(std::vector<double>{0, 0, 0, 0});
  rotate<interleaved>(posenc::heads_view<half const>(source.data(), {1, 1, 40}),
                      posenc::heads_view<half>(target.data(), {1, 1, 40}),
                      cos_sin_rows(f, std::vector{9}), rotary_block::from(7));
  EXPECT_TRUE(numbers::same_bits(target, source));
}

}  // namespace
