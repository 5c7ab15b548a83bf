#pragma once

/// What must come of the configurations in tests/model/published, whole published files without
/// quantisation, vision, audio and sampling: the settings written a second time, by the models' own
/// code. Values from the formulas with 60 digits, written with 17. In a schedule, l, M, E and - have
/// no attention, n has no rotation, and x sees the keys that a layer before it chose.

#include <array>

#include "golden/models.hpp"

namespace golden {

// clang-format off
inline constexpr layer_kind deepseek_v4_local = {.letter = 'l', .head_dim = 512, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64,
    .base = 1e4, .interleaved = true, .last = true, .values = {{{1, 0.74989420933245583}, {16, 0.01}, {31, 0.0001333521432163324}}}}, .window = 128, .sinks = true};

inline constexpr std::array<model, 31> published{{
    {"deepseek-v3.2", 61, "g", {{{.letter = 'g', .head_dim = 192, .rotary = rope{.rule = rope_rule::yarn, .rotary_dim = 64,
        .base = 1e4, .interleaved = true, .last = true, .factor = 40, .trained = 4096, .values = {{{16, 0.0055},
        {17, 0.0035619974943291652}, {31, 3.3338035804083101e-6}}}}, .softmax_factor = 1.8738542070926266}}}},
    {"deepseek-v4-pro", 61, "hhshshshshshshshshshshshshshshshshshshshshshshshshshshshshshs", {{deepseek_v4_sparse, deepseek_v4_heavy}}},
    {"deepseek-v4-ref", 43, "llshshshshshshshshshshshshshshshshshshshshs", {{deepseek_v4_sparse, deepseek_v4_heavy, deepseek_v4_local}}},
    {"glm-4.5", 92, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 1e6,
        .values = {{{1, 0.64938163157621132}, {16, 0.001}, {31, 1.539926526059492e-6}}}}}}}},
    {"glm-5", 78, "g", {{{.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 1e6,
        .interleaved = true, .last = true, .values = {{{1, 0.64938163157621132}, {16, 0.001}, {31, 1.539926526059492e-6}}}}}}}},
    {"glm-5.1", 78, "g", {{{.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 1e6,
        .interleaved = true, .last = true, .values = {{{1, 0.64938163157621132}, {16, 0.001}, {31, 1.539926526059492e-6}}}}}}}},
    {"glm-5.2", 78, "gggxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxxgxxx", {{{.letter = 'g',
        .head_dim = 256, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 8e6, .interleaved = true, .last = true,
        .values = {{{1, 0.60852501804293719}, {16, 0.00035355339059327376}, {31, 2.0541472625399942e-7}}}}}, {.letter = 'x',
        .head_dim = 256, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 8e6, .interleaved = true, .last = true,
        .values = {{{1, 0.60852501804293719}, {16, 0.00035355339059327376}, {31, 2.0541472625399942e-7}}}}}}}},
    {"kimi-k2.7-code", 61, "g", {{{.letter = 'g', .head_dim = 192, .rotary = rope{.rule = rope_rule::yarn, .rotary_dim = 64,
        .base = 5e4, .interleaved = true, .last = true, .factor = 64, .trained = 4096, .values = {{{14, 0.0044658487485676483},
        {16, 0.0015372967345311054}, {31, 4.382206455794937e-7}}}}, .softmax_factor = 2.0047397016824869}}}},
    {"kimi-k3", 93, "lllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnlllnn", {{{.letter = 'l'},
        {.letter = 'n', .head_dim = 192}}}},
    {"ling-3-mla-nope", 24, "llln", {{{.letter = 'l'}, {.letter = 'n', .head_dim = 128}}}},
    {"ling-3.0-tiny", 24, "lllg", {{{.letter = 'l'}, {.letter = 'g', .head_dim = 192, .rotary = rope{.rule = rope_rule::plain,
        .rotary_dim = 64, .base = 6e6, .interleaved = true, .last = true, .values = {{{1, 0.61402036210356098},
        {16, 0.00040824829046386302}, {31, 2.7143508090788133e-7}}}}}}}},
    {"llama-3.3-nemotron-super", 80, "gggggg--ggg-gggggggggggggggggggggggggggggg----------g------------------ggggggggg", {{{.letter = 'g',
        .head_dim = 128, .rotary = rope{.rule = rope_rule::llama3, .rotary_dim = 128, .base = 5e5, .factor = 8, .trained = 8192,
        .low_freq_factor = 1, .high_freq_factor = 4, .values = {{{32, 0.00052484616099295467}, {62, 3.7673226901739639e-7},
        {63, 3.0689259889145111e-7}}}}}, {.letter = '-'}}}},
    {"mimo-7b", 36, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 6.4e5,
        .values = {{{1, 0.8114811535678302}, {32, 0.00125}, {63, 1.9254914216185719e-6}}}}}}}},
    {"minimax-m2.7", 62, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64,
        .base = 5e6, .values = {{{1, 0.61752875812632332}, {16, 0.00044721359549995794}, {31, 3.2387155637387736e-7}}}}}}}},
    {"minimax-m3-text", 60, "gggsssssssssssssssssssssssssssssssssssssssssssssssssssssssss", {{{.letter = 'g', .head_dim = 128,
        .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 5e6, .values = {{{1, 0.61752875812632332},
        {16, 0.00044721359549995794}, {31, 3.2387155637387736e-7}}}}}, {.letter = 's', .head_dim = 128,
        .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 5e6, .values = {{{1, 0.61752875812632332},
        {16, 0.00044721359549995794}, {31, 3.2387155637387736e-7}}}}}}}},
    {"minimax-m3-vl", 60, "gggsssssssssssssssssssssssssssssssssssssssssssssssssssssssss", {{{.letter = 'g', .head_dim = 128,
        .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 5e6, .values = {{{1, 0.61752875812632332},
        {16, 0.00044721359549995794}, {31, 3.2387155637387736e-7}}}}}, {.letter = 's', .head_dim = 128,
        .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 64, .base = 5e6, .values = {{{1, 0.61752875812632332},
        {16, 0.00044721359549995794}, {31, 3.2387155637387736e-7}}}}}}}},
    {"mistral-nemo", 40, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e6, .values = {{{1, 0.80584218776148182}, {32, 0.001}, {63, 1.2409377607517196e-6}}}}}}}},
    {"mixtral-8x22b", 56, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e6, .values = {{{1, 0.80584218776148182}, {32, 0.001}, {63, 1.2409377607517196e-6}}}}}}}},
    {"nemotron-3-nano", 52, "MEMEMnEMEMEMnEMEMEMnEMEMEMnEMEMEMnEMEMEMEMnEMEMEMEME", {{{.letter = 'M'}, {.letter = 'E'},
        {.letter = 'n', .head_dim = 128}}}},
    {"nemotron-3-super", 88, "MEMEMEMnEMEMEMEMnEMEMEMEMnEMEMEMEMEMnEMEMEMEMEMnEMEMEMEMEMnEMEMEMEMEMnEMEMEMEMnEMEMEMEME", {{{.letter = 'M'},
        {.letter = 'E'}, {.letter = 'n', .head_dim = 128}}}},
    {"nemotron-3-ultra", 108, "MEMEMEMnEMEMEMnEMEMEMEMnEMEMEMEMnEMEMEMnEMEMEMEMnEMEMEMEMnEMEMEMnEMEMEMEMnEMEMEMEMnEMEMEMn"
        "EMEMEMEMnEMEMEMEME", {{{.letter = 'M'}, {.letter = 'E'}, {.letter = 'n', .head_dim = 128}}}},
    {"nemotron-3.5-lightning", 52, "MEMEMnEMEMEMnEMEMEMnEMEMEMnEMEMEMnEMEMEMEMnEMEMEMEME", {{{.letter = 'M'}, {.letter = 'E'},
        {.letter = 'n', .head_dim = 128}}}},
    {"nemotron-h-56b", 118, "M-M-M-Mn-M-M-M-M-Mn-M-M-M-M-Mn-M-M-M-M-Mn-M-M-M-M-Mn-M-M-M-M-Mn-M-M-M-M-Mn-M-M-M-M-Mn-M-M-"
        "M-M-Mn-M-M-M-M-Mn-M-M-M-M-M-", {{{.letter = 'M'}, {.letter = '-'}, {.letter = 'n', .head_dim = 128}}}},
    {"qwen3-coder-480b", 62, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128,
        .base = 1e7, .values = {{{1, 0.7773650302387758}, {32, 0.00031622776601683793}, {63, 1.2863969449369745e-7}}}}}}}},
    {"qwen3-next-80b", 48, "lllg", {{{.letter = 'l'}, {.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain,
        .rotary_dim = 64, .base = 1e7, .values = {{{1, 0.60429639023813282}, {16, 0.00031622776601683793},
        {31, 1.6548170999431814e-7}}}}}}}},
    {"qwen3-vl-32b", 64, "g", {{qwen3_vl_text}}},
    {"qwen3.5-397b", 60, "lllg", {{{.letter = 'l'}, {.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain,
        .rotary_dim = 64, .base = 1e7, .sections = {11, 11, 10}, .interleaved_axes = true, .values = {{{1, 0.60429639023813282},
        {16, 0.00031622776601683793}, {31, 1.6548170999431814e-7}}}}}}}},
    {"qwen3.6-27b", 64, "lllg", {{{.letter = 'l'}, {.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain,
        .rotary_dim = 64, .base = 1e7, .sections = {11, 11, 10}, .interleaved_axes = true, .values = {{{1, 0.60429639023813282},
        {16, 0.00031622776601683793}, {31, 1.6548170999431814e-7}}}}}}}},
    {"qwen3.6-35b-a3b", 40, "lllg", {{{.letter = 'l'}, {.letter = 'g', .head_dim = 256, .rotary = rope{.rule = rope_rule::plain,
        .rotary_dim = 64, .base = 1e7, .sections = {11, 11, 10}, .interleaved_axes = true, .values = {{{1, 0.60429639023813282},
        {16, 0.00031622776601683793}, {31, 1.6548170999431814e-7}}}}}}}},
    {"step-3.7-flash", 45, "glll", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::llama3, .rotary_dim = 64,
        .base = 5e6, .factor = 2, .trained = 131072, .low_freq_factor = 1, .high_freq_factor = 32,
        .values = {{{16, 0.00028368643879333741}, {17, 0.00015929085890515005}, {31, 1.6193577818693868e-7}}}}}, {.letter = 'l',
        .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 1e4,
        .values = {{{1, 0.86596432336006535}, {32, 0.01}, {63, 0.00011547819846894582}}}}, .window = 512}}}},
    {"yi-34b", 60, "g", {{{.letter = 'g', .head_dim = 128, .rotary = rope{.rule = rope_rule::plain, .rotary_dim = 128, .base = 5e6,
        .values = {{{1, 0.78582998041963461}, {32, 0.00044721359549995794}, {63, 2.5450797880376063e-7}}}}}}}},
}};
// clang-format on

}  // namespace golden
