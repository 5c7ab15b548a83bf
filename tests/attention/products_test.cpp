#include "posenc/attention/products.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using detail::block_shape;

// Causal queries 20 to 29 in groups of 2 rows, one kv head: more rows than are read in place.
constexpr std::size_t first_query = 20, queries = 10, group = 2, rows = queries * group, dims = 5;
std::vector<token_range> causal() {
  std::vector<token_range> ranges;
  for (std::size_t t = 0; t < queries; ++t) ranges.push_back({t / 2, first_query + t + 1});
  return ranges;
}
static_assert(rows > detail::few_rows);

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
  detail::multiply_scores(scores.data(), 0.5, q.data(),
                          heads_view<double const>(k.data(), {keys, 1, dims}), b.shape);
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
    std::vector<double> outputs(rows * dims, 9);
    detail::multiply_outputs(outputs.data(), weights.data(),
                             heads_view<double const>(v.data(), {keys, 1, dims}), b.shape,
                             shares.data());
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
  detail::add_transposed_product(heads_view<double>(sums.data(), {keys, 1, dims}), factors.data(),
                                 numbers_of_rows.data(), b.shape);
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

TEST(multiply, gives_the_same_bits_at_any_address) {
  auto const a = numbers::random<double>(6, 7), b = numbers::random<double>(6, 8);
  std::vector<double> memory(16, 0.5);
  for (std::size_t offset = 0; offset < 8; ++offset) {
    std::span<double> const to(memory.data() + offset, 4);
    std::array<double, 4> expected{};
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        for (std::size_t n = 0; n < 3; ++n) expected[2 * i + j] += a[3 * i + n] * b[2 * n + j];
    detail::multiply<false>(detail::dense_rows(to.data(), 2, 2), 2.0,
                            detail::dense_rows(a.data(), 2, 3), detail::dense_rows(b.data(), 3, 2));
    std::vector<double> const once(to.begin(), to.end());
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(once[i], 2 * expected[i], 16 * tolerance::unit_roundoff<double>());
    static std::vector<double> const at_0 = once;
    EXPECT_EQ(once, at_0);
    detail::multiply<true>(detail::dense_rows(to.data(), 2, 2), 2.0,
                           detail::dense_rows(a.data(), 2, 3), detail::dense_rows(b.data(), 3, 2));
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(to[i], 2 * once[i], 16 * tolerance::unit_roundoff<double>());
  }
}

}  // namespace
