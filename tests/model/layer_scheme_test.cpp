#include "posenc/model/layer_scheme.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/reference.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/model/hugging_face.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "rejects.hpp"
#include "site_2.hpp"

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

// [llama-models, model.py], then [transformers, modeling_ministral3.py].
TEST(layer_scheme, multiplies_scores_by_the_known_temperatures) {
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
    std::vector<double> scores{1};
    std::vector<std::int64_t> const positions{position};
    layer_scheme(layer, 1).adjust_scores(score_row<double>{scores, 0, position, positions, {}});
    EXPECT_NEAR(scores[0], factor, 0.5e-8) << position;
  }
}

// The scores and the softmax of a model's class, in f64, by the numbers of its configuration:
// nothing here is posenc's. The softmax is that of causal attention.
struct class_of_model {
  double scaling = 1;  // on <q, k>
  double base = 0;     // of RoPE in halves; 0: no RoPE
  double cap = 0;      // 0: none
  double slopes = 0;   // that of head h is 2^(-slopes (h + 1) / heads); 0: no ALiBi
  bool scales_biases = false;
  double floor_scale = 0;  // queries times 1 + 0.1 ln(1 + floor((p + 1) / floor_scale)); 0: as is
  std::vector<double> learned = {};  // [distance]; empty: no such bias
  std::vector<double> sinks = {};    // [heads]

  std::vector<double> rotated(double const* x, std::size_t dim, std::size_t position) const {
    std::vector<double> result(x, x + dim);
    for (std::size_t i = 0; base != 0 && i < dim / 2; ++i) {
      auto const at = static_cast<double>(position) *
                      std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(dim));
      result[i] = x[i] * std::cos(at) - x[i + dim / 2] * std::sin(at);
      result[i + dim / 2] = x[i + dim / 2] * std::cos(at) + x[i] * std::sin(at);
    }
    return result;
  }

  // q, k and v: [tokens][heads][dim].
  std::vector<double> outputs(std::vector<double> const& q, std::vector<double> const& k,
                              std::vector<double> const& v, std::size_t tokens, std::size_t heads,
                              std::size_t dim) const {
    std::vector<double> result(q.size());
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t h = 0; h < heads; ++h) {
        auto query = rotated(&q[(t * heads + h) * dim], dim, t);
        auto const p = static_cast<double>(t);
        for (auto& x : query) {
          if (floor_scale != 0) x *= 1 + 0.1 * std::log(1 + std::floor((p + 1) / floor_scale));
        }
        std::vector<double> e(t + 1);
        auto sum = sinks.empty() ? 0 : std::exp(sinks[h]);
        for (std::size_t s = 0; s <= t; ++s) {
          auto const key = rotated(&k[(s * heads + h) * dim], dim, s);
          double score = 0;
          for (std::size_t i = 0; i < dim; ++i) score += query[i] * key[i];
          score *= scaling;
          if (cap != 0) score = std::tanh(score / cap) * cap;
          auto const at = static_cast<double>(h + 1) / static_cast<double>(heads);
          auto const slope = slopes == 0 ? 0 : std::exp2(-slopes * at);
          score -= (scales_biases ? scaling : 1) * slope * static_cast<double>(t - s);
          if (!learned.empty()) score += learned[t - s];
          sum += e[s] = std::exp(score);
        }
        for (std::size_t s = 0; s <= t; ++s) {
          for (std::size_t i = 0; i < dim; ++i)
            result[(t * heads + h) * dim + i] += e[s] / sum * v[(s * heads + h) * dim + i];
        }
      }
    }
    return result;
  }
};

struct learned_bias {
  std::vector<double> of_distance;
  double bias(std::size_t, std::int64_t distance) const {
    return distance < 0 ? 0 : of_distance[static_cast<std::size_t>(distance)];
  }
};

