// What llama.cpp does for an architecture and its GGUF files do not say.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// How heads turn: not at all, in pairs (2i, 2i + 1), in pairs (i, i + n/2), or so by several axes, in sections or in turn.
/// llama.cpp's LLAMA_ROPE_TYPE_NONE, NORM, NEOX, MROPE, IMROPE.
enum class gguf_turns { none, interleaved, halves, sections, woven };

struct gguf_architecture {
  std::string_view name;
  gguf_turns turns;
  std::size_t full_every = 0;         ///< where a window is given, each so manieth layer sees all; 0: no pattern is known
  bool full_first = false;            ///< the first of so many, else the last
  std::size_t window = 0;             ///< where none is given; 0: no layer slides then
  bool symmetric = false;             ///< half of the window is before the query, half after
  bool rope_on_sliding_only = false;  ///< where some layers slide
  std::size_t nope_every = 0;         ///< the last of so many layers has no RoPE
  bool own_local_rope = false;        ///< sliding layers: base 10000 where freq_base_swa is not given, and no scaling
  bool unscaled_local = false;        ///< sliding layers: no scaling
  bool last_dims = false;             ///< RoPE turns the last dims of a head
  bool mscale_on_scores = false;      ///< YaRN's magnitude squared multiplies scores, by DeepSeek's yarn_log_multiplier
  bool alibi = false;                 ///< of max_alibi_bias 8 where none is given
  bool learned = false;               ///< positions are embedded; where max_alibi_bias is given, ALiBi instead
  bool buckets = false;               ///< T5
  double attention_scale = 0;         ///< where attention.scale is not given; 0: 1 / sqrt(head_dim)
  double score_cap = 0;               ///< where attn_logit_softcapping is not given; 0: none
  bool sinks = false;                 ///< where the file lists no tensors to tell
};

