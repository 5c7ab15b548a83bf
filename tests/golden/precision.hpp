#pragma once

/// The largest error of an angle, in radians, over the last 64 positions of a length, by how angles
/// are formed: 128 dims, base 1e4. Source: the arithmetic of each engine, every operation rounded
/// by Python's struct, against the formula in decimal with 50 digits; written with 6.

#include <array>
#include <cstddef>

namespace golden {

struct angle_error {
  std::size_t length;
  double in_float;         ///< float(float(p) * float(f))
  double float_frequency;  ///< p * float(f)
  double ggml;             ///< theta * theta_scale from pair to pair, in float
};

inline constexpr std::array<angle_error, 5> angle_errors{{
    {2048, 0.000121108, 6.0846e-05, 0.000270308},
    {8192, 0.00048517, 0.000243473, 0.00131716},
    {32768, 0.00194068, 0.000973983, 0.00491848},
    {131072, 0.00776272, 0.00389602, 0.0180399},
    {1048576, 0.0620629, 0.0311684, 0.149989},
}};

/// With positions, frequencies or both stored as bfloat16.
struct bfloat16_error {
  std::size_t length;
  double positions, frequencies, both;
};

inline constexpr std::array<bfloat16_error, 3> bfloat16_errors{{
    {256, 1.42273e-05, 0.31191, 0.31191},
    {512, 1, 0.625043, 1.49223},
    {4096, 8, 5.00891, 11.9378},
}};

}  // namespace golden
