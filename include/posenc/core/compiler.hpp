// What compilers say in words of their own: a lambda that is always inlined, a prefetch, and which
// CPU this is.
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

/// Whether this CPU is a Zen 4: of its family (Zen 3 and 4), and with AVX-512.
inline bool is_zen_4() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_is("amdfam19h") != 0 && __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

}  // namespace posenc::detail
