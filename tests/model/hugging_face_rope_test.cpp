#include "posenc/model/hugging_face.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "model/rope_writer.hpp"
#include "oracle/frequency_rules.hpp"
#include "rejects.hpp"

namespace {
namespace of_hugging_face_rope {

using namespace posenc;
using nlohmann::json;
using rope_writer::rope_parameters_json;

rotary_description const& rotary_of(model_description const& model) {
  return model.kinds.at(0).rotary.at(0);
}

std::vector<double> inv_freq(frequencies const& f) {
  return {f.inv_freq().begin(), f.inv_freq().end()};
}
std::string refusal(std::string const& text, rope_surroundings const& around = {.head_dim = 64}) {
  return message_of([&] { read_rope_parameters(text, "rope", around); });
}

TEST(hugging_face_rope, reads_an_object_alone) {
  std::string const llama3 = R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})";
  auto const read = read_rope_parameters(llama3, "rope", {.head_dim = 128, .base = 5e5});
  EXPECT_EQ(rotary_of(read).rule, "llama3");
  auto const expected = oracle::llama3_rule(oracle::default_rule(128, 5e5), 8, 1, 4, 8192);
  auto const actual = inv_freq(rotary_of(read).frequencies.at(1));
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12 * expected[i]);
  ASSERT_EQ(read.read.size(), 5u);
  EXPECT_EQ(read.read[0], (model_setting{"rope_parameters.factor", "8.0"}));
  EXPECT_TRUE(read.assumptions.empty());
  EXPECT_EQ(inv_freq(rotary_of(read_rope_parameters(json::parse(llama3), "rope",
                                                    {.head_dim = 128, .base = 5e5}))
                         .frequencies.at(1)),
            actual);
  EXPECT_EQ(
      inv_freq(rotary_of(read_rope_parameters("{}", "rope", {.head_dim = 64})).frequencies.at(1)),
      oracle::default_rule(64, 1e4));
  EXPECT_EQ(inv_freq(rotary_of(read_rope_parameters(R"({"rope_theta": null})", "rope",
                                                    {.head_dim = 64, .base = 5e5}))
                         .frequencies.at(1)),
            oracle::default_rule(64, 5e5));
  EXPECT_EQ(inv_freq(rotary_of(read_rope_parameters(
                                   R"({"rope_theta": 5e5, "partial_rotary_factor": 0.5})", "rope",
                                   {.head_dim = 64, .base = 7}))
                         .frequencies.at(1)),
            oracle::default_rule(32, 5e5));
}

TEST(hugging_face_rope, takes_contexts_from_around) {
  auto const read = read_rope_parameters(
      R"({"type": "yarn"})", "rope", {.head_dim = 64, .context = 8192, .original_context = 2048});
  EXPECT_EQ(read.assumed, (std::vector<model_setting>{{"rope_parameters.factor", "4"}}));
  auto const plain = read_rope_parameters(
      "{}", "rope", {.head_dim = 64, .context = 8192, .original_context = 2048});
  EXPECT_EQ(rotary_of(plain).rule, "default") << "what is around may go unread";
  EXPECT_NE(
      refusal(R"({"original_max_position_embeddings": 2048})", {.head_dim = 64, .context = 8192}),
      "");
  EXPECT_NE(refusal(R"({"type": "yarn"})"), "");
}

TEST(hugging_face_rope, has_what_acts_on_scores) {
  auto const read = read_rope_parameters(
      R"({"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "mscale": 1.0,
          "mscale_all_dim": 1.0})",
      "rope", {.head_dim = 64});
  auto const g = 0.1 * std::log(40.0) + 1;
  EXPECT_NEAR(read.kinds[0].softmax_factor, g * g, 1e-14);
  EXPECT_EQ(rotary_of(read).frequencies.at(1).attention_factor(), 1);
  auto const warm = read_rope_parameters(
      R"({"type": "yarn", "factor": 16, "original_max_position_embeddings": 16384,
          "llama_4_scaling_beta": 0.1})",
      "rope", {.head_dim = 64});
  EXPECT_EQ(warm.kinds[0].temperature->scale, 0.1);
}

