// What each architecture of llama.cpp does by default: what its code has and a GGUF file may leave
// out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/keys.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// llama.cpp's LLAMA_ROPE_TYPE_NONE, _NORM, _NEOX, _MROPE and _IMROPE.
enum class gguf_rope_type {
  none,
  norm,   ///< pairs (2i, 2i + 1)
  neox,   ///< pairs (i, i + n/2)
  mrope,  ///< as neox, by several axes in sections
  imrope  ///< as neox, by several interleaved axes
};

/// A record an architecture; 0 and false mean that it has none of this. For a new architecture, add
/// a record. A key in the file goes before its default here.
struct gguf_architecture {  // NOLINT(clang-analyzer-optin.performance.Padding): by topic
  std::string_view name;
  gguf_rope_type rope;
  unsigned reads = 0;  ///< of the keys that llama.cpp reads for some architectures: gguf_group

  // Rotation.
  bool last_dims = false;             ///< the last dims of a head rotate
  double local_base = 0;              ///< rope.freq_base_swa; sliding layers then take no scaling
  bool unscaled_local = false;        ///< sliding layers take no scaling
  bool factors_on_full_only = false;  ///< rope_freqs.weight is for layers with full attention
  double beta_fast = 32;              ///< rope.scaling.yarn_beta_fast
  bool mscale_on_scores = false;   ///< YaRN's magnitude squared multiplies scores, as in DeepSeek's
                                   ///< code; yarn_log_multiplier is a tenth of mscale_all_dim
  bool mscale_is_all_dim = false;  ///< mscale equals mscale_all_dim, else it is 1

  // Layers.
  std::size_t window = 0;             ///< attention.sliding_window
  std::size_t sliding_layers = 0;     ///< only the model with this many layers slides
  bool all_slide = false;             ///< in the model's own code; llama.cpp leaves the window off
  std::size_t full_every = 0;         ///< every n-th layer sees all keys, the others slide
  bool full_first = false;            ///< counted from the first layer on
  bool needs_pattern = false;         ///< attention.sliding_window_pattern must be given
  bool symmetric_window = false;      ///< half of the window lies before the query, half after it
  std::size_t chunk = 0;              ///< layers but every full_every-th see a chunk, and rotate
  std::size_t attention_every = 0;    ///< full_attention_interval; the other layers are recurrent
  bool rope_on_sliding_only = false;  ///< where some layers slide, the others do not rotate
  std::size_t nope_every = 0;         ///< every n-th layer does not rotate
  std::size_t nope_first_of =
      0;  ///< the first of each n layers does not rotate, if any layer slides
  bool finetuned_tells_rope = false;  ///< rope.scaling.finetuned is false: no layer rotates

  // Positions without RoPE.
  bool alibi = false;            ///< attention.max_alibi_bias is 8
  std::size_t alibi_layers = 0;  ///< the model with this many layers has ALiBi instead of RoPE
  bool learned = false;          ///< learned embeddings, or ALiBi where its max_alibi_bias is given
  bool buckets = false;          ///< T5

  // Scores.
  std::string_view scale_key = "attention.scale";
  double attention_scale = 0;              ///< that key; 0: 1 / sqrt(head_dim)
  std::size_t embedding_scale_layers = 0;  ///< the model with this many layers has 1 / sqrt(
                                           ///< embedding_length / head_count) instead
  double score_cap = 0;                    ///< attn_logit_softcapping
  bool sinks = false;                      ///< where the file lists no tensors
  bool nope_temperature = false;           ///< layers without RoPE have Llama 4's temperature
};

/// From llama.cpp @ 1425386f, 2026-07-23: llama_model_rope_type, and each architecture's
/// load_arch_hparams and graph.
struct gguf_architectures {
  using enum gguf_rope_type;

