#include "posenc/attention/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/alibi.hpp"
#include "oracle/attention.hpp"
#include "oracle/rotary.hpp"
#include "oracle/sinusoidal.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using positions = std::vector<std::int64_t>;

// ---- inputs: [tokens][heads][dim], somewhere in memory

enum class memory { dense, padded, heads_first, backwards, repeated };

/// Random numbers, with others around them that would show in every result.
template <class T>
struct tensor {
  std::vector<T> buffer;
  heads_view<T const> view;

  tensor(heads_shape shape, memory where, std::uint64_t seed) : tensor(shape, strides_of(shape, where), seed) {}

  /// The numbers that the view shows, one head after another.
  std::vector<double> exact() const {
    std::vector<double> result;
    for (std::size_t token = 0; token < view.tokens(); ++token)
      for (std::size_t head = 0; head < view.heads(); ++head)
        for (auto const x : view(token, head)) result.push_back(static_cast<double>(x));
    return result;
  }

 private:
  tensor(heads_shape shape, heads_strides strides, std::uint64_t seed)
      : buffer((shape.head_dim + 3) * (shape.heads + 1) * (shape.tokens + 1), T(1e6)),
        view(buffer.data() + (strides.token < 0 ? -strides.token * static_cast<std::ptrdiff_t>(shape.tokens) : 0), shape, strides) {
    auto const numbers = numbers::random<T>(shape.tokens * shape.heads * shape.head_dim, seed);
    for (std::size_t token = 0; token < shape.tokens; ++token)
      for (std::size_t head = 0; head < shape.heads; ++head)
        for (std::size_t i = 0; i < shape.head_dim; ++i)
          buffer[static_cast<std::size_t>(view(token, head).data() - buffer.data()) + i] =
              numbers[(token * shape.heads + head) * shape.head_dim + i];
  }

  static heads_strides strides_of(heads_shape shape, memory where) {
    auto const dim = static_cast<std::ptrdiff_t>(shape.head_dim), heads = static_cast<std::ptrdiff_t>(shape.heads),
               tokens = static_cast<std::ptrdiff_t>(shape.tokens);
    switch (where) {
      case memory::padded:
        return {heads * (dim + 2) + 1, dim + 2};
      case memory::heads_first:
        return {dim, tokens * dim};
      case memory::backwards:
        return {-heads * (dim + 1), dim + 1};
      case memory::repeated:
        return {0, 0};
      case memory::dense:
        break;
    }
    return {heads * dim, dim};
  }
};

struct problem {
  char const* name;
  std::size_t queries, keys, heads, kv_heads, head_dim, value_dim;
  mask visible = mask::causal;
  positions query_positions = {}, key_positions = {};  ///< as attention_options has them
  std::optional<double> scale = {};
  memory where = memory::dense;
};

// ---- what an encoding is to the oracle

struct meaning {
  std::function<void(std::span<double> head, std::int64_t position)> encode = [](std::span<double>, std::int64_t) {};
  oracle::score_bias bias = nullptr;
  bool adaptive = false;
};

meaning embedded(std::size_t dim) {
  return {.encode = [=](std::span<double> head, std::int64_t position) {
    auto const p = oracle::sinusoidal_row(static_cast<long double>(position), dim, oracle::sinusoid_order::interleaved,
                                          oracle::sinusoid_divisor::half);
    for (std::size_t i = 0; i < dim; ++i) head[i] += p[i];
  }};
}

meaning rotated(std::vector<double> inv_freq, oracle::pairing pairs, std::size_t first_dim = 0, double attention_factor = 1) {
  return {.encode = [=](std::span<double> head, std::int64_t position) {
    oracle::rotate(head, inv_freq, static_cast<long double>(position), pairs, first_dim, attention_factor);
  }};
}

meaning biased(std::size_t heads) {
  return {.bias = [=](std::size_t head, double q, double k) { return oracle::bias(head, heads, q, k); }};
}

meaning sharpened() { return {.adaptive = true}; }

/// One after the other.
meaning operator+(meaning const& a, meaning const& b) {
  return {.encode = [=](std::span<double> head, std::int64_t position) { a.encode(head, position), b.encode(head, position); },
          .bias = a.bias ? a.bias : b.bias,
          .adaptive = a.adaptive || b.adaptive};
}