// Queries are so large that scores reach about +-`largest`.
void expect_attention_of(class_of_model const& model, layer_scheme const& layer, std::size_t heads,
                         std::size_t dim, double largest) {
  constexpr std::size_t tokens = 24;
  auto const count = tokens * heads * dim;
  auto q = numbers::random<double>(count, 1), k = numbers::random<double>(count, 2),
       v = numbers::random<double>(count, 3);
  double most = 0;
  for (std::size_t i = 0; i < count; i += dim)
    most = std::max(most, std::abs(std::inner_product(&q[i], &q[i] + dim, &k[i], 0.0)));
  for (auto& x : q) x *= largest / most / model.scaling;
  auto const expected = model.outputs(q, k, v, tokens, heads, dim);
  auto const of = [&](std::vector<double> const& x) {
    return heads_view<double const>(x.data(), {tokens, heads, dim});
  };
  auto const sinks = model.sinks.empty() ? std::vector<double>(heads, -1e4) : model.sinks;
  learned_bias const learned{model.learned.empty() ? std::vector<double>(tokens) : model.learned};
  scheme const all(layer, learned, attention_sinks(sinks));
  auto const plain = reference_attention(of(q), of(k), of(v), all).outputs;
  auto const in_blocks = attention(of(q), of(k), of(v), all).outputs;
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_NEAR(plain[i], expected[i], 1e-11) << i;
    ASSERT_NEAR(in_blocks[i], expected[i], 1e-11) << i;
  }
}

layer_scheme scheme_of(std::string const& config, std::size_t layer = 0) {
  return layer_scheme(read_hugging_face(config, "config.json").kind_of(layer), 24);
}

TEST(layer_scheme, is_gemma_2_27b_which_scales_before_it_caps) {
  auto const scheme = scheme_of(R"({"model_type": "gemma2", "num_hidden_layers": 2, "head_dim": 128,
      "hidden_size": 4608, "num_attention_heads": 32, "query_pre_attn_scalar": 144,
      "attn_logit_softcapping": 50.0, "rope_theta": 10000.0, "sliding_window": 4096,
      "max_position_embeddings": 8192})");
  expect_attention_of({.scaling = 1 / 12.0, .base = 1e4, .cap = 50}, scheme, 2, 128, 100);
}

TEST(layer_scheme, is_grok_1_which_scales_before_it_caps) {
  layer_description const layer{.name = "x",
                                .head_dim = 64,
                                .rotary = {rotation(geometric(64, 1e4), halves())},
                                .softmax_factor = 0.5,
                                .score_cap = 30};
  expect_attention_of({.scaling = 0.0625, .base = 1e4, .cap = 30}, layer_scheme(layer, 24), 2, 64,
                      60);
}

TEST(layer_scheme, is_mpt_which_scales_before_it_biases) {
  auto const scheme = scheme_of(R"({"model_type": "mpt", "n_layers": 1, "d_model": 128,
      "n_heads": 4, "max_seq_len": 2048,
      "attn_config": {"alibi": true, "alibi_bias_max": 6, "softmax_scale": 0.03125}})");
  expect_attention_of({.scaling = 0.03125, .slopes = 6}, scheme, 4, 32, 4);
}

// [modeling_falcon.py: (q k + alibi) * inv_norm_factor]
TEST(layer_scheme, is_falcon_rw_which_scales_its_biases_too) {
  auto const scheme = scheme_of(R"({"model_type": "falcon", "num_hidden_layers": 1, "alibi": true,
      "hidden_size": 256, "num_attention_heads": 4, "max_position_embeddings": 2048})");
  expect_attention_of({.scaling = 0.125, .slopes = 8, .scales_biases = true}, scheme, 4, 64, 4);
}

TEST(layer_scheme, is_granite_which_has_a_scale_of_its_own) {
  auto const scheme = scheme_of(R"({"model_type": "granite", "num_hidden_layers": 1,
      "hidden_size": 4096, "num_attention_heads": 32, "attention_multiplier": 0.0078125,
      "rope_theta": 10000000, "max_position_embeddings": 131072})");
  expect_attention_of({.scaling = 0.0078125, .base = 1e7}, scheme, 2, 128, 4);
}

TEST(layer_scheme, is_t5_which_does_not_divide_before_it_adds_learned_biases) {
  auto layer =
      read_hugging_face(R"({"model_type": "t5", "num_layers": 1, "d_model": 512, "d_kv": 64,
      "num_heads": 8})",
                        "config.json")
          .kind_of(0);
  layer.buckets.reset();
  expect_attention_of({.learned = numbers::random<double>(24)}, layer_scheme(layer, 24), 2, 64, 4);
}

