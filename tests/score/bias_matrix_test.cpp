#include "posenc/score/bias_matrix.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/alibi.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/forget_gates.hpp"
#include "posenc/score/kerple.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/row_exponentials.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using positions = std::vector<std::int64_t>;

positions const at_queries{5, 700, -3}, at_keys{0, 4, 5, 1'000'000};

/// Says in its digits where it stands.
struct by_positions {
  double bias(std::size_t head, std::int64_t query, std::int64_t key) const {
    return 10'000.0 * static_cast<double>(head) + 100.0 * static_cast<double>(query) +
           static_cast<double>(key);
  }
};

TEST(bias_matrix, has_heads_then_queries_then_keys) {
  EXPECT_EQ(bias_matrix<double>(by_positions(), 2, {3, 1}, {7, 2, 9}),
            (std::vector<double>{307, 302, 309, 107, 102, 109,  //
                                 10'307, 10'302, 10'309, 10'107, 10'102, 10'109}));
}

TEST(bias_matrix, is_the_papers_of_alibi_in_every_format) {
  numbers::in_every_format([]<class T>() {
    auto const matrix = bias_matrix<T>(alibi(12), 12, at_queries, at_keys);
    ASSERT_EQ(matrix.size(), 12 * at_queries.size() * at_keys.size());
    auto const numbers = numbers::exact(matrix);
    std::size_t i = 0;
    for (std::size_t head = 0; head < 12; ++head) {
      for (auto const t : at_queries) {
        for (auto const s : at_keys) {
          auto const expected =
              -oracle::slope(head, 12) * std::abs(static_cast<double>(t) - static_cast<double>(s));
          if (std::abs(expected) < 65'504) {
            EXPECT_NEAR(numbers[i], expected,
                        4 * tolerance::unit_roundoff<double>() * std::abs(expected) +
                            tolerance::of_storing<T>(expected));
          }
          ++i;
        }
      }
    }
  });
}

TEST(bias_matrix, of_a_scheme_is_the_sum_of_its_biases) {
  kerple_log const kernel({{1, 0.5}, {2, 0.25}});
  std::vector<float> const log_gates(2 * 8, -0.125f);
  forget_gates const gates(log_gates, 2);
  positions const first{5, 7}, all{0, 1, 2, 3, 4, 5};
  auto const sum = bias_matrix<double>(
      scheme{rope<halves>(geometric(8, 1e4)), alibi(2), kernel, gates}, 2, first, all);
  auto const a = bias_matrix<double>(alibi(2), 2, first, all),
             b = bias_matrix<double>(kernel, 2, first, all),
             c = bias_matrix<double>(gates, 2, first, all);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    EXPECT_NEAR(
        sum[i], a[i] + b[i] + c[i],
        4 * tolerance::unit_roundoff<double>() * (std::abs(a[i]) + std::abs(b[i]) + std::abs(c[i])))
        << "two sums, each of products that may be fused or not";
  }
  EXPECT_EQ(c[0], -0.125 * 5) << "from key 0 to query 5";
  EXPECT_NE(b[0], 0);
}

TEST(bias_matrix, is_written_to_any_memory_for_positions_of_any_integer_type) {
  auto const expected = bias_matrix(alibi(2), 2, at_queries, at_keys);
  std::vector<float> in_vector(24);
  std::array<float, 24> in_array;
  std::vector<std::int32_t> const narrow_queries(at_queries.begin(), at_queries.end()),
      narrow_keys(at_keys.begin(), at_keys.end());
  write_bias_matrix(alibi(2), 2, narrow_queries, narrow_keys, in_vector);
  write_bias_matrix(alibi(2), 2, {5, 700, -3}, {0, 4, 5, 1'000'000}, std::span(in_array));
  EXPECT_TRUE(numbers::same_bits(in_vector, expected));
  EXPECT_TRUE(std::ranges::equal(in_array, expected));
  EXPECT_TRUE(bias_matrix(alibi(2), 2, {}, at_keys).empty());
  EXPECT_TRUE(bias_matrix(alibi(2), 2, at_queries, {}).empty());
}

TEST(bias_matrix, refuses_other_heads_and_memory_and_writes_nothing) {
  std::vector<float> memory(24, 7);
  EXPECT_EQ(message_of([&] { write_bias_matrix(alibi(4), 2, at_queries, at_keys, memory); }),
            "posenc: write_bias_matrix: the encoding must have 2 heads, got 4");
  EXPECT_EQ(message_of([&] { write_bias_matrix(alibi(4), 0, at_queries, at_keys, memory); }),
            "posenc: write_bias_matrix: there must be a head, got 0");
  EXPECT_EQ(message_of([&] { write_bias_matrix(alibi(3), 3, at_queries, at_keys, memory); }),
            "posenc: write_bias_matrix: there must be one number for each of 3 heads, 3 queries "
            "and 4 keys, got 24");
  EXPECT_EQ(message_of([&] {
              write_bias_matrix(alibi(2), 2, at_queries, {1, 2, 3}, memory);
            }),
            "posenc: write_bias_matrix: there must be one number for each of 2 heads, 3 queries "
            "and 3 keys, got 24");
  EXPECT_EQ(memory, std::vector<float>(24, 7));
  EXPECT_TRUE(numbers::same_bits(bias_matrix(alibi(2), 2, at_queries, at_keys),
                                 bias_matrix(scheme{alibi(2)}, 2, at_queries, at_keys)));
}

std::vector<std::int64_t> from(std::int64_t first, std::size_t count) {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(first + static_cast<std::int64_t>(i));
  return all;
}

