// a * b + c, rounded the same way everywhere.
#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// One rounding if the CPU has fused multiply-add, as its vector registers then do, else two. For a
/// plain a * b + c the compiler would choose case by case, and the bits of a result would depend on
/// the code around it.
template <std::floating_point T>
constexpr T multiply_add(T a, T b, T c) noexcept {
#if defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA)
  if (!std::is_constant_evaluated()) return std::fma(a, b, c);
#endif
  return a * b + c;
}

}}}  // namespace posenc::detail
