#include "posenc/score/key_bias.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "laws/score_laws.hpp"
#include "numbers.hpp"
#include "oracle/angle.hpp"
#include "oracle/wide.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "rejects.hpp"
#include "score/rows.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

/// Every number of a bias, or of one kv head alone some.
std::vector<float> bias_of(std::size_t kv_heads, std::size_t head_dim, double times = 3) {
  auto b = numbers::random<float>(kv_heads * head_dim, 5);
  for (auto& x : b) x *= static_cast<float>(times);
  return b;
}

/// <q, R(p) b> in long doubles: pair by pair, each angle a product.
template <class Layout>
oracle::wide product(std::span<double const> q, std::span<float const> b, frequencies const& f,
                     std::size_t first_dim, oracle::wide const* positions, pair_axes const* axes) {
  oracle::wide sum = 0;
  auto const in_block = [&](std::size_t dim) {
    return dim >= first_dim && dim - first_dim < f.rotary_dim();
  };
  for (std::size_t dim = 0; dim < q.size(); ++dim)
    if (!in_block(dim))
      sum += static_cast<oracle::wide>(q[dim]) * static_cast<oracle::wide>(b[dim]);
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    auto const at = positions[axes == nullptr ? 0 : axes->axis(i)];
    auto const x = first_dim + Layout::x_index(i, f.pairs()),
               y = first_dim + Layout::y_index(i, f.pairs());
    auto const [c1, s1] = oracle::direction_at(at, static_cast<oracle::wide>(f.inv_freq()[i]));
    auto const [c2, s2] = oracle::direction_at(at, static_cast<oracle::wide>(f.rest()[i]));
    auto const c = c1 * c2 - s1 * s2, s = s1 * c2 + c1 * s2;
    auto const bx = static_cast<oracle::wide>(b[x]), by = static_cast<oracle::wide>(b[y]);
    sum += static_cast<oracle::wide>(f.attention_factor()) *
           (static_cast<oracle::wide>(q[x]) * (bx * c - by * s) +
            static_cast<oracle::wide>(q[y]) * (bx * s + by * c));
  }
  return sum;
}

/// What a score at a position is off by: of the largest that it could be, the roundings of a and b,
/// of cosines and of a sum of `dims` products, each twice for the halves of a block; and of the
/// phase.
template <class T>
auto tolerance_of(std::span<double const> q, std::span<float const> b, double factor) {
  double most = 0;
  for (std::size_t i = 0; i < q.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j)
      if (i == j || i % (q.size() / 2) == j % (q.size() / 2) || i / 2 == j / 2)
        most += std::abs(q[i] * static_cast<double>(b[j])) * factor;
  auto const roundings = static_cast<double>(q.size()) + 8;
  return [most, roundings](double score, double position) {
    return most * (roundings * tolerance::unit_roundoff<T>() + 4 * tolerance::of_cosine<T>() +
                   tolerance::of_phase(position)) +
           (std::abs(score) + most) * 2 * tolerance::unit_roundoff<T>();
  };
}

