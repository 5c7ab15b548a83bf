#include "posenc/attention/given_mask.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/mask.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/softmax/row_exponentials.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

/// What cells mean, [heads][queries][keys]: a bias, or -infinity where a key is hidden.
struct cell_biases {
  given_mask::shape n;
  std::vector<double> biases;
  double operator()(std::size_t t, std::size_t head, std::size_t s) const {
    return biases[((n.heads == 1 ? 0 : head) * n.queries + t) * n.keys + s];
  }
};

/// A part of the keys is seen, from all to none, in runs of any length; every format has the
/// biases.
cell_biases random_cells(given_mask::shape n, std::mt19937_64& bits) {
  cell_biases cells{n, {}};
  auto const seen = bits() % 5, run = 1 + bits() % 90;
  bool sees = true;
  for (std::size_t i = 0; i < n.heads * n.queries * n.keys; ++i) {
    if (bits() % run == 0) sees = bits() % 4 < seen;
    auto const bias = bits() % 3 == 0 ? static_cast<double>(bits() % 9) / 4 - 1 : 0;
    cells.biases.push_back(sees ? bias : minus_infinity());
  }
  return cells;
}

template <class T>
T cell_of(double bias) {
  if constexpr (sizeof(T) == 1) {
    return static_cast<T>(!is_masked(bias));
  } else {
    T cell;
    store(cell, static_cast<arithmetic_t<T>>(bias));
    return cell;
  }
}

/// Memory that begins and ends with the cells, for sanitizers, and where cell (0, 0, 0) is in it.
template <class T>
struct placed_cells {
  placed_cells(cell_biases const& cells, given_mask::strides steps) : strides(steps) {
    std::ptrdiff_t lowest = 0, highest = 0;
    for (auto const& [count, step] : {std::pair(cells.n.queries, steps.query),
                                      {cells.n.heads, steps.head},
                                      {cells.n.keys, steps.key}}) {
      auto const last = static_cast<std::ptrdiff_t>(count - 1) * step;
      (last < 0 ? lowest : highest) += last;
    }
    memory = std::make_unique<T[]>(static_cast<std::size_t>(highest - lowest + 1));
    first = memory.get() - lowest;
    for (std::size_t head = 0; head < cells.n.heads; ++head)
      for (std::size_t t = 0; t < cells.n.queries; ++t)
        for (std::size_t s = 0; s < cells.n.keys; ++s)
          first[static_cast<std::ptrdiff_t>(t) * steps.query +
                static_cast<std::ptrdiff_t>(head) * steps.head +
                static_cast<std::ptrdiff_t>(s) * steps.key] = cell_of<T>(cells(t, head, s));
    view = std::make_unique<given_mask>(first, cells.n, steps);
  }
  given_mask::strides strides;
  std::unique_ptr<T[]> memory;
  T* first;
  std::unique_ptr<given_mask> view;
};

/// Bits whose rows are `row` bytes, which no byte follows.
struct placed_bits {
  explicit placed_bits(cell_biases const& cells) {
    auto const row = (cells.n.keys + 7) / 8, rows = cells.n.heads * cells.n.queries;
    memory = std::make_unique<std::byte[]>(rows * row);
    std::fill_n(memory.get(), rows * row, std::byte{0});
    for (std::size_t i = 0; i < cells.biases.size(); ++i)
      if (!is_masked(cells.biases[i]))
        memory[i / cells.n.keys * row + i % cells.n.keys / 8] |= std::byte{1}
                                                                 << i % cells.n.keys % 8;
    auto const step = static_cast<std::ptrdiff_t>(row);
    view = std::make_unique<given_mask>(given_mask::bits(
        memory.get(), cells.n,
        {.query = step, .head = step * static_cast<std::ptrdiff_t>(cells.n.queries)}));
  }
  std::unique_ptr<std::byte[]> memory;
  std::unique_ptr<given_mask> view;
};

