// What a model's code does and its config.json does not say, by model_type.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace posenc {
namespace detail {

struct model_family {
  std::string_view type;
  bool interleaved = false;           ///< pairs (2i, 2i + 1), else halves
  double base = 1e4;                  ///< rope_theta
  double partial = 1;                 ///< partial_rotary_factor
  std::size_t head_dim = 0;           ///< 0: hidden_size / num_attention_heads
  std::size_t full_every = 1;         ///< every so manieth layer has full attention,
  std::string_view others = {};       ///< and the others this
  std::size_t nope_every = 0;         ///< every so manieth layer has no RoPE
  bool rope_on_sliding_only = false;  ///< where some layers slide
  bool last_dims = false;             ///< RoPE turns the last dims of a head
  bool mscale_on_scores = false;      ///< YaRN's g(mscale_all_dim)^2 multiplies scores
  bool sinks = false;
};

inline constexpr std::string_view sliding = "sliding_attention", linear_layers = "linear_attention", chunked = "chunked_attention";

// clang-format off
/// From the models' classes in Hugging Face transformers, 2026, unless said otherwise.
inline constexpr std::array model_families{
    model_family{.type = "llama"}, model_family{.type = "mistral"}, model_family{.type = "mixtral"}, model_family{.type = "ministral3"},
    model_family{.type = "qwen2"}, model_family{.type = "qwen2_moe"}, model_family{.type = "qwen3"}, model_family{.type = "qwen3_moe"},
    model_family{.type = "phi", .partial = 0.5}, model_family{.type = "phi3"}, model_family{.type = "phimoe"},
    model_family{.type = "olmo"}, model_family{.type = "olmo2"}, model_family{.type = "granite"}, model_family{.type = "granitemoe"},
    model_family{.type = "starcoder2"}, model_family{.type = "stablelm", .partial = 0.25}, model_family{.type = "nemotron", .partial = 0.5},
    model_family{.type = "persimmon", .base = 25000, .partial = 0.5}, model_family{.type = "falcon"}, model_family{.type = "baichuan"},
    model_family{.type = "gpt_neox", .partial = 0.25}, model_family{.type = "minimax_m2"}, model_family{.type = "hunyuan_v1_dense"},
    model_family{.type = "gemma", .head_dim = 256},
    model_family{.type = "gemma2", .head_dim = 256, .full_every = 2, .others = sliding},
    model_family{.type = "gemma3_text", .base = 1e6, .head_dim = 256, .full_every = 6, .others = sliding},
    model_family{.type = "gemma3", .base = 1e6, .head_dim = 256, .full_every = 6, .others = sliding},
    model_family{.type = "gemma4_text", .head_dim = 256, .full_every = 6, .others = sliding},
    model_family{.type = "gemma4", .head_dim = 256, .full_every = 6, .others = sliding},
    model_family{.type = "gemma4_vision", .base = 100},
    model_family{.type = "olmo3", .full_every = 4, .others = sliding},
    model_family{.type = "exaone4", .full_every = 4, .others = sliding, .rope_on_sliding_only = true},
    model_family{.type = "cohere", .interleaved = true},
    model_family{.type = "cohere2", .interleaved = true, .full_every = 4, .others = sliding, .rope_on_sliding_only = true},
    model_family{.type = "gpt_oss", .base = 150000, .head_dim = 64, .full_every = 2, .others = sliding, .sinks = true},
    model_family{.type = "smollm3", .base = 2e6, .nope_every = 4},
    model_family{.type = "llama4_text", .interleaved = true, .base = 5e5, .head_dim = 128, .full_every = 4, .others = chunked, .nope_every = 4},
    model_family{.type = "mimo_v2_flash", .base = 5e6, .partial = 0.334, .head_dim = 192, .full_every = 6, .others = sliding},
    model_family{.type = "qwen3_next", .partial = 0.25, .head_dim = 256, .full_every = 4, .others = linear_layers},
    model_family{.type = "qwen3_5_text", .partial = 0.25, .head_dim = 256, .full_every = 4, .others = linear_layers},
    model_family{.type = "qwen3_5_moe_text", .partial = 0.25, .head_dim = 256, .full_every = 4, .others = linear_layers},
    model_family{.type = "qwen2_vl", .base = 1e6}, model_family{.type = "qwen2_vl_text", .base = 1e6},
    model_family{.type = "qwen2_5_vl", .base = 1e6}, model_family{.type = "qwen2_5_vl_text", .base = 1e6},
    model_family{.type = "qwen3_vl_text", .base = 5e5}, model_family{.type = "qwen3_vl_moe_text", .base = 5e5},
    model_family{.type = "gptj", .interleaved = true}, model_family{.type = "codegen", .interleaved = true},
    model_family{.type = "glm", .interleaved = true, .partial = 0.5}, model_family{.type = "glm4", .interleaved = true, .partial = 0.5},
    model_family{.type = "glm4v_text", .interleaved = true, .partial = 0.5}, model_family{.type = "glm4_moe", .partial = 0.5},
    model_family{.type = "ernie4_5", .interleaved = true}, model_family{.type = "chatglm", .interleaved = true, .partial = 0.5},
    model_family{.type = "deepseek_v2", .interleaved = true, .last_dims = true, .mscale_on_scores = true},
    model_family{.type = "deepseek_v3", .interleaved = true, .last_dims = true, .mscale_on_scores = true},
    model_family{.type = "kimi_k2", .interleaved = true, .base = 5e4, .last_dims = true, .mscale_on_scores = true},
    model_family{.type = "mistral4", .interleaved = true, .last_dims = true},
    model_family{.type = "deepseek_v4", .interleaved = true, .partial = 0.125, .head_dim = 512, .last_dims = true, .sinks = true},
};
// clang-format on

inline std::optional<model_family> family_of(std::string_view type) {
  auto const found = std::ranges::find(model_families, type, &model_family::type);
  return found == model_families.end() ? std::nullopt : std::optional(*found);
}

}  // namespace detail
}  // namespace posenc
