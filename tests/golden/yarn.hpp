#pragma once

/// What YaRN must give, as its code has it and as its paper has it.
/// Source: the rule's formulas [Peng 2023, sections 3.1 to 3.4; transformers,
/// modeling_rope_utils.py] and the settings in the config.json of gpt-oss, DeepSeek-V3 and Kimi-K2,
/// evaluated with 60 digits, written with 17. In radians per position.

#include <array>
#include <cstddef>

namespace golden {

struct yarn_settings {
  std::size_t dim;
  double base, factor;
  std::size_t trained;
  double beta_fast, beta_slow;
  bool truncate;
};

inline constexpr yarn_settings gpt_oss{64, 1.5e5, 32, 4096, 32, 1, false};
inline constexpr yarn_settings gpt_oss_truncated{
    64, 1.5e5, 32, 4096, 32, 1, true};  ///< as ggml and MLX have it: pair 17 is 76 % off
inline constexpr yarn_settings deepseek_v3{64, 1e4, 40, 4096, 32, 1, true};
inline constexpr yarn_settings kimi_k2{64, 5e4, 32, 4096, 1, 1, true};
inline constexpr yarn_settings llama2_by_16{128, 1e4, 16, 4096, 32, 1, true};

struct yarn_value {
  yarn_settings settings;
  std::size_t pair;
  double inv_freq;
};

/// As the code of YaRN has it.
inline constexpr std::array<yarn_value, 26> yarn_values{{
    {gpt_oss, 8, 0.050813274815461474},
    {gpt_oss, 9, 0.031705696184663766},
    {gpt_oss, 12, 0.0067949594897322178},
    {gpt_oss, 17, 1.2931870124506272e-4},
    {gpt_oss, 18, 3.8308812373753383e-5},
    {gpt_oss, 31, 3.0235114281192144e-7},
    {gpt_oss_truncated, 8, 0.050813274815461474},
    {gpt_oss_truncated, 9, 0.031620752275346488},
    {gpt_oss_truncated, 12, 0.0070157139105043882},
    {gpt_oss_truncated, 17, 2.2794779579512526e-4},
    {gpt_oss_truncated, 18, 3.8308812373753383e-5},
    {deepseek_v3, 10, 0.056234132519034908},
    {deepseek_v3, 11, 0.039006926567143858},
    {deepseek_v3, 16, 0.0055},
    {deepseek_v3, 22, 1.7782794100389228e-4},
    {deepseek_v3, 23, 3.3338035804083101e-5},
    {deepseek_v3, 31, 3.3338035804083101e-6},
    {kimi_k2, 19, 0.0016217599081159522},
    {kimi_k2, 20, 3.6140467735726308e-5},
    {llama2_by_16, 20, 0.056234132519034908},
    {llama2_by_16, 24, 0.027061799207210169},
    {llama2_by_16, 32, 0.0056730769230769231},
    {llama2_by_16, 36, 0.002379136375805323},
    {llama2_by_16, 40, 8.8178896293156731e-4},
    {llama2_by_16, 46, 8.3345089510207752e-5},
    {llama2_by_16, 63, 7.2173874043091136e-6},
}};

/// As its paper has it, with alpha 1 and beta 32: up to three times slower.
inline constexpr std::array<yarn_value, 7> yarn_paper_values{{
    {llama2_by_16, 20, 0.056234132519034908},
    {llama2_by_16, 24, 0.020734766389501996},
    {llama2_by_16, 32, 0.0022940483273318648},
    {llama2_by_16, 36, 8.0483324838795201e-4},
    {llama2_by_16, 40, 2.9915572499668259e-4},
    {llama2_by_16, 46, 8.3345089510207752e-5},
    {llama2_by_16, 63, 7.2173874043091136e-6},
}};

/// The pairs between which YaRN blends, as the code has it.
struct yarn_range {
  std::size_t dim;
  double base;
  std::size_t trained;
  double beta_fast, beta_slow;
  bool truncate;
  double low, high;
};

inline constexpr std::array<yarn_range, 9> yarn_ranges{{
    {64, 1.5e5, 4096, 32, 1, false, 8.092779115512401, 17.398024501588556},
    {64, 1.5e5, 4096, 32, 1, true, 8.0, 18.0},
    {64, 1e4, 4096, 32, 1, true, 10.0, 23.0},
    {64, 5e4, 4096, 1, 1, true, 19.0, 20.0},
    {128, 1e4, 4096, 32, 1, false, 20.944481620636053, 45.026881273754549},
    {128, 1e4, 4096, 32, 1, true, 20.0, 46.0},
    {128, 1e4, 2048, 32, 1, true, 16.0, 41.0},
    {128, 1e6, 32768, 32, 1, true, 23.0, 40.0},
    {64, 5e4, 4096, 1, 1, false, 19.164574888626899, 19.165574888626899},
}};

/// 0.1 ln(factor) + 1, on queries and on keys.
struct yarn_attention_factor {
  double factor;
  double attention_factor;
};

inline constexpr std::array<yarn_attention_factor, 7> yarn_attention_factors{{
    {1, 1.0},
    {2, 1.0693147180559945},
    {4, 1.1386294361119891},
    {16, 1.2772588722239781},
    {32, 1.3465735902799727},
    {40, 1.3688879454113936},
    {128, 1.4852030263919617},
}};

/// On scores, beside 1 / sqrt(head_dim): DeepSeek-V3's (0.1 ln(40) + 1)^2 and Llama-2's (0.1 ln(16)
/// + 1)^2.
inline constexpr double deepseek_v3_softmax_factor = 1.8738542070926266;
inline constexpr double deepseek_v3_scale = 0.1352337788608801;  ///< that, times 1 / sqrt(192)
inline constexpr double llama2_by_16_softmax_factor = 1.6313902266748685;

}  // namespace golden