/// Every function of a mask is a plain loop over what the cells mean, for all ranges asked for.
void says(given_mask const& mask, cell_biases const& cells, std::mt19937_64& bits) {
  EXPECT_NO_THROW(
      mask.check("f", cells.n.queries, std::max<std::size_t>(cells.n.heads, 1), cells.n.keys));
  auto const bias_of = [&](std::size_t t, std::size_t head, std::size_t s) {
    auto const bias = cells(t, head, s);
    return mask.has_biases() || is_masked(bias) ? bias : 0;
  };
  for (std::size_t head = 0; head < cells.n.heads; ++head) {
    for (std::size_t t = 0; t < cells.n.queries; ++t) {
      auto const first = bits() % (cells.n.keys + 1),
                 last = first + bits() % (cells.n.keys - first + 1);
      token_range seen{0, 0};
      for (auto s = first; s < last; ++s) {
        if (is_masked(cells(t, head, s))) continue;
        if (seen.last == 0) seen.first = s;
        seen.last = s + 1;
      }
      ASSERT_EQ(mask.seen(t, head, {first, last}), seen) << first << " to " << last;
      std::vector<float> floats(last - first, 0.5f), others(last - first, 3);
      std::vector<double> doubles(last - first, 0.5);
      mask.apply(t, head, {first, last}, std::span(floats));
      mask.apply(t, head, {first, last}, std::span(doubles));
      mask.hide(t, head, {first, last}, std::span(others), -7.0f);
      for (auto s = first; s < last; ++s) {
        auto const i = s - first;
        auto const bias = bias_of(t, head, s);
        if (is_masked(bias)) {
          ASSERT_TRUE(is_masked(mask.bias(t, head, s)));
          ASSERT_TRUE(is_masked(floats[i]) && is_masked(doubles[i])) << s;
          ASSERT_EQ(others[i], -7) << s;
        } else {
          ASSERT_EQ(mask.bias(t, head, s), bias);
          ASSERT_EQ(floats[i], 0.5 + bias) << s;
          ASSERT_EQ(doubles[i], 0.5 + bias) << s;
          ASSERT_EQ(others[i], 3) << s;
        }
      }
    }
  }
}

template <class Test>
void in_every_cell(Test&& test) {
  numbers::in_every_format(test);
  test.template operator()<bool>();
  test.template operator()<unsigned char>();
}

TEST(given_mask, is_a_plain_loop_over_its_cells_at_any_strides) {
  in_every_cell([]<class T>() {
    std::mt19937_64 bits(5);
    for (std::size_t round = 0; round < 60; ++round) {
      given_mask::shape const n{1 + bits() % 3, 1 + bits() % 3, 1 + bits() % 300};
      auto const cells = random_cells(n, bits);
      auto const q = static_cast<std::ptrdiff_t>(n.queries),
                 h = static_cast<std::ptrdiff_t>(n.heads), k = static_cast<std::ptrdiff_t>(n.keys);
      for (auto const& steps : {given_mask::strides{k, q * k},  // dense
                                {k + 13, q * (k + 13)},         // padded rows
                                {h * k, k},                     // [queries][heads][keys]
                                {1, q, h * q},                  // [keys][heads][queries]
                                {-k, q * k, 1},                 // queries from the last on
                                {k, -q * k, -1}})               // heads and keys too
        says(*placed_cells<T>(cells, steps).view, cells, bits);
      says(given_mask(placed_cells<T>(cells, {k, q * k}).first, n), cells, bits);
    }
  });
}

TEST(given_mask, has_bits_that_begin_and_end_anywhere) {
  std::mt19937_64 bits(6);
  for (std::size_t round = 0; round < 300; ++round) {
    auto const cells = random_cells({1 + bits() % 3, 1 + bits() % 3, 1 + bits() % 300}, bits);
    says(*placed_bits(cells).view, cells, bits);
  }
}