// ---- tolerances

/// By how much an encoded number may be off, where inputs and embeddings are within [-1, 1], frequencies are powers that are rounded, and
/// the attention factor is up to 1.25: the embedding adds a cosine's error and a rounding of 2; rotating passes that on sqrt 2 fold, and
/// adds its own for numbers up to 2.
template <class T>
double error_of_encoding(double largest_position) {
  auto const angle = tolerance::of_angle(largest_position, 1);
  auto const embedding = angle + tolerance::of_cosine<T>() + 2 * tolerance::unit_roundoff<T>();
  return 1.25 * std::sqrt(2.0) * (embedding + 2 * angle) + tolerance::of_rotated<T>(2, 2, 2 * std::sqrt(2.0), 1.25);
}

/// |P'| of the adaptive temperature where P exceeds 1; it is steepest at the upper root.
constexpr double steepest = 2.53;

// ---- the comparison

template <class T, class Encoding>
void expect_as_oracle(problem const& given, Encoding const& encoding, meaning const& means) {
  auto const queries = given.queries, keys = given.keys, heads = given.heads, kv_heads = given.kv_heads;
  auto const head_dim = given.head_dim, value_dim = given.value_dim;
  tensor<T> const q({queries, heads, head_dim}, given.where == memory::repeated ? memory::dense : given.where, 1);
  tensor<T> const k({keys, kv_heads, head_dim}, given.where, 2), v({keys, kv_heads, value_dim}, given.where, 3);
  auto const q_before = q.buffer, k_before = k.buffer, v_before = v.buffer;

  auto const result = attention(q.view, k.view, v.view, encoding,
                                {.visible = given.visible,
                                 .scale = given.scale,
                                 .query_positions = given.query_positions,
                                 .key_positions = given.key_positions,
                                 .keep_scores = true,
                                 .keep_weights = true});
  EXPECT_TRUE(numbers::same_bits(q.buffer, q_before) && numbers::same_bits(k.buffer, k_before) && numbers::same_bits(v.buffer, v_before));
  ASSERT_EQ(result.outputs.size(), queries * heads * value_dim);
  ASSERT_EQ(result.scores.size(), heads * queries * keys);
  ASSERT_EQ(result.weights.size(), heads * queries * keys);

  // Where no positions are given, the queries are the last of the keys.
  auto q_at = given.query_positions, k_at = given.key_positions;
  while (k_at.size() < keys) k_at.push_back(static_cast<std::int64_t>(k_at.size()));
  while (q_at.size() < queries) q_at.push_back(static_cast<std::int64_t>(keys - queries + q_at.size()));
  auto q_encoded = q.exact(), k_encoded = k.exact();
  auto const encode = [&](std::vector<double>& x, positions const& at, std::size_t in_heads) {
    for (std::size_t i = 0; i < at.size() * in_heads; ++i) means.encode(std::span(x).subspan(i * head_dim, head_dim), at[i / in_heads]);
  };
  encode(q_encoded, q_at, heads);
  encode(k_encoded, k_at, kv_heads);

  auto const values = v.exact();
  auto const scale = given.scale.value_or(1 / std::sqrt(static_cast<double>(head_dim)));
  auto const expected = oracle::attention(q_encoded, k_encoded, values, std::vector<double>(q_at.begin(), q_at.end()),
                                          std::vector<double>(k_at.begin(), k_at.end()), {heads, kv_heads, head_dim, value_dim}, scale,
                                          given.visible == mask::causal ? oracle::mask::causal : oracle::mask::full, means.bias,
                                          means.adaptive ? oracle::row_temperature(oracle::adaptive_beta) : nullptr);

  double largest_position = 0;
  for (auto const& at : {q_at, k_at})
    for (auto const position : at) largest_position = std::max(largest_position, std::abs(static_cast<double>(position)));
  auto const number = error_of_encoding<T>(largest_position), u = tolerance::unit_roundoff<T>();

  for (std::size_t head = 0; head < heads; ++head) {
    auto const kv_head = head / (heads / kv_heads);
    for (std::size_t t = 0; t < queries; ++t) {
      SCOPED_TRACE(testing::Message() << "head " << head << ", query " << t);
      auto const row = (head * queries + t) * keys;
      auto const seen = [&](std::size_t s) { return given.visible == mask::full || k_at[s] <= q_at[t]; };

      // Scores: the numbers of either vector, their dot product, its scale and bias.
      double error = 0, max = -1e300, min = 1e300;
      std::size_t count = 0;
      for (std::size_t s = 0; s < keys; ++s) {
        auto const score = expected.logits[row + s], actual = static_cast<double>(result.scores[row + s]);
        ASSERT_EQ(is_masked(result.scores[row + s]), !seen(s)) << "key " << s;
        if (!seen(s)) continue;
        double products = 0, numbers = 0;
        for (std::size_t i = 0; i < head_dim; ++i) {
          auto const a = std::abs(q_encoded[(t * heads + head) * head_dim + i]),
                     b = std::abs(k_encoded[(s * kv_heads + kv_head) * head_dim + i]);
          products += a * b, numbers += a + b;
        }
        auto const of_score = std::abs(scale) * (numbers * number + static_cast<double>(head_dim) * number * number +
                                                 tolerance::of_dot_product<T>(head_dim + 2, products)) +
                              4 * u * (std::abs(score) + std::abs(scale) * products);
        EXPECT_NEAR(actual, score, of_score) << "key " << s;
        error = std::max(error, of_score), max = std::max(max, score), min = std::min(min, score), ++count;
      }

      // The temperature: H is off by at most 2 H times the error of a score, or ln n; beta by that times P', and by the epsilon a key.
      auto const n = static_cast<double>(count), most = std::log(std::max(n, 1.0));
      auto const entropy = 2 * most * std::expm1(2 * error) + tolerance::of_entropy(most, count) + 1e-9 * n;
      auto const of_beta = means.adaptive ? steepest * entropy : 0;
      auto const beta = means.adaptive ? 2.43 : 1;

      // Weights: by the error of beta times score, against that of all others; then by their own arithmetic.
      std::vector<double> of_weight(keys);
      for (std::size_t s = 0; s < keys; ++s) {
        auto const weight = expected.weights[row + s], actual = static_cast<double>(result.weights[row + s]);
        if (!seen(s)) {
          EXPECT_EQ(actual, 0) << "key " << s;
          continue;
        }
        auto const below = max - expected.logits[row + s];
        of_weight[s] = tolerance::of_weight_by_scores(weight, beta * error + of_beta * std::max(below, most)) +
                       tolerance::of_weight<T>(weight, beta * below, keys);
        EXPECT_NEAR(actual, weight, of_weight[s]) << "key " << s;
      }

      // Outputs: a dot product with weights that are off.
      for (std::size_t i = 0; i < value_dim; ++i) {
        double of_output = 0, products = 0;
        for (std::size_t s = 0; s < keys; ++s) {
          auto const value = std::abs(values[(s * kv_heads + kv_head) * value_dim + i]);
          of_output += of_weight[s] * value, products += expected.weights[row + s] * value;
        }
        auto const at = (t * heads + head) * value_dim + i;
        EXPECT_NEAR(static_cast<double>(result.outputs[at]), expected.outputs[at], of_output + tolerance::of_dot_product<T>(keys, products))
            << "dim " << i;
      }
    }
  }
}

