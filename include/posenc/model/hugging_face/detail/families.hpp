// What each family of rotating models does by default.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/family.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// What the tables of families share. They are from the classes of the models in Hugging Face
/// transformers 4.57 to 5.17. MiniMax-01, Ling, Qwen 4, Baichuan, DroPE, and what transformers
/// lacks, are from their authors' code.
struct family_words : norm_rules {
  using enum position_rule;
  using enum rotation_rule;
  using enum full_place;
  using enum window_rule;
  using enum axis_order;
  using enum side_rule;
  static constexpr std::string_view all_dims_in_5 =
      "Without partial_rotary_factor, transformers 5.0 to 5.17 ignores rotary_dim and rotates all "
      "dims (huggingface/transformers#48241).";
};

/// Models whose layers all have attention, and rotate.
struct model_families : family_words {
  // clang-format off
  static constexpr model_family all[]{
      family("llama", none, {.omits_sizes = true}), family("olmo2 olmoe", token),
      family("olmo arcee jais2 aria_text internlm internlm2 internlm3 deepseek exaone minicpm",
       none), family("chameleon", centred), family("flex_olmo", token, {.base = 5e5}),
      family("hunyuan_v1_dense hunyuan_v1_moe", {.place = after, .query = "query_layernorm",
       .key = "key_layernorm", .flag = "use_qk_norm", .by_default = true}, {.keys = "alpha"}),
      family("nemotron-nas", none, {.keys = "block_configs", .lacks = "layer_types",
       .needs_layer_types = true}), family("bitnet csm", none, {.base = 5e5}),
      family("seed_oss", none, {.head_dim = 128}),
      family("apertus", head, {.base = 12e6, .needs_rope = true}),
      family("emu3_text_model", none, {.base = 1e6}), family("eurobert", none, {.sides = both}),
      family("lfm2 lfm2_moe", {.query = "q_layernorm", .key = "k_layernorm"},
       {.keys = "layer_types full_attn_idxs", .base = 1e6}),
      family("solar_open", none, {.keys = "partial_rotary_factor", .head_dim = 128, .base = 1e6}),
      family("falcon_h1", none, {.other_base = 1e5, .scale_key = "key_multiplier"}),
      family("nomic_bert", none, {.keys = "rotary_emb_interleaved rotary_emb_fraction"
       " rotary_emb_base", .sides = both, .base = 1000, .ntk_key = "rotary_scaling_factor",
       .without_effect = "max_trained_positions"}),
      family("mistral", none, {.omits_sizes = true, .slides = true, .window = 4096}),
      family("ministral", none, {.keys = "layer_types", .slides = true, .window = 4096}),
      family("mixtral", none, {.base = 1e6, .slides = true}),
      family("phimoe", none, {.keys = "short_mscale long_mscale", .base = 1e6, .slides = true}),
      family("ministral3", none, {.keys = "llama_4_scaling_beta", .head_dim = 128,
       .needs_rope = true, .slides = true}), family("starcoder2", none, {.slides = true}),
      family("phi3 phi3_v phi4mm", none, {.keys = "partial_rotary_factor", .slides = true,
       .without_effect = "full_attn_mod"}),
      family("phi3small", unknown, {.refusal = "be another: phi3small sees keys by a block-sparse"
       " mask, which is not read"}),
      family("cwm", none, {.head_dim = 128, .base = 1e6, .needs_rope = true, .window = 8192,
       .full_every = 4, .full_at = first_of_each}),
      family("dots1", head, {.window = 4096, .max_window_layers = 62}),
      family("qwen2 mimo", none, {.keys = "use_sliding_window", .omits_sizes = true,
       .window_needs_flag = true, .max_window_layers = 28}),
      family("qwen3", head, {.keys = "use_sliding_window", .head_dim = 128,
       .window_needs_flag = true, .max_window_layers = 28}),
      family("qwen2_moe", none, {.keys = "use_sliding_window", .even_slide = true,
       .sliding_note = "transformers 4.57 slides the layers from max_window_layers on instead.",
       .window_needs_flag = true, .max_window_layers = 28}),
      family("qwen3_moe", head, {.keys = "use_sliding_window", .slides = true,
       .window_needs_flag = true, .without_effect = "max_window_layers"}),
      family("qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text", none,
       {.keys = "use_sliding_window", .base = 1e6, .has_axes = true, .window_needs_flag = true,
       .max_window_layers = 80}),
      family("paddleocr_vl_text paddleocr_vl", none, {.keys = "rope_is_neox_style", .head_dim = 128,
       .base = 5e5, .has_axes = true}), family("nemotron", none, {.partial = 0.5}),
      family("qwen2_5_omni_text", none, {.keys = "use_sliding_window", .base = 1e6,
       .has_axes = true, .window_needs_flag = true, .max_window_layers = 28}),
      family("glm4_moe", {.flag = "use_qk_norm"}, {.partial = 0.5}),
      family("qwen3_vl_text", head, {.head_dim = 128, .base = 5e5, .other_base = 5e6,
       .has_axes = true, .order = interleaved, .sections = {24, 20, 20}}),
      family("cosmos3_edge_text", none, {.loses = "rope_theta", .head_dim = 128, .base = 1e8,
       .unscaled = true, .has_axes = true, .order = interleaved, .sections = {24, 20, 20}}),
      family("qwen3_vl_moe_text", head, {.base = 5e5, .other_base = 5e6, .has_axes = true,
       .order = interleaved, .sections = {24, 20, 20}}),
      family("qwen3_omni_moe_text", head, {.base = 1e6, .has_axes = true, .order = interleaved,
       .sections = {24, 20, 20}, .without_effect = "max_window_layers"}),
      family("phi", {.of = norm_scope::centred, .query = "q_layernorm", .key = "k_layernorm",
       .flag = "qk_layernorm"}, {.partial = 0.5}),
      family("glm4v_moe_text", none, {.partial = 0.5, .has_axes = true, .sections = {8, 12, 12}}),
      family("stablelm stablelm_epoch", {.of = norm_scope::centred,
       .query = "q_layernorm.norms.HEAD", .key = "k_layernorm.norms.HEAD", .flag = "qk_layernorm"},
       {.keys = "rope_pct rotary_pct", .lacks = "head_dim", .partial = 0.25}),
      family("minimax_m2", token, {.keys = "partial_rotary_factor rotary_dim attn_type_list",
       .note = all_dims_in_5, .head_dim = 128, .base = 5e6}),
      family("gpt_neox", none, {.keys = "rotary_pct rotary_emb_base",
       .lacks = "head_dim num_key_value_heads", .base_key = "rotary_emb_base", .partial = 0.25}),
      family("persimmon", {.of = norm_scope::centred, .query = "q_layernorm", .key = "k_layernorm",
       .flag = "qk_layernorm", .by_default = true}, {.lacks = "head_dim", .base = 25000,
       .other_base = 1e4, .partial = 0.5}),
      family("hy_v3", head, {.head_dim = 128, .base = 11'158'840}),
      family("telechat3", none, {.yarn_slope = 0.07}), family("gemma", none, {.head_dim = 256}),
      family("gemma2 vaultgemma", none, {.keys = "attn_logit_softcapping", .head_dim = 256,
       .window = 4096, .full_every = 2, .scale_key = "query_pre_attn_scalar", .scale_default = 256,
       .score_cap = 50}),
      family("gemma3_text gemma3", plus_one, {.keys = "sliding_window_pattern"
       " _sliding_window_pattern", .sides = both_by_flag, .within = both_ways::image,
       .head_dim = 256, .context = 131072, .base = 1e6, .local_base = 1e4,
       .window_is = half_if_both_sides, .window = 4096, .full_every = 6,
       .scale_key = "query_pre_attn_scalar", .scale_default = 256,
       .without_effect = "attn_logit_softcapping"}),
      family("gemma3n_text gemma3n", with_values, {.head_dim = 256, .context = 32768, .base = 1e6,
       .local_base = 1e4, .kv_shared = 15, .window = 512, .full_every = 5, .undivided = true}),
      family("gemma4_text gemma4", with_values, {.sides = both_by_word, .head_dim = 256,
       .global_head_dim = 512, .context = 131072, .needs_nested_rope = true, .kv_shared = 0,
       .window_is = half_if_both_sides, .window = 512, .full_every = 6, .last_full = true,
       .undivided = true}), family("minimax_m3_vl_vision", none, {.sides = both, .axial_axes = 3}),
      family("step3p5_vision", unknown, {.sides = both, .axial_axes = 2}),
      family("pixtral", none, {.sides = both, .alternates = true, .unscaled = true}),
      family("gemma4_unified_text gemma4_unified", with_values, {.sides = both_by_word,
       .head_dim = 256, .global_head_dim = 512, .context = 262144, .needs_nested_rope = true,
       .kv_shared = 0, .window_is = half_if_both_sides, .window = 1024, .full_every = 6,
       .last_full = true, .undivided = true}),
      family("gemma4_vision", with_values, {.sides = both, .base = 100, .two_axes = true,
       .undivided = true, .without_effect = "position_embedding_size"}),
      family("modernbert", none, {.keys = "global_attn_every_n_layers", .lacks = "head_dim",
       .sides = both, .base = 160'000, .base_key = "global_rope_theta", .local_base = 1e4,
       .local_scaled = true, .window_is = half_on_each_side, .window_key = "local_attention",
       .window = 128, .full_every = 3, .full_at = first_of_each,
       .without_effect = "position_embedding_type"}),
      family("modernbert-decoder", none, {.keys = "global_attn_every_n_layers", .base = 160'000,
       .base_key = "global_rope_theta", .local_base = 1e4, .other_local_base = 160'000,
       .local_scaled = true, .window_is = half_of_key, .window_key = "local_attention",
       .window = 128, .full_every = 3, .full_at = first_of_each}),
      family("olmo3", token, {.note = "Where rope_parameters scale, transformers 5.12 scales"
       " sliding layers, too; before and after, full ones alone.", .base = 5e5, .other_base = 1e4,
       .scaled_if_full = true, .window = 4096, .full_every = 4}),
      family("laguna", head, {.keys = "partial_rotary_factor", .head_dim = 128,
       .needs_nested_rope = true, .window = 512}),
      family("mellum", head, {.keys = "partial_rotary_factor", .head_dim = 128,
       .needs_nested_rope = true, .window = 1024}),
      family("exaone4 exaone4_5_text exaone_moe", head, {.keys = "sliding_window_pattern",
       .rotation = sliding_layers, .window = 4096, .full_every = 4}),
      family("afmoe", head, {.keys = "global_attn_every_n_layers", .head_dim = 128,
       .rotation = sliding_layers, .window = 1024, .full_every = 4}),
      family("cohere", {.of = norm_scope::centred, .flag = "use_qk_norm"}, {.interleaved = true,
       .base = 5e5, .other_base = 1e4}),
      family("cohere2", none, {.keys = "sliding_window_pattern _sliding_window_pattern",
       .lacks = "head_dim", .rotation = sliding_layers, .interleaved = true, .window = 4096,
       .full_every = 4}),
      family("cohere2_moe", none, {.keys = "sliding_window_pattern", .lacks = "rope_scaling",
       .head_dim = 128, .rotation = sliding_and_dense_layers, .interleaved = true, .window = 4096,
       .needs_layer_types = true}),
      family("gpt_oss", none, {.head_dim = 64, .base = 150000, .needs_rope = true, .window = 128,
       .full_every = 2, .sinks = true}),
      family("smollm3", none, {.keys = "use_sliding_window no_rope_layers no_rope_layer_interval",
       .base = 2e6, .nope_slide = true, .window_needs_flag = true, .nope_every = 4}),
      family("gptj codegen", none, {.keys = "rotary_dim", .lacks = "head_dim rope_theta"
       " rope_parameters num_key_value_heads", .interleaved = true, .rotary_dim = 64}),
      family("llama4_text", {.place = after, .query = "", .key = "", .where_rotated = true,
       .flag = "use_qk_norm", .by_default = true}, {.keys = "no_rope_layers no_rope_layer_interval",
       .head_dim = 128, .interleaved = true, .base = 5e5, .nope_every = 4,
       .chunked_where_rotated = true, .nope_temperature = true}),
      family("muse_glimmer_text muse_glimmer", {.query = "", .key = ""},
       {.keys = "layer_rope_theta", .head_dim = 128, .window = 2048, .full_every = 4,
       .full_at = counted_from_the_end, .full_are_nope = true, .scale_key = "qk_scale_factor",
       .scale_default = 3.87}),
      family("mimo_v2_flash", none, {.keys = "hybrid_layer_pattern add_swa_attention_sink_bias"
       " add_full_attention_sink_bias swa_head_dim", .head_dim = 192, .base = 5e6,
       .local_base = 1e4, .partial = 0.334, .window = 128, .full_every = 6, .first_full = true,
       .sliding_sinks = true, .without_effect = "swa_num_attention_heads attention_chunk_size"}),
      family("step3p5 step3p7", plus_one, {.keys = "layer_types partial_rotary_factors"
       " partial_rotary_factor", .head_dim = 128, .scaled_if_full = true,
       .scale_key = "query_pre_attn_scalar", .without_effect = "num_sliding_attention_heads"
       " yarn_only_types"}),
      family("glm glm4", none, {.head_dim = 128, .interleaved = true, .partial = 0.5}),
      family("glm4v_text", none, {.interleaved = true, .partial = 0.5, .has_axes = true,
       .sections = {8, 12, 12}}), family("ernie4_5_moe", none, {.interleaved = true, .base = 5e5}),
      family("ernie4_5", none, {.head_dim = 128, .interleaved = true, .base = 5e5}),
      family("ernie4_5_vl_moe_text ernie4_5_vl_moe ernie4_5_moe_vl", none, {.interleaved = true,
       .base = 5e5, .unscaled = true, .has_axes = true, .order = alternating, .time_last = true,
       .sections = {22, 22, 20}}),
      family("helium", none, {.head_dim = 128, .interleaved = true, .base = 1e5}),
      family("nanochat", {.place = after, .query = "", .key = ""}, {.opposite = true}),
      family("chatglm", none, {.interleaved = true, .base_is_ratio = true, .partial = 0.5,
       .two_axes_key = "position_encoding_2d", .without_effect = "original_rope"}),
      family("granite granitemoe granitemoeshared", none, {.scale_key = "attention_multiplier",
       .scale_default = 1}), family("hyperclovax", none, {.scale_key = "attention_multiplier"}),
      family("granite_swa granitemoe_swa", none, {.keys = "layer_rope_theta", .window = 128,
       .full_every = 4, .full_at = first_of_each, .scale_key = "attention_multiplier",
       .scale_default = 1, .sinks = true}), family("dbrx", none, {.base_object = "attn_config"}),
  };
  // clang-format on
};

}}}  // namespace posenc::detail
