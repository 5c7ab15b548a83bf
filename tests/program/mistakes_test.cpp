#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../examples/program/verdict/attention_mistakes.cpp"
#include "../examples/program/verdict/effects.cpp"
#include "../examples/program/verdict/mistakes.cpp"
#include "../examples/program/verdict/verdict.cpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/model/hugging_face.hpp"

namespace of_mistakes {
namespace {

using namespace posenc;
using numbers = std::vector<double>;

/// A model of a family, with more keys: "rope_theta": 1e6.
model_description read(std::string const& type, std::string const& keys,
                       std::string const& head_dim = "64") {
  auto const text = R"({"model_type": ")" + type +
                    R"(", "num_hidden_layers": 4, "num_attention_heads": 8, "head_dim": )" +
                    head_dim + R"(,
                      "hidden_size": 512, "max_position_embeddings": 8192, )" +
                    keys + "}";
  return read_hugging_face(text, "config.json");
}

std::optional<verdicts::made_mistake> made(model_description const& model, std::size_t layer,
                                           std::string_view name) {
  auto const& known = verdicts::known_mistakes();
  auto const found = std::ranges::find(known, name, &verdicts::known_mistake::name);
  EXPECT_NE(found, known.end()) << name;
  return found->make(model, model.kind_of(layer));
}

numbers frequencies_of(std::optional<verdicts::made_mistake> const& made, std::size_t length = 1) {
  if (!made) return {};
  auto const f = made->wrong.rotary.at(0).frequencies.at(length);
  return {f.inv_freq().begin(), f.inv_freq().end()};
}

void expect_close(numbers const& found, numbers const& expected, std::string const& where) {
  ASSERT_EQ(found.size(), expected.size()) << where;
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-12 * expected[i]) << where << ", pair " << i;
}

/// The first `pairs` keep their frequency, the others rest.
numbers kept(numbers series, std::size_t pairs) {
  std::fill(series.begin() + static_cast<std::ptrdiff_t>(pairs), series.end(), 0.0);
  return series;
}

// ---- A part of the head

TEST(mistakes, that_ignore_the_part_of_a_head_are_found_beside_every_rule) {
  struct rule {
    std::string keys;
    numbers whole;  // of 64 dims
    std::size_t length = 1;
  };
  rule const rules[] = {
      {R"("rope_type": "default")", oracle::default_rule(64, 1e6)},
      {R"("rope_type": "linear", "factor": 4.0)",
       oracle::linear_rule(oracle::default_rule(64, 1e6), 4)},
      {R"("rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 1024,
          "beta_fast": 64.0)",
       oracle::yarn_rule(64, 1e6, 8, 1024, 64)},
      {R"("rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 1024)",
       oracle::llama3_rule(oracle::default_rule(64, 1e6), 8, 1, 4, 1024)},
      {R"("rope_type": "dynamic", "factor": 4.0)",
       oracle::dynamic_ntk_rule(64, 1e6, 4, 8192, 20'000), 20'000}};
  for (auto const& [keys, whole, length] : rules) {
    auto const model = read("phi", R"("rope_theta": 1000000.0, "partial_rotary_factor": 0.5,
                                      "rope_scaling": {)" +
                                       keys + "}");
    expect_close(frequencies_of(made(model, 0, "partial-ignored"), length), whole, keys);
    expect_close(frequencies_of(made(model, 0, "p-rope-for-partial"), length), kept(whole, 16),
                 keys);
    auto const all = read("phi", R"("rope_theta": 1000000.0, "partial_rotary_factor": 1.0,
                                    "rope_scaling": {)" +
                                     keys + "}");
    EXPECT_FALSE(made(all, 0, "partial-ignored")) << keys;
    EXPECT_FALSE(made(all, 0, "p-rope-for-partial")) << keys;
  }
}

TEST(mistakes, that_ignore_the_part_go_on_with_the_last_factor_of_longrope) {
  std::string factors = "1.5";
  numbers expected = oracle::default_rule(64, 1e4);
  for (std::size_t i = 1; i < 24; ++i) factors += ", " + std::to_string(i + 1) + ".5";
  for (std::size_t i = 0; i < 32; ++i)
    expected[i] /= static_cast<double>(std::min<std::size_t>(i, 23)) + 1.5;
  auto const model = read("phi3", R"("rope_theta": 10000.0, "partial_rotary_factor": 0.75,
      "original_max_position_embeddings": 4096, "sliding_window": null,
      "rope_scaling": {"type": "longrope", "short_factor": [)" +
                                      factors + R"(], "long_factor": [)" + factors + "]}");
  auto const wrong = made(model, 0, "partial-ignored");
  expect_close(frequencies_of(wrong), expected, "longrope");
  expect_close(frequencies_of(made(model, 0, "p-rope-for-partial")), kept(expected, 24), "p-RoPE");
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->wrong.rotary[0].frequencies.at(1).attention_factor(),
            model.kind_of(0).rotary[0].frequencies.at(1).attention_factor());
}

