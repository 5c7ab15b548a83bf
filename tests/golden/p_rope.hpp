#pragma once

/// How many pairs p-RoPE rotates.
/// Source: [Barbero 2024, section 6.1 and the code in the appendix], int((p * head_dim) // 2) in
/// f64. (0.25, 512) is the global attention of Gemma 4, (0.75, 256) the paper's best model. The
/// rows where the counts differ are all those with p a multiple of 0.01 and head_dim even and at
/// most 512.

#include <array>
#include <cstddef>

namespace golden {

struct p_rope_count {
  double p;
  std::size_t head_dim;
  std::size_t published;  ///< by the paper's code, the product rounded to f64
  std::size_t exact;      ///< floor(p * head_dim / 2) for p read as the decimal it is written as
};

inline constexpr std::array<p_rope_count, 18> p_rope_counts{{
    {0.0, 128, 0, 0},
    {1.0, 128, 64, 64},
    {0.75, 128, 48, 48},
    {0.75, 256, 96, 96},
    {0.25, 256, 32, 32},
    {0.25, 512, 64, 64},
    {0.58, 100, 28, 29},
    {0.7, 180, 62, 63},
    {0.29, 200, 28, 29},
    {0.57, 200, 56, 57},
    {0.58, 200, 57, 58},
    {0.82, 300, 122, 123},
    {0.7, 340, 118, 119},
    {0.35, 360, 62, 63},
    {0.7, 360, 125, 126},
    {0.29, 400, 57, 58},
    {0.57, 400, 113, 114},
    {0.58, 400, 115, 116},
}};

}  // namespace golden
