// Near and far scores in two calls: against the definition, score by score.
#include "posenc/attention/near_and_far.hpp"

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

#include "attention/random_heads.hpp"
#include "numbers.hpp"
#include "oracle/distance_remapping.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/soft_cap.hpp"
#include "rejects.hpp"

namespace { namespace of_near_and_far {

using namespace posenc;

constexpr std::size_t heads = 4, kv_heads = 2, head_dim = 8, value_dim = 3, tokens = 150;
constexpr std::int64_t window = 16, group = 5;
rope<halves> const turning(geometric(head_dim, 1e4));
auto const extended = self_extend(turning, window, group);
std::vector<double> const logits{0.5, -1, 2, 0};

/// ALiBi and a cap, sinks, or neither: one type.
struct rules_beside {
  bool is_alibi = false, has_sinks = false;
  std::size_t of_heads = 4;
  static constexpr bool is_pointwise = true;
  std::size_t heads() const { return of_heads; }
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    if (is_alibi) biases().adjust_scores(row);
  }
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T> d_query) const {
    if (is_alibi) biases().backward_scores(before, d_scores, d_query);
  }
  double sink(std::size_t head) const { return has_sinks ? logits[head] : no_sink; }

 private:
  static scheme<alibi, soft_cap> biases() { return scheme(alibi(4), soft_cap(2)); }
};

/// What was one call before: each score at its own distance, then the rest of attention.
struct definition {
  std::vector<double> outputs, scores, weights;
};
struct asked {
  bool is_causal = true, is_alibi = false, has_sinks = false;
  std::int64_t seen = 1 << 20;  ///< tokens behind
};
definition defined(random_heads<double> const& x, asked const& of) {
  auto const queries = x.n.queries;
  definition result{std::vector<double>(queries * heads * value_dim),
                    std::vector<double>(heads * queries * tokens),
                    {}};
  result.weights = result.scores;
  for (std::size_t i = 0; i < queries; ++i) {
    auto const t = static_cast<std::int64_t>(tokens - queries + i);
    for (std::size_t h = 0; h < heads; ++h) {
      auto const q = x.q_view()(i, h);
      std::vector<double> e(tokens);
      auto sum = of.has_sinks ? std::exp(logits[h]) : 0;
      for (std::size_t key = 0; key < tokens; ++key) {
        auto const s = static_cast<std::int64_t>(key);
        auto& score = result.scores[(h * queries + i) * tokens + key];
        if ((of.is_causal && s > t) || t - s >= of.seen) {
          score = -std::numeric_limits<double>::infinity();
          continue;
        }
        auto const k = x.k_view()(key, h / 2);
        auto const distance = static_cast<double>(oracle::self_extend(t, s, window, group));
        for (std::size_t pair = 0; pair < head_dim / 2; ++pair) {
          auto const angle = distance * std::pow(1e4, -2.0 * static_cast<double>(pair) / head_dim);
          auto const qx = q[pair], qy = q[pair + 4], kx = k[pair], ky = k[pair + 4];
          score += (qx * kx + qy * ky) * std::cos(angle) + (qy * kx - qx * ky) * std::sin(-angle);
        }
        score /= std::sqrt(static_cast<double>(head_dim));
        if (of.is_alibi) {
          score -=
              std::exp2(-2.0 * static_cast<double>(h + 1)) * std::abs(static_cast<double>(t - s));
          score = 2 * std::tanh(score / 2);
        }
        sum += e[key] = std::exp(score);
      }
      for (std::size_t key = 0; key < tokens; ++key) {
        auto const weight = result.weights[(h * queries + i) * tokens + key] = e[key] / sum;
        for (std::size_t d = 0; d < value_dim; ++d)
          result.outputs[(i * heads + h) * value_dim + d] += weight * x.v_view()(key, h / 2)[d];
      }
    }
  }
  return result;
}

// Sums of 150 weights and of 8 products, of numbers within [-1, 1]; scores of up to 8 / sqrt(8) and
// angles of up to 150, whose errors a weight has 2^-52 times.
void expect_defined(attention_result<double> const& actual, definition const& expected) {
  ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
  for (std::size_t i = 0; i < expected.outputs.size(); ++i)
    ASSERT_NEAR(actual.outputs[i], expected.outputs[i], 0x1p-40) << i;
  for (std::size_t i = 0; i < actual.scores.size(); ++i) {
    ASSERT_EQ(is_masked(actual.scores[i]), is_masked(expected.scores[i])) << i;
    if (is_masked(expected.scores[i])) continue;
    ASSERT_NEAR(actual.scores[i], expected.scores[i], 0x1p-40) << i;
  }
  for (std::size_t i = 0; i < actual.weights.size(); ++i)
    ASSERT_NEAR(actual.weights[i], expected.weights[i], 0x1p-40) << i;
}

