#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "../examples/verdict/effects.cpp"
#include "../examples/verdict/mistakes.cpp"
#include "../examples/verdict/verdict.cpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/model/hugging_face.hpp"

namespace of_mistakes {
namespace {

using namespace posenc;
using numbers = std::vector<double>;

/// A model of a family, with more keys: "rope_theta": 1e6.
model_description read(std::string const& type, std::string const& keys) {
  auto const text = R"({"model_type": ")" + type +
                    R"(", "num_hidden_layers": 4, "head_dim": 64, "num_attention_heads": 8,
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

}  // namespace
}  // namespace of_mistakes
