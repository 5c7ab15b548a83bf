// The defaults of each model_type.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/family.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// From the classes of the models in Hugging Face transformers 4.57 to 5.17, and in its repository
/// until 9 October 2026. MiniMax-01, Qwen 4, Baichuan, DroPE, and what transformers lacks, are from
/// their authors' code.
struct model_families : norm_rules {
  using enum position_rule;
  using enum rotation_rule;
  using enum full_place;
  using enum window_rule;
  using enum axis_order;
  using enum side_rule;
  static constexpr std::string_view all_dims_in_5 =
      "If partial_rotary_factor is absent, transformers 5.0 to 5.17 ignores rotary_dim and rotates "
      "all dims (huggingface/transformers#48241).";
  static constexpr std::string_view of_encoder =
      "The encoder's layers; queries of the decoder see no later keys.";
  static constexpr std::string_view of_decoder =
      "The decoder's layers; queries of the encoder see some keys on both sides.";

  // clang-format off
  static constexpr model_family all[]{
      // All layers have attention, and rotate.
      family("llama", none, {.omits_sizes = true}), family("olmo2 olmoe", token),
      family("olmo arcee jais2 aria_text internlm internlm2 internlm3 deepseek exaone minicpm"
       " minicpm4",
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
      family("embedding_gemma2_text embedding_gemma2", with_values,
       {.keys = "sliding_window_pattern", .sides = both, .head_dim = 256, .global_head_dim = 512,
       .global_key_heads = 1, .context = 262144, .base = 1e6, .local_base = 1e4,
       .window_is = each_side, .window = 512, .full_every = 6, .last_full = true,
       .undivided = true}),
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
      family("olmo3", token, {.note = "If rope_parameters scale, transformers 5.12 scales"
       " sliding layers too; earlier and later versions scale only full layers.",
       .base = 5e5, .other_base = 1e4,
       .scaled_if_full = true, .window = 4096, .full_every = 4}),
      family("laguna", head, {.keys = "partial_rotary_factor", .head_dim = 128,
       .needs_nested_rope = true, .window = 512}),
      family("mellum", head, {.keys = "partial_rotary_factor", .head_dim = 128,
       .needs_nested_rope = true, .window = 1024}),
      family("exaone4 exaone4_5_text exaone_moe", head, {.keys = "sliding_window_pattern",
       .rotation = sliding_layers, .window = 4096, .full_every = 4}),
      family("kolibri1", head, {.head_dim = 128, .rotation = sliding_layers, .window = 513,
       .full_every = 5}),
      family("zgcm", head, {.keys = "partial_rotary_factor window_attn_skip_freq", .head_dim = 128,
       .base = 1e7, .partial = 0.334, .unscaled = true, .window = 128, .full_every = 6}),
      family("k2_horizon", {.of = norm_scope::own_weights, .flag = "query_key_norm"},
       {.keys = "use_sliding_window", .note = "Experts of values (MoVA), and gates behind"
       " attention, are not described.", .head_dim = 64, .base = 1e6, .needs_rope = true,
       .is_whole = true, .slides = true, .window_needs_flag = true}),
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
      // Attention is latent or sparse, some layers have none, or nothing rotates.
      family("qwen3_next berrylm", plus_one, {.head_dim = 256, .partial = 0.25, .full_every = 4,
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
      family("longcat_flash", none, {.note = "A layer has two attentions, one behind the other."
       " Latent vectors are multiplied by sqrt(hidden_size / rank) before their projections, which"
       " is not described.", .interleaved = true, .base = 1e7, .last_dims = true,
       .mscale_on_scores = true}),
      family("deepseek_v32 axk2", none, {.keys = "layer_types", .interleaved = true,
       .last_dims = true, .index = deepseek_index, .mscale_on_scores = true}),
      family("glm_moe_dsa", none, {.keys = "layer_types", .interleaved = true, .last_dims = true,
       .index = {.heads = {"index_n_heads", 32}, .head_dim = deepseek_index.head_dim,
       .chosen = deepseek_index.chosen, .interleaved = true}, .mscale_on_scores = true}),
      family("hy_v4", none, {.keys = "layer_types", .last_dims = true, .index = {.heads =
       {"index_n_heads", 16}, .head_dim = deepseek_index.head_dim, .chosen = deepseek_index.chosen,
       .last_dims = true, .shared_every = 4}, .sinks = true, .mscale_on_scores = true,
       .without_effect = "index_chunk_size learnable_sink_init"}),
      family("dots3_note_text dots3_note", unknown, {.keys = "layer_types use_sliding_window"
       " swa_head_dim", .note = "Before the rotation, the dims of a key that rotate are normed."
       " Latent vectors are multiplied by sqrt(hidden_size / rank) before their projections, if"
       " apply_mla_qkv_lora_rescale is true. Neither is described.",
       .interleaved = true, .base = 8e7, .local_base = 5e4, .last_dims = true, .unscaled = true,
       .ignores_partial = true, .local_nope_dim = 192, .local_rope_dim = 64, .window = 512,
       .needs_layer_types = true, .index = {.heads = deepseek_index.heads,
       .head_dim = deepseek_index.head_dim, .chosen = deepseek_index.chosen, .interleaved = true},
       .without_effect = "k_rope_only_layernorm swa_num_attention_heads swa_q_lora_rank"
       " swa_kv_lora_rank swa_attention_gate_type"}),
      family("glm5_next_text glm5_next", none, {.keys = "layer_types linear_attn_config"
       " qk_nope_head_dim qk_rope_head_dim", .note = "A pooled index key is a gated sum of its"
       " tokens, with learned offsets by their place in the pool.", .rotation = no_layer,
       .nope_key = "mla_use_nope", .full_every = 4, .others = linear_attention, .first_listed = 0,
       .index = {.heads = {"index_n_heads", 32}, .head_dim = deepseek_index.head_dim,
       .chosen = deepseek_index.chosen, .key_stride = {"index_kpool", 16},
       .chosen_in_tokens = true},
       .without_effect = "index_kpool_compress index_kpool_always_select_tail"}),
      family("bailing_hybrid", none, {.keys = "partial_rotary_factor", .lacks = "layer_types",
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
       .interleaved = true, .last_dims = true,
       .layers = "compressed_sparse_attention"}, .sinks = true}),
      family("deepseek_v41_text deepseek_v41", {.query = "", .key = "kv_norm", .keys_alone = true},
       {.keys = "compress_ratios", .lacks = "layer_types", .note = "Values are the rotated keys:"
       " what attention gives is rotated back at the position of the query. The model rounds after"
       " RoPE, whatever its weights are: window keys to e4m3 (32 a scale), pooled keys to e2m1"
       " (16), index queries and keys to e2m1 (32). This rounding is not described.",
       .head_dim = 512, .interleaved = true, .last_dims = true, .window = 128,
       .needs_layer_types = true, .compressed = true, .shares_pooled = true,
       .index = {.heads = {"index_n_heads", 32}, .head_dim = deepseek_index.head_dim,
       .chosen = {"index_topk", 512}, .interleaved = true, .last_dims = true},
       .sinks = true, .without_effect = "layer_types"}),
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
      family("t5 mt5 umt5", none, {.positions = buckets, .sides = both, .note = of_encoder,
       .undivided = true}),
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
      // Measured: classes of transformers 5.12 that were run with random weights. Nothing rotates.
      family("ernie data2vec-text roberta-prelayernorm roc_bert xmod dpr bert-generation"
       " bridgetower_text_model",
       none, {.positions = learned_absolute, .sides = both_unless_decoder}),
      family("blip_text_model", none, {.positions = learned_absolute, .sides = both_unless_decoder,
       .note = "That is of captions; for retrieval queries see both sides, whatever is_decoder."}),
      family("albert megatron-bert rembert splinter squeezebert luke markuplm layoutlm ibert"
       " align_text_model altclip_text_model chinese_clip_text_model clap_text_model"
       " flava_text_model visual_bert tapas",
       none, {.positions = learned_absolute, .sides = both,
       .without_effect = "max_2d_position_embeddings reset_position_index_per_cell"
       " aggregation_temperature"}),
      family("siglip_text_model siglip2_text_model", none, {.positions = learned, .sides = both}),
      family("clip_text_model clipseg_text_model metaclip_2_text_model groupvit_text_model"
       " owlvit_text_model owlv2_text_model xclip_text_model aimv2_text_model biogpt openai-gpt"
       " semantic coarse_acoustics",
       none, {.positions = learned}),
      family("git", none, {.positions = learned, .note = "Tokens of the image, which come first,"
       " see each other both ways."}),
      family("gpt-sw3 imagegpt", none, {.positions = learned, .flag_undivides = true}),
      family("blenderbot blenderbot-small mvp plbart", none, {.positions = learned,
       .is_decoder = true}),
      family("bigbird_pegasus led", none, {.positions = learned, .note = of_decoder,
       .is_decoder = true, .without_effect = "attention_type attention_window"
       " max_decoder_position_embeddings max_encoder_position_embeddings"}),
      family("m2m_100 nllb-moe marian pegasus fsmt speech_to_text", none, {.positions = sinusoidal,
       .is_decoder = true, .without_effect = "max_source_positions"}),
      family("pegasus_x", none, {.positions = sinusoidal, .note = of_decoder, .is_decoder = true}),
      family("ctrl xglm kosmos_2_text_model kosmos_2_5_text_model", none,
       {.positions = sinusoidal}),
      family("mpnet", none, {.positions = learned_buckets, .sides = both}),
      family("pop2piano", none, {.positions = buckets, .sides = both, .note = of_encoder,
       .undivided = true}),
      family("switch_transformers", none, {.positions = buckets, .sides = both, .note = "The"
       " encoder's layers. transformers 5.12 adds the bias in the first layer alone, the model was"
       " trained with it in all.", .undivided = true}),
      family("longt5", none, {.positions = buckets, .note = of_decoder, .is_decoder = true,
       .undivided = true, .without_effect = "encoder_attention_type"}),
      // The same, with rotations.
      family("jetmoe", none), family("higgs_audio_v2", none, {.needs_rope = true}),
      family("deepseek_ocr2_text", none, {.lacks = "head_dim"}),
      family("gpt_neox_japanese", none, {.keys = "partial_rotary_factor rotary_pct rotary_emb_base",
       .lacks = "head_dim", .base_key = "rotary_emb_base"}),
      family("diffllama", none, {.note = "Each head is the difference of two softmaxes."}),
      family("jina_embeddings_v3", none, {.sides = both, .base = 2e4}),
      family("esmc", centred, {.sides = both}),
      family("roformer", none, {.lacks = "head_dim", .sides = both, .interleaved = true}),
      family("esm", none, {.keys = "position_embedding_type", .positions = learned_or_rotary,
       .sides = both_unless_decoder}),
      family("mllama_text_model", none, {.keys = "cross_attention_layers", .base = 5e5,
       .needs_layer_types = true}), family("olmo_hybrid", token, {.needs_layer_types = true}),
      family("moonshine", none, {.note = "The decoder's layers; those of the encoder rotate alike"
       " and see both sides.", .is_decoder = true, .interleaved = true, .partial = 0.9}),
      family("phi4_multimodal", none, {.keys = "partial_rotary_factor", .slides = true,
       .without_effect = "original_max_position_embeddings"}),
      family("granite4_vision_text", none, {.scale_key = "attention_multiplier",
       .scale_default = 1}),
      family("glm_ocr_text", none, {.keys = "partial_rotary_factor", .interleaved = true,
       .has_axes = true, .sections = {8, 12, 12}}),
      family("glm_image_text", none, {.partial = 0.5, .has_axes = true, .sections = {8, 12, 12}}),
      // Models of more than text, whose text_config is read.
      family("granite_speech granite_speech_plus musicflamingo fuyu align grounding-dino"
       " mm-grounding-dino omdet-turbo",
       unknown, {.refusal = "be with a text_config", .without_effect = "window_size"
       " max_position_embeddings rope_parameters temperature_init_value position_embedding_type"
       " positional_encoding_temperature positional_embedding_temperature"}),
  };
  // clang-format on
};

/// The family with this model_type, or null.
inline model_family const* family_of(std::string_view type) {
  return record_of(model_families::all, &model_family::types, type);
}

/// The key of a config.json that says whether keys have a bias; empty: the class alone decides.
struct key_bias_rule {
  std::string_view types, key;
  bool by_default;  ///< where that key is absent
};

/// For types that rotate. From the parameters of the classes in Hugging Face transformers 5.12,
/// each made with and without its keys. MiMo is a Qwen 2. Latent attention is not listed: its
/// rotated key is a part of a projection.
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
