// What C++ cannot tell a compiler, and what holds under -ffast-math.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/target.hpp"

/// After the parameters of a lambda, to inline it always: C++20 has no attribute there.
#if defined(__GNUC__)
#define POSENC_INLINED __attribute__((always_inline))
#else
#define POSENC_INLINED
#endif

/// Before a loop: clang unrolls loops over loops, several times the code, and no faster.
#if defined(__clang__)
#define POSENC_NOT_UNROLLED _Pragma("clang loop unroll(disable)")
#else
#define POSENC_NOT_UNROLLED
#endif

/// Around registers: g++ 12 warns of its own AVX headers.
#if defined(__GNUC__) && !defined(__clang__)
#define POSENC_QUIET_BEGIN                                                             \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wuninitialized\"") \
      _Pragma("GCC diagnostic ignored \"-Wmaybe-uninitialized\"")                      \
          _Pragma("GCC diagnostic ignored \"-Wsign-conversion\"")
#define POSENC_QUIET_END _Pragma("GCC diagnostic pop")
#else
#define POSENC_QUIET_BEGIN
/// Their end.
#define POSENC_QUIET_END
#endif

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
/// What else headers promise does not: the same bits in two ways (by number or by register, whole
/// or in parts, in two places of a program), NaN out for NaN in, the sign of 0, and subnormal
/// numbers, which the CPU may flush to 0. A barrier stands only where reordering costs accuracy.
namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// x, rounded to its type: no sum or product is reordered across it, and x87 keeps no more.
template <std::floating_point T>
T stored(T x) noexcept {
  T const volatile number = x;
  return number;
}

/// The same for a register, or a number in one, where CPUs have an instruction for a x + b.
[[gnu::always_inline]] inline void as_written([[maybe_unused]] auto& number) noexcept {
#if defined(__SSE2__)
  asm("" : "+x"(number.data));
#elif defined(__aarch64__)
  asm("" : "+w"(number.data));
#endif
}
[[gnu::always_inline]] inline void as_written(float& number) noexcept {
#if defined(__SSE2__)
  asm("" : "+x"(number));
#elif defined(__aarch64__)
  asm("" : "+w"(number));
#else
  number = stored(number);
#endif
}

/// Asks for the cache line of an address, which may be any, into L1.
[[gnu::always_inline]] inline void prefetch_into_l1([[maybe_unused]] void const* address) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(address, 0, 3);
#endif
}

/// Asks for all cache lines of numbers.
template <class T>
void prefetch_numbers(std::span<T> numbers) noexcept {
  for (std::size_t i = 0; i < numbers.size(); i += 64 / sizeof(T))
    prefetch_into_l1(numbers.data() + i);
}

/// x, hidden from the optimiser: sums with it are not hoisted, a loop with it is not vectorised,
/// and it is not loaded together with its neighbours.
template <std::integral T>
[[gnu::always_inline]] inline T opaque(T x) noexcept {
#if defined(__GNUC__)
  asm volatile("" : "+r"(x));
#endif
  return x;
}

/// Calls each(0), each(1) ... each(Count - 1): unrolled, or g++ keeps arrays of registers in
/// memory.
template <std::size_t Count>
[[gnu::always_inline]] inline void unrolled(auto const& each) noexcept {
  [&]<std::size_t... i>(std::index_sequence<i...>) POSENC_INLINED { (each(i), ...); }
  (std::make_index_sequence<Count>{});
}

/// Calls each(i) for i < n, in blocks that compilers compute in registers.
template <std::size_t Block = 32>
[[gnu::always_inline]] inline void each_of(std::size_t n, auto const& each) noexcept {
  auto const whole = n / Block * Block;
  for (std::size_t i = 0; i < whole; i += Block)
    for (std::size_t j = 0; j < Block; ++j) each(i + j);
  for (auto i = whole; i < n; ++i) each(i);
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

}}}  // namespace posenc::detail
