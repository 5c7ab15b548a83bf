// The defaults of each architecture of llama.cpp.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/detail/keys.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// A record; `reads` is of gguf_group: what llama.cpp reads for it, and not for all.
constexpr model_family family(std::string_view types, norm_rule const& norm, unsigned reads,
                              model_family rest = {}) {
  rest.reads = reads;
  return family(types, norm, rest);
}

/// From llama.cpp @ 1425386f, 2026-07-23: llama_model_rope_type, and each architecture's
/// load_arch_hparams and graph. From later versions, until October 2026: nanbeige (#25994),
/// minimax-m3 (#24523), dflash's sections, glm5next, kimi-k3, bailingmoe3, dots3note, berrylm,
/// hrm-text, axk2, granite-switch; and three that are refused.
struct gguf_architectures : norm_rules {
  using enum position_rule;
  using enum rotation_rule;
  using enum full_place;
  using enum window_rule;
  using enum side_rule;
  using enum gguf_group::bits;
  static constexpr unsigned slides = window | pattern | local_base;
  static constexpr unsigned all_factors = pair_factors | length_factors;

  /// Their numbers must be given.
  static constexpr index_rule given_heads{
      .heads = {"index_n_heads"}, .head_dim = {"index_head_dim"}, .chosen = {"index_topk"}};

