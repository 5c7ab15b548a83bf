// The norms of queries, keys and values, by the keys of a config.json. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// From the same classes as model_families. Norms of what heads are made of (MLA) count as none.
struct norms_of_families {
  using enum norm_scope;
  static constexpr auto after = norm_place::after;

  // clang-format off
  static constexpr known_norms all[]{
      {.models = "qwen3 qwen3_moe qwen3_vl_text qwen3_vl_moe_text qwen3_omni_moe_text dots1 laguna"
       " mellum apertus hy_v3 exaone4 exaone4_5_text exaone_moe afmoe"},
      {.models = "gemma3_text gemma3 qwen3_next qwen3_5_text qwen3_5_moe_text qwen4_exp_text"
       " minimax_m3_vl_text minimax_m3_vl minimax_m3 step3p5 step3p7", .plus_one = true},
      {.models = "gemma3n_text gemma3n gemma4_text gemma4 gemma4_unified_text gemma4_unified"
       " gemma4_vision", .values = true},
      {.models = "glm4_moe", .flag = "use_qk_norm"},
      {.models = "bailing_moe_v2", .query = "query_layernorm", .key = "key_layernorm",
       .flag = "use_qk_norm"},
      {.models = "lfm2 lfm2_moe", .query = "q_layernorm", .key = "k_layernorm"},
      {.models = "deepseek_v4 deepseek_ref", .query = "", .key = "kv_norm"},
      {.models = "muse_glimmer_text muse_glimmer", .query = "", .key = ""},
      {.models = "hunyuan_v1_dense hunyuan_v1_moe", .place = after, .query = "query_layernorm",
       .key = "key_layernorm", .flag = "use_qk_norm", .by_default = true},
      {.models = "llama4_text", .place = after, .query = "", .key = "", .where_rotated = true,
       .flag = "use_qk_norm", .by_default = true},
      {.models = "nanochat", .place = after, .query = "", .key = ""},
      {.models = "olmo2 olmo3 olmoe flex_olmo minimax_m2", .of = token},
      {.models = "chameleon", .of = centred},
      {.models = "cohere", .of = centred, .flag = "use_qk_norm"},
      {.models = "phi", .of = centred, .query = "q_layernorm", .key = "k_layernorm",
       .flag = "qk_layernorm"},
      {.models = "persimmon", .of = centred, .query = "q_layernorm", .key = "k_layernorm",
       .flag = "qk_layernorm", .by_default = true},
      {.models = "stablelm stablelm_epoch", .of = centred, .query = "q_layernorm.norms.HEAD",
       .key = "k_layernorm.norms.HEAD", .flag = "qk_layernorm"},
      {.models = "llama olmo arcee jais2 aria_text internlm internlm2 internlm3 deepseek exaone"
       " minicpm nemotron-nas bitnet csm seed_oss emu3_text_model solar_open falcon_h1 nomic_bert"
       " eurobert mistral ministral mixtral phimoe ministral3 starcoder2 phi3 phi3_v phi4mm cwm"
       " qwen2 mimo qwen2_moe qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text paddleocr_vl_text"
       " paddleocr_vl qwen2_5_omni_text nemotron glm4v_moe_text gpt_neox telechat3 gemma gemma2"
       " vaultgemma minimax_m3_vl_vision pixtral modernbert modernbert-decoder cohere2 cohere2_moe"
       " gpt_oss smollm3 mimo_v2_flash gptj codegen glm glm4 glm4v_text ernie4_5 ernie4_5_moe"
       " ernie4_5_vl_moe_text ernie4_5_vl_moe ernie4_5_moe_vl helium chatglm granite granitemoe"
       " granitemoeshared granite_swa granitemoe_swa hyperclovax dbrx minimax minimax_text_01"
       " minimax_m1 recurrent_gemma bamba jamba minicpm3 nemotron_h deepseek_v2 deepseek_v3"
       " glm4_moe_lite youtu deepseek_v32 glm_moe_dsa kimi_linear kimi_k2 mistral4"
       " granitemoehybrid falcon baichuan bloom t5 mt5 umt5 opt distilbert gpt2 gpt_bigcode bart"
       " mbart whisper gpt_neo bert roberta electra xlm-roberta xlm-roberta-xl camembert",
       .of = none},
  };
  // clang-format on
};

/// Reads the norms of all kinds of layers; without a record here they are unknown.
inline void read_norms(hugging_face_config& config) {
  auto const* const record =
      record_of(norms_of_families::all, &known_norms::models, config.found.type);
  if (record == nullptr) return;
  auto known = *record;
  if (auto const key = std::string(known.flag); !key.empty()) {
    auto const given = config.flag(key);
    if (!given) config.assumed(key, std::string(known.by_default ? "true" : "false"));
    if (!given.value_or(known.by_default)) known.of = norm_scope::none;
  }
  std::optional<double> eps;
  if (known.of == norm_scope::centred)
    eps = config.positive("layer_norm_eps");
  else if (known.of > norm_scope::none)
    eps = config.positive({"rms_norm_eps", "norm_eps"});
  auto const heads = known.of == norm_scope::token ? config.heads() : 0;
  auto const key_heads =
      heads == 0 ? 0 : config.count("num_key_value_heads", most_dims).value_or(heads);
  for (auto& kind : config.found.kinds) known.describe(kind, "", eps.value_or(0), heads, key_heads);
}

}  // namespace posenc::detail
