// A register of float or double: arithmetic. The one header that includes xsimd, and that knows what differs between its versions 8.1
// to 14.
#pragma once

#include <xsimd/xsimd.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Whether there are 32 vector registers, not 16 or none.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr bool many_registers = true;
#else
inline constexpr bool many_registers = false;
#endif

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // g++ 12 warns of its own AVX headers
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

template <class To, class From>
xsimd::batch<To> bits_as(xsimd::batch<From> const& x) noexcept {
  // clang-format off
  if constexpr (requires { { xsimd::bitwise_cast<To>(x) } -> std::same_as<xsimd::batch<To>>; }) {
    return xsimd::bitwise_cast<To>(x);
  } else {
    return xsimd::bitwise_cast<xsimd::batch<To>>(x);  // 8.1
  }
  // clang-format on
}

/// A register of numbers of type Number: float or double.
template <class Number>
struct register_arithmetic {
  using number = xsimd::batch<Number>;
  static constexpr std::size_t size = number::size;

  // xsimd 8.1 multiplies and adds in two steps on AVX-512, and clang leaves it at that.
  static number multiply_add(number const& a, number const& b, number const& c) noexcept {
#if defined(__AVX512F__)
    if constexpr (sizeof(Number) == 4) return number(_mm512_fmadd_ps(a.data, b.data, c.data));
    if constexpr (sizeof(Number) == 8) return number(_mm512_fmadd_pd(a.data, b.data, c.data));
#else
    return xsimd::fma(a, b, c);
#endif
  }
  static number multiply_subtract(number const& a, number const& b, number const& c) noexcept {
#if defined(__AVX512F__)
    if constexpr (sizeof(Number) == 4) return number(_mm512_fmsub_ps(a.data, b.data, c.data));
    if constexpr (sizeof(Number) == 8) return number(_mm512_fmsub_pd(a.data, b.data, c.data));
#else
    return xsimd::fms(a, b, c);
#endif
  }

  static number square_root(number const& x) noexcept { return xsimd::sqrt(x); }
  static number larger(number const& x, number const& y) noexcept { return xsimd::max(x, y); }
  static number one_if_above(number const& x, number const& bound) noexcept {
    return xsimd::select(x >= bound, number(Number{1}), number(Number{0}));
  }
  static Number sum(number const& x) noexcept {
    if constexpr (requires { reduce_add(x); }) {
      return reduce_add(x);
    } else {
      return hadd(x);  // 8.1
    }
  }

  /// The sum of each of `size` registers.
  static number sums(number const* x) noexcept {
#if defined(__AVX512F__)
    if constexpr (sizeof(Number) == 4) {  // xsimd 8.1 mixes up their order
      __m512 fours[4];                    // per quarter of a register: a partial sum of each of four registers
      for (std::size_t i = 0; i < 4; ++i) {
        auto const two = [](__m512 a, __m512 b) { return _mm512_castps_pd(_mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b)); };
        auto const first = two(x[4 * i].data, x[4 * i + 1].data), second = two(x[4 * i + 2].data, x[4 * i + 3].data);
        fours[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(first, second)) + _mm512_castpd_ps(_mm512_unpackhi_pd(first, second));
      }
      auto const quarters = [](__m512 a, __m512 b) { return _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd); };
      return number(quarters(quarters(fours[0], fours[1]), quarters(fours[2], fours[3])));
    }
#endif
    return xsimd::haddp(x);
  }

  /// x1 x0 x3 x2 ... of x0 x1 x2 x3 ...
  static number neighbours_swapped(number const& x) noexcept {
    struct neighbour {
      static constexpr unsigned get(unsigned i, unsigned) noexcept { return i ^ 1; }
    };
    using index = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
    if constexpr (requires { xsimd::make_batch_constant<index, neighbour>(); }) {
      return xsimd::swizzle(x, xsimd::make_batch_constant<index, neighbour>());
    } else {
      return xsimd::swizzle(x, xsimd::make_batch_constant<xsimd::batch<index>, neighbour>());  // 8.1
    }
  }

  /// x, as a register: g++ would read it from memory again at each use, for every use can take a memory operand.
  static number kept(number x) noexcept {
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
    asm("" : "+v"(x.data));
#endif
    return x;
  }
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif

}  // namespace posenc::detail
