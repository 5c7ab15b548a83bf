#include "posenc/attention/mask.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/visible_keys.hpp"
#include "posenc/score/alibi.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using limits = std::numeric_limits<std::int64_t>;

TEST(mask, shows_an_interval_around_the_query) {
  for (std::int64_t const query : {std::int64_t{0}, std::int64_t{-7}, std::int64_t{1'000'000}}) {
    EXPECT_EQ(mask::sliding_window(1).positions(query), (position_interval{query, query}));
    EXPECT_EQ(mask::sliding_window(5).positions(query), (position_interval{query - 4, query + 4}));
    EXPECT_EQ((mask::causal & mask::sliding_window(5)).positions(query),
              (position_interval{query - 4, query}));
    EXPECT_EQ((mask::sliding_window(9) & mask::sliding_window(5)).positions(query),
              (position_interval{query - 4, query + 4}));
    EXPECT_EQ(mask::causal.positions(query).last, query);
  }
}

TEST(mask, full_shows_keys_at_any_distance_and_causal_any_before) {
  for (auto const query : {limits::min(), std::int64_t{-1}, std::int64_t{0}, limits::max()}) {
    EXPECT_EQ(mask::full.positions(query), (position_interval{limits::min(), limits::max()}));
    EXPECT_EQ(mask::causal.positions(query), (position_interval{limits::min(), query}));
  }
}

// Made before main, by whatever order the compiler has for globals.
mask const early = mask::full;
TEST(mask, full_and_causal_are_there_before_any_other_global_is) { EXPECT_EQ(early, mask::full); }

TEST(mask, chunks_begin_at_multiples_of_their_size) {
  EXPECT_EQ(mask::chunked(4).positions(0), (position_interval{0, 3}));
  EXPECT_EQ(mask::chunked(4).positions(3), (position_interval{0, 3}));
  EXPECT_EQ(mask::chunked(4).positions(4), (position_interval{4, 7}));
  EXPECT_EQ(mask::chunked(4).positions(-1), (position_interval{-4, -1}));
  EXPECT_EQ(mask::chunked(4).positions(-4), (position_interval{-4, -1}));
  EXPECT_EQ((mask::causal & mask::chunked(4)).positions(6), (position_interval{4, 6}));
  EXPECT_EQ((mask::chunked(6) & mask::chunked(4)).positions(5), (position_interval{4, 5}))
      << "what both show";
}

TEST(mask, a_window_has_a_length_behind_and_one_ahead) {
  EXPECT_EQ(mask::window(2, 1).positions(10), (position_interval{8, 11}));
  EXPECT_EQ(mask::window(0, 0).positions(10), (position_interval{10, 10}));
  EXPECT_EQ(mask::window(mask::any, 3).positions(10), (position_interval{limits::min(), 13}));
  EXPECT_EQ(mask::window(3, mask::any).positions(10), (position_interval{7, limits::max()}));
  EXPECT_EQ((mask::window(5, 1) & mask::window(2, 7)).positions(0), (position_interval{-2, 1}));
  EXPECT_EQ(mask::window(mask::any, mask::any), mask::full);
  EXPECT_EQ(mask::window(mask::any, 0), mask::causal);
  EXPECT_EQ(mask::window(6, 6), mask::sliding_window(7));
  EXPECT_EQ(mask::window(6, 0), mask::causal & mask::sliding_window(7));
}

TEST(mask, has_given_cells_beside_all_else) {
  std::vector<float> const cells(12), others(12);
  given_mask const some(cells.data(), {3, 1, 4});
  EXPECT_EQ(mask::causal.given_cells(), nullptr);
  auto const given = mask::given(some);
  ASSERT_NE(given.given_cells(), nullptr);
  EXPECT_EQ(*given.given_cells(), some);
  EXPECT_EQ(given.positions(7), mask::full.positions(7));
  for (auto const& both : {given & mask::window(2, 1), mask::window(2, 1) & given}) {
    EXPECT_EQ(*both.given_cells(), some);
    EXPECT_EQ(both.positions(10), (position_interval{8, 11}));
    EXPECT_NE(both, given);
  }
  auto const packed = given & mask::packed({3}, {4});
  EXPECT_EQ(*packed.given_cells(), some);
  EXPECT_TRUE(packed.is_packed());
  EXPECT_EQ(given, mask::given(given_mask(cells.data(), {3, 1, 4})));
  EXPECT_NE(given, mask::given(given_mask(others.data(), {3, 1, 4})));
  EXPECT_NE(given, mask::full);
  EXPECT_EQ(message_of([&] { given& mask::given(some); }),
            "posenc: mask: at most one of two masks may be given cell by cell");
}

