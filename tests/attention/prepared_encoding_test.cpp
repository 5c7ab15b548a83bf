#include "posenc/attention/prepared_encoding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "attention/random_heads.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/detail/distance_biases.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/fire.hpp"
#include "posenc/score/kerple.hpp"
#include "posenc/score/sandwich.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/score/t5_bias.hpp"
#include "rejects.hpp"
#include "score/rows.hpp"

namespace {

using namespace posenc;
using positions = std::vector<std::int64_t>;

/// Changes nothing, and counts the positions that are prepared.
struct counting_positions {
  std::size_t* prepared_positions;
  struct prepared {
    void encode_queries(auto const&, std::size_t) const {}
    void encode_keys(auto const&, std::size_t) const {}
    void backward_queries(auto const&, std::size_t) const {}
    void backward_keys(auto const&, std::size_t) const {}
  };
  template <class>
  prepared prepare(positions_view at) const {
    *prepared_positions += at.size();
    return {};
  }
};

using tensors = random_heads<double>;

std::size_t prepared_by_attention(tensors const& x, attention_options const& options = {}) {
  std::size_t count = 0;
  attention(x.q_view(), x.k_view(), x.v_view(), scheme{counting_positions{&count}, nope()},
            options);
  return count;
}

TEST(prepared_encoding, attention_prepares_a_position_once_whatever_heads_and_blocks) {
  tensors const square({600, 600, 8, 2, 4, 4}), decode({1, 600, 8, 2, 4, 4});
  EXPECT_EQ(prepared_by_attention(square), 600u);
  EXPECT_EQ(prepared_by_attention(decode), 600u);
  EXPECT_EQ(prepared_by_attention(decode, {.keys_are_encoded = true}), 1u);
  EXPECT_EQ(prepared_by_attention(decode, {.query_positions = positions{77}}), 601u)
      << "no position of the last key";
  std::size_t count = 0;
  scheme const encoding{counting_positions{&count}, nope()};
  attention_backward(square.q_view(), square.k_view(), square.v_view(), encoding,
                     attention(square.q_view(), square.k_view(), square.v_view(), encoding),
                     square.q_view());
  EXPECT_EQ(count, 1200u) << "forward and backward";
}

/// Keys as a cache holds them, of a layer that another step has encoded.
template <class Encoding>
tensors with_encoded_keys(tensors x, Encoding const& encoding, positions const& at) {
  encoding.template prepare<double>(at).encode_keys(heads_view(x.k.data(), x.k_view().shape()));
  return x;
}

TEST(prepared_encoding, keys_that_are_encoded_already_are_attended_to_as_they_are) {
  positions at(40);
  std::iota(at.begin(), at.end(), 5);
  scheme const encoding{rope<halves>(geometric(8, 1e4)), alibi(4)};
  for (std::size_t const queries : {1u, 40u}) {  // read as they lie, and copied
    tensors const plain({queries, 40, 4, 2, 8, 8}), cached = with_encoded_keys(plain, encoding, at);
    attention_options options{.key_positions = at, .keep_scores = true};
    auto const expected =
        attention(plain.q_view(), plain.k_view(), plain.v_view(), encoding, options);
    options.keys_are_encoded = true;
    auto const actual =
        attention(cached.q_view(), cached.k_view(), cached.v_view(), encoding, options);
    ASSERT_EQ(actual.scores.size(), expected.scores.size());
    for (std::size_t i = 0; i < expected.scores.size(); ++i) {
      if (is_masked(expected.scores[i])) {
        EXPECT_TRUE(is_masked(actual.scores[i]));
      } else {
        EXPECT_NEAR(actual.scores[i], expected.scores[i], 8 * 10 * 0x1p-53)
            << "a dot product of 8, in any order";
      }
    }
    auto const wrong = attention(cached.q_view(), cached.k_view(), cached.v_view(), encoding,
                                 {.key_positions = at, .keep_scores = true});
    EXPECT_GT(std::abs(wrong.scores.back() - expected.scores.back()), 1e-3) << "encoded twice";
  }
}

TEST(prepared_encoding, gradients_of_encoded_keys_are_of_the_encoded_keys) {
  scheme const encoding{rope<halves>(geometric(8, 1e4)), alibi(2)};
  tensors const plain({9, 9, 2, 2, 8, 8});
  positions at(9);
  std::iota(at.begin(), at.end(), 0);
  auto const cached = with_encoded_keys(plain, encoding, at);
  auto const d = plain.q_view();
  auto const forward = attention(plain.q_view(), plain.k_view(), plain.v_view(), encoding);
  auto const expected =
      attention_backward(plain.q_view(), plain.k_view(), plain.v_view(), encoding, forward, d);
  auto actual = attention_backward(cached.q_view(), cached.k_view(), cached.v_view(), encoding,
                                   forward, d, {.keys_are_encoded = true});
  encoding.prepare<double>(at).backward_keys(heads_view(actual.k.data(), cached.k_view().shape()));
  for (std::size_t i = 0; i < expected.k.size(); ++i)
    EXPECT_NEAR(actual.k[i], expected.k[i], 1e-14);
  for (std::size_t i = 0; i < expected.q.size(); ++i)
    EXPECT_NEAR(actual.q[i], expected.q[i], 1e-14);
}

TEST(prepared_encoding, serves_every_call_of_a_step) {
  scheme const encoding{rope<halves>(geometric(8, 1e4)), alibi(4)};
  tensors const x({3, 40, 4, 2, 8, 8});
  positions const at_queries{50, 3, 7};
  positions at_keys(40);
  std::iota(at_keys.begin(), at_keys.end(), -2);
  prepared_encoding<double, decltype(encoding)> const step(encoding, at_queries, at_keys);
  attention_workspace<double> workspace;
  for (auto const& visible : {mask::causal, mask::full}) {
    auto const expected =
        attention(x.q_view(), x.k_view(), x.v_view(), encoding,
                  {.mask = visible, .query_positions = at_queries, .key_positions = at_keys});
    attention_options const options{.mask = visible};
    auto const& actual = attention(x.q_view(), x.k_view(), x.v_view(), step, options, workspace);
    EXPECT_TRUE(numbers::same_bits(actual.outputs, expected.outputs));
    EXPECT_TRUE(numbers::same_bits(actual.log_sum_exp, expected.log_sum_exp));
  }
}

TEST(prepared_encoding, takes_positions_of_any_integer_type) {
  scheme const encoding{rope<halves>(geometric(8, 1e4)), alibi(4)};
  tensors const x({3, 4, 4, 2, 8, 8});
  positions const at_queries{50, 3, 7}, at_keys{0, 1, 2, 9};
  auto const attended = [&](auto const& step) {
    attention_workspace<double> workspace;
    return attention(x.q_view(), x.k_view(), x.v_view(), step, {}, workspace).outputs;
  };
  using prepared = prepared_encoding<double, decltype(encoding)>;
  auto const expected = attended(prepared(encoding, at_queries, at_keys));
  prepared step(encoding, std::vector<std::int32_t>{50, 3, 7},
                std::vector<std::size_t>{0, 1, 2, 9});
  EXPECT_TRUE(numbers::same_bits(attended(step), expected));
  step.advance({1, 2, 3}, at_keys);
  EXPECT_FALSE(numbers::same_bits(attended(step), expected));
  step.advance({50, 3, 7}, std::vector<std::uint32_t>{0, 1, 2, 9});
  EXPECT_TRUE(numbers::same_bits(attended(step), expected));
}

TEST(prepared_encoding, refuses_other_tokens_and_positions_in_two_places) {
  scheme const encoding{rope<halves>(geometric(8, 1e4)), alibi(4)};
  using prepared = prepared_encoding<double, decltype(encoding)>;
  tensors const x({3, 40, 4, 2, 8, 8});
  positions const three{1, 2, 3}, forty(40, 7);
  attention_workspace<double> workspace;
  auto const message = [&](positions const& at_queries, positions const& at_keys,
                           attention_options const& options) {
    return message_of([&] {
      attention(x.q_view(), x.k_view(), x.v_view(), prepared(encoding, at_queries, at_keys),
                options, workspace);
    });
  };
  prepared const step(encoding, three, forty);
  EXPECT_NO_THROW(attention(x.q_view(), x.k_view(), x.v_view(), step, {}, workspace));
  EXPECT_EQ(message({}, forty, {}),
            "posenc: attention: the encoding must be prepared for the 3 queries and 40 keys, got 0 "
            "and 40 positions");
  EXPECT_EQ(message(three, three, {}),
            "posenc: attention: the encoding must be prepared for the 3 queries and 40 keys, got 3 "
            "and 3 positions");
  auto const once =
      "posenc: attention: positions, and whether keys are encoded, must be given where the "
      "encoding is prepared, not in the options as "
      "well";
  EXPECT_EQ(message(three, forty, {.query_positions = three}), once);
  EXPECT_EQ(message(three, forty, {.key_positions = forty}), once);
  EXPECT_EQ(message(three, forty, {.keys_are_encoded = true}), once);
}

// ---- queries that are encoded already

/// Queries and keys that are rotated before attention, queries scaled too.
struct rotated_heads {
  static constexpr attention_sizes sizes{9, 9, 4, 2, 8, 6};
  random_heads<float> x{sizes};
  std::vector<float> q = x.q, k = x.k;
  rope<halves> encoding{geometric(8, 1e4)};
  heads_view<float> queries{q.data(), {9, 4, 8}}, keys{k.data(), {9, 2, 8}};
  decltype(rotated<halves>(queries).scale(1)) turning = rotated<halves>(queries).scale(0.25f);

