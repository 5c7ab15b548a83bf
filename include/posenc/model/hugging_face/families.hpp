// What each family of models does by default: what its code in transformers has and a config.json
// may leave out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// How a family encodes positions.
enum class position_rule {
  rope,
  alibi,
  alibi_if_flagged,       ///< where the key alibi is true, else RoPE
  alibi_without_context,  ///< where max_position_embeddings is absent, else RoPE
  alibi_or_learned,       ///< ALiBi where attn_config has alibi, else learned embeddings
  buckets,                ///< T5
  learned,                ///< embeddings
  learned_absolute        ///< embeddings; any position_embedding_type but absolute is an error
};

/// Which layers slide, where layer_types does not say and sliding_window is given.
enum class sliding_rule { none, every_layer, by_pattern, from_max_window_layers };

/// What divides scores before the softmax.
enum class score_scale {
  head_dim,               ///< sqrt(head_dim)
  query_pre_attn_scalar,  ///< its square root
  attention_multiplier,   ///< multiplies them instead
  none
};

/// A record a family; 0, false and empty mean that it has none of this. For a new family, add a
/// record. A key in the file goes before its default here.
struct model_family {  // NOLINT(clang-analyzer-optin.performance.Padding): by topic
  std::array<std::string_view, 6> types;  ///< values of model_type
  position_rule positions = position_rule::rope;
  std::string_view alibi_note = {};  ///< a sentence for users of its ALiBi

  // Sizes.
  std::size_t head_dim = 0;         ///< 0: hidden_size / num_attention_heads
  std::size_t global_head_dim = 0;  ///< head_dim of layers with full attention
  std::size_t context = 0;          ///< max_position_embeddings

  // Rotation.
  bool interleaved = false;    ///< pairs (2i, 2i + 1), else halves (i, i + n/2)
  double base = 1e4;           ///< rope_theta
  double local_base = 0;       ///< rope_local_base_freq; sliding layers then take no scaling
  bool base_is_ratio = false;  ///< rope_theta is 10000 * rope_ratio
  double partial = 1;          ///< partial_rotary_factor
  std::size_t rotary_dim = 0;  ///< goes before partial
  bool last_dims = false;      ///< the last qk_rope_head_dim dims of a head rotate
  bool two_axes = false;       ///< each half of a head rotates by one coordinate of an image patch
  bool needs_rope = false;     ///< rope_parameters or rope_scaling must be given
  bool has_axes = false;       ///< M-RoPE
  bool interleaved_axes = false;             ///< as interleaved_axes() has them
  std::array<std::size_t, 3> sections = {};  ///< mrope_section; 0: must be given

  // Layers.
  sliding_rule sliding = sliding_rule::none;
  std::size_t window = 0;              ///< sliding_window, where the key is absent rather than null
  std::size_t max_window_layers = 0;   ///< for sliding_rule::from_max_window_layers
  std::size_t full_every = 1;          ///< every n-th layer has full attention, the others slide
  bool linear_others = false;          ///< or the others have linear attention
  bool first_full = false;             ///< the first layer has full attention, too
  bool last_full = false;              ///< the last layer has full attention, too
  std::size_t nope_every = 0;          ///< every n-th layer does not rotate
  bool rope_on_sliding_only = false;   ///< where some layers slide, the others do not rotate
  bool chunked_where_rotated = false;  ///< layers with RoPE see a chunk, the others all keys
  bool compressed = false;  ///< layers see a window and, unless they slide, compressed keys, whose
                            ///< RoPE has its own keys (DeepSeek-V4)

  // Scores.
  score_scale scale = score_scale::head_dim;
  double score_cap = 0;               ///< attn_logit_softcapping
  bool sinks = false;                 ///< a learned logit for each head
  bool nope_temperature = false;      ///< layers without RoPE have Llama 4's temperature
  bool mscale_on_scores = false;      ///< YaRN's g(mscale_all_dim)^2 multiplies scores
  std::string_view mscale_note = {};  ///< a sentence for users where that factor is not 1

  std::string_view constant_key = {};  ///< a key that has one value in all files of the family
};

