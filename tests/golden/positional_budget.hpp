#pragma once

/// The score by which a head that spreads its norm evenly over the m fastest pairs gives a weight
/// of 0.99 to distance 0 [Barbero 2024, Theorem 5.3, made quantitative]: the B with
///
///     sum_{1 <= r < length} e^(B (a_m(r) - 1)) = 0.01 / 0.99,   a_m(r) = (1/m) sum_{i<m} cos(r
///     g_i)
///
/// 128 dims, base 1e4. Source: the formula, with 40 digits, written with as many as the last one
/// tells; half a unit of it is the tolerance.

#include <array>
#include <cstddef>

namespace golden {

struct needed_score {
  std::size_t length, pairs;
  double score;
  double tolerance;
};

inline constexpr std::array<needed_score, 16> needed_scores{{
    {512, 1, 1.35e5, 0.005e5},
    {512, 7, 21.12, 0.005},
    {8192, 1, 2.53e9, 0.005e9},
    {8192, 2, 2.36e4, 0.005e4},
    {8192, 3, 599, 0.5},
    {8192, 4, 491, 0.5},
    {8192, 5, 120, 0.5},
    {8192, 6, 53.3, 0.05},
    {8192, 7, 41.3, 0.05},
    {8192, 8, 29.4, 0.05},
    {8192, 9, 26.50, 0.005},
    {8192, 10, 26.85, 0.005},
    {8192, 12, 30.1, 0.05},
    {8192, 16, 38.98, 0.005},
    {8192, 32, 77.1, 0.05},
    {8192, 64, 154.27, 0.005},
}};

}  // namespace golden
