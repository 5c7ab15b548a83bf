#include "posenc/attention/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attention/any_encoding.hpp"
#include "attention/random_heads.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/unprojected.hpp"
#include "posenc/query_key/xpos.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/cope.hpp"
#include "posenc/score/kerple.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using textbook::any_encoding, textbook::together;

using tensors = random_heads<double>;

template <class E>
std::vector<double> reference(tensors const& x, E const& encoding,
                              attention_options const& options = {}) {
  return reference_attention(x.q_view(), x.k_view(), x.v_view(), encoding, options);
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
        any_encoding(attention_sinks({0.5, -1, 9, 0})),
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