TEST(mask, holds_at_the_ends_of_int64) {
  auto const all =
      mask::causal & mask::sliding_window(limits::max()) & mask::chunked(limits::max());
  for (auto const query : {limits::min(), limits::max()}) {
    auto const [first, last] = all.positions(query);
    EXPECT_LE(first, query);
    EXPECT_EQ(last, query);
    EXPECT_EQ(mask::sliding_window(3).positions(query).first <= query, true);
    EXPECT_EQ(mask::sliding_window(3).positions(query).last >= query, true);
  }
  EXPECT_EQ(mask::sliding_window(3).positions(limits::min()),
            (position_interval{limits::min(), limits::min() + 2}));
  EXPECT_EQ(mask::sliding_window(3).positions(limits::max()),
            (position_interval{limits::max() - 2, limits::max()}));
  EXPECT_EQ(mask::chunked(3).positions(limits::max()).last, limits::max());
  EXPECT_EQ(mask::chunked(3).positions(limits::min()).first, limits::min());
}

TEST(mask, packed_sequences_see_their_own_tokens) {
  std::vector<std::size_t> const queries{2, 0, 3}, keys{4, 5, 1};
  auto const packed = mask::causal & mask::packed(queries, keys);
  for (std::size_t const query : {0u, 1u}) EXPECT_EQ(packed.tokens(query, 10), (token_range{0, 4}));
  for (std::size_t const query : {2u, 3u, 4u})
    EXPECT_EQ(packed.tokens(query, 10), (token_range{9, 10}));
  EXPECT_EQ(mask::causal.tokens(3, 10), (token_range{0, 10}));
  EXPECT_EQ(packed.positions(5).last, 5);
  packed.check(5, 10);
}

TEST(mask, is_another_where_sequences_are_packed_and_where_they_are_others) {
  auto const two = mask::packed({3, 4}), same = mask::packed({3, 4}), other = mask::packed({4, 3});
  EXPECT_EQ(two, same);
  for (auto const& [a, b] : {std::pair(two, other), {other, two}, {two, mask::full}})
    EXPECT_NE(a, b);
  EXPECT_NE(mask::full, two);
}

TEST(mask, refuses_empty_windows_and_sequences_that_do_not_fit) {
  EXPECT_EQ(message_of([] { mask::sliding_window(0); }),
            "posenc: mask: the size of a sliding window must be positive, got 0");
  EXPECT_EQ(message_of([] { mask::sliding_window(-3); }),
            "posenc: mask: the size of a sliding window must be positive, got -3");
  EXPECT_EQ(message_of([] { mask::window(-1, 2); }),
            "posenc: mask: the lengths of a window must not be negative, got -1 behind and 2 "
            "ahead");
  EXPECT_EQ(message_of([] { mask::window(2, -3); }),
            "posenc: mask: the lengths of a window must not be negative, got 2 behind and -3 "
            "ahead");
  EXPECT_EQ(message_of([] { mask::chunked(0); }),
            "posenc: mask: the size of a chunk must be positive, got 0");
  constexpr auto half = std::numeric_limits<std::size_t>::max() / 2;
  std::vector<std::size_t> const two{2, 3}, one{5}, huge{half, half, 5};
  EXPECT_EQ(
      message_of([&] { mask::packed(two, one); }),
      "posenc: mask: there must be as many packed sequences of queries as of keys, got 2 and 1");
  EXPECT_EQ(message_of([&] { mask::packed(huge); }),
            "posenc: mask: packed sequences must have fewer tokens than 2^" +
                std::to_string(std::numeric_limits<std::size_t>::digits) + ", got " +
                std::to_string(2 * half) + " and then 5");
  // Too few and too many, of queries and of keys.
  for (auto const& [queries, keys] : {std::pair(4u, 5u), {6u, 5u}, {5u, 4u}, {5u, 6u}, {0u, 5u}})
    EXPECT_EQ(
        message_of([&, queries = queries, keys = keys] { mask::packed(two).check(queries, keys); }),
        "posenc: mask: packed sequences must have all " + std::to_string(queries) +
            " queries and " + std::to_string(keys) + " keys, got 5 and 5");
  EXPECT_EQ(message_of([&] { mask::packed(two) & mask::packed(one); }),
            "posenc: mask: at most one of two masks may be packed");
}

using namespace posenc;
using ranges = std::vector<token_range>;

TEST(visible_keys, a_query_that_sees_nothing_has_an_empty_range_and_hides_all) {
  std::vector<std::int64_t> const queries{-1, 2}, up{0, 1, 2, 3}, down{3, 2, 1, 0};
  auto const of = [&](auto const& keys) {
    return detail::visible_keys(mask::causal, detail::position_list(queries),
                                detail::position_list(keys), mask::causal.sequences_rise(keys));
  };
  auto const rising = of(up), falling = of(down);
  EXPECT_EQ(rising.around(0, {0, 4}), (token_range{0, 0}));
  EXPECT_EQ(rising.around(1, {0, 4}), (token_range{0, 3}));
  EXPECT_EQ(rising.around(1, {1, 2}), (token_range{1, 2}));
  EXPECT_EQ(rising.around(1, {3, 4}), (token_range{0, 0}));
  EXPECT_EQ(falling.around(1, {0, 4}), (token_range{0, 4}))
      << "in no order, what is not seen is hidden key by key";
  std::vector<float> row(4, 1);
  falling.mask_scores(1, 0, {0, 4}, std::span(row));
  EXPECT_TRUE(is_masked(row[0]));
  EXPECT_EQ(row[1], 1);
}

