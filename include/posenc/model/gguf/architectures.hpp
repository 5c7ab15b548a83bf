// What each architecture of llama.cpp does by default.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/architecture.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// From llama.cpp @ 1425386f, 2026-07-23: llama_model_rope_type, and each architecture's
/// load_arch_hparams and graph. Of later versions: nanbeige (#25994), minimax-m3 (#24523), dflash's
/// sections.
struct gguf_architectures : norm_rules {
  using enum position_rule;
  using enum rotation_rule;
  using enum full_place;
  using enum window_rule;
  using enum gguf_group::bits;
  static constexpr unsigned slides = window | pattern | local_base;
  static constexpr unsigned all_factors = pair_factors | length_factors;

  /// Their numbers must be given.
  static constexpr index_rule given_heads{
      .heads = {"index_n_heads"}, .head_dim = {"index_head_dim"}, .chosen = {"index_topk"}};

  // clang-format off
  static constexpr model_family all[]{
      {.types = "llama deci minicpm llama-embed", .norm = none, .reads = all_factors,
       .interleaved = true}, {.types = "chameleon", .norm = centred, .interleaved = true},
      {.types = "llama4", .norm = {.place = after, .query = "", .key = "", .where_rotated = true},
       .reads = window | pair_factors, .interleaved = true, .nope_every = 4,
       .chunked_where_rotated = true, .nope_temperature = true},
      {.types = "llada internlm2 xverse olmo arctic deepseek chatglm bailingmoe neo-bert",
       .norm = none, .interleaved = true},
      {.types = "command-r", .norm = {.of = norm_scope::centred, .optional = true},
       .interleaved = true}, {.types = "maincoder", .norm = {.place = after}, .interleaved = true},
      {.types = "baichuan", .norm = none, .interleaved = true, .alibi_if_layers = 40},
      {.types = "glm4", .norm = none, .reads = sections, .interleaved = true},
      {.types = "granite granitemoe", .norm = none, .reads = finetuned | scale | all_factors,
       .interleaved = true},
      {.types = "granitehybrid", .norm = none, .reads = finetuned | scale | pair_factors,
       .interleaved = true},
      {.types = "arcee eagle3", .norm = none, .reads = pair_factors, .interleaved = true},
      {.types = "ernie4_5 ernie4_5-moe", .norm = none, .interleaved = true,
       .without_effect = "rope.dimension_sections"},
      {.types = "mistral3", .norm = none,
       .reads = yarn_betas | yarn_log_multiplier | temperature | all_factors, .interleaved = true},
      {.types = "smollm3", .norm = none, .interleaved = true, .nope_every = 4},
      {.types = "cohere2", .norm = none, .reads = window | pattern, .rotation = sliding_layers,
       .interleaved = true, .full_every = 4, .without_effect = "rope.freq_base_swa"},
      {.types = "cohere2moe", .norm = none, .reads = window | pattern | pattern_list,
       .rotation = sliding_and_dense_layers, .interleaved = true, .full_every = 4,
       .full_at = first_of_each, .without_effect = "rope.freq_base_swa"},
      {.types = "nanbeige", .reads = loops, .interleaved = true},
      {.types = "plm", .norm = none, .interleaved = true, .last_dims = true},
      {.types = "deepseek2", .norm = none,
       .reads = yarn_log_multiplier | temperature | temperature_length | latent_length,
       .interleaved = true, .last_dims = true, .mscale_on_scores = true, .mscale_is_all_dim = true},
      {.types = "deepseek32", .norm = none, .reads = yarn_log_multiplier | index | latent_length,
       .interleaved = true, .last_dims = true, .index = given_heads, .mscale_on_scores = true,
       .without_effect = "rope.dimension_sections"},
      {.types = "deepseek4", .norm = {.query = "", .key = "kv_norm"},
       .reads = window | compression | index | sink_tensors, .note = "Values are the rotated keys:"
       " what attention gives is rotated back at the position of the query.", .interleaved = true,
       .scaled_if_full = true, .last_dims = true, .compressed = true,
       .index = {.heads = given_heads.heads, .head_dim = given_heads.head_dim,
       .chosen = given_heads.chosen, .key_stride = {"", 4}, .interleaved = true, .last_dims = true,
       .layers = compressed_sparse_attention}, .sinks = true},
      {.types = "deepseek2-ocr", .norm = none, .only_base = 1e4, .whole_head = true,
       .unscaled = true, .without_effect = "attention.sliding_window"}, {"olmoe minimax-m2", token},
      {.types = "mistral4", .norm = none,
       .reads = yarn_log_multiplier | temperature | temperature_length | latent_length,
       .interleaved = true, .last_dims = true, .mscale_on_scores = true}, {"plamo2", own_weights},
      {.types = "glm-dsa", .norm = none, .reads = latent_length, .interleaved = true,
       .last_dims = true, .mscale_on_scores = true, .without_effect = "rope.dimension_sections"
       " attention.indexer.head_count attention.indexer.key_length attention.indexer.top_k"},
      {"falcon falcon-h1 dbrx jina-bert-v3 nomic-bert nomic-bert-moe eurobert bitnet qwen qwen2"
       " qwen2moe dream phi2 plamo gemma starcoder2 gptneox codeshell orion nemotron jais2 seed_oss"
       " pangu-embedded", none}, {"stablelm", {.of = norm_scope::centred, .optional = true}},
      {"qwen3 qwen3moe llada-moe rnd1 openelm bailingmoe2 dots1 lfm2moe grovemoe hy_v3", head},
      {"hunyuan-moe", {.place = after}}, {"exaone", none, pair_factors},
      {"talkie", {.of = norm_scope::own_weights, .place = after, .key = ""}},
      {.types = "qwen3next", .norm = head, .reads = interval, .full_every = 4,
       .others = no_attention}, {"hunyuan-dense", {.place = after}, base_alpha},
      {.types = "phi3 phimoe", .norm = none, .reads = window | length_factors, .slides = true,
       .window_is_off = true}, {"hunyuan_vl", {.place = after}, sections | base_alpha},
      {.types = "lfm2", .norm = head, .reads = window, .slides = true},
      {"apertus", head, all_factors}, {"glm4moe", {.optional = true}, sections},
      {.types = "cogvlm", .norm = none, .only_base = 1e4, .whole_head = true, .unscaled = true},
      {.types = "mimo2", .norm = none, .reads = slides | pattern_list | sink_tensors,
       .local_base = 1e4, .needs_layer_types = true},
      {.types = "minicpm3", .norm = none, .reads = length_factors, .last_dims = true},
      {.types = "grok", .norm = none, .reads = yarn_betas | yarn_ext_factor | output_scale | cap,
       .beta_fast = 8, .scale_key = "softmax_scale", .scale_default = 0.08838834764831845,
       .score_cap = 30, .without_effect = "attention.temperature_length"},
      {.types = "gemma2", .norm = none, .reads = slides | cap, .window = 4096, .full_every = 2,
       .embedding_scale_layers = 46, .score_cap = 50},
      {.types = "gemma3", .norm = head, .reads = slides, .local_base = 1e4, .full_every = 6,
       .embedding_scale_layers = 62},
      {.types = "gemma3n", .norm = with_values, .reads = slides, .local_base = 1e4, .kv_shared = 0,
       .keyed_layers = 20, .full_every = 5, .scale_default = 1},
      {.types = "gemma4", .norm = with_values, .reads = slides | pair_factors | pattern_list,
       .local_base = 1e4, .kv_shared = 0, .needs_layer_types = true, .scale_default = 1},
      {.types = "gemma4-assistant", .reads = slides | pair_factors | pattern_list, .note = "Queries"
       " alone rotate here: the target model rotated the keys that they see.", .all_predict = true,
       .local_base = 1e4, .needs_layer_types = true, .scale_default = 1},
      {.types = "gemma-embedding", .norm = head, .reads = slides, .local_base = 1e4,
       .window_is = half_on_each_side, .full_every = 6},
      {.types = "modern-bert", .norm = none, .reads = slides, .local_base = 1e4,
       .window_is = half_on_each_side, .full_every = 3, .full_at = first_of_each},
      {.types = "olmo2", .norm = token, .reads = window | pattern, .scaled_if_full = true,
       .full_every = 4, .without_effect = "rope.freq_base_swa"},
      {.types = "exaone4", .norm = head, .reads = window | pattern | pair_factors,
       .rotation = sliding_layers, .slide_if_layers = 64, .window = 4096, .full_every = 4,
       .without_effect = "rope.freq_base_swa"},
      {.types = "exaone-moe", .norm = head, .reads = window | pattern | pair_factors,
       .rotation = sliding_layers, .full_every = 4, .without_effect = "rope.freq_base_swa"},
      {.types = "afmoe", .norm = head, .reads = slides, .full_every = 4, .nope_every = 4},
      {.types = "smallthinker", .norm = none, .reads = slides, .full_every = 4,
       .full_at = first_of_each, .nope_first_of = 4},
      {.types = "plamo3", .norm = head, .reads = slides, .local_base = 1e4, .full_every = 8},
      {.types = "mellum", .norm = head, .reads = window | pattern | pattern_list,
       .scaled_if_full = true, .full_every = 4, .without_effect = "rope.freq_base_swa"},
      {.types = "laguna", .norm = head, .reads = slides, .scaled_if_full = true, .full_every = 4,
       .full_at = first_of_each},
      {.types = "step35", .norm = head, .reads = slides | all_factors | pattern_list,
       .local_base = 1e4, .half_on_full = true, .shared_factors = true, .needs_layer_types = true},
      {.types = "minimax-m3", .norm = head, .reads = index | index_blocks,
       .index = {.heads = given_heads.heads, .head_dim = given_heads.head_dim,
       .chosen = given_heads.chosen, .block = {"index_block_size"},
       .local_blocks = {"index_local_blocks", 0, "", 0}, .after_dense = true}},
      {.types = "dflash", .norm = head, .reads = window | pattern | pattern_list,
       .refused_key = "hyper_connection.count", .needs_layer_types = true,
       .without_effect = "rope.dimension_sections"},
      {.types = "gpt-oss", .norm = none, .reads = slides | sink_tensors, .full_every = 2,
       .sinks = true},
      {.types = "qwen2vl paddleocr", .norm = none, .reads = sections, .has_axes = true},
      {.types = "qwen3vl qwen3vlmoe", .norm = head, .reads = sections, .has_axes = true,
       .order = axis_order::interleaved},
      {.types = "qwen35 qwen35moe", .norm = head, .reads = sections | interval, .has_axes = true,
       .order = axis_order::interleaved, .full_every = 4, .others = no_attention},
      {.types = "jamba nemotron_h nemotron_h_moe", .norm = none, .rotation = no_layer},
      {.types = "kimi-linear", .norm = none, .reads = latent_length, .rotation = no_layer},
      {.types = "bloom refact", .norm = none, .positions = alibi, .rotation = no_layer},
      {.types = "jina-bert-v2", .norm = {.of = norm_scope::centred, .optional = true},
       .positions = alibi, .rotation = no_layer},
      {.types = "jais", .norm = none, .reads = max_bias, .positions = alibi, .rotation = no_layer,
       .scale_by_dim = true},
      {.types = "mpt", .norm = {.of = norm_scope::centred, .optional = true}, .reads = max_bias,
       .positions = alibi_or_learned, .rotation = no_layer},
      {.types = "gpt2 starcoder bert", .norm = none, .positions = alibi_or_learned,
       .rotation = no_layer},
      {.types = "t5 t5encoder", .norm = none, .reads = bucket_count, .positions = buckets,
       .rotation = no_layer, .scale_default = 1},
  };
  // clang-format on

  /// Null for an architecture that is not known.
  static model_family const* find(std::string_view name) {
    return record_of(all, &model_family::types, name);
  }
};

}  // namespace posenc::detail
