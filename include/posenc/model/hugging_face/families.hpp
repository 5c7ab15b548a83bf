// What a model's code does and its config.json does not say, by model_type.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "posenc/core/target.hpp"
#include "posenc/model/layer_schedule.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// Which layers a sliding_window is for, where layer_types does not say.
enum class windows { ignored, everywhere, by_pattern, from_max_window_layers };

struct model_family {
  std::string_view type;
  bool interleaved = false;    ///< pairs (2i, 2i + 1), else halves
  double base = 1e4;           ///< rope_theta
  double partial = 1;          ///< partial_rotary_factor
  std::size_t rotary_dim = 0;  ///< instead of that
  std::size_t head_dim = 0;    ///< 0: hidden_size / num_attention_heads
  std::size_t context = 0;     ///< max_position_embeddings; 0: not known
  windows slides = windows::ignored;
  std::size_t window = 0;                    ///< sliding_window, where it is absent, not null; 0: none
  std::size_t max_window_layers = 0;         ///< where that is what counts
  std::size_t full_every = 1;                ///< every so manieth layer has full attention,
  std::string_view others = {};              ///< and the others this
  std::size_t nope_every = 0;                ///< every so manieth layer has no RoPE
  bool rope_on_sliding_only = false;         ///< where some layers slide
  bool needs_rope = false;                   ///< rope_parameters or rope_scaling must be there
  bool last_dims = false;                    ///< RoPE turns the last dims of a head, qk_rope_head_dim of them
  bool mscale_on_scores = false;             ///< YaRN's g(mscale_all_dim)^2 multiplies scores
  bool has_axes = false, woven = false;      ///< M-RoPE, its axes in turn
  std::array<std::size_t, 3> sections = {};  ///< mrope_section; 0: must be given
  double score_cap = 0;                      ///< attn_logit_softcapping, where it is absent
  bool sinks = false;
};

/// Those that do all as Llama does.
inline constexpr std::array<std::string_view, 10> as_llama{"llama",  "olmo",     "olmo2",    "granite", "granitemoe",
                                                           "falcon", "baichuan", "seed_oss", "apertus", "hunyuan_v1_dense"};

