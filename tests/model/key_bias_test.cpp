// Which models have keys with a bias that can be stored without it.
#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "model/gguf/encoded.hpp"
#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"
#include "rejects.hpp"

namespace {
namespace of_key_biases {

using namespace posenc;
using nlohmann::json;

enum class answer { unknown, no, yes };
answer of(std::optional<bool> given) {
  return !given ? answer::unknown : *given ? answer::yes : answer::no;
}
void PrintTo(answer x, std::ostream* out) {
  constexpr char const* names[]{"unknown", "no", "yes"};
  *out << names[static_cast<std::size_t>(x)];
}

struct expected {
  std::string settings;
  answer has_bias, is_separable;
};

model_description of_config(std::string const& settings) {
  json config{{"num_hidden_layers", 4},
              {"num_attention_heads", 4},
              {"num_key_value_heads", 2},
              {"hidden_size", 256},
              {"rope_theta", 1e4}};
  config.update(json::parse(settings));
  return read_hugging_face(config.dump(), "config.json");
}

// Of transformers' classes: Qwen 2 has it always, Qwen 3 has a norm behind it, GLM-4.5 by its keys,
// GPT-NeoX in one projection, Llama where the file says so.
TEST(key_bias_is_separable, says_what_the_class_of_a_config_does) {
  using enum answer;
  for (auto const& [settings, has_bias, is_separable] : {
           expected{R"({"model_type": "qwen2"})", yes, yes},
           {R"({"model_type": "qwen2", "attention_bias": false})", yes, yes},
           {R"({"model_type": "qwen2_moe"})", yes, yes},
           {R"({"model_type": "qwen2_moe", "qkv_bias": false})", no, no},
           {R"({"model_type": "glm4_moe", "attention_bias": true})", yes, yes},
           {R"({"model_type": "glm4_moe", "attention_bias": true, "use_qk_norm": true})", yes, no},
           {R"({"model_type": "glm4_moe"})", no, no},
           {R"({"model_type": "llama"})", no, no},
           {R"({"model_type": "llama", "attention_bias": true})", yes, yes},
           {R"({"model_type": "qwen3", "attention_bias": true})", yes, no},
           {R"({"model_type": "hunyuan_v1_dense", "attention_bias": true})", yes, no},
           {R"({"model_type": "olmo2", "attention_bias": true})", yes, no},
           {R"({"model_type": "olmo", "attention_bias": true})", yes, yes},
           {R"({"model_type": "olmo", "attention_bias": true, "clip_qkv": null})", yes, yes},
           {R"({"model_type": "olmo", "attention_bias": true, "clip_qkv": 8.0})", yes, no},
           {R"({"model_type": "olmo", "clip_qkv": 8.0})", no, no},
           {R"({"model_type": "starcoder2"})", yes, yes},
           {R"({"model_type": "gpt_neox"})", yes, yes},
           {R"({"model_type": "phi"})", yes, yes},
           {R"({"model_type": "phi", "qk_layernorm": true})", yes, no},
           {R"({"model_type": "mistral", "attention_bias": true})", no, no},
           {R"({"model_type": "internlm2"})", unknown, unknown},
           {R"({"model_type": "minimax_m3"})", unknown, no},
       }) {
    SCOPED_TRACE(settings);
    auto const layer = of_config(settings).kinds.at(0);
    EXPECT_EQ(of(layer.key_bias), has_bias);
    EXPECT_EQ(of(layer.key_bias_is_separable()), is_separable);
  }
}

TEST(key_bias_is_separable, needs_a_key_that_is_true_or_false) {
  EXPECT_EQ(message_of([] { of_config(R"({"model_type": "llama", "attention_bias": 1})"); }),
            "posenc: config.json: attention_bias must be true or false, got 1");
}

// The tensors say it. The second layer of a split file may be in another part.
TEST(key_bias_is_separable, says_what_tensors_of_a_gguf_file_do) {
  using enum answer;
  auto const dims = json{{"dims", {64}}};
  double clamp = 0;
  auto const of_tensors = [&](std::string const& architecture, auto... names) {
    json settings{{"general.architecture", architecture},
                  {".attention.head_count", 4},
                  {".block_count", 1},
                  {".embedding_length", 256}};
    if (clamp != 0) settings[".attention.clamp_kqv"] = clamp;
    (void(settings["tensors"][names] = dims), ...);
    auto const file = encoded_gguf(settings).str();
    auto const read = read_gguf(gguf_metadata(std::as_bytes(std::span(file)), "m.gguf"));
    return std::pair(of(read.kinds[0].key_bias), of(read.kinds[0].key_bias_is_separable()));
  };
  constexpr auto k = "blk.0.attn_k.weight", k_bias = "blk.0.attn_k.bias",
                 qkv = "blk.0.attn_qkv.weight", qkv_bias = "blk.0.attn_qkv.bias";
  EXPECT_EQ(of_tensors("qwen2", k, k_bias), std::pair(yes, yes));
  EXPECT_EQ(of_tensors("gptneox", qkv, qkv_bias), std::pair(yes, yes));
  EXPECT_EQ(of_tensors("llama", k), std::pair(no, no));
  EXPECT_EQ(of_tensors("phi3", qkv), std::pair(no, no));
  EXPECT_EQ(of_tensors("qwen3", k, k_bias), std::pair(yes, no));
  EXPECT_EQ(of_tensors("glm4moe", k, k_bias), std::pair(yes, yes));
  EXPECT_EQ(of_tensors("glm4moe", k, k_bias, "blk.0.attn_q_norm.weight"), std::pair(yes, no));
  EXPECT_EQ(of_tensors("olmo", k, k_bias), std::pair(yes, yes));
  EXPECT_EQ(of_tensors("qwen2"), std::pair(unknown, unknown));
  EXPECT_EQ(of_tensors("qwen2", "token_embd.weight"), std::pair(unknown, unknown));
  clamp = 8;
  EXPECT_EQ(of_tensors("olmo", k, k_bias), std::pair(yes, no));
}

}  // namespace of_key_biases
}  // namespace
