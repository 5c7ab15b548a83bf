#include "posenc/score/key_bias.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "attention/any_encoding.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/query_key/hadamard_transform.hpp"
#include "posenc/query_key/m_rope.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/rows/rerotation.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using encodings::any_encoding;

/// Queries, keys without the bias and with it, and values, in double.
struct heads_with_bias {
  std::size_t queries, keys, heads = 6, kv_heads = 2, head_dim = 32;
  std::vector<float> bias = numbers::random<float>(kv_heads * head_dim, 7);
  std::vector<double> q = numbers::random<double>(queries * heads * head_dim, 1),
                      plain = numbers::random<double>(keys * kv_heads * head_dim, 2),
                      v = numbers::random<double>(keys * kv_heads * head_dim, 3), whole = {};

  heads_with_bias(std::size_t query_count, std::size_t key_count)
      : queries(query_count), keys(key_count) {
    for (auto& b : bias) b *= 20;
    whole = plain;
    for (std::size_t i = 0; i < whole.size(); ++i)
      whole[i] += static_cast<double>(bias[i % bias.size()]);
  }
  heads_view<double const> view(std::vector<double> const& x, std::size_t tokens,
                                std::size_t count) const {
    return {x.data(), {tokens, count, head_dim}};
  }
  auto attended(std::vector<double> const& k, any_encoding const& encoding,
                attention_options const& options) const {
    return attention(view(q, queries, heads), view(k, keys, kv_heads), view(v, keys, kv_heads),
                     encoding, options);
  }
  auto gradients(std::vector<double> const& k, any_encoding const& encoding,
                 attention_options const& options) const {
    return attention_backward(view(q, queries, heads), view(k, keys, kv_heads),
                              view(v, keys, kv_heads), encoding, attended(k, encoding, options),
                              view(q, queries, heads), options);
  }
};

/// Scores of at most 120 are off by 1e-12 and so are, relative to them, weights; outputs are at
/// most 1.
void expect_near(std::vector<double> const& actual, std::vector<double> const& expected,
                 double tolerance = 1e-11) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance) << i;
}

// scale <q, R(p) (k + b)> = scale <q, R(p) k> + scale <q, R(p) b>: a prompt, a step of a decode in
// ranges of keys, windows, caps and sinks.
TEST(key_bias, is_attention_to_keys_that_have_the_bias) {
  auto const f = truncated(geometric(24, 1e4), 0.75);
  auto const rotary = rope<halves>(f, rotary_block::last());
  for (auto const& size : {std::pair<std::size_t, std::size_t>{40, 700}, {1, 5000}}) {
    auto const queries = size.first, keys = size.second;
    heads_with_bias const x(queries, keys);
    key_bias<halves> const bias(x.bias, x.kv_heads, x.heads, f, rotary_block::last());
    std::vector<std::int64_t> apart(keys);
    for (std::size_t i = 0; i < keys; ++i)
      apart[i] = static_cast<std::int64_t>(i + i / 100 * 7 + i / 64 % 2);
    attention_options options;
    auto const same = [&] {  // not by any_encoding, which needs whole rows
      expect_near(attention(x.view(x.q, queries, x.heads), x.view(x.plain, keys, x.kv_heads),
                            x.view(x.v, keys, x.kv_heads), scheme(rotary, bias), options)
                      .outputs,
                  x.attended(x.whole, rotary, options).outputs);
    };
    same();
    options.mask = mask::window(600, 1), options.scale = 0.05;
    same();
    options.key_positions = apart;
    same();
    soft_cap const cap(30);
    attention_sinks const sinks(std::vector<double>{1, 2, 3, -1, 0, 1});
    expect_near(x.attended(x.plain, scheme(rotary, bias, cap, sinks), options).outputs,
                x.attended(x.whole, scheme(rotary, cap, sinks), options).outputs);
  }
}

TEST(key_bias, on_the_axes_of_m_rope_is_attention_to_keys_that_have_the_bias) {
  heads_with_bias const x(50, 150);
  auto const builder = axis_position_builder<>().text(20).image(6, 9).text(3);
  auto const f = geometric(32, 1e4);
  auto const axes = contiguous_axes({4, 6, 6});
  m_rope<halves> const rotary(f, axes, builder.positions(), builder.rope_delta());
  key_bias<halves> const bias(x.bias, x.kv_heads, x.heads, f, axes, builder.positions(),
                              builder.rope_delta());
  expect_near(x.attended(x.plain, scheme(rotary, bias), {}).outputs,
              x.attended(x.whole, rotary, {}).outputs);
}

