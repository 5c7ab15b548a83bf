#include "posenc/attention/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "attention/any_encoding.hpp"
#include "attention/by_reference.hpp"
#include "attention/memory_meter.hpp"
#include "attention/random_heads.hpp"
#include "attention/uncopied.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/softmax.hpp"
#include "posenc/attention/merge.hpp"
#include "posenc/attention/rules.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/unprojected.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/bias_matrix.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "rejects.hpp"
#include "sanitized.hpp"
#include "site_2.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using by_reference::positions, encodings::any_encoding, encodings::together;

/// Under every encoding, alone and together; float and double.
void expect_reference(by_reference::problem const& given) {
  SCOPED_TRACE(given.name);
  auto const dim = given.head_dim, heads = given.heads, even = dim / 2 * 2;
  numbers::in_float_and_double([&]<class T>() {
    by_reference::comparison<T> const problem(given);
    auto const expect = [&](char const* name, auto const& encoding) {
      SCOPED_TRACE(name);
      problem.expect(encoding);
    };
    rope<halves> const rotating(geometric(even, 1e4), rotary_block::last());
    expect("nope", nope());
    expect("rope", any_encoding(rotating));
    expect("p-RoPE", any_encoding(p_rope<halves>(even, 1e4, 0.75)));
    expect("alibi", alibi(heads));
    expect("rope and alibi", scheme(rotating, alibi(heads)));
    expect("adaptive temperature", any_encoding(adaptive_temperature{}));
    expect("rope, alibi and adaptive temperature",
           together(rotating, alibi(heads), adaptive_temperature{}));
    if (dim != even) return;  // embeddings are even
    any_encoding const embedding(unprojected(sinusoidal<interleaved>(geometric(dim, 1e4))));
    rope<interleaved> const grown(geometric(even, 1e4).with_attention_factor(1.25));
    expect("sinusoidal", embedding);
    expect("sinusoidal and alibi", together(embedding, alibi(heads)));
    expect("sinusoidal and adaptive temperature", together(adaptive_temperature{}, embedding));
    expect("all",
           together(together(adaptive_temperature{}, embedding), together(grown, alibi(heads))));
  });
}

TEST(attention, is_the_reference_under_every_encoding) {
  expect_reference({"causal", 9, 9, 2, 2, 8, 8});
  expect_reference({"full", 9, 9, 2, 2, 8, 8, mask::full});
  expect_reference({"one number a head", 3, 4, 3, 3, 2, 1});
}

TEST(attention, reads_the_key_and_value_head_of_its_group) {
  expect_reference({"1:1", 5, 7, 4, 4, 8, 8});
  expect_reference({"4:1", 5, 7, 8, 2, 8, 8});
  expect_reference({"all:1", 5, 7, 6, 1, 8, 8});
}

TEST(attention, has_values_of_another_size_than_its_keys) {
  expect_reference({"smaller", 5, 7, 2, 1, 16, 3});
  expect_reference({"larger", 5, 7, 2, 1, 6, 40});
  expect_reference({"odd", 5, 7, 2, 1, 7, 5});
}

TEST(attention, of_one_query_sees_every_key_before_it) {
  expect_reference({"decode", 1, 300, 4, 2, 16, 16});
  expect_reference({"one of each", 1, 1, 1, 1, 4, 4});
  expect_reference({"a group of six, and odd sizes", 1, 40, 6, 1, 19, 37});
  expect_reference({"two queries of a group of four", 2, 70, 4, 1, 64, 66});
}

TEST(attention, of_more_than_a_block_of_queries_is_that_of_each) {
  expect_reference({"128", 128, 128, 1, 1, 4, 4});
  expect_reference({"129", 129, 140, 2, 1, 4, 4});
  positions shuffled(20);
  for (std::size_t s = 0; s < 20; ++s) shuffled[s] = static_cast<std::int64_t>(7 * s % 20);
  expect_reference({"260, full", 260, 20, 1, 1, 4, 4, mask::full, positions(260, 7), shuffled});
}

