#include "posenc/attention/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attention/any_encoding.hpp"
#include "attention/random_heads.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/alibi.hpp"
#include "oracle/attention.hpp"
#include "oracle/rotary.hpp"
#include "oracle/sinusoidal.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/rules.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/unprojected.hpp"
#include "posenc/query_key/xpos.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/bias_matrix.hpp"
#include "posenc/score/cope.hpp"
#include "posenc/score/kerple.hpp"
#include "posenc/score/scale_invariant.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using encodings::any_encoding, encodings::together;

using tensors = random_heads<double>;

template <class E>
std::vector<double> reference(tensors const& x, E const& encoding,
                              attention_options const& options = {}) {
  return reference_attention(x.q_view(), x.k_view(), x.v_view(), encoding, options).outputs;
}

/// What an encoding is to the oracle.
struct definition {
  std::function<void(std::span<double> head, double position)> encode = nullptr;
  oracle::score_bias bias = nullptr;
  bool adaptive = false;
};

void embed(std::span<double> head, double position) {
  auto const p =
      oracle::sinusoidal_row(static_cast<long double>(position), head.size(),
                             oracle::sinusoid_order::interleaved, oracle::sinusoid_divisor::half);
  for (std::size_t i = 0; i < head.size(); ++i) head[i] += p[i];
}

/// Numbers are within [-1, 1], so that scores are off by angles of up to 5000 radians, whose
/// frequencies are rounded (2^-38), and weights by as much, relative; an adaptive temperature by
/// the published epsilon of 1e-9 per key.
template <class E>
void is_the_oracles(E const& encoding, definition const& means) {
  struct sizes {
    attention_sizes n;
    std::vector<std::int64_t> query_positions, key_positions;
    std::optional<double> scale;
  };
  for (auto const& [n, at_queries, at_keys, scale] :
       {sizes{{5, 7, 8, 2, 8, 6}, {2, 3, 4, 5, 6}, {0, 1, 2, 3, 4, 5, 6}, {}},
        sizes{{1, 1, 8, 8, 8, 8}, {0}, {0}, {}},
        sizes{{3, 5, 8, 1, 8, 9}, {7, 5000, -40}, {100, 3, -41, 7, 4095}, -0.5}}) {
    tensors const x(n);
    auto const actual = reference_attention(x.q_view(), x.k_view(), x.v_view(), encoding,
                                            {.scale = scale,
                                             .query_positions = at_queries,
                                             .key_positions = at_keys,
                                             .keep_scores = true,
                                             .keep_weights = true});
    auto q = x.q, k = x.k;
    for (std::size_t i = 0; means.encode && i < q.size(); i += 8)
      means.encode(std::span(q).subspan(i, 8), static_cast<double>(at_queries[i / (8 * n.heads)]));
    for (std::size_t i = 0; means.encode && i < k.size(); i += 8)
      means.encode(std::span(k).subspan(i, 8), static_cast<double>(at_keys[i / (8 * n.kv_heads)]));
    auto const expected = oracle::attention(
        q, k, x.v, std::vector<double>(at_queries.begin(), at_queries.end()),
        std::vector<double>(at_keys.begin(), at_keys.end()),
        {n.heads, n.kv_heads, n.head_dim, n.value_dim}, scale.value_or(1 / std::sqrt(8.0)),
        [&keys = at_keys, &queries = at_queries](std::size_t t, std::size_t s) {
          return keys[s] <= queries[t];
        },
        means.bias, means.adaptive ? oracle::row_temperature(oracle::adaptive_beta) : nullptr);
    auto const expect_near = [](auto const& numbers, auto const& oracles, double error) {
      ASSERT_EQ(numbers.size(), oracles.size());
      for (std::size_t i = 0; i < oracles.size(); ++i) {
        if (is_masked(oracles[i])) {
          EXPECT_TRUE(is_masked(numbers[i])) << i;
        } else {
          EXPECT_NEAR(numbers[i], oracles[i], error * (1 + std::abs(oracles[i]))) << i;
        }
      }
    };
    expect_near(actual.scores, expected.logits, 0x1p-36);
    expect_near(actual.weights, expected.weights, means.adaptive ? 1e-7 : 0x1p-36);
    expect_near(actual.outputs, expected.outputs, means.adaptive ? 1e-7 : 0x1p-36);
  }
}

