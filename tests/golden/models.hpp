#pragma once

/// What must come of the configurations in examples/models: the settings written a
/// second time, and what they give. Source: the models' published config.json and their classes in
/// Hugging Face transformers (mistral-4, gemma-4-vision, modernbert-base, gpt2: the class's
/// defaults; glm-4-9b-chat: converted from its rope_ratio of 500). From mistral-7b-v0.1 to
/// smollm2-1.7b: litgpt/config.py of Lightning-AI/litgpt, which names each model's config.json, in
/// the words of that file. Values from the formulas with 60 digits, written with 17.
/// Mistral 4's scores: as transformers scales them since 5.15, by (0.1 ln(128) + 1)^2; Mistral's
/// own settings do not. DeepSeek-V4's window is that of the keys themselves; its s and h layers see
/// compressed ones beyond.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "longrope_factors.hpp"

namespace golden {

enum class rope_rule { plain, linear, llama3, yarn, longrope, proportional };

struct pair_value {
  std::size_t pair;
  double inv_freq;
};

/// How queries and keys turn. What a rule does not read stays as it is here.
struct rope {
  rope_rule rule;
  std::size_t rotary_dim;
  double base;
  bool interleaved = false;  ///< pairs (2i, 2i + 1), else halves
  bool last = false;         ///< the last dims of the head, else the first
  double factor = 1, trained = 0, beta_fast = 32, beta_slow = 1;
  bool truncate = true;
  double low_freq_factor = 1, high_freq_factor = 4, p = 1;
  std::span<double const> short_factors = {}, long_factors = {};
  double attention_factor = 1;
  std::size_t blocks = 1;  ///< so many blocks of rotary_dim dims, one after the other, an axis each
  std::array<std::size_t, 3> sections = {};  ///< of M-RoPE, in pairs
  bool interleaved_axes = false;             ///< M-RoPE's axes interleave, else they are contiguous
  std::array<pair_value, 3> values;          ///< up to the trained length
  std::array<pair_value, 3> long_values = {};  ///< LongRoPE beyond it
};

struct temperature {
  double scale, floor_scale, offset;
};

/// 0 or nothing: does not act. Without anything a layer is NoPE.
struct layer_kind {
  char letter;
  std::size_t head_dim = 0;
  std::optional<rope> rotary = {};
  double softmax_factor = 1;
  std::size_t window = 0, chunk = 0;
  bool sinks = false;
  std::optional<golden::temperature> temperature = {};
  std::size_t alibi_heads = 0, buckets = 0, bucket_distance = 0;
  double score_cap = 0;
};

struct model {
  std::string_view name;
  std::size_t layers;
  std::string_view schedule;  ///< one letter per layer, again from the front where it is shorter
  std::array<layer_kind, 3> kinds = {};  ///< letter 0: no kind

  constexpr layer_kind const& kind_of(std::size_t layer) const {
    auto const letter = schedule[layer % schedule.size()];
    for (auto const& kind : kinds) {
      if (kind.letter == letter) return kind;
    }
    return kinds.front();
  }
};

// clang-format off
inline constexpr layer_kind gpt_oss_local = {.letter = 'l', .head_dim = 64, .rotary = rope{.rule = rope_rule::yarn, .rotary_dim = 64,
    .base = 1.5e5, .factor = 32, .trained = 4096, .truncate = false, .attention_factor = 1.3465735902799727,
    .values = {{{9, 0.031705696184663766}, {12, 0.0067949594897322178}, {17, 0.00012931870124506272}}}}, .window = 128, .sinks = true};
inline constexpr layer_kind gpt_oss_global = {.letter = 'g', .head_dim = 64, .rotary = rope{.rule = rope_rule::yarn, .rotary_dim = 64,
    .base = 1.5e5, .factor = 32, .trained = 4096, .truncate = false, .attention_factor = 1.3465735902799727,
    .values = {{{9, 0.031705696184663766}, {17, 0.00012931870124506272}, {31, 3.0235114281192144e-7}}}}, .sinks = true};
inline constexpr layer_kind gemma4_local = {.letter = 'l', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 256,
    .base = 1e4, .values = {{{1, 0.93057204092969898}, {64, 0.01}, {127, 0.00010746078283213175}}}}, .softmax_factor = 16.0,
    .window = 1024};
