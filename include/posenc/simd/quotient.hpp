// x / y, rounded once, whatever the compiler's flags.
#pragma once

#include <concepts>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// For registers. Under -ffast-math compilers for x86 divide registers of floats by an estimate of
/// 1 / y, whose bits differ from CPU to CPU, and which is off by an ulp.
template <class Number>
POSENC_ALWAYS_INLINE inline Number quotient(Number const& x, Number const& y) noexcept {
#if defined(__FAST_MATH__) && defined(__SSE2__) && defined(__GNUC__)
  if constexpr (requires { x.data; requires std::same_as<typename Number::value_type, float>; }) {
    auto result = x;
#if defined(__AVX__)
    asm("vdivps %2, %1, %0" : "=v"(result.data) : "v"(x.data), "v"(y.data));
#else
    asm("divps %1, %0" : "+x"(result.data) : "x"(y.data));
#endif
    return result;
  }
#endif
  return x / y;
}

}}}  // namespace posenc::detail
