#include "posenc/encoding/adjust_scores.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "numbers.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/encoding/score_row.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

struct by_distance {
  std::size_t heads() const { return 2; }
  double bias(std::size_t head, std::int64_t distance) const {
    return static_cast<double>(distance) * (head == 0 ? 1 : 100);
  }
};
struct by_positions {
  double bias(std::size_t, std::int64_t query_position, std::int64_t key_position) const {
    return static_cast<double>(10 * query_position + key_position);
  }
};
struct by_row {
  void adjust_scores(auto const& row) const {
    for (auto& score : row.scores) score *= 2;
  }
};
struct by_bias_and_row : by_positions, by_row {};

template <class T = double>
std::vector<T> adjusted(auto const& encoding, std::vector<T> scores, std::size_t head,
                        std::int64_t query, std::vector<std::int64_t> const& keys) {
  adjust_scores(encoding, score_row<T>{scores, head, query, keys, {}});
  return scores;
}

TEST(adjust_scores, adds_the_bias_of_each_key) {
  EXPECT_EQ(adjusted(by_distance(), {0, 0.5, 1}, 1, 7, {7, 6, 9}),
            (std::vector<double>{0, 100.5, -199}));
  EXPECT_EQ(adjusted(by_positions(), {0, 0.5, 1}, 1, 7, {7, 6, 9}),
            (std::vector<double>{77, 76.5, 80}));
  EXPECT_EQ(adjusted<float>(by_distance(), {0.25f}, 0, 3, {-1}), (std::vector<float>{4.25f}));
}

TEST(adjust_scores, of_a_row_in_braces_takes_floats) {
  std::vector<float> scores{0.25f};
  std::vector<std::int64_t> const keys{-1};
  adjust_scores(by_distance(), {scores, 0, 3, keys, {}});
  EXPECT_EQ(scores[0], 4.25f);
}

TEST(adjust_scores, calls_adjust_scores_of_an_encoding_that_has_it) {
  EXPECT_EQ(adjusted(by_row(), {0.5, 1}, 0, 7, {7, 6}), (std::vector<double>{1, 2}));
  EXPECT_EQ(adjusted(by_bias_and_row(), {0.5, 1}, 0, 7, {7, 6}), (std::vector<double>{1, 2}));
}

TEST(adjust_scores, of_a_scheme_is_that_of_its_members_in_order) {
  EXPECT_EQ(adjusted(scheme{by_positions(), by_row(), by_distance()}, {0.5}, 1, 7, {6}),
            (std::vector<double>{(0.5 + 76) * 2 + 100}));
}

TEST(adjust_scores, refuses_heads_that_an_encoding_has_not_and_keys_without_positions) {
  std::vector<double> scores(3, 0.5);
  std::vector<std::int64_t> const keys{1, 2, 3};
  auto const refusal = [&](auto const& e, std::size_t head, std::size_t positions) {
    return message_of([&] {
      adjust_scores(e,
                    score_row<double>{scores, head, 0, positions_view(keys).first(positions), {}});
    });
  };
  EXPECT_EQ(refusal(by_distance(), 2, 3), "posenc: adjust_scores: the head must be below 2, got 2");
  EXPECT_EQ(
      refusal(by_distance(), 1, 2),
      "posenc: adjust_scores: there must be one position per key, got 2 positions for 3 keys");
  EXPECT_EQ(
      refusal(by_positions(), 9, 2),
      "posenc: adjust_scores: there must be one position per key, got 2 positions for 3 keys");
  EXPECT_EQ(scores, std::vector<double>(3, 0.5));
}

TEST(adjust_scores, a_bias_lets_gradients_pass_and_a_rule_for_rows_must_say_so) {
  static_assert(adds_bias<by_distance> && adds_bias<by_positions> &&
                adds_bias<scheme<by_distance, by_positions>>);
  static_assert(acts_on_scores<by_row> && !adds_bias<by_row> &&
                !adds_bias<scheme<by_row, by_distance>>);
}

TEST(distance_between, is_the_query_s_position_less_the_key_s_as_far_as_int64_reaches) {
  constexpr auto first = std::numeric_limits<std::int64_t>::min(),
                 last = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(distance_between(7, 5), 2);
  EXPECT_EQ(distance_between(5, 7), -2);
  EXPECT_EQ(distance_between(-3, -3), 0);
  EXPECT_EQ(distance_between(0, -last), last);
  EXPECT_EQ(distance_between(-last, 0), -last);
  EXPECT_EQ(distance_between(last, -1), last);
  EXPECT_EQ(distance_between(last, first), last);
  EXPECT_EQ(distance_between(first, last), -last);
  EXPECT_EQ(distance_between(first, 0), -last);
}

using namespace posenc;

TEST(score_row, with_other_scores_keeps_all_else) {
  std::array<double, 2> scores{1, 2};
  std::array<double, 3> const query{5, 6, 7};
  std::vector<std::int64_t> const positions{8, 9};
  std::array<float, 1> const query_side{10};
  std::array<float, 2> const key_side{11, 12};
  score_row<double> const row{
      scores,    13,         14,
      positions, query,      15,
      16,        query_side, heads_view<float const>(key_side.data(), {2, 1, 1})};
  auto const same = row.with_scores(std::span<double>(scores));
  EXPECT_EQ(same.query.data(), query.data());
  EXPECT_EQ(same.query.size(), 3u);

  std::array<double, 2> more{17, 18};
  auto const other = row.with_scores(std::span<double>(more));
  EXPECT_EQ(other.scores.data(), more.data());
  EXPECT_EQ(other.head, 13u);
  EXPECT_EQ(other.query_position, 14);
  EXPECT_EQ(other.key_positions[1], 9);
  EXPECT_EQ(other.query_index, 15u);
  EXPECT_EQ(other.first_key_index, 16u);
  EXPECT_EQ(other.query_side[0], 10);
  EXPECT_EQ(other.key_side(1, 0)[0], 12);
}

TEST(score_row, has_no_side_values_unless_given) {
  score_row<float> const row{};
  EXPECT_TRUE(row.query_side.empty());
  EXPECT_EQ(row.key_side.tokens(), 0u);
  EXPECT_EQ(row.head, 0u);
  EXPECT_EQ(row.query_position, 0);
}

}  // namespace
