#pragma once

/// Rotary embeddings from their definition [Su 2021, section 3.2; Barbero 2024, section 6.1], one
/// pair at a time.

#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

#include "angle.hpp"

namespace oracle {

/// base^(-2i/dim) radians per position, i < dim/2 [Su 2021, section 3.2.2].
inline std::vector<double> inv_freq(std::size_t dim, double base) {
  std::vector<double> frequencies(dim / 2);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const wide exponent = -2.0L * static_cast<wide>(i) / static_cast<wide>(dim);
    frequencies[i] = static_cast<double>(pow(static_cast<wide>(base), exponent));
  }
  return frequencies;
}

/// The pairs p-RoPE rotates, as the paper's code counts them: Python's int((p * d) // 2) [Barbero
/// 2024, appendix]. The product is rounded to f64 before the floor, so p = 0.58 of 100 dims keeps
/// 28 pairs, not 29.
inline std::size_t p_rope_kept(double p, std::size_t head_dim) {
  const double product = p * static_cast<double>(head_dim);
  return static_cast<std::size_t>(
      std::floor(product / 2.0));  // halving is exact, so this is Python's floor division
}

/// The frequencies of p-RoPE: those of RoPE over the whole head, the slow tail replaced by 0 (no
/// rotation).
inline std::vector<double> p_rope_inv_freq(std::size_t head_dim, double base, double p) {
  std::vector<double> frequencies = inv_freq(head_dim, base);
  for (std::size_t i = p_rope_kept(p, head_dim); i < frequencies.size(); ++i) frequencies[i] = 0.0;
  return frequencies;
}

/// Which two dims of a block of 2n dims form pair i: halves (i, i + n), interleaved (2i, 2i + 1).
enum class pairing { halves, interleaved };

/// Rotates, in place, the block of 2 * inv_freq.size() dims from first_dim on; the other dims are
/// untouched. Forward: (x, y) -> A (x cos a - y sin a, x sin a + y cos a), with a = position *
/// inv_freq[i], A = attention_factor. inverse undoes that, so it divides by A; unless A is 1, it is
/// not the transpose.
inline void rotate(std::span<double> head, std::span<const double> inv_freq, wide position,
                   pairing pairs, std::size_t first_dim = 0, double attention_factor = 1,
                   bool inverse = false) {
  const std::size_t n = inv_freq.size();
  if (first_dim + 2 * n > head.size())
    throw std::invalid_argument("oracle::rotate: the block must lie in the head");
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = first_dim + (pairs == pairing::halves ? i : 2 * i);
    const std::size_t second = first_dim + (pairs == pairing::halves ? i + n : 2 * i + 1);
    const auto [c, s] = direction_at(inverse ? -position : position, inv_freq[i]);
    const wide gain = inverse ? 1.0L / attention_factor : static_cast<wide>(attention_factor);
    const wide x = head[first];
    const wide y = head[second];
    head[first] = static_cast<double>(gain * (x * c - y * s));
    head[second] = static_cast<double>(gain * (x * s + y * c));
  }
}

/// cos(position * inv_freq[i]) for every pair.
inline std::vector<double> cos_of(wide position, std::span<const double> inv_freq) {
  std::vector<double> values;
  for (const double frequency : inv_freq)
    values.push_back(static_cast<double>(direction_at(position, frequency).cos));
  return values;
}

/// sin(position * inv_freq[i]) for every pair.
inline std::vector<double> sin_of(wide position, std::span<const double> inv_freq) {
  std::vector<double> values;
  for (const double frequency : inv_freq)
    values.push_back(static_cast<double>(direction_at(position, frequency).sin));
  return values;
}

}  // namespace oracle
