#pragma once

/// The all-ones kernel a(r) = (1/h) sum_k cos(r g_k), h = d/2: the score of two equal constant
/// vectors at distance r over its value at distance 0, the curve of [Barbero 2024, figure 2].
/// Source: the formula, evaluated with 70 digits, written with 17. Distances were found by a scan
/// in 64-bit long double and the sign on both sides confirmed with 45 digits.

#include <array>
#include <cstddef>

namespace golden {

struct kernel_value {
  std::size_t head_dim;
  double base;
  std::size_t distance;
  double value;
};

/// The decay is not monotone: a(100) > a(50) for 64 dims, and a(12) > a(11) for 128.
inline constexpr std::array<kernel_value, 21> kernel_values{{
    {64, 1e4, 50, 0.48980615485977474},
    {64, 1e4, 100, 0.55858339953330947},
    {128, 1e4, 0, 1.0},
    {128, 1e4, 1, 0.97021380946511914},
    {128, 1e4, 2, 0.89659157113787129},
    {128, 1e4, 5, 0.73726581202874957},
    {128, 1e4, 10, 0.66906285778901713},
    {128, 1e4, 11, 0.66163005027648321},
    {128, 1e4, 12, 0.66220916088897268},
    {128, 1e4, 100, 0.47724147971079164},
    {128, 1e4, 1000, 0.15902700206579135},
    {128, 1e4, 5000, -6.9558698529513531e-3},
    {128, 1e4, 10000, -0.027893780075815947},
    {256, 1e4, 1, 0.97212766394345609},
    {256, 1e4, 100, 0.45618321149681597},
    {256, 1e4, 1000, 0.19252351452455502},
    {256, 1e4, 5000, -0.029469047382224882},
    {128, 5e5, 1, 0.97790922416976814},
    {128, 5e5, 1000, 0.49226389043557214},
    {128, 5e5, 10000, 0.18699477636157671},
    {128, 1e6, 1000, 0.49112124240955459},
}};

struct kernel_distance {
  std::size_t head_dim;
  double base;
  std::size_t distance;
};

/// The first whole distance r with a(r) < 0: the context that the base bounds [Men 2024].
inline constexpr std::array<kernel_distance, 11> first_negatives{{
    {64, 1e4, 725},
    {128, 1e4, 1707},
    {256, 1e4, 2653},
    {64, 1.5e5, 2774},
    {128, 1.6e5, 9125},
    {128, 5e5, 18438},
    {128, 1e6, 27115},
    {256, 1e6, 71627},
    {512, 1e6, 122525},
    {128, 1e7, 144660},
    {256, 1e7, 284715},
}};

/// The first whole distance with a(r) < 1/2.
inline constexpr std::array<kernel_distance, 3> half_values{{
    {64, 1e4, 28},
    {128, 1e4, 46},
    {256, 1e4, 53},
}};

/// The first whole distance with a(r) > a(r - 1).
inline constexpr std::array<kernel_distance, 3> first_increases{{
    {64, 1e4, 6},
    {128, 1e4, 12},
    {256, 1e4, 25},
}};

/// First negative distances of modified frequencies over 128 dims. The Llama rules are {factor, 1,
/// 4, 8192}; the others extend base 1e4 from 4096 positions by 16, YaRN with beta 32 and 1, its
/// ramp by dimension (code) or rotations (paper).
inline constexpr std::size_t first_negative_llama_3_1 = 85133;     ///< base 5e5, factor 8
inline constexpr std::size_t first_negative_llama_3_2 = 241522;    ///< base 5e5, factor 32
inline constexpr std::size_t first_negative_interpolated = 27297;  ///< position interpolation
inline constexpr std::size_t first_negative_ntk_aware = 7920;      ///< base 1e4 * 16^(128/126)
inline constexpr std::size_t first_negative_yarn_code = 11671;
inline constexpr std::size_t first_negative_yarn_paper = 15037;
inline constexpr std::size_t first_negative_p_rope = 30376;  ///< base 1e4, p = 0.75

/// The same Llama rule, base 5e5 and factor 32, over the 64 dims of Llama-3.2-1B.
inline constexpr std::size_t first_negative_llama_3_2_1b = 110699;

}  // namespace golden