inline constexpr layer_kind gemma4_small_local = {.letter = 'l', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain,
    .rotary_dim = 256, .base = 1e4, .values = {{{1, 0.93057204092969898}, {64, 0.01}, {127, 0.00010746078283213175}}}},
    .softmax_factor = 16.0, .window = 512};
inline constexpr layer_kind gemma4_global = {.letter = 'g', .head_dim = 512, .rotary = rope{.rule = rope_rule::proportional,
    .rotary_dim = 512, .base = 1e6, .p = 0.25, .values = {{{1, 0.9474635256553754}, {63, 0.033376246942920385}, {64, 0}}}},
    .softmax_factor = 22.627416997969521};
inline constexpr layer_kind qwen3_vl_text = {.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
    .base = 5e6, .sections = {24, 20, 20}, .interleaved_axes = true,
    .values = {{{1, 0.78582998041963461}, {31, 0.00056909714142128439}, {63, 2.5450797880376063e-7}}}}};
inline constexpr layer_kind deepseek_v4_sparse = {.letter = 's', .head_dim = 512, .rotary = rope{.rule = rope_rule::yarn,
    .rotary_dim = 64, .base = 1.6e5, .interleaved = true, .last = true, .factor = 16, .trained = 65536,
    .values = {{{12, 0.011180339887498948}, {16, 0.002265625}, {31, 5.6805290369099753e-7}}}}, .window = 128, .sinks = true};
inline constexpr layer_kind deepseek_v4_heavy = {.letter = 'h', .head_dim = 512, .rotary = rope{.rule = rope_rule::yarn, .rotary_dim = 64,
    .base = 1.6e5, .interleaved = true, .last = true, .factor = 16, .trained = 65536,
    .values = {{{12, 0.011180339887498948}, {16, 0.002265625}, {31, 5.6805290369099753e-7}}}}, .window = 128, .sinks = true};