TEST(reference_attention, is_the_oracles_at_every_site) {
  auto const rotated = [](std::vector<double> inv_freq, oracle::pairing pairs, std::size_t first,
                          double factor) {
    return [=](std::span<double> head, double position) {
      oracle::rotate(head, inv_freq, static_cast<long double>(position), pairs, first, factor);
    };
  };
  auto const bias = [](std::size_t head, double q, double k) {
    return oracle::bias(head, 8, q, k);
  };
  auto const inv_freq = oracle::inv_freq(8, 1e4);
  is_the_oracles(nope(), {});
  is_the_oracles(rope<halves>(geometric(6, 1e4), rotary_block::last()),
                 {.encode = rotated(oracle::inv_freq(6, 1e4), oracle::pairing::halves, 2, 1)});
  is_the_oracles(
      p_rope<halves>(8, 1e4, 0.75),
      {.encode = rotated(oracle::p_rope_inv_freq(8, 1e4, 0.75), oracle::pairing::halves, 0, 1)});
  is_the_oracles(alibi(8), {.bias = bias});
  is_the_oracles(adaptive_temperature{}, {.adaptive = true});
  unprojected const embedding(sinusoidal<interleaved>(geometric(8, 1e4)));
  is_the_oracles(embedding, {.encode = embed});
  is_the_oracles(scheme(embedding, rope<interleaved>(geometric(8, 1e4).with_attention_factor(1.25)),
                        alibi(8), adaptive_temperature{}),
                 {.encode =
                      [&](std::span<double> head, double position) {
                        embed(head, position);
                        rotated(inv_freq, oracle::pairing::interleaved, 0, 1.25)(head, position);
                      },
                  .bias = bias,
                  .adaptive = true});
}

/// Scores are off by a few roundings of |q| |k| <= 8, times a temperature of at most 2.43; so are
/// weights, relative, and outputs.
template <class E>
void agrees_with_attention(E const& encoding, attention_options const& options = {}) {
  for (tensors const& x :
       {tensors({5, 9, 4, 2, 8, 3}), tensors({1, 40, 4, 2, 8, 8}), tensors({70, 70, 4, 4, 8, 5})}) {
    auto const expected = reference(x, encoding, options);
    auto const actual = attention(x.q_view(), x.k_view(), x.v_view(), encoding, options).outputs;
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 0x1p-40) << i;
  }
}

TEST(reference_attention, agrees_with_attention_at_every_site) {
  agrees_with_attention(nope());
  agrees_with_attention(alibi(4));
  for (auto const& encoding :
       {any_encoding(unprojected(sinusoidal<interleaved>(geometric(8, 1e4)))),
        any_encoding(rope<interleaved>(geometric(8, 1e4))),
        any_encoding(xpos<halves>(geometric(8, 1e4))), any_encoding(adaptive_temperature{}),
        together(kerple_log({{1, 1}, {0.5, 2}, {0.1, 3}, {2, 0.2}}), soft_cap(2)),
        any_encoding(attention_sinks({0.5, -1, 9, 0})), any_encoding(scale_invariant(2)),
        together(rope<halves>(geometric(8, 1e4)), alibi(4), adaptive_temperature{},
                 softmax_off_by_one{})})
    agrees_with_attention(encoding);
}