TEST(attention_near_and_far, has_each_score_at_its_own_distance) {
  rules_beside const biased{.is_alibi = true};
  for (std::size_t const queries : {150u, 3u, 1u}) {
    random_heads<double> const x({queries, tokens, heads, kv_heads, head_dim, value_dim});
    auto const attended = [&](rules_beside const& beside, attention_options options) {
      options.keep_scores = options.keep_weights = true;
      return attention_near_and_far(x.q_view(), x.k_view(), x.v_view(), extended, beside, options);
    };
    expect_defined(attended({}, {}), defined(x, {}));
    expect_defined(attended({}, {.mask = mask::full}), defined(x, {.is_causal = false}));
    expect_defined(attended(biased, {}), defined(x, {.is_alibi = true}));
    expect_defined(attended(biased, {.mask = mask::causal & mask::sliding_window(40)}),
                   defined(x, {.is_alibi = true, .seen = 40}));
    expect_defined(attended({.has_sinks = true}, {}), defined(x, {.has_sinks = true}));
    expect_defined(attended({.is_alibi = true, .has_sinks = true}, {}),
                   defined(x, {.is_alibi = true, .has_sinks = true}));
  }
}

// As its documentation says, with the sum of two calls in reverse.
TEST(attention_near_and_far, has_the_gradients_of_finite_differences) {
  random_heads<double> x({20, tokens, heads, kv_heads, head_dim, value_dim});
  rules_beside const beside{.is_alibi = true};
  auto const d_outputs = numbers::random<double>(20 * heads * value_dim, 4);
  auto const forward = [&] {
    return attention_near_and_far(x.q_view(), x.k_view(), x.v_view(), extended, beside);
  };
  auto const loss = [&] {
    auto const y = forward().outputs;
    return std::inner_product(y.begin(), y.end(), d_outputs.begin(), 0.0);
  };
  auto const backward = [&](auto const& encoding, mask const& seen) {
    return attention_backward(x.q_view(), x.k_view(), x.v_view(), scheme(encoding, beside),
                              forward(),
                              heads_view<double const>(d_outputs.data(), {20, heads, value_dim}),
                              {.mask = mask::causal & seen});
  };
  auto d = backward(extended.inner(), mask::window(window - 1, mask::any));
  auto const far = backward(extended.far(), mask::farther_than(window - 1));
  // Along random directions of length 1, which every number has a part in.
  auto const expect = [&](std::vector<double>& input, std::vector<double>& gradient,
                          std::vector<double> const& more) {
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += more[i];
    constexpr double h = 1e-5;  // off by h^2 and by 2^-52 / h
    auto const origin = input;
    for (std::uint64_t seed = 10; seed < 14; ++seed) {
      auto direction = numbers::random<double>(input.size(), seed);
      auto const length =
          std::sqrt(std::inner_product(direction.begin(), direction.end(), direction.begin(), 0.0));
      auto const loss_at = [&](double step) {
        for (std::size_t i = 0; i < input.size(); ++i)
          input[i] = origin[i] + step / length * direction[i];
        return loss();
      };
      auto const slope =
          std::inner_product(direction.begin(), direction.end(), gradient.begin(), 0.0) / length;
      EXPECT_NEAR(slope, (loss_at(h) - loss_at(-h)) / (2 * h), 1e-9) << seed;
    }
    input = origin;
  };
  expect(x.q, d.q, far.q);
  expect(x.k, d.k, far.k);
  expect(x.v, d.v, far.v);
}

TEST(attention_near_and_far, needs_keys_as_they_are) {
  random_heads<double> const x({3, tokens, heads, kv_heads, head_dim, value_dim});
  EXPECT_EQ(message_of([&] {
              attention_near_and_far(x.q_view(), x.k_view(), x.v_view(), rerope(turning, 5),
                                     rules_beside{}, {.keys_are_encoded = true});
            }),
            "posenc: attention_near_and_far: keys must not be encoded already");
  EXPECT_EQ(message_of([&] {
              attention_near_and_far(x.q_view(), x.k_view(), x.v_view(), rerope(turning, 5),
                                     rules_beside{.of_heads = 1});
            }),
            "posenc: attention_near_and_far: the encoding must have 4 heads, got 1");
}

TEST(mask, farther_than_is_what_a_window_leaves_out) {
  using limits = std::numeric_limits<std::int64_t>;
  auto const far = mask::farther_than(2);
  EXPECT_EQ(far.positions(7), (position_interval{limits::min(), 4}));
  EXPECT_EQ(far.positions(limits::min() + 3), (position_interval{limits::min(), limits::min()}));
  EXPECT_EQ(mask::farther_than(0).positions(limits::max()),
            (position_interval{limits::min(), limits::max() - 1}));
  for (auto const& none :
       {far.positions(limits::min() + 2), far.positions(limits::min()),
        mask::farther_than(mask::any).positions(-1), (far & mask::sliding_window(3)).positions(9)})
    EXPECT_LT(none.last, none.first);
  EXPECT_EQ(mask::farther_than(mask::any).positions(0),
            (position_interval{limits::min(), limits::min()}));
  EXPECT_EQ((far & mask::causal).positions(7), far.positions(7));
  EXPECT_EQ(message_of([] { mask::farther_than(-1); }),
            "posenc: mask: the distance must not be negative, got -1");
}

}  // namespace of_near_and_far
}  // namespace
