// Encodings that rotate by tokens and heads, or read what stands beside a
// query: none needs a fifth site. Each is as its paper has it, small, and checked by its own
// numbers; attention must then take it in blocks as reference_attention takes it whole.
// (An encoding that changes keys by later tokens, PaTH, would need one: the step of a decode would
// hand prepared_encoding::advance the new tokens to apply to all cached keys.)

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attention/any_encoding.hpp"
#include "attention/random_heads.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/attention/reference.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/soft_cap.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using encodings::any_encoding;

constexpr std::size_t heads = 4, kv_heads = 2, head_dim = 8;

random_heads<double> random_tokens(std::size_t queries, std::size_t keys) {
  return random_heads<double>({queries, keys, heads, kv_heads, head_dim, 3});
}

/// Blocks of queries and heads, few rows, and one query. Scores are off by roundings of |q| |k|
/// below 16.
template <class E>
void is_the_same_in_blocks(E const& encoding, attention_options options = {}) {
  for (auto const& [queries, keys] : {std::pair<std::size_t, std::size_t>{200, 200}, {1, 200}}) {
    auto const x = random_tokens(queries, keys);
    if (options.query_side.tokens() != 0)
      options.query_side = options.query_side.slice_tokens(0, queries);
    auto const expected =
        reference_attention(x.q_view(), x.k_view(), x.v_view(), encoding, options).outputs;
    auto const actual = attention(x.q_view(), x.k_view(), x.v_view(), encoding, options).outputs;
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(actual[i], expected[i], 0x1p-40) << queries << " queries, at " << i;
  }
}

/// Selective RoPE [2511.17388]: pair i of head h rotates by temp_i sum_{l <= t} phi_l, phi from the
/// tokens; summed in double. Keys share the sums of a kv head.
class selective_rope {
 public:
  /// phi: [tokens][kv_heads][pairs]
  selective_rope(std::vector<double> phi, std::size_t groups, std::size_t group, double base)
      : sums_(std::move(phi)), groups_(groups), group_(group), base_(base) {
    auto const row = groups * pairs;
    for (std::size_t i = row; i < sums_.size(); ++i) sums_[i] += sums_[i - row];
  }

  template <class T>
  struct prepared {
    selective_rope const& e;
    std::vector<std::int64_t> tokens;

    template <class S>
    void rotate(heads_view<S> const& x, std::size_t token, std::size_t head,
                std::size_t group) const {
      for (std::size_t i = 0; i < x.tokens(); ++i) {
        for (std::size_t h = 0; h < x.heads(); ++h) {
          auto const numbers = x(i, h);
          for (std::size_t pair = 0; pair < pairs; ++pair) {
            auto const angle =
                e.angle(static_cast<std::size_t>(tokens[token + i]), (head + h) / group, pair);
            auto const c = static_cast<T>(std::cos(angle)), s = static_cast<T>(std::sin(angle));
            auto const a = numbers[pair], b = numbers[pair + pairs];
            numbers[pair] = a * c - b * s, numbers[pair + pairs] = a * s + b * c;
          }
        }
      }
    }
    template <class S>
    void encode_queries(heads_view<S> const& q, std::size_t token, std::size_t head) const {
      rotate(q, token, head, e.group_);
    }
    template <class S>
    void encode_keys(heads_view<S> const& k, std::size_t token, std::size_t head) const {
      rotate(k, token, head, 1);
    }
  };
  template <class T>
  prepared<T> prepare(positions_view at) const {
    return {*this, {at.begin(), at.end()}};
  }

  static constexpr std::size_t pairs = 2;
  double angle(std::size_t token, std::size_t group, std::size_t pair) const {
    return std::pow(base_, -static_cast<double>(pair) / pairs) *
           sums_[(token * groups_ + group) * pairs + pair];
  }

 private:
  std::vector<double> sums_;
  std::size_t groups_, group_;
  double base_;
};
static_assert(acts_on_queries_and_keys<selective_rope>);

TEST(site_2, rotates_by_sums_over_tokens_of_each_head) {
  selective_rope const one({.3, -.1, .5, .2, -.4, .9}, 1, 1, 5e5);
  std::vector<double> x{1, .5, -2, .25};
  one.prepare<double>(std::vector<std::int64_t>{0, 1, 2})
      .encode_queries(heads_view(x.data(), {1, 1, 4}), 2, 0);
  std::array const expected{1.69989767862, .499645946727, -1.4527036457, .250706856546};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(x[i], expected[i], 1e-11);

  selective_rope const all(numbers::random<double>(200 * kv_heads * selective_rope::pairs, 4),
                           kv_heads, heads / kv_heads, 5e5);
  is_the_same_in_blocks(scheme{alibi(heads), all, soft_cap(3)});
}