/// Under every encoding, alone and together; float and double.
void expect_textbook(problem const& given) {
  SCOPED_TRACE(given.name);
  auto const dim = given.head_dim, heads = given.heads, even = dim / 2 * 2;
  auto const expect = [&]<class Encoding>(char const* name, Encoding const& encoding, meaning const& means) {
    SCOPED_TRACE(name);
    numbers::in_float_and_double([&]<class T>() { expect_as_oracle<T>(given, encoding, means); });
  };
  auto const in_halves = oracle::pairing::halves;
  auto const turned = rotated(oracle::inv_freq(even, 1e4), in_halves, dim - even),
             cut = rotated(oracle::p_rope_inv_freq(even, 1e4, 0.75), in_halves);
  rope<halves> const turning(geometric(even, 1e4), rotary_block::last());
  rope<halves> const cutting = p_rope<halves>(even, 1e4, 0.75);

  expect("nope", nope(), {});
  expect("rope", turning, turned);
  expect("p-RoPE", cutting, cut);
  expect("alibi", alibi(heads), biased(heads));
  expect("adaptive temperature", adaptive_temperature{}, sharpened());
  expect("rope, alibi and adaptive temperature", scheme(turning, alibi(heads), adaptive_temperature{}),
         turned + biased(heads) + sharpened());
  if (dim != even) return;  // embeddings are even
  sinusoidal<interleaved> const embedding(geometric(dim, 1e4));
  rope<interleaved> const grown(frequencies(oracle::inv_freq(even, 1e4), 1.25));
  expect("sinusoidal", embedding, embedded(dim));
  expect("all", scheme(scheme(adaptive_temperature{}, embedding), scheme(grown, alibi(heads))),
         embedded(dim) + rotated(oracle::inv_freq(even, 1e4), oracle::pairing::interleaved, 0, 1.25) + biased(heads) + sharpened());
}

