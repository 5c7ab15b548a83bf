// tanh for a register, as soft-capping needs it.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "posenc/core/target.hpp"
#include "posenc/simd/exponential.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

template <std::floating_point T>
T hyperbolic_tangent(one_lane<T>, T x) noexcept {
  return std::tanh(x);
}

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

/// tanh x = -m / (2 + m) with m = e^(-2 |x|) - 1, and the sign of x: no difference cancels. m is
/// off by 4 roundings, which the quotient makes at most 6; with its own and that of 2 + m, 8
/// roundings. 1 beyond |x| = 22, where m is -1. NaN gives any number.
template <std::floating_point T>
requires has_registers<T>
[[gnu::always_inline]] inline typename lanes<T>::number hyperbolic_tangent(
    lanes<T>, typename lanes<T>::number const& x) noexcept {
  using number = typename lanes<T>::number;
  using whole = std::conditional_t<std::same_as<T, float>, std::uint32_t, std::uint64_t>;
  using bits = decltype(bits_as<whole>(x));
  constexpr auto sign = whole{1} << (8 * sizeof(T) - 1);
  auto const magnitude = bits_as<T>(bits_as<whole>(x) & bits(~sign));
  auto const m =
      exponential_less_1(lanes<T>(), lanes<T>::larger(number(T{-44}), number(T{-2}) * magnitude));
  auto const quotient = m / (m + number(T{2}));
  return bits_as<T>((bits_as<whole>(quotient) & bits(~sign)) | (bits_as<whole>(x) & bits(sign)));
}

#endif

}  // namespace posenc::detail
