#include "posenc/rotation/prepared_rotation.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numbers.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/m_rope.hpp"
#include "posenc/query_key/remapped.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/xpos.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

constexpr std::size_t tokens = 7, heads = 3, head_dim = 34;
std::vector<std::int64_t> const positions{0, 5, 1'000'000, -3, 5, 7, 1 << 20};

TEST(prepared_rotation, gives_the_same_bits_for_any_ranges_of_tokens) {
  rope<interleaved> const encoding(geometric(32, 1e4));
  numbers::in_every_format([&]<class T>() {
    auto const prepared = encoding.prepare<arithmetic_t<T>>(positions);
    auto const x = numbers::random<T>(tokens * heads * head_dim);
    auto whole = x, parts = x;
    heads_shape const shape{tokens, heads, head_dim};
    prepared.encode_queries(heads_view(whole.data(), shape));
    heads_view const view(parts.data(), shape);
    for (std::size_t const first : {4u, 0u, 1u}) {
      std::size_t const count = first == 4 ? 3 : first == 0 ? 1 : 3;
      prepared.encode_keys(view.slice_tokens(first, count), first);
    }
    EXPECT_TRUE(numbers::same_bits(whole, parts));
    prepared.backward_queries(heads_view(whole.data(), shape));
    for (std::size_t first = 0; first < tokens; ++first)
      prepared.backward_keys(view.slice_tokens(first, 1), first);
    EXPECT_TRUE(numbers::same_bits(whole, parts));
  });
}

TEST(prepared_rotation, takes_positions_of_any_integer_type_and_fractions) {
  rope<halves> const encoding(geometric(head_dim, 1e4));
  auto const expected = encoding.prepare(std::vector<std::int64_t>{3, 1, 4});
  auto const of = [&](auto const& at) { return encoding.prepare(at).rows(); };
  for (std::size_t token = 0; token < 3; ++token) {
    for (auto const& rows : {of(std::vector{3, 1, 4}), of(std::vector<std::uint16_t>{3, 1, 4}),
                             of(std::vector{3.0, 1.0, 4.0})}) {
      EXPECT_TRUE(std::ranges::equal(rows.cos(token), expected.rows().cos(token)));
      EXPECT_TRUE(std::ranges::equal(rows.sin(token), expected.rows().sin(token)));
    }
  }
  EXPECT_EQ(expected.tokens(), 3u);
}

TEST(prepared_rotation, every_encoding_takes_positions_of_any_integer_type_and_braces) {
  auto const f = geometric(head_dim, 1e4);
  auto const same = [](std::int64_t t) { return t; };
  auto const expect = [&](auto const& encoding) {
    auto const encoded = [](auto const& prepared) {
      auto x = numbers::random<float>(3 * head_dim);
      prepared.encode_keys(heads_view(x.data(), {3, 1, head_dim}));
      return x;
    };
    auto const expected =
        encoded(encoding.template prepare<float>(std::vector<std::int64_t>{2, 0, 1}));
    EXPECT_TRUE(numbers::same_bits(
        encoded(encoding.template prepare<float>(std::vector<std::int32_t>{2, 0, 1})), expected));
    EXPECT_TRUE(numbers::same_bits(encoded(encoding.template prepare<float>({2, 0, 1})), expected));
  };
  expect(rope<halves>(f));
  expect(m_rope<halves>(f, pair_axes(std::vector<std::size_t>(head_dim / 2)),
                        axis_positions(1, std::vector{5, 6, 9}), std::int64_t{0}));
  expect(xpos<halves>(f));
  expect(remapped(rope<halves>(f), same, same));
  expect(scheme{nope(), rope<halves>(f)});
}

TEST(prepared_rotation, refuses_tokens_without_a_position_and_changes_nothing) {
  auto const prepared = rope<halves>(geometric(head_dim, 1e4)).prepare(positions);
  auto const before = numbers::random<float>(3 * head_dim);
  auto x = before;
  heads_view const view(x.data(), {3, 1, head_dim});
  auto const must = std::string(
      "posenc: prepare: every token must have a prepared position, got 7 positions for 3 tokens "
      "from ");
  EXPECT_EQ(message_of([&] { prepared.encode_queries(view, 5); }), must + "5 on");
  EXPECT_EQ(message_of([&] { prepared.encode_keys(view, 8); }), must + "8 on");
  EXPECT_EQ(message_of([&] { prepared.backward_queries(view, 5); }), must + "5 on");
  EXPECT_EQ(message_of([&] { prepared.backward_keys(view, ~std::size_t{0}); }),
            must + std::to_string(~std::size_t{0}) + " on");
  EXPECT_TRUE(numbers::same_bits(x, before));
  EXPECT_NO_THROW(prepared.encode_queries(view, 4));
}

}  // namespace