TEST(reference_attention, agrees_with_attention_under_masks_and_options) {
  scheme const encoding{rope<halves>(geometric(8, 1e4)), alibi(4)};
  agrees_with_attention(encoding, {.mask = mask::full});
  agrees_with_attention(encoding, {.mask = mask::causal & mask::sliding_window(3)});
  agrees_with_attention(encoding, {.mask = mask::chunked(4), .scale = 0.1});
  agrees_with_attention(encoding, {.keys_are_encoded = true});
  auto biases = numbers::random<half>(4 * 70 * 70);
  for (std::size_t i = 0; i < biases.size(); ++i)
    if (i % 70 > 20 && i % 7 < 5) biases[i] = half(static_cast<float>(minus_infinity()));
  given_mask const cells(biases.data(), {70, 4, 70});
  agrees_with_attention(encoding, {.mask = mask::given(cells)});
  agrees_with_attention(encoding, {.mask = mask::given(cells) & mask::window(30, 2)});
  agrees_with_attention(attention_rules{.sees = mask::given(cells) & mask::causal, .cap = 0.5});
  tensors const x({7, 7, 2, 2, 4, 4});
  std::vector<std::size_t> const lengths{3, 4};
  std::vector<std::int64_t> const at{5, -2, 9, 9, 0, 1, 100};
  for (attention_options const& options : {attention_options{.mask = mask::packed(lengths)},
                                           {.query_positions = at, .key_positions = at}}) {
    auto const expected = reference(x, alibi(2), options),
               actual = attention(x.q_view(), x.k_view(), x.v_view(), alibi(2), options).outputs;
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 0x1p-40) << i;
  }
}

/// A result with all that may be asked for.
attention_result<double> all_of(tensors const& x, auto const& encoding, mask const& sees) {
  return reference_attention(x.q_view(), x.k_view(), x.v_view(), encoding,
                             {.mask = sees, .keep_scores = true, .keep_weights = true});
}
void same(attention_result<double> const& a, attention_result<double> const& b) {
  EXPECT_TRUE(numbers::same_bits(a.outputs, b.outputs));
  EXPECT_TRUE(numbers::same_bits(a.log_sum_exp, b.log_sum_exp));
  EXPECT_TRUE(numbers::same_bits(a.scores, b.scores));
  EXPECT_TRUE(numbers::same_bits(a.weights, b.weights));
}

/// Cells [queries][keys] of what a mask shows to queries at the last of the keys, 0, 1 ...
template <class T>
std::vector<T> cells_of(mask const& shown, std::size_t queries, std::size_t keys, T yes, T no) {
  std::vector<T> cells;
  for (std::size_t t = 0; t < queries; ++t) {
    auto const own = shown.tokens(t, keys);
    auto const at = static_cast<std::int64_t>(t + keys - queries);
    auto const [first, last] = shown.positions(at);
    for (std::size_t s = 0; s < keys; ++s) {
      auto const key = static_cast<std::int64_t>(s);
      cells.push_back(own.first <= s && s < own.last && first <= key && key <= last ? yes : no);
    }
  }
  return cells;
}

TEST(reference_attention, given_cells_of_a_mask_are_the_mask) {
  tensors const x({7, 9, 4, 2, 8, 6});
  scheme const encoding{rope<halves>(geometric(8, 1e4)), alibi(4), adaptive_temperature{}};
  for (auto const& shown :
       {mask::full, mask::causal, mask::window(2, 1), mask::causal & mask::sliding_window(3),
        mask::chunked(4), mask::causal & mask::chunked(4) & mask::window(1, mask::any)}) {
    auto const expected = all_of(x, encoding, shown);
    auto const is_same = [&](given_mask const& cells) {
      same(all_of(x, encoding, mask::given(cells)), expected);
      same(all_of(x, encoding, mask::given(cells) & shown), expected);
    };
    numbers::in_every_format([&]<class T>() {
      T yes, no;
      store(yes, 0), store(no, static_cast<arithmetic_t<T>>(minus_infinity()));
      is_same(given_mask(cells_of(shown, 7, 9, yes, no).data(), {7, 1, 9}));
    });
    auto const bytes = cells_of<unsigned char>(shown, 7, 9, 1, 0);
    is_same(given_mask(bytes.data(), {7, 1, 9}));
    is_same(given_mask(reinterpret_cast<bool const*>(bytes.data()), {7, 1, 9}));
    std::vector<std::byte> bits(7 * 2);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] != 0) bits[i / 9 * 2 + i % 9 / 8] |= std::byte{1} << i % 9 % 8;
    is_same(given_mask::bits(bits.data(), {7, 1, 9}, {2}));
  }
}

