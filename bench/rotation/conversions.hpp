// How users convert 16-bit numbers in a loop that the compiler vectorises.
#pragma once

#include <bit>
#include <cstdint>

#include "posenc/heads/storage.hpp"

namespace bench {

inline float user_load(float x) { return x; }
inline double user_load(double x) { return x; }
inline float user_load(posenc::bfloat16 x) {
  return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
}

inline void user_store(float& to, float x) { to = x; }
inline void user_store(double& to, double x) { to = x; }
inline void user_store(posenc::bfloat16& to, float x) {
  auto const bits = std::bit_cast<std::uint32_t>(x);
  to.bits = static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

#if defined(__FLT16_MAX__) && (!defined(__clang__) || __clang_major__ >= 15)
inline float user_load(posenc::half x) {
  return static_cast<float>(std::bit_cast<_Float16>(x.bits));
}
inline void user_store(posenc::half& to, float x) {
  to.bits = std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));
}
#else
inline float user_load(posenc::half x) { return static_cast<float>(x); }
inline void user_store(posenc::half& to, float x) { to = static_cast<posenc::half>(x); }
#endif

}  // namespace bench
