// Functions that hold under -ffast-math.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/target.hpp"

/// Inference engines are built with -ffast-math: the compiler may reorder sums, multiply by a
/// rounded reciprocal instead of dividing, and assume that there is no NaN, no infinity and no -0.
/// Under it, and under any part of it, this holds:
///
/// - Every accuracy that a header states.
/// - Errors are thrown. NaN and infinities in what is checked, masked scores (-infinity) and
///   no_sink are recognised by their bits: posenc::is_finite, posenc::is_masked.
/// - The bits of what is computed in integers: phases of whole positions, and the conversions of
///   half and bfloat16.
///
/// Other promises of headers do not hold: the same bits in two ways (by number or by register,
/// whole or in parts, in two places of a program), NaN out for NaN in, the sign of 0, and subnormal
/// numbers, which the CPU may flush to 0. A barrier stands only where reordering costs accuracy.
namespace posenc { inline namespace POSENC_TARGET {

/// False if x is infinite or NaN, under -ffast-math too.
constexpr bool is_finite(double x) noexcept {
  constexpr auto exponent = std::uint64_t{0x7ff} << 52;
  return (detail::bit_cast<std::uint64_t>(x) & exponent) != exponent;
}

namespace detail {

/// x, rounded to its type: no sum or product is reordered across it, and x87 keeps no more.
template <std::floating_point T>
T stored(T x) noexcept {
  T const volatile number = x;
  return number;
}

/// The same for a register, or a number in one, where CPUs have an instruction for a x + b.
POSENC_ALWAYS_INLINE inline void as_written([[maybe_unused]] auto& number) noexcept {
#if defined(__SSE2__)
  asm("" : "+x"(number.data));
#elif defined(__aarch64__)
  asm("" : "+w"(number.data));
#endif
}
POSENC_ALWAYS_INLINE inline void as_written(float& number) noexcept {
#if defined(__SSE2__)
  asm("" : "+x"(number));
#elif defined(__aarch64__)
  asm("" : "+w"(number));
#else
  number = stored(number);
#endif
}

/// -infinity, ln 0.
template <std::floating_point T>
#if defined(__cpp_lib_bit_cast) || defined(__clang__)
inline constexpr T negative_infinity = static_cast<T>(detail::bit_cast<float>(0xff80'0000u));
#else
inline constexpr T negative_infinity = -std::numeric_limits<T>::infinity();
#endif

constexpr bool is_negative_infinity(float x) noexcept {
  return detail::bit_cast<std::uint32_t>(x) == 0xff80'0000;
}
constexpr bool is_negative_infinity(double x) noexcept {
  return detail::bit_cast<std::uint64_t>(x) == 0xfff0'0000'0000'0000;
}

}  // namespace detail
}}  // namespace posenc
