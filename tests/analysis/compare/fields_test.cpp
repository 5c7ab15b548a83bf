#include "posenc/analysis/compare/fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/pair_axes.hpp"

namespace {

using namespace posenc;
using list = std::vector<field_difference>;

layer_description layer(std::vector<double> const& inv_freq = {1, 0.5}, std::size_t blocks = 1) {
  posenc::rotary_description const one{
      .rule = "default", .frequencies = posenc::frequencies(inv_freq), .layout = posenc::halves()};
  return {
      .name = "x", .head_dim = 8, .rotary = std::vector<posenc::rotary_description>(blocks, one)};
}

std::vector<field_difference> fields(layer_description const& a, layer_description const& b,
                                     std::size_t length = 100'000, double threshold = 0x1p-8) {
  return posenc::detail::differing_fields(a, b, length, threshold);
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
  EXPECT_EQ(after([](auto& x) { x.head_dim = 16; }), (list{{"head_dim", "8", "16", 0}}));
  EXPECT_EQ(after([](auto& x) { x.rotary.clear(); }), (list{{"rotary blocks", "1", "0"}}));
  EXPECT_EQ(after([](auto& x) { x.softmax_factor = 0.5; }), (list{{"softmax_factor", "1", "0.5"}}));
  EXPECT_EQ(after([](auto& x) {
              x.buckets = bucket_bias{32, 128};
            }),
            (list{{"buckets", "", "32 up to 128", 0}}));
  EXPECT_EQ(after([](auto& x) { x.score_cap = 30; }), (list{{"score_cap", "", "30", 0}}));
  EXPECT_EQ(after([](auto& x) { x.sinks = true; }), (list{{"sinks", "false", "true", 0}}));
  EXPECT_EQ(after([](auto& x) { x.shares_index = true; }),
            (list{{"shares_index", "false", "true", 0}}));
  EXPECT_EQ(after([](auto& x) { x.pooled = 4; }), (list{{"pooled", "0", "4", 0}}));
  EXPECT_EQ(after([](auto& x) { x.index = index_heads{64, 128, x.rotary[0], 16, 32, 2, 4}; }),
            (list{{"index heads", "",
                   "64 of 128 dims choose 16 blocks of 32, with 2 of their own, a key for 4 tokens",
                   0}}));
}

TEST(fields, of_windows_and_chunks_matter_from_the_smaller) {
  EXPECT_EQ(after([](auto& x) { x.window = 512; }), (list{{"window", "", "512", 512}}));
  EXPECT_EQ(after([](auto& x) { x.chunk = 64; }), (list{{"chunk", "", "64", 64}}));
  auto narrow = layer();
  narrow.window = 256, narrow.chunk = 128;
  EXPECT_EQ(after([](auto& x) { x.window = 512, x.chunk = 1024; }, narrow),
            (list{{"window", "256", "512", 256}, {"chunk", "128", "1024", 128}}));
}

TEST(fields, of_rotation_name_their_block_and_the_pair_that_differs_most) {
  EXPECT_EQ(after([](auto& x) { x.rotary[0].rule = "linear"; }),
            (list{{"rule", "default", "linear"}}));
  EXPECT_EQ(after([](auto& x) { x.rotary[1].layout = interleaved(); }, layer({1, 0.5}, 2)),
            (list{{"block 1: layout", "halves", "interleaved"}}));
  EXPECT_EQ(after([](auto& x) { x.rotary[0].block = rotary_block::last(); }),
            (list{{"first rotary dim", "0", "4"}}));
  EXPECT_EQ(after([](auto& x) {
              x.rotary[0].axes = pair_axes({0, 2});
            }),
            (list{{"axes", "", "0 2", 0}}));
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

TEST(fields, of_alibi_matter_from_where_slopes_part) {
  auto const with = [](std::size_t heads, double max_bias) {
    auto result = layer();
    result.alibi = alibi_bias{heads, max_bias};
    return result;
  };
  field_difference const quarter{"alibi", "", "4 heads, max bias 8", 3};
  EXPECT_EQ(fields(layer(), with(4, 8), 100, 0.5)[0], quarter);  // r / 4 > 1 / 2
  // 2^-2 and 2^-1, 2^-4 and 2^-2 ...: the first heads differ most, by 2^-2.
  EXPECT_EQ(fields(with(4, 8), with(4, 4), 100, 0.49)[0].from, 2);
  EXPECT_EQ(fields(with(4, 8), with(8, 16), 100, 0.0625)[0].from, 65);  // heads 5 to 8: 2^-10 ...
  auto scaled = with(4, 8);
  scaled.alibi->factor = 0.125;
  field_difference const eighth{"alibi", "", "4 heads, max bias 8, times 0.125", 17};
  EXPECT_EQ(fields(layer(), scaled, 100, 0.5)[0], eighth);
  EXPECT_TRUE(fields(with(4, 8), with(4, 8)).empty());
  EXPECT_EQ(fields(layer(), with(4, 8), 4, 0.5)[0].from, 3);  // distances end at 3
  EXPECT_EQ(fields(layer(), with(4, 8), 3, 0.5)[0].from, std::nullopt);
  EXPECT_EQ(fields(layer(), with(4, 8), 100, 1e300)[0].from, std::nullopt);
}

TEST(fields, of_temperatures_matter_from_the_first_position_off_by_the_threshold) {
  auto const with = [](position_temperature const& t) {
    auto result = layer();
    result.temperature = t;
    return result;
  };
  position_temperature const a{0.1, 64, 1}, b{0.3, 100, 0}, c{0.3, 2, 50};
  EXPECT_EQ(fields(layer(), with(a))[0].b, "1 + 0.1 ln(1 + floor((position + 1) / 64))");
  auto const beta = [](position_temperature const& t, double position) {
    return 1 + t.scale * std::log(1 + std::floor((position + t.offset) / t.floor_scale));
  };
  for (auto const& [x, y] : {std::pair(a, b), std::pair(b, a), std::pair(a, c)}) {
    for (auto const threshold : {0.01, 0.1, 0.2, 0.5}) {
      std::optional<std::int64_t> from;
      for (std::int64_t p = 0; p < 2000 && !from; ++p) {
        auto const of_x = beta(x, static_cast<double>(p)), of_y = beta(y, static_cast<double>(p));
        if (std::abs(of_x - of_y) > threshold * std::max(of_x, of_y)) from = p;
      }
      EXPECT_EQ(fields(with(x), with(y), 2000, threshold)[0].from, from) << threshold;
    }
  }
  EXPECT_EQ(fields(layer(), with(a), 64)[0].from, 63);
  EXPECT_EQ(fields(layer(), with(a), 63)[0].from, std::nullopt);
}

}  // namespace