  rotated_heads() {
    rotate(cos_sin_rows(geometric(8, 1e4), positions{0, 1, 2, 3, 4, 5, 6, 7, 8}), turning,
           rotated<halves>(keys));
  }
  std::vector<float> expected(double scale) const {
    return attention(x.q_view(), x.k_view(), x.v_view(), scheme(encoding, alibi(4)),
                     {.scale = scale})
        .outputs;
  }
};

TEST(encoded, queries_and_their_keys_are_left_alone_and_scaled_once) {
  rotated_heads const heads;
  auto const values = heads.x.v_view();
  scheme const both(heads.encoding, alibi(4));
  auto const expect = [](std::vector<float> const& actual, std::vector<float> const& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5f);
  };
  expect(attention(encoded(heads.turning), heads.keys, values, both).outputs, heads.expected(0.25));
  expect(attention(encoded(heads.turning), heads.keys, values, both, {.scale = 1}).outputs,
         heads.expected(0.25));
  expect(attention(encoded(heads.queries), heads.keys, values, both, {.scale = 3}).outputs,
         heads.expected(0.75));
  expect(attention(encoded(heads.queries), heads.keys, values, both).outputs,
         heads.expected(0.25 / std::sqrt(8.0)));
  for (double const said : {0.5, 2.0})  // that is on them, whichever
    expect(attention(encoded(heads.queries, said), heads.keys, values, both).outputs,
           heads.expected(0.25));
  prepared_encoding<float, decltype(both)> const step(both, {0, 1, 2, 3, 4, 5, 6, 7, 8},
                                                      {0, 1, 2, 3, 4, 5, 6, 7, 8}, true, true);
  attention_workspace<float> workspace;
  expect(attention(encoded(heads.turning), heads.keys, values, step, {}, workspace).outputs,
         heads.expected(0.25));
}