// clang-format off
/// From the models' classes in Hugging Face transformers, 2026, unless said otherwise.
inline constexpr std::array model_families{
    model_family{.type = "mistral", .slides = windows::everywhere, .window = 4096},
    model_family{.type = "mixtral", .base = 1e6, .slides = windows::everywhere},
    model_family{.type = "ministral3", .head_dim = 128, .slides = windows::everywhere, .needs_rope = true},
    model_family{.type = "starcoder2", .slides = windows::everywhere},
    model_family{.type = "phi3", .slides = windows::everywhere},
    model_family{.type = "phimoe", .base = 1e6, .slides = windows::everywhere},
    model_family{.type = "qwen2", .slides = windows::from_max_window_layers, .max_window_layers = 28},
    model_family{.type = "qwen2_moe", .slides = windows::from_max_window_layers, .max_window_layers = 28},
    model_family{.type = "qwen3", .slides = windows::from_max_window_layers, .max_window_layers = 28},
    model_family{.type = "qwen3_moe", .slides = windows::from_max_window_layers, .max_window_layers = 28},
    model_family{.type = "qwen2_vl", .base = 1e6, .slides = windows::from_max_window_layers, .max_window_layers = 80, .has_axes = true},
    model_family{.type = "qwen2_vl_text", .base = 1e6, .slides = windows::from_max_window_layers, .max_window_layers = 80, .has_axes = true},
    model_family{.type = "qwen2_5_vl", .base = 1e6, .slides = windows::from_max_window_layers, .max_window_layers = 80, .has_axes = true},
    model_family{.type = "qwen2_5_vl_text", .base = 1e6, .slides = windows::from_max_window_layers, .max_window_layers = 80, .has_axes = true},
    model_family{.type = "qwen3_vl_text", .base = 5e5, .has_axes = true, .woven = true, .sections = {24, 20, 20}},
    model_family{.type = "qwen3_vl_moe_text", .base = 5e5, .has_axes = true, .woven = true, .sections = {24, 20, 20}},
    model_family{.type = "qwen3_next", .partial = 0.25, .head_dim = 256, .full_every = 4, .others = linear_attention},
    model_family{.type = "qwen3_5_text", .partial = 0.25, .head_dim = 256, .full_every = 4, .others = linear_attention, .has_axes = true, .woven = true, .sections = {11, 11, 10}},
    model_family{.type = "qwen3_5_moe_text", .partial = 0.25, .head_dim = 256, .full_every = 4, .others = linear_attention, .has_axes = true, .woven = true, .sections = {11, 11, 10}},
    model_family{.type = "phi", .partial = 0.5}, model_family{.type = "stablelm", .partial = 0.25}, model_family{.type = "nemotron", .partial = 0.5},
    model_family{.type = "persimmon", .base = 25000, .partial = 0.5}, model_family{.type = "gpt_neox", .partial = 0.25},
    model_family{.type = "minimax_m2", .base = 5e6, .head_dim = 128},
    model_family{.type = "gemma", .head_dim = 256},
    model_family{.type = "gemma2", .head_dim = 256, .slides = windows::by_pattern, .window = 4096, .full_every = 2, .others = sliding_attention, .score_cap = 50},
    model_family{.type = "gemma3_text", .base = 1e6, .head_dim = 256, .context = 131072, .slides = windows::by_pattern, .window = 4096, .full_every = 6, .others = sliding_attention},
    model_family{.type = "gemma3", .base = 1e6, .head_dim = 256, .context = 131072, .slides = windows::by_pattern, .window = 4096, .full_every = 6, .others = sliding_attention},
    model_family{.type = "gemma4_text", .head_dim = 256, .context = 131072, .slides = windows::by_pattern, .window = 512, .full_every = 6, .others = sliding_attention, .needs_rope = true},
    model_family{.type = "gemma4", .head_dim = 256, .context = 131072, .slides = windows::by_pattern, .window = 512, .full_every = 6, .others = sliding_attention, .needs_rope = true},
    model_family{.type = "gemma4_vision", .base = 100},
    model_family{.type = "olmo3", .slides = windows::by_pattern, .full_every = 4, .others = sliding_attention},
    model_family{.type = "exaone4", .slides = windows::by_pattern, .window = 4096, .full_every = 4, .others = sliding_attention, .rope_on_sliding_only = true},
    model_family{.type = "cohere", .interleaved = true, .base = 5e5},
    model_family{.type = "cohere2", .interleaved = true, .slides = windows::by_pattern, .window = 4096, .full_every = 4, .others = sliding_attention, .rope_on_sliding_only = true},
    model_family{.type = "gpt_oss", .base = 150000, .head_dim = 64, .slides = windows::by_pattern, .window = 128, .full_every = 2, .others = sliding_attention, .needs_rope = true, .sinks = true},
    model_family{.type = "smollm3", .base = 2e6, .nope_every = 4},
    model_family{.type = "llama4_text", .interleaved = true, .base = 5e5, .head_dim = 128, .nope_every = 4},
    model_family{.type = "mimo_v2_flash", .base = 5e6, .partial = 0.334, .head_dim = 192, .slides = windows::by_pattern, .window = 128, .full_every = 6, .others = sliding_attention},
    model_family{.type = "gptj", .interleaved = true, .rotary_dim = 64}, model_family{.type = "codegen", .interleaved = true, .rotary_dim = 64},
    model_family{.type = "glm", .interleaved = true, .partial = 0.5}, model_family{.type = "glm4", .interleaved = true, .partial = 0.5},
    model_family{.type = "glm4v_text", .interleaved = true, .partial = 0.5}, model_family{.type = "glm4_moe", .partial = 0.5},
    model_family{.type = "ernie4_5", .interleaved = true, .base = 5e5, .head_dim = 128}, model_family{.type = "chatglm", .interleaved = true, .partial = 0.5},
    model_family{.type = "deepseek_v2", .interleaved = true, .last_dims = true, .mscale_on_scores = true},
    model_family{.type = "deepseek_v3", .interleaved = true, .last_dims = true, .mscale_on_scores = true},
    model_family{.type = "deepseek_v32", .interleaved = true, .last_dims = true, .mscale_on_scores = true},
    model_family{.type = "kimi_k2", .interleaved = true, .base = 5e4, .last_dims = true, .mscale_on_scores = true},
    model_family{.type = "mistral4", .interleaved = true, .needs_rope = true, .last_dims = true},
    model_family{.type = "deepseek_v4", .interleaved = true, .partial = 0.125, .head_dim = 512, .slides = windows::by_pattern, .last_dims = true, .sinks = true},
};
// clang-format on

inline std::optional<model_family> family_of(std::string_view type) {
  if (std::ranges::find(as_llama, type) != as_llama.end()) return model_family{.type = type};
  auto const found = std::ranges::find(model_families, type, &model_family::type);
  return found == model_families.end() ? std::nullopt : std::optional(*found);
}

}  // namespace detail
}  // namespace posenc
