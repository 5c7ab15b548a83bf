#include "../examples/program/verdict/agreement.cpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "model/gguf/models.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"

namespace of_agreement {
namespace {

using namespace posenc;

std::vector<verdicts::pitfall> differences(model_description const& config,
                                           model_description const& gguf) {
  return comparing::disagreement({"config.json", config}, {"model.gguf", gguf}).pitfalls;
}

model_description read(gguf_writer const& file) {
  std::istringstream in(file.str());
  return read_gguf(in, "model.gguf");
}

TEST(agreement, of_published_models_is_all_but_the_ramp_of_gpt_oss) {
  auto const models = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() /
                      "examples/models";
  for (auto const& model : gguf_models::all) {
    auto const config = read_hugging_face(models / (std::string(model.name) + ".json"));
    auto const found = differences(config, read(model.file()));
    if (model.name != "gpt-oss-20b") {
      EXPECT_TRUE(found.empty()) << model.name << ", " << found.front().says;
      continue;
    }
    ASSERT_EQ(found.size(), 2u);  // windows and full layers
    EXPECT_EQ(found[0].says, "truncate is false in config.json; llama.cpp uses true");
    EXPECT_EQ(found[1].says, found[0].says);
  }
}

/// ikawrakow/ik_llama.cpp#2003: llama.cpp computes with a beta of 32, whatever the file has.
TEST(agreement, of_laguna_names_the_key_that_is_not_read) {
  auto const config = read_hugging_face(
      R"({"model_type": "laguna", "num_hidden_layers": 4, "head_dim": 128, "hidden_size": 2048,
          "num_attention_heads": 48, "sliding_window": 512, "max_position_embeddings": 262144,
          "layer_types": ["full_attention", "sliding_attention", "sliding_attention",
                          "sliding_attention"],
          "rope_parameters": {
            "full_attention": {"rope_theta": 500000.0, "rope_type": "yarn", "factor": 32.0,
              "original_max_position_embeddings": 8192, "beta_slow": 1.0, "beta_fast": 64.0,
              "attention_factor": 1.3465735902799727, "partial_rotary_factor": 0.5},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})",
      "config.json");
  auto file = gguf_models::common("laguna", {4, 262'144, 2048, 48, 8});
  file.set("laguna.attention.key_length", std::uint32_t{128})
      .set("laguna.attention.sliding_window", std::uint32_t{512})
      .set("laguna.rope.dimension_count", std::uint32_t{64})
      .set("laguna.rope.dimension_count_swa", std::uint32_t{128})
      .set("laguna.rope.freq_base", 500'000.0f)
      .set("laguna.rope.freq_base_swa", 10'000.0f)
      .set("laguna.rope.scaling.factor", 32.0f)
      .set("laguna.rope.scaling.original_context_length", std::uint32_t{8192})
      .set("laguna.rope.scaling.yarn_beta_fast", 64.0f);
  file.set("laguna.rope.scaling.type", "yarn");
  auto const found = differences(config, read(file));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "beta_fast");
  EXPECT_EQ(found[0].says,
            "beta_fast is 64 in config.json; llama.cpp uses 32, and does not read "
            "laguna.rope.scaling.yarn_beta_fast, 64");
  EXPECT_EQ(found[0].layers, std::vector<std::size_t>{0});
  auto const right = oracle::yarn_rule(64, 5e5, 32, 8192, 64),
             wrong = oracle::yarn_rule(64, 5e5, 32, 8192, 32);
  double angle = 0;
  for (std::size_t i = 0; i < 32; ++i)
    angle = std::max(angle, 1023 * std::abs(right[i] - wrong[i]));
  ASSERT_EQ(found[0].effects.size(), 3u);
  EXPECT_NEAR(found[0].effects[0].radians.value_or(0), angle, 1e-9);
}

// ---- A layer, and the same after a change

model_description model(layer_description layer) {
  layer.layers = {0};
  return {.type = "llama", .layers = 1, .context = 8192, .kinds = {std::move(layer)}};
}
layer_description layer() {
  return {.name = "full_attention",
          .head_dim = 64,
          .rotary = {{.rule = "default",
                      .frequencies = geometric(64, 1e4),
                      .layout = halves(),
                      .parameters = {{"rope_theta", "10000.0"}}}}};
}

std::vector<verdicts::pitfall> after(auto const& change,
                                     layer_description const& before = layer()) {
  auto changed = before;
  change(changed);
  return differences(model(before), model(changed));
}
std::string says(auto const& change, layer_description const& before = layer()) {
  auto const found = after(change, before);
  std::string text;
  for (auto const& one : found) text += (text.empty() ? "" : " | ") + one.says;
  return text;
}

TEST(agreement, is_not_lost_by_what_the_format_makes_different) {
  EXPECT_EQ(says([](auto&) {}), "");
  EXPECT_EQ(says([](auto& x) { x.rotary[0].layout = interleaved(); }), "");
  EXPECT_EQ(says([](auto& x) { x.name = "attention", x.softmax_factor = 1 + 0x1p-25; }), "");
  EXPECT_EQ(says([](auto& x) {
              x.rotary[0].rule = "llama3", x.rotary[0].has_pair_factors = true;
              x.rotary[0].parameters = {{"rope_theta", "10000"}, {"rope_freqs.weight", "true"}};
            }),
            "");
  auto before = layer();
  before.both_ways = both_ways::image;
  before.temperature = position_temperature{0.1, 8192, 1};
  before.score_cap = 0.1, before.alibi = alibi_bias{4, 0.1};
  EXPECT_EQ(says(
                [](auto& x) {
                  x.both_ways = both_ways::none;
                  x.temperature->scale = 0.1f, x.score_cap = 0.1f, x.alibi->max_bias = 0.1f;
                },
                before),
            "");
  std::vector<double> rest{1, 0.1, 0};
  before.rotary[0].frequencies = frequencies(rest);
  rest[2] = 1e-32;  // a factor of 1e30 in rope_freqs
  EXPECT_EQ(says([&](auto& x) { x.rotary[0].frequencies = frequencies(rest); }, before), "");
}

TEST(agreement, is_lost_by_each_setting_in_a_sentence) {
  EXPECT_EQ(says([](auto& x) { x.window = 512; }),
            "window is absent in config.json; llama.cpp uses 512");
  auto windowed = layer();
  windowed.window = 512;
  EXPECT_EQ(says([](auto& x) { x.window.reset(); }, windowed),
            "window is 512 in config.json; llama.cpp uses none");
  EXPECT_EQ(says([](auto& x) { x.ahead.reset(); }),
            "ahead is 0 in config.json; llama.cpp uses all");
  EXPECT_EQ(says([](auto& x) { x.softmax_factor = 1 + 1e-5; }),
            "softmax_factor is 1 in config.json; llama.cpp uses 1.00001");
  EXPECT_EQ(says([](auto& x) { x.score_cap = 30; }),
            "score_cap is absent in config.json; llama.cpp uses 30");
  EXPECT_EQ(says([](auto& x) { x.sinks = true; }),
            "sinks is false in config.json; llama.cpp uses true");
  EXPECT_EQ(says([](auto& x) { x.head_dim = 128; }),
            "head_dim is 64 in config.json; llama.cpp uses 128");
  auto other = layer();
  other.rotary[0].layout = interleaved();
  EXPECT_EQ(says([](auto& x) { x.rotary[0].layout = halves(); }, other),
            "layout is interleaved in config.json; llama.cpp uses halves");
  // A frequency that follows from a key is not told, one without a key is.
  auto const base = [](auto& x) {
    x.rotary[0].frequencies = geometric(64, 1e6);
    x.rotary[0].parameters[0].value = "1e6";
  };
  EXPECT_EQ(says(base), "rope_theta is 10000 in config.json; llama.cpp uses 1000000");
  EXPECT_EQ(says([](auto& x) { x.rotary[0].frequencies = geometric(64, 1e6); }),
            "inv_freq of pair 31 is 0.000133352 in config.json; llama.cpp uses 1.53993e-06");
  auto listed = layer();
  listed.rotary[0].parameters.push_back({"short_factor", "[1.0, 1.5]"});
  EXPECT_EQ(says(
                [&](auto& x) {
                  x.rotary[0].frequencies = geometric(64, 1e6);
                  x.rotary[0].parameters[1].value = "[1, 1.75]";
                },
                listed),
            "short_factor is a list of 2 in config.json; llama.cpp uses a list of 2");
}

TEST(agreement, tells_what_each_difference_does) {
  auto const first = [](auto const& change) { return after(change).at(0).effects; };
  EXPECT_NEAR(*first([](auto& x) { x.window = 512; })[1].keys, 0.969, 1e-3);
  EXPECT_NEAR(*first([](auto& x) { x.softmax_factor = 2; })[0].score, 1, 1e-12);
  EXPECT_NEAR(*first([](auto& x) { x.score_cap = 50; })[0].score, std::sqrt(15) / 3 / 2500, 2e-6);
  EXPECT_EQ(first([](auto& x) { x.sinks = true; })[0].keys, 1.0 / 1025);
  EXPECT_GT(*first([](auto& x) { x.rotary[0].frequencies = geometric(64, 1e6); })[0].radians, 1);
  // The window of another layer does not turn angles; ALiBi and head_dim have no number.
  EXPECT_FALSE(first([](auto& x) { x.window = 512; })[1].radians);
  EXPECT_TRUE(first([](auto& x) { x.head_dim = 128; }).empty());
  EXPECT_TRUE(first([](auto& x) { x.alibi = alibi_bias{8, 8}; }).empty());
}

TEST(agreement, is_told_kind_by_kind_and_of_the_model) {
  auto sliding = layer();
  sliding.name = "sliding_attention", sliding.layers = {0, 2}, sliding.window = 512;
  auto full = layer();
  full.layers = {1, 3};
  model_description const config{
      .type = "a", .layers = 4, .context = 8192, .kinds = {sliding, full}};
  auto gguf = config;
  gguf.type = "b", gguf.context = 4096;
  gguf.kinds[0].window = 256, gguf.kinds[1].softmax_factor = 2;
  auto const found = differences(config, gguf);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].says, "context is 8192 in config.json; llama.cpp uses 4096");
  EXPECT_EQ(found[1].name, "window");
  EXPECT_EQ(found[1].kinds, std::vector<std::string>{"sliding_attention"});
  EXPECT_EQ(found[1].layers, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(found[2].name, "softmax_factor");
  EXPECT_EQ(found[2].layers, (std::vector<std::size_t>{1, 3}));
}

}  // namespace
}  // namespace of_agreement
