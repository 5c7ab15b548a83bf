#include "posenc/attention/prepared_encoding.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "attention/random_heads.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "rejects.hpp"

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
  counting_positions const encoding{&count};
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
  rope<halves> const encoding(geometric(8, 1e4));
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
  rope<halves> const encoding(geometric(8, 1e4));
  tensors const x({3, 40, 4, 2, 8, 8});
  positions const three{1, 2, 3}, forty(40, 7);
  attention_workspace<double> workspace;
  auto const message = [&](positions const& at_queries, positions const& at_keys,
                           attention_options const& options) {
    return message_of([&] {
      attention(x.q_view(), x.k_view(), x.v_view(),
                prepared_encoding<double, rope<halves>>(encoding, at_queries, at_keys), options,
                workspace);
    });
  };
  prepared_encoding<double, rope<halves>> const step(encoding, three, forty);
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

}  // namespace
