#include "posenc/score/cope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/score_biases.hpp"
#include "score/rows.hpp"

namespace {

using namespace posenc;

constexpr std::size_t head_dim = 8;

/// <q, e[p]> = p squared for the query of ones, and so the interpolation is seen.
std::vector<float> squares(std::size_t positions) {
  std::vector<float> e(positions * head_dim);
  for (std::size_t p = 0; p < positions; ++p)
    e[p * head_dim + p % head_dim] = static_cast<float>(p * p);
  return e;
}
std::vector<double> const ones(head_dim, 1);

/// A gate is right within 12 roundings of itself, a sum of n of them within n more, and the table
/// changes by at most twice its largest from one position to the next. A product's terms are
/// rounded as of_dot_product says, thrice: on either side of p, and between them.
double tolerance_of(std::vector<float> const& e, std::vector<double> const& q, double position,
                    std::size_t keys, double scale) {
  double largest = 0;  // of a product, or of anything within one
  for (std::size_t i = 0; i < e.size(); i += head_dim) {
    double magnitude = 0;
    for (std::size_t j = 0; j < head_dim; ++j)
      magnitude += std::abs(static_cast<double>(e[i + j]) * q[j]);
    largest = std::max(largest, magnitude);
  }
  auto const of_position =
      (static_cast<double>(keys) + 12) * tolerance::unit_roundoff<double>() * position;
  return std::abs(scale) *
         (2 * largest * of_position + 4 * tolerance::of_dot_product<double>(head_dim, largest));
}

TEST(cope, adds_the_product_with_the_embedding_of_the_gates_from_key_to_query) {
  auto const keys = [](auto const& position) {
    std::vector<std::int64_t> result;
    for (std::int64_t s = 0; s < 24; ++s) result.push_back(position(s));
    return result;
  };
  for (auto const& at :
       {keys([](std::int64_t s) { return s; }), keys([](std::int64_t s) { return 23 - s; }),
        keys([](std::int64_t s) { return (s * 7) % 24 - 5; }),
        keys([](std::int64_t s) { return 100 * s - 1000; }),
        keys([](std::int64_t s) { return s / 3; })}) {
    for (std::size_t const positions : {25u, 4u, 1u}) {
      auto const e = numbers::random<float>(positions * head_dim, 5);
      for (double const scale : {1.0, 0.25, -3.0}) {
        cope const encoding(e, head_dim, scale);
        EXPECT_EQ(encoding.head_dim(), head_dim);
        EXPECT_EQ(encoding.positions(), positions);
        numbers::in_float_and_double([&]<class T>() {
          auto scores = numbers::random<T>(at.size(), 6);
          for (auto& x : scores) x *= 10;
          auto const query = numbers::random<T>(head_dim, 7);
          auto const q = numbers::exact(query), x = numbers::exact(scores);
          for (std::int64_t const query_position : {23, 11, -5, 2000}) {
            auto const actual = rows::adjusted(encoding, scores, 0, query_position, at, query);
            for (std::size_t s = 0; s < at.size(); ++s) {
              if (at[s] > query_position) {
                EXPECT_EQ(actual[s], scores[s]);
                continue;
              }
              auto const p = oracle::cope_position(x, at, query_position, at[s]);
              auto const bias = scale * static_cast<double>(oracle::cope_product(e, q, p));
              auto const of_bias = tolerance_of(e, q, static_cast<double>(p), at.size(), scale);
              EXPECT_NEAR(static_cast<double>(actual[s]), x[s] + bias,
                          rows::tolerance_of_sum<T>(x[s] + bias, bias, of_bias))
                  << "key at " << at[s] << ", query at " << query_position << ", " << positions
                  << " positions";
            }
          }
        });
      }
    }
  }
}

/// Scores of 0 make gates of 1/2: the key itself counts, so its own position is 1/2, and it takes
/// two keys to get one further.
TEST(cope, half_open_gates_count_every_second_key) {
  auto const actual = rows::adjusted(cope(squares(9), head_dim), std::vector<double>(6), 0, 5,
                                     {0, 1, 2, 3, 4, 5}, ones);
  EXPECT_EQ(actual, (std::vector<double>{9, 6.5, 4, 2.5, 1, 0.5}));
}

TEST(cope, open_gates_count_as_relative_positions_do_and_shut_ones_not_at_all) {
  std::vector<double> const scores{800,  800, -800, 800,
                                   -800, 800};  // the sigmoid of 800 is 1, of -800 nothing beside 1
  auto actual = rows::adjusted(cope(squares(9), head_dim), scores, 0, 5, {0, 1, 2, 3, 4, 5}, ones);
  for (std::size_t s = 0; s < 6; ++s) actual[s] -= scores[s];
  EXPECT_EQ(actual, (std::vector<double>{16, 9, 4, 4, 1, 1}));
}

TEST(cope, positions_beyond_the_last_are_the_last) {
  auto const actual = rows::adjusted(cope(squares(3), head_dim), std::vector<double>(8), 0, 7,
                                     {0, 1, 2, 3, 4, 5, 6, 7}, ones);
  EXPECT_EQ(actual, (std::vector<double>{4, 4, 4, 4, 4, 2.5, 1, 0.5}));
}

/// The listing of the paper's appendix adds the product as it is, the released code divides it by
/// sqrt(head_dim).
TEST(cope, the_scale_is_of_the_product_alone_and_not_of_the_gates) {
  auto const scores = numbers::random<double>(6);
  auto const at = std::vector<std::int64_t>{0, 1, 2, 3, 4, 5};
  auto const whole = rows::adjusted(cope(squares(9), head_dim), scores, 0, 5, at, ones);
  auto const half = rows::adjusted(cope(squares(9), head_dim, 0.5), scores, 0, 5, at, ones);
  for (std::size_t s = 0; s < 6; ++s)
    EXPECT_NEAR(half[s] - scores[s], (whole[s] - scores[s]) / 2,
                64 * tolerance::unit_roundoff<double>())
        << s;
}

TEST(cope, scores_that_are_no_numbers_count_nothing_and_stay) {
  std::vector<double> const scores{0, minus_infinity(), 0, not_a_number(), 0};
  auto const actual =
      rows::adjusted(cope(squares(9), head_dim), scores, 0, 4, {0, 1, 2, 3, 4}, ones);
  EXPECT_EQ(actual[4], 0.5);
  EXPECT_EQ(actual[2], 1);
  EXPECT_EQ(actual[0], 2.5);
  EXPECT_TRUE(numbers::same_bits(std::vector<double>{actual[1]}, std::vector<double>{scores[1]}));
  EXPECT_FALSE(is_finite(actual[3]));
}

/// The chain rule key by key: d score(s) reaches the score of every key u from s to the query by
/// the slope of the product at p_s and that of u's gate, 1/4 at most, and the query by e[p_s]. What
/// it takes is rounded as tolerance_of says; sums are of all keys and all positions.
TEST(cope, pulls_gradients_back_to_the_scores_of_all_keys_from_key_to_query_and_to_the_query) {
  auto const e = numbers::random<float>(5 * head_dim, 5);
  cope const encoding(e, head_dim, -0.7);
  std::vector<std::int64_t> rising, scattered, twice;
  for (std::int64_t s = 0; s < 24; ++s)
    rising.push_back(s), scattered.push_back((s * 7) % 24 - 5), twice.push_back(s / 2);
  for (auto const& at : {rising, scattered, twice}) {
    for (std::int64_t const query_position : {23, 11, -9}) {
      numbers::in_float_and_double([&]<class T>() {
        auto scores = numbers::random<T>(24, 6);
        for (auto& x : scores) x *= 3;
        auto const query = numbers::random<T>(head_dim, 7), d_before = numbers::random<T>(24, 8),
                   d_query_before = numbers::random<T>(head_dim, 9);
        auto d = d_before, d_query = d_query_before;
        encoding.backward_scores(score_row<T const>{scores, 0, query_position, at, query},
                                 std::span<T>(d), std::span<T>(d_query));

        auto const x = numbers::exact(scores), q = numbers::exact(query),
                   d_scores = numbers::exact(d_before);
        std::vector<oracle::wide> expected(d_scores.begin(), d_scores.end()), of_query;
        for (auto const number : numbers::exact(d_query_before))
          of_query.push_back(static_cast<oracle::wide>(number));
        double magnitude = 0;
        for (std::size_t s = 0; s < at.size(); ++s) {
          if (at[s] > query_position) continue;
          auto const p = oracle::cope_position(x, at, query_position, at[s]),
                     below = oracle::floor(p);
          auto const d_bias = -0.7L * static_cast<oracle::wide>(d_scores[s]);
          magnitude += std::abs(d_scores[s]);
          for (std::size_t i = 0; i < head_dim; ++i) {
            std::vector<double> unit(head_dim);
            unit[i] = 1;
            of_query[i] += d_bias * oracle::cope_product(e, unit, p);
          }
          if (p >= 4) continue;
          auto const slope =
              oracle::cope_product(e, q, below + 1) - oracle::cope_product(e, q, below);
          for (std::size_t u = 0; u < at.size(); ++u) {
            if (at[u] < at[s] || at[u] > query_position) continue;
            auto const gate = 1 / (1 + oracle::exp(-static_cast<oracle::wide>(x[u])));
            expected[u] += d_bias * slope * gate * (1 - gate);
          }
        }
        auto const of_bias = 0.7 * magnitude * tolerance_of(e, q, 24, 24, 1);
        for (std::size_t s = 0; s < at.size(); ++s) {
          auto const exact = static_cast<double>(expected[s]);
          EXPECT_NEAR(static_cast<double>(d[s]), exact,
                      of_bias + tolerance::of_storing<T>(std::abs(exact) + of_bias))
              << "key at " << at[s];
        }
        for (std::size_t i = 0; i < head_dim; ++i) {
          auto const exact = static_cast<double>(of_query[i]);
          EXPECT_NEAR(static_cast<double>(d_query[i]), exact,
                      of_bias + tolerance::of_storing<T>(std::abs(exact) + of_bias))
              << i;
        }
      });
    }
  }
}

TEST(cope,
     gradients_of_0_stay_0_whatever_the_score_and_nothing_reaches_scores_that_are_no_numbers) {
  cope const encoding(squares(9), head_dim);
  std::vector<double> const scores{not_a_number(), minus_infinity(), 0, 0};
  std::vector<std::int64_t> const at{0, 1, 2, 3};
  std::vector<double> d{0, 0, 0, 1}, d_query(head_dim);
  encoding.backward_scores(score_row<double const>{scores, 0, 3, at, ones}, std::span(d),
                           std::span(d_query));
  EXPECT_EQ(d,
            (std::vector<double>{0, 0, 0, 1 + 0.25}));  // the gate of the last key itself: p = 1/2,
                                                        // the product of slope 1, the gate's 1/4
  EXPECT_EQ(d_query, (std::vector<double>{0, 0.5, 0, 0, 0, 0, 0, 0}));
  d = {1, 0, 0, 0};
  encoding.backward_scores(score_row<double const>{scores, 0, 3, at, ones}, std::span(d),
                           std::span(d_query));
  EXPECT_EQ(d, (std::vector<double>{
                   1, 0, 0.75, 0.75}));  // p = 1, where the slope is that of the line above, 4 - 1
}

TEST(cope, gradients_of_0_reach_nothing_whatever_the_query) {
  cope const encoding(squares(9), head_dim);
  std::vector<double> const scores{0, 1, 2}, query(head_dim, not_a_number());
  std::vector<std::int64_t> const at{0, 1, 2};
  std::vector<double> d(3), d_query(head_dim);
  encoding.backward_scores(score_row<double const>{scores, 0, 2, at, query}, std::span(d),
                           std::span(d_query));
  EXPECT_EQ(d, std::vector<double>(3));
  EXPECT_EQ(d_query, std::vector<double>(head_dim));
}

TEST(cope, refuses_gradients_that_are_not_one_a_score_and_a_number_of_the_query) {
  cope const encoding(squares(3), head_dim);
  std::vector<double> const scores{1, 2};
  std::vector<std::int64_t> const at{0, 1};
  std::vector<double> d{3, 4}, d_query(head_dim);
  auto const rejected = [&](std::size_t keys, std::size_t numbers, std::size_t of_query) {
    return message_of([&] {
      encoding.backward_scores(
          score_row<double const>{scores, 0, 5, at, std::span(ones).first(of_query)},
          std::span(d).first(keys), std::span(d_query).first(numbers));
    });
  };
  EXPECT_EQ(rejected(1, 8, 8),
            "posenc: cope: there must be one gradient for each of 2 scores and 8 numbers of the "
            "query, got 1 and 8");
  EXPECT_EQ(rejected(2, 7, 8),
            "posenc: cope: there must be one gradient for each of 2 scores and 8 numbers of the "
            "query, got 2 and 7");
  EXPECT_EQ(rejected(2, 8, 7), "posenc: cope: the query must have 8 numbers, got 7");
  EXPECT_EQ(d, (std::vector<double>{3, 4}));
  EXPECT_EQ(d_query, std::vector<double>(head_dim));
}

TEST(cope, bad_settings_are_rejected) {
  auto e = squares(3);
  EXPECT_EQ(message_of([&] { cope(e, 0); }), "posenc: cope: head_dim must be positive, got 0");
  EXPECT_EQ(message_of([&] { cope(e, 7); }),
            "posenc: cope: the embeddings must be vectors of 7 numbers, got 24 numbers");
  EXPECT_EQ(message_of([&] { cope({}, 7); }),
            "posenc: cope: the embeddings must be vectors of 7 numbers, got 0 numbers");
  EXPECT_EQ(message_of([&] { cope(e, 8, infinity()); }),
            "posenc: cope: scale must be finite, got infinity");
  e[17] = float_of_bits(0x7fc00000);
  EXPECT_EQ(message_of([&] { cope(e, 8); }),
            "posenc: cope: embeddings must be finite, got NaN at position 2");
}

TEST(cope,
     queries_of_another_size_or_keys_without_positions_are_refused_and_the_scores_left_alone) {
  cope const encoding(squares(3), head_dim);
  std::vector<double> scores{1, 2};
  auto const rejected = [&](std::size_t numbers, std::vector<std::int64_t> const& at) {
    return message_of([&] {
      encoding.adjust_scores(score_row<double>{scores, 0, 5, at, std::span(ones).first(numbers)});
    });
  };
  EXPECT_EQ(rejected(7, {0, 1}), "posenc: cope: the query must have 8 numbers, got 7");
  EXPECT_EQ(rejected(0, {0, 1}), "posenc: cope: the query must have 8 numbers, got 0");
  EXPECT_EQ(rejected(8, {0, 1, 2}),
            "posenc: cope: there must be one position per key, got 3 positions for 2 keys");
  EXPECT_EQ(scores, (std::vector<double>{1, 2}));
}

TEST(cope, obeys_the_laws_of_its_site) {
  laws::obey("2 heads", cope(numbers::random<float>(6 * laws::head_dim, 8), laws::head_dim), 2,
             laws::of_distance);
}

}  // namespace
