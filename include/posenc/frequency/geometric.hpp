// The frequencies of RoPE and of sinusoidal embeddings: a geometric series.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc { inline namespace POSENC_TARGET {
namespace detail {

inline frequencies geometric_series(char const* rule, std::size_t dim, double base,
                                    double steps_to_base) {
  require(dim > 0 && dim % 2 == 0, rule, ": the dimension must be even and positive, got ", dim);
  require(dim <= std::size_t{1} << 24, rule, ": the dimension must be at most 2^24, got ", dim);
  require_positive(rule, "base", base);
  return for_pairs(dim / 2, 1, falling_powers(log(two_doubles(base)) / steps_to_base, dim / 2));
}

}  // namespace detail

/// inv_freq_i = base^(-2i / dim), i = 0 .. dim/2 - 1: 1 radian per position for the first pair,
/// almost 1/base for the last. [Vaswani 2017, 3.5; Su 2021, 3.2.2]
/// dim is head_dim, or rotary_dim if only a part of each head is rotated (GPT-NeoX).
/// Accuracy, relative: 2^-98, or (1 + |ln base|) 2^-101 if that is more.
/// Throws std::invalid_argument unless dim is even and positive and base is finite and positive.
inline frequencies geometric(std::size_t dim, double base) {
  return detail::geometric_series("geometric", dim, base, static_cast<double>(dim) / 2);
}

/// inv_freq_i = base^(-i / (dim/2 - 1)): the same series with both ends included; the last pair has
/// 1/base. The denominator of tensor2tensor, fairseq and Whisper. A single pair has frequency 1.
inline frequencies geometric_inclusive(std::size_t dim, double base) {
  return detail::geometric_series("geometric_inclusive", dim, base,
                                  dim > 2 ? static_cast<double>(dim) / 2 - 1 : 1);
}

}}  // namespace posenc