std::vector<std::int64_t> counted(std::int64_t first, std::size_t count) {
  std::vector<std::int64_t> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

template <class Layout, class T>
void is_right(frequencies const& f, std::size_t head_dim, rotary_block block,
              std::vector<std::int64_t> const& keys) {
  constexpr std::size_t kv_heads = 2, heads = 6;
  auto const b = bias_of(kv_heads, head_dim);
  key_bias<Layout> const e(b, kv_heads, heads, f, block);
  auto const query = numbers::random<T>(head_dim, 9);
  auto const scores = numbers::random<T>(keys.size(), 10);
  std::array<std::vector<double>, kv_heads> of_kv_heads;  // the products of each
  for (std::size_t const head : {0u, 1u, 4u, 5u}) {
    auto actual = scores;
    posenc::adjust_scores(
        e,
        score_row<T>{
            .scores = actual, .head = head, .key_positions = keys, .query = query, .scale = 0.25});
    auto const of_head = std::span(b).subspan(head / 3 * head_dim, head_dim);
    auto const q = numbers::exact(query);
    auto const tolerance = tolerance_of<T>(q, of_head, f.attention_factor());
    auto& products = of_kv_heads[head / 3];
    for (std::size_t s = products.size(); s < keys.size(); ++s) {
      auto const at = static_cast<oracle::wide>(keys[s]);
      products.push_back(static_cast<double>(
          product<Layout>(q, of_head, f, block.first_dim(head_dim, f.rotary_dim()), &at, nullptr)));
    }
    for (std::size_t s = 0; s < keys.size(); ++s) {
      auto const expected = static_cast<double>(scores[s]) + 0.25 * products[s];
      ASSERT_NEAR(static_cast<double>(actual[s]), expected,
                  tolerance(expected, static_cast<double>(keys[s])))
          << "head " << head << ", key " << s << " at " << keys[s];
    }
  }
}

TEST(key_bias, adds_the_product_of_the_query_with_the_rotated_bias) {
  std::vector<std::int64_t> const apart{7, 0, 3, 4, 5, -1, 511, 512, 512, 100'000, -700, 64, 63};
  auto const last = std::numeric_limits<std::int64_t>::max();
  auto ends = counted(last - 70, 70);  // of int64
  for (auto const p : counted(-last - 1, 70)) ends.push_back(p);
  ends.push_back(last);
  for (auto const& keys : {counted(0, 1300), counted(-70, 140), counted(131'071, 3), apart, ends}) {
    numbers::in_float_and_double([&]<class T>() {
      is_right<halves, T>(geometric(32, 1e4), 32, rotary_block::first(), keys);
      is_right<interleaved, T>(geometric(16, 500.0), 40, rotary_block::last(), keys);
      is_right<halves, T>(truncated(geometric(64, 1e6), 0.5).with_attention_factor(1.5), 70,
                          rotary_block::from(3), keys);
    });
  }
  is_right<halves, double>(geometric(264, 1e4), 264, rotary_block::first(), counted(60, 80));
}

/// A bias of -1 or 1 in one dim, 0 in all others: in a pair, in a pair that no frequency turns,
/// outside of the rotary block.
TEST(key_bias, of_one_dim_alone_counts) {
  auto const f = truncated(geometric(12, 1e2), 0.5);
  std::vector<std::int64_t> const keys{0, 1, 2, 3, 7, -5, 1000};
  auto const query = numbers::random<double>(16, 9);
  auto const check = [&]<class Layout>(Layout) {
    for (std::size_t i = 0; i < 32; ++i) {
      auto const dim = i / 2;
      std::vector<float> b(16);
      b[dim] = i % 2 == 0 ? -1 : 1;
      auto const actual = rows::adjusted(key_bias<Layout>(b, 1, 1, f, rotary_block::from(3)),
                                         std::vector<double>(keys.size()), 0, 0, keys, query);
      auto const tolerance = tolerance_of<double>(query, b, 1);
      for (std::size_t s = 0; s < keys.size(); ++s) {
        auto const at = static_cast<oracle::wide>(keys[s]);
        auto const expected = static_cast<double>(product<Layout>(query, b, f, 3, &at, nullptr));
        EXPECT_NEAR(actual[s], expected, tolerance(expected, static_cast<double>(keys[s])))
            << "dim " << dim << ", key " << s;
        EXPECT_NE(actual[s], 0) << "dim " << dim << ", key " << s;
      }
    }
  };
  check(halves()), check(interleaved());
}

TEST(key_bias, the_bits_of_a_row_do_not_depend_on_where_it_is_cut) {
  auto const f = geometric(32, 1e4);
  key_bias<halves> const e(bias_of(1, 32), 1, 1, f);
  auto const query = numbers::random<float>(32, 9), scores = numbers::random<float>(1200, 10);
  auto const keys = counted(1000, scores.size());
  auto const whole = rows::adjusted(e, scores, 0, 0, keys, query);
  for (std::size_t const each : {1u, 7u, 64u, 512u}) {
    auto parts = scores;
    for (std::size_t s = 0; s < parts.size(); s += each) {
      auto const count = std::min(each, parts.size() - s);
      posenc::adjust_scores(e, score_row<float>{.scores = std::span(parts).subspan(s, count),
                                                .key_positions = std::span(keys).subspan(s, count),
                                                .query = query});
    }
    EXPECT_TRUE(numbers::same_bits(parts, whole)) << each;
  }
}

/// With gaps, in any order, twice: as in a row of keys that follow one another.
TEST(key_bias, the_bits_of_a_key_do_not_depend_on_the_keys_beside_it) {
  key_bias<halves> const e(bias_of(1, 32), 1, 1, geometric(32, 1e4));
  numbers::in_float_and_double([&]<class T>() {
    auto const query = numbers::random<T>(32, 9);
    auto const all = rows::adjusted(e, std::vector<T>(1600), 0, 0, counted(-100, 1600), query);
    auto const expect = [&](std::vector<std::int64_t> const& keys) {
      auto const actual = rows::adjusted(e, std::vector<T>(keys.size()), 0, 0, keys, query);
      for (std::size_t s = 0; s < keys.size(); ++s)
        ASSERT_EQ(actual[s], all[static_cast<std::size_t>(keys[s] + 100)]) << keys[s];
    };
    for (std::int64_t const step : {2, 3, 17, 130, 600}) {
      std::vector<std::int64_t> keys;
      for (std::int64_t p = -100; p < 1500; p += step) keys.push_back(p);
      expect(keys);
      std::ranges::reverse(keys), expect(keys);
    }
    auto keys = counted(0, 1000);
    for (auto const p : counted(300, 700)) keys.push_back(p);
    std::ranges::shuffle(keys, std::mt19937(1)), expect(keys);
  });
}

TEST(key_bias, on_several_axes_each_pair_is_at_the_position_of_its_axis) {
  std::vector<std::size_t> const sections{4, 6, 6};
  auto const axes = contiguous_axes(sections);
  auto const f = geometric(32, 1e4);
  auto const b = bias_of(1, 32);
  auto const query = numbers::random<double>(32, 9);
  auto const is_right_on = [&](auto const& builder) {
    auto const positions = builder.positions();
    auto const delta = builder.rope_delta();
    using P = std::remove_const_t<decltype(delta)>;
    key_bias<halves, P> const e(b, 1, 1, f, axes, positions, delta);
    auto keys = counted(0, positions.tokens() + 70);
    for (auto const i : counted(0, 30)) keys.push_back(1 + 3 * i), keys.push_back(7 * (i / 2));
    auto const actual = rows::adjusted(e, std::vector<double>(keys.size()), 0, 0, keys, query);
    for (std::size_t n = 0; n < keys.size(); ++n) {
      oracle::wide at[3];
      auto const s = static_cast<std::size_t>(keys[n]);
      for (std::size_t axis = 0; axis < 3; ++axis)
        at[axis] = static_cast<oracle::wide>(s < positions.tokens() ? positions.of(axis)[s]
                                                                    : static_cast<P>(s) + delta);
      auto const expected =
          static_cast<double>(product<halves>(numbers::exact(query), b, f, 0, at, &axes));
      ASSERT_NEAR(actual[n], expected, tolerance_of<double>(query, b, 1)(expected, 1000)) << s;
    }
  };
  is_right_on(axis_position_builder<>().text(70).image(5, 9).text(3).video(3, 2, 2, 2).text(1));
  is_right_on(axis_position_builder<double>().text(3).video(4, 3, 3, 0.3).tied_image(3, 4).text(5));
}

TEST(key_bias, dims_without_a_bias_cost_and_change_nothing) {
  auto b = std::vector<float>(64);
  auto const f = geometric(64, 1e4);
  auto scores = numbers::random<float>(100);
  scores[3] = -0.0f;
  auto const query = numbers::random<float>(64, 2);
  EXPECT_TRUE(numbers::same_bits(
      rows::adjusted(key_bias<halves>(b, 1, 1, f), scores, 0, 0, counted(0, 100), query), scores));
}

// b . R(-p) q for d R(p): the gradient of the query by itself, and of the scores as they are.
TEST(key_bias, pulls_gradients_back_to_the_query) {
  auto const f = geometric(16, 1e4).with_attention_factor(1.25);
  auto const b = bias_of(2, 20);
  key_bias<halves> const e(b, 2, 4, f, rotary_block::from(2));
  auto const keys = counted(500, 40);
  std::vector<double> scores(keys.size()), query = numbers::random<double>(20, 3);
  auto const d = numbers::random<double>(keys.size(), 4);
  auto d_scores = d, d_query = std::vector<double>(20, 0.5);
  score_row<double const> const before{
      .scores = scores, .head = 3, .key_positions = keys, .query = query, .scale = 0.5};
  e.backward_scores(before, std::span(d_scores), std::span(d_query));
  EXPECT_TRUE(numbers::same_bits(d_scores, d));
  // Linear in the query: the derivative by one of its numbers is the row for that number alone.
  for (std::size_t i = 0; i < 20; ++i) {
    std::vector<double> unit(20), row(keys.size());
    unit[i] = 1;
    e.adjust_scores(score_row<double>{
        .scores = row, .head = 3, .key_positions = keys, .query = unit, .scale = 0.5});
    auto const expected = std::inner_product(row.begin(), row.end(), d.begin(), 0.5);
    EXPECT_NEAR(d_query[i], expected, 1e-13) << i;
  }
}

TEST(key_bias, obeys_the_laws_of_its_site) {
  laws::obey("2 kv heads", key_bias<halves>(bias_of(2, laws::head_dim), 2, 4, geometric(16, 1e4)),
             4, 0);
}

TEST(key_bias, bad_settings_are_rejected) {
  auto const f = geometric(16, 1e4);
  auto const says = [&](std::string const& sentence, auto const& make) {
    EXPECT_EQ(message_of(make), "posenc: " + sentence);
  };
  std::vector<float> b(32);
  says("key_bias: kv_heads must divide heads, got 2 kv heads for 3 heads",
       [&] { key_bias<halves>(b, 2, 3, f); });
  says("key_bias: kv_heads must divide heads, got 0 kv heads for 4 heads",
       [&] { key_bias<halves>(b, 0, 4, f); });
  says("key_bias: the bias must be a vector for each of the 3 kv heads, got 32 numbers",
       [&] { key_bias<halves>(b, 3, 6, f); });
  says("rotary_block: the rotary block must lie within the head, got dims 1 to 17 of head_dim 16",
       [&] { key_bias<halves>(b, 2, 4, f, rotary_block::from(1)); });
  says("key_bias: axes must be given for each of the 8 pairs, got 2", [&] {
    key_bias<halves>(b, 2, 4, f, contiguous_axes({1, 1}), axis_positions(2, std::vector{0, 1}), 0);
  });
  says("key_bias: positions must have each of the 2 axes of the pairs, got 1", [&] {
    key_bias<halves>(b, 2, 4, f, contiguous_axes({4, 4}), axis_positions(1, std::vector{0, 1}), 0);
  });
  says("key_bias: there must be at most 8 axes, got 9", [&] {
    key_bias<halves>(b, 2, 4, f, contiguous_axes({4, 4}), axis_positions(9, std::vector<int>(9)),
                     0);
  });
  says("key_bias: head_dim must be at most 4096 for transformed queries, got 8192", [&] {
    auto const of_8192 = key_bias<halves>(std::vector<float>(8192), 1, 1, f).of_transformed();
  });
  b[20] = std::numeric_limits<float>::infinity();
  says("key_bias: the bias must be finite, got infinity of kv head 1",
       [&] { key_bias<halves>(b, 2, 4, f); });
  key_bias<halves> const e(std::vector<float>(32), 2, 4, f);
  rows::of_other_heads_or_keys_are_refused("key_bias", e, 4);
  says("key_bias: the query must have 16 numbers, got 3", [&] {
    rows::adjusted<float>(e, {0}, 0, 0, {0}, {1, 2, 3});
  });
  key_bias<halves> const on_axes(std::vector<float>(32), 2, 4, f, contiguous_axes({4, 4}),
                                 axis_positions(2, std::vector{0, 1}), 0);
  key_bias<halves> const later(std::vector<float>(32), 2, 4, f, contiguous_axes({4, 4}),
                               axis_positions(2, std::vector{0, 1}), 2);
  auto const most = std::numeric_limits<std::int64_t>::max();
  says("key_bias: an index plus delta must fit int64, got 9223372036854775806 plus 2",
       [&] { rows::adjusted<float>(later, {0}, 0, 0, {most - 1}, std::vector<float>(16)); });
  says("key_bias: an index must not be negative, got -1",
       [&] { rows::adjusted<float>(on_axes, {0}, 0, 0, {-1}, std::vector<float>(16)); });
}

}  // namespace
