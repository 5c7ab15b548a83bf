#pragma once

/// The slowest pair of common models, and pairs whose frequency is a round number.
/// Source: g_k = base^(-2k/d), wavelength 2 pi / g_k [Su 2021, section 3.2.2], evaluated with 70
/// digits, written
/// with 17.

#include <array>
#include <cstddef>

namespace golden {

/// The last pair, k = d/2 - 1, of a head.
struct slowest_pair {
  std::size_t head_dim;
  double base;
  double inv_freq;       ///< radians per position
  double wavelength;     ///< positions per turn
  double zero_crossing;  ///< distance where the pair's cosine first is 0: pi / (2 g)
  double minimum;        ///< distance where it first is -1: pi / g
};

inline constexpr std::array<slowest_pair, 7> slowest_pairs{{
    {64, 1e4, 1.333521432163324e-4, 47117.242780167396, 11779.310695041849, 23558.621390083698},
    {128, 1e4, 1.1547819846894582e-4, 54410.14313077675, 13602.535782694187, 27205.071565388375},
    {256, 1e4, 1.0746078283213175e-4, 58469.565748416054, 14617.391437104014, 29234.782874208027},
    {128, 5e5, 2.4551407911316089e-6, 2559195.5173713594, 639798.87934283986, 1279597.7586856797},
    {128, 1e6, 1.2409377607517196e-6, 5063255.7940483961, 1265813.948512099, 2531627.8970241981},
    {512, 1e6, 1.055449600878603e-6, 5953088.9034864239, 1488272.225871606, 2976544.4517432119},
    {64, 1.5e5, 9.675236569981486e-6, 649408.95881283962, 162352.2397032099, 324704.47940641981},
}};

/// One pair. For base 1e4 and 128 dims, pairs 16, 32 and 48 turn by exactly 0.1, 0.01 and 0.001;
/// for base 5e5, the wavelength of pair 32 is exactly 1000 sqrt(2) pi.
struct checkpoint {
  std::size_t head_dim;
  double base;
  std::size_t pair;
  double inv_freq;
  double wavelength;
};

inline constexpr std::array<checkpoint, 9> checkpoints{{
    {128, 1e4, 0, 1.0, 6.2831853071795865},
    {128, 1e4, 1, 0.86596432336006535, 7.2557091991964858},
    {128, 1e4, 16, 0.1, 62.831853071795865},
    {128, 1e4, 32, 0.01, 628.31853071795865},
    {128, 1e4, 48, 1.0e-3, 6283.1853071795865},
    {128, 5e5, 1, 0.8146172338565447, 7.7130522729476954},
    {128, 5e5, 32, 1.414213562373095e-3, 4442.8829381583662},
    {128, 1e6, 1, 0.80584218776148182, 7.7970419054795413},
    {128, 1e6, 32, 1.0e-3, 6283.1853071795865},
}};

}  // namespace golden
