// What families with other attention, layers or positions do by default.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/detail/families.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Models with latent or sparse attention, with layers that have none, or without RoPE.
struct other_model_families : family_words {
  // clang-format off
  static constexpr model_family all[]{
      family("qwen3_next", plus_one, {.head_dim = 256, .partial = 0.25, .full_every = 4,
       .others = linear_attention}),
      family("qwen3_5_text qwen3_5_moe_text", plus_one, {.head_dim = 256, .partial = 0.25,
       .has_axes = true, .order = interleaved, .sections = {11, 11, 10}, .full_every = 4,
       .others = linear_attention}),
      family("qwen4_exp_text", plus_one, {.keys = "partial_rotary_factor", .head_dim = 256,
       .has_axes = true, .order = interleaved, .sections = {11, 11, 10}, .full_every = 4,
       .others = linear_attention, .index = {.heads = {"indexer_n_heads", 16},
       .head_dim = {"indexer_head_dim", 128}, .chosen = {"indexer_budget", 2048},
       .key_stride = {"indexer_compress_ratio", 4}, .chosen_in_tokens = true},
       .without_effect = "indexer_kv_heads"}),
      family("minimax", none, {.keys = "attn_type_list rotary_dim", .note = all_dims_in_5,
       .base = 1e6, .slides = true, .full_every = 2, .full_at = first_of_each,
       .others = linear_attention,
       .without_effect = "full_attn_alpha_factor full_attn_beta_factor"}),
      family("minimax_text_01 minimax_m1", none, {.keys = "attn_type_list rotary_dim",
       .head_dim = 128, .base = 1e7, .rotary_dim = 64, .full_every = 8, .others = linear_attention,
       .without_effect = "layernorm_full_attention_alpha layernorm_full_attention_beta"}),
      family("recurrent_gemma", none, {.keys = "layers_block_type block_types _block_types",
       .lacks = "layer_types head_dim", .partial = 0.5, .slides = true,
       .window_key = "attention_window_size", .window = 2048, .full_every = 3,
       .others = "recurrent"}),
      family("bamba", none, {.keys = "layers_block_type attn_layer_indices attn_rotary_emb",
       .lacks = "layer_types", .partial = 0.5, .full_every = 0, .others = "mamba"}),
      family("jamba", none, {.keys = "layers_block_type", .lacks = "layer_types",
       .rotation = no_layer, .full_every = 8, .full_offset = 4, .full_at = by_offset,
       .others = "mamba"}), family("minicpm3", none, {.last_dims = true, .mscale_on_scores = true}),
      family("nemotron_h", none, {.keys = "layers_block_type hybrid_override_pattern",
       .head_dim = 128, .rotation = no_layer, .needs_layer_types = true}),
      family("minimax_m3_vl_text minimax_m3_vl minimax_m3", plus_one, {.keys = "layer_types"
       " sparse_attention_config rotary_dim partial_rotary_factor", .note = all_dims_in_5,
       .head_dim = 128, .base = 5e6, .rotary_dim = 64, .index = {.heads = {"index_n_heads", 4,
       "sparse_num_index_heads"}, .head_dim = {"index_head_dim", 128, "sparse_index_dim"},
       .chosen = {"index_topk_blocks", 16, "sparse_topk_blocks"}, .block = {"index_block_size", 128,
       "sparse_block_size"}, .local_blocks = {"index_local_blocks", 1, "sparse_local_block"},
       .layers = "minimax_m3_sparse"}}),
      family("deepseek_v2", none, {.interleaved = true, .last_dims = true, .mscale_on_scores = true,
       .mscale_note = "DeepSeek's own code has it, transformers' class for V2 since 5.15."}),
      family("deepseek_v3 glm4_moe_lite youtu axk1", none, {.keys = "rope_interleave"
       " llama_4_scaling", .interleaved = true, .last_dims = true, .mscale_on_scores = true}),
      family("deepseek_v32 axk2", none, {.keys = "layer_types", .interleaved = true,
       .last_dims = true, .index = deepseek_index, .mscale_on_scores = true}),
      family("glm_moe_dsa", none, {.keys = "layer_types", .interleaved = true, .last_dims = true,
       .index = {.heads = {"index_n_heads", 32}, .head_dim = deepseek_index.head_dim,
       .chosen = deepseek_index.chosen, .interleaved = true}, .mscale_on_scores = true}),
      family("bailing_hybrid", unknown, {.keys = "partial_rotary_factor", .lacks = "layer_types",
       .nope_key = "use_mla_nope", .nope_narrows = true, .interleaved = true, .base = 6e5,
       .last_dims = true, .unscaled = true, .ignores_partial = true, .order = alternating,
       .sections = {12, 10, 10}, .full_every = 5, .rest_full = true, .others = linear_attention,
       .without_effect = "max_window_layers"}),
      family("bailing_moe_v3_vl", unknown, {.refusal = "be with a text_config", .has_axes = true}),
      family("bailing_moe_v2", {.query = "query_layernorm", .key = "key_layernorm",
       .flag = "use_qk_norm"}, {.partial = 0.5, .sections = {8, 12, 12},
       .without_effect = "max_window_layers"}),
      family("kimi_linear", none, {.keys = "layer_types linear_attn_config qk_nope_head_dim"
       " qk_rope_head_dim", .rotation = no_layer, .nope_key = "mla_use_nope",
       .needs_layer_types = true}),
      family("kimi_k2", none, {.keys = "rope_interleave", .interleaved = true, .base = 5e4,
       .last_dims = true, .mscale_on_scores = true}),
      family("mistral4", none, {.keys = "rope_interleave llama_4_scaling_beta", .interleaved = true,
       .last_dims = true, .needs_rope = true, .mscale_on_scores = true,
       .mscale_note = "transformers' class has it since 5.15, as llama.cpp has; Mistral's own"
       " params.json, with apply_scale false, has not."}),
      family("deepseek_v4 deepseek_ref", {.query = "", .key = "kv_norm"},
       {.keys = "compress_ratios", .head_dim = 512, .interleaved = true, .partial = 0.125,
       .last_dims = true, .needs_layer_types = true, .compressed = true, .index = {.heads =
       deepseek_index.heads, .head_dim = deepseek_index.head_dim, .chosen = {"index_topk", 512},
       .key_stride = {"", 4}, .interleaved = true, .last_dims = true,
       .layers = "compressed_sparse_attention"}, .sinks = true}),
      family("glmasr", none, {.loses = "rope_theta", .refusal = "be with a text_config"}),
      family("paligemma colpali", none, {.within = both_ways::prefix,
       .refusal = "be with a text_config"}),
      family("baichuan", none, {.positions = alibi_without_context}),
      family("granitemoehybrid", none, {.keys = "position_embedding_type layers_block_type",
       .rotation = if_position_type_is_rope, .full_every = 0, .others = "mamba",
       .scale_key = "attention_multiplier", .scale_default = 1}),
      family("llama_drope qwen2_drope", unknown, {.rotation = no_layer,
       .scale_key = "softmax_scale"}),
      family("inkling_text", unknown, {.refusal = "be another: Inkling's bias is made of each"
       " query, which is not read"}),
      family("falcon", none, {.lacks = "head_dim num_key_value_heads",
       .positions = alibi_if_flagged, .alibi_note = "Falcon rounds the bias to bfloat16."}),
      family("t5 mt5 umt5", none, {.positions = buckets, .sides = both, .note = "The encoder's"
       " layers; queries of the decoder see no later keys.", .undivided = true}),
      family("bloom", none, {.positions = alibi, .without_effect = "offset_alibi"}),
      family("mpt", unknown, {.positions = alibi_or_learned, .without_effect = "attn_type"}),
      family("opt", none, {.positions = learned}),
      family("distilbert", none, {.positions = learned, .sides = both,
       .without_effect = "sinusoidal_pos_embds"}),
      family("gpt2 gpt_bigcode", none, {.positions = learned, .flag_undivides = true}),
      family("bart mbart", none, {.positions = learned, .is_decoder = true,
       .without_effect = "static_position_embeddings extra_pos_embeddings"}),
      family("whisper", none, {.positions = learned, .note = "The decoder's layers; the encoder"
       " adds sinusoidal embeddings to its frames.", .is_decoder = true,
       .without_effect = "max_source_positions"}),
      family("gpt_neo", none, {.keys = "attention_layers attention_types", .lacks = "layer_types",
       .positions = learned, .rotation = no_layer, .window_key = "window_size", .window = 256,
       .full_every = 2, .full_at = first_of_each, .undivided = true}),
      family("bert roberta electra xlm-roberta xlm-roberta-xl camembert", none,
       {.positions = learned_absolute, .sides = both_unless_decoder}),
  };
  // clang-format on
};

}}}  // namespace posenc::detail