TEST(encoded, queries_that_contradict_the_rest_are_refused) {
  rotated_heads const heads;
  auto const values = heads.x.v_view();
  auto const& keys = heads.keys;
  scheme const both(heads.encoding, alibi(4));
  EXPECT_EQ(
      message_of([&] { attention(encoded(heads.turning), keys, values, both, {.scale = 0.25}); }),
      "posenc: attention: the scale must be given once, got queries scaled by 0.25 and a "
      "scale of 0.25");
  positions const at{0, 1, 2, 3, 4, 5, 6, 7, 8};
  attention_workspace<float> workspace;
  auto const must =
      "posenc: attention: queries must be encoded already where the encoding is prepared so, and "
      "only there";
  prepared_encoding<float, decltype(both)> const plain(both, at, at, true),
      prepared_so(both, at, at, true, true);
  EXPECT_EQ(
      message_of([&] { attention(encoded(heads.queries), keys, values, plain, {}, workspace); }),
      must);
  EXPECT_EQ(message_of([&] { attention(heads.queries, keys, values, prepared_so, {}, workspace); }),
            must);
}

namespace by_distance {

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
  positions const scattered{9, 3, 3, -20, 4}, shuffled{5, 7, 6, 8}, far{0, 1'000'000'000'000, 7};
  for (auto const& keys :
       {from(0, 50), from(-7, 3), from(40, 1), scattered, shuffled, far, positions()}) {
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

detail::distance_range distances_between(positions const& queries, positions const& keys) {
  return detail::distances_of(detail::position_list(queries), detail::position_list(keys));
}

TEST(distances_of, are_from_the_last_key_after_to_the_first_before) {
  auto const range = distances_between(from(10, 5), from(3, 10));
  EXPECT_EQ(range.nearest, -2);
  EXPECT_EQ(range.farthest, 11);
  EXPECT_TRUE(distances_between(positions{0, 1'000'000}, from(0, 10)).empty()) << "too scattered";
  EXPECT_TRUE(distances_between({}, from(0, 10)).empty());
  EXPECT_TRUE(distances_between(from(0, 10), {}).empty());
}

}  // namespace by_distance
}  // namespace