TEST(reference_attention, given_cells_of_packed_sequences_are_the_packing) {
  tensors const x({7, 7, 2, 2, 8, 6});
  auto const packed = mask::packed({3, 4});
  auto const cells = cells_of<unsigned char>(packed, 7, 7, 1, 0);
  same(all_of(x, nope(), mask::given(given_mask(cells.data(), {7, 1, 7}))),
       all_of(x, nope(), packed));
}

TEST(reference_attention, given_biases_are_an_attention_bias_where_no_rule_follows) {
  tensors const x({5, 9, 4, 2, 8, 6});
  auto biases = numbers::random<float>(4 * 5 * 9);
  for (std::size_t i = 0; i < biases.size(); i += 7)
    biases[i] = static_cast<float>(minus_infinity());
  given_mask const cells(biases.data(), {5, 4, 9});
  auto const given = mask::causal & mask::given(cells);
  attention_bias const rule(biases, 4, 5, 9);
  same(all_of(x, nope(), given), all_of(x, rule, mask::causal));
  same(all_of(x, soft_cap(0.5), given), all_of(x, scheme{soft_cap(0.5), rule}, mask::causal));
  EXPECT_NE(all_of(x, soft_cap(0.5), given).outputs,
            all_of(x, scheme{rule, soft_cap(0.5)}, mask::causal).outputs)
      << "given biases come after a soft cap";
}

TEST(reference_attention, given_distances_with_slopes_are_alibi) {
  tensors const x({5, 9, 4, 2, 8, 6});
  std::vector<half> distances;
  for (int t = 0; t < 5; ++t)
    for (int s = 0; s < 9; ++s) distances.push_back(half(-std::abs(static_cast<float>(t + 4 - s))));
  std::vector<double> slopes;
  for (std::size_t head = 0; head < 4; ++head) slopes.push_back(-alibi(4).bias(head, 1));
  auto const sloped = given_mask(distances.data(), {5, 1, 9}).with_slopes(slopes);
  auto const actual = all_of(x, nope(), mask::given(sloped) & mask::causal),
             expected = all_of(x, alibi(4), mask::causal);
  for (std::size_t i = 0; i < expected.outputs.size(); ++i)
    EXPECT_NEAR(actual.outputs[i], expected.outputs[i], 0x1p-45) << "a product may be fused";
}

TEST(reference_attention, each_head_has_cells_of_its_own_or_all_share_them) {
  tensors const x({3, 6, 4, 2, 4, 5});
  std::vector<unsigned char> cells(4 * 3 * 6, 1);
  for (std::size_t i = 18; i < 36; ++i) cells[i] = 0;  // head 1 sees nothing
  cells[2 * 18] = 0;                                   // query 0 of head 2 does not see key 0
  auto const full = all_of(x, nope(), mask::full),
             own = all_of(x, nope(), mask::given(given_mask(cells.data(), {3, 4, 6})));
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t head = 0; head < 4; ++head) {
      auto const at = (t * 4 + head) * 5;
      bool const is_full = std::equal(own.outputs.data() + at, own.outputs.data() + at + 5,
                                      full.outputs.data() + at);
      EXPECT_EQ(is_full, head != 1 && (head != 2 || t != 0)) << t << " " << head;
      if (head == 1) {
        EXPECT_EQ(own.outputs[at], 0);
      }
    }
  }
  EXPECT_TRUE(is_masked(own.log_sum_exp[1]));
  EXPECT_EQ(own.weights[2 * 18], 0);
  EXPECT_TRUE(is_masked(own.scores[2 * 18]));
}