TEST(layer_scheme, has_temperatures_of_queries_before_the_cap_and_the_biases) {
  layer_description const layer{.name = "x",
                                .head_dim = 64,
                                .alibi = alibi_bias{4},
                                .temperature = position_temperature{0.1, 5, 1},
                                .softmax_factor = 1.875,
                                .score_cap = 3};
  expect_attention_of({.scaling = 1.875 / 8, .cap = 3, .slopes = 8, .floor_scale = 5},
                      layer_scheme(layer, 24), 4, 64, 6);
}

TEST(layer_scheme, leaves_sinks_as_they_are) {
  layer_description const layer{.name = "x",
                                .head_dim = 64,
                                .temperature = position_temperature{0.1, 5, 1},
                                .softmax_factor = 1.875,
                                .sinks = true};
  std::vector<double> const sinks{2, -1};
  expect_attention_of({.scaling = 1.875 / 8, .floor_scale = 5, .sinks = sinks},
                      layer_scheme(layer, 24), 2, 64, 4);
}

// The sinks of the layer itself, in a scheme with nothing else and without one; by its rules too.
TEST(layer_scheme, has_the_sinks_that_it_is_given) {
  layer_description const layer{.name = "x",
                                .head_dim = 8,
                                .alibi = alibi_bias{2},
                                .temperature = position_temperature{0.1, 5, 1},
                                .softmax_factor = 1.5,
                                .score_cap = 3,
                                .sinks = true,
                                .window = 4};
  std::vector<double> const sinks{2, -1};
  class_of_model const model{
      .scaling = 1.5 / std::sqrt(8.0), .cap = 3, .slopes = 8, .floor_scale = 5, .sinks = sinks};
  auto const q = numbers::random<double>(5 * 2 * 8, 1), k = numbers::random<double>(5 * 2 * 8, 2),
             v = numbers::random<double>(5 * 2 * 8, 3);
  auto const of = [](std::vector<double> const& x) {
    return heads_view<double const>(x.data(), {5, 2, 8});
  };
  auto const expected = model.outputs(q, k, v, 5, 2, 8);
  auto const copied = std::vector<layer_scheme>(2, layer_scheme(layer, 5, sinks)).back();
  auto const of_scheme = reference_attention(of(q), of(k), of(v), copied).outputs;
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(of_scheme[i], expected[i], 1e-14);
  std::vector<double> slopes;
  auto const rules = rules_of(layer, slopes, sinks);
  EXPECT_EQ(rules.sees, mask::causal & mask::window(3, mask::any));
  auto const by_rules = reference_attention(of(q), of(k), of(v), rules).outputs;
  auto const by_scheme =
      reference_attention(of(q), of(k), of(v), copied, {.mask = mask_of(layer)}).outputs;
  EXPECT_TRUE(numbers::same_bits(by_rules, by_scheme));
  EXPECT_EQ(message_of([&] { rules_of(layer, slopes); }),
            "posenc: rules_of: the sinks of this layer must be given, got 0");
  auto without = layer;
  without.sinks = false;
  EXPECT_EQ(message_of([&] { rules_of(without, slopes, sinks); }),
            "posenc: rules_of: the sinks of this layer must be none, got 2");
  EXPECT_EQ(message_of([&] {
              reference_attention(of(q), of(k), of(v), layer_scheme(layer, 5, {1, 2, 3}));
            }),
            "posenc: reference_attention: sinks must be one for each of the 2 heads, got 3");
}

TEST(layer_scheme, refuses_what_a_configuration_cannot_tell) {
  layer_description const buckets{.name = "x", .head_dim = 64, .buckets = bucket_bias{32, 128}};
  EXPECT_EQ(message_of([&] { layer_scheme(buckets, 1); }),
            "posenc: layer_scheme: T5 buckets need the model's weights; reset buckets, and put "
            "t5_bias after this in a scheme");
}

}  // namespace
