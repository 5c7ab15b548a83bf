// What each architecture of llama.cpp does by default.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/architecture.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// From llama.cpp @ 1425386f, 2026-07-23: llama_model_rope_type, and each architecture's
/// load_arch_hparams and graph. Of later versions: nanbeige (#25994), minimax-m3 (#24523), dflash's
/// sections.
struct gguf_architectures {
  using enum gguf_rope_type;
  using enum gguf_group::bits;
  static constexpr unsigned slides = window | pattern | local_base;
  static constexpr unsigned all_factors = pair_factors | length_factors;

  // clang-format off
  static constexpr gguf_architecture all[]{
      {"llama deci minicpm llama-embed", norm, all_factors},
      {.names = "llama4", .rope = norm, .reads = window | pair_factors, .full_every = 4,
       .chunk = 8192, .nope_temperature = true},
      {"llada internlm2 xverse command-r olmo arctic deepseek chatglm chameleon bailingmoe"
       " neo-bert maincoder", norm},
      {.names = "baichuan", .rope = norm, .alibi_layers = 40}, {"glm4", norm, sections},
      {"granite granitemoe", norm, finetuned | scale | all_factors},
      {"granitehybrid", norm, finetuned | scale | pair_factors},
      {"arcee eagle3", norm, pair_factors}, {"ernie4_5 ernie4_5-moe", norm, 0, sections},
      {"mistral3", norm, yarn_betas | yarn_log_multiplier | temperature | all_factors},
      {.names = "smollm3", .rope = norm, .nope_every = 4},
      {.names = "cohere2", .rope = norm, .reads = window | pattern, .without_effect = local_base,
       .full_every = 4, .rope_on_sliding_only = true},
      {.names = "cohere2moe", .rope = norm, .reads = window | pattern | pattern_list,
       .without_effect = local_base, .full_every = 4, .full_first = true,
       .rope_on_sliding_only = true, .rope_on_dense = true},
      {"nanbeige", norm, loops}, {.names = "plm", .rope = norm, .last_dims = true},
      {.names = "deepseek2", .rope = norm,
       .reads = yarn_log_multiplier | temperature | temperature_length | latent_length,
       .last_dims = true, .mscale_on_scores = true, .mscale_is_all_dim = true},
      {.names = "deepseek32", .rope = norm, .reads = yarn_log_multiplier | index | latent_length,
       .without_effect = sections, .last_dims = true, .mscale_on_scores = true,
       .index = {.used = true}},
      {.names = "deepseek4", .rope = norm, .reads = window | compression | index | sink_tensors,
       .last_dims = true, .unscaled_local = true, .compressed = true, .index = {.used = true,
       .rope = norm, .last_dims = true, .pooled = 4}, .sinks = true, .note = "Values are the"
       " rotated keys: what attention gives is rotated back at the position of the query."},
      {.names = "deepseek2-ocr", .rope = neox, .without_effect = window, .whole_head = true,
       .unscaled = true, .only_base = 1e4},
      {.names = "mistral4", .rope = norm,
       .reads = yarn_log_multiplier | temperature | temperature_length | latent_length,
       .last_dims = true, .mscale_on_scores = true},
      {.names = "glm-dsa", .rope = norm, .reads = latent_length,
       .without_effect = sections | index, .last_dims = true, .mscale_on_scores = true},
      {"falcon falcon-h1 dbrx jina-bert-v3 nomic-bert nomic-bert-moe eurobert stablelm bitnet qwen"
       " qwen2 qwen2moe qwen3 qwen3moe dream llada-moe rnd1 olmoe phi2 plamo plamo2 gemma"
       " starcoder2 openelm gptneox codeshell orion nemotron bailingmoe2 dots1 hunyuan-moe jais2"
       " lfm2moe seed_oss grovemoe minimax-m2 pangu-embedded hy_v3 talkie", neox},
      {.names = "qwen3next", .rope = neox, .reads = interval, .attention_every = 4},
      {.names = "phi3 phimoe", .rope = neox, .reads = window | length_factors, .all_slide = true,
       .window_is_off = true},
      {"exaone", neox, pair_factors}, {"hunyuan-dense", neox, base_alpha},
      {"hunyuan_vl", neox, sections | base_alpha},
      {.names = "lfm2", .rope = neox, .reads = window, .all_slide = true},
      {"apertus", neox, all_factors},
      {.names = "cogvlm", .rope = neox, .whole_head = true, .unscaled = true, .only_base = 1e4},
      {"glm4moe", neox, sections},
      {.names = "mimo2", .rope = neox, .reads = slides | pattern_list | sink_tensors,
       .local_base = 1e4, .needs_pattern = true},
      {.names = "minicpm3", .rope = neox, .reads = length_factors, .last_dims = true},
      {.names = "grok", .rope = neox, .reads = yarn_betas | yarn_ext_factor | output_scale | cap,
       .without_effect = temperature_length, .beta_fast = 8, .scale_key = "attention.output_scale",
       .attention_scale = 0.08838834764831845, .score_cap = 30},
      {.names = "gemma2", .rope = neox, .reads = slides | cap, .window = 4096, .full_every = 2,
       .embedding_scale_layers = 46, .score_cap = 50},
      {.names = "gemma3", .rope = neox, .reads = slides, .local_base = 1e4, .full_every = 6,
       .embedding_scale_layers = 62},
      {.names = "gemma3n", .rope = neox, .reads = slides, .local_base = 1e4, .keyed_layers = 20,
       .full_every = 5, .attention_scale = 1},
      {.names = "gemma4", .rope = neox, .reads = slides | pair_factors | pattern_list,
       .local_base = 1e4, .keyed_layers = 0, .needs_pattern = true, .attention_scale = 1},
      {.names = "gemma4-assistant", .rope = neox, .reads = slides | pair_factors | pattern_list,
       .local_base = 1e4, .needs_pattern = true, .all_predict = true, .attention_scale = 1,
       .note = "Queries alone rotate here: the target model rotated the keys that they see."},
      {.names = "gemma-embedding", .rope = neox, .reads = slides, .local_base = 1e4,
       .full_every = 6, .symmetric_window = true},
      {.names = "modern-bert", .rope = neox, .reads = slides, .local_base = 1e4, .full_every = 3,
       .full_first = true, .symmetric_window = true},
      {.names = "olmo2", .rope = neox, .reads = window | pattern, .without_effect = local_base,
       .unscaled_local = true, .full_every = 4},
      {.names = "exaone4", .rope = neox, .reads = window | pattern | pair_factors,
       .without_effect = local_base, .window = 4096, .sliding_layers = 64, .full_every = 4,
       .rope_on_sliding_only = true},
      {.names = "exaone-moe", .rope = neox, .reads = window | pattern | pair_factors,
       .without_effect = local_base, .full_every = 4, .rope_on_sliding_only = true},
      {.names = "afmoe", .rope = neox, .reads = slides, .full_every = 4, .nope_every = 4},
      {.names = "smallthinker", .rope = neox, .reads = slides, .full_every = 4, .full_first = true,
       .nope_first_of = 4},
      {.names = "plamo3", .rope = neox, .reads = slides, .local_base = 1e4, .full_every = 8},
      {.names = "mellum", .rope = neox, .reads = window | pattern | pattern_list,
       .without_effect = local_base, .unscaled_local = true, .full_every = 4},
      {.names = "laguna", .rope = neox, .reads = slides, .unscaled_local = true, .full_every = 4,
       .full_first = true},
      {.names = "step35", .rope = neox, .reads = slides | all_factors | pattern_list,
       .half_on_full = true, .shared_factors = true, .local_base = 1e4, .needs_pattern = true},
      {.names = "minimax-m3", .rope = neox, .reads = index | index_blocks, .index = {.used = true,
       .after_dense = true}},
      {.names = "dflash", .rope = neox, .reads = window | pattern | pattern_list,
       .without_effect = sections, .needs_pattern = true, .refused = "hyper_connection.count"},
      {.names = "gpt-oss", .rope = neox, .reads = slides | sink_tensors, .full_every = 2,
       .sinks = true},
      {"qwen2vl paddleocr", mrope, sections}, {"qwen3vl qwen3vlmoe", imrope, sections},
      {.names = "qwen35 qwen35moe", .rope = imrope, .reads = sections | interval,
       .attention_every = 4},
      {"jamba nemotron_h nemotron_h_moe", none}, {"kimi-linear", none, latent_length},
      {.names = "bloom refact jina-bert-v2", .rope = none, .alibi = true},
      {.names = "jais", .rope = none, .reads = max_bias, .alibi = true, .scale_by_dim = true},
      {.names = "mpt", .rope = none, .reads = max_bias, .learned = true},
      {.names = "gpt2 starcoder bert", .rope = none, .learned = true},
      {.names = "t5 t5encoder", .rope = none, .reads = bucket_count, .buckets = true,
       .attention_scale = 1},
  };
  // clang-format on

  /// Null for an architecture that is not known.
  static gguf_architecture const* find(std::string_view name) {
    return record_of(all, &gguf_architecture::names, name);
  }
};

}  // namespace posenc::detail
