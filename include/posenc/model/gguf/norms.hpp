// The norms of queries, keys and values, by the keys and tensors of a GGUF file.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/config.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// From the graphs of the llama.cpp of gguf_architectures. Converters have added Gemma's 1 to the
/// weights. Norms of what heads are made of (MLA) count as none.
struct norms_of_architectures {
  using enum norm_scope;
  static constexpr auto after = norm_place::after;

  // clang-format off
  static constexpr known_norms all[]{
      {.models = "qwen3 qwen3moe qwen3next qwen3vl qwen3vlmoe qwen35 qwen35moe gemma3"
       " gemma-embedding exaone4 exaone-moe afmoe apertus lfm2 lfm2moe dots1 grovemoe rnd1"
       " llada-moe hy_v3 plamo3 openelm laguna mellum step35 minimax-m3 dflash bailingmoe2"},
      {.models = "gemma3n gemma4", .values = true}, {.models = "glm4moe", .optional = true},
      {.models = "plamo2", .of = own_weights},
      {.models = "deepseek4", .query = "", .key = "kv_norm"},
      {.models = "hunyuan-moe hunyuan-dense hunyuan_vl maincoder", .place = after},
      {.models = "talkie", .of = own_weights, .place = after, .key = ""},
      {.models = "llama4", .place = after, .query = "", .key = "", .where_rotated = true},
      {.models = "olmo2 olmoe minimax-m2", .of = token}, {.models = "chameleon", .of = centred},
      {.models = "command-r stablelm mpt jina-bert-v2", .of = centred, .optional = true},
      {.models = "llama llada deci baichuan internlm2 minicpm xverse olmo arctic deepseek chatglm"
       " glm4 granite granitemoe granitehybrid bailingmoe neo-bert arcee ernie4_5 ernie4_5-moe"
       " mistral3 llama-embed smollm3 cohere2 cohere2moe eagle3 plm deepseek2 deepseek32"
       " deepseek2-ocr mistral4 glm-dsa falcon falcon-h1 dbrx jina-bert-v3 nomic-bert"
       " nomic-bert-moe eurobert bitnet qwen qwen2 qwen2moe dream phi2 phi3 phimoe plamo gemma"
       " starcoder2 gptneox codeshell orion nemotron exaone jais2 seed_oss pangu-embedded cogvlm"
       " mimo2 minicpm3 grok gemma2 modern-bert smallthinker gpt-oss qwen2vl paddleocr jamba"
       " nemotron_h nemotron_h_moe kimi-linear bloom refact jais gpt2 starcoder bert t5 t5encoder",
       .of = none},
  };
  // clang-format on
};

/// Reads the norms of all kinds of layers; without a record here they are unknown.
inline void read_gguf_norms(gguf_config& config) {
  auto const* const record =
      record_of(norms_of_architectures::all, &known_norms::models, config.found.type);
  if (record == nullptr) return;
  auto const eps = config.positive_or_none("attention.layer_norm_rms_epsilon").value_or(0);
  auto const heads = config.heads();
  auto const key_heads = config.counts("attention.head_count_kv", most_dims).value_or(heads);
  bool const is_maverick = config.count("expert_count", 0, most_dims) == std::size_t{128};
  auto const& tensors = config.file.tensors();
  for (auto& kind : config.found.kinds) {
    auto const layer = kind.layers.front();
    auto known = *record;
    if (known.optional && !tensors.contains("blk." + shown(layer) + ".attn_q_norm.weight"))
      known.of = tensors.empty() ? norm_scope::unknown : norm_scope::none;
    if (known.where_rotated && is_maverick) known.of = norm_scope::none;
    known.describe(kind, "attn_", eps, heads[layer], key_heads[layer]);
  }
}

}  // namespace posenc::detail
