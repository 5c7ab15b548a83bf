#include "posenc/attention/distance_biases.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/fire.hpp"
#include "posenc/score/kerple.hpp"
#include "posenc/score/learned_relative.hpp"
#include "posenc/score/sandwich.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/score/t5_bias.hpp"
#include "score/rows.hpp"

namespace {

using namespace posenc;
using positions = std::vector<std::int64_t>;

constexpr std::size_t few_heads = 3;

/// Counts how often its bias is asked for.
struct counting_bias {
  std::size_t* count;
  std::size_t heads() const { return few_heads; }
  double bias(std::size_t head, std::int64_t distance) const {
    ++*count;
    return static_cast<double>(head + 1) * static_cast<double>(distance);
  }
};

positions from(std::int64_t first, std::size_t count) {
  positions result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

template <class E>
std::vector<float> adjusted(prepared_encoding<float, E> const& step, std::size_t head,
                            std::int64_t query, positions const& keys) {
  auto scores = numbers::random<float>(keys.size(), 7);
  step.adjust_scores(score_row<float>{scores, head, query, keys, {}});
  return scores;
}

template <class E>
void adds_what_is_added_by(E const& rule) {
  positions const scattered{9, 3, 3, -20, 4}, far{0, 1'000'000'000'000, 7};
  for (auto const& keys : {from(0, 50), from(-7, 3), from(40, 1), scattered, far, positions()}) {
    for (auto const& queries : {from(0, 50), from(5, 2), positions{30}, positions{100, -100}}) {
      prepared_encoding<float, E> const step(rule, queries, keys);
      for (auto const query : queries) {
        for (std::size_t head = 0; head < few_heads; ++head) {
          auto expected = numbers::random<float>(keys.size(), 7);
          adjust_scores(rule, score_row<float>{expected, head, query, keys, {}});
          rows::expect_same_sums(adjusted(step, head, query, keys), expected,
                                 numbers::random<float>(keys.size(), 7));
        }
      }
    }
  }
}

TEST(step_scores, add_what_the_rule_adds_at_any_positions) {
  kerple_log const logarithmic({{1, 0.5}, {0.3, 2}, {0.02, 0.7}});
  kerple_power const power({{1, 0.5}, {0.3, 2}, {0.02, 0.7}});
  adds_what_is_added_by(alibi(few_heads));
  adds_what_is_added_by(logarithmic);
  adds_what_is_added_by(power);
  adds_what_is_added_by(sandwich(few_heads, 16));
  adds_what_is_added_by(
      t5_bias(relative_buckets(8, 20, true), numbers::random<float>(8 * few_heads), few_heads));
  adds_what_is_added_by(learned_relative(numbers::random<float>(11 * few_heads), few_heads, 5));
  adds_what_is_added_by(scheme{logarithmic, soft_cap(3), scheme{alibi(few_heads)}});
}

TEST(step_scores, keys_that_follow_one_another_around_the_ends_of_int64_are_far_apart) {
  positions const keys{std::numeric_limits<std::int64_t>::max(),
                       std::numeric_limits<std::int64_t>::min()};
  alibi const rule(few_heads);
  prepared_encoding<float, alibi> const step(rule, positions{0, 1}, keys);
  auto expected = numbers::random<float>(2, 7);
  adjust_scores(rule, score_row<float>{expected, 1, 0, keys, {}});
  EXPECT_TRUE(numbers::same_bits(adjusted(step, 1, 0, keys), expected));
}

TEST(step_scores, keys_whose_distances_saturate_have_the_bias_of_the_farthest) {
  auto const last = std::numeric_limits<std::int64_t>::max();
  for (auto const& keys : {from(-9, 4), from(-3, 5), from(-1, 3)}) {
    std::size_t count = 0;
    counting_bias const rule{&count};
    for (auto const& queries : {positions{last, last}, positions{last - 1, last}}) {
      prepared_encoding<float, counting_bias> const step(rule, queries, keys);
      auto expected = numbers::random<float>(keys.size(), 7);
      adjust_scores(rule, score_row<float>{expected, 2, last, keys, {}});
      EXPECT_TRUE(numbers::same_bits(adjusted(step, 2, last, keys), expected)) << keys[0];
    }
  }
}

TEST(step_scores, work_a_bias_out_once_a_distance) {
  std::size_t count = 0;
  scheme const encoding{counting_bias{&count}, soft_cap(5)};
  std::vector<float> const x(200 * few_heads * 4), k(200 * 4);
  heads_view<float const> const q(x.data(), {200, few_heads, 4}), keys(k.data(), {200, 1, 4});
  attention(q, keys, keys, encoding);
  EXPECT_EQ(count, 399 * few_heads) << "from -199 to 199, for 200 x 200 keys of each head";
  count = 0;
  attention(q.slice_tokens(0, 1), keys, keys, encoding);
  EXPECT_EQ(count, 200 * few_heads) << "one query asks as often as it looks";
}

TEST(step_scores, grow_as_a_decode_goes_on) {
  std::size_t count = 0;
  counting_bias const encoding{&count};
  positions keys = from(0, 100);
  auto const before = numbers::random<float>(1, 7)[0];
  prepared_encoding<float, counting_bias> step(encoding, keys, keys);
  EXPECT_EQ(count, 199 * few_heads);
  for (std::int64_t token = 100; token < 10'000; ++token) {
    keys.push_back(token);
    step.advance(positions{token}, keys);
    ASSERT_EQ(adjusted(step, 2, token, {token - 3})[0],
              static_cast<float>(static_cast<double>(before) + 9));
  }
  EXPECT_LE(count, (199 + 15'000) * few_heads) << "each at most once, and half as many again ahead";
  EXPECT_EQ(adjusted(step, 1, 9'999, keys).back(), numbers::random<float>(keys.size(), 7).back());
}

TEST(step_scores, grow_around_distances_that_are_all_far) {
  std::size_t count = 0;
  counting_bias const encoding{&count};
  auto const keys = from(0, 100);
  prepared_encoding<float, counting_bias> step(encoding, {}, {});
  for (std::int64_t const query : {1'000'000, 1'000'001, 1'000'020}) {
    step.advance(positions{query}, keys);
    adjusted(step, 0, query, keys);
  }
  EXPECT_EQ(count, 149 * few_heads) << "of the first step, which are those of the next as well";
}

TEST(distance_range, half_again_reaches_ahead_and_to_both_sides_where_both_occur) {
  using detail::distance_range;
  auto const last = std::numeric_limits<std::int64_t>::max();
  auto const expect = [](distance_range from, std::int64_t nearest, std::int64_t farthest) {
    auto const more = from.and_half_again();
    EXPECT_EQ(more.nearest, nearest);
    EXPECT_EQ(more.farthest, farthest);
  };
  expect({0, 100}, 0, 150);
  expect({1000, 1100}, 1000, 1150);
  expect({-100, 100}, -200, 200);
  expect({-100, -80}, -110, -70);
  expect({last - 10, last}, last - 10, last);
  expect({-last, -last + 10}, -last, -last + 15);
  expect({0, -1}, 0, -1);
}

TEST(distances_of, are_from_the_last_key_after_to_the_first_before) {
  auto const range = detail::distances_of(from(10, 5), from(3, 10));
  EXPECT_EQ(range.nearest, -2);
  EXPECT_EQ(range.farthest, 11);
  EXPECT_TRUE(detail::distances_of(positions{0, 1'000'000}, from(0, 10)).empty())
      << "too scattered";
  EXPECT_TRUE(detail::distances_of({}, from(0, 10)).empty());
  EXPECT_TRUE(detail::distances_of(from(0, 10), {}).empty());
}

}  // namespace
