// How attention is cut into pieces: how many there are, and that each key and row is in one.
#include "posenc/attention/detail/work.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "attention/random_heads.hpp"
#include "posenc/attention/call.hpp"
#include "posenc/encoding/scheme.hpp"

namespace {
namespace of_work {

using namespace posenc;

detail::attention_arguments checked(attention_sizes const& n, attention_options const& options) {
  return detail::checked_arguments<float>("", nope(), {n.queries, n.heads, n.head_dim},
                                          {n.keys, n.kv_heads, n.head_dim},
                                          {n.keys, n.kv_heads, n.value_dim}, options);
}
/// Of keys that are read in place.
detail::attention_work few(attention_sizes const& n, attention_options const& options = {}) {
  return {checked(n, options), true, false};
}
/// Of keys that become panels.
detail::attention_work many(attention_sizes const& n, attention_options const& options = {}) {
  return {checked(n, options), false, false};
}
detail::attention_work whole(attention_sizes const& n, bool in_place) {
  return {checked(n, {}), in_place, true};
}

TEST(attention_work, of_one_query_is_split_into_ranges_of_512_keys_and_at_most_64) {
  for (auto const& [keys, ranges] : {std::pair(1u, 1u),
                                     {512u, 1u},
                                     {513u, 2u},
                                     {1024u, 2u},
                                     {5000u, 10u},
                                     {32'768u, 64u},
                                     {32'769u, 33u},
                                     {65'536u, 64u},
                                     {65'537u, 43u},
                                     {1'000'000u, 64u}}) {
    auto const work = few({1, keys, 8, 2, 8, 8});
    EXPECT_EQ(work.ranges, ranges) << keys;
    EXPECT_EQ(work.pieces(1), ranges) << keys;
  }
  EXPECT_EQ(many({1, 5000, 1, 1, 8, 8}).ranges, 10u) << "of panels too";
  EXPECT_EQ(few({4, 5000, 8, 2, 8, 8}).ranges, 10u) << "16 rows";
  EXPECT_EQ(few({1, 5000, 17, 1, 8, 8}).ranges, 5u) << "17 rows, ranges of 1024 keys";
  EXPECT_EQ(few({8, 5000, 8, 2, 8, 8}).ranges, 5u) << "32 rows";
  EXPECT_EQ(many({3, 5000, 11, 1, 8, 8}).ranges, 4u) << "33 rows, ranges of 1536 keys";
}

TEST(attention_work, has_one_range_where_it_needs_whole_rows_or_blocks_are_64) {
  EXPECT_EQ(whole({1, 5000, 8, 2, 8, 8}, true).ranges, 1u);
  EXPECT_EQ(whole({1, 5000, 8, 2, 8, 8}, true).keys(0, 5000), (token_range{0, 5000}));
  constexpr std::size_t most = 600'000;
  EXPECT_EQ(many({144 * 32, most, 1, 1, 1, 1}).ranges, 5u) << "of 147456 keys, for 32 blocks";
  EXPECT_EQ(many({144 * 32, most, 2, 2, 1, 1}).ranges, 1u);
  EXPECT_EQ(many({144 * 31 + 1, most, 2, 2, 1, 1}).ranges, 1u);
  EXPECT_EQ(many({144 * 31, most, 2, 2, 1, 1}).ranges, 5u);
}

TEST(attention_work, has_ranges_from_the_first_to_the_last_key_that_is_seen) {
  auto const near = few({1, 5000, 1, 1, 8, 8}, {.mask = mask::window(599, 0)});  // from 4400 on
  EXPECT_EQ(near.ranges, 2u);
  EXPECT_EQ(near.keys(0, 5000), (token_range{4096, 4608}));
  EXPECT_EQ(near.keys(1, 5000), (token_range{4608, 5000}));
  auto const first = few({1, 5000, 1, 1, 8, 8}, {.query_positions = {511}});
  EXPECT_EQ(first.ranges, 1u);
  EXPECT_EQ(first.keys(0, 5000), (token_range{0, 512}));
  EXPECT_EQ(few({1, 5000, 1, 1, 8, 8}, {.query_positions = {512}}).ranges, 2u);
  EXPECT_EQ(few({1, 5000, 1, 1, 8, 8}, {.query_positions = {-1}}).ranges, 0u);
  auto const two =
      few({2, 5000, 1, 1, 8, 8}, {.mask = mask::window(10, 0), .query_positions = {700, 2100}});
  EXPECT_EQ(two.ranges, 4u);
  EXPECT_EQ(two.keys(0, 5000), (token_range{512, 1024}));
  for (auto const& n : {attention_sizes{0, 9, 2, 1, 8, 8}, {1, 0, 2, 1, 8, 8}}) {
    EXPECT_EQ(few(n, {.query_positions = std::vector<int>(n.queries)}).pieces(3), 0u);
    EXPECT_EQ(many(n, {.query_positions = std::vector<int>(n.queries)}).pieces(3), 0u);
  }
}

TEST(attention_work, is_split_by_kv_heads_where_workers_outnumber_ranges) {
  auto const work = few({1, 5000, 16, 4, 8, 8});  // 10 ranges
  for (auto const& [workers, groups] :
       {std::pair(1u, 1u), {10u, 1u}, {11u, 2u}, {20u, 2u}, {21u, 3u}, {31u, 4u}, {1000u, 4u}}) {
    EXPECT_EQ(work.groups(workers), groups) << workers;
    EXPECT_EQ(work.pieces(workers), 10 * groups) << workers;
  }
  EXPECT_EQ(few({1, 100, 16, 4, 8, 8}).pieces(3), 3u) << "of one range";
  EXPECT_EQ(whole({1, 5000, 16, 4, 8, 8}, true).pieces(4), 4u);
  // Or where rows of all would be more than 144.
  EXPECT_EQ(few({4, 600, 36, 9, 8, 8}).groups(1), 1u) << "144 rows";
  EXPECT_EQ(few({4, 600, 40, 10, 8, 8}).groups(1), 2u) << "160 rows";
  EXPECT_EQ(few({1, 600, 300, 2, 8, 8}).groups(1), 2u) << "a head has 150";
}

TEST(attention_work, of_a_prompt_has_pieces_of_up_to_6_blocks_of_a_head_and_4_for_each_worker) {
  auto const work = many({24 * 144, 4000, 1, 1, 8, 8});
  EXPECT_EQ(work.blocks, 24u);
  for (auto const& [workers, each, pieces] :
       {std::tuple(1u, 6u, 4u), {2u, 3u, 8u}, {3u, 2u, 12u}, {4u, 1u, 24u}, {99u, 1u, 24u}}) {
    EXPECT_EQ(work.together(workers), each) << workers;
    EXPECT_EQ(work.pieces(workers), pieces) << workers;
    EXPECT_EQ(work.sizes(workers, 4000).blocks, each) << workers;
  }
  EXPECT_EQ(many({24 * 144, 4000, 3, 3, 8, 8}).pieces(3), 12u) << "of 6 blocks of each head";
  EXPECT_EQ(many({8 * 144, 4000, 1, 1, 8, 8}).pieces(1), 2u) << "one worker shares no pieces";
  EXPECT_EQ(many({100, 4000, 10, 2, 8, 8}).block_queries, 28u) << "of 5 heads";
  EXPECT_EQ(many({100, 4000, 10, 2, 8, 8}).blocks, 4u);
  EXPECT_EQ(many({1, 40, 145, 1, 8, 8}).block_queries, 1u);
  EXPECT_EQ(whole({24 * 144, 4000, 1, 1, 8, 8}, false).pieces(1), 24u) << "a block has whole rows";
  EXPECT_EQ(few({5, 4000, 1, 1, 8, 8}).blocks, 1u);
}

TEST(attention_work, has_each_key_of_each_block_and_head_in_one_piece) {
  for (auto const& n : {attention_sizes{1, 5000, 16, 4, 8, 8},
                        {5, 700, 9, 9, 8, 8},
                        {4, 600, 40, 10, 8, 8},
                        {900, 900, 2, 1, 8, 8},
                        {500, 9000, 3, 3, 8, 8}}) {
    for (bool const in_place : {false, true}) {
      for (std::size_t const workers : {1u, 2u, 3u, 16u}) {
        detail::attention_work const work(checked(n, {.mask = mask::full}), in_place, false);
        std::set<std::tuple<std::size_t, std::size_t, std::size_t>> seen;
        std::size_t last_block = work.blocks;
        for (std::size_t i = 0; i < work.pieces(workers); ++i) {
          auto const piece = work.piece(i, workers);
          auto const sizes = work.sizes(workers, n.keys);
          EXPECT_LE(piece.kv_heads, sizes.kv_heads);
          EXPECT_LE(piece.blocks, sizes.blocks);
          EXPECT_LE(piece.first_block, last_block) << "the last queries come first";
          last_block = piece.first_block;
          for (auto head = piece.kv_head; head < piece.kv_head + piece.kv_heads; ++head)
            for (auto b = piece.first_block; b < piece.first_block + piece.blocks; ++b)
              EXPECT_TRUE(seen.insert({head, b, piece.range}).second) << "twice";
        }
        EXPECT_EQ(seen.size(), n.kv_heads * work.blocks * work.ranges);
        EXPECT_EQ(work.blocks, (n.queries - 1) / work.block_queries + 1);
        std::size_t end = 0;
        for (std::size_t range = 0; range < work.ranges; ++range) {
          EXPECT_EQ(work.keys(range, n.keys).first, end);
          end = work.keys(range, n.keys).last;
        }
        EXPECT_EQ(end, n.keys);
      }
    }
  }
}

TEST(attention_work, of_a_worker_has_room_for_a_part_of_keys_or_for_whole_rows) {
  auto const room = [](detail::attention_work const& work, std::size_t keys) {
    auto const sizes = work.sizes(1, keys);
    return std::pair(sizes.columns, sizes.keys);
  };
  for (std::size_t const keys : {100u, 5000u}) {
    auto const part = std::min<std::size_t>(keys, 512);
    EXPECT_EQ(room(few({1, keys, 8, 2, 8, 8}), keys), std::pair(part, std::size_t{0}));
    EXPECT_EQ(room(many({1, keys, 8, 2, 8, 8}), keys), std::pair(part, part));
    EXPECT_EQ(room(whole({1, keys, 8, 2, 8, 8}, true), keys), std::pair(keys, std::size_t{0}));
    EXPECT_EQ(room(whole({1, keys, 8, 2, 8, 8}, false), keys), std::pair(keys, part));
  }
}

/// A call reads keys and values in place for up to 32 rows, or 8 of packed sequences.
TEST(attention_work, of_a_call_reads_few_rows_in_place) {
  auto const is_in_place = [](std::size_t queries, std::size_t heads, bool packed) {
    attention_sizes const n{queries, queries + 40, heads, 1, 8, 8};
    random_heads<float> const x(n);
    std::vector<float> to(queries * heads * 8);
    std::vector<std::size_t> const rows{queries}, tokens{n.keys};
    auto const plain = nope();
    attention_call const call(x.q_view(), x.k_view(), x.v_view(),
                              heads_view<float>(to.data(), {queries, heads, 8}), plain,
                              {.mask = packed ? mask::packed(rows, tokens) : mask::causal});
    return call.work().in_place;
  };
  for (std::size_t const heads : {1u, 2u, 4u, 8u}) {
    EXPECT_TRUE(is_in_place(32 / heads, heads, false));
    EXPECT_FALSE(is_in_place(32 / heads + 1, heads, false));
    EXPECT_TRUE(is_in_place(8 / heads, heads, true));
    EXPECT_FALSE(is_in_place(8 / heads + 1, heads, true));
  }
}

}  // namespace of_work
}  // namespace