TEST(attention, goes_by_positions_with_gaps_in_any_order) {
  positions const gaps{100, 3, -40, 7, 4095, 8, 0}, three{7, 5000, -40},
      repeats{2, 2, 2, 1, 1, 0, 3};
  expect_reference({"causal", 3, 7, 2, 1, 8, 8, mask::causal, three, gaps});
  expect_reference({"full", 3, 7, 2, 1, 8, 8, mask::full, three, gaps});
  expect_reference({"repeats", 3, 7, 2, 1, 8, 8, mask::causal, {2, 1, 2}, repeats});
  expect_reference({"positions of the keys alone", 3, 7, 2, 1, 8, 8, mask::causal, {}, repeats});
  expect_reference(
      {"positions of the queries alone", 3, 7, 2, 1, 8, 8, mask::causal, {6, 2, 0}, {}});
  expect_reference(
      {"positions of more queries than keys alone", 7, 3, 2, 1, 8, 8, mask::causal, gaps, {}});
  expect_reference({"more queries than keys", 7, 3, 2, 1, 8, 8, mask::causal, gaps, three});
  expect_reference({"far",
                    3,
                    3,
                    2,
                    1,
                    8,
                    8,
                    mask::causal,
                    {1'000'002, 1'000'000, 1'000'001},
                    {1'000'000, 1'000'001, 1'000'002}});
}

TEST(attention, sees_what_every_mask_shows) {
  positions const gaps{100, 3, -40, 7, 4095, 8, 0}, three{7, 5000, -40};
  positions const counted{0, 1, 2, 3, 4, 5, 6, 7, 8};
  auto const expect = [](char const* name, mask const& visible, positions const& at_queries,
                         positions const& at_keys, auto const& sees) {
    auto const queries = at_queries.size(), keys = at_keys.size();
    by_reference::problem const given{name, queries, keys,    2,          1,
                                      8,    8,       visible, at_queries, at_keys};
    expect_reference(given);
    auto const scores = by_reference::comparison<float>(given).expect(nope()).scores;
    for (std::size_t t = 0; t < queries; ++t) {
      for (std::size_t s = 0; s < keys; ++s)
        EXPECT_EQ(!is_masked(scores[t * keys + s]), sees(t, s, at_queries[t], at_keys[s]))
            << name << ", query " << t << ", key " << s;
    }
  };
  using token = std::size_t;
  using position = std::int64_t;
  expect("window", mask::causal & mask::sliding_window(3), counted, counted,
         [](token, token, position t, position s) { return s <= t && t - s < 3; });
  expect("window to both sides", mask::sliding_window(2), counted, counted,
         [](token, token, position t, position s) { return std::abs(t - s) < 2; });
  expect("chunks", mask::causal & mask::chunked(4), counted, counted,
         [](token, token, position t, position s) { return s <= t && s / 4 == t / 4; });
  std::vector<token> const lengths{4, 0, 2, 3};
  auto const sequence = [](token i) { return i < 4 ? 0 : i < 6 ? 2 : 3; };
  expect(
      "packed", mask::causal & mask::packed(lengths), counted, counted,
      [=](token t, token s, position, position) { return sequence(t) == sequence(s) && s <= t; });
  expect("all of them",
         mask::causal & mask::packed(lengths) & mask::sliding_window(3) & mask::chunked(2), counted,
         counted, [=](token t, token s, position, position) {
           return sequence(t) == sequence(s) && s <= t && t - s < 3 && t / 2 == s / 2;
         });
  expect("window among gaps", mask::causal & mask::sliding_window(50), three, gaps,
         [](token, token, position t, position s) { return s <= t && t - s < 50; });
  expect("causal among gaps", mask::causal, three, gaps,
         [](token, token, position t, position s) { return s <= t; });
}

/// A sequence alone, and as one of several in a batch.
template <class Encoding>
void expect_packed_as_alone(Encoding const& encoding, mask const& visible) {
  std::vector<std::size_t> const query_lengths{2, 0, 1, 3}, key_lengths{3, 4, 9, 3};
  constexpr std::size_t heads = 2, dim = 8;
  auto const q = numbers::random<double>(6 * heads * dim, 1),
             k = numbers::random<double>(19 * dim, 2), v = numbers::random<double>(19 * dim, 3);
  heads_view const queries(q.data(), {6, heads, dim}), keys(k.data(), {19, 1, dim}),
      values(v.data(), {19, 1, dim});
  auto const packed = attention(queries, keys, values, encoding,
                                {.mask = visible & mask::packed(query_lengths, key_lengths)});
  for (std::size_t i = 0, t = 0, s = 0; i < query_lengths.size();
       t += query_lengths[i], s += key_lengths[i], ++i) {
    auto const alone =
        attention(queries.slice_tokens(t, query_lengths[i]), keys.slice_tokens(s, key_lengths[i]),
                  values.slice_tokens(s, key_lengths[i]), encoding, {.mask = visible});
    for (std::size_t j = 0; j < alone.outputs.size(); ++j) {
      EXPECT_NEAR(packed.outputs[t * heads * dim + j], alone.outputs[j],
                  16 * tolerance::of_dot_product<double>(19, 1))
          << "sequence " << i;
    }
  }
}

