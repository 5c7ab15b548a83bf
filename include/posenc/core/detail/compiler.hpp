// Hints to compilers that C++ has no words for.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "posenc/core/fast_math.hpp"
#include "posenc/core/target.hpp"

/// Before a loop: clang unrolls loops over loops, several times the code, and no faster.
#if defined(__clang__)
#define POSENC_NOT_UNROLLED _Pragma("clang loop unroll(disable)")
#else
#define POSENC_NOT_UNROLLED
#endif

/// Around registers: g++ 12 warns about the AVX headers.
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

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Asks for the cache line of an address, which may be any, into L1.
POSENC_ALWAYS_INLINE inline void prefetch_into_l1([[maybe_unused]] void const* address) noexcept {
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
POSENC_ALWAYS_INLINE inline T opaque(T x) noexcept {
#if defined(__GNUC__)
  asm volatile("" : "+r"(x));
#endif
  return x;
}

/// Calls each(0), each(1) ... each(Count - 1): unrolled, or g++ keeps arrays of registers in
/// memory.
template <std::size_t Count>
POSENC_ALWAYS_INLINE inline void unrolled(auto const& each) noexcept {
  [&]<std::size_t... i>(std::index_sequence<i...>) POSENC_INLINED { (each(i), ...); }
  (std::make_index_sequence<Count>{});
}

/// Calls each(i) for i < n, in blocks that compilers compute in registers.
template <std::size_t Block = 32>
POSENC_ALWAYS_INLINE inline void each_of(std::size_t n, auto const& each) noexcept {
  auto const whole = n / Block * Block;
  for (std::size_t i = 0; i < whole; i += Block)
    for (std::size_t j = 0; j < Block; ++j) each(i + j);
  for (auto i = whole; i < n; ++i) each(i);
}

}}}  // namespace posenc::detail