TEST(given_mask, of_stride_0_is_shared) {
  std::vector<half> const row{half(0.0f), half(-1.0f), half(static_cast<float>(minus_infinity()))};
  given_mask const padding(row.data(), {7, 5, 3}, {0}), column(row.data(), {3, 1, 9}, {1, 0, 0});
  for (std::size_t const t : {0u, 6u}) {
    for (std::size_t const head : {0u, 4u}) {
      EXPECT_EQ(padding.seen(t, head, {0, 3}), (token_range{0, 2}));
      EXPECT_EQ(padding.bias(t, head, 1), -1);
    }
  }
  EXPECT_FALSE(padding.heads_differ());
  EXPECT_EQ(column.seen(1, 0, {0, 9}), (token_range{0, 9}));
  EXPECT_EQ(column.seen(2, 0, {0, 9}), (token_range{0, 0}));
  EXPECT_EQ(column.bias(1, 0, 8), -1);
}

TEST(given_mask, of_one_head_serves_all_whatever_its_stride_of_heads) {
  std::vector<float> const row{0, 2, -1};
  given_mask const one(row.data(), {1, 1, 3}, {3, 1'000'000});
  EXPECT_NO_THROW(one.check("f", 1, 32, 3));
  EXPECT_EQ(one.bias(0, 31, 1), 2);
  EXPECT_FALSE(one.heads_differ());
  EXPECT_TRUE(given_mask(row.data(), {1, 3, 1}).heads_differ());
}

TEST(given_mask, any_byte_but_0_shows_a_key) {
  std::vector<unsigned char> const bytes{0, 1, 2, 128, 255, 0};
  given_mask const mask(bytes.data(), {1, 1, 6});
  for (std::size_t s = 0; s < 6; ++s) EXPECT_EQ(is_masked(mask.bias(0, 0, s)), s % 5 == 0) << s;
  EXPECT_EQ(mask.seen(0, 0, {0, 6}), (token_range{1, 5}));
}

TEST(given_mask, slopes_multiply_biases_and_leave_hidden_what_is_hidden) {
  std::vector<bfloat16> const row{bfloat16(-1.0f), bfloat16(static_cast<float>(minus_infinity())),
                                  bfloat16(0.0f), bfloat16(-4.0f)};
  std::vector<double> const slopes{0.5, 0, -0.25};
  auto const sloped = given_mask(row.data(), {1, 1, 4}).with_slopes(slopes);
  for (std::size_t head = 0; head < 3; ++head) {
    EXPECT_EQ(sloped.bias(0, head, 0), -slopes[head]);
    EXPECT_TRUE(is_masked(sloped.bias(0, head, 1))) << "-infinity times 0 or less";
    EXPECT_EQ(sloped.bias(0, head, 2), 0);
    EXPECT_EQ(sloped.bias(0, head, 3), -4 * slopes[head]);
  }
  EXPECT_NE(sloped, given_mask(row.data(), {1, 1, 4}));
}

TEST(given_mask, adds_in_double_and_rounds_once) {
  std::vector<double> const bias{-1e8, 0x1p-30};
  given_mask const mask(bias.data(), {1, 1, 2});
  std::vector<float> scores{1e8f, 1};
  mask.apply(0, 0, {0, 2}, std::span(scores));
  EXPECT_EQ(scores[0], 0);
  EXPECT_EQ(scores[1], 1);
  std::vector<double> doubles{1, 1};
  mask.apply(0, 0, {0, 2}, std::span(doubles));
  EXPECT_EQ(doubles[1], 1 + 0x1p-30);
}

TEST(given_mask, very_low_biases_hide_nothing) {
  std::vector<half> const lowest(70, half(-65504.0f));
  given_mask const mask(lowest.data(), {1, 1, 70});
  EXPECT_EQ(mask.seen(0, 0, {0, 70}), (token_range{0, 70}));
  EXPECT_EQ(mask.bias(0, 0, 69), -65504);
}