  // clang-format off
  static constexpr gguf_architecture all[]{
      {"llama", norm},
      {.name = "llama4", .rope = norm, .full_every = 4, .chunk = 8192, .nope_temperature = true},
      {"llada", norm}, {"deci", norm},
      {.name = "baichuan", .rope = norm, .alibi_layers = 40},
      {"internlm2", norm}, {"minicpm", norm}, {"xverse", norm}, {"command-r", norm}, {"olmo", norm},
      {"arctic", norm}, {"deepseek", norm}, {"chatglm", norm}, {"glm4", norm},
      {.name = "granite", .rope = norm, .finetuned_tells_rope = true},
      {.name = "granitemoe", .rope = norm, .finetuned_tells_rope = true},
      {.name = "granitehybrid", .rope = norm, .finetuned_tells_rope = true},
      {"chameleon", norm}, {"bailingmoe", norm}, {"neo-bert", norm}, {"arcee", norm},
      {"ernie4_5", norm}, {"ernie4_5-moe", norm},
      {.name = "mistral3", .rope = norm, .reads = yarn_betas | yarn_log_multiplier},
      {"llama-embed", norm},
      {"maincoder", norm},
      {.name = "smollm3", .rope = norm, .nope_every = 4},
      {.name = "cohere2", .rope = norm, .full_every = 4, .rope_on_sliding_only = true},
      {.name = "plm", .rope = norm, .last_dims = true},
      {.name = "deepseek2", .rope = norm, .reads = yarn_log_multiplier, .last_dims = true,
       .mscale_on_scores = true, .mscale_is_all_dim = true},
      {.name = "deepseek32", .rope = norm, .reads = yarn_log_multiplier, .last_dims = true,
       .mscale_on_scores = true},
      {.name = "mistral4", .rope = norm, .reads = yarn_log_multiplier, .last_dims = true,
       .mscale_on_scores = true},
      {.name = "glm-dsa", .rope = norm, .last_dims = true, .mscale_on_scores = true},
      {"falcon", neox}, {"falcon-h1", neox}, {"dbrx", neox}, {"jina-bert-v3", neox},
      {"nomic-bert", neox}, {"nomic-bert-moe", neox}, {"eurobert", neox}, {"stablelm", neox},
      {"bitnet", neox}, {"qwen", neox}, {"qwen2", neox}, {"qwen2moe", neox}, {"qwen3", neox},
      {"qwen3moe", neox},
      {.name = "qwen3next", .rope = neox, .attention_every = 4},
      {"dream", neox}, {"llada-moe", neox}, {"rnd1", neox}, {"olmoe", neox}, {"phi2", neox},
      {.name = "phi3", .rope = neox, .all_slide = true},
      {"phimoe", neox}, {"plamo", neox}, {"plamo2", neox}, {"gemma", neox}, {"starcoder2", neox},
      {"openelm", neox}, {"gptneox", neox}, {"codeshell", neox}, {"orion", neox},
      {"nemotron", neox}, {"exaone", neox}, {"bailingmoe2", neox}, {"dots1", neox},
      {"hunyuan-moe", neox}, {"hunyuan-dense", neox}, {"hunyuan_vl", neox}, {"jais2", neox},
      {"lfm2", neox}, {"lfm2moe", neox}, {"seed_oss", neox}, {"grovemoe", neox}, {"apertus", neox},
      {"minimax-m2", neox}, {"cogvlm", neox}, {"pangu-embedded", neox}, {"glm4moe", neox},
      {.name = "mimo2", .rope = neox, .needs_pattern = true},
      {.name = "minicpm3", .rope = neox, .last_dims = true},
      {.name = "grok", .rope = neox, .reads = yarn_betas | yarn_ext_factor, .beta_fast = 8,
       .scale_key = "attention.output_scale", .attention_scale = 0.08838834764831845, .score_cap = 30},
      {.name = "gemma2", .rope = neox, .window = 4096, .full_every = 2,
       .embedding_scale_layers = 46, .score_cap = 50},
      {.name = "gemma3", .rope = neox, .local_base = 1e4, .full_every = 6,
       .embedding_scale_layers = 62},
      {.name = "gemma3n", .rope = neox, .local_base = 1e4, .full_every = 5, .attention_scale = 1},
      {.name = "gemma4", .rope = neox, .factors_on_full_only = true, .needs_pattern = true,
       .attention_scale = 1},
      {.name = "gemma-embedding", .rope = neox, .local_base = 1e4, .full_every = 6,
       .symmetric_window = true},
      {.name = "modern-bert", .rope = neox, .full_every = 3, .full_first = true,
       .symmetric_window = true},
      {.name = "olmo2", .rope = neox, .unscaled_local = true, .full_every = 4},
      {.name = "exaone4", .rope = neox, .window = 4096, .sliding_layers = 64, .full_every = 4,
       .rope_on_sliding_only = true},
      {.name = "exaone-moe", .rope = neox, .full_every = 4, .rope_on_sliding_only = true},
      {.name = "afmoe", .rope = neox, .full_every = 4, .nope_every = 4},
      {.name = "smallthinker", .rope = neox, .full_every = 4, .full_first = true,
       .nope_first_of = 4},
      {.name = "gpt-oss", .rope = neox, .full_every = 2, .sinks = true},
      {"qwen2vl", mrope}, {"paddleocr", mrope},
      {"qwen3vl", imrope}, {"qwen3vlmoe", imrope},
      {.name = "qwen35", .rope = imrope, .attention_every = 4},
      {.name = "qwen35moe", .rope = imrope, .attention_every = 4},
      {"jamba", none}, {"nemotron_h", none}, {"nemotron_h_moe", none}, {"kimi-linear", none},
      {.name = "bloom", .rope = none, .alibi = true},
      {.name = "refact", .rope = none, .alibi = true},
      {.name = "jina-bert-v2", .rope = none, .alibi = true},
      {.name = "jais", .rope = none, .alibi = true},
      {.name = "mpt", .rope = none, .learned = true},
      {.name = "gpt2", .rope = none, .learned = true},
      {.name = "starcoder", .rope = none, .learned = true},
      {.name = "bert", .rope = none, .learned = true},
      {.name = "t5", .rope = none, .buckets = true, .attention_scale = 1},
      {.name = "t5encoder", .rope = none, .buckets = true, .attention_scale = 1},
  };
  // clang-format on

  static std::optional<gguf_architecture> find(std::string_view name) {
    auto const* const found = std::ranges::find(all, name, &gguf_architecture::name);
    return found == std::end(all) ? std::nullopt : std::optional(*found);
  }

  static std::string names() {
    std::string result;
    for (auto const& one : all) result += (result.empty() ? "" : ", ") + std::string(one.name);
    return result;
  }
};

}  // namespace detail
}  // namespace posenc
