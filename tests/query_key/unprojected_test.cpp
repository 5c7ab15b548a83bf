#include "posenc/query_key/unprojected.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "laws/query_key_laws.hpp"
#include "numbers.hpp"
#include "posenc/embedding/learned_embedding.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using token_positions = std::vector<std::int64_t>;

TEST(unprojected, adds_to_queries_and_keys_what_is_added_to_embeddings) {
  numbers::in_float_and_double([]<class T>() {
    token_positions const at{7, -2, 1'000'003, 0};
    sinusoidal<interleaved> const encoding(geometric(8, 1e4));
    auto expected = numbers::random<T>(4 * 2 * 8), q = expected, k = expected, part = expected;
    encoding.embed(heads_view(expected.data(), {4, 2, 8}), at);
    auto const prepared = unprojected(encoding).template prepare<T>(at);
    prepared.encode_queries(heads_view(q.data(), {4, 2, 8}));
    prepared.encode_keys(heads_view(k.data(), {4, 2, 8}));
    EXPECT_TRUE(numbers::same_bits(q, expected));
    EXPECT_TRUE(numbers::same_bits(k, expected));
    for (std::size_t t = 0; t < 4; ++t)
      prepared.encode_queries(heads_view(part.data() + t * 16, {1, 2, 8}), t);
    EXPECT_TRUE(numbers::same_bits(part, expected)) << "token by token";
    prepared.backward_queries(heads_view(q.data(), {4, 2, 8}));
    EXPECT_TRUE(numbers::same_bits(q, expected)) << "gradients pass as they are";
  });
}

TEST(unprojected, obeys_the_laws_of_its_site) {
  laws::obey("sinusoidal", unprojected(sinusoidal<halves>(geometric(64, 1e4))), 64, 1, 0);
}

TEST(unprojected, refuses_tokens_without_a_position_and_what_the_encoding_refuses) {
  auto x = numbers::random<float>(3 * 8);
  auto const before = x;
  heads_view const view(x.data(), {3, 1, 8});
  auto const prepared =
      unprojected(sinusoidal<halves>(geometric(8, 1e4))).prepare(token_positions{0, 1, 2});
  EXPECT_EQ(message_of([&] { prepared.encode_queries(view, 1); }),
            "posenc: prepare: every token must have a prepared position, got 3 positions for 3 "
            "tokens from 1 on");
  EXPECT_EQ(message_of([&] { prepared.encode_keys(view, static_cast<std::size_t>(-1)); }),
            "posenc: prepare: every token must have a prepared position, got 3 positions for 3 "
            "tokens from 18446744073709551615 on");
  EXPECT_TRUE(numbers::same_bits(x, before));
}

}  // namespace