/// Laguna XS 2.1: YaRN on half of the dims of every fourth layer [speculators#649].
TEST(mistakes, of_laguna_are_named_in_its_layers) {
  auto const model = read("laguna", R"("num_key_value_heads": 8,
      "sliding_window": 512, "layer_types": ["full_attention", "sliding_attention",
                                             "sliding_attention", "sliding_attention"],
      "rope_parameters": {
        "full_attention": {"rope_theta": 500000.0, "rope_type": "yarn", "factor": 32.0,
          "original_max_position_embeddings": 8192, "beta_slow": 1.0, "beta_fast": 64.0,
          "attention_factor": 1.3465735902799727, "partial_rotary_factor": 0.5},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})");
  expect_close(frequencies_of(made(model, 0, "partial-ignored")),
               oracle::yarn_rule(64, 5e5, 32, 8192, 64), "Laguna");
  EXPECT_FALSE(made(model, 1, "partial-ignored"));
}

TEST(mistakes, of_p_rope_keep_its_factor) {
  auto const model = read("gemma4_text", R"("global_head_dim": 64,
      "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"],
      "rope_parameters": {"full_attention": {"rope_type": "proportional", "factor": 4.0,
          "rope_theta": 1000000.0, "partial_rotary_factor": 0.25}})");
  expect_close(frequencies_of(made(model, 0, "p-rope-ignored")),
               oracle::linear_rule(oracle::default_rule(64, 1e6), 4), "p-RoPE");
}

// ---- Scores and masks: who has room for a mistake, and who has none

std::set<std::string> named(model_description const& model) {
  std::set<std::string> names;
  for (auto const& one : verdicts::verdict_on(model).pitfalls) names.insert(one.name);
  return names;
}

/// A model with what a mistake is about, and one without it.
struct contrast {
  std::vector<std::string> mistakes;
  model_description with, without;
};

std::string const sliding_and_full = R"("sliding_window": 16, "layer_types": ["sliding_attention",
    "full_attention", "sliding_attention", "full_attention"])";

model_description gemma_4(std::string const& sees) {
  return read("gemma4_text", R"("global_head_dim": 64, "use_bidirectional_attention": )" + sees +
                                 R"(, "rope_parameters": {
      "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
      "full_attention": {"rope_type": "default", "rope_theta": 10000.0}}, )" +
                                 sliding_and_full);
}
model_description gemma_3(std::string const& more, bool has_images = true) {
  auto const text = R"({"model_type": "gemma3_text", "num_hidden_layers": 4, "head_dim": 64,
      "num_attention_heads": 8, "hidden_size": 512, "query_pre_attn_scalar": 64,
      "max_position_embeddings": 8192, )" +
                    more + sliding_and_full + "}";
  return read_hugging_face(
      has_images ? R"({"model_type": "gemma3", "text_config": )" + text + "}" : text,
      "config.json");
}
model_description llama() { return read("llama", R"("rope_theta": 10000.0)"); }
model_description images_beyond_windows() {
  auto model = gemma_3("");
  for (auto& kind : model.kinds) kind.both_ways = both_ways::image;
  return model;
}
model_description prompt_both_ways() {
  auto model = llama();
  model.kinds[0].both_ways = both_ways::prefix;
  return model;
}
model_description llama_4(std::string const& more) {
  return read("llama4_text", more + R"("attention_chunk_size": 64, "rope_theta": 10000.0)");
}

