#include "posenc/attention/detail/products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/attention/detail/backward_blocks.hpp"
#include "posenc/attention/detail/finish_outputs.hpp"
#include "posenc/heads/heads_view.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using detail::block_shape;

// Causal queries 20 to 29 in groups of 2 rows, one kv head.
constexpr std::size_t first_query = 20, queries = 10, group = 2, rows = queries * group, dims = 5;
std::vector<token_range> causal() {
  std::vector<token_range> ranges;
  for (std::size_t t = 0; t < queries; ++t) ranges.push_back({t / 2, first_query + t + 1});
  return ranges;
}

struct block {
  std::vector<token_range> ranges = causal();
  block_shape shape{ranges, {0, first_query + queries}, 1, group};
  bool sees(std::size_t row, std::size_t key) const {
    auto const [first, last] = ranges[row / group];
    return key >= first && key < last;
  }
  std::vector<double> zero_where_hidden(std::vector<double> of_rows) const {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t s = 0; s < shape.seen(); ++s)
        if (!sees(row, s)) of_rows[row * shape.seen() + s] = 0;
    return of_rows;
  }
};

TEST(all_finite, is_false_for_one_that_is_not_anywhere) {
  for (std::size_t const size : {1u, 2u, 17u, 64u}) {
    std::vector<double> numbers(size, -std::numeric_limits<double>::max());
    EXPECT_TRUE(detail::all_finite(std::span<double const>(numbers)));
    for (auto const wrong : {infinity(), minus_infinity(), not_a_number()}) {
      for (auto& x : numbers) {
        auto const before = x;
        x = wrong;
        EXPECT_FALSE(detail::all_finite(std::span<double const>(numbers)));
        x = before;
      }
    }
  }
  EXPECT_TRUE(detail::all_finite(std::span<float const>()));
}

TEST(multiply_scores, are_products_where_a_query_sees_a_key) {
  block const b;
  auto const keys = b.shape.seen();
  auto const q = numbers::random<double>(rows * dims, 1),
             k = numbers::random<double>(keys * dims, 2);
  std::vector<double> scores(rows * keys);
  detail::tile_panels<double> panels(heads_view<double const>(k.data(), {keys, 1, dims}));
  detail::multiply_scores(scores.data(), 0.5, q.data(), panels, b.shape);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t s = 0; s < keys; ++s) {
      if (!b.sees(row, s)) continue;
      double sum = 0, magnitude = 0;
      for (std::size_t i = 0; i < dims; ++i) {
        sum += q[row * dims + i] * k[s * dims + i];
        magnitude += std::abs(q[row * dims + i] * k[s * dims + i]);
      }
      ASSERT_NEAR(scores[row * keys + s], 0.5 * sum,
                  (2 * dims + 2) * tolerance::unit_roundoff<double>() * magnitude);
    }
  }
}

TEST(multiply_outputs, sum_what_a_query_sees_whatever_is_hidden) {
  block const b;
  auto const keys = b.shape.seen();
  auto const weights = b.zero_where_hidden(numbers::random<double>(rows * keys, 3));
  auto v = numbers::random<double>(keys * dims, 4);
  std::vector<double> shares(rows);
  for (std::size_t row = 0; row < rows; ++row) shares[row] = 1 + 0.25 * static_cast<double>(row);
  std::array const hidden{0.0, infinity(), not_a_number()};
  for (std::size_t n = 0; n < hidden.size(); ++n) {
    v[(keys - 1) * dims + 1] = hidden[n];  // the last query alone sees the last key
    std::vector<double> outputs(rows * dims);
    detail::tile_panels<double> panels(heads_view<double const>(v.data(), {keys, 1, dims}));
    detail::multiply_outputs(outputs.data(), weights.data(), panels, b.shape);
    detail::finish_outputs(outputs.data(), weights.data(), panels.head(), b.shape, shares.data());
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < dims; ++i) {
        double sum = 0, magnitude = 0;
        for (std::size_t s = 0; s < keys; ++s) {
          if (!b.sees(row, s)) continue;
          sum += weights[row * keys + s] * v[s * dims + i];
          magnitude += std::abs(weights[row * keys + s] * v[s * dims + i]);
        }
        auto const found = outputs[row * dims + i];
        if (n > 0 && i == 1 && row + group >= rows) {
          EXPECT_FALSE(is_finite(found));
        } else {
          ASSERT_NEAR(found, shares[row] * sum,
                      static_cast<double>(2 * keys + 2) * tolerance::unit_roundoff<double>() *
                          shares[row] * magnitude)
              << "row " << row << ", dim " << i << ", hidden " << n;
        }
      }
    }
  }
}

