#include "posenc/rotation/hadamard.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "executors.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/rotate_in_tasks.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace of_hadamard { namespace {

using posenc::arithmetic_t;
using posenc::bfloat16;
using posenc::cos_sin_rows;
using posenc::geometric;
using posenc::hadamard;
using posenc::half;
using posenc::halves;
using posenc::heads_view;
using posenc::rotate;
using posenc::rotated;

// Number i of x under H_ij = (-1)^popcount(i & j) / sqrt(n).
double by_matrix(std::vector<double> const& x, std::size_t n, std::size_t i) {
  long double sum = 0;
  for (std::size_t j = 0; j < n; ++j)
    sum += x[i / n * n + j] * (std::popcount(i % n & j) % 2 == 0 ? 1 : -1);
  return static_cast<double>(sum / std::sqrt(static_cast<long double>(n)));
}

// Each number goes through the factor, which is rounded itself, and log2 n sums; partial sums are
// at most sqrt(n) times the largest number.
template <class T>
double tolerance_of(std::size_t n, double largest) {
  using real = arithmetic_t<T>;
  auto const roundings = static_cast<double>(std::bit_width(n)) + 1;
  auto const bound = std::sqrt(static_cast<double>(n)) * largest;
  return bound * roundings * tolerance::unit_roundoff<real>();
}

template <class T>
void multiplies_by_the_matrix(std::size_t head_dim, std::size_t block) {
  SCOPED_TRACE(testing::Message() << "block " << block << " of head_dim " << head_dim);
  std::size_t const heads = head_dim > 600 ? 1 : 3;
  auto x = numbers::random<T>(2 * heads * head_dim);
  auto const n = block == 0 ? head_dim & (0 - head_dim) : block;
  auto const before = numbers::exact(x);
  hadamard(heads_view(x.data(), {2, heads, head_dim}), block);
  auto const result = numbers::exact(x);
  for (std::size_t i = 0; i<x.size(); i += n> 512 ? 7 : 1) {
    auto const expected = by_matrix(before, n, i);
    ASSERT_NEAR(result[i], expected, tolerance_of<T>(n, 1) + tolerance::of_storing<T>(expected))
        << "at " << i;
  }
}

TEST(hadamard, multiplies_each_block_by_the_matrix) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t n = 2; n <= 4096; n *= 2) multiplies_by_the_matrix<T>(n, 0);
    for (std::size_t const head_dim : {6u, 24u, 40u, 80u, 96u, 192u, 576u})
      for (std::size_t block = 0; block <= (head_dim & (0 - head_dim));
           block = std::max<std::size_t>(2 * block, 1))
        multiplies_by_the_matrix<T>(head_dim, block);
    for (std::size_t block = 1; block <= 128; block *= 2) multiplies_by_the_matrix<T>(128, block);
    multiplies_by_the_matrix<T>(5120, 1024);
  });
}

// llama.cpp's, which is Sylvester's; and a head of one dim, worked out by hand.
TEST(hadamard, has_the_values_of_llama_cpp) {
  std::vector<float> x{1, 0.5f, -2, 0.25f};
  hadamard(heads_view(x.data(), {1, 1, 4}));
  EXPECT_EQ(x, (std::vector<float>{-0.125f, -0.875f, 1.625f, 1.375f}));
  std::vector<double> y(16);
  y[5] = 4;
  hadamard(heads_view(y.data(), {1, 1, 16}));
  EXPECT_EQ(y, (std::vector<double>{1, -1, 1, -1, -1, 1, -1, 1, 1, -1, 1, -1, -1, 1, -1, 1}));
}

TEST(hadamard, undoes_itself) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t n = 2; n <= 4096; n *= 2) {
      auto const before = numbers::random<T>(2 * n);
      auto x = before;
      heads_view const heads(x.data(), {2, 1, n});
      hadamard(heads);
      double largest = 1;
      for (auto const number : numbers::exact(x)) largest = std::max(largest, std::abs(number));
      hadamard(heads);
      // The second sums what the first has rounded: sqrt(n) times as much at most.
      auto const first = tolerance_of<T>(n, 1) + tolerance::of_storing<T>(largest);
      auto const tolerance = std::sqrt(static_cast<double>(n)) * first +
                             tolerance_of<T>(n, largest) + tolerance::of_storing<T>(1);
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_NEAR(posenc::load(x[i]), posenc::load(before[i]), tolerance)
            << "at " << i << " of " << n;
    }
  });
}