// A tree of drafts: nodes of a depth share a position, and see their ancestors alone.
TEST(reference_attention, a_tree_of_drafts_is_each_of_its_paths) {
  constexpr std::size_t cached = 6, nodes = 5, keys = cached + nodes, dim = 8;
  std::vector<std::size_t> const parent{0, 0, 0, 1, 1};
  std::vector<std::int64_t> const at{6, 7, 7, 8, 8};
  std::vector<std::int64_t> key_positions{0, 1, 2, 3, 4, 5};
  key_positions.insert(key_positions.end(), at.begin(), at.end());
  std::vector<unsigned char> sees(nodes * keys);
  std::vector<std::vector<std::size_t>> paths(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    auto* const row = sees.data() + node * keys;
    std::fill_n(row, cached, static_cast<unsigned char>(1));
    for (auto i = node;; i = parent[i]) {
      row[cached + i] = 1, paths[node].insert(paths[node].begin(), i);
      if (i == 0) break;
    }
  }
  tensors const x({nodes, keys, 2, 2, dim, dim});
  rope<halves> const encoding(geometric(dim, 1e4));
  auto const tree = reference(x, encoding,
                              {.mask = mask::given(given_mask(sees.data(), {nodes, 1, keys})),
                               .query_positions = at,
                               .key_positions = key_positions});
  for (std::size_t node = 0; node < nodes; ++node) {
    tensors path({1, cached + paths[node].size(), 2, 2, dim, dim});
    std::copy_n(x.q.begin() + static_cast<std::ptrdiff_t>(node * 2 * dim), 2 * dim, path.q.begin());
    for (std::size_t s = 0; s < path.n.keys; ++s) {
      auto const from = (s < cached ? s : cached + paths[node][s - cached]) * 2 * dim;
      std::copy_n(x.k.data() + from, 2 * dim, path.k.data() + s * 2 * dim);
      std::copy_n(x.v.data() + from, 2 * dim, path.v.data() + s * 2 * dim);
    }
    auto const alone = reference(path, encoding);
    for (std::size_t i = 0; i < alone.size(); ++i)
      EXPECT_NEAR(tree[node * 2 * dim + i], alone[i], 0x1p-45) << node;
  }
}

#if !defined(__FAST_MATH__)
TEST(reference_attention, a_given_bias_that_is_not_a_number_is_its_row_s_alone) {
  tensors const x({3, 5, 1, 1, 4, 4});
  std::vector<double> biases(15);
  auto const expected = all_of(x, nope(), mask::given(given_mask(biases.data(), {3, 1, 5})));
  for (auto const number : {not_a_number(), infinity()}) {
    biases[5 + 2] = number;
    auto const given = all_of(x, nope(), mask::given(given_mask(biases.data(), {3, 1, 5})));
    for (std::size_t i = 0; i < 12; ++i)
      EXPECT_TRUE(i / 4 == 1 ? std::isnan(given.outputs[i])
                             : given.outputs[i] == expected.outputs[i]);
  }
}
#endif

TEST(reference_attention, a_query_that_sees_no_key_has_outputs_of_0) {
  tensors const x({2, 3, 1, 1, 4, 4});
  std::vector<std::int64_t> const at_queries{-1, 5}, at_keys{0, 1, 2};
  auto const outputs =
      reference(x, nope(), {.query_positions = at_queries, .key_positions = at_keys});
  EXPECT_TRUE(std::all_of(outputs.begin(), outputs.begin() + 4, [](double y) { return y == 0; }));
  EXPECT_TRUE(std::none_of(outputs.begin() + 4, outputs.end(), [](double y) { return y == 0; }));
}

#if !defined(__FAST_MATH__)  // where sums of infinities are not promised
TEST(reference_attention, scores_that_are_all_minus_infinity_weigh_nothing) {
  tensors x({1, 3, 1, 1, 4, 4});
  std::ranges::fill(x.q, 1.0), std::ranges::fill(x.k, minus_infinity());
  std::vector<double> const none(4);
  EXPECT_EQ(reference(x, nope()), none);
  EXPECT_EQ(attention(x.q_view(), x.k_view(), x.v_view(), nope()).outputs, none);
}
#endif