TEST(add_transposed_product, leaves_rows_out_whose_factor_is_0) {
  block const b;
  auto const keys = b.shape.seen();
  auto const factors = b.zero_where_hidden(numbers::random<double>(rows * keys, 5));
  auto numbers_of_rows = numbers::random<double>(rows * dims, 6);
  auto constexpr spoilt = rows - 1;  // seen by no key but those of the last query
  numbers_of_rows[spoilt * dims] = not_a_number();
  std::vector<double> sums(keys * dims, 1);
  detail::tile_panels<double> panels(
      heads_view<double const>(numbers_of_rows.data(), {rows, 1, dims}));
  detail::add_transposed_product(heads_view<double>(sums.data(), {keys, 1, dims}), factors.data(),
                                 numbers_of_rows.data(), panels, b.shape);
  for (std::size_t s = 0; s < keys; ++s) {
    for (std::size_t i = 0; i < dims; ++i) {
      double sum = 1, magnitude = 1;
      for (std::size_t row = 0; row < rows; ++row) {
        if (!b.sees(row, s)) continue;
        sum += factors[row * keys + s] * numbers_of_rows[row * dims + i];
        magnitude += std::abs(factors[row * keys + s] * numbers_of_rows[row * dims + i]);
      }
      if (i == 0 && b.sees(spoilt, s)) {
        EXPECT_FALSE(is_finite(sums[s * dims + i]));
      } else {
        ASSERT_NEAR(sums[s * dims + i], sum,
                    (2 * rows + 2) * tolerance::unit_roundoff<double>() * magnitude);
      }
    }
  }
}

/// The products of one kv head whose keys, or values, have gaps between them. Some queries see some
/// keys, some none, the last all.
template <class T>
struct random_block {
  std::size_t rows, keys, dims, apart = dims + 3;
  std::vector<token_range> ranges = [this] {
    std::vector<token_range> seen(rows);
    for (std::size_t t = 0; t < rows; ++t) {
      auto const last = std::min(keys, std::max<std::size_t>(keys * (t + 1) / rows, 1));
      auto const blind = t % 5 == 4 || (t / detail::tile_rows == 1 && rows > 2 * detail::tile_rows);
      seen[t] = blind ? token_range{0, 0} : token_range{last * (t % 3) / 4, last};
    }
    seen.back() = {0, keys};
    return seen;
  }();
  block_shape shape{ranges, {0, keys}, 1, 1};
  std::vector<T> q = numbers::random<T>(rows * dims, 1), k = numbers::random<T>(keys * apart, 2),
                 w = numbers::random<T>(rows * keys, 3);

  random_block(std::size_t its_rows, std::size_t its_keys, std::size_t its_dims)
      : rows(its_rows), keys(its_keys), dims(its_dims) {
    for (std::size_t i = 0; i < w.size(); ++i)
      if (!sees(i / keys, i % keys)) w[i] = 0;
  }
  bool sees(std::size_t row, std::size_t key) const {
    return key >= ranges[row].first && key < ranges[row].last;
  }
  template <class S>
  heads_view<S> tokens(S* of) const {
    auto const stride = static_cast<std::ptrdiff_t>(apart);
    return {of, {keys, 1, dims}, {stride, stride}};
  }

  std::vector<T> scores() const {
    std::vector<T> all(rows * keys + 1, T{9});
    detail::tile_panels<T> panels(tokens<T const>(k.data()));
    detail::multiply_scores(all.data(), T(0.5), q.data(), panels, shape);
    EXPECT_EQ(all.back(), T{9}) << "nothing is written beyond";
    all.pop_back();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!sees(i / keys, i % keys)) all[i] = 0;
    return all;
  }
  std::vector<T> outputs() const {
    std::vector<T> all(rows * dims + 1);
    detail::tile_panels<T> panels(tokens<T const>(k.data()));
    detail::multiply_outputs(all.data(), w.data(), panels, shape);
    detail::finish_outputs<T>(all.data(), w.data(), panels.head(), shape, nullptr);
    EXPECT_EQ(all.back(), T{0}) << "nothing is written beyond";
    all.pop_back();
    return all;
  }
  std::vector<T> transposed() const {
    std::vector<T> all(keys * apart, T{1});
    detail::tile_panels<T> panels(heads_view<T const>(q.data(), {rows, 1, dims}));
    detail::add_transposed_product(tokens(all.data()), w.data(), q.data(), panels, shape);
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(i % apart < dims || all[i] == T{1}) << "nothing is written between";
    return all;
  }

  void expect_products() const {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << keys << " keys, " << dims << " dims");
    auto const near = [](T found, oracle::wide sum, std::size_t terms) {
      return testing::AssertionResult(
          std::abs(static_cast<double>(found) - static_cast<double>(sum)) <=
          tolerance::of_dot_product<T>(terms, static_cast<double>(terms)));
    };
    auto const wide = [](T x) { return static_cast<oracle::wide>(x); };
    auto const s = scores(), o = outputs(), g = transposed();
    std::vector<oracle::wide> sums(keys * dims, 1);
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<oracle::wide> output(dims);
      for (std::size_t key = ranges[row].first; key < ranges[row].last; ++key) {
        oracle::wide score = 0;
        for (std::size_t i = 0; i < dims; ++i) {
          auto const x = wide(k[key * apart + i]), y = wide(q[row * dims + i]);
          score += x * y, output[i] += wide(w[row * keys + key]) * x;
          sums[key * dims + i] += wide(w[row * keys + key]) * y;
        }
        ASSERT_TRUE(near(s[row * keys + key], score / 2, dims + 1)) << row << ' ' << key;
      }
      for (std::size_t i = 0; i < dims; ++i)
        ASSERT_TRUE(near(o[row * dims + i], output[i], keys)) << row << ' ' << i;
    }
    for (std::size_t key = 0; key < keys; ++key)
      for (std::size_t i = 0; i < dims; ++i)
        ASSERT_TRUE(near(g[key * apart + i], sums[key * dims + i], rows + 1)) << key << ' ' << i;
  }
};