// Tokens without a slot are not there; a strided view is as a dense one.
TEST(hadamard, takes_views_of_every_kind) {
  auto const dense = [] {
    auto x = numbers::random<bfloat16>(4 * 2 * 48);
    hadamard(heads_view(x.data(), {4, 2, 48}), 8);
    return x;
  }();
  auto x = numbers::random<bfloat16>(4 * 2 * 48);
  // By heads, then by tokens.
  heads_view const by_head(x.data(), {2, 4, 48}, {.token = 48, .head = 96});
  hadamard(by_head.slice_tokens(1, 1), 8);
  hadamard(by_head.slice_tokens(0, 1), 8);
  EXPECT_TRUE(numbers::same_bits(x, dense));

  auto const before = numbers::random<float>(2 * 2 * 3 * 32);
  auto pages = before;
  std::vector<std::int64_t> const slots{3, -1, 0};
  hadamard(
      heads_view(pages.data(), {.pages = 2, .page_tokens = 2, .heads = 3, .head_dim = 32}, slots));
  for (std::size_t slot = 0; slot < 4; ++slot) {
    auto const first = before.begin() + static_cast<std::ptrdiff_t>(slot * 96);
    std::vector<float> expected(first, first + 96);
    if (slot == 0 || slot == 3) hadamard(heads_view(expected.data(), {1, 3, 32}));
    auto const at = pages.begin() + static_cast<std::ptrdiff_t>(slot * 96);
    EXPECT_TRUE(numbers::same_bits(std::vector<float>(at, at + 96), expected)) << slot;
  }
}

TEST(hadamard, leaves_heads_alone_in_blocks_of_one) {
  numbers::in_every_format([]<class T>() {
    auto x = numbers::random<T>(3 * 7);
    auto const before = x;
    hadamard(heads_view(x.data(), {1, 3, 7}));
    hadamard(heads_view(x.data(), {1, 3, 7}), 1);
    EXPECT_TRUE(numbers::same_bits(x, before));
  });
}

// Sums of n large numbers are beyond the range of floats, their result is not.
TEST(hadamard, does_not_overflow_on_its_way) {
  constexpr auto most = 0x1p126f;
  std::vector<float> x(256, most / 8);
  hadamard(heads_view(x.data(), {1, 1, 256}));
  EXPECT_EQ(x[0], 2 * most);
  EXPECT_EQ(x[77], 0);
}

TEST(hadamard, refuses_blocks_that_do_not_fit) {
  auto x = numbers::random<float>(2 * 8192);
  auto const before = x;
  auto const message = [&](std::size_t head_dim, std::size_t block) {
    return message_of([&] { hadamard(heads_view(x.data(), {2, 1, head_dim}), block); });
  };
  EXPECT_EQ(message(128, 48),
            "posenc: hadamard: the block of a Hadamard transform must be a power of two, at most "
            "4096, that divides head_dim 128, got 48");
  EXPECT_EQ(message(96, 64),
            "posenc: hadamard: the block of a Hadamard transform must be a power of two, at most "
            "4096, that divides head_dim 96, got 64");
  EXPECT_EQ(message(8192, 8192),
            "posenc: hadamard: the block of a Hadamard transform must be a power of two, at most "
            "4096, that divides head_dim 8192, got 8192");
  EXPECT_TRUE(numbers::same_bits(x, before));
}

TEST(hadamard, spreads_what_is_no_number_over_its_block) {
  numbers::in_every_format([]<class T>() {
    for (double const non_number : {not_a_number(), infinity(), minus_infinity()}) {
      auto x = numbers::random<T>(64);
      posenc::store(x[17], static_cast<arithmetic_t<T>>(non_number));
      hadamard(heads_view(x.data(), {1, 1, 64}), 16);
      for (std::size_t i = 0; i < 64; ++i)
        EXPECT_EQ(posenc::is_finite(posenc::load(x[i])), i / 16 != 1) << "at " << i;
    }
  });
}

// ---- In a step

constexpr std::size_t tokens = 5, heads = 3, dim = 64, all = tokens * heads * dim;
constexpr posenc::heads_shape shape{tokens, heads, dim};
constexpr posenc::pages_shape pages{3, 4, heads, dim};
std::vector<std::int64_t> const positions{5, 6, 1'000'000, -3, 0}, slots{6, 7, -1, 0, 9};

// The numbers of S as T.
template <class T, class S>
std::vector<T> as_numbers(std::vector<S> const& x) {
  std::vector<T> result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    posenc::store(result[i], static_cast<arithmetic_t<T>>(posenc::load(x[i])));
  return result;
}

// What `treat` adds to an operand, between two transforms, in one call and in calls of their own,
// each of which computes with floats.
template <class S, class T>
void transforms_as_separate_calls_do(std::size_t before, std::size_t after, auto const& treat) {
  SCOPED_TRACE(testing::Message() << "blocks of " << before << " and " << after);
  using real = arithmetic_t<S>;
  auto const source = numbers::random<S>(all);
  cos_sin_rows<real> const rows(geometric(48, 1e4), positions);
  auto apart = as_numbers<real>(source);
  heads_view const floats(apart.data(), shape);
  hadamard(floats, before);
  rotate(rows, treat(rotated<halves>(floats)));
  hadamard(floats, after);
  auto const expected = as_numbers<T>(apart);

  std::vector<T> target(all);
  heads_view const to(target.data(), shape);
  auto const operand = treat(rotated<halves>(heads_view<S const>(source.data(), shape), to))
                           .from_hadamard(before)
                           .hadamard(after);
  rotate(rows, operand);
  EXPECT_TRUE(numbers::same_bits(target, expected));
  for (std::size_t const n : {2u, 7u}) {
    target.assign(all, T());
    rotate(posenc::tasks(n, executors::shuffled{n}), rows, operand);
    EXPECT_TRUE(numbers::same_bits(target, expected)) << n << " tasks";
  }
  if constexpr (std::same_as<S, T>) {
    auto x = source;
    rotate(
        rows,
        treat(rotated<halves>(heads_view(x.data(), shape))).hadamard(after).from_hadamard(before));
    EXPECT_TRUE(numbers::same_bits(x, expected)) << "in place";
  }
}

