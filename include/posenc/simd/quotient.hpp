// x / y, rounded once, whatever the compiler's flags.
#pragma once

#include <concepts>
#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/simd/neon.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Takes numbers or registers. Under -ffast-math compilers for x86 divide registers of floats by
/// an estimate of 1 / y, whose bits differ from CPU to CPU, and which is off by an ulp. On NEON
/// xsimd always does so.
template <class Number>
POSENC_ALWAYS_INLINE inline Number quotient(Number const& x, Number const& y) noexcept {
  if constexpr (requires {
                  x.data;
                  requires std::same_as<typename Number::value_type, float>;
                }) {
#if defined(__FAST_MATH__) && defined(__SSE2__) && defined(__GNUC__)
    auto result = x;
#if defined(__AVX__)
    asm("vdivps %2, %1, %0" : "=v"(result.data) : "v"(x.data), "v"(y.data));
#else
    asm("divps %1, %0" : "+x"(result.data) : "x"(y.data));
#endif
    return result;
#elif defined(__ARM_NEON)
    if constexpr (requires { quotient_of(x.data, y.data); }) {
      return Number(quotient_of(x.data, y.data));
    } else {  // 32-bit ARM divides single numbers
      float a[Number::size], b[Number::size];
      x.store_unaligned(a), y.store_unaligned(b);
      for (std::size_t i = 0; i < Number::size; ++i) a[i] /= b[i];
      return Number::load_unaligned(a);
    }
#endif
  }
  return x / y;
}

}}}  // namespace posenc::detail
