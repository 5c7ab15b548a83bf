#include "posenc/attention/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "attention/random_heads.hpp"
#include "numbers.hpp"
#include "oracle/softmax.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

constexpr attention_sizes merged{7, 40, 4, 2, 8, 8};

/// Attention to the keys [first, first + count) alone, at their positions among all.
template <class T>
attention_result<T> part(random_heads<T> const& x, std::size_t first, std::size_t count) {
  std::vector<std::int64_t> at(merged.keys), last(merged.queries);
  std::iota(at.begin(), at.end(), 0),
      std::iota(last.begin(), last.end(), static_cast<std::int64_t>(merged.keys - merged.queries));
  return attention(
      x.q_view(), x.k_view().slice_tokens(first, count), x.v_view().slice_tokens(first, count),
      scheme(rope<halves>(geometric(merged.head_dim, 1e4)), alibi(merged.heads)),
      {.query_positions = last, .key_positions = positions_view(at).subspan(first, count)});
}

template <class T>
void expect_alike(attention_result<T> const& actual, attention_result<T> const& expected) {
  ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
  ASSERT_EQ(actual.log_sum_exp.size(), expected.log_sum_exp.size());
  // Values within [-1, 1]: weights by their exponentials, of scores up to 8 below the largest;
  // products summed; some merging.
  auto const tolerance = 4 * (tolerance::of_weight<T>(1, 16, merged.keys) +
                              tolerance::of_dot_product<T>(merged.keys, 1));
  for (std::size_t i = 0; i < actual.outputs.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(actual.outputs[i]), static_cast<double>(expected.outputs[i]),
                tolerance)
        << i;
  }
  for (std::size_t i = 0; i < actual.log_sum_exp.size(); ++i)
    EXPECT_NEAR(actual.log_sum_exp[i], expected.log_sum_exp[i], 20 * tolerance);
}

TEST(merge, gives_what_all_keys_together_do) {
  numbers::in_float_and_double([]<class T>() {
    random_heads<T> const x(merged);
    auto const whole = part(x, 0, merged.keys);
    for (std::size_t const split : {0u, 1u, 13u, 36u, 39u, 40u}) {
      auto const a = part(x, 0, split), b = part(x, split, merged.keys - split);
      expect_alike(merge(a, b), whole);
      expect_alike(merge(b, a), whole);
    }
  });
}

TEST(merge, of_many_parts_does_not_depend_on_their_order) {
  numbers::in_float_and_double([]<class T>() {
    random_heads<T> const x(merged);
    auto const whole = part(x, 0, merged.keys);
    auto forward = part(x, 0, 8), backward = part(x, 32, 8);
    for (std::size_t i = 1; i < 5; ++i)
      forward = merge(forward, part(x, 8 * i, 8)),
      backward = merge(backward, part(x, 32 - 8 * i, 8));
    expect_alike(forward, whole);
    expect_alike(backward, whole);
    expect_alike(merge(merge(part(x, 0, 8), part(x, 8, 8)), merge(part(x, 16, 8), part(x, 24, 16))),
                 whole);
  });
}

TEST(merge, of_rows_that_see_nothing_is_0_and_minus_infinity) {
  random_heads<float> const x(merged);
  std::vector<std::int64_t> const early(merged.queries, 0), late(merged.keys, 100);
  auto const none = attention(x.q_view(), x.k_view(), x.v_view(), nope(),
                              {.query_positions = early, .key_positions = late});
  for (auto const lse : none.log_sum_exp) EXPECT_TRUE(is_masked(lse));
  auto const both = merge(none, none);
  EXPECT_TRUE(numbers::same_bits(
      both.outputs, std::vector<float>(merged.queries * merged.heads * merged.head_dim)));
  for (auto const lse : both.log_sum_exp) EXPECT_TRUE(is_masked(lse));
  auto const some = part(x, 0, merged.keys);
  EXPECT_TRUE(numbers::same_bits(merge(some, none).outputs, some.outputs));
  EXPECT_EQ(merge(none, some).log_sum_exp, some.log_sum_exp);
}

/// Scores times beta beyond the range of doubles: of the values of 1 and 3 and of 5, each part has
/// seen its own.
TEST(merge, of_scores_at_the_ends_of_the_range_is_what_was_seen) {
  constexpr auto lowest = std::numeric_limits<double>::lowest();
  std::vector<double> const q{1}, v{1, 3, 5};
  std::vector<std::int64_t> const at{0};
  constant_temperature const beta(10);
  auto const attended = [&](std::vector<double> const& k, std::size_t first, std::size_t count) {
    return attention(heads_view<double const>(q.data(), {1, 1, 1}),
                     heads_view<double const>(k.data() + first, {count, 1, 1}),
                     heads_view<double const>(v.data() + first, {count, 1, 1}), beta,
                     {.mask = mask::full, .scale = 1, .query_positions = at});
  };
  std::vector<double> const low{lowest, lowest, lowest}, high{-lowest, -lowest, lowest};
  for (std::size_t const split : {0u, 2u, 3u}) {
    auto const one = merge(attended(low, 0, split), attended(low, split, 3 - split));
    EXPECT_EQ(one.outputs[0], split == 2 ? 3.5 : 3) << "of log_sum_exp alike each counts as one";
    EXPECT_EQ(one.log_sum_exp[0], lowest);
    EXPECT_EQ(merge(attended(high, 0, split), attended(high, split, 3 - split)).outputs[0], 2);
    EXPECT_EQ(merge(attended(high, split, 3 - split), attended(high, 0, split)).log_sum_exp[0],
              -lowest);
  }
}

TEST(merge, refuses_other_shapes) {
  attention_result<float> const one{{1, 2}, {0}, {}, {}}, two{{1, 2}, {0, 0}, {}, {}};
  EXPECT_EQ(message_of([&] { merge(one, two); }),
            "posenc: merge: both must have as many rows and outputs, got 1 and 2 for 2 and 2");
}

TEST(attention, log_sum_exp_is_that_of_the_scores_times_beta) {
  random_heads<double> const x(merged);
  auto const result = attention(x.q_view(), x.k_view(), x.v_view(), nope(), {.keep_scores = true});
  for (std::size_t head = 0; head < merged.heads; ++head) {
    for (std::size_t t = 0; t < merged.queries; ++t) {
      long double sum = 0;
      for (std::size_t s = 0; s + merged.queries <= merged.keys + t; ++s) {
        sum += std::exp(
            static_cast<long double>(result.scores[(head * merged.queries + t) * merged.keys + s]));
      }
      EXPECT_NEAR(result.log_sum_exp[t * merged.heads + head], static_cast<double>(std::log(sum)),
                  tolerance::of_entropy<double>(0, merged.keys));
    }
  }
}

}  // namespace