TEST(mistakes, of_scores_and_masks_are_named_where_a_model_has_room_for_them) {
  auto const gemma_2 = read("gemma2", R"("query_pre_attn_scalar": 64, "sliding_window": 16)");
  auto const mistral = read("mistral", R"("rope_theta": 10000.0, "sliding_window": 16)");
  auto const gpt_oss =
      read("gpt_oss", R"("rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}, )" +
                          sliding_and_full);
  contrast const all[] = {
      {{"cap-missing", "cap-after-mask"}, gemma_2, gemma_3("")},
      {{"groups-modulo"},
       read("llama", R"("rope_theta": 10000.0, "num_key_value_heads": 2)"),
       read("llama", R"("rope_theta": 10000.0, "num_key_value_heads": 8)")},
      {{"score-factor-missing"},
       read("granite", R"("attention_multiplier": 0.5, "rope_theta": 10000.0)"),
       read("granite", R"("attention_multiplier": 0.125, "rope_theta": 10000.0)")},
      {{"scale-of-padded-head"}, read("llama", R"("rope_theta": 10000.0)", "80"), llama()},
      {{"temperature-missing"},
       llama_4(R"("no_rope_layers": [1, 0, 1, 0], )"),
       llama_4(R"("no_rope_layers": [1, 0, 1, 0], "attn_temperature_tuning": false, )")},
      {{"sinks-missing", "sinks-with-values"}, gpt_oss, gemma_2},
      {{"window-missing", "window-one-larger", "window-one-smaller", "window-on-both-sides"},
       mistral,
       read("mistral", R"("rope_theta": 10000.0, "sliding_window": null)")},
      {{"window-in-all-layers", "masks-of-next-layers"}, gemma_2, mistral},
      {{"chunk-missing"}, llama_4(""), llama()},
      {{"causal-for-both", "window-doubled"},
       gemma_3(R"("use_bidirectional_attention": true, )", false),
       gemma_3("", false)},
      {{"both-ways-missing", "causal-missing", "images-beyond-window"}, gemma_3(""), mistral},
      {{"window-cuts-images"}, images_beyond_windows(), gemma_3("")},
      {{"both-ways-missing", "images-beyond-window", "images-in-all-layers"},
       gemma_4("\"vision\""),
       gemma_4("null")},
      {{"both-ways-missing", "causal-missing"}, prompt_both_ways(), llama()},
  };
  for (auto const& [mistakes, with, without] : all) {
    auto const found = named(with), other = named(without);
    for (auto const& name : mistakes) {
      EXPECT_TRUE(found.contains(name)) << with.type << ", " << name;
      EXPECT_FALSE(other.contains(name)) << without.type << ", " << name;
    }
  }
  EXPECT_TRUE(named(llama()).empty());
}

TEST(mistakes, of_sinks_in_all_layers_need_layers_without) {
  auto const mimo = read_hugging_face(
      R"({"model_type": "mimo_v2_flash", "num_hidden_layers": 2, "head_dim": 192,
          "swa_head_dim": 192, "v_head_dim": 128, "num_attention_heads": 8, "hidden_size": 512,
          "max_position_embeddings": 8192, "sliding_window": 128, "rope_theta": 5000000.0,
          "swa_rope_theta": 10000.0, "partial_rotary_factor": 0.334,
          "hybrid_layer_pattern": [0, 1], "add_swa_attention_sink_bias": true,
          "add_full_attention_sink_bias": false})",
      "config.json");
  ASSERT_TRUE(made(mimo, 0, "sinks-in-all-layers"));
  EXPECT_TRUE(made(mimo, 0, "sinks-in-all-layers")->wrong.sinks);
  EXPECT_FALSE(made(mimo, 1, "sinks-in-all-layers"));
  EXPECT_FALSE(made(mimo, 0, "sinks-missing"));
}

TEST(mistakes, of_latent_attention_divide_by_other_dims) {
  auto const model = read_hugging_face(
      R"({"model_type": "deepseek_v3", "num_hidden_layers": 1, "num_attention_heads": 8,
          "hidden_size": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
          "kv_lora_rank": 512, "q_lora_rank": 1536, "max_position_embeddings": 8192,
          "rope_theta": 10000.0})",
      "config.json");
  auto const other = made(model, 0, "scale-of-other-dims");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->says,
            "scores are divided by sqrt(128), the dims that do not rotate, where the head has 192 "
            "dims");
  EXPECT_NEAR(*verdicts::effects_of(model.kind_of(0), *other)[0].score, std::sqrt(192.0 / 128) - 1,
              1e-12);
  EXPECT_FALSE(made(llama(), 0, "scale-of-other-dims"));
}

