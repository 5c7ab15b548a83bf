// What attention is asked as one value: against the encodings that its fields name.
#include "posenc/attention/rules.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attention/random_heads.hpp"
#include "attention/same_results.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/reference.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/bias_matrix.hpp"
#include "posenc/score/key_bias.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace { namespace of_rules {

using namespace posenc;
using rule = temperature_rule;

static_assert(acts_on_scores<attention_rules> && adjusts_each_score<attention_rules> &&
              pulls_back_scores<attention_rules> && may_only_add_bias<attention_rules> &&
              may_act_on_softmax<attention_rules> && adds_sink<attention_rules> &&
              says_what_is_seen<attention_rules> && checks_attention<attention_rules> &&
              has_hash<attention_rules>);

constexpr std::size_t heads = 4, kv_heads = 2, dim = 8, queries = 3, keys = 6, rank = 2, extent = 4;
std::vector<double> const slopes{0.5, 0.25, 0.125, 0.0625}, sinks{-1, 0.5, 2, -0.25},
    scales{0.5, 0.75, 1, 1.25}, offsets{0, 0.5, -0.125, 1};
auto const profiles = numbers::random<float>(rank * extent, 5),
           sides = numbers::random<float>(queries * heads * rank, 6),
           cells = numbers::random<float>(heads * queries * keys, 7),
           bias = numbers::random<float>(kv_heads * dim, 8);
key_bias<halves> const in_halves(bias, kv_heads, heads, geometric(dim, 100.0));
key_bias<interleaved> const is_interleaved(bias, kv_heads, heads, geometric(dim, 100.0));
profiles_view const some_profiles{
    profiles.data(), rank, extent, {sides.data(), {queries, heads, rank}}};
given_mask const some_cells(cells.data(), {queries, heads, keys});

/// Of query 1, which is at 7; keys are at 3, 4, 6, 7, 8 and 9.
template <class T>
std::vector<T> of_row(std::size_t head, auto const& act) {
  static std::vector<std::int64_t> const at{3, 4, 6, 7, 8, 9};
  auto scores = numbers::random<T>(keys, 11);
  auto const query = numbers::random<T>(dim, 12);
  for (auto& x : scores) x *= 8;
  score_row<T> const row{scores,
                         head,
                         7,
                         at,
                         query,
                         1,
                         0,
                         std::span(sides).subspan((heads + head) * rank, rank),
                         {nullptr, {0, 1, 1}},
                         0.35};
  return act(row);
}
template <class T>
std::vector<T> adjusted(auto const& encoding, std::size_t head) {
  return of_row<T>(head, [&](score_row<T> const& row) {
    posenc::adjust_scores(encoding, row);
    return std::vector<T>(row.scores.begin(), row.scores.end());
  });
}
/// Gradients of the scores, then of the query.
template <class T>
std::vector<T> pulled_back(auto const& encoding, std::size_t head) {
  return of_row<T>(head, [&](score_row<T> const& row) {
    auto d = numbers::random<T>(keys + dim, 13);
    detail::backward_through(row.with_scores(std::span<T const>(row.scores)),
                             std::span(d).first(keys), std::span(d).subspan(keys), encoding);
    return d;
  });
}

// Under -ffast-math, each of the two ways may be rounded in another order: the derivative of a cap,
// 1 - tanh^2, is off by some roundings of 1.
template <class T>
testing::AssertionResult same_gradients(std::vector<T> const& a, std::vector<T> const& b) {
#if defined(__FAST_MATH__)
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::abs(a[i] - b[i]) > 32 * tolerance::unit_roundoff<T>() * (1 + std::abs(b[i])))
      return testing::AssertionFailure() << a[i] << " and " << b[i] << " at " << i;
  return testing::AssertionSuccess();
#else
  return numbers::same_bits(a, b);
#endif
}