TEST(attention, is_the_textbooks_under_every_encoding) {
  expect_textbook({"causal", 9, 9, 2, 2, 8, 8});
  expect_textbook({"full", 9, 9, 2, 2, 8, 8, mask::full});
  expect_textbook({"one number a head", 3, 4, 3, 3, 2, 1});
}

TEST(attention, reads_the_key_and_value_head_of_its_group) {
  expect_textbook({"1:1", 5, 7, 4, 4, 8, 8});
  expect_textbook({"4:1", 5, 7, 8, 2, 8, 8});
  expect_textbook({"all:1", 5, 7, 6, 1, 8, 8});
}

TEST(attention, has_values_of_another_size_than_its_keys) {
  expect_textbook({"smaller", 5, 7, 2, 1, 16, 3});
  expect_textbook({"larger", 5, 7, 2, 1, 6, 40});
  expect_textbook({"odd", 5, 7, 2, 1, 7, 5});
}

TEST(attention, of_one_query_sees_every_key_before_it) {
  expect_textbook({"decode", 1, 300, 4, 2, 16, 16});
  expect_textbook({"one of each", 1, 1, 1, 1, 4, 4});
}

TEST(attention, of_more_than_a_block_of_queries_is_that_of_each) {
  expect_textbook({"128", 128, 128, 1, 1, 4, 4});
  expect_textbook({"129", 129, 140, 2, 1, 4, 4});
  positions shuffled(20);
  for (std::size_t s = 0; s < 20; ++s) shuffled[s] = static_cast<std::int64_t>(7 * s % 20);
  expect_textbook({"260, full", 260, 20, 1, 1, 4, 4, mask::full, positions(260, 7), shuffled});
}

TEST(attention, goes_by_positions_with_gaps_in_any_order) {
  positions const gaps{100, 3, -40, 7, 4095, 8, 0}, three{7, 5000, -40}, repeats{2, 2, 2, 1, 1, 0, 3};
  expect_textbook({"causal", 3, 7, 2, 1, 8, 8, mask::causal, three, gaps});
  expect_textbook({"full", 3, 7, 2, 1, 8, 8, mask::full, three, gaps});
  expect_textbook({"repeats", 3, 7, 2, 1, 8, 8, mask::causal, {2, 1, 2}, repeats});
  expect_textbook({"positions of the keys alone", 3, 7, 2, 1, 8, 8, mask::causal, {}, repeats});
  expect_textbook({"positions of the queries alone", 3, 7, 2, 1, 8, 8, mask::causal, {6, 2, 0}, {}});
  expect_textbook({"positions of more queries than keys alone", 7, 3, 2, 1, 8, 8, mask::causal, gaps, {}});
  expect_textbook({"more queries than keys", 7, 3, 2, 1, 8, 8, mask::causal, gaps, three});
  expect_textbook({"far", 3, 3, 2, 1, 8, 8, mask::causal, {1'000'002, 1'000'000, 1'000'001}, {1'000'000, 1'000'001, 1'000'002}});
}