TEST(hadamard, in_a_step_has_the_bits_of_separate_calls) {
  auto const in_blocks = []<class S, class T>(auto const& treat) {
    for (auto const& [before, after] :
         {std::pair<std::size_t, std::size_t>{1, 0}, {0, 1}, {0, 0}, {16, 4}, {2, 1}})
      transforms_as_separate_calls_do<S, T>(before, after, treat);
  };
  auto const alone = [](auto const& operand) { return operand; };
  auto const normed = [](auto const& operand) {
    using real = typename std::remove_cvref_t<decltype(operand)>::real;
    static auto const weight = numbers::random<real>(dim, 3);
    return operand.norm(posenc::head_norm<real>{weight}).scale(real(0.3));
  };
  auto const unusual = [weight = numbers::random<float>(dim, 3)](auto const& operand) {
    return operand.block(posenc::rotary_block::last())
        .norm({weight, 1e-3f, posenc::norm_kind::l2, posenc::norm_place::after})
        .template round<bfloat16>(posenc::rounding_points::hugging_face());
  };
  in_blocks.operator()<float, float>(alone);
  in_blocks.operator()<float, float>(normed);
  in_blocks.operator()<float, float>(unusual);
  in_blocks.operator()<double, double>(normed);
  in_blocks.operator()<half, float>(unusual);
  in_blocks.operator()<bfloat16, bfloat16>(alone);
  in_blocks.operator()<bfloat16, bfloat16>(unusual);
  in_blocks.operator()<float, half>(normed);
}

// Values do not rotate; two sinks take the same; tokens without a slot are left out.
TEST(hadamard, in_a_step_goes_to_every_target) {
  auto const v = numbers::random<bfloat16>(all);
  std::vector<float> moved(all);
  auto apart = as_numbers<float>(v);
  hadamard(heads_view(apart.data(), shape), 32);
  std::vector<std::byte> memory(12 * heads * posenc::q8_0().bytes(dim)), wanted(memory);
  heads_view const cache(posenc::q8_0{}, memory.data(), pages, slots),
      by_hand(posenc::q8_0{}, wanted.data(), pages, slots);
  heads_view const to(moved.data(), shape);
  heads_view const values(v.data(), shape);
  rotate(cos_sin_rows<float>(geometric(dim, 1e4), positions),
         posenc::unrotated(values, posenc::both{cache, to}).hadamard(32));
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t h = 0; h < heads; ++h)
      by_hand.write(t, h, std::span(apart).subspan((t * heads + h) * dim, dim));
  EXPECT_EQ(memory, wanted);
  EXPECT_TRUE(numbers::same_bits(moved, apart));

  // And back: what is decoded is transformed once more.
  std::vector<float> back(all), read(all);
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t h = 0; h < heads; ++h)
      if (slots[t] >= 0) cache.read(t, h, std::span(read).subspan((t * heads + h) * dim, dim));
  hadamard(heads_view(read.data(), shape), 32);
  rotate(cos_sin_rows<float>(geometric(dim, 1e4), positions),
         posenc::unrotated(cache, heads_view(back.data(), shape)).from_hadamard(32));
  EXPECT_TRUE(numbers::same_bits(back, read));
}

TEST(hadamard, in_a_step_refuses_what_it_refuses_alone) {
  auto x = numbers::random<float>(8192);
  auto const before = x;
  heads_view const view(x.data(), {1, 2, 96});
  EXPECT_EQ(message_of([&] { rotated<halves>(view).hadamard(64); }),
            "posenc: rotate: the block of a Hadamard transform must be a power of two, at most "
            "4096, that divides head_dim 96, got 64");
  EXPECT_EQ(message_of([&] { rotated<halves>(view).from_hadamard(3); }),
            "posenc: rotate: the block of a Hadamard transform must be a power of two, at most "
            "4096, that divides head_dim 96, got 3");
  // It goes through L1.
  cos_sin_rows<float> const rows(geometric(dim, 1e4), std::vector<std::int64_t>{3});
  heads_view const long_head(x.data(), {1, 1, 8192});
  EXPECT_EQ(message_of([&] { rotate(rows, rotated<halves>(long_head).hadamard()); }),
            "posenc: rotate: head_dim must be at most 4096, got 8192");
  EXPECT_TRUE(numbers::same_bits(x, before));
}

}  // namespace
}  // namespace of_hadamard