// Attention gives each row its query's and first key's index: tests/attention/.
TEST(attention_bias, of_an_encodings_matrix_is_the_encoding) {
  auto const queries = from(20, 70), keys = from(0, 90);
  auto const matrix = bias_matrix<double>(alibi(4), 4, queries, keys);
  attention_bias const stored(matrix, 4, 70, 90);
  EXPECT_EQ(bias_matrix<double>(scheme{stored}, 4, queries, keys), matrix);
}

TEST(attention_bias, adds_what_stands_at_head_query_and_key) {
  numbers::in_every_format([]<class T>() {
    auto const biases = numbers::random<T>(3 * 4 * 5);
    auto const exact = numbers::exact(biases);
    auto const at = from(100, 5);
    for (std::size_t const heads : {3u, 1u}) {
      attention_bias const stored(biases, heads, heads == 1 ? 12 : 4, 5);
      for (std::size_t head = 0; head < 3; ++head) {
        for (std::size_t query = 0; query < 4; ++query) {
          for (std::size_t first = 0; first < 5; ++first) {
            std::vector<double> scores(5 - first, 0.5);
            stored.adjust_scores(score_row<double>{
                scores, head, 0, positions_view(at).subspan(first), {}, query, first});
            for (std::size_t i = 0; i < scores.size(); ++i) {
              auto const row = (heads == 1 ? 0 : head * 4) + query;
              EXPECT_EQ(scores[i], 0.5 + exact[row * 5 + first + i]);
            }
          }
        }
      }
    }
  });
}

TEST(attention_bias, obeys_the_laws_of_its_site) {
  std::vector<float> const all_alike(100'000, -0.3f);
  laws::obey("all keys alike", attention_bias(all_alike, 1, 1, all_alike.size()), 1, laws::added);
}

TEST(attention_bias, says_what_must_hold) {
  std::vector<float> numbers(24);
  EXPECT_EQ(message_of([&] { attention_bias(numbers, 0, 4, 6); }),
            "posenc: attention_bias: there must be a head, got 0");
  for (auto const& [heads, queries, keys] :
       {std::array<std::size_t, 3>{2, 3, 5}, {5, 1, 1}, {2, 0, 12}, {1, 24, 0}}) {
    EXPECT_NE(message_of([&, heads = heads, queries = queries, keys = keys] {
                attention_bias(numbers, heads, queries, keys);
              }).find("there must be one number for each of "),
              std::string::npos);
  }
  std::vector<float> const none;
  EXPECT_NO_THROW(attention_bias(none, 2, 0, 7));
  EXPECT_EQ(
      message_of([&] { detail::require_heads("attention", attention_bias(numbers, 3, 2, 4), 4); }),
      "posenc: attention: the encoding must have 4 heads, got 3");
  EXPECT_NO_THROW(detail::require_heads("attention", attention_bias(numbers, 1, 4, 6), 4));
  attention_bias const stored(numbers, 2, 3, 4);
  std::vector<float> scores(2, 7);
  auto const adjust = [&](std::size_t head, std::size_t query, std::size_t first,
                          std::size_t keys) {
    auto const at = from(0, keys);
    stored.adjust_scores(
        score_row<float>{std::span(scores).first(keys), head, 0, at, {}, query, first});
  };
  auto const must = std::string("posenc: attention_bias: there must be biases [2][3][4] of head ");
  EXPECT_EQ(message_of([&] { adjust(2, 2, 3, 1); }), must + "2, query 2 and 1 keys from 3 on");
  EXPECT_EQ(message_of([&] { adjust(1, 3, 3, 1); }), must + "1, query 3 and 1 keys from 3 on");
  EXPECT_EQ(message_of([&] { adjust(1, 2, 3, 2); }), must + "1, query 2 and 2 keys from 3 on");
  EXPECT_EQ(message_of([&] { adjust(1, 2, 5, 0); }), must + "1, query 2 and 0 keys from 5 on");
  EXPECT_EQ(scores, std::vector<float>(2, 7));
  EXPECT_NO_THROW(adjust(1, 2, 3, 1));
  for (auto const& [number, name] : {std::pair(infinity(), "infinity"), {not_a_number(), "NaN"}}) {
    numbers[7] = static_cast<float>(number);
    EXPECT_EQ(
        message_of([&] { attention_bias(numbers, 2, 3, 4); }),
        std::string("posenc: attention_bias: biases must be finite or -infinity, got ") + name);
  }
}

TEST(attention_bias, of_minus_infinity_hides_whatever_the_score) {
  numbers::in_every_format([]<class T>() {
    std::vector<T> biases(4);
    store(biases[1], static_cast<arithmetic_t<T>>(minus_infinity()));
    store(biases[3], static_cast<arithmetic_t<T>>(minus_infinity()));
    attention_bias const stored(biases, 1, 1, 4);
    auto const at = from(0, 4);
    std::vector<float> scores{1, 2, 3, static_cast<float>(infinity())};
    stored.adjust_scores(score_row<float>{scores, 0, 0, at, {}});
    EXPECT_EQ(scores[0], 1);
    EXPECT_EQ(scores[2], 3);
    EXPECT_TRUE(is_masked(scores[1]) && is_masked(scores[3]));
    adjust_scores(scheme{stored, soft_cap(2)}, score_row<float>{scores, 0, 0, at, {}});
    EXPECT_TRUE(is_masked(scores[1])) << "a soft cap keeps it";
    auto const matrix = bias_matrix<T>(scheme{alibi(1), stored}, 1, {3}, at);
    EXPECT_EQ(numbers::exact(matrix)[0], bias_matrix<double>(alibi(1), 1, {3}, at)[0]);
    EXPECT_TRUE(is_masked(load(matrix[1])));
  });
}

}  // namespace
