#include "posenc/query_key/hadamard_transform.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "laws/query_key_laws.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/rotation/rotate.hpp"
#include "query_key/transposed.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using token_positions = std::vector<std::int64_t>;

TEST(hadamard_transform, encodes_queries_and_keys_as_hadamard_does) {
  numbers::in_every_format([]<class T>() {
    token_positions const at{7, -2, 1'000'003, 0};
    auto const x = numbers::random<T>(4 * 2 * 24);
    for (std::size_t const block : {0u, 4u, 1u}) {
      auto expected = x, q = x, k = x, part = x;
      hadamard(numbers::view(expected, 4, 24), block);
      auto const prepared = hadamard_transform{block}.prepare<arithmetic_t<T>>(at);
      prepared.encode_queries(numbers::view(q, 4, 24));
      prepared.encode_keys(numbers::view(k, 4, 24));
      EXPECT_TRUE(numbers::same_bits(q, expected));
      EXPECT_TRUE(numbers::same_bits(k, expected));
      for (std::size_t t = 0; t < 4; ++t)
        prepared.encode_queries(heads_view(part.data() + t * 48, {1, 2, 24}), t);
      EXPECT_TRUE(numbers::same_bits(part, expected)) << "token by token";
    }
  });
}

// Products of heads and their norms stay, so a rotation before it keeps its laws.
TEST(hadamard_transform, obeys_the_laws_of_its_site) {
  rope<halves> const rotation(geometric(64, 1e4));
  laws::obey("alone", hadamard_transform(), 64, 1, laws::of_distance | laws::norm_kept);
  laws::obey("blocks of 16", hadamard_transform{16}, 64, 1, laws::of_distance | laws::norm_kept);
  laws::obey("behind rope", scheme(rotation, hadamard_transform()), 64, 1,
             laws::of_distance | laws::norm_kept);
}

TEST(hadamard_transform, pulls_gradients_back_by_itself) {
  transposed::pulls_back_by_the_transpose(hadamard_transform(), 32, {0, 5});
  transposed::pulls_back_by_the_transpose(hadamard_transform{4}, 24, {3});
}

struct tensors {
  static constexpr std::size_t tokens = 40, queries = 5, heads = 4, kv_heads = 2, dim = 64;
  std::vector<double> q = numbers::random<double>(queries * heads * dim, 1),
                      k = numbers::random<double>(tokens * kv_heads * dim, 2),
                      v = numbers::random<double>(tokens * kv_heads * dim, 3);
  token_positions of_queries, of_keys;

  tensors() : of_queries(queries), of_keys(tokens) {
    std::iota(of_queries.begin(), of_queries.end(), 35);
    std::iota(of_keys.begin(), of_keys.end(), 0);
  }
  auto q_view() const { return heads_view(q.data(), {queries, heads, dim}); }
  auto k_view() const { return heads_view(k.data(), {tokens, kv_heads, dim}); }
  auto v_view() const { return heads_view(v.data(), {tokens, kv_heads, dim}); }
  attention_options options(bool keys_are_encoded = false) const {
    return {.query_positions = of_queries,
            .key_positions = of_keys,
            .keys_are_encoded = keys_are_encoded};
  }
};

void are_near(std::vector<double> const& a, std::vector<double> const& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << "at " << i;
}

// Scores have an error of a few hundred roundings of numbers of at most sqrt(dim), the outputs e^2
// times that.
constexpr double few_bits = 1e-12;

// Values are stored transformed too, in blocks of their own, and outputs transformed back.
TEST(hadamard_transform, attends_to_caches_of_transformed_keys_and_values) {
  tensors const x;
  rope<halves> const rotation(geometric(tensors::dim, 1e4));
  auto const expected = attention(x.q_view(), x.k_view(), x.v_view(), rotation, x.options());
  auto k = x.k, v = x.v;
  heads_view const keys(k.data(), x.k_view().shape()), values(v.data(), x.v_view().shape());
  rotate(cos_sin_rows<double>(geometric(tensors::dim, 1e4), x.of_keys),
         rotated<halves>(keys).hadamard(), unrotated(values, values).hadamard(16));
  scheme const transforms(rotation, hadamard_transform());
  auto outputs = attention(x.q_view(), keys, values, transforms, x.options(true)).outputs;
  hadamard(heads_view(outputs.data(), x.q_view().shape()), 16);
  are_near(outputs, expected.outputs, few_bits);
  are_near(attention(x.q_view(), x.k_view(), x.v_view(), transforms, x.options()).outputs,
           expected.outputs, few_bits);

  // Queries that are not transformed find other keys.
  auto const wrong = attention(x.q_view(), keys, values, rotation, x.options(true)).outputs;
  double most = 0;
  for (std::size_t i = 0; i < wrong.size(); ++i)
    most = std::max(most, std::abs(wrong[i] - outputs[i]));
  EXPECT_GT(most, 0.1);
}

TEST(hadamard_transform, gives_the_gradients_of_attention_without_it) {
  tensors const x;
  rope<halves> const rotation(geometric(tensors::dim, 1e4));
  auto const d = numbers::random<double>(x.q.size(), 4);
  heads_view const d_outputs(d.data(), x.q_view().shape());
  auto const gradients = [&](auto const& encoding) {
    auto const forward = attention(x.q_view(), x.k_view(), x.v_view(), encoding, x.options());
    return attention_backward(x.q_view(), x.k_view(), x.v_view(), encoding, forward, d_outputs,
                              x.options());
  };
  auto const expected = gradients(rotation);
  auto const got = gradients(scheme(rotation, hadamard_transform()));
  are_near(got.q, expected.q, 10 * few_bits);
  are_near(got.k, expected.k, 10 * few_bits);
  are_near(got.v, expected.v, 10 * few_bits);
}

TEST(hadamard_transform, refuses_tokens_without_a_position_and_blocks_that_do_not_fit) {
  auto x = numbers::random<float>(3 * 24);
  auto const before = x;
  heads_view const view(x.data(), {3, 1, 24});
  auto const prepared = hadamard_transform{16}.prepare(token_positions{0, 1, 2});
  EXPECT_EQ(message_of([&] { prepared.encode_queries(view, 1); }),
            "posenc: prepare: every token must have a prepared position, got 3 positions for 3 "
            "tokens from 1 on");
  EXPECT_EQ(message_of([&] { prepared.encode_keys(view); }),
            "posenc: hadamard: the block of a Hadamard transform must be a power of two, at most "
            "4096, that divides head_dim 24, got 16");
  EXPECT_TRUE(numbers::same_bits(x, before));
}

}  // namespace