  // clang-format off
  static constexpr model_family all[]{
      family("llama deci minicpm llama-embed", none, all_factors, {.interleaved = true}),
      family("llama4", {.place = after, .query = "", .key = "", .where_rotated = true}, window |
       pair_factors, {.interleaved = true, .nope_every = 4, .chunked_where_rotated = true,
       .nope_temperature = true}), family("chameleon", centred, 0, {.interleaved = true}),
      family("llada", none, 0, {.sides = both, .interleaved = true}),
      family("internlm2 xverse olmo arctic deepseek chatglm bailingmoe neo-bert", none, 0,
       {.interleaved = true}), family("maincoder", {.place = after}, 0, {.interleaved = true}),
      family("command-r", {.of = norm_scope::centred, .optional = true}, 0, {.interleaved = true}),
      family("baichuan", none, 0, {.interleaved = true, .alibi_if_layers = 40}),
      family("glm4", none, sections, {.interleaved = true}),
      family("granite granitemoe", none, finetuned | scale | all_factors, {.interleaved = true}),
      family("granite-switch", none, finetuned | scale | all_factors, {.note = "Adapters of single"
       " tokens, and the head that chooses them, are not described.", .interleaved = true}),
      family("granitehybrid", none, finetuned | scale | pair_factors, {.interleaved = true}),
      family("arcee eagle3", none, pair_factors, {.interleaved = true}),
      family("ernie4_5 ernie4_5-moe", none, 0, {.interleaved = true,
       .without_effect = "rope.dimension_sections"}),
      family("mistral3", none, yarn_betas | yarn_log_multiplier | temperature | all_factors,
       {.interleaved = true}), family("smollm3", none, 0, {.interleaved = true, .nope_every = 4}),
      family("cohere2", none, window | pattern, {.rotation = sliding_layers, .interleaved = true,
       .full_every = 4, .without_effect = "rope.freq_base_swa"}),
      family("cohere2moe", none, window | pattern | pattern_list,
       {.rotation = sliding_and_dense_layers, .interleaved = true, .full_every = 4,
       .full_at = first_of_each, .without_effect = "rope.freq_base_swa"}),
      family("nanbeige", unknown, loops, {.interleaved = true}),
      family("plm", none, 0, {.interleaved = true, .last_dims = true}),
      family("bailingmoe3", none, latent_length, {.interleaved = true, .last_dims = true}),
      family("dots3note", unknown, slides | pattern_list | index | index_types | latent_length |
       local_latent, {.note = "Before the rotation, the dims of a key that rotate are normed, which"
       " is not described.", .interleaved = true, .local_base = 1e4,
       .last_dims = true, .needs_layer_types = true, .index = given_heads}),
      family("glm5next glm5-next", none, index | index_pool | latent_length, {.note = "A pooled"
       " index key is a gated sum of its tokens, with learned offsets by their place in the pool.",
       .rotation = no_layer, .index = {.heads = given_heads.heads, .head_dim = given_heads.head_dim,
       .chosen = given_heads.chosen, .key_stride = {"index_kpool"}, .chosen_in_tokens = true}}),
      family("deepseek41", unknown, 0, {.refusal = "be another: its pooled keys, which llama.cpp"
       " refuses, too, are not read from GGUF"}),
      family("gigachat35 falcon_ocr", unknown, 0, {.refusal = "be another: nobody looked at the"
       " layout of its pairs"}),
      family("deepseek2", none, yarn_log_multiplier | temperature | temperature_length |
       latent_length, {.interleaved = true, .last_dims = true, .mscale_on_scores = true,
       .mscale_is_all_dim = true}),
      family("deepseek32 axk2", none, yarn_log_multiplier | index | latent_length,
       {.interleaved = true, .last_dims = true, .index = given_heads, .mscale_on_scores = true,
       .without_effect = "rope.dimension_sections"}),
      family("deepseek4", {.query = "", .key = "kv_norm"}, window | compression | index |
       sink_tensors, {.note = "Values are the rotated keys: what attention gives is rotated back at"
       " the position of the query.", .interleaved = true, .scaled_if_full = true,
       .last_dims = true, .compressed = true, .index = {.heads = given_heads.heads,
       .head_dim = given_heads.head_dim, .chosen = given_heads.chosen,
       .interleaved = true, .last_dims = true, .layers = compressed_sparse_attention},
       .sinks = true}),
      family("deepseek2-ocr", none, 0, {.only_base = 1e4, .whole_head = true, .unscaled = true,
       .without_effect = "attention.sliding_window"}), family("olmoe minimax-m2", token),
      family("mistral4", none, yarn_log_multiplier | temperature | temperature_length |
       latent_length, {.interleaved = true, .last_dims = true, .mscale_on_scores = true}),
      family("plamo2", own_weights),
      family("glm-dsa", none, latent_length, {.interleaved = true, .last_dims = true,
       .mscale_on_scores = true, .without_effect = "rope.dimension_sections"
       " attention.indexer.head_count attention.indexer.key_length attention.indexer.top_k"}),
      family("falcon falcon-h1 dbrx jina-bert-v3 nomic-bert nomic-bert-moe eurobert bitnet qwen"
       " qwen2 qwen2moe phi2 plamo gemma starcoder2 gptneox codeshell orion nemotron jais2"
       " seed_oss pangu-embedded",
       none), family("dream", none, 0, {.sides = both}), family("hunyuan-moe", {.place = after}),
      family("stablelm", {.of = norm_scope::centred, .optional = true}),
      family("llada-moe rnd1", head, 0, {.sides = both}),
      family("qwen3 qwen3moe openelm bailingmoe2 dots1 lfm2moe grovemoe hy_v3", head),
      family("talkie", {.of = norm_scope::own_weights, .place = after, .key = ""}),
      family("qwen3next berrylm", head, interval, {.full_every = 4, .others = no_attention}),
      family("phi3 phimoe", none, window | length_factors, {.slides = true, .window_is_off = true}),
      family("hrm-text", none, 0, {.note = "Tokens of the prompt see each other both ways where"
       " hrm.prefix_lm is true, which is not described."}),
      family("exaone", none, pair_factors), family("hunyuan-dense", {.place = after}, base_alpha),
      family("hunyuan_vl", {.place = after}, sections | base_alpha),
      family("lfm2", head, window, {.slides = true}), family("apertus", head, all_factors),
      family("cogvlm", none, 0, {.only_base = 1e4, .whole_head = true, .unscaled = true}),
      family("glm4moe", {.optional = true}, sections),
      family("mimo2", none, slides | pattern_list | sink_tensors, {.local_base = 1e4,
       .needs_layer_types = true}), family("minicpm3", none, length_factors, {.last_dims = true}),
      family("grok", none, yarn_betas | yarn_ext_factor | output_scale | cap, {.beta_fast = 8,
       .scale_key = "softmax_scale", .scale_default = 0.08838834764831845, .score_cap = 30,
       .without_effect = "attention.temperature_length"}),
      family("gemma2", none, slides | cap, {.window = 4096, .full_every = 2,
       .embedding_scale_layers = 46, .score_cap = 50}),
      family("gemma3", head, slides, {.local_base = 1e4, .full_every = 6,
       .embedding_scale_layers = 62}),
      family("gemma3n", with_values, slides, {.local_base = 1e4, .kv_shared = 0, .keyed_layers = 20,
       .full_every = 5, .scale_default = 1}),
      family("gemma4", with_values, slides | pair_factors | pattern_list, {.local_base = 1e4,
       .kv_shared = 0, .needs_layer_types = true, .scale_default = 1}),
      family("gemma4-assistant", unknown, slides | pair_factors | pattern_list, {.note = "Queries"
       " alone rotate here: the target model rotated the keys that they see.", .all_predict = true,
       .local_base = 1e4, .needs_layer_types = true, .scale_default = 1}),
      family("gemma-embedding", head, slides, {.sides = both, .local_base = 1e4,
       .window_is = half_on_each_side, .full_every = 6}),
      family("afmoe", head, slides, {.full_every = 4, .nope_every = 4}),
      family("modern-bert", none, slides, {.local_base = 1e4, .window_is = half_on_each_side,
       .full_every = 3, .full_at = first_of_each}),
      family("olmo2", token, window | pattern, {.scaled_if_full = true, .full_every = 4,
       .without_effect = "rope.freq_base_swa"}),
      family("exaone4", head, window | pattern | pair_factors, {.rotation = sliding_layers,
       .slide_if_layers = 64, .window = 4096, .full_every = 4,
       .without_effect = "rope.freq_base_swa"}),
      family("exaone-moe", head, window | pattern | pair_factors, {.rotation = sliding_layers,
       .full_every = 4, .without_effect = "rope.freq_base_swa"}),
      family("smallthinker", none, slides, {.full_every = 4, .full_at = first_of_each,
       .nope_first_of = 4}), family("plamo3", head, slides, {.local_base = 1e4, .full_every = 8}),
      family("mellum", head, window | pattern | pattern_list, {.scaled_if_full = true,
       .full_every = 4, .without_effect = "rope.freq_base_swa"}),
      family("laguna", head, slides, {.scaled_if_full = true, .full_every = 4,
       .full_at = first_of_each}), family("qwen2vl paddleocr", none, sections, {.has_axes = true}),
      family("step35", head, slides | all_factors | pattern_list, {.local_base = 1e4,
       .half_on_full = true, .shared_factors = true, .needs_layer_types = true}),
      family("minimax-m3", head, index | index_blocks, {.index = {.heads = given_heads.heads,
       .head_dim = given_heads.head_dim, .chosen = given_heads.chosen,
       .block = {"index_block_size"}, .local_blocks = {"index_local_blocks", 0, "", 0},
       .after_dense = true}}), 
      family("kimi-linear kimi-k3", none, latent_length, {.rotation = no_layer}),
      family("dflash", head, window | pattern | pattern_list,
       {.refused_key = "hyper_connection.count", .needs_layer_types = true,
       .without_effect = "rope.dimension_sections"}),
      family("gpt-oss", none, slides | sink_tensors, {.full_every = 2, .sinks = true}),
      family("qwen3vl qwen3vlmoe", head, sections, {.has_axes = true,
       .order = axis_order::interleaved}),
      family("qwen35 qwen35moe", head, sections | interval, {.has_axes = true,
       .order = axis_order::interleaved, .full_every = 4, .others = no_attention}),
      family("jamba nemotron_h nemotron_h_moe", none, 0, {.rotation = no_layer}),
      family("bloom refact", none, 0, {.positions = alibi, .rotation = no_layer}),
      family("jina-bert-v2", {.of = norm_scope::centred, .optional = true}, 0, {.positions = alibi,
       .rotation = no_layer}),
      family("jais", none, max_bias, {.positions = alibi, .rotation = no_layer,
       .scale_by_dim = true}),
      family("mpt", {.of = norm_scope::centred, .optional = true}, max_bias,
       {.positions = alibi_or_learned, .rotation = no_layer}),
      family("gpt2 starcoder bert", none, 0, {.positions = alibi_or_learned, .rotation = no_layer}),
      family("t5 t5encoder", none, bucket_count, {.positions = buckets, .sides = both, .note = "The"
       " encoder's layers; queries of the decoder see no later keys.", .rotation = no_layer,
       .scale_default = 1}),
  };
  // clang-format on

  /// Null for an architecture that is not known.
  static model_family const* find(std::string_view name) {
    return record_of(all, &model_family::types, name);
  }
};

}}}  // namespace posenc::detail
