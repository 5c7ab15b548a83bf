#pragma once

/// What frequencies alone say about distances. Source: the formulas of [Su 2021, section 3.4.3] and
/// [Men 2024, theorem 1], evaluated in arbitrary precision.

#include <array>
#include <cstddef>
#include <cstdint>

namespace golden {

/// (1/h) sum |S_j|, base 1e4.
struct roformer_value {
  std::size_t dim;
  std::int64_t distance;
  double bound;
};

inline constexpr std::array<roformer_value, 16> roformer_values{{
    {128, 0, 32.5},
    {128, 1, 31.538166142658084},
    {128, 2, 28.955988473564468},
    {128, 5, 20.845357778356763},
    {128, 10, 17.954137137084834},
    {128, 50, 12.629452488319241},
    {128, 100, 10.227329948505143},
    {128, 200, 7.2447707485105138},
    {128, 256, 6.5430973229789418},
    {128, 1000, 4.4707610342486829},
    {128, 5000, 7.5960961673938724},  ///< above that at 200
    {64, 0, 16.5},
    {64, 100, 7.4652765999424482},
    {256, 0, 64.5},
    {256, 100, 18.616112934348708},
    {128, -100, 10.227329948505143},
}};

/// The smallest base of 128 dims with a(r) >= 0 for all r below a length, by a fine search: what it
/// holds for is no interval of bases.
struct smallest_base {
  std::size_t length;
  double base;
};

inline constexpr std::array<smallest_base, 4> smallest_bases{
    {{1024, 4293.45}, {2048, 11587.4}, {4096, 26952.6}, {8192, 83764.2}}};

inline constexpr double error_of_smallest_bases =
    2e-5;  ///< of the search: 11587.25 is enough for 2048

}  // namespace golden