TEST(mistakes, of_the_pattern_name_the_layers_whose_mask_is_wrong) {
  auto const model = read("gemma2", R"("query_pre_attn_scalar": 64, "sliding_window": 16,
      "layer_types": ["sliding_attention", "sliding_attention", "full_attention",
                      "full_attention"])");
  auto const sliding = made(model, 0, "masks-of-next-layers"),
             full = made(model, 2, "masks-of-next-layers");
  ASSERT_TRUE(sliding);
  EXPECT_EQ(sliding->wrong.layers, std::vector<std::size_t>{1});
  EXPECT_FALSE(sliding->wrong.window);
  EXPECT_FALSE(full);  // no layer comes after the last
  auto const pitfalls = verdicts::verdict_on(model).pitfalls;
  auto const found = std::ranges::find(pitfalls, "masks-of-next-layers", &verdicts::pitfall::name);
  ASSERT_NE(found, pitfalls.end());
  EXPECT_EQ(found->layers, std::vector<std::size_t>{1});
}

// ---- What they do

/// A layer by itself, without rotation.
layer_description plain_layer() {
  return {.name = "full_attention", .layers = {0}, .head_dim = 64};
}

std::optional<verdicts::made_mistake> made(layer_description const& layer, std::string_view name) {
  return made({.type = "llama", .layers = 1, .kinds = {layer}}, 0, name);
}

/// Whether a query sees a key of 1024 tokens, all of one image or of the prompt.
bool sees(layer_description const& layer, std::int64_t query, std::int64_t key) {
  auto const w = layer.window ? static_cast<std::int64_t>(*layer.window) : 5000;
  bool const is_near = query - key < w;
  bool const is_text = is_near &&
                       (!layer.ahead || key - query <= static_cast<std::int64_t>(*layer.ahead)) &&
                       (!layer.chunk || query / static_cast<std::int64_t>(*layer.chunk) ==
                                            key / static_cast<std::int64_t>(*layer.chunk));
  if (layer.both_ways == both_ways::none) return is_text;
  return is_text || layer.both_ways != both_ways::image_within_window || is_near;
}

double part_of_keys(layer_description const& right, layer_description const& wrong) {
  std::int64_t either = 0, other = 0;
  for (std::int64_t q = 0; q < 1024; ++q)
    for (std::int64_t k = 0; k < 1024; ++k) {
      bool const a = sees(right, q, k), b = sees(wrong, q, k);
      either += a || b, other += a != b;
    }
  return static_cast<double>(other) / static_cast<double>(either);
}

TEST(effects, of_masks_are_the_part_of_keys_that_are_wrong_or_missing) {
  auto windowed = plain_layer(), two_sides = plain_layer(), chunked = plain_layer(),
       encoder = plain_layer(), image = plain_layer(), cut = plain_layer(), prompt = plain_layer();
  windowed.window = 100;
  two_sides.window = 33, two_sides.ahead = 32;
  chunked.chunk = 100;
  encoder.ahead.reset();
  image.window = 100, image.both_ways = both_ways::image;
  cut.window = 100, cut.both_ways = both_ways::image_within_window;
  prompt.both_ways = both_ways::prefix;
  auto capped = windowed;
  capped.score_cap = 50;
  std::pair<layer_description, char const*> const cases[] = {
      {windowed, "window-missing"},      {windowed, "window-one-larger"},
      {windowed, "window-one-smaller"},  {windowed, "window-on-both-sides"},
      {two_sides, "window-missing"},     {two_sides, "window-one-larger"},
      {two_sides, "window-one-smaller"}, {two_sides, "window-doubled"},
      {two_sides, "causal-for-both"},    {encoder, "causal-for-both"},
      {chunked, "chunk-missing"},        {image, "both-ways-missing"},
      {image, "window-cuts-images"},     {image, "causal-missing"},
      {cut, "images-beyond-window"},     {cut, "both-ways-missing"},
      {prompt, "both-ways-missing"},     {prompt, "causal-missing"},
      {capped, "cap-after-mask"}};
  for (auto const& [layer, name] : cases) {
    auto const wrong = made(layer, name);
    ASSERT_TRUE(wrong) << name;
    auto const found = verdicts::effects_of(layer, *wrong)[0];
    ASSERT_TRUE(found.keys) << name;
    EXPECT_EQ(found.tokens, 1024u);
    EXPECT_NEAR(*found.keys, part_of_keys(layer, wrong->wrong), 1e-12) << name;
    EXPECT_FALSE(found.score || found.radians) << name;
  }
}