// clang-format off
/// From llama.cpp of 2026: llama_model_rope_type, and each architecture's load_arch_hparams and graph.
inline constexpr std::array gguf_architectures{
    gguf_architecture{"llama", gguf_turns::interleaved}, gguf_architecture{"llama4", gguf_turns::interleaved},
    gguf_architecture{"llada", gguf_turns::interleaved}, gguf_architecture{"deci", gguf_turns::interleaved},
    gguf_architecture{"baichuan", gguf_turns::interleaved}, gguf_architecture{"internlm2", gguf_turns::interleaved},
    gguf_architecture{"minicpm", gguf_turns::interleaved}, gguf_architecture{"xverse", gguf_turns::interleaved},
    gguf_architecture{"command-r", gguf_turns::interleaved}, gguf_architecture{"olmo", gguf_turns::interleaved},
    gguf_architecture{"arctic", gguf_turns::interleaved}, gguf_architecture{"deepseek", gguf_turns::interleaved},
    gguf_architecture{"chatglm", gguf_turns::interleaved}, gguf_architecture{"glm4", gguf_turns::interleaved},
    gguf_architecture{"granite", gguf_turns::interleaved}, gguf_architecture{"granitemoe", gguf_turns::interleaved},
    gguf_architecture{"granitehybrid", gguf_turns::interleaved}, gguf_architecture{"chameleon", gguf_turns::interleaved},
    gguf_architecture{"bailingmoe", gguf_turns::interleaved}, gguf_architecture{"neo-bert", gguf_turns::interleaved},
    gguf_architecture{"arcee", gguf_turns::interleaved}, gguf_architecture{"ernie4_5", gguf_turns::interleaved},
    gguf_architecture{"ernie4_5-moe", gguf_turns::interleaved}, gguf_architecture{"mistral3", gguf_turns::interleaved},
    gguf_architecture{"llama-embed", gguf_turns::interleaved}, gguf_architecture{"maincoder", gguf_turns::interleaved},
    gguf_architecture{.name = "smollm3", .turns = gguf_turns::interleaved, .nope_every = 4},
    gguf_architecture{.name = "cohere2", .turns = gguf_turns::interleaved, .full_every = 4, .rope_on_sliding_only = true},
    gguf_architecture{.name = "plm", .turns = gguf_turns::interleaved, .last_dims = true},
    gguf_architecture{.name = "deepseek2", .turns = gguf_turns::interleaved, .last_dims = true, .mscale_on_scores = true},
    gguf_architecture{.name = "deepseek32", .turns = gguf_turns::interleaved, .last_dims = true, .mscale_on_scores = true},
    gguf_architecture{.name = "mistral4", .turns = gguf_turns::interleaved, .last_dims = true, .mscale_on_scores = true},
    gguf_architecture{.name = "glm-dsa", .turns = gguf_turns::interleaved, .last_dims = true, .mscale_on_scores = true},
    gguf_architecture{"falcon", gguf_turns::halves}, gguf_architecture{"falcon-h1", gguf_turns::halves},
    gguf_architecture{"dbrx", gguf_turns::halves}, gguf_architecture{"jina-bert-v3", gguf_turns::halves},
    gguf_architecture{"nomic-bert", gguf_turns::halves}, gguf_architecture{"nomic-bert-moe", gguf_turns::halves},
    gguf_architecture{"eurobert", gguf_turns::halves}, gguf_architecture{"stablelm", gguf_turns::halves},
    gguf_architecture{"bitnet", gguf_turns::halves}, gguf_architecture{"qwen", gguf_turns::halves},
    gguf_architecture{"qwen2", gguf_turns::halves}, gguf_architecture{"qwen2moe", gguf_turns::halves},
    gguf_architecture{"qwen3", gguf_turns::halves}, gguf_architecture{"qwen3moe", gguf_turns::halves},
    gguf_architecture{"qwen3next", gguf_turns::halves}, gguf_architecture{"dream", gguf_turns::halves},
    gguf_architecture{"llada-moe", gguf_turns::halves}, gguf_architecture{"rnd1", gguf_turns::halves},
    gguf_architecture{"olmoe", gguf_turns::halves}, gguf_architecture{"phi2", gguf_turns::halves},
    gguf_architecture{"phi3", gguf_turns::halves}, gguf_architecture{"phimoe", gguf_turns::halves},
    gguf_architecture{"plamo", gguf_turns::halves}, gguf_architecture{"plamo2", gguf_turns::halves},
    gguf_architecture{"gemma", gguf_turns::halves}, gguf_architecture{"starcoder2", gguf_turns::halves},
    gguf_architecture{"openelm", gguf_turns::halves}, gguf_architecture{"gptneox", gguf_turns::halves},
    gguf_architecture{"codeshell", gguf_turns::halves}, gguf_architecture{"orion", gguf_turns::halves},
    gguf_architecture{"nemotron", gguf_turns::halves}, gguf_architecture{"exaone", gguf_turns::halves},
    gguf_architecture{"bailingmoe2", gguf_turns::halves}, gguf_architecture{"dots1", gguf_turns::halves},
    gguf_architecture{"hunyuan-moe", gguf_turns::halves}, gguf_architecture{"hunyuan-dense", gguf_turns::halves},
    gguf_architecture{"hunyuan_vl", gguf_turns::halves}, gguf_architecture{"jais2", gguf_turns::halves},
    gguf_architecture{"lfm2", gguf_turns::halves}, gguf_architecture{"lfm2moe", gguf_turns::halves},
    gguf_architecture{"seed_oss", gguf_turns::halves}, gguf_architecture{"grovemoe", gguf_turns::halves},
    gguf_architecture{"apertus", gguf_turns::halves}, gguf_architecture{"minimax-m2", gguf_turns::halves},
    gguf_architecture{"cogvlm", gguf_turns::halves}, gguf_architecture{"pangu-embedded", gguf_turns::halves},
    gguf_architecture{"glm4moe", gguf_turns::halves}, gguf_architecture{"mimo2", gguf_turns::halves},
    gguf_architecture{.name = "minicpm3", .turns = gguf_turns::halves, .last_dims = true},
    gguf_architecture{.name = "grok", .turns = gguf_turns::halves, .attention_scale = 0.08838834764831845, .score_cap = 30},
    gguf_architecture{.name = "gemma2", .turns = gguf_turns::halves, .full_every = 2, .window = 4096, .score_cap = 50},
    gguf_architecture{.name = "gemma3", .turns = gguf_turns::halves, .full_every = 6, .own_local_rope = true},
    gguf_architecture{.name = "gemma3n", .turns = gguf_turns::halves, .full_every = 5, .own_local_rope = true, .attention_scale = 1},
    gguf_architecture{.name = "gemma4", .turns = gguf_turns::halves, .attention_scale = 1},
    gguf_architecture{.name = "gemma-embedding", .turns = gguf_turns::halves, .full_every = 6, .symmetric = true, .own_local_rope = true},
    gguf_architecture{.name = "modern-bert", .turns = gguf_turns::halves, .full_every = 3, .full_first = true, .symmetric = true},
    gguf_architecture{.name = "olmo2", .turns = gguf_turns::halves, .full_every = 4, .unscaled_local = true},
    gguf_architecture{.name = "exaone4", .turns = gguf_turns::halves, .full_every = 4, .rope_on_sliding_only = true},
    gguf_architecture{.name = "exaone-moe", .turns = gguf_turns::halves, .full_every = 4, .rope_on_sliding_only = true},
    gguf_architecture{.name = "afmoe", .turns = gguf_turns::halves, .full_every = 4, .nope_every = 4},
    gguf_architecture{.name = "smallthinker", .turns = gguf_turns::halves, .full_every = 4, .full_first = true},
    gguf_architecture{.name = "gpt-oss", .turns = gguf_turns::halves, .full_every = 2, .sinks = true},
    gguf_architecture{"qwen2vl", gguf_turns::sections}, gguf_architecture{"paddleocr", gguf_turns::sections},
    gguf_architecture{"qwen3vl", gguf_turns::woven}, gguf_architecture{"qwen3vlmoe", gguf_turns::woven},
    gguf_architecture{"qwen35", gguf_turns::woven}, gguf_architecture{"qwen35moe", gguf_turns::woven},
    gguf_architecture{"jamba", gguf_turns::none}, gguf_architecture{"nemotron_h", gguf_turns::none},
    gguf_architecture{"nemotron_h_moe", gguf_turns::none}, gguf_architecture{"kimi-linear", gguf_turns::none},
    gguf_architecture{.name = "bloom", .turns = gguf_turns::none, .alibi = true},
    gguf_architecture{.name = "refact", .turns = gguf_turns::none, .alibi = true},
    gguf_architecture{.name = "jina-bert-v2", .turns = gguf_turns::none, .alibi = true},
    gguf_architecture{.name = "jais", .turns = gguf_turns::none, .alibi = true},
    gguf_architecture{.name = "mpt", .turns = gguf_turns::none, .learned = true},
    gguf_architecture{.name = "gpt2", .turns = gguf_turns::none, .learned = true},
    gguf_architecture{.name = "starcoder", .turns = gguf_turns::none, .learned = true},
    gguf_architecture{.name = "bert", .turns = gguf_turns::none, .learned = true},
    gguf_architecture{.name = "t5", .turns = gguf_turns::none, .buckets = true, .attention_scale = 1},
    gguf_architecture{.name = "t5encoder", .turns = gguf_turns::none, .buckets = true, .attention_scale = 1},
};
// clang-format on

inline std::optional<gguf_architecture> gguf_architecture_of(std::string_view name) {
  auto const found = std::ranges::find(gguf_architectures, name, &gguf_architecture::name);
  return found == gguf_architectures.end() ? std::nullopt : std::optional(*found);
}

inline std::string known_gguf_architectures() {
  std::string names;
  for (auto const& one : gguf_architectures) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

}  // namespace detail
}  // namespace posenc