// Queries that rotate() has scaled carry their scale into the rule.
TEST(key_bias, of_scaled_queries_and_cached_keys_is_the_same) {
  heads_with_bias x(1, 900);
  auto const f = geometric(32, 1e6);
  key_bias<interleaved> const bias(x.bias, x.kv_heads, x.heads, f);
  std::vector<std::int64_t> positions(x.keys), last{static_cast<std::int64_t>(x.keys) - 1};
  std::iota(positions.begin(), positions.end(), 0);
  auto const expected = x.attended(x.whole, rope<interleaved>(f), {.scale = 0.125}).outputs;
  heads_view<double> const q(x.q.data(), {1, x.heads, x.head_dim}),
      k(x.plain.data(), {x.keys, x.kv_heads, x.head_dim});
  rotate<interleaved>(k, cos_sin_rows<double>(f, positions));
  auto const queries = rotated<interleaved>(q).scale(0.125);
  rotate(cos_sin_rows<double>(f, last), queries);
  expect_near(attention(encoded(queries), heads_view<double const>(k),
                        x.view(x.v, x.keys, x.kv_heads), bias)
                  .outputs,
              expected);
}

// R(p) W x has no bias in it, and moves as any key does: by a shift, and to other frequencies.
TEST(key_bias, of_keys_that_moved_is_that_of_keys_at_their_new_positions) {
  heads_with_bias x(3, 300);
  auto const f = geometric(32, 1e4), other = linear(f, 4);
  std::vector<std::int64_t> positions(x.keys), moved(x.keys), of_queries{500, 501, 502};
  for (std::size_t i = 0; i < x.keys; ++i)
    positions[i] = static_cast<std::int64_t>(i), moved[i] = positions[i] + 70;
  attention_options options{.query_positions = of_queries, .key_positions = moved};
  auto const expected = x.attended(x.whole, rope<halves>(other), options).outputs;
  heads_view<double> const k(x.plain.data(), {x.keys, x.kv_heads, x.head_dim});
  rotate<halves>(k, cos_sin_rows<double>(f, positions));
  rotate<halves>(k, shift_rows<double>(f, std::vector<std::int64_t>(x.keys, 70)));
  rotate<halves>(k, rerotation_rows<double>(f, other, moved));
  options.keys_are_encoded = true;
  key_bias<halves> const bias(x.bias, x.kv_heads, x.heads, other);
  expect_near(x.attended(x.plain, scheme(rope<halves>(other), bias), options).outputs, expected);
}

TEST(key_bias, of_transformed_queries_and_keys_is_the_same) {
  heads_with_bias const x(20, 600);
  auto const rotary = rope<halves>(geometric(32, 1e4));
  key_bias<halves> const bias(x.bias, x.kv_heads, x.heads, geometric(32, 1e4));
  for (std::size_t const block : {0u, 16u}) {
    scheme const transformed(rotary, hadamard_transform{block}, bias.of_transformed(block));
    expect_near(x.attended(x.plain, transformed, {}).outputs,
                x.attended(x.whole, rotary, {}).outputs);
    expect_near(x.gradients(x.plain, transformed, {.scale = 0.01}).q,
                x.gradients(x.whole, rotary, {.scale = 0.01}).q);
  }
}

TEST(key_bias, gradients_are_those_of_keys_that_have_the_bias) {
  heads_with_bias const x(20, 90);
  auto const f = geometric(32, 1e4).with_attention_factor(1.2);
  auto const rotary = rope<halves>(f);
  key_bias<halves> const bias(x.bias, x.kv_heads, x.heads, f);
  attention_options const options{.scale = 0.01};
  auto const actual = x.gradients(x.plain, scheme(rotary, bias), options),
             expected = x.gradients(x.whole, rotary, options);
  expect_near(actual.q, expected.q), expect_near(actual.k, expected.k);
  expect_near(actual.v, expected.v);
}

TEST(key_bias, of_other_kv_heads_than_the_keys_is_rejected) {
  heads_with_bias const x(2, 5);
  auto const f = geometric(32, 1e4);
  for (std::size_t const kv_heads : {1u, 3u}) {
    key_bias<halves> const bias(std::vector<float>(kv_heads * 32), kv_heads, x.heads, f);
    auto const must =
        "posenc: attention: the encoding must have 2 kv heads, got " + std::to_string(kv_heads);
    heads_shape const q{2, x.heads, x.head_dim}, k{5, x.kv_heads, x.head_dim};
    EXPECT_EQ(message_of([&] { detail::check_shapes("attention", bias, q, k); }), must);
    EXPECT_EQ(
        message_of([&] { detail::check_shapes("attention", scheme(nope(), scheme(bias)), q, k); }),
        must);
  }
}

}  // namespace