template <class Encoding>
void expect_scores(char const* what, attention_rules const& rules, Encoding const& encoding) {
  for (std::size_t head = 0; head < heads; ++head) {
    EXPECT_TRUE(numbers::same_bits(adjusted<float>(rules, head), adjusted<float>(encoding, head)))
        << what << " of head " << head;
    EXPECT_TRUE(numbers::same_bits(adjusted<double>(rules, head), adjusted<double>(encoding, head)))
        << what << " of head " << head;
    EXPECT_TRUE(
        same_gradients(pulled_back<float>(rules, head), pulled_back<float>(encoding, head)))
        << what << " of head " << head << ", backward";
    EXPECT_TRUE(
        same_gradients(pulled_back<double>(rules, head), pulled_back<double>(encoding, head)))
        << what << " of head " << head << ", backward";
  }
}

TEST(attention_rules, adjust_scores_as_the_encodings_do) {
  attention_bias const matrix(cells, heads, queries, keys);
  query_profiles const of_queries(profiles, rank);
  auto const biases = alibi::with_slopes(slopes);
  expect_scores("nothing", {}, soft_cap(1e300));
  expect_scores("slopes", {.slopes = slopes}, biases);
  expect_scores("cap", {.cap = 3}, soft_cap(3));
  expect_scores("tau", {.tau = 10}, scale_invariant(10));
  expect_scores("profiles", {.profiles = some_profiles}, of_queries);
  expect_scores("biases", {.biases = some_cells}, matrix);
  expect_scores("key bias", {.key_bias = in_halves}, in_halves);
  expect_scores("key bias", {.key_bias = is_interleaved}, is_interleaved);
  expect_scores("slopes, then cap", {.cap = 3, .slopes = slopes}, scheme(biases, soft_cap(3)));
  expect_scores("cap, then slopes", {.cap = 3, .slopes = slopes, .caps_first = true},
                scheme(soft_cap(3), biases));
  expect_scores("all",
                {.cap = 3,
                 .tau = 10,
                 .slopes = slopes,
                 .key_bias = in_halves,
                 .profiles = some_profiles,
                 .biases = some_cells},
                scheme(in_halves, scale_invariant(10), of_queries, matrix, biases, soft_cap(3)));
}

/// Site 3: times a factor by the position of the query, 7.
struct times {
  static constexpr bool is_pointwise = true;
  double factor;
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    for (auto& x : row.scores) x = static_cast<T>(factor * static_cast<double>(x));
  }
  template <class T>
  void backward_scores(score_row<T const> const&, std::span<T> d, std::span<T>) const {
    for (auto& x : d) x = static_cast<T>(factor * static_cast<double>(x));
  }
};

// 1 + 0.1 ln(1 + floor((7 + 1) / 4)), with a factor of 1.5.
TEST(attention_rules, multiply_scores_behind_the_key_bias_and_before_all_else) {
  times const both{1.5 * (1 + 0.1 * std::log1p(2.0))};
  attention_rules const rules{.factor = 1.5, .of_queries = {0.1, 4, 1}};
  expect_scores("factor", rules, both);
  auto more = rules;
  more.cap = 3, more.key_bias = in_halves;
  expect_scores("key bias, factor, cap", more, scheme(in_halves, both, soft_cap(3)));
}

/// The scores before the cap are made some at a time.
TEST(attention_rules, go_backward_through_a_cap_of_many_keys) {
  constexpr std::size_t count = 700;
  auto const scores = numbers::random<float>(count, 11), query = numbers::random<float>(dim, 12),
             biases = numbers::random<float>(heads * queries * count, 14);
  std::vector<std::int64_t> at(count);
  for (std::size_t s = 0; s < count; ++s) at[s] = static_cast<std::int64_t>(3 * s);
  auto const back = [&](auto const& encoding) {
    auto d = numbers::random<float>(count + dim, 13);
    score_row<float const> const row{scores, 2, 900, at, query, 1, 0, {}, {nullptr, {0, 1, 1}}, 1};
    detail::backward_through(row, std::span(d).first(count), std::span(d).subspan(count), encoding);
    return d;
  };
  auto const matrix = given_mask(biases.data(), {queries, heads, count});
  EXPECT_TRUE(numbers::same_bits(
      back(attention_rules{.cap = 3, .tau = 10, .slopes = slopes, .biases = matrix}),
      back(scheme(scale_invariant(10), attention_bias(biases, heads, queries, count),
                  alibi::with_slopes(slopes), soft_cap(3)))));
}