TEST(reference_attention, scores_may_lie_further_apart_than_an_exponential_can_say) {
  tensors const x({2, 3, 1, 1, 4, 4});
  auto const outputs = reference(x, nope(), {.scale = 1e6});
  EXPECT_TRUE(
      std::all_of(outputs.begin(), outputs.end(), [](double y) { return std::isfinite(y); }));
}

TEST(reference_attention, a_key_that_is_not_a_number_stays_out_of_rows_that_do_not_see_it) {
  tensors x({4, 4, 1, 1, 4, 4});
  auto const expected = reference(x, adaptive_temperature{});
  std::fill(x.k.end() - 4, x.k.end(), not_a_number());
  auto const outputs = reference(x, adaptive_temperature{});
  EXPECT_TRUE(std::equal(outputs.begin(), outputs.end() - 4, expected.begin()));
  std::vector<float> cells(16);
  for (std::size_t i = 3; i < 16; i += 4) cells[i] = static_cast<float>(minus_infinity());
  auto const given =
      reference(x, nope(), {.mask = mask::given(given_mask(cells.data(), {4, 1, 4}))});
  EXPECT_TRUE(std::none_of(given.begin(), given.end(), [](double y) { return std::isnan(y); }));
}

/// Tokens of a full attention in another order: outputs are in that order.
template <class E>
double equivariance(E const& encoding, bool positions_too) {
  tensors const x({6, 6, 2, 2, 8, 8});
  std::vector<std::size_t> const order{3, 0, 5, 1, 4, 2};
  std::vector<std::int64_t> at{0, 1, 2, 3, 4, 5}, permuted_at;
  auto permuted = x;
  for (std::size_t token = 0; token < 6; ++token) {
    for (auto [from, to] :
         {std::pair(&x.q, &permuted.q), {&x.k, &permuted.k}, {&x.v, &permuted.v}}) {
      std::copy_n(from->begin() + static_cast<std::ptrdiff_t>(order[token] * 16), 16,
                  to->begin() + static_cast<std::ptrdiff_t>(token * 16));
    }
    permuted_at.push_back(at[positions_too ? order[token] : token]);
  }
  auto const plain =
      reference(x, encoding, {.mask = mask::full, .query_positions = at, .key_positions = at});
  auto const other =
      reference(permuted, encoding,
                {.mask = mask::full, .query_positions = permuted_at, .key_positions = permuted_at});
  double worst = 0;
  for (std::size_t i = 0; i < other.size(); ++i)
    worst = std::max(worst, std::abs(other[i] - plain[order[i / 16] * 16 + i % 16]));
  return worst;
}

TEST(reference_attention, cannot_tell_the_order_of_tokens_but_by_their_positions) {
  constexpr double rounding = 0x1p-45;
  EXPECT_LE(equivariance(nope(), false), rounding);
  auto const by_positions_alone = [&](auto const& encoding) {
    EXPECT_LE(equivariance(encoding, true), rounding);
    EXPECT_GE(equivariance(encoding, false), 1e-3);
  };
  by_positions_alone(rope<halves>(geometric(8, 1e4)));
  by_positions_alone(xpos<interleaved>(geometric(8, 1e4)));
  by_positions_alone(unprojected(sinusoidal<interleaved>(geometric(8, 1e4))));
  by_positions_alone(alibi(2));
}

TEST(reference_attention, refuses_what_attention_refuses) {
  tensors const x({2, 3, 3, 1, 4, 4});
  EXPECT_EQ(message_of([&] { reference(x, alibi(2)); }),
            "posenc: reference_attention: the encoding must have 3 heads, got 2");
  tensors const other({2, 3, 3, 1, 5, 5});
  EXPECT_EQ(
      message_of([&] { reference_attention(x.q_view(), other.k_view(), other.v_view(), nope()); }),
      "posenc: reference_attention: keys must have the queries' head_dim 4, got 5");
}

}  // namespace
