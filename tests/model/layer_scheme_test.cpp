#include "posenc/model/layer_scheme.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "numbers.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/ntk.hpp"
#include "rejects.hpp"
#include "site_2.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

rotary_description rotation(frequencies f, std::variant<halves, interleaved> layout,
                            rotary_block block = rotary_block::first()) {
  return {.rule = "default", .frequencies = std::move(f), .layout = layout, .block = block};
}

template <class Encoding>
std::vector<float> encoded(Encoding const& encoding, std::size_t head_dim) {
  std::vector<std::int64_t> const positions{0, 7, 1'000'000};
  auto x = numbers::random<float>(3 * 2 * head_dim);
  site_2::encode_queries(encoding, numbers::view(x, 3, head_dim), positions);
  return x;
}

TEST(layer_scheme, rotates_as_the_layer_does) {
  auto const f = geometric(64, 1e4);
  layer_description const last{
      .name = "x", .head_dim = 96, .rotary = {rotation(f, interleaved(), rotary_block::last())}};
  EXPECT_TRUE(numbers::same_bits(encoded(layer_scheme(last, 1), 96),
                                 encoded(rope<interleaved>(f, rotary_block::last()), 96)));
  layer_description const first{.name = "x", .head_dim = 96, .rotary = {rotation(f, halves())}};
  EXPECT_TRUE(
      numbers::same_bits(encoded(layer_scheme(first, 1), 96), encoded(rope<halves>(f), 96)));
}

TEST(layer_scheme, rotates_several_blocks_one_after_another) {
  auto const f = geometric(32, 100);
  layer_description const two{
      .name = "x",
      .head_dim = 64,
      .rotary = {rotation(f, halves()), rotation(f, halves(), rotary_block::from(32))}};
  auto const expected = scheme(rope<halves>(f), rope<halves>(f, rotary_block::from(32)));
  EXPECT_TRUE(numbers::same_bits(encoded(layer_scheme(two, 1), 64), encoded(expected, 64)));
}

TEST(layer_scheme, takes_the_frequencies_of_the_length) {
  auto const series = geometric(64, 1e4);
  auto const by_length = [=](std::size_t length) {
    return dynamic_ntk(series, {2, 2048}, static_cast<double>(length));
  };
  layer_description const layer{.name = "x",
                                .head_dim = 64,
                                .rotary = {{.rule = "dynamic",
                                            .frequencies = frequencies_by_length(by_length),
                                            .layout = halves()}}};
  EXPECT_TRUE(numbers::same_bits(encoded(layer_scheme(layer, 2048), 64),
                                 encoded(rope<halves>(series), 64)));
  EXPECT_TRUE(numbers::same_bits(encoded(layer_scheme(layer, 8192), 64),
                                 encoded(rope<halves>(by_length(8192)), 64)));
}

TEST(layer_scheme, of_no_rotation_changes_nothing) {
  layer_description const nope{.name = "x", .head_dim = 64};
  EXPECT_TRUE(
      numbers::same_bits(encoded(layer_scheme(nope, 1), 64), numbers::random<float>(3 * 2 * 64)));
}

TEST(layer_scheme, adds_alibi) {
  layer_description const layer{.name = "x", .head_dim = 64, .alibi = alibi_bias{12}};
  std::vector<float> scores(5), expected(5);
  std::vector<std::int64_t> positions(5);
  std::iota(positions.begin(), positions.end(), 0);
  posenc::adjust_scores(layer_scheme(layer, 1), score_row<float>{scores, 9, 4, positions, {}});
  posenc::adjust_scores(alibi(12), score_row<float>{expected, 9, 4, positions, {}});
  EXPECT_EQ(scores, expected);
  EXPECT_NE(scores[0], 0);
}

TEST(layer_scheme, has_the_heads_of_its_alibi_or_any_number) {
  layer_description const with{.name = "x", .head_dim = 64, .alibi = alibi_bias{12}},
      without{.name = "x", .head_dim = 64};
  for (std::size_t const heads : {1u, 11u, 13u}) {
    EXPECT_EQ(
        message_of([&] { scheme(layer_scheme(with, 1)).require_heads("attention", heads); }),
        "posenc: attention: the encoding must have " + std::to_string(heads) + " heads, got 12");
    EXPECT_NO_THROW(scheme(layer_scheme(without, 1)).require_heads("attention", heads));
  }
  EXPECT_NO_THROW(scheme(layer_scheme(with, 1)).require_heads("attention", 12));
}

TEST(layer_scheme, caps_scores) {
  layer_description const layer{.name = "x", .head_dim = 64, .score_cap = 50};
  std::vector<float> scores{100, -3}, expected = scores;
  std::vector<std::int64_t> const positions{0, 1};
  posenc::adjust_scores(layer_scheme(layer, 1), score_row<float>{scores, 0, 1, positions, {}});
  posenc::adjust_scores(soft_cap(50), score_row<float>{expected, 0, 1, positions, {}});
  EXPECT_EQ(scores, expected);
  EXPECT_LT(scores[0], 50);
}

// [ggml, flash_attn_ext: tanh of the scaled product, then slope times the mask]
TEST(layer_scheme, caps_scores_before_it_biases_them) {
  layer_description const layer{
      .name = "x", .head_dim = 64, .alibi = alibi_bias{8}, .score_cap = 2};
  std::vector<float> scores{3, 3};
  std::vector<std::int64_t> const positions{0, 10};
  posenc::adjust_scores(layer_scheme(layer, 1), score_row<float>{scores, 0, 10, positions, {}});
  auto const capped = 2 * std::tanh(1.5);
  EXPECT_NEAR(scores[0], capped - 5, 1e-6) << "the slope of head 0 of 8 is 1/2";
  EXPECT_NEAR(scores[1], capped, 1e-6);
}

// [llama-models, model.py], then [transformers, modeling_ministral3.py].
TEST(layer_scheme, has_the_known_temperatures) {
  struct value {
    double floor_scale, offset;
    std::int64_t position;
    double factor;
  };
  for (auto const& [floor_scale, offset, position, factor] :
       {value{8192, 1, 8190, 1}, value{8192, 1, 8191, 1.06931471805599},
        value{8192, 1, 16383, 1.10986122886681}, value{8192, 1, 131071, 1.28332133440562},
        value{8192, 1, 1048575, 1.48598124043617}, value{8192, 1, 10485759, 1.71553963},
        value{16384, 0, 16383, 1}, value{16384, 0, 16384, 1.06931472},
        value{16384, 0, 262143, 1.27725887}, value{16384, 0, -5, 1}}) {
    layer_description const layer{
        .name = "x", .head_dim = 64, .temperature = position_temperature{0.1, floor_scale, offset}};
    EXPECT_NEAR(layer_scheme(layer, 1).inverse_temperature({.keys = 1, .query_position = position}),
                factor, 0.5e-8)
        << position;
  }
}

TEST(layer_scheme, multiplies_scores_by_the_softmax_factor) {
  layer_description const layer{.name = "x", .head_dim = 64, .softmax_factor = 1.875};
  EXPECT_EQ(layer_scheme(layer, 1).inverse_temperature({.keys = 1}), 1.875);
}

TEST(layer_scheme, refuses_what_a_configuration_cannot_tell) {
  layer_description const buckets{.name = "x", .head_dim = 64, .buckets = bucket_bias{32, 128}};
  EXPECT_EQ(message_of([&] { layer_scheme(buckets, 1); }),
            "posenc: layer_scheme: T5 buckets need the model's weights; use t5_bias");
}

}  // namespace