TEST(attention_rules, only_add_biases_unless_a_field_does_more) {
  EXPECT_TRUE((attention_rules{.temperature = {.rule = rule::adaptive},
                               .slopes = slopes,
                               .caps_first = true,
                               .sinks = sinks,
                               .profiles = some_profiles,
                               .biases = some_cells}
                   .only_adds_bias()));
  for (attention_rules const& one : {attention_rules{.factor = 2},
                                     {.of_queries = {0.1, 1, 0}},
                                     {.cap = 1},
                                     {.tau = 1},
                                     {.key_bias = in_halves}})
    EXPECT_FALSE(one.only_adds_bias());
}

TEST(attention_rules, have_the_temperatures) {
  std::vector<double> const scores{1.5, -2, 0.25, 1.25, 0.5};
  auto const beta = [&](chosen_temperature const& of) {
    attention_rules const rules{.temperature = of};
    EXPECT_EQ(rules.changes_temperature(), of.rule != rule::none);
    return rules;
  };
  for (std::size_t head = 0; head < heads; ++head) {
    row_statistics row{.keys = 5,
                       .max = 1.5,
                       .log_sum_exp = 2.4,
                       .entropy = 1.25,
                       .head = head,
                       .query_position = 1000,
                       .scores = {.doubles = scores}};
    auto const is = [&](chosen_temperature const& of, auto const& same) {
      EXPECT_EQ(beta(of).inverse_temperature(row), same.inverse_temperature(row))
          << static_cast<int>(of.rule);
      EXPECT_NE(same.inverse_temperature(row), 1) << static_cast<int>(of.rule);
    };
    EXPECT_EQ(beta({}).inverse_temperature(row), 1);
    is({.rule = rule::log_n, .length = 3}, posenc::log_n(3));
    is({.rule = rule::log_n_by_position, .length = 16}, posenc::log_n_by_position(16));
    is({.rule = rule::ssmax, .scales = scales, .biases = offsets}, posenc::ssmax(scales, offsets));
    is({.rule = rule::ssmax, .scales = scales}, posenc::ssmax(scales));
    is({.rule = rule::by_position, .length = 8, .scale = 0.1, .offset = 1},
       llama4_temperature(0.1, 8));
    is({.rule = rule::adaptive}, adaptive_temperature());
    is({.rule = rule::half_weight}, half_weight_temperature());
    is({.rule = rule::half_weight, .scale = 0.75}, half_weight_temperature(0.75));
    is({.rule = rule::critical}, critical_temperature());
    is({.rule = rule::critical, .scale = 1.5}, critical_temperature(1.5));
    row.keys = 1;
    EXPECT_EQ(beta({.rule = rule::ssmax, .scales = scales}).inverse_temperature(row), 1);
  }
}

/// A part of the heads, from `first` on.
template <class T>
heads_view<T> of_heads(heads_view<T> const& all, std::size_t first, std::size_t count) {
  return all.slice_heads(first, count);
}

TEST(attention_rules, of_some_heads_are_those_of_all) {
  random_heads<float> const x({queries, keys, heads, kv_heads, dim, 5});
  attention_rules rules{.cap = 3,
                        .temperature = {.rule = rule::ssmax, .scales = scales, .biases = offsets},
                        .slopes = slopes,
                        .sinks = sinks,
                        .key_bias = in_halves,
                        .profiles = some_profiles,
                        .biases = some_cells};
  auto const whole = attention(x.q_view(), x.k_view(), x.v_view(), rules);
  rules.all_heads = heads;
  for (std::size_t head = 0; head < kv_heads; ++head) {
    rules.first_head = 2 * head;
    auto const part =
        attention(x.q_view().slice_heads(2 * head, 2), x.k_view().slice_heads(head, 1),
                  x.v_view().slice_heads(head, 1), rules);
    for (std::size_t t = 0; t < queries; ++t) {
      auto const at = [&](auto const& all, std::size_t first, std::size_t count) {
        return std::vector(all.begin() + static_cast<std::ptrdiff_t>(first),
                           all.begin() + static_cast<std::ptrdiff_t>(first + count));
      };
      expect_same_numbers("outputs", at(part.outputs, t * 10, 10),
                          at(whole.outputs, (t * heads + 2 * head) * 5, 10));
      expect_same_numbers("log_sum_exp", at(part.log_sum_exp, t * 2, 2),
                          at(whole.log_sum_exp, t * heads + 2 * head, 2));
    }
  }
}