TEST(effects, of_images_are_those_of_their_own_queries) {
  auto image = plain_layer();
  image.both_ways = both_ways::image;
  auto const at = verdicts::effects_of(image, *made(image, "both-ways-missing"));
  EXPECT_NEAR(*at[1].keys, 1119 / 2.0 / 32'768, 1e-12);  // 1120 queries miss 559.5 on average
  auto prompt = plain_layer();
  prompt.both_ways = both_ways::prefix;
  EXPECT_NEAR(*verdicts::effects_of(prompt, *made(prompt, "both-ways-missing"))[2].keys,
              1119 / 2.0 / 1120, 1e-12);
}

TEST(effects, of_sinks_are_one_key_of_those_that_the_last_query_sees) {
  auto layer = plain_layer();
  layer.sinks = true;
  EXPECT_EQ(verdicts::effects_of(layer, *made(layer, "sinks-missing"))[0].keys, 1.0 / 1025);
  layer.window = 128;
  EXPECT_EQ(verdicts::effects_of(layer, *made(layer, "sinks-missing"))[2].keys, 1.0 / 129);
  layer.pooled = 128;  // and one key for each 128 tokens
  EXPECT_EQ(verdicts::effects_of(layer, *made(layer, "sinks-with-values"))[0].keys, 1.0 / 137);
}

TEST(effects, of_factors_are_those_of_scores) {
  auto layer = plain_layer();
  layer.head_dim = 96;
  auto const padded = made(layer, "scale-of-padded-head");
  ASSERT_TRUE(padded);
  EXPECT_EQ(padded->says,
            "scores are divided by sqrt(128), to which a kernel pads, where the head has 96 dims");
  EXPECT_NEAR(*verdicts::effects_of(layer, *padded)[0].score, 1 - std::sqrt(96.0 / 128), 1e-12);
  layer.softmax_factor = std::sqrt(96.0);  // scores are not divided
  EXPECT_FALSE(made(layer, "scale-of-padded-head"));
  EXPECT_NEAR(*verdicts::effects_of(layer, *made(layer, "score-factor-missing"))[0].score,
              1 - 1 / std::sqrt(96.0), 1e-12);
  layer.temperature = position_temperature{0.1, 8192, 1};
  auto const at = verdicts::effects_of(layer, *made(layer, "temperature-missing"));
  EXPECT_EQ(at[0].score, 0.0);
  EXPECT_NEAR(*at[2].score, 1 - 1 / (1 + 0.1 * std::log(17.0)), 1e-12);  // 131,072 / 8192 = 16
}

TEST(effects, of_groups_are_those_of_the_heads_that_read_other_keys) {
  auto layer = plain_layer();
  layer.heads = 8, layer.key_heads = 2;
  auto const wrong = made(layer, "groups-modulo");
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->says, "head h reads the keys of head h % 2, not of h / 4");
  // 0 1 0 1 0 1 0 1 in place of 0 0 0 0 1 1 1 1: half of them, each as if by another key.
  EXPECT_NEAR(*verdicts::effects_of(layer, *wrong)[0].score, 1, 1e-12);
  for (auto const keys : {0u, 1u, 3u, 8u}) {  // not known, one for all, no groups, its own
    layer.key_heads = keys;
    EXPECT_FALSE(made(layer, "groups-modulo")) << keys;
  }
}

TEST(mistakes, of_windows_and_caps_are_what_they_say) {
  auto layer = plain_layer();
  layer.window = 65, layer.ahead = 64;
  auto const doubled = made(layer, "window-doubled");
  ASSERT_TRUE(doubled);
  EXPECT_EQ(doubled->says, "the window has 128 tokens to either side, not 64");
  EXPECT_EQ(doubled->wrong.window, std::size_t{129});
  EXPECT_EQ(doubled->wrong.ahead, std::size_t{128});
  EXPECT_EQ(made(layer, "window-missing")->says,
            "no window, where it is of 64 tokens to either side");
  layer.score_cap = 30;
  auto const capped = made(layer, "cap-after-mask");
  ASSERT_TRUE(capped);
  EXPECT_EQ(capped->says,
            "the cap comes after the mask: a masked key has a score of -30, and is seen");
  EXPECT_FALSE(capped->wrong.window || capped->wrong.ahead || capped->wrong.chunk);
}

TEST(effects, of_a_cap_are_those_of_gaussian_scores) {
  auto layer = plain_layer();
  layer.score_cap = 50;
  auto const missing = made(layer, "cap-missing");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->says, "no cap: a score of 50 stays, where it becomes 38.0797");
  // x - c tanh(x / c) = x^3 / 3 c^2 - ..., and the mean of x^6 is 15.
  EXPECT_NEAR(*verdicts::effects_of(layer, *missing)[0].score, std::sqrt(15) / 3 / 2500, 2e-6);
}

}  // namespace
}  // namespace of_mistakes
