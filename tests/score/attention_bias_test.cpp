#include "posenc/score/attention_bias.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/bias_matrix.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

struct tensors {
  std::vector<double> q = numbers::random<double>(70 * 4 * 8, 1),
                      k = numbers::random<double>(90 * 2 * 8, 2);
  heads_view<double const> of_q() const { return {q.data(), {70, 4, 8}}; }
  heads_view<double const> of_k() const { return {k.data(), {90, 2, 8}}; }
};

std::vector<std::int64_t> from(std::int64_t first, std::size_t count) {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(first + static_cast<std::int64_t>(i));
  return all;
}

TEST(attention_bias, of_an_encodings_matrix_is_the_encoding) {
  tensors const x;
  auto const queries = from(20, 70), keys = from(0, 90);
  auto const matrix = bias_matrix<double>(alibi(4), 4, queries, keys);
  attention_bias const stored(matrix, 4, 70, 90);
  for (auto const& visible : {mask::full, mask::causal & mask::sliding_window(9)}) {
    attention_options const options{.mask = visible};
    auto const expected = attention(x.of_q(), x.of_k(), x.of_k(), alibi(4), options),
               actual = attention(x.of_q(), x.of_k(), x.of_k(), stored, options);
    for (std::size_t i = 0; i < expected.outputs.size(); ++i)
      ASSERT_NEAR(actual.outputs[i], expected.outputs[i], 0x1p-45) << i;
    auto const d = attention_backward(x.of_q(), x.of_k(), x.of_k(), stored, actual, x.of_q(),
                                      options),
               of_alibi = attention_backward(x.of_q(), x.of_k(), x.of_k(), alibi(4), expected,
                                             x.of_q(), options);
    for (std::size_t i = 0; i < d.q.size(); ++i) ASSERT_NEAR(d.q[i], of_alibi.q[i], 0x1p-35) << i;
  }
  EXPECT_EQ(bias_matrix<double>(scheme{stored}, 4, queries, keys), matrix);
}

TEST(attention_bias, adds_what_stands_at_head_query_and_key) {
  numbers::in_every_format([]<class T>() {
    auto const biases = numbers::random<T>(3 * 4 * 5);
    auto const exact = numbers::exact(biases);
    auto const at = from(100, 5);
    for (std::size_t const heads : {3u, 1u}) {
      attention_bias const stored(biases, heads, heads == 1 ? 12 : 4, 5);
      for (std::size_t head = 0; head < 3; ++head) {
        for (std::size_t query = 0; query < 4; ++query) {
          for (std::size_t first = 0; first < 5; ++first) {
            std::vector<double> scores(5 - first, 0.5);
            stored.adjust_scores(score_row<double>{
                scores, head, 0, positions_view(at).subspan(first), {}, query, first});
            for (std::size_t i = 0; i < scores.size(); ++i) {
              auto const row = (heads == 1 ? 0 : head * 4) + query;
              EXPECT_EQ(scores[i], 0.5 + exact[row * 5 + first + i]);
            }
          }
        }
      }
    }
  });
}

TEST(attention_bias, obeys_the_laws_of_its_site) {
  std::vector<float> const all_alike(100'000, -0.3f);
  laws::obey("all keys alike", attention_bias(all_alike, 1, 1, all_alike.size()), 1, laws::added);
}

TEST(attention_bias, says_what_must_hold) {
  std::vector<float> numbers(24);
  EXPECT_EQ(message_of([&] { attention_bias(numbers, 0, 4, 6); }),
            "posenc: attention_bias: there must be a head, got 0");
  for (auto const& [heads, queries, keys] :
       {std::array<std::size_t, 3>{2, 3, 5}, {5, 1, 1}, {2, 0, 12}, {1, 24, 0}}) {
    EXPECT_NE(message_of([&, heads = heads, queries = queries, keys = keys] {
                attention_bias(numbers, heads, queries, keys);
              }).find("there must be one number for each of "),
              std::string::npos);
  }
  EXPECT_NO_THROW(attention_bias(std::vector<float>(), 2, 0, 7));
  tensors const x;
  EXPECT_EQ(message_of(
                [&] { attention(x.of_q(), x.of_k(), x.of_k(), attention_bias(numbers, 3, 2, 4)); }),
            "posenc: attention: the encoding must have 4 heads, got 3");
  EXPECT_EQ(message_of(
                [&] { attention(x.of_q(), x.of_k(), x.of_k(), attention_bias(numbers, 1, 4, 6)); }),
            "posenc: attention_bias: there must be biases [1][4][6] of head 0, query 0 and 21 keys "
            "from 0 on");
  numbers[7] = static_cast<float>(infinity());
  EXPECT_EQ(message_of([&] { attention_bias(numbers, 2, 3, 4); }),
            "posenc: attention_bias: biases must be finite, got infinity; hide keys by a mask");
}

}  // namespace