TEST(attention_rules, are_what_attention_asks_of_the_encodings) {
  random_heads<double> const x({queries, keys, heads, kv_heads, dim, 5});
  auto const seen = mask::window(2, 1);
  attention_rules const rules{.sees = seen,
                              .scale = 0.7,
                              .cap = 3,
                              .temperature = {.rule = rule::adaptive},
                              .slopes = slopes,
                              .sinks = sinks};
  scheme const same(alibi::with_slopes(slopes), soft_cap(3), adaptive_temperature(),
                    attention_sinks(sinks));
  attention_options const records{.keep_scores = true, .keep_weights = true};
  auto options = records;
  options.mask = seen, options.scale = 0.7;
  auto const expected = reference_attention(x.q_view(), x.k_view(), x.v_view(), same, options);
  expect_same_results(reference_attention(x.q_view(), x.k_view(), x.v_view(), rules, records),
                      expected);
  auto const actual = attention(x.q_view(), x.k_view(), x.v_view(), rules, records);
  for (std::size_t i = 0; i < expected.outputs.size(); ++i)
    EXPECT_NEAR(actual.outputs[i], expected.outputs[i], 1e-14);
  for (std::size_t i = 0; i < expected.scores.size(); ++i) {
    if (is_masked(expected.scores[i]))
      EXPECT_TRUE(is_masked(actual.scores[i]));
    else
      EXPECT_NEAR(actual.scores[i], expected.scores[i], 1e-14);
  }
  // In a scheme too.
  auto const behind = reference_attention(x.q_view(), x.k_view(), x.v_view(),
                                          scheme(rope<halves>(geometric(dim, 100.0)), rules));
  auto const apart = reference_attention(x.q_view(), x.k_view(), x.v_view(),
                                         scheme(rope<halves>(geometric(dim, 100.0)), same),
                                         {.mask = seen, .scale = 0.7});
  expect_same_results(behind, apart);
}

TEST(attention_rules, say_mask_and_scale_once) {
  random_heads<double> const x({queries, keys, heads, kv_heads, dim, 5});
  auto const error = [&](attention_options const& options) {
    return message_of([&] {
      reference_attention(x.q_view(), x.k_view(), x.v_view(), attention_rules{}, options);
    });
  };
  auto const must =
      "posenc: reference_attention: mask and scale must be given in the rules, not "
      "in the options as well";
  EXPECT_EQ(error({.mask = mask::full}), must);
  EXPECT_EQ(error({.scale = 1}), must);
}

