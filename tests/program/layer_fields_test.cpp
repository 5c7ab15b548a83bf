#include "../examples/program/compare/layer_fields.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/pair_axes.hpp"

namespace {

using namespace posenc;
using namespace comparing;
using list = std::vector<field_difference>;

layer_description layer(std::vector<double> const& inv_freq = {1, 0.5}, std::size_t blocks = 1) {
  posenc::rotary_description const one{
      .rule = "default", .frequencies = posenc::frequencies(inv_freq), .layout = posenc::halves()};
  return {
      .name = "x", .head_dim = 8, .rotary = std::vector<posenc::rotary_description>(blocks, one)};
}

std::vector<field_difference> fields(layer_description const& a, layer_description const& b,
                                     std::size_t length = 100'000) {
  return differing_fields(a, b, length);
}

/// What differs between a layer and the same after a change; and the other way round.
list after(auto const& change, layer_description const& before = layer()) {
  auto changed = before;
  change(changed);
  auto const there = fields(before, changed);
  auto back = fields(changed, before);
  for (auto& one : back) std::swap(one.a, one.b);
  EXPECT_EQ(there, back);
  return there;
}

TEST(fields, are_named_and_shown_where_they_differ) {
  EXPECT_TRUE(after([](auto&) {}).empty());
  EXPECT_EQ(after([](auto& x) { x.head_dim = 16; }), (list{{"head_dim", "8", "16"}}));
  EXPECT_EQ(after([](auto& x) { x.rotary.clear(); }), (list{{"rotary blocks", "1", "0"}}));
  EXPECT_EQ(after([](auto& x) { x.softmax_factor = 0.5; }), (list{{"softmax_factor", "1", "0.5"}}));
  EXPECT_EQ(after([](auto& x) {
              x.buckets = bucket_bias{32, 128};
            }),
            (list{{"buckets", "", "32 up to 128"}}));
  EXPECT_EQ(after([](auto& x) { x.score_cap = 30; }), (list{{"score_cap", "", "30"}}));
  EXPECT_EQ(after([](auto& x) { x.sinks = true; }), (list{{"sinks", "false", "true"}}));
  EXPECT_EQ(after([](auto& x) { x.shares_index = true; }),
            (list{{"shares_index", "false", "true"}}));
  EXPECT_EQ(after([](auto& x) { x.pooled = 4; }), (list{{"pooled", "0", "4"}}));
  EXPECT_EQ(
      after([](auto& x) { x.index = index_heads{64, 128, x.rotary[0], 16, 32, 2, 4}; }),
      (list{{"index heads", "",
             "64 of 128 dims choose 16 blocks of 32 besides 2 local ones, a key for 4 tokens"}}));
}

TEST(fields, of_windows_and_chunks_are_their_tokens) {
  EXPECT_EQ(after([](auto& x) { x.window = 512; }), (list{{"window", "", "512"}}));
  EXPECT_EQ(after([](auto& x) { x.chunk = 64; }), (list{{"chunk", "", "64"}}));
}

TEST(fields, of_rotation_name_their_block_and_the_pair_that_differs_most) {
  EXPECT_EQ(after([](auto& x) { x.rotary[0].rule = "linear"; }),
            (list{{"rule", "default", "linear"}}));
  EXPECT_EQ(after([](auto& x) { x.rotary[1].layout = interleaved(); }, layer({1, 0.5}, 2)),
            (list{{"block 1: layout", "halves", "interleaved"}}));
  EXPECT_EQ(after([](auto& x) { x.rotary[0].opposite = true; }),
            (list{{"opposite angle", "false", "true"}}));
  EXPECT_EQ(after([](auto& x) { x.rotary[0].block = rotary_block::last(); }),
            (list{{"first rotary dim", "0", "4"}}));
  EXPECT_EQ(after([](auto& x) {
              x.rotary[0].axes = pair_axes({0, 2});
            }),
            (list{{"axes", "", "0 2"}}));
  // 1.1 to 1 is 9 %, 0.5 to 0.45 is 10 %; pairs of another block are not compared one by one.
  EXPECT_EQ(fields(layer({1, 0.5}), layer({1.1, 0.45})),
            (list{{"inv_freq of pair 1", "0.5", "0.45"}}));
  // Of pairs that differ alike the first counts.
  EXPECT_EQ(fields(layer({1, 0.5}), layer({2, 1})), (list{{"inv_freq of pair 0", "1", "2"}}));
  EXPECT_EQ(fields(layer({1, 0.5}), layer({1.1})), (list{{"rotary_dim", "4", "2"}}));
  auto const f = frequencies({1, 0.5});
  EXPECT_EQ(after([&](auto& x) { x.rotary[0].frequencies = f.with_attention_factor(2); }),
            (list{{"attention_factor", "1", "2"}}));
}

TEST(fields, of_a_rule_need_settings_on_both_sides) {
  auto read = layer();
  read.rotary[0].parameters = {{"rope_type", "\"default\""}, {"rope_theta", "10000"}};
  EXPECT_TRUE(fields(layer(), read).empty());
  auto const change = [](auto& x) {
    x.rotary[0].parameters = {{"rope_type", "\"other\""}, {"factor", "2"}};
  };
  EXPECT_EQ(after(change, read), (list{{"factor", "", "2"}, {"rope_theta", "10000", ""}}));
}

TEST(fields, of_alibi_and_temperature_are_shown_as_formulas) {
  auto const alibi = [](alibi_bias const& bias) { return after([&](auto& x) { x.alibi = bias; }); };
  EXPECT_EQ(alibi({4, 8}), (list{{"alibi", "", "4 heads, max bias 8"}}));
  EXPECT_EQ(alibi({4, 8, 0.125}), (list{{"alibi", "", "4 heads, max bias 8, times 0.125"}}));
  EXPECT_EQ(after([](auto& x) {
              x.temperature = position_temperature{0.1, 64, 1};
            }),
            (list{{"temperature", "", "1 + 0.1 ln(1 + floor((position + 1) / 64))"}}));
}

}  // namespace