TEST(given_mask, a_hidden_key_is_hidden_whatever_its_score) {
  std::vector<float> const cells{static_cast<float>(minus_infinity()), 1};
  given_mask const mask(cells.data(), {1, 1, 2});
  for (auto const score : {not_a_number(), infinity()}) {
    std::vector<double> scores(2, score);
    mask.apply(0, 0, {0, 2}, std::span(scores));
    EXPECT_TRUE(is_masked(scores[0]));
    EXPECT_FALSE(is_masked(scores[1]));
  }
}

TEST(given_mask, refuses_cells_that_are_nowhere_and_strides_that_leave_memory) {
  constexpr auto far = std::numeric_limits<std::ptrdiff_t>::max();
  float const one = 0;
  std::byte const byte{};
  EXPECT_EQ(message_of([&] {
              given_mask(&one, {1, 0, 1});
            }),
            "posenc: given_mask: there must be a head, got 0");
  EXPECT_EQ(message_of([&] {
              given_mask(static_cast<float const*>(nullptr), {2, 1, 3});
            }),
            "posenc: given_mask: data must not be null for 2 queries and 3 keys");
  EXPECT_NO_THROW(given_mask(static_cast<half const*>(nullptr), {2, 1, 0}));
  EXPECT_NO_THROW(given_mask(static_cast<bool const*>(nullptr), {0, 1, 2}));
  for (auto const& steps :
       {given_mask::strides{far, 0, 1}, {far / 8, 0, 1}, {1, far / 4, 1}, {1, 0, far}}) {
    EXPECT_EQ(message_of([&] {
                given_mask(&one, {3, 3, 3}, steps);
              }),
              "posenc: given_mask: cells must fit into memory, got 3 queries of stride " +
                  std::to_string(steps.query) + ", 3 heads of stride " +
                  std::to_string(steps.head) + " and 3 keys of stride " +
                  std::to_string(steps.key));
  }
  constexpr auto lowest = std::numeric_limits<std::ptrdiff_t>::min();
  EXPECT_NE(message_of([&] { given_mask(&one, {3, 1, 3}, {lowest}); }), "");
  constexpr auto huge = std::numeric_limits<std::size_t>::max();
  EXPECT_NE(message_of([&] { given_mask(&one, {huge, 1, huge}); }), "");
  EXPECT_NE(message_of([&] { given_mask(&one, {2, 2, huge / 4}); }), "");
  EXPECT_EQ(message_of([&] {
              given_mask::bits(&byte, {1, 1, 3}, {1, 0, 2});
            }),
            "posenc: given_mask: bits must have a stride of 1 between keys, got 2");
}

TEST(given_mask, refuses_calls_that_it_does_not_cover) {
  std::vector<float> const cells(3 * 2 * 5);
  given_mask const two(cells.data(), {3, 2, 5}), one(cells.data(), {3, 1, 5});
  EXPECT_NO_THROW(two.check("f", 3, 2, 5));
  EXPECT_NO_THROW(two.check("f", 1, 2, 0));
  EXPECT_NO_THROW(one.check("f", 3, 9, 5));
  auto const must = [](std::string const& what) {
    return "posenc: f: a given mask must have " + what;
  };
  EXPECT_EQ(
      message_of([&] { two.check("f", 4, 2, 5); }),
      must("at least 4 queries and 5 keys, of 1 head or of 2, got 3 queries and 5 keys of 2"));
  EXPECT_EQ(
      message_of([&] { two.check("f", 3, 2, 6); }),
      must("at least 3 queries and 6 keys, of 1 head or of 2, got 3 queries and 5 keys of 2"));
  for (std::size_t const heads : {1u, 3u, 4u})
    EXPECT_EQ(message_of([&] { two.check("f", 3, heads, 5); }),
              must("at least 3 queries and 5 keys, of 1 head or of " + std::to_string(heads) +
                   ", got 3 queries and 5 keys of 2"));
  std::vector<double> const slopes{1, 2};
  EXPECT_NO_THROW(one.with_slopes(slopes).check("f", 3, 2, 5));
  EXPECT_EQ(message_of([&] { one.with_slopes(slopes).check("f", 3, 4, 5); }),
            must("one slope for each of 4 heads, got 2"));
  EXPECT_EQ(message_of([&] { one.with_slopes({}).check("f", 3, 4, 5); }),
            must("one slope for each of 4 heads, got 0"));
}