/// Inkling's relative bias: (r_t B)[t - s] for 0 <= t - s < E, r_t beside the query, B learned.
struct profile_bias {
  std::vector<double> bank;  // [profiles][distances]
  std::size_t distances;
  static constexpr bool is_bias = true;

  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    detail::add_bias(row, [&](std::int64_t key) {
      auto const distance = distance_between(row.query_position, key);
      double sum = 0;
      for (std::size_t i = 0; i < row.query_side.size(); ++i) {
        if (distance >= 0 && distance < static_cast<std::int64_t>(distances))
          sum += static_cast<double>(row.query_side[i]) *
                 bank[i * distances + static_cast<std::size_t>(distance)];
      }
      return sum;
    });
  }
};
static_assert(acts_on_scores<profile_bias>);

TEST(site_3, reads_what_stands_beside_the_query) {
  profile_bias const small{{.1, .2, .3, .4, 1, .5, 0, -.5}, 4};
  std::vector<double> const none(6);
  std::vector<float> const r{.5, -1};
  heads_view const q(none.data(), {1, 1, 1}), k(none.data(), {6, 1, 1});
  auto const scores =
      attention(q, k, k, any_encoding(small),
                {.keep_scores = true, .query_side = heads_view(r.data(), {1, 1, 2})})
          .scores;
  std::array const expected{0., 0., .7, .15, -.4, -.95};
  for (std::size_t s = 0; s < 6; ++s) EXPECT_NEAR(scores[s], expected[s], 1e-15) << s;

  auto const sides = numbers::random<float>(200 * heads * 2, 9);
  is_the_same_in_blocks(any_encoding(small),
                        {.query_side = heads_view(sides.data(), {200, heads, 2})});
  is_the_same_in_blocks(scheme{small, rope<halves>(frequencies({1, .1}))},
                        {.query_side = heads_view(sides.data(), {200, kv_heads, 2})});
}

/// What a row says of itself: indices among the tokens of the call, and what stands beside its
/// keys.
struct row_facts {
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    for (std::size_t i = 0; i < row.scores.size(); ++i) {
      auto const side = row.key_side.tokens() == 0 ? 0 : row.key_side(i, 0)[0];
      row.scores[i] =
          static_cast<T>(1000 * row.query_index + row.first_key_index + i) + static_cast<T>(side);
    }
  }
};

TEST(site_3, rows_know_their_tokens_and_what_stands_beside_their_keys) {
  auto const x = random_tokens(40, 50);
  std::vector<float> sides(50 * kv_heads);
  for (std::size_t i = 0; i < sides.size(); ++i) sides[i] = static_cast<float>(i) / 128;
  for (bool const windowed : {false, true}) {
    auto const scores =
        attention(x.q_view(), x.k_view(), x.v_view(), any_encoding(row_facts()),
                  {.mask = windowed ? mask::causal & mask::sliding_window(3) : mask::full,
                   .keep_scores = true,
                   .key_side = heads_view(sides.data(), {50, kv_heads, 1})})
            .scores;
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t t = 0; t < 40; ++t) {
        for (std::size_t s = 0; s < 50; ++s) {
          if (windowed && (s > t + 10 || s + 2 < t + 10)) continue;
          EXPECT_EQ(scores[(head * 40 + t) * 50 + s],
                    static_cast<double>(1000 * t + s) +
                        static_cast<double>(sides[s * kv_heads + head / 2]));
        }
      }
    }
  }
}

TEST(site_3, side_values_must_be_of_each_token_and_of_heads_that_divide) {
  auto const x = random_tokens(3, 5);
  std::vector<float> const sides(100);
  auto const with = [&](heads_shape of_q, heads_shape of_k) {
    return message_of([&] {
      attention(x.q_view(), x.k_view(), x.v_view(), nope(),
                {.query_side = heads_view(sides.data(), of_q),
                 .key_side = heads_view(sides.data(), of_k)});
    });
  };
  EXPECT_EQ(
      with({2, 4, 1}, {5, 1, 1}),
      "posenc: attention: query_side must have 3 tokens and a number of heads that divides 4, "
      "got 2 tokens and 4 heads");
  EXPECT_EQ(with({3, 1, 9}, {5, 3, 1}),
            "posenc: attention: key_side must have 5 tokens and a number of heads that divides 4, "
            "got 5 tokens and 3 heads");
}

}  // namespace
