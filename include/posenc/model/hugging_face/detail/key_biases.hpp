// Which families add a bias to keys.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/settings.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The key of a config.json that says whether keys have a bias; empty: the class alone decides.
struct key_bias_rule {
  std::string_view types, key;
  bool by_default;  ///< where that key is absent
};

/// Of types that rotate. From the parameters of the classes in Hugging Face transformers 5.12, each
/// made with and without its keys. MiMo is a Qwen 2. Latent attention is not listed: its rotated
/// key is a part of a projection.
// clang-format off
inline constexpr key_bias_rule key_biases[]{
    {"qwen2 mimo qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text phi persimmon"
     " glm4v_text jina_embeddings_v3 roformer esm", "", true},
    {"gpt_neox gpt_oss seed_oss jais2 glm glm4 glm4v_moe_text glm_image_text", "attention_bias",
     true}, {"qwen2_moe", "qkv_bias", true}, {"starcoder2", "use_bias", true},
    {"stablelm", "use_qkv_bias", false}, {"falcon", "bias", false},
    {"ernie4_5 ernie4_5_moe ernie4_5_vl_moe_text ernie4_5_vl_moe paddleocr_vl_text paddleocr_vl",
     "use_bias", false},
    {"llama olmo olmo2 olmo3 olmoe olmo_hybrid flex_olmo arcee aria_text chameleon hunyuan_v1_dense"
     " hunyuan_v1_moe bitnet csm apertus emu3_text_model eurobert solar_open falcon_h1 phimoe dots1"
     " qwen3 qwen3_moe qwen3_vl_text qwen3_vl_moe_text qwen3_omni_moe_text qwen3_next qwen3_5_text"
     " qwen3_5_moe_text nemotron glm4_moe hy_v3 gemma gemma2 vaultgemma gemma3_text gemma3n_text"
     " gemma4_text gemma4_unified_text modernbert modernbert-decoder laguna mellum afmoe cohere"
     " cohere2 cohere2_moe smollm3 llama4_text helium nanochat granite granitemoe granitemoeshared"
     " granitemoehybrid granite4_vision_text hyperclovax higgs_audio_v2 deepseek_ocr2_text"
     " diffllama moonshine bamba recurrent_gemma", "attention_bias", false},
    {"mistral mixtral ministral ministral3 phi3 phi4_multimodal lfm2 lfm2_moe nomic_bert cwm"
     " pixtral minimax minimax_m2 minimax_m3_vl_text exaone4 exaone_moe gptj codegen dbrx jetmoe"
     " glm_ocr_text gpt_neox_japanese mllama_text_model jamba nemotron_h", "", false}};
// clang-format on

}}}  // namespace posenc::detail