namespace of_arguments {

using namespace posenc;

detail::attention_arguments checked(heads_shape q, heads_shape k, heads_shape v,
                                    attention_options const& options = {}) {
  return detail::checked_arguments<float>("attention", nope(), q, k, v, options);
}
std::string refusal(heads_shape q, heads_shape k, heads_shape v,
                    attention_options const& options = {}) {
  return message_of([&] { checked(q, k, v, options); });
}

TEST(attention_arguments, have_every_default_filled_in) {
  auto const in = checked({2, 8, 16}, {5, 2, 16}, {5, 2, 3});
  EXPECT_EQ(in.group, 4u);
  EXPECT_EQ(in.head_dim, 16u);
  EXPECT_EQ(in.value_dim, 3u);
  EXPECT_EQ(in.scale, 0.25);
  auto const all = [](detail::position_list const& at) {
    std::vector<std::int64_t> memory;
    at.listed(memory);
    return memory;
  };
  EXPECT_EQ(all(in.key_positions), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(all(in.query_positions), (std::vector<std::int64_t>{3, 4}));
}

TEST(attention_arguments, shapes_that_do_not_agree_are_refused) {
  EXPECT_EQ(refusal({2, 2, 4}, {3, 2, 5}, {3, 2, 4}),
            "posenc: attention: keys must have the queries' head_dim 4, got 5");
  EXPECT_EQ(refusal({2, 2, 4}, {3, 2, 4}, {3, 1, 4}),
            "posenc: attention: values must have the keys' [tokens][heads], [3][2], got [3][1]");
  EXPECT_EQ(refusal({2, 0, 4}, {3, 2, 4}, {3, 2, 4}),
            "posenc: attention: there must be a head, got 0");
  EXPECT_EQ(refusal({2, 3, 4}, {3, 2, 4}, {3, 2, 4}),
            "posenc: attention: kv_heads must divide heads, got 2 kv heads for 3 heads");
  EXPECT_EQ(refusal({4, 2, 4}, {3, 2, 4}, {3, 2, 4}),
            "posenc: attention: the positions of queries must be given where they outnumber keys, "
            "got 4 queries and 3 keys");
}

TEST(attention_arguments, options_that_do_not_fit_are_refused) {
  std::vector<std::int64_t> const three{1, 2, 3};
  EXPECT_EQ(refusal({2, 2, 4}, {3, 2, 4}, {3, 2, 4}, {.query_positions = three}),
            "posenc: attention: there must be one position for each of the 2 queries, got 3");
  EXPECT_EQ(refusal({2, 2, 4}, {2, 2, 4}, {2, 2, 4}, {.key_positions = three}),
            "posenc: attention: there must be one position for each of the 2 keys, got 3");
  EXPECT_EQ(refusal({2, 2, 4}, {3, 2, 4}, {3, 2, 4}, {.scale = 1e39}),
            "posenc: attention: scale must be finite, got 1e+39");
  for (auto const& lengths : {std::vector<std::size_t>{1, 3}, {1}})
    EXPECT_EQ(refusal({2, 2, 4}, {4, 2, 4}, {4, 2, 4}, {.mask = mask::packed(lengths)}),
              "posenc: mask: packed sequences must have all 2 queries and 4 keys, got " +
                  std::string(lengths.size() == 2 ? "4 and 4" : "1 and 1"));
  std::vector<float> const cells(12);
  given_mask const small(cells.data(), {2, 2, 3});
  EXPECT_EQ(refusal({2, 2, 4}, {4, 2, 4}, {4, 2, 4}, {.mask = mask::given(small)}),
            "posenc: attention: a given mask must have at least 2 queries and 4 keys, of 1 head or "
            "of 2, got 2 queries and 3 keys of 2");
  EXPECT_NO_THROW(checked({2, 2, 4}, {3, 2, 4}, {3, 2, 4}, {.mask = mask::given(small)}));
  EXPECT_EQ(message_of([&] {
              detail::checked_arguments<float>("attention", alibi(3), {2, 2, 4}, {3, 2, 4},
                                               {3, 2, 4}, attention_options());
            }),
            "posenc: attention: the encoding must have 2 heads, got 3");
}

}  // namespace of_arguments
}  // namespace