TEST(given_mask, refuses_slopes_that_are_not_finite_or_of_no_biases) {
  std::vector<float> const cells(1);
  bool const sees = true;
  std::byte const byte{};
  for (auto const slope : {infinity(), not_a_number()}) {
    std::vector<double> const slopes{1, slope};
    EXPECT_EQ(message_of([&] {
                given_mask(cells.data(), {1, 1, 1}).with_slopes(slopes);
              }).find("posenc: given_mask: slopes must be finite, got "),
              0u);
  }
  std::vector<double> const slopes{1};
  for (auto const& mask : {given_mask(&sees, {1, 1, 1}), given_mask::bits(&byte, {1, 1, 1}, {1})})
    EXPECT_EQ(message_of([&] { mask.with_slopes(slopes); }),
              "posenc: given_mask: slopes must be of biases, got cells without");
}

TEST(given_mask, equals_the_same_memory_seen_in_the_same_way) {
  std::vector<float> const cells(12), others(12);
  given_mask const mask(cells.data(), {2, 1, 5}, {5});
  EXPECT_EQ(mask, given_mask(cells.data(), {2, 1, 5}));
  EXPECT_NE(mask, given_mask(others.data(), {2, 1, 5}));
  EXPECT_NE(mask, given_mask(cells.data(), {2, 1, 5}, {6}));
  EXPECT_NE(mask, given_mask(cells.data(), {2, 1, 4}, {5}));
  EXPECT_NE(mask, given_mask(reinterpret_cast<unsigned char const*>(cells.data()), {2, 1, 5}));
}

/// Where all keys of a row have a very low bias, sums are rounded to floats: to multiples of 2^-8
/// near -65504, so that a score is off by half of that, and a weight by twice as much of itself;
/// near -1e9 to multiples of 64, and all weights are equal.
TEST(given_mask, rounds_scores_where_all_biases_of_a_row_are_very_low) {
  constexpr std::size_t keys = 40, dims = 8;
  auto const q = numbers::random<float>(dims), k = numbers::random<float>(keys * dims, 2);
  std::vector<float> const v(keys, 1.0f);
  heads_view const of_q(q.data(), {1, 1, dims}), of_k(k.data(), {keys, 1, dims});
  heads_view const of_v(v.data(), {keys, 1, 1});
  auto const weights_with = [&](float bias) {
    std::vector<float> const cells(keys, bias);
    given_mask const given(cells.data(), {1, 1, keys});
    return attention(of_q, of_k, of_v, nope(),
                     {.mask = mask::given(given), .scale = 4.0, .keep_weights = true})
        .weights;
  };
  std::vector<double> exact;
  double sum = 0;
  for (std::size_t s = 0; s < keys; ++s) {
    double score = 0;
    for (std::size_t i = 0; i < dims; ++i)
      score += 4 * static_cast<double>(q[i]) * static_cast<double>(k[s * dims + i]);
    exact.push_back(std::exp(score)), sum += exact.back();
  }
  auto const low = weights_with(-65504), lowest = weights_with(-1e9f);
  double most = 0;
  for (std::size_t s = 0; s < keys; ++s) {
    most = std::max(most, std::abs(static_cast<double>(low[s]) / (exact[s] / sum) - 1));
    EXPECT_EQ(lowest[s], 1.0f / keys);
  }
  EXPECT_LE(most, std::expm1(0x1p-8) + 1e-5);
  EXPECT_GT(most, 1e-4);
}

}  // namespace
