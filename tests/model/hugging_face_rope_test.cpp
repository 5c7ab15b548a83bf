#include "posenc/model/hugging_face_rope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "oracle/frequency_rules.hpp"
#include "posenc/model/hugging_face.hpp"
#include "rejects.hpp"

namespace {
namespace of_hugging_face_rope {

using namespace posenc;
using nlohmann::json;

std::vector<double> inv_freq(frequencies const& f) {
  return {f.inv_freq().begin(), f.inv_freq().end()};
}
std::string refusal(std::string const& text, rope_surroundings const& around = {.head_dim = 64}) {
  return message_of([&] { read_rope_parameters(text, "rope", around); });
}

TEST(hugging_face_rope, reads_an_object_alone) {
  auto const llama3 = R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})";
  auto const read = read_rope_parameters(llama3, "rope", {.head_dim = 128, .base = 5e5});
  EXPECT_EQ(read.rotary.rule, "llama3");
  auto const expected = oracle::llama3_rule(oracle::default_rule(128, 5e5), 8, 1, 4, 8192);
  auto const actual = inv_freq(read.rotary.frequencies.at(1));
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12 * expected[i]);
  ASSERT_EQ(read.read.size(), 5u);
  EXPECT_EQ(read.read[0], (model_setting{"factor", "8.0"}));
  EXPECT_TRUE(read.assumptions.empty());
  EXPECT_EQ(
      inv_freq(read_rope_parameters(json::parse(llama3), "rope", {.head_dim = 128, .base = 5e5})
                   .rotary.frequencies.at(1)),
      actual);
  EXPECT_EQ(inv_freq(read_rope_parameters("{}", "rope", {.head_dim = 64}).rotary.frequencies.at(1)),
            oracle::default_rule(64, 1e4));
  EXPECT_EQ(inv_freq(read_rope_parameters(R"({"rope_theta": 5e5, "partial_rotary_factor": 0.5})",
                                          "rope", {.head_dim = 64, .base = 7})
                         .rotary.frequencies.at(1)),
            oracle::default_rule(32, 5e5));
}

TEST(hugging_face_rope, takes_contexts_from_around) {
  auto const read = read_rope_parameters(
      R"({"type": "yarn"})", "rope", {.head_dim = 64, .context = 8192, .original_context = 2048});
  EXPECT_EQ(read.assumed, (std::vector<model_setting>{{"factor", "4"}}));
  auto const plain = read_rope_parameters(
      "{}", "rope", {.head_dim = 64, .context = 8192, .original_context = 2048});
  EXPECT_EQ(plain.rotary.rule, "default") << "what is around may go unread";
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
  EXPECT_NEAR(read.softmax_factor, g * g, 1e-14);
  EXPECT_EQ(read.rotary.frequencies.at(1).attention_factor(), 1);
  auto const warm = read_rope_parameters(
      R"({"type": "yarn", "factor": 16, "original_max_position_embeddings": 16384,
          "llama_4_scaling_beta": 0.1})",
      "rope", {.head_dim = 64});
  EXPECT_EQ(warm.temperature->scale, 0.1);
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

/// What rope_parameters_json writes of a kind of layers says the same when it is read.
void expect_round_trip(layer_description const& kind, std::optional<std::size_t> context,
                       std::string const& what) {
  auto const& rotary = kind.rotary.at(0);
  auto const written = rope_parameters_json(rotary, kind.head_dim, kind.temperature);
  SCOPED_TRACE(what + ", " + kind.name + ": " + written.dump());
  auto const again = read_rope_parameters(
      written, "rope", {.head_dim = kind.head_dim, .base = -1, .context = context});
  EXPECT_EQ(again.rotary.rule, rotary.rule);
  EXPECT_TRUE(again.assumptions.empty());
  EXPECT_EQ(again.rotary.axes, rotary.axes);
  EXPECT_EQ(again.rotary.parameters, rotary.parameters);
  EXPECT_EQ(again.temperature.has_value(), kind.temperature && kind.temperature->offset == 0);
  for (std::size_t const length : {std::size_t{1}, std::size_t{1} << 22}) {
    auto const f = rotary.frequencies.at(length), g = again.rotary.frequencies.at(length);
    EXPECT_EQ(inv_freq(f), inv_freq(g));
    EXPECT_EQ(f.attention_factor(), g.attention_factor());
  }
}

TEST(hugging_face_rope, writes_what_it_understood_of_every_shipped_model) {
  auto const tests = std::filesystem::path(__FILE__).parent_path().parent_path();
  std::size_t kinds = 0;
  for (auto const& file : std::filesystem::directory_iterator(tests.parent_path() / "examples" /
                                                              "inspect_model" / "models")) {
    auto const model = read_hugging_face(file.path());
    for (auto const& kind : model.kinds) {
      if (kind.rotary.size() != 1) continue;
      expect_round_trip(kind, model.context, file.path().filename().string());
      ++kinds;
    }
  }
  EXPECT_GT(kinds, 30u);
}

TEST(hugging_face_rope, writes_each_rule) {
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
    auto read = read_rope_parameters(rule, "rope", around);
    layer_description kind{.name = "full_attention", .head_dim = 16};
    kind.rotary.push_back(read.rotary);
    expect_round_trip(kind, 4096, rule);
  }
}

TEST(hugging_face_rope, writes_three_sections_for_two_axes) {
  auto const read = read_rope_parameters(R"({"rope_type": "default", "mrope_section": [4, 4]})",
                                         "rope", {.head_dim = 16});
  EXPECT_EQ(rope_parameters_json(read.rotary, 16)["mrope_section"], json({4, 4, 0}));
}

TEST(hugging_face_rope, writes_a_part_that_gives_the_same_dims) {
  for (std::size_t head_dim = 2; head_dim <= 300; head_dim += 2) {
    for (std::size_t dims = 2; dims <= head_dim; dims += 2) {
      auto const part = detail::part_of(head_dim, dims);
      EXPECT_EQ(static_cast<std::size_t>(static_cast<double>(head_dim) * part), dims);
      EXPECT_LE(part, 1);
    }
  }
}

TEST(hugging_face_rope, does_not_write_what_has_no_words_there) {
  rotary_description by_hand{
      .rule = "default", .frequencies = geometric(8, 1e4), .layout = halves()};
  EXPECT_EQ(message_of([&] { rope_parameters_json(by_hand, 8); }),
            "posenc: rope_parameters_json: the rotation must be one that a model's settings gave");
  auto read = read_rope_parameters("{}", "rope", {.head_dim = 8});
  read.rotary.axes = pair_axes({1, 0, 1, 0});
  EXPECT_EQ(message_of([&] { rope_parameters_json(read.rotary, 8); }),
            "posenc: rope_parameters_json: axes must be in sections or alternate");
}

TEST(hugging_face_rope, config_json_may_be_parsed_already) {
  json const config{{"model_type", "llama"}, {"num_hidden_layers", 2}, {"head_dim", 64}};
  EXPECT_EQ(read_hugging_face(config, "config.json").layers, 2u);
  EXPECT_EQ(message_of([] { read_hugging_face(json::array(), "config.json"); }),
            "posenc: config.json: must be a JSON object, got a list of 0");
}

}  // namespace of_hugging_face_rope
}  // namespace
