// What C++ cannot tell a compiler.
#pragma once

#include <concepts>
#include <cstddef>

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

namespace posenc::inline POSENC_TARGET::detail {

/// Asks for the cache line of an address, which may be any.
[[gnu::always_inline]] inline void prefetch([[maybe_unused]] void const* address) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

/// The same into L2 alone.
[[gnu::always_inline]] inline void prefetch_into_l2([[maybe_unused]] void const* address) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(address, 0, 2);
#endif
}

/// x, which the compiler must take for a new number: it keeps no sums with it in registers, does
/// not vectorise a loop with it, and does not load it with its neighbours.
template <std::integral T>
[[gnu::always_inline]] inline T anew_in_each_turn(T x) noexcept {
#if defined(__GNUC__)
  asm volatile("" : "+r"(x));
#endif
  return x;
}

}  // namespace posenc::detail