TEST(attention_rules, refuse_what_the_encodings_refuse) {
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();
  auto const says = [](std::string const& must, attention_rules const& rules) {
    EXPECT_EQ(message_of([&] {
                rules.check("attend", {queries, heads, dim}, {keys, kv_heads, dim});
              }),
              "posenc: attend: " + must);
  };
  std::vector<double> const few{1, 2, 3}, of_nan{1, nan, 3, 4}, of_zero{1, 0, 1, 1};
  says("sinks must be one for each of the 4 heads, got 3", {.sinks = few});
  says("slopes must be one for each of the 4 heads, got 3", {.slopes = few});
  says("sinks: logits must be finite, got NaN for head 1", {.sinks = of_nan});
  says("slopes must be finite, got NaN for head 1", {.slopes = of_nan});
  says("factor must be finite, got infinity", {.factor = infinity});
  says("cap must be finite and positive, got -1", {.cap = -1});
  says("cap must be finite and positive, got NaN", {.cap = nan});
  says("tau must be in [1e-09, 1e+18], got -1", {.tau = -1});
  says("of_queries: floor_scale must be finite and positive, got 0", {.of_queries = {1, 0, 0}});
  auto const temperature = [&](std::string const& must, chosen_temperature const& of) {
    says("temperature: " + must, {.temperature = of});
  };
  temperature("rule must be one of the header, got 9", {.rule = rule{9}});
  temperature("length must be 0 for this rule, got 4", {.length = 4});
  temperature("length must be 0 for this rule, got 4", {.rule = rule::adaptive, .length = 4});
  temperature("scale must be 0 for this rule, got 4", {.rule = rule::adaptive, .scale = 4});
  temperature("offset must be 0 for this rule, got 4", {.rule = rule::critical, .offset = 4});
  temperature("scales and biases must be null for this rule",
              {.rule = rule::critical, .scales = scales});
  temperature("scales must not be null for this rule", {.rule = rule::ssmax});
  temperature("trained_length must be finite and above 1, got 1",
              {.rule = rule::log_n, .length = 1});
  temperature("weight must be in (0, 1), got 1", {.rule = rule::half_weight, .scale = 1});
  temperature("times must be finite and positive, got -2", {.rule = rule::critical, .scale = -2});
  temperature("scale must be finite and not negative, got -1",
              {.rule = rule::by_position, .length = 4, .scale = -1});
  temperature("floor_scale must be finite and positive, got 0",
              {.rule = rule::by_position, .scale = 1});
  temperature("offset must be finite, got NaN",
              {.rule = rule::by_position, .length = 4, .scale = 1, .offset = nan});
  temperature("scales must be finite and positive, got 0 for head 1",
              {.rule = rule::ssmax, .scales = of_zero});
  temperature("biases must be finite and above -scale ln 2, got NaN for head 1",
              {.rule = rule::ssmax, .scales = scales, .biases = of_nan});
  says("profiles: without profiles, all else must be 0 and null", {.profiles = {.rank = 1}});
  says("profiles: rank and extent must be positive and fit into memory, got 2 and 0",
       {.profiles = {profiles.data(), 2, 0}});
  says("profiles: query_side must be [3][4][2], got [0][1][1]",
       {.profiles = {profiles.data(), rank, extent}});
  says("key_bias must be of 8 heads over 4 of 8 dims, got 4 over 2 of 8",
       {.key_bias = in_halves, .all_heads = 8});
  says("first_head must be within the 4 heads, got 1 of 4 more", {.first_head = 1, .all_heads = 4});
  says(
      "a given mask must have at least 3 queries and 6 keys, of 1 head or of 4, got 3 queries and "
      "5 keys of 4",
      {.biases = given_mask(cells.data(), {queries, heads, 5})});
}

TEST(attention_rules, have_a_hash_of_their_numbers_not_of_addresses) {
  auto const copy = slopes;
  auto other = slopes;
  other.back() = 3;
  EXPECT_EQ((attention_rules{.slopes = slopes}.hash()), (attention_rules{.slopes = copy}.hash()));
  auto const plain = attention_rules{}.hash();
  for (attention_rules const& one : {attention_rules{.factor = 2},
                                     {.of_queries = {0.1, 1, 0}},
                                     {.of_queries = {0, 2, 0}},
                                     {.of_queries = {0, 1, 1}},
                                     {.cap = 1},
                                     {.tau = 1},
                                     {.temperature = {.rule = rule::critical}},
                                     {.temperature = {.length = 1}},
                                     {.temperature = {.scale = 1}},
                                     {.temperature = {.offset = 1}},
                                     {.temperature = {.scales = slopes}},
                                     {.temperature = {.biases = slopes}},
                                     {.slopes = slopes},
                                     {.slopes = other},
                                     {.caps_first = true},
                                     {.sinks = slopes},
                                     {.key_bias = in_halves},
                                     {.profiles = some_profiles},
                                     {.biases = some_cells},
                                     {.first_head = 1},
                                     {.all_heads = 1}})
    EXPECT_NE(one.hash(), plain);
}

}  // namespace of_rules
}  // namespace
