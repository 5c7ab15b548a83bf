#pragma once

/// Headers of GGUF files as llama.cpp's converters write them for real models: the settings of
/// their config.json under GGUF's keys, and the tensors of factors that the converters compute.
/// [ggml-org/llama.cpp, conversion/ and gguf-py, 2026]

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "golden/longrope_factors.hpp"
#include "model/gguf/writer.hpp"
#include "oracle/frequency_rules.hpp"

namespace gguf_models {

struct sizes {
  std::uint32_t layers, context, embedding, heads, kv_heads;
};

/// The keys that every model has.
inline gguf_writer common(std::string const& name, sizes const& s) {
  gguf_writer file;
  file.set("general.architecture", name.c_str())
      .set("general.name", "a model")
      .set("general.file_type", std::uint32_t{15});
  file.set(name + ".block_count", s.layers)
      .set(name + ".context_length", s.context)
      .set(name + ".embedding_length", s.embedding);
  file.set(name + ".attention.head_count", s.heads)
      .set(name + ".attention.head_count_kv", s.kv_heads);
  file.set(name + ".attention.layer_norm_rms_epsilon", 1e-5f);
  file.strings("tokenizer.ggml.tokens", {"<s>", "</s>", "a"})
      .list("tokenizer.ggml.scores", std::vector<float>{0, 0, -1});
  return file;
}

/// The frequencies of plain RoPE divided by those of the rule, as a tensor of the file holds them.
inline std::vector<float> factors(std::vector<double> const& plain,
                                  std::vector<double> const& ruled) {
  std::vector<float> result;
  for (std::size_t i = 0; i < plain.size(); ++i)
    result.push_back(ruled[i] == 0 ? 1e30f : static_cast<float>(plain[i] / ruled[i]));
  return result;
}
inline std::vector<float> floats(std::span<double const> list) {
  return {list.begin(), list.end()};
}

inline gguf_writer llama_3_1_8b() {
  auto file = common("llama", {32, 131072, 4096, 32, 8});
  file.set("llama.rope.dimension_count", std::uint32_t{128}).set("llama.rope.freq_base", 500000.0f);
  auto const plain = oracle::default_rule(128, 5e5);
  return file.tensor("rope_freqs.weight",
                     factors(plain, oracle::llama3_rule(plain, 8, 1, 4, 8192)));
}

inline gguf_writer llama_4_scout() {
  auto file = common("llama4", {48, 10485760, 5120, 40, 8});
  file.set("llama4.attention.key_length", std::uint32_t{128})
      .set("llama4.rope.dimension_count", std::uint32_t{128});
  file.set("llama4.rope.freq_base", 500000.0f);
  auto const plain = oracle::default_rule(128, 5e5);
  return file.tensor("rope_freqs.weight",
                     factors(plain, oracle::llama3_rule(plain, 16, 1, 1, 8192)));
}

inline gguf_writer gpt_oss_20b() {
  auto file = common("gpt-oss", {24, 131072, 2880, 64, 8});
  file.set("gpt-oss.attention.key_length", std::uint32_t{64})
      .set("gpt-oss.attention.sliding_window", std::uint32_t{128});
  file.set("gpt-oss.rope.freq_base", 150000.0f)
      .set("gpt-oss.rope.scaling.type", "yarn")
      .set("gpt-oss.rope.scaling.factor", 32.0f);
  return file.set("gpt-oss.rope.scaling.original_context_length", std::uint32_t{4096});
}

inline gguf_writer gemma_3_27b() {
  auto file = common("gemma3", {62, 131072, 5376, 32, 16});
  file.set("gemma3.attention.key_length", std::uint32_t{128})
      .set("gemma3.attention.sliding_window", std::uint32_t{1024});
  return file.set("gemma3.rope.freq_base", 1000000.0f)
      .set("gemma3.rope.scaling.type", "linear")
      .set("gemma3.rope.scaling.factor", 8.0f);
}

inline gguf_writer gemma_4_31b() {
  auto file = common("gemma4", {60, 262144, 5376, 32, 16});
  file.set("gemma4.attention.key_length", std::uint32_t{512})
      .set("gemma4.attention.key_length_swa", std::uint32_t{256});
  file.set("gemma4.attention.sliding_window", std::uint32_t{1024});
  std::vector<bool> slides;
  for (std::size_t i = 0; i < 60; ++i) slides.push_back(i % 6 != 5);
  file.list("gemma4.attention.sliding_window_pattern", slides);
  file.set("gemma4.rope.dimension_count", std::uint32_t{512})
      .set("gemma4.rope.dimension_count_swa", std::uint32_t{256});
  file.set("gemma4.rope.freq_base", 1000000.0f).set("gemma4.rope.freq_base_swa", 10000.0f);
  return file.tensor("rope_freqs.weight", factors(oracle::default_rule(512, 1e6),
                                                  oracle::proportional_rule(512, 1e6, 0.25)));
}

inline gguf_writer qwen2_vl_7b() {
  auto file = common("qwen2vl", {28, 32768, 3584, 28, 4});
  file.set("qwen2vl.rope.freq_base", 1000000.0f);
  return file.list("qwen2vl.rope.dimension_sections", std::vector<std::int32_t>{16, 24, 24, 0});
}

inline gguf_writer qwen3_vl_8b() {
  auto file = common("qwen3vl", {36, 262144, 4096, 32, 8});
  file.set("qwen3vl.attention.key_length", std::uint32_t{128})
      .set("qwen3vl.rope.freq_base", 5000000.0f);
  return file.list("qwen3vl.rope.dimension_sections", std::vector<std::int32_t>{24, 20, 20, 0});
}

/// DeepSeek V3 and V2 Lite: heads have 128 dims without RoPE and 64 with it; their compressed cache
/// holds 512 + 64.
inline gguf_writer deepseek(std::uint32_t layers, std::uint32_t heads, float mscale_all_dim) {
  auto file = common("deepseek2", {layers, 163840, 7168, heads, 1});
  file.set("deepseek2.attention.key_length", std::uint32_t{576})
      .set("deepseek2.attention.key_length_mla", std::uint32_t{192});
  file.set("deepseek2.rope.dimension_count", std::uint32_t{64})
      .set("deepseek2.rope.freq_base", 10000.0f);
  file.set("deepseek2.rope.scaling.type", "yarn").set("deepseek2.rope.scaling.factor", 40.0f);
  file.set("deepseek2.rope.scaling.original_context_length", std::uint32_t{4096});
  return file.set("deepseek2.rope.scaling.yarn_log_multiplier", 0.1f * mscale_all_dim);
}
inline gguf_writer deepseek_v3() { return deepseek(61, 128, 1); }
inline gguf_writer deepseek_v2_lite() { return deepseek(27, 16, 0.707f); }

/// Its sliding layers have the base of RoPE, the others that of compression, with YaRN.
inline gguf_writer deepseek_v4_flash() {
  auto file = common("deepseek4", {43, 1048576, 4096, 64, 1});
  file.set("deepseek4.attention.key_length", std::uint32_t{512})
      .set("deepseek4.attention.sliding_window", std::uint32_t{128});
  std::vector<std::int32_t> ratios{0, 0};
  while (ratios.size() < 43) ratios.push_back(ratios.size() % 2 == 0 ? 4 : 128);
  ratios.push_back(0);  // of the layer that predicts, which is not in the file
  file.list("deepseek4.attention.compress_ratios", ratios)
      .set("deepseek4.attention.compress_rope_freq_base", 160000.0f);
  file.set("deepseek4.attention.indexer.head_count", std::uint32_t{64})
      .set("deepseek4.attention.indexer.key_length", std::uint32_t{128})
      .set("deepseek4.attention.indexer.top_k", std::uint32_t{512});
  file.set("deepseek4.hyper_connection.count", std::uint32_t{4})
      .set("deepseek4.hyper_connection.sinkhorn_iterations", std::uint32_t{20});
  file.set("deepseek4.rope.dimension_count", std::uint32_t{64})
      .set("deepseek4.rope.freq_base", 10000.0f);
  file.set("deepseek4.rope.scaling.type", "yarn").set("deepseek4.rope.scaling.factor", 16.0f);
  file.set("deepseek4.rope.scaling.yarn_beta_fast", 32.0f)
      .set("deepseek4.rope.scaling.yarn_beta_slow", 1.0f);
  return file.set("deepseek4.rope.scaling.original_context_length", std::uint32_t{65536});
}

inline gguf_writer phi_4_mini() {
  auto file = common("phi3", {32, 131072, 3072, 24, 8});
  file.set("phi3.attention.sliding_window", std::uint32_t{262144})
      .set("phi3.rope.dimension_count", std::uint32_t{96});
  file.set("phi3.rope.freq_base", 10000.0f)
      .set("phi3.rope.scaling.original_context_length", std::uint32_t{4096});
  file.set("phi3.rope.scaling.attn_factor", 1.1902380714238083f);
  file.tensor("rope_factors_long.weight", floats(golden::phi4_mini_long));
  return file.tensor("rope_factors_short.weight", floats(golden::phi4_mini_short));
}

inline gguf_writer ministral_3_8b() {
  auto file = common("mistral3", {34, 262144, 4096, 32, 8});
  file.set("mistral3.attention.key_length", std::uint32_t{128})
      .set("mistral3.rope.dimension_count", std::uint32_t{128});
  file.set("mistral3.rope.freq_base", 1000000.0f)
      .set("mistral3.rope.scaling.type", "yarn")
      .set("mistral3.rope.scaling.factor", 16.0f);
  file.set("mistral3.rope.scaling.yarn_beta_fast", 32.0f)
      .set("mistral3.rope.scaling.yarn_beta_slow", 1.0f);
  file.set("mistral3.rope.scaling.yarn_log_multiplier", 1.0f)
      .set("mistral3.attention.temperature_scale", 0.1f);
  return file.set("mistral3.rope.scaling.original_context_length", std::uint32_t{16384});
}

inline gguf_writer command_r7b() {
  auto file = common("cohere2", {32, 132096, 4096, 32, 8});
  file.set("cohere2.attention.sliding_window", std::uint32_t{4096})
      .set("cohere2.rope.freq_base", 50000.0f);
  return file.set("cohere2.rope.dimension_count", std::uint32_t{128})
      .set("cohere2.rope.scaling.type", "none");
}

inline gguf_writer smollm3_3b() {
  return common("smollm3", {36, 65536, 2048, 16, 4}).set("smollm3.rope.freq_base", 5000000.0f);
}

inline gguf_writer gpt_neox_20b() {
  return common("gptneox", {44, 2048, 6144, 64, 64})
      .set("gptneox.rope.dimension_count", std::uint32_t{24});
}

inline gguf_writer glm_4_9b_chat() {
  auto file = common("chatglm", {40, 131072, 4096, 32, 2});
  return file.set("chatglm.rope.dimension_count", std::uint32_t{64})
      .set("chatglm.rope.freq_base", 5000000.0f);
}

/// All layers but every fourth are recurrent.
inline gguf_writer qwen3_5_27b() {
  auto file = common("qwen35", {64, 262144, 5120, 24, 4});
  file.set("qwen35.attention.key_length", std::uint32_t{256})
      .set("qwen35.rope.dimension_count", std::uint32_t{64});
  file.set("qwen35.rope.freq_base", 10000000.0f)
      .set("qwen35.full_attention_interval", std::uint32_t{4});
  return file.list("qwen35.rope.dimension_sections", std::vector<std::int32_t>{11, 11, 10, 0});
}

inline gguf_writer bloom_176b() { return common("bloom", {70, 2048, 14336, 112, 112}); }
inline gguf_writer mpt_7b() {
  return common("mpt", {32, 2048, 4096, 32, 32}).set("mpt.attention.max_alibi_bias", 8.0f);
}
inline gguf_writer baichuan2_13b() {
  return common("baichuan", {40, 4096, 5120, 40, 40})
      .set("baichuan.rope.dimension_count", std::uint32_t{128});
}
inline gguf_writer t5_small() {
  auto file = common("t5", {6, 512, 512, 8, 8});
  return file.set("t5.attention.key_length", std::uint32_t{64})
      .set("t5.attention.relative_buckets_count", std::uint32_t{32});
}

/// `name` is that of the model in golden::models with the same settings. The layout differs: the
/// converters permute queries and keys of Llama and others.
struct model {
  std::string_view name;
  gguf_writer (*file)();
  bool interleaved = false;
};

inline constexpr model all[]{{"llama-3.1-8b", llama_3_1_8b, true},
                             {"llama-4-scout", llama_4_scout, true},
                             {"gpt-oss-20b", gpt_oss_20b},
                             {"gemma-3-27b", gemma_3_27b},
                             {"gemma-4-31b", gemma_4_31b},
                             {"qwen2-vl-7b", qwen2_vl_7b},
                             {"qwen3-vl-8b", qwen3_vl_8b},
                             {"deepseek-v3", deepseek_v3, true},
                             {"deepseek-v2-lite", deepseek_v2_lite, true},
                             {"deepseek-v4-flash", deepseek_v4_flash, true},
                             {"phi-4-mini", phi_4_mini},
                             {"ministral-3-8b", ministral_3_8b, true},
                             {"command-r7b", command_r7b, true},
                             {"smollm3-3b", smollm3_3b, true},
                             {"gpt-neox-20b", gpt_neox_20b},
                             {"glm-4-9b-chat", glm_4_9b_chat, true},
                             {"qwen3.5-27b", qwen3_5_27b},
                             {"bloom-176b", bloom_176b},
                             {"mpt-7b", mpt_7b},
                             {"baichuan2-13b", baichuan2_13b, true},
                             {"t5-small", t5_small}};

}  // namespace gguf_models
