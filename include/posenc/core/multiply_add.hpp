// a * b + c, rounded alike wherever it stands.
#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// One rounding where the CPU has it, as its vector registers do, else two. Written a * b + c, a compiler would choose between the two
/// from place to place, and the bits of a result would depend on what is computed beside it.
template <std::floating_point T>
constexpr T multiply_add(T a, T b, T c) noexcept {
#if defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA)
  if (!std::is_constant_evaluated()) return std::fma(a, b, c);
#endif
  return a * b + c;
}

}  // namespace posenc::detail
