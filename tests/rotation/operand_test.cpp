#include "posenc/rotation/operand.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "core/own_storage.hpp"
#include "frequency/of_doubles.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"
#include "rotation/placed_heads.hpp"

namespace {

using posenc::arithmetic_t;
using posenc::bfloat16;
using posenc::cos_sin_rows;
using posenc::frequencies;
using posenc::geometric;
using posenc::half;
using posenc::halves;
using posenc::heads_strides;
using posenc::heads_view;
using posenc::interleaved;
using posenc::rotary_block;
using posenc::rotate;
using posenc::rotated;

// The weights of `t`, as the norm takes them.
template <class Real>
std::vector<Real> weights_of(treatment const& t) {
  std::vector<Real> result;
  for (auto const w : t.weight) result.push_back(static_cast<Real>(w));
  return result;
}

template <class Real>
std::vector<double> any_weight(std::size_t head_dim) {
  return numbers::exact(numbers::random<Real>(head_dim, 3));
}

// Rotates with what `t` asks for.
template <class Real>
void rotate_treated(auto const& rows, auto const& plain, treatment const& t,
                    std::vector<Real> const& weight) {
  auto const scaled = plain.block(t.block).scale(static_cast<Real>(t.scale));
  if (t.eps == 0) return rotate(rows, scaled);
  rotate(rows, scaled.norm({weight, static_cast<Real>(t.eps)}));
}

template <class From, class To, class S, class T>
testing::AssertionResult treats_elsewhere(treatment const& t, std::size_t heads,
                                          std::size_t head_dim, arrangement from, arrangement to) {
  placed_heads<S> source({2, heads, head_dim}, from, 3, 1);
  placed_heads<T> target({2, heads, head_dim}, to, 0, 2);
  auto const read = source.memory;
  auto const before = target.memory;
  auto const weight = weights_of<arithmetic_t<T>>(t);
  cos_sin_rows<arithmetic_t<T>> const rows(of_doubles(t.f), two_positions);
  rotate_treated(rows, rotated<From, To>(source.view(), target.view()), t, weight);
  if (auto const same = numbers::same_bits(source.memory, read); !same)
    return testing::AssertionFailure() << "the source: " << same.message();
  return are_treated(number_of(From()), number_of(To()), source, target, before, two_positions, t);
}

template <class Layout, class T>
testing::AssertionResult treats_in_place(treatment const& t, std::size_t heads,
                                         std::size_t head_dim, arrangement arranged) {
  placed_heads<T> x({2, heads, head_dim}, arranged, 1);
  auto const source = x;
  auto const weight = weights_of<arithmetic_t<T>>(t);
  cos_sin_rows<arithmetic_t<T>> const rows(of_doubles(t.f), two_positions);
  rotate_treated(rows, rotated<Layout>(x.view()), t, weight);
  return are_treated(number_of(Layout()), number_of(Layout()), source, x, source.memory,
                     two_positions, t);
}

frequencies with_some_pairs_standing(std::size_t pairs, double factor = 1) {
  auto const all = geometric(2 * pairs, 1e4);
  std::vector<double> inv_freq(all.inv_freq().begin(), all.inv_freq().end());
  for (std::size_t i = 0; i < pairs; ++i)
    if (i % 5 == 2 || i > 3 * pairs / 4) inv_freq[i] = 0;
  return frequencies(inv_freq, factor);
}

// Norms with and without weights, scales, and both; blocks that are the whole head or part of it.
// eps, scale and weights are floats.
template <class Real>
std::vector<treatment> treatments(std::size_t pairs, std::size_t rest) {
  auto const head_dim = 2 * pairs + rest;
  auto const all_turn = geometric(2 * pairs, 1e4);
  return {{all_turn, rotary_block::first(), any_weight<Real>(head_dim), 0x1p-20},
          {all_turn, rotary_block::last(), {}, 0x1p-4},
          {all_turn, rotary_block::from(rest / 2), {}, 0, 0.125},
          {with_some_pairs_standing(pairs), rotary_block::from(rest / 3),
           any_weight<Real>(head_dim), 0x1p-20, -0.375},
          {with_some_pairs_standing(pairs), rotary_block::last(), {}, 0x1p-20, 3},
          {with_some_pairs_standing(pairs, 1.25), rotary_block::first(), any_weight<Real>(head_dim),
           0x1p-10, 0.0883789062}};
}

template <class Act>
void for_shapes_of_treatments(Act&& act) {
  for (auto const [pairs, rest] : {std::array<std::size_t, 2>{1, 0},
                                   {5, 3},
                                   {16, 0},  // 16, 32, 64: one column of SSE2, AVX2, AVX-512
                                   {32, 0},
                                   {64, 0},
                                   {40, 48},  // as long, and not all of it rotates
                                   {45, 33},
                                   {64, 64},
                                   {131, 0}})
    act(pairs, rest);
}

TEST(rotation, elsewhere_without_norm_or_scale_copies_the_dims_that_it_does_not_turn) {
  in_every_format_and_a_layout([]<class T, class Layout>() {
    treatment const t{with_some_pairs_standing(9), rotary_block::from(2)};
    placed_heads<T> source({2, 3, 23}, arrangement::padded, 0, 1),
        target({2, 3, 23}, arrangement::dense, 0, 2);
    auto const before = target.memory;
    rotate(cos_sin_rows<arithmetic_t<T>>(t.f, two_positions),
           rotated<Layout>(source.view(), target.view()).block(t.block));
    EXPECT_TRUE(are_treated(number_of(Layout()), number_of(Layout()), source, target, before,
                            two_positions, t));
  });
}

TEST(rotation, in_place_norms_and_scales_all_dims_of_heads) {
  in_every_format_and_layout([]<class T, class Layout>() {
    for_shapes_of_treatments([](std::size_t pairs, std::size_t rest) {
      std::size_t i = 0;
      for (auto const& t : treatments<arithmetic_t<T>>(pairs, rest))
        ASSERT_TRUE((treats_in_place<Layout, T>(t, 3, 2 * pairs + rest, arrangements[++i % 4])))
            << "treatment " << i;
    });
  });
}

TEST(rotation, elsewhere_norms_and_scales_all_dims_of_heads) {
  auto const from_to = []<class S, class T, class From, class To>(S, T, From, To) {
    for_shapes_of_treatments([](std::size_t pairs, std::size_t rest) {
      std::size_t i = 0;
      for (auto const& t : treatments<arithmetic_t<T>>(pairs, rest)) {
        auto const from = arrangements[i % 4], to = arrangements[++i % 3];
        ASSERT_TRUE((treats_elsewhere<From, To, S, T>(t, 3, 2 * pairs + rest, from, to)))
            << "treatment " << i;
      }
    });
  };
  from_to(float(), bfloat16(), halves(), halves());
  from_to(float(), half(), interleaved(), interleaved());
  from_to(float(), float(), interleaved(), halves());
  from_to(bfloat16(), half(), halves(), interleaved());
  from_to(half(), float(), halves(), interleaved());
  from_to(engine::brain_float(), bfloat16(), interleaved(), halves());
  from_to(double(), double(), halves(), interleaved());
}

TEST(rotation, norms_more_heads_than_gains_are_kept_of) {
  numbers::in_every_format([]<class T>() {
    treatment const t{geometric(10, 1e4), rotary_block::last(), any_weight<arithmetic_t<T>>(13),
                      0x1p-20, 0.5};
    for (std::size_t const heads : {63u, 64u, 65u, 128u, 150u}) {
      ASSERT_TRUE((treats_in_place<halves, T>(t, heads, 13, arrangement::backwards))) << heads;
      ASSERT_TRUE((treats_elsewhere<interleaved, interleaved, T, T>(
          t, heads, 13, arrangement::padded, arrangement::heads_outermost)));
    }
  });
}

TEST(rotation, makes_heads_of_zeros_zeros) {
  numbers::in_every_format([]<class T>() {
    std::vector<T> x(2 * 3 * 40);
    for (auto& number : x) posenc::store(number, 0);
    auto const zeros = x;
    rotate(cos_sin_rows<arithmetic_t<T>>(geometric(40, 1e4), std::vector{0, 0}),
           rotated<halves>(numbers::view(x, 2, 40)).norm({{}, arithmetic_t<T>(1e-6)}));
    for (auto const& number : x) EXPECT_EQ(posenc::load(number), 0);
  });
}

TEST(rotation, gives_the_same_bits_however_tokens_and_heads_are_split) {
  in_every_format_and_a_layout([]<class T, class Layout>() {
    using real = arithmetic_t<T>;
    auto const weight = numbers::random<real>(75);
    cos_sin_rows<real> const rows(with_some_pairs_standing(36), std::vector{9, 1, 0, 9});
    placed_heads<T> whole({4, 70, 75}, arrangement::padded), by_tokens = whole, by_heads = whole;
    auto const go = [&](auto const& some_rows, heads_view<T> const& heads) {
      rotate(some_rows, rotated<Layout>(heads)
                            .block(rotary_block::last())
                            .norm({weight, real(1e-6)})
                            .scale(real(0.3)));
    };
    go(rows, whole.view());
    for (auto const [first, count] : {std::array<std::size_t, 2>{0, 1}, {1, 3}, {4, 0}})
      go(rows.slice_tokens(first, count), by_tokens.view().slice_tokens(first, count));
    for (auto const [first, count] : {std::array<std::size_t, 2>{0, 2}, {2, 65}, {67, 0}, {67, 3}})
      go(rows, by_heads.view().slice_heads(first, count));
    EXPECT_TRUE(numbers::same_bits(by_tokens.memory, whole.memory));
    EXPECT_TRUE(numbers::same_bits(by_heads.memory, whole.memory));
  });
}

TEST(rotation, of_scale_1_gives_the_bits_of_none) {
  in_every_format_and_a_layout([]<class T, class Layout>() {
    placed_heads<T> plain({2, 3, 75}, arrangement::padded), scaled = plain;
    cos_sin_rows<arithmetic_t<T>> const rows(with_some_pairs_standing(36), two_positions);
    rotate<Layout>(plain.view(), rows);
    rotate(rows, rotated<Layout>(scaled.view()).scale(1));
    EXPECT_TRUE(numbers::same_bits(scaled.memory, plain.memory));
  });
}

TEST(rotation, takes_norm_scale_and_block_in_any_order) {
  auto const weight = numbers::random<float>(40);
  cos_sin_rows const rows(geometric(32, 1e4), two_positions);
  auto const result = [&](auto&& treat) {
    auto x = numbers::random<float>(2 * 3 * 40);
    rotate(rows, treat(rotated<halves>(numbers::view(x, 2, 40))));
    return x;
  };
  posenc::head_norm<float> const norm{weight, 1e-6f};
  auto const last = rotary_block::last();
  auto const expected =
      result([&](auto const& r) { return r.block(last).norm(norm).scale(0.25f); });
  EXPECT_TRUE(numbers::same_bits(
      result([&](auto const& r) { return r.scale(0.25f).norm(norm).block(last); }), expected));
  EXPECT_TRUE(numbers::same_bits(
      result([&](auto const& r) { return r.norm(norm).block(last).scale(0.25f); }), expected));
  EXPECT_FALSE(numbers::same_bits(result([&](auto const& r) { return r.norm(norm).scale(0.25f); }),
                                  expected));
  EXPECT_FALSE(numbers::same_bits(result([&](auto const& r) { return r.block(last).scale(0.25f); }),
                                  expected));
}

TEST(rotation, of_queries_and_keys_in_one_call_is_that_of_each_alone) {
  in_every_format_and_a_layout([]<class T, class Layout>() {
    using real = arithmetic_t<T>;
    auto const w_q = numbers::random<real>(40, 5), w_k = numbers::random<real>(40, 6);
    cos_sin_rows<real> const rows(geometric(32, 1e4), two_positions);
    placed_heads<T> q({2, 5, 40}, arrangement::padded), k({2, 2, 40}, arrangement::heads_outermost),
        v({2, 1, 32}, arrangement::dense);
    auto q_alone = q, k_alone = k, v_alone = v;
    std::vector<T> cache(2 * 2 * 40), cache_alone = cache;
    auto const of_q = [&](heads_view<T> const& x) {
      return rotated<Layout>(x).norm({w_q, real(1e-6)}).scale(real(0.125));
    };
    auto const of_k = [&](heads_view<T> const& x, std::vector<T>& to) {
      return rotated<Layout>(x, numbers::view(to, 2, 40)).norm({w_k, real(1e-5)});
    };
    auto const of_v = [&](heads_view<T> const& x) { return rotated<Layout>(x); };
    rotate(rows, of_q(q.view()), of_k(k.view(), cache), of_v(v.view()));
    rotate(rows, of_q(q_alone.view())), rotate(rows, of_k(k_alone.view(), cache_alone)),
        rotate(rows, of_v(v_alone.view()));
    EXPECT_TRUE(numbers::same_bits(q.memory, q_alone.memory));
    EXPECT_TRUE(numbers::same_bits(k.memory, k_alone.memory));
    EXPECT_TRUE(numbers::same_bits(cache, cache_alone));
    EXPECT_TRUE(numbers::same_bits(v.memory, v_alone.memory));
  });
}

TEST(rotation, of_queries_and_keys_side_by_side_in_one_buffer_turns_both) {
  in_every_format_and_a_layout([]<class T, class Layout>() {
    auto packed = numbers::random<T>(3 * 7 * 32), alone = packed;  // 4 heads of q, 2 of k, 1 of v
    cos_sin_rows<arithmetic_t<T>> const rows(geometric(32, 1e4), std::vector{3, 1, 4});
    auto const q = [](std::vector<T>& x) {
      return heads_view<T>(x.data(), {3, 4, 32}, {7 * 32, 32});
    };
    auto const k = [](std::vector<T>& x) {
      return heads_view<T>(x.data() + 4 * 32, {3, 2, 32}, {7 * 32, 32});
    };
    rotate(rows, rotated<Layout>(q(packed)).scale(2), rotated<Layout>(k(packed)));
    rotate(rows, rotated<Layout>(q(alone)).scale(2)), rotate(rows, rotated<Layout>(k(alone)));
    EXPECT_TRUE(numbers::same_bits(packed, alone));
    // from q to k, in the same buffer
    EXPECT_NO_THROW((rotate<Layout, Layout>(q(packed).slice_heads(0, 2), k(packed), rows)));
  });
}

// Bad calls: they throw that message and change nothing.

constexpr auto lie_apart =
    "posenc: rotate: source and target must not overlap, unless they are the same heads in the "
    "same layout";
constexpr auto others_apart =
    "posenc: rotate: heads that one rotation of a call writes must not overlap those of another";

TEST(rotation, refuses_another_layout_in_place_and_views_that_overlap_and_changes_nothing) {
  numbers::in_float_and_double([]<class T>() {
    cos_sin_rows<arithmetic_t<T>> const rows(geometric(8, 1e4), two_positions);
    auto x = numbers::random<T>(200);
    auto const before = x;
    heads_view<T> const heads(x.data(), {2, 3, 8}, {30, 10});
    EXPECT_EQ(message_of([&] { rotate<halves, interleaved>(heads, heads, rows); }), lie_apart);
    EXPECT_EQ(message_of([&] { rotate<interleaved, halves>(heads, heads, rows); }), lie_apart);
    for (std::ptrdiff_t const by :
         {1, 2, 7, 8, 9, 29, 30, 31, 57}) {  // 8 and 9 share numbers of other heads
      heads_view<T> const shifted(x.data() + by, {2, 3, 8}, {30, 10});
      EXPECT_EQ(message_of([&] { rotate<halves>(heads, shifted, rows); }), lie_apart) << by;
      EXPECT_EQ(message_of([&] { rotate<halves>(shifted, heads, rows); }), lie_apart) << by;
    }
    heads_view<T> const tokens_swapped(x.data() + 30, {2, 3, 8}, {-30, 10}),
        heads_swapped(x.data() + 20, {2, 3, 8}, {30, -10});
    heads_view<T> const closer_heads(x.data(), {2, 3, 8}, {30, 8}),
        farther_tokens(x.data(), {2, 3, 8}, {60, 10});
    EXPECT_EQ(message_of([&] { rotate<halves>(heads, closer_heads, rows); }), lie_apart)
        << "from head 1 on";
    EXPECT_EQ(message_of([&] { rotate<halves>(heads, farther_tokens, rows); }), lie_apart)
        << "from token 1 on";
    EXPECT_EQ(message_of([&] { rotate<halves>(heads, tokens_swapped, rows); }), lie_apart);
    EXPECT_EQ(message_of([&] { rotate<halves>(heads, heads_swapped, rows); }), lie_apart);
    EXPECT_TRUE(numbers::same_bits(x, before));
  });
}

TEST(rotation, refuses_the_same_memory_as_another_type) {
  auto x = numbers::random<half>(64);
  auto const before = x;
  heads_view<half> const heads(x.data(), {2, 2, 16});
  heads_view<Eigen::half> const same(reinterpret_cast<Eigen::half*>(x.data()), {2, 2, 16});
  EXPECT_EQ(message_of([&] {
              rotate<halves>(heads, same, cos_sin_rows(geometric(16, 1e4), two_positions));
            }),
            lie_apart);
  EXPECT_TRUE(numbers::same_bits(x, before));
}

TEST(rotation, refuses_shapes_and_rows_that_do_not_fit_and_changes_nothing) {
  auto source = numbers::random<float>(400), target = numbers::random<float>(400, 2);
  auto const before = target;
  cos_sin_rows const rows(geometric(8, 1e4), two_positions);
  auto const expect = [&](posenc::heads_shape from, posenc::heads_shape to, rotary_block block,
                          std::string const& message) {
    heads_view<float> const a(source.data(), from), b(target.data(), to);
    auto const r = rotated<halves, interleaved>(a, b).block(block);
    EXPECT_EQ(message_of([&] { rotate(rows, r); }), message);
    EXPECT_EQ(message_of([&] { rotate(rows, r.scale(2)); }), message);
    EXPECT_EQ(
        message_of([&] {
          rotate(rows, rotated<halves>(heads_view(source.data() + 300, {2, 1, 8})).scale(3), r);
        }),
        message)
        << "as the second of two";
  };
  auto const first = rotary_block::first();
  auto const source_before = source;
  expect({3, 2, 8}, {3, 2, 8}, first,
         "posenc: rotate: there must be one row per token, got 2 rows for 3 tokens");
  std::string const one_shape =
      "posenc: rotate: source and target must have the same shape, got 2 tokens x 3 heads of 8 "
      "and ";
  expect({2, 3, 8}, {3, 3, 8}, first, one_shape + "3 x 3 of 8");
  expect({2, 3, 8}, {2, 2, 8}, first, one_shape + "2 x 2 of 8");
  expect({2, 3, 8}, {2, 3, 10}, first, one_shape + "2 x 3 of 10");
  expect({2, 3, 10}, {2, 3, 10}, rotary_block::from(3),
         "posenc: rotary_block: the rotary block must lie within the head, got dims 3 to 11 of "
         "head_dim 10");
  EXPECT_TRUE(numbers::same_bits(target, before));
  EXPECT_TRUE(numbers::same_bits(source, source_before));
}

TEST(rotation, refuses_a_norm_or_scale_that_is_none) {
  numbers::in_float_and_double([]<class T>() {
    using real = arithmetic_t<T>;
    auto x = numbers::random<T>(48);
    auto const r = rotated<halves>(numbers::view(x, 2, 8));
    std::vector<real> const weight(8, 1), short_weight(7, 1), long_weight(9, 1);
    std::string const eps = "posenc: rotate: eps of the norm must be finite and positive, got ";
    EXPECT_EQ(message_of([&] { r.norm({weight, 0}); }), eps + "0");
    EXPECT_EQ(message_of([&] { r.norm({weight, real(-0.5)}); }), eps + "-0.5");
    EXPECT_EQ(message_of([&] { r.norm({{}, static_cast<real>(infinity())}); }), eps + "infinity");
    EXPECT_EQ(message_of([&] { r.norm({{}, static_cast<real>(not_a_number())}); }), eps + "NaN");
    std::string const a_dim = "posenc: rotate: the norm must have one weight per dim, got ";
    EXPECT_EQ(message_of([&] { r.norm({short_weight, 1}); }), a_dim + "7 weights for head_dim 8");
    EXPECT_EQ(message_of([&] {
                r.scale(2).norm({long_weight, 1});
              }),
              a_dim + "9 weights for head_dim 8");
    std::string const scale = "posenc: rotate: the scale must be finite, got ";
    EXPECT_EQ(message_of([&] { r.scale(static_cast<real>(infinity())); }), scale + "infinity");
    EXPECT_EQ(message_of([&] {
                r.norm({weight, 1}).scale(static_cast<real>(not_a_number()));
              }),
              scale + "NaN");
  });
}

TEST(rotation, refuses_rotations_of_one_call_that_get_into_each_others_way_and_changes_nothing) {
  numbers::in_float_and_double([]<class T>() {
    cos_sin_rows<arithmetic_t<T>> const rows(geometric(8, 1e4), two_positions);
    auto x = numbers::random<T>(400);
    auto const before = x;
    auto const at = [&](std::size_t first) { return heads_view<T>(x.data() + first, {2, 2, 8}); };
    auto const in_place = rotated<halves>(at(0));
    EXPECT_EQ(message_of([&] { rotate(rows, in_place, in_place); }), others_apart);
    EXPECT_EQ(message_of([&] { rotate(rows, in_place, rotated<halves>(at(31))); }), others_apart);
    EXPECT_EQ(
        message_of([&] { rotate(rows, in_place.scale(1), rotated<halves>(at(100), at(20))); }),
        others_apart);
    EXPECT_EQ(message_of([&] { rotate(rows, in_place, rotated<interleaved>(at(20), at(100))); }),
              others_apart);
    EXPECT_EQ(message_of([&] { rotate(rows, rotated<halves>(at(200), at(20)), in_place); }),
              others_apart);
    EXPECT_EQ(message_of([&] {
                rotate(rows, rotated<halves>(at(100), at(20)), rotated<halves>(at(200), at(131)));
              }),
              others_apart)
        << "the first reads what the second writes";
    EXPECT_EQ(message_of([&] {
                rotate(rows, rotated<halves>(at(100), at(20)), rotated<halves>(at(200), at(51)));
              }),
              others_apart)
        << "both write the same";
    EXPECT_EQ(message_of([&] {
                rotate(rows, rotated<halves>(at(300)), in_place, rotated<halves>(at(31)));
              }),
              others_apart)
        << "the second and third";
    EXPECT_EQ(message_of([&] {
                rotate(rows, in_place, rotated<halves>(at(300)), rotated<halves>(at(31)));
              }),
              others_apart)
        << "the first and third";
    EXPECT_TRUE(numbers::same_bits(x, before));
    EXPECT_NO_THROW(rotate(rows, in_place, rotated<halves>(at(32)), rotated<halves>(at(64))));
    EXPECT_NO_THROW(rotate(rows, rotated<halves>(at(0), at(100)), rotated<halves>(at(0), at(132))))
        << "both read the same";
  });
}

// Empty views: no layout is wrong in place, no stride is used, no null pointer is advanced.
TEST(rotation, of_nothing_does_nothing) {
  numbers::in_float_and_double([]<class T>() {
    using real = arithmetic_t<T>;
    cos_sin_rows<real> const no_rows(geometric(8, 1e4), std::vector<int>{}),
        rows(geometric(8, 1e4), two_positions);
    constexpr auto far = std::numeric_limits<std::ptrdiff_t>::max();
    T element{};
    for (auto const strides : {heads_strides{24, 8}, {far, far}, {-far, far}})
      for (auto* const data : {static_cast<T*>(nullptr), &element}) {
        heads_view<T> const no_tokens(data, {0, 3, 8}, strides), no_heads(data, {2, 0, 8}, strides);
        EXPECT_NO_THROW((rotate<halves, interleaved>(no_tokens, no_tokens, no_rows)));
        EXPECT_NO_THROW((rotate<halves, interleaved>(no_heads, no_heads, rows)));
        EXPECT_NO_THROW(rotate<interleaved>(no_heads, rows));
        EXPECT_NO_THROW(rotate(rows, rotated<halves>(no_heads).norm({{}, 1}).scale(2),
                               rotated<halves>(no_heads)));
      }
  });
}

TEST(rotation, of_a_single_token_or_head_takes_no_step) {
  auto x = numbers::random<float>(16);
  cos_sin_rows const row(geometric(8, 1e4), std::vector{5});
  constexpr auto most = std::numeric_limits<std::ptrdiff_t>::max();
  for (auto const stride : {most, most / 4 + 1, std::numeric_limits<std::ptrdiff_t>::min()}) {
    heads_view<float> const one(x.data(), {1, 1, 8}, {stride, stride});
    EXPECT_EQ(
        message_of([&] {
          rotate<halves>(one, heads_view<float>(x.data() + 7, {1, 1, 8}, {stride, stride}), row);
        }),
        lie_apart);
    EXPECT_NO_THROW(
        rotate<halves>(one, heads_view<float>(x.data() + 8, {1, 1, 8}, {8, ~stride}), row));
    EXPECT_NO_THROW(rotate<halves>(one, heads_view<float>(x.data(), {1, 1, 8}), row))
        << "the same place";
  }
}

}  // namespace
