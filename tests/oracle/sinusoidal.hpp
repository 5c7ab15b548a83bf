#pragma once

/// One vector of the sinusoidal embedding, in four published forms [Vaswani 2017, section 3.5].

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "angle.hpp"

namespace oracle {

/// The indices of sine and cosine of frequency j < h = dim/2: interleaved, 2j and 2j + 1 [Vaswani
/// 2017], or concatenated, j and h + j (tensor2tensor, fairseq).
enum class sinusoid_order { interleaved, concatenated };

/// The exponent of frequency j: base^(-j/h), which is the paper's 2j/dim, or base^(-j/(h - 1)) as
/// in tensor2tensor's get_timing_signal_1d and fairseq's SinusoidalPositionalEmbedding, whose last
/// frequency is exactly 1/base.
enum class sinusoid_divisor { half, half_minus_one };

/// The vector of a position, which may be negative or fractional. dim is even. The frequencies are
/// not rounded to f64, so the absolute error is about |position| * 2^-64, plus the final rounding.
inline std::vector<double> sinusoidal_row(wide position, std::size_t dim, sinusoid_order order,
                                          sinusoid_divisor divisor, double base = 10000) {
  if (dim % 2 != 0) throw std::invalid_argument("oracle::sinusoidal_row: dim must be even");
  const std::size_t h = dim / 2;
  // tensor2tensor's guard for a single frequency, where h - 1 would divide by zero
  const std::size_t steps = divisor == sinusoid_divisor::half ? h : std::max<std::size_t>(h, 2) - 1;
  std::vector<double> row(dim);
  for (std::size_t j = 0; j < h; ++j) {
    const wide exponent = -static_cast<wide>(j) / static_cast<wide>(steps);
    const auto [c, s] = direction_at(position, pow(static_cast<wide>(base), exponent));
    row[order == sinusoid_order::interleaved ? 2 * j : j] = static_cast<double>(s);
    row[order == sinusoid_order::interleaved ? 2 * j + 1 : h + j] = static_cast<double>(c);
  }
  return row;
}

}  // namespace oracle