TEST(attention, a_query_with_every_key_masked_weighs_nothing_and_gives_0) {
  expect_textbook({"one of three", 3, 4, 2, 1, 8, 8, mask::causal, {5, -1, 2}, {0, 1, 2, 3}});
  expect_textbook({"all", 2, 4, 2, 1, 8, 8, mask::causal, {-5, -1}, {0, 1, 2, 3}});
  std::vector<float> const x(8, 1);
  auto const result = attention(heads_view(x.data(), {1, 1, 8}), {x.data(), {1, 1, 8}}, {x.data(), {1, 1, 8}}, nope(),
                                {.query_positions = positions{3}, .key_positions = positions{4}, .keep_weights = true});
  EXPECT_TRUE(numbers::same_bits(result.outputs, std::vector<float>(8)));
  EXPECT_TRUE(numbers::same_bits(result.weights, std::vector<float>(1)));
}

TEST(attention, reads_any_strides) {
  for (auto const where : {memory::padded, memory::heads_first, memory::backwards, memory::repeated}) {
    SCOPED_TRACE(static_cast<int>(where));
    expect_textbook({"causal", 5, 7, 4, 2, 8, 6, mask::causal, {}, {}, {}, where});
    expect_textbook({"one query", 1, 20, 2, 1, 8, 6, mask::causal, {}, {}, {}, where});
  }
}

TEST(attention, takes_the_scale_that_it_is_given) {
  for (double const scale : {1.0, 0.0, -0.5, 3.0}) expect_textbook({"scaled", 5, 7, 2, 1, 8, 8, mask::causal, {}, {}, scale});
}

TEST(attention, gives_scores_and_weights_only_on_request) {
  auto const x = numbers::random<float>(5 * 2 * 8);
  heads_view const view(x.data(), {5, 2, 8});
  for (bool const scores : {false, true}) {
    for (bool const weights : {false, true}) {
      auto const result = attention(view, view, view, nope(), {.keep_scores = scores, .keep_weights = weights});
      EXPECT_EQ(result.outputs.size(), x.size());
      EXPECT_EQ(result.scores.size(), scores ? 2u * 5 * 5 : 0);
      EXPECT_EQ(result.weights.size(), weights ? 2u * 5 * 5 : 0);
    }
  }
}

TEST(attention, the_scores_it_gives_are_before_the_temperature) {
  auto const x = numbers::random<double>(6 * 8);
  heads_view const view(x.data(), {6, 1, 8});
  auto const plain = attention(view, view, view, nope(), {.keep_scores = true, .keep_weights = true});
  auto const adaptive = attention(view, view, view, adaptive_temperature{}, {.keep_scores = true, .keep_weights = true});
  EXPECT_TRUE(numbers::same_bits(plain.scores, adaptive.scores));
  EXPECT_FALSE(numbers::same_bits(plain.weights, adaptive.weights));
}

TEST(attention, of_no_queries_or_no_heads_is_empty) {
  auto const x = numbers::random<float>(3 * 2 * 8);
  heads_view const view(x.data(), {3, 2, 8}), no_heads(x.data(), {3, 0, 8});
  for (auto const& result : {attention(view.slice_tokens(0, 0), view, view, nope(), {.keep_scores = true, .keep_weights = true}),
                             attention(no_heads, view, view, nope(), {.keep_scores = true, .keep_weights = true}),
                             attention(no_heads, no_heads, no_heads, nope(), {.keep_scores = true, .keep_weights = true})}) {
    EXPECT_TRUE(result.outputs.empty());
    EXPECT_TRUE(result.scores.empty());
    EXPECT_TRUE(result.weights.empty());
  }
}