template <class T>
void expect_every_tail() {
  constexpr auto size = detail::lanes<T>::size, columns = detail::tile_columns<T>;
  constexpr std::size_t few = 9, terms = detail::tile_terms;
  for (auto const count : {few, few + 1, few + 2, few + 3, few + 4, few + 5})
    random_block<T>(count, columns + 3, size + 1).expect_products();
  for (auto const keys : {std::size_t{1}, size, size + 1, columns - 1, columns, columns + 1,
                          2 * columns, terms - 1, terms, terms + 1})
    random_block<T>(few, keys, 5).expect_products();
  for (auto const dim : {std::size_t{1}, size - 1, size, size + 1, columns - 1, columns,
                         columns + 1, columns + size, terms - 1, terms, terms + 1, 2 * terms + 5})
    if (dim > 0) random_block<T>(few, 7, dim).expect_products();
  random_block<T>(terms + 7, terms + 5, 3).expect_products();
}

TEST(products, are_right_at_every_tail) {
  expect_every_tail<float>();
  expect_every_tail<double>();
}

#if !defined(__FAST_MATH__)
/// A number depends on its row and column alone, not on where these are or what is around them.
TEST(products, have_the_same_bits_anywhere) {
  constexpr std::size_t keys = detail::tile_terms + 9;
  random_block<float> const all(15, keys, detail::tile_columns<float> + 5);
  auto const scores = all.scores(), outputs = all.outputs();
  for (std::size_t const count : {9u, 12u, 14u}) {
    auto some = all;
    some.rows = count;
    some.shape.ranges = std::span(all.ranges).first(count);
    for (auto const& [mine, theirs] :
         {std::pair{some.scores(), &scores}, {some.outputs(), &outputs}})
      EXPECT_TRUE(std::equal(mine.begin(), mine.end(), theirs->begin())) << count;
  }
  for (std::size_t shift = 1; shift < 16; ++shift) {
    auto moved = all;
    moved.k.insert(moved.k.begin(), shift, 0.0f), moved.q.insert(moved.q.begin(), shift, 0.0f);
    std::vector<float> found(scores.size() + shift);
    auto* const to = found.data() + shift;
    auto const* const q = moved.q.data() + shift;
    detail::tile_panels<float> k(all.tokens<float const>(moved.k.data() + shift)), v(k.head());
    detail::multiply_scores(to, 0.5f, q, k, all.shape);
    for (std::size_t i = 0; i < scores.size(); ++i)
      ASSERT_TRUE(!all.sees(i / keys, i % keys) || to[i] == scores[i]) << shift;
    std::fill_n(to, outputs.size(), 0.0f);
    detail::multiply_outputs(to, all.w.data(), v, all.shape);
    EXPECT_TRUE(std::equal(outputs.begin(), outputs.end(), to)) << shift;
  }
}
#endif

TEST(products, of_hidden_keys_that_are_no_numbers_change_nothing) {
  constexpr std::size_t keys = 40;
  random_block<float> const clean(10, keys, 20);
  auto spoilt = clean;
  for (std::size_t row = 0; row < 10; ++row) spoilt.ranges[row].last = 33;
  spoilt.ranges[3] = {2, 5}, spoilt.shape.ranges = spoilt.ranges;
  auto expected = spoilt;
  for (std::size_t key = 33; key < keys; ++key)
    for (std::size_t row = 0; row < 10; ++row) spoilt.w[row * keys + key] = 0;
  expected.w = spoilt.w;
  for (std::size_t i = 33 * spoilt.apart; i < spoilt.k.size(); ++i)
    spoilt.k[i] = float_of_bits(0x7fc0'0000);
  EXPECT_EQ(spoilt.scores(), expected.scores());
  EXPECT_EQ(spoilt.outputs(), expected.outputs());
}

}  // namespace
