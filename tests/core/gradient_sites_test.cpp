#include "posenc/core/gradient_sites.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/core/scheme.hpp"

namespace {

using namespace posenc;

/// Adds to a score all that a row says of itself and its key.
struct adds_facts {
  static constexpr bool is_bias = true;
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    for (std::size_t s = 0; s < row.scores.size(); ++s) {
      row.scores[s] +=
          static_cast<T>(row.head) + 10 * static_cast<T>(row.query_position) +
          100 * static_cast<T>(row.key_positions[s]) + 1000 * static_cast<T>(row.query[0]) +
          10'000 * static_cast<T>(row.query_index) +
          100'000 * static_cast<T>(row.first_key_index + s) +
          static_cast<T>(row.query_side[0] / 2) + static_cast<T>(row.key_side(s, 0)[0] / 4);
    }
  }
};

/// Squares scores, so that the derivative 2 x shows which scores it was given.
struct squares {
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    for (auto& x : row.scores) x *= x;
  }
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d, std::span<T>) const {
    for (std::size_t s = 0; s < d.size(); ++s) d[s] *= 2 * before.scores[s];
  }
};
static_assert(adds_bias<adds_facts> && !pulls_back_scores<adds_facts>);
static_assert(pulls_back_scores<squares> && !adds_bias<squares>);

TEST(gradient_sites, a_rule_goes_backward_from_the_scores_that_the_rules_before_it_made) {
  std::vector<double> const scores{0.125, -0.125}, query{3};
  std::vector<std::int64_t> const keys{4, 5};
  std::vector<float> const query_side{1}, key_side{1, 2};
  score_row<double const> const row{.scores = scores,
                                    .head = 1,
                                    .query_position = 2,
                                    .key_positions = keys,
                                    .query = query,
                                    .query_index = 6,
                                    .first_key_index = 7,
                                    .query_side = query_side,
                                    .key_side = {key_side.data(), {2, 1, 1}}};
  std::vector<double> d{1, 10}, d_query{0};
  scheme{adds_facts(), squares()}.backward_scores<double>(row, d, d_query);
  EXPECT_EQ(d[0], 2 * (763'421 + 0.5 + 0.25 + 0.125));
  EXPECT_EQ(d[1], 20 * (863'521 + 0.5 + 0.5 - 0.125));
  EXPECT_EQ(d_query[0], 0);
}

}  // namespace
