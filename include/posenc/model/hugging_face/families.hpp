// Families with latent or sparse attention, with layers without attention, or without RoPE; and the
// family that has a model_type.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/family.hpp"
#include "posenc/model/hugging_face/rope_families.hpp"

namespace posenc::inline POSENC_TARGET::detail {

// clang-format off
/// From the classes of the models in Hugging Face transformers 4.57 and 5.16; those of MiniMax-01,
/// Ling, Qwen 4, Baichuan and DroPE from other code of theirs.
inline constexpr model_family other_families[]{
    {.types = {"qwen3_next"}, .head_dim = 256, .partial = 0.25, .full_every = 4,
     .others = linear_attention},
    {.types = {"qwen3_5_text", "qwen3_5_moe_text"}, .head_dim = 256, .partial = 0.25,
     .has_axes = true, .order = axis_order::interleaved, .sections = {11, 11, 10}, .full_every = 4,
     .others = linear_attention},
    {.types = {"qwen4_exp_text"}, .head_dim = 256, .has_axes = true,
     .order = axis_order::interleaved, .sections = {11, 11, 10}, .full_every = 4,
     .others = linear_attention,
     .index = {.heads = {.key = "indexer_n_heads", .value = 16},
               .head_dim = {.key = "indexer_head_dim", .value = 128},
               .chosen = {.key = "indexer_budget", .value = 2048},
               .key_stride = {.key = "indexer_compress_ratio", .value = 4},
               .chosen_in_tokens = true},
     .without_effect = {"indexer_kv_heads"}},
    {.types = {"minimax"}, .base = 1e6, .full_every = 2, .full_at = full_place::first_of_each,
     .others = linear_attention,
     .without_effect = {"full_attn_alpha_factor", "full_attn_beta_factor"}},
    {.types = {"minimax_text_01", "minimax_m1"}, .head_dim = 128, .base = 1e7, .rotary_dim = 64,
     .full_every = 8, .others = linear_attention,
     .without_effect = {"layernorm_full_attention_alpha", "layernorm_full_attention_beta"}},
    {.types = {"recurrent_gemma"}, .partial = 0.5, .sliding = sliding_rule::every_layer,
     .window_key = "attention_window_size", .window = 2048, .full_every = 3, .others = "recurrent"},
    {.types = {"bamba"}, .partial = 0.5, .full_every = 0, .others = "mamba"},
    {.types = {"jamba"}, .rotation = rotation_rule::no_layer, .full_every = 8, .full_offset = 4,
     .full_at = full_place::by_offset, .others = "mamba"},
    {.types = {"minicpm3"}, .last_dims = true, .mscale_on_scores = true},
    {.types = {"nemotron_h"}, .head_dim = 128, .rotation = rotation_rule::no_layer,
     .needs_layer_types = true},
    {.types = {"minimax_m3_vl_text", "minimax_m3_vl"}, .head_dim = 128, .base = 5e6,
     .rotary_dim = 64,
     .index = {.heads = {.key = "index_n_heads", .within = "sparse_num_index_heads", .value = 4},
               .head_dim = {.key = "index_head_dim", .within = "sparse_index_dim", .value = 128},
               .chosen = {.key = "index_topk_blocks", .within = "sparse_topk_blocks", .value = 16},
               .block = {.key = "index_block_size", .within = "sparse_block_size", .value = 128},
               .local_blocks = {.key = "index_local_blocks", .within = "sparse_local_block",
                                .value = 1},
               .layers = "minimax_m3_sparse"}},
    {.types = {"deepseek_v2"}, .interleaved = true, .last_dims = true, .mscale_on_scores = true,
     .mscale_note = "DeepSeek's own code has it, transformers' class for V2 since 5.15."},
    {.types = {"deepseek_v3", "glm4_moe_lite", "youtu"}, .interleaved = true, .last_dims = true,
     .mscale_on_scores = true},
    {.types = {"deepseek_v32"}, .interleaved = true, .last_dims = true, .index = deepseek_index,
     .mscale_on_scores = true},
    {.types = {"glm_moe_dsa"}, .interleaved = true, .last_dims = true,
     .index = {.heads = {.key = "index_n_heads", .value = 32}, .head_dim = deepseek_index.head_dim,
               .chosen = deepseek_index.chosen, .interleaved = true}, .mscale_on_scores = true},
    {.types = {"bailing_hybrid"}, .interleaved = true, .base = 6e5, .last_dims = true,
     .unscaled = true, .ignores_partial = true, .order = axis_order::alternating,
     .sections = {12, 10, 10}, .full_every = 5, .rest_full = true, .others = linear_attention,
     .without_effect = {"max_window_layers"}},
    {.types = {"bailing_moe_v3_vl"}, .positions = position_rule::refused,
     .refusal = "be with a text_config", .has_axes = true},
    {.types = {"bailing_moe_v2"}, .partial = 0.5, .sections = {8, 12, 12},
     .without_effect = {"max_window_layers"}},
    {.types = {"kimi_k2"}, .interleaved = true, .base = 5e4, .last_dims = true,
     .mscale_on_scores = true},
    {.types = {"mistral4"}, .interleaved = true, .last_dims = true, .needs_rope = true,
     .mscale_on_scores = true,
     .mscale_note = "transformers' class has it since 5.15, as llama.cpp has; Mistral's own "
                    "params.json, with apply_scale false, has not."},
    {.types = {"deepseek_v4"}, .head_dim = 512, .interleaved = true, .partial = 0.125,
     .last_dims = true, .sliding = sliding_rule::by_pattern, .needs_layer_types = true,
     .compressed = true,
     .index = {.heads = deepseek_index.heads, .head_dim = deepseek_index.head_dim,
               .chosen = {.key = "index_topk", .value = 512}, .key_stride = {.value = 4},
               .interleaved = true, .last_dims = true, .layers = "compressed_sparse_attention"},
     .sinks = true},
    {.types = {"granitemoehybrid"}, .rotation = rotation_rule::if_position_type_is_rope,
     .full_every = 0, .others = "mamba", .scale = score_scale::attention_multiplier,
     .scale_default = 1},
    // Without RoPE, or with it at times.
    {.types = {"llama_drope", "qwen2_drope"}, .rotation = rotation_rule::no_layer,
     .scale = score_scale::softmax_scale},
    {.types = {"inkling_text"}, .positions = position_rule::refused,
     .refusal = "be another: Inkling's bias is made of each query, which is not read"},
    {.types = {"falcon"}, .positions = position_rule::alibi_if_flagged,
     .alibi_note = "Falcon rounds the bias to bfloat16."},
    {.types = {"baichuan"}, .positions = position_rule::alibi_without_context},
    {.types = {"bloom"}, .positions = position_rule::alibi, .without_effect = {"offset_alibi"}},
    {.types = {"mpt"}, .positions = position_rule::alibi_or_learned,
     .without_effect = {"attn_type"}},
    {.types = {"t5", "mt5", "umt5"}, .positions = position_rule::buckets,
     .scale = score_scale::none},
    {.types = {"opt", "distilbert"}, .positions = position_rule::learned,
     .without_effect = {"sinusoidal_pos_embds"}},
    {.types = {"gpt2", "gpt_bigcode"}, .positions = position_rule::learned,
     .scale = score_scale::head_dim_if_flagged},
    {.types = {"bart", "mbart"}, .positions = position_rule::learned, .is_decoder = true,
     .without_effect = {"static_position_embeddings", "extra_pos_embeddings"}},
    {.types = {"whisper"}, .positions = position_rule::learned,
     .note = "The decoder's layers; the encoder adds sinusoidal embeddings to its frames.",
     .is_decoder = true, .without_effect = {"max_source_positions"}},
    {.types = {"gpt_neo"}, .positions = position_rule::learned, .rotation = rotation_rule::no_layer,
     .sliding = sliding_rule::by_pattern, .window_key = "window_size", .window = 256,
     .full_every = 2, .full_at = full_place::first_of_each, .scale = score_scale::none,
     .without_effect = {"attention_types"}},
    {.types = {"bert", "roberta", "electra", "xlm-roberta", "xlm-roberta-xl", "camembert"},
     .positions = position_rule::learned_absolute},
};
// clang-format on

inline constexpr std::array<std::span<model_family const>, 2> model_families{rope_families,
                                                                             other_families};

/// The family with this model_type, if it is known.
inline std::optional<model_family> family_of(std::string_view type) {
  if (type.empty()) return {};  // places in `types` that are not used
  for (auto const families : model_families) {
    for (auto const& family : families) {
      if (std::ranges::find(family.types, type) != family.types.end()) return family;
    }
  }
  return {};
}

}  // namespace posenc::detail
