// What C++ cannot tell a compiler: inline this lambda, unroll no more, prefetch this line, forget
// what is known of this number.
#pragma once

#include <concepts>
#include <cstddef>

#include "posenc/core/target.hpp"

/// After the parameters of a lambda, to inline it always. C++20 has no place for an attribute
/// there.
#if defined(__GNUC__)
#define POSENC_INLINED __attribute__((always_inline))
#else
#define POSENC_INLINED
#endif

/// Before a loop, for clang, which unrolls loops over loops: several times the code, and no faster.
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

/// Returns x, and the compiler must take it for a new number. In a loop, it then keeps no sums with
/// x from one iteration to the next, for which there are too few registers, and it does not
/// vectorise the loop. Elsewhere, it does not load x together with its neighbours.
template <std::integral T>
[[gnu::always_inline]] inline T anew_in_each_turn(T x) noexcept {
#if defined(__GNUC__)
  asm volatile("" : "+r"(x));
#endif
  return x;
}

}  // namespace posenc::detail
