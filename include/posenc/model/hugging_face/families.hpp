// The families of models: a record each.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/family.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

// clang-format off
/// From the classes of the models in Hugging Face transformers, 2026.
inline constexpr model_family model_families[]{
    {.types = {"llama", "olmo", "olmo2", "seed_oss", "apertus", "hunyuan_v1_dense"}},
    {.types = {"mistral"}, .sliding = sliding_rule::every_layer, .window = 4096},
    {.types = {"mixtral", "phimoe"}, .base = 1e6, .sliding = sliding_rule::every_layer},
    {.types = {"ministral3"}, .head_dim = 128, .needs_rope = true,
     .sliding = sliding_rule::every_layer},
    {.types = {"starcoder2", "phi3"}, .sliding = sliding_rule::every_layer},
    {.types = {"qwen2", "qwen2_moe", "qwen3", "qwen3_moe"},
     .sliding = sliding_rule::from_max_window_layers, .max_window_layers = 28},
    {.types = {"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"}, .base = 1e6,
     .has_axes = true, .sliding = sliding_rule::from_max_window_layers, .max_window_layers = 80},
    {.types = {"qwen3_vl_text", "qwen3_vl_moe_text"}, .base = 5e5, .has_axes = true,
     .interleaved_axes = true, .sections = {24, 20, 20}},
    {.types = {"qwen3_next"}, .head_dim = 256, .partial = 0.25, .full_every = 4,
     .linear_others = true},
    {.types = {"qwen3_5_text", "qwen3_5_moe_text"}, .head_dim = 256, .partial = 0.25,
     .has_axes = true, .interleaved_axes = true, .sections = {11, 11, 10}, .full_every = 4,
     .linear_others = true},
    {.types = {"phi", "nemotron", "glm4_moe"}, .partial = 0.5},
    {.types = {"stablelm", "gpt_neox"}, .partial = 0.25},
    {.types = {"persimmon"}, .base = 25000, .partial = 0.5},
    {.types = {"minimax_m2"}, .head_dim = 128, .base = 5e6},
    {.types = {"gemma"}, .head_dim = 256},
    {.types = {"gemma2"}, .head_dim = 256, .sliding = sliding_rule::by_pattern, .window = 4096,
     .full_every = 2, .scale = score_scale::query_pre_attn_scalar, .score_cap = 50},
    {.types = {"gemma3_text", "gemma3"}, .head_dim = 256, .context = 131072, .base = 1e6,
     .local_base = 1e4, .sliding = sliding_rule::by_pattern, .window = 4096, .full_every = 6,
     .scale = score_scale::query_pre_attn_scalar},
    {.types = {"gemma4_text", "gemma4"}, .head_dim = 256, .global_head_dim = 512,
     .context = 131072, .needs_rope = true, .sliding = sliding_rule::by_pattern, .window = 512,
     .full_every = 6, .last_full = true, .scale = score_scale::none},
    {.types = {"gemma4_vision"}, .base = 100, .two_axes = true, .scale = score_scale::none},
    {.types = {"olmo3"}, .sliding = sliding_rule::by_pattern, .full_every = 4},
    {.types = {"exaone4"}, .sliding = sliding_rule::by_pattern, .window = 4096, .full_every = 4,
     .rope_on_sliding_only = true},
    {.types = {"cohere"}, .interleaved = true, .base = 5e5},
    {.types = {"cohere2"}, .interleaved = true, .sliding = sliding_rule::by_pattern,
     .window = 4096, .full_every = 4, .rope_on_sliding_only = true},
    {.types = {"gpt_oss"}, .head_dim = 64, .base = 150000, .needs_rope = true,
     .sliding = sliding_rule::by_pattern, .window = 128, .full_every = 2, .sinks = true},
    {.types = {"smollm3"}, .base = 2e6, .nope_every = 4},
    {.types = {"llama4_text"}, .head_dim = 128, .interleaved = true, .base = 5e5, .nope_every = 4,
     .chunked_where_rotated = true, .nope_temperature = true},
    {.types = {"mimo_v2_flash"}, .head_dim = 192, .base = 5e6, .partial = 0.334,
     .sliding = sliding_rule::by_pattern, .window = 128, .full_every = 6, .first_full = true,
     .without_effect = {"swa_num_attention_heads"}},
    {.types = {"gptj", "codegen"}, .interleaved = true, .rotary_dim = 64,
     .without_effect = {"rotary"}},
    {.types = {"glm", "glm4", "glm4v_text"}, .interleaved = true, .partial = 0.5},
    {.types = {"ernie4_5"}, .head_dim = 128, .interleaved = true, .base = 5e5},
    {.types = {"chatglm"}, .interleaved = true, .base_is_ratio = true, .partial = 0.5},
    {.types = {"deepseek_v2"}, .interleaved = true, .last_dims = true, .mscale_on_scores = true,
     .mscale_note = "DeepSeek's own code has it, transformers' class for V2 does not."},
    {.types = {"deepseek_v3", "deepseek_v32"}, .interleaved = true, .last_dims = true,
     .mscale_on_scores = true},
    {.types = {"kimi_k2"}, .interleaved = true, .base = 5e4, .last_dims = true,
     .mscale_on_scores = true},
    {.types = {"mistral4"}, .interleaved = true, .last_dims = true, .needs_rope = true,
     .mscale_note = "transformers has it since 5.17, Mistral's settings do not; it is left out."},
    {.types = {"deepseek_v4"}, .head_dim = 512, .interleaved = true, .partial = 0.125,
     .last_dims = true, .sliding = sliding_rule::by_pattern, .compressed = true, .sinks = true},
    {.types = {"granite", "granitemoe"}, .scale = score_scale::attention_multiplier},
    {.types = {"falcon"}, .positions = position_rule::alibi_if_flagged,
     .alibi_note = "Falcon rounds the bias to bfloat16 and divides it, too, by sqrt(head_dim)."},
    {.types = {"baichuan"}, .positions = position_rule::alibi_without_context},
    {.types = {"bloom"}, .positions = position_rule::alibi},
    {.types = {"mpt"}, .positions = position_rule::alibi_or_learned, .without_effect = {"attn_type"}},
    {.types = {"t5", "mt5", "umt5"}, .positions = position_rule::buckets,
     .scale = score_scale::none},
    {.types = {"gpt2", "gpt_bigcode", "opt", "distilbert"}, .positions = position_rule::learned},
    {.types = {"gpt_neo"}, .positions = position_rule::learned, .scale = score_scale::none},
    {.types = {"bert", "roberta", "electra"}, .positions = position_rule::learned_absolute},
};
// clang-format on

/// The family with this model_type, if it is known.
inline std::optional<model_family> family_of(std::string_view type) {
  for (auto const& family : model_families) {
    if (std::ranges::find(family.types, type) != family.types.end()) return family;
  }
  return {};
}

}  // namespace detail
}  // namespace posenc
