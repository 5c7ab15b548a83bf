#pragma once

/// What every rule of frequencies must give, for the settings of models that use it.
/// Source: the rules' formulas [Su 2021, section 3.2.2; transformers, modeling_rope_utils.py;
/// jquesnelle/yarn; vLLM; hrlics/CoPE], evaluated with 60 digits, written with 17. In radians per
/// position.

#include <array>
#include <cstddef>

#include "yarn.hpp"

namespace golden {

/// base^(-2 pair / dim).
struct default_value {
  std::size_t dim;
  double base;
  std::size_t pair;
  double inv_freq;
};

inline constexpr std::array<default_value, 17> default_values{{
    {128, 1e4, 0, 1.0},
    {128, 1e4, 1, 0.86596432336006535},
    {128, 1e4, 16, 0.1},
    {128, 1e4, 31, 0.011547819846894582},
    {128, 1e4, 32, 0.01},
    {128, 1e4, 48, 0.001},
    {128, 1e4, 63, 1.1547819846894582e-4},
    {64, 1e4, 31, 1.333521432163324e-4},
    {256, 1e4, 127, 1.0746078283213175e-4},
    {128, 5e5, 1, 0.8146172338565447},
    {128, 5e5, 32, 0.001414213562373095},
    {128, 5e5, 63, 2.4551407911316089e-6},
    {128, 1e6, 1, 0.80584218776148182},
    {128, 1e6, 32, 0.001},
    {128, 1e6, 63, 1.2409377607517196e-6},
    {512, 1e6, 255, 1.055449600878603e-6},
    {64, 1.5e5, 31, 9.675236569981486e-6},
}};

/// NTK-aware: base * factor^(dim / (dim - 2)).
struct ntk_base {
  std::size_t dim;
  double base, factor;
  double new_base;
};

inline constexpr std::array<ntk_base, 4> ntk_bases{{
    {128, 1e4, 2, 20221.261689737912},
    {128, 1e4, 4, 40889.942432486216},
    {128, 1e4, 8, 82684.622640562218},
    {128, 1e4, 16, 167198.73921320368},
}};

/// Dynamic NTK at a length of the sequence; at the trained length and below nothing changes.
struct dynamic_ntk_value {
  std::size_t dim;
  double base, factor;
  std::size_t trained, length;
  double new_base;
  double last;  ///< inv_freq of pair dim/2 - 1
};

inline constexpr std::array<dynamic_ntk_value, 4> dynamic_ntk_values{{
    {128, 1e4, 2, 2048, 1024, 1e4, 1.1547819846894582e-4},
    {128, 1e4, 2, 2048, 2048, 1e4, 1.1547819846894582e-4},
    {128, 1e4, 2, 2048, 4096, 30527.736748806698, 3.8492732822981939e-5},
    {128, 1e4, 2, 2048, 8192, 72195.860086509387, 1.6496885495563688e-5},
}};

/// NTK of vLLM with mixed_b: inv_freq_i / exp(a (i + 1)^b), a = ln(factor) / (dim/2)^b. The last
/// pair is exactly 1/factor as fast.
struct ntk_mixed_value {
  std::size_t dim;
  double base, factor, b;
  std::size_t pair;
  double inv_freq;
};

inline constexpr std::array<ntk_mixed_value, 4> ntk_mixed_values{{
    {128, 1e4, 8, 0.625, 0, 0.85679600951575461},
    {128, 1e4, 8, 0.625, 1, 0.68231175557256444},
    {128, 1e4, 8, 0.625, 31, 0.0029986003802526824},
    {128, 1e4, 8, 0.625, 63, 1.4434774808618227e-5},
}};

/// LongRoPE's sqrt(1 + ln(factor) / ln(trained)) for Phi-3.5 and Phi-4: factor 131072 / 4096.
inline constexpr double phi_attention_factor = 1.1902380714238083;

/// Blended around one rotation in the trained length, then between 2 and 16 [jquesnelle/yarn,
/// LlamaPartNTKScaledRotaryEmbedding].
struct ntk_by_parts_value {
  std::size_t dim;
  double base, factor;
  std::size_t trained;
  std::size_t pair;
  double inv_freq;
};

inline constexpr std::array<ntk_by_parts_value, 10> ntk_by_parts_values{{
    {128, 1e4, 16, 4096, 20, 0.056234132519034908},
    {128, 1e4, 16, 4096, 24, 0.031622776601683793},
    {128, 1e4, 16, 4096, 30, 0.010280868587866128},
    {128, 1e4, 16, 4096, 36, 0.0025501905760911145},
    {128, 1e4, 16, 4096, 41, 4.5067800221900844e-4},
    {128, 1e4, 16, 4096, 44, 2.2740011881965546e-4},
    {128, 1e4, 16, 4096, 45, 1.6601441784526939e-4},
    {128, 1e4, 16, 4096, 46, 1.2045385427121123e-4},
    {128, 1e4, 16, 4096, 47, 8.6928035118223475e-5},
    {128, 1e4, 16, 4096, 63, 7.2173874043091136e-6},
}};

struct llama3_settings {
  std::size_t dim;
  double base, factor, low_freq_factor, high_freq_factor;
  std::size_t trained;
  std::size_t last_kept, first_divided;  ///< pairs; those between are blended
};

inline constexpr llama3_settings llama31{128, 5e5, 8, 1, 4, 8192, 28, 35};
inline constexpr llama3_settings llama32{64, 5e5, 32, 1, 4, 8192, 14, 18};
inline constexpr llama3_settings llama4_scout{128, 5e5,  16, 1,
                                              1,   8192, 34, 35};  ///< a step at wavelength 8192

struct llama3_value {
  llama3_settings settings;
  std::size_t pair;
  double inv_freq;
};

inline constexpr std::array<llama3_value, 17> llama3_values{{
    {llama31, 0, 1.0},
    {llama31, 28, 0.003211445994752591},
    {llama31, 29, 0.0021665707635033586},
    {llama31, 31, 8.5675141291963208e-4},
    {llama31, 32, 5.2484616099295467e-4},
    {llama31, 34, 1.7850781276799642e-4},
    {llama31, 35, 9.556212353964683e-5},
    {llama31, 63, 3.0689259889145111e-7},
    {llama32, 14, 0.003211445994752591},
    {llama32, 15, 0.0012905479282092638},
    {llama32, 16, 4.295567965593682e-4},
    {llama32, 17, 9.7082878026276723e-5},
    {llama32, 18, 1.9461638184831124e-5},
    {llama32, 31, 9.4183067254349098e-8},
    {llama4_scout, 34, 9.3847387035738025e-4},
    {llama4_scout, 35, 4.7781061769823415e-5},
    {llama4_scout, 63, 1.5344629944572555e-7},
}};

/// p-RoPE of Gemma 4's global attention: 64 of 256 pairs move.
struct proportional_value {
  std::size_t head_dim;
  double base, p;
  std::size_t pair;
  double inv_freq;
};

inline constexpr std::array<proportional_value, 5> proportional_values{{
    {512, 1e6, 0.25, 0, 1.0},
    {512, 1e6, 0.25, 1, 0.9474635256553754},
    {512, 1e6, 0.25, 63, 0.033376246942920385},
    {512, 1e6, 0.25, 64, 0.0},
    {512, 1e6, 0.25, 255, 0.0},
}};

/// Resonance RoPE [Wang 2024]: the wavelengths, in positions, of 128 dims and base 1e4.
inline constexpr std::array<int, 64> resonance_wavelengths{
    6,     7,     8,     10,    11,    13,    15,    17,    20,    23,    26,    31,   35,
    41,    47,    54,    63,    73,    84,    97,    112,   129,   149,   172,   199,  229,
    265,   306,   353,   408,   471,   544,   628,   726,   838,   968,   1117,  1290, 1490,
    1721,  1987,  2294,  2650,  3060,  3533,  4080,  4712,  5441,  6283,  7256,  8379, 9676,
    11173, 12903, 14900, 17206, 19869, 22945, 26496, 30597, 35333, 40802, 47117, 54410};

/// The last `clipped` frequencies times half a period of a raised cosine.
struct raised_cosine_clip_value {
  std::size_t dim;
  double base;
  std::size_t clipped;
  std::size_t pair;
  double inv_freq;
};

inline constexpr std::array<raised_cosine_clip_value, 7> raised_cosine_clip_values{{
    {128, 5e5, 20, 43, 1.4825335432657047e-4},
    {128, 5e5, 20, 44, 1.2076973741146504e-4},
    {128, 5e5, 20, 45, 9.7710214372542143e-5},
    {128, 5e5, 20, 53, 1.0326905584473308e-5},
    {128, 5e5, 20, 54, 7.1290650361109945e-6},
    {128, 5e5, 20, 62, 2.0552548462128974e-8},
    {128, 5e5, 20, 63, 0.0},
}};

/// How many pairs FoPE lets move.
struct fope_count {
  std::size_t dim;
  double base;
  std::size_t trained;
  std::size_t moving;
};

inline constexpr std::array<fope_count, 2> fope_counts{{
    {128, 1e4, 512, 31},
    {128, 1e4, 4096, 46},
}};

/// How far the slowest pair turns, in radians.
struct slowest_angle {
  std::size_t dim;
  double base, factor;  ///< the frequency is divided by factor: Llama 3.1
  std::size_t position;
  double angle;
  double turns;  ///< to five digits
};

inline constexpr std::array<slowest_angle, 6> slowest_angles{{
    {128, 1e4, 1, 8192, 0.94599740185760414, 0.15056},
    {128, 1e4, 1, 131072, 15.135958429721666, 2.40896},
    {256, 1e4, 1, 131072, 14.085099727373173, 2.24171},
    {128, 5e5, 1, 131072, 0.32180021377520224, 0.051216},
    {128, 1e6, 1, 131072, 0.16265219417724939, 0.025887},
    {128, 5e5, 8, 131072, 0.04022502672190028, 0.0064020},
}};

/// Wavelengths in tokens of 128 dims and base 5e5, around where Llama 3.1 begins and ends to blend.
struct wavelength_of_pair {
  std::size_t pair;
  double wavelength;
};

inline constexpr std::array<wavelength_of_pair, 5> llama3_wavelengths{{{28, 1956.49726555},
                                                                       {29, 2401.73812219},
                                                                       {31, 3619.24900943},
                                                                       {34, 6695.10948108},
                                                                       {35, 8218.71819405}}};

}  // namespace golden
