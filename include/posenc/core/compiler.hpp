// What compilers say in words of their own: a lambda that is always inlined, and a prefetch.
#pragma once

#include "posenc/core/target.hpp"

/// After the parameters of a lambda, to inline it always. C++20 has no place for an attribute
/// there.
#if defined(__GNUC__)
#define POSENC_INLINED __attribute__((always_inline))
#else
#define POSENC_INLINED
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

}  // namespace posenc::detail
