#pragma once

/// A rotation in which each pair has its own position and gain: several axes [Qwen2-VL, 2.1], xPos
/// [Sun 2022, section 3.2].

#include <cstddef>
#include <span>
#include <stdexcept>

#include "angle.hpp"
#include "rotary.hpp"

namespace oracle {

/// The rotation of one pair: the angle position * inv_freq, and the factor on the rotated pair.
struct pair_rotation {
  wide position;
  double inv_freq;
  wide gain = 1;
};

/// Rotates, in place, the block of 2 * rotations.size() dims from first_dim on: (x, y) -> gain (x
/// cos a - y sin a, x sin a + y cos a).
inline void rotate_pairs(std::span<double> head, std::span<const pair_rotation> rotations,
                         pairing pairs, std::size_t first_dim = 0) {
  const std::size_t n = rotations.size();
  if (first_dim + 2 * n > head.size())
    throw std::invalid_argument("oracle::rotate_pairs: the block must lie in the head");
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = first_dim + (pairs == pairing::halves ? i : 2 * i);
    const std::size_t second = first_dim + (pairs == pairing::halves ? i + n : 2 * i + 1);
    const auto [c, s] = direction_at(rotations[i].position, rotations[i].inv_freq);
    const wide x = head[first];
    const wide y = head[second];
    head[first] = static_cast<double>(rotations[i].gain * (x * c - y * s));
    head[second] = static_cast<double>(rotations[i].gain * (x * s + y * c));
  }
}

}  // namespace oracle