TEST(hugging_face_rope, refuses_what_it_does_not_know) {
  EXPECT_EQ(refusal("[1]"), "posenc: rope: must be a JSON object, got a list of 1");
  EXPECT_EQ(message_of([] { read_rope_parameters(json(3), "rope", {.head_dim = 64}); }),
            "posenc: rope: must be a JSON object, got 3");
  EXPECT_EQ(refusal(R"({"type": "novel"})").find("posenc: rope: rope_parameters: type must be one"),
            0u);
  EXPECT_EQ(refusal(R"({"type": "linear", "factor": 2, "x": 3})"),
            "posenc: rope: rope_parameters: x must be a key that is read: its name says that it "
            "acts on positions, scores or the mask, got 3");
  EXPECT_NE(refusal("{}", {.head_dim = 0}), "");
}

/// What is written of the parameters of a kind of layers says the same when it is read.
void expect_round_trip(layer_description const& kind, std::optional<std::size_t> context,
                       std::string const& what) {
  auto const& rotary = kind.rotary.at(0);
  auto const written = rope_parameters_json(rotary, kind.head_dim, kind.temperature);
  SCOPED_TRACE(what + ", " + kind.name + ": " + written.dump());
  auto const again = read_rope_parameters(
      written, "rope", {.head_dim = kind.head_dim, .base = -1, .context = context});
  EXPECT_TRUE(again.assumptions.empty());
  auto const& rotary_again = rotary_of(again);
  EXPECT_EQ(rotary_again.rule, rotary.rule);
  EXPECT_EQ(rotary_again.axes, rotary.axes);
  EXPECT_EQ(rotary_again.parameters, rotary.parameters);
  EXPECT_EQ(again.kinds[0].temperature.has_value(),
            kind.temperature && kind.temperature->offset == 0);
  for (std::size_t const length : {std::size_t{1}, std::size_t{1} << 22}) {
    auto const f = rotary.frequencies.at(length), g = rotary_again.frequencies.at(length);
    EXPECT_EQ(inv_freq(f), inv_freq(g));
    EXPECT_EQ(f.attention_factor(), g.attention_factor());
  }
}

TEST(hugging_face_rope, has_parameters_that_say_the_same_of_every_shipped_model) {
  auto const tests = std::filesystem::path(__FILE__).parent_path().parent_path();
  std::size_t kinds = 0;
  for (auto const& file : std::filesystem::directory_iterator(tests.parent_path() / "examples" /
                                                              "models")) {
    auto const model = read_hugging_face(file.path());
    for (auto const& kind : model.kinds) {
      if (kind.rotary.size() != 1) continue;
      expect_round_trip(kind, model.context, file.path().filename().string());
      ++kinds;
    }
  }
  EXPECT_GT(kinds, 30u);
}

TEST(hugging_face_rope, has_parameters_that_say_the_same_of_each_rule) {
  for (std::string const rule :
       {R"({"rope_type": "linear", "factor": 3})", R"({"rope_type": "dynamic", "factor": 2})",
        R"({"rope_type": "dynamic", "alpha": 1000})",
        R"({"rope_type": "yarn", "factor": 4, "beta_fast": 16, "truncate": false,
            "attention_factor": 1.25})",
        R"({"rope_type": "longrope", "short_factor": [1, 2, 3, 4, 5, 6, 7, 8],
            "long_factor": [3, 4.5, 5, 6, 7, 8, 9, 10],
            "factor": 4, "short_mscale": 1.1, "long_mscale": 1.2,
            "original_max_position_embeddings": 1024, "rope_theta": 123.456})",
        R"({"rope_type": "proportional", "partial_rotary_factor": 0.25, "factor": 2})",
        R"({"rope_type": "default", "mrope_section": [4, 4]})",
        R"({"rope_type": "yarn", "factor": 4, "mrope_section": [4, 2, 2]})",
        R"({"rope_type": "video_rope", "mrope_section": [2, 3, 3]})",
        R"({"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": true})"}) {
    rope_surroundings const around{.head_dim = 16, .base = 5e5, .context = 4096};
    expect_round_trip(read_rope_parameters(rule, "rope", around).kinds[0], 4096, rule);
  }
}

TEST(hugging_face_rope, config_json_may_be_parsed_already) {
  json const config{{"model_type", "llama"}, {"num_hidden_layers", 2}, {"head_dim", 64}};
  EXPECT_EQ(read_hugging_face(config, "config.json").layers, 2u);
  EXPECT_EQ(message_of([] { read_hugging_face(json::array(), "config.json"); }),
            "posenc: config.json: must be a JSON object, got a list of 0");
}

}  // namespace of_hugging_face_rope
}  // namespace
