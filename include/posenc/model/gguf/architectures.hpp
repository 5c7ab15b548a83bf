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
      {"llama", norm, all_factors},
      {.name = "llama4", .rope = norm, .reads = window | pair_factors, .full_every = 4,
       .chunk = 8192, .nope_temperature = true},
      {"llada", norm}, {"deci", norm, all_factors},
      {.name = "baichuan", .rope = norm, .alibi_layers = 40}, {"internlm2", norm},
      {"minicpm", norm, all_factors}, {"xverse", norm}, {"command-r", norm}, {"olmo", norm},
      {"arctic", norm}, {"deepseek", norm}, {"chatglm", norm}, {"glm4", norm, sections},
      {"granite", norm, finetuned | scale | all_factors},
      {"granitemoe", norm, finetuned | scale | all_factors},
      {"granitehybrid", norm, finetuned | scale | pair_factors}, {"chameleon", norm},
      {"bailingmoe", norm}, {"neo-bert", norm}, {"arcee", norm, pair_factors},
      {"ernie4_5", norm, 0, sections}, {"ernie4_5-moe", norm, 0, sections},
      {"mistral3", norm, yarn_betas | yarn_log_multiplier | temperature | all_factors},
      {"llama-embed", norm, all_factors}, {"maincoder", norm},
      {.name = "smollm3", .rope = norm, .nope_every = 4},
      {.name = "cohere2", .rope = norm, .reads = window | pattern, .without_effect = local_base,
       .full_every = 4, .rope_on_sliding_only = true},
      {.name = "cohere2moe", .rope = norm, .reads = window | pattern | pattern_list,
       .without_effect = local_base, .full_every = 4, .full_first = true,
       .rope_on_sliding_only = true, .rope_on_dense = true},
      {"nanbeige", norm, loops}, {"eagle3", norm, pair_factors},
      {.name = "plm", .rope = norm, .last_dims = true},
      {.name = "deepseek2", .rope = norm,
       .reads = yarn_log_multiplier | temperature | temperature_length | latent_length,
       .last_dims = true, .mscale_on_scores = true, .mscale_is_all_dim = true},
      {.name = "deepseek32", .rope = norm, .reads = yarn_log_multiplier | index | latent_length,
       .without_effect = sections, .last_dims = true, .mscale_on_scores = true,
       .index = {.used = true}},
      {.name = "deepseek4", .rope = norm, .reads = window | compression | index | sink_tensors,
       .last_dims = true, .unscaled_local = true, .compressed = true, .index = {.used = true,
       .rope = norm, .last_dims = true, .pooled = 4}, .sinks = true,
       .note = "Values are the rotated keys: what attention gives is rotated back at the position "
       "of the query."},
      {.name = "deepseek2-ocr", .rope = neox, .without_effect = window, .whole_head = true,
       .unscaled = true, .only_base = 1e4},
      {.name = "mistral4", .rope = norm,
       .reads = yarn_log_multiplier | temperature | temperature_length | latent_length,
       .last_dims = true, .mscale_on_scores = true},
      {.name = "glm-dsa", .rope = norm, .reads = latent_length, .without_effect = sections | index,
       .last_dims = true, .mscale_on_scores = true},
      {"falcon", neox}, {"falcon-h1", neox}, {"dbrx", neox}, {"jina-bert-v3", neox},
      {"nomic-bert", neox}, {"nomic-bert-moe", neox}, {"eurobert", neox}, {"stablelm", neox},
      {"bitnet", neox}, {"qwen", neox}, {"qwen2", neox}, {"qwen2moe", neox}, {"qwen3", neox},
      {"qwen3moe", neox},
      {.name = "qwen3next", .rope = neox, .reads = interval, .attention_every = 4}, {"dream", neox},
      {"llada-moe", neox}, {"rnd1", neox}, {"olmoe", neox}, {"phi2", neox},
      {.name = "phi3", .rope = neox, .reads = window | length_factors, .all_slide = true,
       .window_is_off = true},
      {.name = "phimoe", .rope = neox, .reads = window | length_factors, .all_slide = true,
       .window_is_off = true},
      {"plamo", neox}, {"plamo2", neox}, {"gemma", neox}, {"starcoder2", neox}, {"openelm", neox},
      {"gptneox", neox}, {"codeshell", neox}, {"orion", neox}, {"nemotron", neox},
      {"exaone", neox, pair_factors}, {"bailingmoe2", neox}, {"dots1", neox}, {"hunyuan-moe", neox},
      {"hunyuan-dense", neox, base_alpha}, {"hunyuan_vl", neox, sections | base_alpha},
      {"jais2", neox}, {.name = "lfm2", .rope = neox, .reads = window, .all_slide = true},
      {"lfm2moe", neox}, {"seed_oss", neox}, {"grovemoe", neox}, {"apertus", neox, all_factors},
      {"minimax-m2", neox}, {"pangu-embedded", neox},
      {.name = "cogvlm", .rope = neox, .whole_head = true, .unscaled = true, .only_base = 1e4},
      {"glm4moe", neox, sections},
      {.name = "mimo2", .rope = neox, .reads = slides | pattern_list | sink_tensors,
       .local_base = 1e4, .needs_pattern = true},
      {.name = "minicpm3", .rope = neox, .reads = length_factors, .last_dims = true},
      {.name = "grok", .rope = neox, .reads = yarn_betas | yarn_ext_factor | output_scale | cap,
       .without_effect = temperature_length, .beta_fast = 8, .scale_key = "attention.output_scale",
       .attention_scale = 0.08838834764831845, .score_cap = 30},
      {.name = "gemma2", .rope = neox, .reads = slides | cap, .window = 4096, .full_every = 2,
       .embedding_scale_layers = 46, .score_cap = 50},
      {.name = "gemma3", .rope = neox, .reads = slides, .local_base = 1e4, .full_every = 6,
       .embedding_scale_layers = 62},
      {.name = "gemma3n", .rope = neox, .reads = slides, .local_base = 1e4,
       .keyed_layers = 20, .full_every = 5, .attention_scale = 1},
      {.name = "gemma4", .rope = neox, .reads = slides | pair_factors | pattern_list,
       .local_base = 1e4, .keyed_layers = 0, .needs_pattern = true, .attention_scale = 1},
      {.name = "gemma4-assistant", .rope = neox, .reads = slides | pair_factors | pattern_list,
       .local_base = 1e4, .needs_pattern = true, .all_predict = true, .attention_scale = 1,
       .note = "Queries alone rotate here: the target model rotated the keys that they see."},
      {.name = "gemma-embedding", .rope = neox, .reads = slides, .local_base = 1e4, .full_every = 6,
       .symmetric_window = true},
      {.name = "modern-bert", .rope = neox, .reads = slides, .local_base = 1e4, .full_every = 3,
       .full_first = true, .symmetric_window = true},
      {.name = "olmo2", .rope = neox, .reads = window | pattern, .without_effect = local_base,
       .unscaled_local = true, .full_every = 4},
      {.name = "exaone4", .rope = neox, .reads = window | pattern | pair_factors,
       .without_effect = local_base, .window = 4096, .sliding_layers = 64, .full_every = 4,
       .rope_on_sliding_only = true},
      {.name = "exaone-moe", .rope = neox, .reads = window | pattern | pair_factors,
       .without_effect = local_base, .full_every = 4, .rope_on_sliding_only = true},
      {.name = "afmoe", .rope = neox, .reads = slides, .full_every = 4, .nope_every = 4},
      {.name = "smallthinker", .rope = neox, .reads = slides, .full_every = 4, .full_first = true,
       .nope_first_of = 4},
      {.name = "plamo3", .rope = neox, .reads = slides, .local_base = 1e4, .full_every = 8},
      {.name = "mellum", .rope = neox, .reads = window | pattern | pattern_list,
       .without_effect = local_base, .unscaled_local = true, .full_every = 4},
      {.name = "laguna", .rope = neox, .reads = slides, .unscaled_local = true, .full_every = 4,
       .full_first = true},
      {.name = "step35", .rope = neox, .reads = slides | all_factors | pattern_list,
       .half_on_full = true, .shared_factors = true, .local_base = 1e4, .needs_pattern = true},
      {.name = "minimax-m3", .rope = neox, .reads = index | index_blocks, .index = {.used = true,
       .after_dense = true}},
      {.name = "dflash", .rope = neox, .reads = window | pattern | pattern_list,
       .without_effect = sections, .needs_pattern = true, .refused = "hyper_connection.count"},
      {"hy_v3", neox}, {"talkie", neox},
      {.name = "gpt-oss", .rope = neox, .reads = slides | sink_tensors, .full_every = 2,
       .sinks = true},
      {"qwen2vl", mrope, sections}, {"paddleocr", mrope, sections}, {"qwen3vl", imrope, sections},
      {"qwen3vlmoe", imrope, sections},
      {.name = "qwen35", .rope = imrope, .reads = sections | interval, .attention_every = 4},
      {.name = "qwen35moe", .rope = imrope, .reads = sections | interval, .attention_every = 4},
      {"jamba", none}, {"nemotron_h", none}, {"nemotron_h_moe", none},
      {"kimi-linear", none, latent_length}, {.name = "bloom", .rope = none, .alibi = true},
      {.name = "refact", .rope = none, .alibi = true},
      {.name = "jina-bert-v2", .rope = none, .alibi = true},
      {.name = "jais", .rope = none, .reads = max_bias, .alibi = true, .scale_by_dim = true},
      {.name = "mpt", .rope = none, .reads = max_bias, .learned = true},
      {.name = "gpt2", .rope = none, .learned = true},
      {.name = "starcoder", .rope = none, .learned = true},
      {.name = "bert", .rope = none, .learned = true},
      {.name = "t5", .rope = none, .reads = bucket_count, .buckets = true, .attention_scale = 1},
      {.name = "t5encoder", .rope = none, .reads = bucket_count, .buckets = true,
       .attention_scale = 1},
  };
  // clang-format on

  /// Null for an architecture that is not known.
  static gguf_architecture const* find(std::string_view name) {
    return record_of(all, &gguf_architecture::name, name);
  }
};

}  // namespace posenc::detail