TEST(attention, of_packed_sequences_is_that_of_each_with_positions_of_its_own) {
  expect_packed_as_alone(nope(), mask::causal);
  expect_packed_as_alone(any_encoding(rope<halves>(geometric(8, 1e4))),
                         mask::causal & mask::sliding_window(3));
  expect_packed_as_alone(any_encoding(unprojected(sinusoidal<interleaved>(geometric(8, 1e4)))),
                         mask::causal & mask::chunked(2));
}

TEST(attention, of_values_and_temperatures_at_the_ends_of_float_is_right) {
  std::vector<float> const zeros(16 * 8), large(16 * 8, 1e38f);
  heads_view const q(zeros.data(), {16, 1, 8}), v(large.data(), {16, 1, 8});
  for (auto const& x :
       {attention(q, q, v, nope()), attention(q.slice_tokens(15, 1), q, v, nope())}) {
    for (auto const output : x.outputs)
      EXPECT_NEAR(static_cast<double>(output), 1e38, 1e32)
          << "not their sum, which is beyond float";
  }
  auto const x = numbers::random<float>(16 * 8);
  heads_view const some(x.data(), {16, 1, 8});
  auto const even = attention(some, some, v, any_encoding(constant_temperature(1e-46))),
             one = attention(some, some, some, any_encoding(constant_temperature(1e39)));
  for (auto const output : even.outputs) EXPECT_NEAR(static_cast<double>(output), 1e38, 1e32);
  for (auto const output : one.outputs) EXPECT_TRUE(is_finite(static_cast<double>(output)));
}

