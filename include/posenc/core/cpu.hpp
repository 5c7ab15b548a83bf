// Whether this CPU is one that wants memory read in another way than most.
#pragma once

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Zen 3 or 4 (AMD's family 19h). They store 32 bytes a cycle, shuffle twice a cycle, and rotate
/// slower if heads are prefetched.
inline bool is_zen_3_or_4() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_is("amdfam19h") != 0;
#else
  return false;
#endif
}

/// Zen 4: the one of the two with AVX-512.
inline bool is_zen_4() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  return is_zen_3_or_4() && __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

}  // namespace posenc::detail