// clang-format off
/// From the classes of the models in Hugging Face transformers, 2026.
inline constexpr model_family model_families[]{
    {.types = {"llama", "olmo", "olmo2", "seed_oss", "apertus", "hunyuan_v1_dense"}},
    {.types = {"mistral"}, .sliding = sliding_rule::every_layer, .window = 4096},
    {.types = {"mixtral", "phimoe"}, .base = 1e6, .sliding = sliding_rule::every_layer},
    {.types = {"ministral3"}, .head_dim = 128, .needs_rope = true,
     .sliding = sliding_rule::every_layer},
    {.types = {"starcoder2", "phi3"}, .sliding = sliding_rule::every_layer},
    {.types = {"qwen2", "qwen2_moe", "qwen3", "qwen3_moe"},
     .sliding = sliding_rule::from_max_window_layers, .max_window_layers = 28},
    {.types = {"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"}, .base = 1e6,
     .has_axes = true, .sliding = sliding_rule::from_max_window_layers, .max_window_layers = 80},
    {.types = {"qwen3_vl_text", "qwen3_vl_moe_text"}, .base = 5e5, .has_axes = true,
     .interleaved_axes = true, .sections = {24, 20, 20}},
    {.types = {"qwen3_next"}, .head_dim = 256, .partial = 0.25, .full_every = 4,
     .linear_others = true},
    {.types = {"qwen3_5_text", "qwen3_5_moe_text"}, .head_dim = 256, .partial = 0.25,
     .has_axes = true, .interleaved_axes = true, .sections = {11, 11, 10}, .full_every = 4,
     .linear_others = true},
    {.types = {"phi", "nemotron", "glm4_moe"}, .partial = 0.5},
    {.types = {"stablelm", "gpt_neox"}, .partial = 0.25},
    {.types = {"persimmon"}, .base = 25000, .partial = 0.5},
    {.types = {"minimax_m2"}, .head_dim = 128, .base = 5e6},
    {.types = {"gemma"}, .head_dim = 256},
    {.types = {"gemma2"}, .head_dim = 256, .sliding = sliding_rule::by_pattern, .window = 4096,
     .full_every = 2, .scale = score_scale::query_pre_attn_scalar, .score_cap = 50},
    {.types = {"gemma3_text", "gemma3"}, .head_dim = 256, .context = 131072, .base = 1e6,
     .local_base = 1e4, .sliding = sliding_rule::by_pattern, .window = 4096, .full_every = 6,
     .scale = score_scale::query_pre_attn_scalar},
    {.types = {"gemma4_text", "gemma4"}, .head_dim = 256, .global_head_dim = 512,
     .context = 131072, .needs_rope = true, .sliding = sliding_rule::by_pattern, .window = 512,
     .full_every = 6, .last_full = true, .scale = score_scale::none},
    {.types = {"gemma4_vision"}, .base = 100, .two_axes = true, .scale = score_scale::none},
    {.types = {"olmo3"}, .sliding = sliding_rule::by_pattern, .full_every = 4},
    {.types = {"exaone4"}, .sliding = sliding_rule::by_pattern, .window = 4096, .full_every = 4,
     .rope_on_sliding_only = true},
    {.types = {"cohere"}, .interleaved = true, .base = 5e5},
    {.types = {"cohere2"}, .interleaved = true, .sliding = sliding_rule::by_pattern,
     .window = 4096, .full_every = 4, .rope_on_sliding_only = true},
    {.types = {"gpt_oss"}, .head_dim = 64, .base = 150000, .needs_rope = true,
     .sliding = sliding_rule::by_pattern, .window = 128, .full_every = 2, .sinks = true},
    {.types = {"smollm3"}, .base = 2e6, .nope_every = 4},
    {.types = {"llama4_text"}, .head_dim = 128, .interleaved = true, .base = 5e5, .nope_every = 4,
     .chunked_where_rotated = true, .nope_temperature = true},
    {.types = {"mimo_v2_flash"}, .head_dim = 192, .base = 5e6, .partial = 0.334,
     .sliding = sliding_rule::by_pattern, .window = 128, .full_every = 6, .first_full = true},
    {.types = {"gptj", "codegen"}, .interleaved = true, .rotary_dim = 64,
     .constant_key = "rotary"},
    {.types = {"glm", "glm4", "glm4v_text"}, .interleaved = true, .partial = 0.5},
    {.types = {"ernie4_5"}, .head_dim = 128, .interleaved = true, .base = 5e5},
    {.types = {"chatglm"}, .interleaved = true, .base_is_ratio = true, .partial = 0.5},
    {.types = {"deepseek_v2"}, .interleaved = true, .last_dims = true, .mscale_on_scores = true,
     .mscale_note = "DeepSeek's own code has it, transformers' class for V2 does not."},
    {.types = {"deepseek_v3", "deepseek_v32"}, .interleaved = true, .last_dims = true,
     .mscale_on_scores = true},
    {.types = {"kimi_k2"}, .interleaved = true, .base = 5e4, .last_dims = true,
     .mscale_on_scores = true},
    {.types = {"mistral4"}, .interleaved = true, .last_dims = true, .needs_rope = true,
     .mscale_note = "transformers has it since 5.17, Mistral's settings do not; it is left out."},
    {.types = {"deepseek_v4"}, .head_dim = 512, .interleaved = true, .partial = 0.125,
     .last_dims = true, .sliding = sliding_rule::by_pattern, .compressed = true, .sinks = true},
    {.types = {"granite", "granitemoe"}, .scale = score_scale::attention_multiplier},
    {.types = {"falcon"}, .positions = position_rule::alibi_if_flagged,
     .alibi_note = "Falcon rounds the bias to bfloat16 and divides it, too, by sqrt(head_dim)."},
    {.types = {"baichuan"}, .positions = position_rule::alibi_without_context},
    {.types = {"bloom"}, .positions = position_rule::alibi},
    {.types = {"mpt"}, .positions = position_rule::alibi_or_learned},
    {.types = {"t5", "mt5", "umt5"}, .positions = position_rule::buckets,
     .scale = score_scale::none},
    {.types = {"gpt2", "gpt_bigcode", "opt", "distilbert"}, .positions = position_rule::learned},
    {.types = {"gpt_neo"}, .positions = position_rule::learned, .scale = score_scale::none},
    {.types = {"bert", "roberta", "electra"}, .positions = position_rule::learned_absolute},
};
// clang-format on

/// The family with this model_type, if it is known.
inline std::optional<model_family> family_of(std::string_view type) {
  for (auto const& family : model_families) {
    if (std::ranges::find(family.types, type) != family.types.end()) return family;
  }
  return {};
}

}  // namespace detail
}  // namespace posenc