TEST(attention, not_a_number_weighs_nothing_where_a_query_does_not_see) {
#if defined(__FAST_MATH__)
  GTEST_SKIP() << "-ffast-math promises nothing for NaN";
#endif
  std::vector<float> const q{float_of_bits(0x7fc0'0000u), 0}, k(6);
  positions const down{2, 1, 0}, at{1};
  auto const result =
      attention(heads_view(q.data(), {1, 1, 2}), heads_view(k.data(), {3, 1, 2}),
                heads_view(k.data(), {3, 1, 2}), nope(),
                {.query_positions = at, .key_positions = down, .keep_weights = true});
  EXPECT_EQ(result.weights[0], 0) << "the key after the query";
  EXPECT_FALSE(is_finite(static_cast<double>(result.weights[1])));
}

TEST(attention, a_query_with_every_key_masked_weighs_nothing_and_gives_0) {
  expect_reference({"one of three", 3, 4, 2, 1, 8, 8, mask::causal, {5, -1, 2}, {0, 1, 2, 3}});
  expect_reference({"all", 2, 4, 2, 1, 8, 8, mask::causal, {-5, -1}, {0, 1, 2, 3}});
  std::vector<float> const x(8, 1);
  heads_view const view(x.data(), {1, 1, 8});
  auto const result = attention(
      view, view, view, nope(),
      {.query_positions = positions{3}, .key_positions = positions{4}, .keep_weights = true});
  EXPECT_TRUE(numbers::same_bits(result.outputs, std::vector<float>(8)));
  EXPECT_TRUE(numbers::same_bits(result.weights, std::vector<float>(1)));
}

/// Masked is a mask's word, not a magnitude's.
TEST(attention, keeps_positions_of_any_integer_type_with_its_options) {
  auto const x = numbers::random<float>(4 * 8);
  heads_view const view(x.data(), {4, 1, 8});
  any_encoding const encoding(rope<halves>(geometric(8, 1e4)));
  positions const at{3, 900, -7, 5};
  auto const expected = attention(view, view, view, encoding,
                                  {.mask = mask::full, .query_positions = at, .key_positions = at});
  attention_options const kept{.mask = mask::full,
                               .query_positions = std::vector<std::int32_t>{3, 900, -7, 5},
                               .key_positions = {3, 900, -7, 5}};
  std::vector<std::int32_t> const where_the_vector_was(4);
  EXPECT_TRUE(
      numbers::same_bits(attention(view, view, view, encoding, kept).outputs, expected.outputs));
}

TEST(attention, a_key_with_a_score_as_low_as_numbers_are_is_seen) {
  numbers::in_float_and_double([]<class T>() {
    for (T const score : {T(-2e38), std::numeric_limits<T>::lowest()}) {
      for (std::size_t const queries : {1u, 12u}) {
        std::vector<T> const q(queries, T{1}), k{score}, v{7};
        positions const at(queries, 3);
        for (double const beta : {1.0, 2.0}) {
          any_encoding const encoding{constant_temperature(beta)};
          auto const result = attention(heads_view<T const>(q.data(), {queries, 1, 1}),
                                        heads_view<T const>(k.data(), {1, 1, 1}),
                                        heads_view<T const>(v.data(), {1, 1, 1}), encoding,
                                        {.scale = 1, .query_positions = at, .keep_weights = true});
          EXPECT_EQ(result.outputs, std::vector<T>(queries, T{7}));
          EXPECT_EQ(result.weights, std::vector<T>(queries, T{1}));
          for (auto const lse : result.log_sum_exp) EXPECT_TRUE(is_finite(lse));
        }
      }
    }
  });
}

TEST(attention, reads_any_strides) {
  for (auto const where :
       {memory::padded, memory::heads_first, memory::backwards, memory::repeated}) {
    SCOPED_TRACE(static_cast<int>(where));
    expect_reference({"causal", 5, 7, 4, 2, 8, 6, mask::causal, {}, {}, {}, where});
    expect_reference({"one query", 1, 20, 2, 1, 8, 6, mask::causal, {}, {}, {}, where});
  }
}

TEST(attention, takes_the_scale_that_it_is_given) {
  for (double const scale : {1.0, 0.0, -0.5, 3.0})
    expect_reference({"scaled", 5, 7, 2, 1, 8, 8, mask::causal, {}, {}, scale});
}

TEST(attention, gives_scores_and_weights_only_on_request) {
  auto const x = numbers::random<float>(5 * 2 * 8);
  heads_view const view(x.data(), {5, 2, 8});
  for (bool const scores : {false, true}) {
    for (bool const weights : {false, true}) {
      auto const result =
          attention(view, view, view, nope(), {.keep_scores = scores, .keep_weights = weights});
      EXPECT_EQ(result.outputs.size(), x.size());
      EXPECT_EQ(result.scores.size(), scores ? 2u * 5 * 5 : 0);
      EXPECT_EQ(result.weights.size(), weights ? 2u * 5 * 5 : 0);
    }
  }
}

TEST(attention, adds_to_scores_what_a_bias_matrix_has) {
  std::vector<double> const none(4 * 2 * 6), keys(5 * 2 * 6, 1);
  positions const at_queries{3, 900, -7, 5}, at_keys{0, 5, 4, 7, 1'000};
  alibi const encoding(2);  // products with powers of two are exact, fused or not
  auto const result =
      attention(heads_view(none.data(), {4, 2, 6}), heads_view(keys.data(), {5, 2, 6}),
                heads_view(keys.data(), {5, 2, 6}), encoding,
                {.mask = mask::full,
                 .query_positions = at_queries,
                 .key_positions = at_keys,
                 .keep_scores = true});
  EXPECT_TRUE(
      numbers::same_bits(result.scores, bias_matrix<double>(encoding, 2, at_queries, at_keys)));
}

TEST(attention, the_scores_it_gives_are_before_the_temperature) {
  auto const x = numbers::random<double>(6 * 8);
  heads_view const view(x.data(), {6, 1, 8});
  auto const plain =
      attention(view, view, view, nope(), {.keep_scores = true, .keep_weights = true});
  attention_rules const rules{.temperature = {.rule = temperature_rule::adaptive}};
  auto const adaptive =
      attention(view, view, view, rules, {.keep_scores = true, .keep_weights = true});
  EXPECT_TRUE(numbers::same_bits(plain.scores, adaptive.scores));
  EXPECT_FALSE(numbers::same_bits(plain.weights, adaptive.weights));
}

/// An encoding that changes nothing and notes what it is shown.
struct witness {
  std::vector<score_row<float>>* rows;
  std::vector<std::vector<float>>* queries;
  std::vector<row_statistics>* statistics;

  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    if constexpr (std::same_as<T, float>)
      rows->push_back(row), queries->emplace_back(row.query.begin(), row.query.end());
  }
  double inverse_temperature(row_statistics const& row) const {
    return statistics->push_back(row), 1;
  }
};

TEST(attention, shows_the_rules_whose_row_it_is_and_the_query_as_it_was_encoded) {
  constexpr std::size_t tokens = 130, heads = 2, dim = 4;
  auto const x = numbers::random<float>(tokens * heads * dim);
  heads_view const view(x.data(), {tokens, heads, dim});
  positions at(tokens);
  for (std::size_t t = 0; t < tokens; ++t) at[t] = static_cast<std::int64_t>(t * t);
  rope<halves> const turning(geometric(dim, 1e4));
  auto q = x;
  site_2::encode_queries(turning, numbers::view(q, tokens, dim), at);

  std::vector<score_row<float>> rows;
  std::vector<std::vector<float>> queries;
  std::vector<row_statistics> statistics;
  attention(view, view, view, together(turning, witness{&rows, &queries, &statistics}),
            {.query_positions = at, .key_positions = at});
  ASSERT_EQ(rows.size(), heads * tokens);
  ASSERT_EQ(statistics.size(), heads * tokens);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const head = i / tokens, t = i % tokens;
    EXPECT_EQ(rows[i].head, head);
    EXPECT_EQ(rows[i].query_position, at[t]);
    EXPECT_GE(rows[i].scores.size(), t + 1) << "all that the query sees";
    EXPECT_EQ(rows[i].key_positions.size(), rows[i].scores.size());
    auto const first = q.begin() + static_cast<std::ptrdiff_t>((t * heads + head) * dim);
    EXPECT_TRUE(numbers::same_bits(queries[i], std::vector<float>(first, first + dim)));
    EXPECT_EQ(statistics[i].head, head);
    EXPECT_EQ(statistics[i].query_position, at[t]);
    EXPECT_EQ(statistics[i].keys, t + 1);
  }
}

TEST(attention, of_no_queries_is_empty) {
  auto const x = numbers::random<float>(3 * 2 * 8);
  heads_view const view(x.data(), {3, 2, 8});
  auto const result = attention(view.slice_tokens(0, 0), view, view, nope(),
                                {.keep_scores = true, .keep_weights = true});
  EXPECT_TRUE(result.outputs.empty());
  EXPECT_TRUE(result.scores.empty());
  EXPECT_TRUE(result.weights.empty());
}

TEST(attention, of_no_keys_is_0) {
  auto const x = numbers::random<float>(3 * 2 * 8);
  heads_view const view(x.data(), {3, 2, 8});
  auto const result =
      attention(view, view.slice_tokens(0, 0), view.slice_tokens(0, 0),
                together(alibi(2), adaptive_temperature{}),
                {.query_positions = positions{0, 1, 2}, .keep_scores = true, .keep_weights = true});
  EXPECT_TRUE(numbers::same_bits(result.outputs, std::vector<float>(3 * 2 * 8)));
  EXPECT_TRUE(result.scores.empty());
  EXPECT_TRUE(result.weights.empty());
}

TEST(attention, not_a_number_in_a_query_spoils_its_own_row_alone) {
#if defined(__FAST_MATH__)
  GTEST_SKIP() << "-ffast-math promises nothing for NaN";
#endif
  auto x = numbers::random<float>(4 * 8);
  heads_view const k(x.data(), {4, 1, 8});
  auto q = x;
  q[2 * 8 + 3] = float_of_bits(0x7fc0'0000u);
  auto const result = attention(heads_view<float const>(q.data(), {4, 1, 8}), k, k,
                                scheme(rope<halves>(geometric(8, 1e4)), alibi(1)));
  for (std::size_t i = 0; i < result.outputs.size(); ++i)
    EXPECT_EQ(is_finite(static_cast<double>(result.outputs[i])), i / 8 != 2) << i;
}

TEST(attention, a_value_that_is_not_seen_may_be_anything) {
  auto const x = numbers::random<float>(5 * 8);
  heads_view const qk(x.data(), {5, 1, 8});
  auto const expected = attention(qk, qk, qk, nope());
  for (float const anything : {float_of_bits(0x7fc0'0000u), static_cast<float>(infinity())}) {
    auto v = x;
    std::ranges::fill(std::span(v).last(8), anything);
    auto const outputs =
        attention(qk, qk, heads_view<float const>(v.data(), {5, 1, 8}), nope()).outputs;
    for (std::size_t i = 0; i < 4 * 8;
         ++i)  // sums of up to five values within [-1, 1], each in an order of its own
      EXPECT_NEAR(static_cast<double>(outputs[i]), static_cast<double>(expected.outputs[i]),
                  2 * tolerance::of_dot_product<float>(5, 1))
          << i;
  }
}

TEST(attention, takes_views_that_could_be_written_to_and_leaves_them) {
  auto const before = numbers::random<float>(3 * 8);
  auto x = before;
  heads_view const view(x.data(), {3, 1, 8});
  any_encoding const encoding(scheme(unprojected(sinusoidal<interleaved>(geometric(8, 1e4))),
                                     rope<halves>(geometric(8, 1e4))));
  EXPECT_EQ(attention(view, view, view, encoding).outputs.size(), x.size());
  EXPECT_TRUE(numbers::same_bits(x, before));
}

TEST(attention, copies_no_encoding) {
  auto const x = numbers::random<float>(3 * 8);
  heads_view const view(x.data(), {3, 1, 8});
  expect_no_copy([&](auto const& encoding) {
    attention_workspace<float> workspace;
    attention(view, view, view, encoding, {}, workspace);
    attention(view.slice_tokens(2, 1), view, view, encoding);
  });
}

// ---- memory that is kept

/// Of `queries` at the ends of `keys`, but for those from `first_blind` to `last_blind`, which are
/// before every key.
struct call {
  std::size_t queries, keys, heads, kv_heads, dim, value_dim, first_blind = 0, last_blind = 0;
  bool keep_scores = false, keep_weights = false;
};

/// But for what -ffast-math reorders. Values are within [-1, 1].
void expect_same(char const* what, std::vector<double> const& actual,
                 std::vector<double> const& expected) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!is_finite(expected[i])) {
      EXPECT_TRUE(numbers::same_bits<double>({actual[i]}, {expected[i]})) << what << " " << i;
    } else {
      EXPECT_NEAR(actual[i], expected[i], 1e-12) << what << " " << i;
    }
  }
}

/// Site 2, of any even or odd head_dim.
struct doubled {
  template <class>
  auto prepare(positions_view at) const {
    return site_2::remembered(*this, at);
  }
  void queries_at(auto const& q, positions_view) const {
    for (std::size_t token = 0; token < q.tokens(); ++token)
      for (std::size_t head = 0; head < q.heads(); ++head)
        for (auto& x : q(token, head)) x *= 2;
  }
  void keys_at(auto const& k, positions_view at) const { queries_at(k, at); }
};

void expect_as_in_new_memory(auto const& encoding_of_heads) {
  attention_workspace<double> kept;
  for (auto const& c : {call{300, 300, 2, 1, 8, 8},                 // two blocks and more
                        call{300, 300, 2, 1, 8, 8, 0, 300},         // every block sees nothing
                        call{300, 300, 2, 1, 8, 8, 0, 128},         // the first does
                        call{300, 300, 2, 1, 8, 8, 60, 70},         // some rows of a block do
                        call{5, 7, 4, 2, 16, 3},                    // fewer of all, few rows
                        call{5, 7, 4, 2, 16, 3, 2, 4, true, true},  //
                        call{5, 7, 4, 2, 16, 3, 0, 5, true, true},  //
                        call{40, 50, 4, 2, 16, 9, 0, 0, true},      // more again
                        call{1, 20, 2, 2, 4, 40},                   // decoding
                        call{1, 20, 2, 2, 4, 40, 0, 1},             //
                        call{3, 0, 2, 2, 4, 5},                     // no keys
                        call{0, 3, 2, 2, 4, 5},                     // no queries
                        call{70, 400, 8, 2, 6, 5, 64, 70, false, true}}) {
    SCOPED_TRACE(testing::Message()
                 << c.queries << " queries, of which " << c.last_blind - c.first_blind
                 << " see nothing, and " << c.keys << " keys");
    auto const q = numbers::random<double>(c.queries * c.heads * c.dim, 1),
               k = numbers::random<double>(c.keys * c.kv_heads * c.dim, 2),
               v = numbers::random<double>(c.keys * c.kv_heads * c.value_dim, 3);
    positions at(c.queries);
    for (std::size_t t = 0; t < c.queries; ++t) {
      at[t] = c.first_blind <= t && t < c.last_blind
                  ? -1
                  : static_cast<std::int64_t>(c.keys + t) - static_cast<std::int64_t>(c.queries);
    }
    heads_view const q_view(q.data(), {c.queries, c.heads, c.dim}),
        k_view(k.data(), {c.keys, c.kv_heads, c.dim}),
        v_view(v.data(), {c.keys, c.kv_heads, c.value_dim});
    attention_options const options{
        .query_positions = at, .keep_scores = c.keep_scores, .keep_weights = c.keep_weights};
    auto const encoding = encoding_of_heads(c.heads);
    auto const expected = attention(q_view, k_view, v_view, encoding, options);
    auto const& actual = attention(q_view, k_view, v_view, encoding, options, kept);
    EXPECT_EQ(&actual, &kept.result);
    expect_same("output", actual.outputs, expected.outputs);
    expect_same("log_sum_exp", actual.log_sum_exp, expected.log_sum_exp);
    expect_same("score", actual.scores, expected.scores);
    expect_same("weight", actual.weights, expected.weights);
    for (auto i = c.first_blind * c.heads * c.value_dim; i < c.last_blind * c.heads * c.value_dim;
         ++i) {
      EXPECT_EQ(actual.outputs[i], 0) << i;
    }
  }
}

TEST(attention, in_memory_that_is_kept_is_as_in_new_memory) {
  expect_as_in_new_memory([](std::size_t) { return nope(); });
  expect_as_in_new_memory([](std::size_t heads) {
    return together(doubled{}, alibi(heads), adaptive_temperature{}, softmax_off_by_one{});
  });
}

// ---- bad input

struct shapes {
  heads_shape q{3, 4, 8}, k{5, 2, 8}, v{5, 2, 6};
};

/// The message of attention over such shapes, none of whose numbers may change.
template <class Encoding = nope>
std::string rejected(shapes const& given, attention_options const& options = {},
                     Encoding const& encoding = nope()) {
  auto const before = numbers::random<float>(1000);
  auto x = before;
  heads_view const q(x.data(), given.q), k(x.data(), given.k), v(x.data(), given.v);
  auto const message = message_of([&] { attention(q, k, v, encoding, options); });
  EXPECT_TRUE(numbers::same_bits(x, before));
  return message;
}

TEST(attention, shapes_that_disagree_are_rejected) {
  EXPECT_EQ(rejected({.k = {5, 2, 10}}),
            "posenc: attention: keys must have the queries' head_dim 8, got 10");
  EXPECT_EQ(rejected({.v = {4, 2, 6}}),
            "posenc: attention: values must have the keys' [tokens][heads], [5][2], got [4][2]");
  EXPECT_EQ(rejected({.v = {5, 1, 6}}),
            "posenc: attention: values must have the keys' [tokens][heads], [5][2], got [5][1]");
  EXPECT_EQ(rejected({.q = {3, 0, 8}}), "posenc: attention: there must be a head, got 0");
  EXPECT_EQ(rejected({.k = {5, 0, 8}, .v = {5, 0, 6}}),
            "posenc: attention: kv_heads must divide heads, got 0 kv heads for 4 heads");
  EXPECT_EQ(rejected({.k = {5, 3, 8}, .v = {5, 3, 6}}),
            "posenc: attention: kv_heads must divide heads, got 3 kv heads for 4 heads");
  EXPECT_EQ(rejected({.k = {5, 8, 8}, .v = {5, 8, 6}}),
            "posenc: attention: kv_heads must divide heads, got 8 kv heads for 4 heads");
  EXPECT_EQ(rejected({.k = {5, 0, 8}, .v = {5, 0, 6}}),
            "posenc: attention: kv_heads must divide heads, got 0 kv heads for 4 heads");
}

TEST(attention, a_scale_that_is_not_finite_is_rejected) {
  EXPECT_EQ(rejected({}, {.scale = infinity()}),
            "posenc: attention: scale must be finite, got infinity");
  EXPECT_EQ(rejected({}, {.scale = minus_infinity()}),
            "posenc: attention: scale must be finite, got -infinity");
  EXPECT_EQ(rejected({}, {.scale = 1e300}),
            "posenc: attention: scale must be finite, got 1e+300");  // not as a float
  EXPECT_EQ(rejected({}, {.scale = not_a_number()}),
            "posenc: attention: scale must be finite, got NaN");
}

TEST(attention, positions_that_are_not_one_a_token_are_rejected) {
  positions const two(2), three(3), four(4), five(5), six(6);
  EXPECT_EQ(rejected({}, {.query_positions = two}),
            "posenc: attention: there must be one position for each of the 3 queries, got 2");
  EXPECT_EQ(rejected({}, {.query_positions = four}),
            "posenc: attention: there must be one position for each of the 3 queries, got 4");
  EXPECT_EQ(rejected({}, {.key_positions = four}),
            "posenc: attention: there must be one position for each of the 5 keys, got 4");
  EXPECT_EQ(rejected({}, {.query_positions = three, .key_positions = six}),
            "posenc: attention: there must be one position for each of the 5 keys, got 6");
}

TEST(attention, more_queries_than_keys_without_positions_are_rejected) {
  shapes const more{.q = {6, 4, 8}};
  positions const five(5);
  auto const must =
      "posenc: attention: the positions of queries must be given where they outnumber keys, got 6 "
      "queries and 5 keys";
  EXPECT_EQ(rejected(more), must);
  EXPECT_EQ(rejected(more, {.key_positions = five}), must);
}

TEST(attention, of_more_or_fewer_heads_than_the_encoding_is_rejected) {
  for (std::size_t const heads : {1u, 2u, 3u, 5u, 8u, 64u}) {
    auto const must =
        "posenc: attention: the encoding must have 4 heads, got " + std::to_string(heads);
    EXPECT_EQ(rejected({}, {}, alibi(heads)), must);
    scheme const nested(adaptive_temperature{}, scheme(nope(), alibi(heads)));
    EXPECT_EQ(message_of([&] {
                detail::check_shapes("attention", nested, {3, 4, 8}, {5, 2, 8});
              }),
              must);
  }
}

TEST(attention, what_the_encoding_rejects_is_rejected) {
  EXPECT_EQ(rejected({}, {}, any_encoding(unprojected(sinusoidal<halves>(geometric(16, 1e4))))),
            "posenc: sinusoidal: embeddings must have 16 numbers, got 8");
  EXPECT_EQ(rejected({}, {}, any_encoding(rope<halves>(geometric(16, 1e4)))),
            "posenc: rotary_block: the rotary block must lie within the head, got dims 0 to 16 of "
            "head_dim 8");
}

namespace in_memory {

using namespace posenc;

constexpr double mib = 1024.0 * 1024.0;

/// What the last `queries` of 16384 tokens take at most while they attend to all before them, one
/// head of 16 numbers in float, in bytes: beside inputs and outputs.
double memory_of(std::size_t queries, auto const& encoding, attention_options const& options = {}) {
  constexpr std::size_t n = 16384, head_dim = 16;
  auto q = numbers::random<float>(queries * head_dim, 1),
       k = numbers::random<float>(n * head_dim, 2), v = numbers::random<float>(n * head_dim, 3);
  memory_meter::peak = memory_meter::held.load();
  auto const before = memory_meter::held.load();
  auto const result = attention(numbers::view(q, queries, head_dim), numbers::view(k, n, head_dim),
                                numbers::view(v, n, head_dim), encoding, options);
  auto const outputs =
      result.outputs.size() * sizeof(float) + result.log_sum_exp.size() * sizeof(double);
  return static_cast<double>(memory_meter::peak - before - outputs);
}

class attention_memory : public testing::Test {
 protected:
  void SetUp() override {
    if (is_sanitized) GTEST_SKIP() << "operator new is the sanitizer's";
  }
};

TEST_F(attention_memory, of_2048_queries_of_16384_keys_is_below_4_mib_where_scores_are_128_mib) {
  EXPECT_LT(memory_of(2048, nope()), 4 * mib);
}

TEST_F(attention_memory, does_not_grow_with_the_number_of_queries_whatever_the_encoding) {
  scheme const encoding(rope<halves>(geometric(16, 1e4)), alibi(1), adaptive_temperature{});
  auto const few = memory_of(256, encoding), many = memory_of(640, encoding);
  EXPECT_LT(many, 64 * mib);
  EXPECT_LT(many - few, 12 * mib) << "a row of scores for each of 384 more queries would be 24 MiB";
}

TEST_F(attention_memory, is_seen_by_these_tests_where_scores_are_kept) {
  auto const none = memory_of(640, nope()), all = memory_of(640, nope(), {.keep_scores = true});
  EXPECT_NEAR(all - none, 49 * mib, 8 * mib) << "the scores, and whole rows of a block";
}

}  // namespace in_memory

namespace in_parts {

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
  any_encoding const beta(constant_temperature(10));
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
  EXPECT_EQ(message_of([&] { return merge(one, two); }),
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

}  // namespace in_parts
}  // namespace