TEST(attention, of_no_keys_is_0) {
  auto const x = numbers::random<float>(3 * 2 * 8);
  heads_view const view(x.data(), {3, 2, 8});
  auto const result = attention(view, view.slice_tokens(0, 0), view.slice_tokens(0, 0), scheme(alibi(2), adaptive_temperature{}),
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
  auto const result = attention(heads_view<float const>(q.data(), {4, 1, 8}), k, k, rope<halves>(geometric(8, 1e4)));
  for (std::size_t i = 0; i < result.outputs.size(); ++i) EXPECT_EQ(is_finite(static_cast<double>(result.outputs[i])), i / 8 != 2) << i;
}

TEST(attention, takes_views_that_could_be_written_to_and_leaves_them) {
  auto const before = numbers::random<float>(3 * 8);
  auto x = before;
  heads_view const view(x.data(), {3, 1, 8});
  scheme const encoding(sinusoidal<interleaved>(geometric(8, 1e4)), rope<halves>(geometric(8, 1e4)));
  EXPECT_EQ(attention(view, view, view, encoding).outputs.size(), x.size());
  EXPECT_TRUE(numbers::same_bits(x, before));
}

// ---- bad input

struct shapes {
  heads_shape q{3, 4, 8}, k{5, 2, 8}, v{5, 2, 6};
};

/// The message of attention over such shapes, none of whose numbers may change.
template <class Encoding = nope>
std::string rejected(shapes const& given, attention_options const& options = {}, Encoding const& encoding = nope()) {
  auto const before = numbers::random<float>(1000);
  auto x = before;
  heads_view const q(x.data(), given.q), k(x.data(), given.k), v(x.data(), given.v);
  auto const message = message_of([&] { attention(q, k, v, encoding, options); });
  EXPECT_TRUE(numbers::same_bits(x, before));
  return message;
}

TEST(attention, shapes_that_disagree_are_rejected) {
  EXPECT_EQ(rejected({.k = {5, 2, 10}}), "posenc: attention: keys must have the queries' head_dim 8, got 10");
  EXPECT_EQ(rejected({.v = {4, 2, 6}}), "posenc: attention: there must be one value a key, [5][2], got [4][2]");
  EXPECT_EQ(rejected({.v = {5, 1, 6}}), "posenc: attention: there must be one value a key, [5][2], got [5][1]");
  EXPECT_EQ(rejected({.k = {5, 3, 8}, .v = {5, 3, 6}}), "posenc: attention: kv_heads must divide heads, got 3 kv heads for 4 heads");
  EXPECT_EQ(rejected({.k = {5, 8, 8}, .v = {5, 8, 6}}), "posenc: attention: kv_heads must divide heads, got 8 kv heads for 4 heads");
  EXPECT_EQ(rejected({.k = {5, 0, 8}, .v = {5, 0, 6}}), "posenc: attention: kv_heads must divide heads, got 0 kv heads for 4 heads");
}

TEST(attention, a_scale_that_is_not_finite_is_rejected) {
  EXPECT_EQ(rejected({}, {.scale = infinity()}), "posenc: attention: scale must be finite, got infinity");
  EXPECT_EQ(rejected({}, {.scale = minus_infinity()}), "posenc: attention: scale must be finite, got -infinity");
  EXPECT_EQ(rejected({}, {.scale = not_a_number()}), "posenc: attention: scale must be finite, got NaN");
}

TEST(attention, positions_that_are_not_one_a_token_are_rejected) {
  positions const two(2), three(3), four(4), five(5), six(6);
  EXPECT_EQ(rejected({}, {.query_positions = two}), "posenc: attention: there must be one position for each of the 3 queries, got 2");
  EXPECT_EQ(rejected({}, {.query_positions = four}), "posenc: attention: there must be one position for each of the 3 queries, got 4");
  EXPECT_EQ(rejected({}, {.key_positions = four}), "posenc: attention: there must be one position for each of the 5 keys, got 4");
  EXPECT_EQ(rejected({}, {.query_positions = three, .key_positions = six}),
            "posenc: attention: there must be one position for each of the 5 keys, got 6");
}

TEST(attention, more_queries_than_keys_without_positions_are_rejected) {
  shapes const more{.q = {6, 4, 8}};
  positions const five(5);
  auto const must = "posenc: attention: the positions of queries must be given where they outnumber keys, got 6 queries and 5 keys";
  EXPECT_EQ(rejected(more), must);
  EXPECT_EQ(rejected(more, {.key_positions = five}), must);
}

TEST(attention, what_the_encoding_rejects_is_rejected) {
  EXPECT_EQ(rejected({}, {}, alibi(3)), "posenc: alibi: the head must be below 3, got 3");
  EXPECT_EQ(rejected({}, {}, sinusoidal<halves>(geometric(16, 1e4))), "posenc: sinusoidal: embeddings must have 16 numbers, got 8");
  EXPECT_EQ(rejected({}, {}, scheme(adaptive_temperature{}, rope<halves>(geometric(16, 1e4)))),
            "posenc: rotary_block: the rotary block must lie within the head, got dims 0 to 16 of head_dim 8");
}

}  // namespace