inline constexpr std::array<model, 65> models{{
    {"gpt-j-6b", 28, "g", {{{.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 1e4,
        .interleaved = true, .values = {{{1, 0.74989420933245583}, {16, 0.01}, {31, 0.0001333521432163324}}}}}}}},
    {"gpt-neox-20b", 44, "g", {{{.letter = 'g', .head_dim = 96, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 24, .base = 1e4,
        .values = {{{1, 0.46415888336127789}, {6, 0.01}, {11, 0.00021544346900318837}}}}}}}},
    {"llama-2-7b", 32, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 1e4,
        .values = {{{1, 0.86596432336006535}, {31, 0.011547819846894582}, {63, 0.00011547819846894582}}}}}}}},
    {"llama-3.1-8b", 32, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::llama3, .rotary_dim = 128, .base = 5e5,
        .factor = 8, .trained = 8192, .low_freq_factor = 1, .high_freq_factor = 4,
        .values = {{{29, 0.0021665707635033586}, {32, 0.00052484616099295467}, {35, 9.556212353964683e-5}}}}}}}},
    {"llama-3.2-1b", 16, "g", {{{.letter = 'g', .head_dim = 64, .rotary = rope{.rule = rope_rule::llama3, .rotary_dim = 64, .base = 5e5,
        .factor = 32, .trained = 8192, .low_freq_factor = 1, .high_freq_factor = 4,
        .values = {{{15, 0.0012905479282092638}, {16, 0.0004295567965593682}, {18, 1.9461638184831124e-5}}}}}}}},
    {"llama-4-scout", 48, "cccn", {{{.letter = 'c', .head_dim = 128, .rotary = rope{.rule = rope_rule::llama3, .rotary_dim = 128,
        .base = 5e5, .interleaved = true, .factor = 16, .trained = 8192, .low_freq_factor = 1, .high_freq_factor = 1,
        .values = {{{34, 0.00093847387035738025}, {35, 4.7781061769823415e-5}, {63, 1.5344629944572555e-7}}}},
        .chunk = 8192}, {.letter = 'n', .head_dim = 128, .temperature = temperature{0.1, 8192, 1}}}}},
    {"smollm3-3b", 36, "gggn", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 5e6,
        .values = {{{1, 0.78582998041963461}, {31, 0.00056909714142128439}, {63, 2.5450797880376063e-7}}}}}, {.letter = 'n',
        .head_dim = 128}}}},
    {"command-r7b", 32, "llln", {{{.letter = 'l', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 5e4, .interleaved = true, .values = {{{1, 0.844459048688527}, {31, 0.0052958588837966214}, {63, 2.368380092683081e-5}}}},
        .window = 4096}, {.letter = 'n', .head_dim = 128}}}},
    {"gemma-3-27b", 62, "lllllg", {{{.letter = 'l', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e4, .values = {{{1, 0.86596432336006535}, {31, 0.011547819846894582}, {63, 0.00011547819846894582}}}},
        .softmax_factor = 0.87287156094396953, .window = 1024}, {.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::linear,
        .rotary_dim = 128, .base = 1e6, .factor = 8,
        .values = {{{1, 0.10073027347018523}, {31, 0.00015511722009396495}, {63, 1.5511722009396495e-7}}}},
        .softmax_factor = 0.87287156094396953}}}},
    {"gemma-4-31b", 60, "lllllg", {{gemma4_local, gemma4_global}}},
    {"gemma-4-26b-a4b", 30, "lllllg", {{gemma4_local, gemma4_global}}},
    {"gemma-4-e4b", 42, "lllllg", {{gemma4_small_local, gemma4_global}}},
    {"gemma-4-e2b", 35, "llllg", {{gemma4_small_local, gemma4_global}}},
    {"gemma-4-vision", 16, "v", {{{.letter = 'v', .head_dim = 64, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 32, .base = 100,
        .blocks = 2, .values = {{{1, 0.74989420933245583}, {8, 0.1}, {15, 0.01333521432163324}}}}, .softmax_factor = 8.0}}}},
    {"gpt-oss-20b", 24, "lg", {{gpt_oss_local, gpt_oss_global}}},
    {"gpt-oss-120b", 36, "lg", {{gpt_oss_local, gpt_oss_global}}},
    {"deepseek-v3", 61, "g", {{{.letter = 'g', .head_dim = 192, .rotary = rope{.rule = rope_rule::yarn, .rotary_dim = 64, .base = 1e4,
        .interleaved = true, .last = true, .factor = 40, .trained = 4096,
        .values = {{{11, 0.039006926567143858}, {16, 0.0055}, {22, 0.00017782794100389228}}}}, .softmax_factor = 1.8738542070926266}}}},
    {"deepseek-v2-lite", 27, "g", {{{.letter = 'g', .head_dim = 192, .rotary = rope{.rule = rope_rule::yarn, .rotary_dim = 64,
        .base = 1e4, .interleaved = true, .last = true, .factor = 40, .trained = 4096,
        .values = {{{11, 0.039006926567143858}, {16, 0.0055}, {22, 0.00017782794100389228}}}}, .softmax_factor = 1.5896261651208735}}}},
    {"kimi-k2", 61, "g", {{{.letter = 'g', .head_dim = 192, .rotary = rope{.rule = rope_rule::yarn, .rotary_dim = 64, .base = 5e4,
        .interleaved = true, .last = true, .factor = 32, .trained = 4096, .beta_fast = 1, .beta_slow = 1,
        .values = {{{19, 0.0016217599081159522}, {20, 3.6140467735726308e-5}, {31, 8.7644129115898741e-7}}}},
        .softmax_factor = 1.8132604340394957}}}},
    {"kimi-k2.5", 61, "g", {{{.letter = 'g', .head_dim = 192, .rotary = rope{.rule = rope_rule::yarn, .rotary_dim = 64, .base = 5e4,
        .interleaved = true, .last = true, .factor = 64, .trained = 4096,
        .values = {{{9, 0.043776655951338696}, {16, 0.0015372967345311054}, {31, 4.382206455794937e-7}}}},
        .softmax_factor = 2.0047397016824869}}}},
    {"deepseek-v4-flash", 43, "llshshshshshshshshshshshshshshshshshshshshs", {{{.letter = 'l', .head_dim = 512,
        .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 1e4, .interleaved = true, .last = true,
        .values = {{{1, 0.74989420933245583}, {16, 0.01}, {31, 0.0001333521432163324}}}}, .window = 128, .sinks = true},
        deepseek_v4_sparse, deepseek_v4_heavy}}},
    {"qwen2-vl-7b", 28, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 1e6,
        .sections = {16, 24, 24}, .values = {{{1, 0.80584218776148182}, {31, 0.0012409377607517196}, {63, 1.2409377607517196e-6}}}}}}}},
    {"qwen3-vl-4b", 36, "g", {{qwen3_vl_text}}},
    {"qwen3-vl-8b", 36, "g", {{qwen3_vl_text}}},
    {"qwen3.5-27b", 64, "rrrg", {{{.letter = 'r'}, {.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain,
        .rotary_dim = 64, .base = 1e7, .sections = {11, 11, 10}, .interleaved_axes = true,
        .values = {{{1, 0.60429639023813282}, {16, 0.00031622776601683793}, {31, 1.6548170999431814e-7}}}}}}}},
    {"phi-4-mini", 32, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::longrope, .rotary_dim = 96, .base = 1e4,
        .factor = 32, .trained = 4096, .short_factors = phi4_mini_short, .long_factors = phi4_mini_long,
        .attention_factor = 1.1902380714238083,
        .values = {{{1, 0.82540418526801843}, {31, 0.0026101572156825368}, {47, 0.00012115276586285884}}},
        .long_values = {{{1, 0.73807469175354596}, {31, 8.1491015163363618e-5}, {47, 2.5361684291994732e-6}}}}, .window = 262144}}}},
    {"phi-3.5-mini", 32, "g", {{{.letter = 'g', .head_dim = 96, .rotary = rope{.rule = rope_rule::longrope, .rotary_dim = 96, .base = 1e4,
        .factor = 32, .trained = 4096, .short_factors = phi35_mini_short, .long_factors = phi35_mini_long,
        .attention_factor = 1.1902380714238083,
        .values = {{{1, 0.80921980461045226}, {31, 0.0012857919009980375}, {47, 4.2659433051390909e-5}}},
        .long_values = {{{1, 0.74360736453209887}, {31, 4.1682483251328286e-5}, {47, 1.8684881663397112e-6}}}}, .window = 262144}}}},
    {"ministral-3-8b", 34, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::yarn, .rotary_dim = 128, .base = 1e6,
        .factor = 16, .trained = 16384,
        .values = {{{20, 0.01333521432163324}, {32, 0.00033823529411764706}, {40, 1.1114246312743268e-5}}}},
        .temperature = temperature{0.1, 16384, 0}}}}},
    {"mistral-4", 36, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::yarn, .rotary_dim = 64, .base = 1e4,
        .interleaved = true, .last = true, .factor = 128, .trained = 8192,
        .values = {{{14, 0.015068353174007699}, {20, 0.0012314638965078785}, {31, 1.0418136188775969e-6}}}},
        .softmax_factor = 2.2058280296038421, .temperature = temperature{0.1, 8192, 0}}}}},
    {"glm-4-9b-chat", 40, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 5e6,
        .interleaved = true, .values = {{{1, 0.61752875812632332}, {16, 0.00044721359549995794}, {31, 3.2387155637387736e-7}}}}}}}},
    {"mimo-v2-flash", 48, "gllllglllllglllllglllllglllllglllllglllllglllllg", {{{.letter = 'g', .head_dim = 192,
        .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 5e6,
        .values = {{{1, 0.61752875812632332}, {16, 0.00044721359549995794}, {31, 3.2387155637387736e-7}}}}}, {.letter = 'l',
        .head_dim = 192, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 1e4,
        .values = {{{1, 0.74989420933245583}, {16, 0.01}, {31, 0.0001333521432163324}}}}, .window = 128, .sinks = true}}}},
    {"bloom-176b", 70, "b", {{{.letter = 'b', .head_dim = 128, .alibi_heads = 112}}}},
    {"baichuan2-13b", 40, "b", {{{.letter = 'b', .head_dim = 128, .alibi_heads = 40}}}},
    {"mpt-7b", 32, "b", {{{.letter = 'b', .head_dim = 128, .alibi_heads = 32}}}},
    {"t5-small", 6, "b", {{{.letter = 'b', .head_dim = 64, .softmax_factor = 8.0, .buckets = 32, .bucket_distance = 128}}}},
    {"mistral-7b-v0.1", 32, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e4, .values = {{{1, 0.86596432336006535}, {31, 0.011547819846894582}, {63, 0.00011547819846894582}}}},
        .window = 4096}}}},
    {"mistral-7b-v0.3", 32, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e6, .values = {{{1, 0.80584218776148182}, {31, 0.0012409377607517196}, {63, 1.2409377607517196e-6}}}}}}}},
    {"mistral-large-2407", 88, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e6, .values = {{{1, 0.80584218776148182}, {31, 0.0012409377607517196}, {63, 1.2409377607517196e-6}}}}}}}},
    {"mixtral-8x7b", 32, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e6, .values = {{{1, 0.80584218776148182}, {31, 0.0012409377607517196}, {63, 1.2409377607517196e-6}}}}}}}},
    {"qwen2.5-7b", 28, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 1e6,
        .values = {{{1, 0.80584218776148182}, {31, 0.0012409377607517196}, {63, 1.2409377607517196e-6}}}}}}}},
    {"qwen2.5-coder-32b", 64, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e6, .values = {{{1, 0.80584218776148182}, {31, 0.0012409377607517196}, {63, 1.2409377607517196e-6}}}}}}}},
    {"qwen2.5-7b-1m", 28, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e7, .values = {{{1, 0.7773650302387758}, {31, 0.00040679443210830473}, {63, 1.2863969449369745e-7}}}}}}}},
    {"qwen3-8b", 36, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 1e6,
        .values = {{{1, 0.80584218776148182}, {31, 0.0012409377607517196}, {63, 1.2409377607517196e-6}}}}}}}},
    {"qwen3-32b", 64, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 1e6,
        .values = {{{1, 0.80584218776148182}, {31, 0.0012409377607517196}, {63, 1.2409377607517196e-6}}}}}}}},
    {"qwen3-30b-a3b", 48, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e6, .values = {{{1, 0.80584218776148182}, {31, 0.0012409377607517196}, {63, 1.2409377607517196e-6}}}}}}}},
    {"qwen3-235b-a22b-2507", 94, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 5e6, .values = {{{1, 0.78582998041963461}, {31, 0.00056909714142128439}, {63, 2.5450797880376063e-7}}}}}}}},
    {"phi-1.5", 24, "g", {{{.letter = 'g', .head_dim = 64, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 32, .base = 1e4,
        .values = {{{1, 0.56234132519034908}, {8, 0.01}, {15, 0.00017782794100389228}}}}}}}},
    {"phi-2", 32, "g", {{{.letter = 'g', .head_dim = 80, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 32, .base = 1e4,
        .values = {{{1, 0.56234132519034908}, {8, 0.01}, {15, 0.00017782794100389228}}}}}}}},
    {"phi-4", 40, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 2.5e5,
        .values = {{{1, 0.82348783393865359}, {31, 0.0024286940469226066}, {63, 4.8573880938452132e-6}}}}}}}},
    {"gemma-7b", 28, "g", {{{.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 256, .base = 1e4,
        .values = {{{1, 0.93057204092969898}, {63, 0.010746078283213175}, {127, 0.00010746078283213175}}}}}}}},
    {"gemma-2-9b", 42, "lg", {{{.letter = 'l', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 256, .base = 1e4,
        .values = {{{1, 0.93057204092969898}, {63, 0.010746078283213175}, {127, 0.00010746078283213175}}}}, .window = 4096,
        .score_cap = 50}, {.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 256, .base = 1e4,
        .values = {{{1, 0.93057204092969898}, {63, 0.010746078283213175}, {127, 0.00010746078283213175}}}}, .score_cap = 50}}}},
    {"gemma-2-27b", 46, "lg", {{{.letter = 'l', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e4, .values = {{{1, 0.86596432336006535}, {31, 0.011547819846894582}, {63, 0.00011547819846894582}}}},
        .softmax_factor = 0.94280904158206336, .window = 4096, .score_cap = 50}, {.letter = 'g', .head_dim = 128,
        .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 1e4, .values = {{{1, 0.86596432336006535}, {31,
        0.011547819846894582}, {63, 0.00011547819846894582}}}}, .softmax_factor = 0.94280904158206336, .score_cap = 50}}}},
    {"gemma-3-4b", 34, "lllllg", {{{.letter = 'l', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 256,
        .base = 1e4, .values = {{{1, 0.93057204092969898}, {63, 0.010746078283213175}, {127, 0.00010746078283213175}}}},
        .window = 1024}, {.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::linear, .rotary_dim = 256, .base = 1e6,
        .factor = 8, .values = {{{1, 0.11221089155591427}, {63, 0.0001392467324993503}, {127, 1.392467324993503e-7}}}}}}}},
    {"olmo-7b", 32, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 1e4,
        .values = {{{1, 0.86596432336006535}, {31, 0.011547819846894582}, {63, 0.00011547819846894582}}}}}}}},
    {"olmo-2-7b", 32, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 5e5,
        .values = {{{1, 0.8146172338565447}, {31, 0.0017360467021768657}, {63, 2.4551407911316089e-6}}}}}}}},
    {"stablelm-3b-4e1t", 32, "g", {{{.letter = 'g', .head_dim = 80, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 20,
        .base = 1e4, .values = {{{1, 0.39810717055349725}, {5, 0.01}, {9, 0.00025118864315095801}}}}}}}},
    {"pythia-6.9b", 32, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 32, .base = 1e4,
        .values = {{{1, 0.56234132519034908}, {8, 0.01}, {15, 0.00017782794100389228}}}}}}}},
    {"falcon-7b", 32, "g", {{{.letter = 'g', .head_dim = 64, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 1e4,
        .values = {{{1, 0.74989420933245583}, {16, 0.01}, {31, 0.0001333521432163324}}}}}}}},
    {"falcon3-10b", 40, "g", {{{.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 256,
        .base = 1000042, .values = {{{1, 0.89768683789995764}, {63, 0.0011139508327879918}, {127, 1.113927440557356e-6}}}}}}}},
    {"codellama-7b", 32, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e6, .values = {{{1, 0.80584218776148182}, {31, 0.0012409377607517196}, {63, 1.2409377607517196e-6}}}}}}}},
    {"tinyllama-1.1b", 22, "g", {{{.letter = 'g', .head_dim = 64, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64,
        .base = 1e4, .values = {{{1, 0.74989420933245583}, {16, 0.01}, {31, 0.0001333521432163324}}}}}}}},
    {"llama-3.3-70b", 80, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::llama3, .rotary_dim = 128,
        .base = 5e5, .factor = 8, .trained = 8192, .low_freq_factor = 1, .high_freq_factor = 4, .values = {{{29, 0.0021665707635033586},
        {32, 0.00052484616099295467}, {35, 9.556212353964683e-5}}}}}}}},
    {"smollm2-1.7b", 24, "g", {{{.letter = 'g', .head_dim = 64, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64,
        .base = 1.3e5, .values = {{{1, 0.69213254406108987}, {16, 0.0027735009811261456}, {31, 0.000011113922843698481}}}}}}}},
    {"modernbert-base", 22, "gll", {{{.letter = 'g', .head_dim = 64, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64,
        .base = 160000, .values = {{{1, 0.6876560219336321}, {16, 0.0025}, {31, 9.0888464590559605e-6}}}}}, {.letter = 'l',
        .head_dim = 64, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 1e4, .values = {{{1, 0.74989420933245583},
        {16, 0.01}, {31, 0.0001333521432163324}}}}, .window = 65}}}},
    {"gpt2", 12, "n", {{{.letter = 'n', .head_dim = 64}}}},
}};
// clang-format on

}  // namespace golden
