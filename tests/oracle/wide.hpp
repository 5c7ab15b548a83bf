#pragma once

/// The type that oracles compute with, of 64 bits or more, with functions as exact: long double;
/// but two doubles where long double is a double (32-bit ARM), has the functions of double
/// (WebAssembly), a fused multiply-add that is not exact (PowerPC), or cosines that are not exact
/// far from 0 (Windows).

#include <math.h>

#include <cmath>
#include <limits>

#if defined(__wasm__) || defined(_WIN32) || __LDBL_MANT_DIG__ == 53 || __LDBL_MANT_DIG__ == 106
#include "two_doubles.hpp"

namespace oracle {

using wide = two_doubles;
inline constexpr wide pi = two_doubles::sum(0x1.921fb54442d18p1, 0x1.1a62633145c07p-53);
inline constexpr double wide_epsilon = 0x1p-98;
inline constexpr int wide_cost = 100;

}  // namespace oracle

#else

namespace oracle {

using wide = long double;
inline constexpr double wide_epsilon =
    static_cast<double>(std::numeric_limits<long double>::epsilon());
inline constexpr wide pi = 3.14159265358979323846264338327950288L;
inline constexpr int wide_cost = 1;  ///< how many times as long a function takes as of long double:
                                     ///< where it is 100, a sample is smaller

using std::abs, std::ceil, std::cosh, std::exp, std::exp2, std::floor, std::log, std::pow,
    std::round, std::sqrt, std::tanh;

// The C functions, hidden from the optimiser: under -ffast-math g++ would use the x87 instructions
// fcos and fsin, which are wrong far from 0, and clang++ a product and a sum for fma.
inline wide (*volatile const cosine)(wide) = ::cosl;
inline wide (*volatile const sine)(wide) = ::sinl;
inline wide (*volatile const fused)(wide, wide, wide) = ::fmal;

/// position * frequency radians and its rounding error: the product of a large position and a
/// 53-bit frequency does not fit long double.
struct angle_parts {
  wide rounded, lost;
};
inline angle_parts angle_at(wide position, wide frequency) {
  const wide rounded = position * frequency;
  return {.rounded = rounded, .lost = fused(position, frequency, -rounded)};
}

}  // namespace oracle

#endif
