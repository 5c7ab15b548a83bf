#include "posenc/score/bias_matrix.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numbers.hpp"
#include "oracle/alibi.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/forget_gates.hpp"
#include "posenc/score/kerple.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using positions = std::vector<std::int64_t>;

positions const queries{5, 700, -3}, keys{0, 4, 5, 1'000'000};

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
    auto const matrix = bias_matrix<T>(alibi(12), 12, queries, keys);
    ASSERT_EQ(matrix.size(), 12 * queries.size() * keys.size());
    auto const numbers = numbers::exact(matrix);
    std::size_t i = 0;
    for (std::size_t head = 0; head < 12; ++head) {
      for (auto const t : queries) {
        for (auto const s : keys) {
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
  auto const expected = bias_matrix(alibi(2), 2, queries, keys);
  std::vector<float> in_vector(24);
  std::array<float, 24> in_array;
  std::vector<std::int32_t> const narrow_queries(queries.begin(), queries.end()),
      narrow_keys(keys.begin(), keys.end());
  write_bias_matrix(alibi(2), 2, narrow_queries, narrow_keys, in_vector);
  write_bias_matrix(alibi(2), 2, {5, 700, -3}, {0, 4, 5, 1'000'000}, std::span(in_array));
  EXPECT_TRUE(numbers::same_bits(in_vector, expected));
  EXPECT_TRUE(std::ranges::equal(in_array, expected));
  EXPECT_TRUE(bias_matrix(alibi(2), 2, {}, keys).empty());
  EXPECT_TRUE(bias_matrix(alibi(2), 2, queries, {}).empty());
}

struct of_any_of_its_heads : alibi {
  using alibi::alibi;
  static constexpr bool serves_fewer_heads = true;
};

TEST(bias_matrix, refuses_other_heads_and_memory_and_writes_nothing) {
  std::vector<float> memory(24, 7);
  EXPECT_EQ(message_of([&] { write_bias_matrix(alibi(4), 2, queries, keys, memory); }),
            "posenc: write_bias_matrix: the encoding must have 2 heads, got 4");
  EXPECT_EQ(message_of([&] { write_bias_matrix(alibi(4), 0, queries, keys, memory); }),
            "posenc: write_bias_matrix: there must be a head, got 0");
  EXPECT_EQ(message_of([&] { write_bias_matrix(alibi(3), 3, queries, keys, memory); }),
            "posenc: write_bias_matrix: there must be one number for each of 3 heads, 3 queries "
            "and 4 keys, got 24");
  EXPECT_EQ(message_of([&] {
              write_bias_matrix(alibi(2), 2, queries, {1, 2, 3}, memory);
            }),
            "posenc: write_bias_matrix: there must be one number for each of 2 heads, 3 queries "
            "and 3 keys, got 24");
  EXPECT_EQ(memory, std::vector<float>(24, 7));
  EXPECT_TRUE(numbers::same_bits(bias_matrix(of_any_of_its_heads(4), 1, queries, keys),
                                 bias_matrix(scheme{of_any_of_its_heads(4)}, 1, queries, keys)));
}

}  // namespace
