// Prompts whose queries and keys are bfloat16 numbers: their products are exact, and the sums those
// of floats, whichever instruction makes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "executors.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "tolerance.hpp"

namespace of_bfloat16 { namespace {

using posenc::bfloat16;
using posenc::heads_view;

constexpr std::size_t queries = 70, keys = 530, heads = 6, kv_heads = 2;

// Queries, keys and values, with odd gaps between tokens.
struct problem {
  std::size_t dim;
  std::vector<bfloat16> q, k, v;

  explicit problem(std::size_t of_head)
      : dim(of_head),
        q(numbers::random<bfloat16>(queries * stride(heads), 1)),
        k(numbers::random<bfloat16>(keys * stride(kv_heads), 2)),
        v(numbers::random<bfloat16>(keys * stride(kv_heads), 3)) {}
  std::size_t stride(std::size_t of_token) const { return of_token * dim + 3; }
  heads_view<bfloat16 const> view(std::vector<bfloat16> const& x, std::size_t of_token) const {
    return {x.data(),
            {x.size() / stride(of_token), of_token, dim},
            {static_cast<std::ptrdiff_t>(stride(of_token)), static_cast<std::ptrdiff_t>(dim)}};
  }
  auto attend(posenc::attention_options const& options) const {
    posenc::attention_workspace<float> workspace;
    workspace.memory.assign(std::size_t{1} << 21, std::byte{0x7f});  // no zeros
    return posenc::attention(view(q, heads), view(k, kv_heads), view(v, kv_heads), posenc::nope(),
                             options, workspace);
  }
  double product(std::size_t t, std::size_t h, std::size_t s, double& magnitude) const {
    double sum = magnitude = 0;
    for (std::size_t i = 0; i < dim; ++i) {
      auto const x = static_cast<double>(float(q[t * stride(heads) + h * dim + i])) *
                     static_cast<double>(float(k[s * stride(kv_heads) + h / 3 * dim + i]));
      sum += x, magnitude += std::abs(x);
    }
    return sum;
  }
};

TEST(bfloat16_products, are_exact) {
  for (auto const dim : {1u, 2u, 31u, 64u, 128u, 301u}) {
    SCOPED_TRACE(dim);
    problem p(dim);
    for (auto* const x : {&p.q, &p.k})
      for (auto& number : *x) number = bfloat16(std::round(8 * float(number)));
    auto const got = p.attend({.scale = 0.25, .keep_scores = true}).scores;
    for (std::size_t row = 0; row < heads * queries; ++row) {
      auto const t = row % queries;
      for (std::size_t s = 0; s <= keys - queries + t; ++s) {
        double magnitude;
        ASSERT_EQ(got[row * keys + s], p.product(t, row / queries, s, magnitude) / 4);
      }
    }
  }
}

TEST(bfloat16_products, are_summed_as_floats_are) {
  problem const p(130);
  auto const got = p.attend({.scale = 2.0, .keep_scores = true});
  auto const sums = p.attend({.scale = 2.0});
  constexpr auto u = tolerance::unit_roundoff<float>();
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t t = 0; t < queries; ++t) {
      std::vector<double> outputs(p.dim);
      double sum = 0, worst = 0;
      for (std::size_t s = 0; s <= keys - queries + t; ++s) {
        double magnitude;
        auto const score = 2 * p.product(t, h, s, magnitude),
                   error = tolerance::of_dot_product<float>(p.dim, 2 * magnitude);
        worst = std::max(worst, error);
        ASSERT_NEAR(got.scores[(h * queries + t) * keys + s], score, error);
        sum += std::exp(score);
        for (std::size_t i = 0; i < p.dim; ++i)
          outputs[i] += std::exp(score) *
                        static_cast<double>(float(p.v[s * p.stride(kv_heads) + h / 3 * p.dim + i]));
      }
      auto const row = t * heads + h;
      ASSERT_NEAR(sums.log_sum_exp[row], std::log(sum), worst + 64 * u * std::log(sum));
      for (std::size_t i = 0; i < p.dim; ++i)
        ASSERT_NEAR(sums.outputs[row * p.dim + i], outputs[i] / sum,
                    2 * worst + tolerance::of_dot_product<float>(keys, 2.0));
    }
  }
}

TEST(bfloat16_products, have_the_same_bits_for_any_tasks) {
  problem const p(64);
  auto const got = p.attend({});
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    auto const shuffled =
        posenc::attention(posenc::tasks(5, executors::shuffled{seed}), p.view(p.q, heads),
                          p.view(p.k, kv_heads), p.view(p.v, kv_heads), posenc::nope());
    EXPECT_TRUE(numbers::same_bits(got.outputs, shuffled.outputs));
  }
}

TEST(bfloat16_products, keep_what_is_no_number_in_its_rows) {
#if defined(__FAST_MATH__)
  GTEST_SKIP() << "-ffast-math promises nothing for NaN";
#endif
  problem p(64);
  auto const before = p.attend({});
  auto const late = keys - 4;
  p.k[late * p.stride(kv_heads)] = bfloat16::from_bits(0x7fc0);  // NaN
  auto const after = p.attend({});
  for (std::size_t i = 0; i < after.outputs.size(); ++i) {
    auto const row = i / p.dim, t = row / heads;
    bool const sees = row % heads < 3 && t + keys - queries >= late;
    auto const bits = std::bit_cast<std::uint32_t>(after.outputs[i]);
    ASSERT_EQ((bits & 0x7fff'ffff) > 0x7f80'0000, sees);
    ASSERT_TRUE(sees || bits == std::bit_cast<std::uint32_t>(before.outputs[i]));
  }
}

// Queries that an encoding turns are floats.
TEST(bfloat16_products, are_none_of_queries_that_an_encoding_turns) {
  problem const p(64);
  posenc::rope<posenc::halves> const encoding(posenc::geometric(64, 1e4));
  auto const exact = numbers::exact(p.q);
  std::vector<float> const q(exact.begin(), exact.end());
  heads_view<float const> const floats(
      q.data(), {queries, heads, 64},
      {static_cast<std::ptrdiff_t>(p.stride(heads)), std::ptrdiff_t{64}});
  posenc::attention_options const options{.keys_are_encoded = true};
  EXPECT_TRUE(numbers::same_bits(
      posenc::attention(p.view(p.q, heads), p.view(p.k, kv_heads), p.view(p.v, kv_heads), encoding,
                        options)
          .outputs,
      posenc::attention(floats, p.view(p.k, kv_heads), p.view(p.v, kv_heads), encoding, options)
          .outputs));
}

}}  // namespace of_bfloat16
