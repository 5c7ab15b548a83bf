// A register of float or double and its arithmetic. The only header that includes xsimd and knows
// the differences between its versions 8.1 to 14.
#pragma once

#include <xsimd/xsimd.hpp>

#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Whether the CPU has 32 vector registers, not 16 or none.
#if defined(__AVX512F__) || defined(__aarch64__) || defined(__VSX__) || defined(__VX__)
inline constexpr bool has_32_registers = true;
#else
inline constexpr bool has_32_registers = false;
#endif

/// Whether xsimd has registers of Number. On 32-bit ARM it has registers of float only.
#if defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
template <class Number>
inline constexpr bool has_registers = false;
#else
template <class Number>
inline constexpr bool has_registers = [] {
  // xsimd 8.1 says yes for registers of one number.
  if constexpr (xsimd::has_simd_register<Number>::value)
    return sizeof(xsimd::batch<Number>) > sizeof(Number);
  return false;
}();

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

// a * b + c with one rounding. xsimd rounds twice on AVX-512 (8.1), and where XSIMD_DEFAULT_ARCH
// names an instruction set without FMA; clang does not fuse the two.
#if defined(__AVX512F__)
inline __m512 fused(__m512 a, __m512 b, __m512 c) noexcept { return _mm512_fmadd_ps(a, b, c); }
inline __m512d fused(__m512d a, __m512d b, __m512d c) noexcept { return _mm512_fmadd_pd(a, b, c); }
#endif
#if defined(__FMA__)
inline __m256 fused(__m256 a, __m256 b, __m256 c) noexcept { return _mm256_fmadd_ps(a, b, c); }
inline __m256d fused(__m256d a, __m256d b, __m256d c) noexcept { return _mm256_fmadd_pd(a, b, c); }
inline __m128 fused(__m128 a, __m128 b, __m128 c) noexcept { return _mm_fmadd_ps(a, b, c); }
inline __m128d fused(__m128d a, __m128d b, __m128d c) noexcept { return _mm_fmadd_pd(a, b, c); }
#endif

// Loads and stores of contiguous halves, where the CPU converts them.
#if defined(__AVX512F__)
inline void load_halves(void const* from, __m512& x) noexcept {
  x = _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<__m256i const*>(from)));
}
inline void store_halves(void* to, __m512 x) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_cvtps_ph(x, 0));
}
#endif
#if defined(__F16C__)
inline void load_halves(void const* from, __m256& x) noexcept {
  x = _mm256_cvtph_ps(_mm_loadu_si128(static_cast<__m128i const*>(from)));
}
inline void load_halves(void const* from, __m128& x) noexcept {
  x = _mm_cvtph_ps(_mm_loadl_epi64(static_cast<__m128i const*>(from)));
}
inline void store_halves(void* to, __m256 x) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(to), _mm256_cvtps_ph(x, 0));
}
inline void store_halves(void* to, __m128 x) noexcept {
  _mm_storel_epi64(static_cast<__m128i*>(to), _mm_cvtps_ph(x, 0));
}
#endif

// Loads of contiguous 16-bit integers as 32 bits. g++ would store the halves of a register and load
// them as one, which is not forwarded.
#if defined(__AVX512F__)
inline void load_wider(void const* from, __m512i& x) noexcept {
  x = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<__m256i const*>(from)));
}
#endif
#if defined(__AVX2__)
inline void load_wider(void const* from, __m256i& x) noexcept {
  x = _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<__m128i const*>(from)));
}
inline void load_wider(void const* from, __m128i& x) noexcept {
  x = _mm_cvtepu16_epi32(_mm_loadl_epi64(static_cast<__m128i const*>(from)));
}
#endif

// Loads of floats as doubles, and stores of doubles as floats, rounded once.
#if defined(__AVX512F__)
inline void load_floats(float const* from, __m512d& x) noexcept {
  x = _mm512_cvtps_pd(_mm256_loadu_ps(from));
}
inline void store_floats(float* to, __m512d x) noexcept {
  _mm256_storeu_ps(to, _mm512_cvtpd_ps(x));
}
#endif
#if defined(__AVX__)
inline void load_floats(float const* from, __m256d& x) noexcept {
  x = _mm256_cvtps_pd(_mm_loadu_ps(from));
}
inline void store_floats(float* to, __m256d x) noexcept { _mm_storeu_ps(to, _mm256_cvtpd_ps(x)); }
#endif

// Stores of bfloat16, where the CPU rounds to it; it flushes subnormals to zero.
#if defined(__AVX512BF16__)
inline void store_bfloat16(void* to, __m512 x) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
}
inline void store_bfloat16_pairs(void* to, __m512 x, __m512 y) noexcept {
  auto const alternating =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(
                              alternating, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(y, x))));
}
// Whether any number is subnormal. By bits: the CPU may be told to take subnormals for zeros.
inline bool any_subnormal(__m512 x, __m512 y) noexcept {
  auto const exponent = _mm512_set1_epi32(0x7f80'0000), magnitude = _mm512_set1_epi32(0x7fff'ffff);
  auto const tiny_x = _mm512_testn_epi32_mask(_mm512_castps_si512(x), exponent),
             tiny_y = _mm512_testn_epi32_mask(_mm512_castps_si512(y), exponent);
  if ((tiny_x | tiny_y) == 0) [[likely]]
    return false;
  return (_mm512_mask_test_epi32_mask(tiny_x, _mm512_castps_si512(x), magnitude) |
          _mm512_mask_test_epi32_mask(tiny_y, _mm512_castps_si512(y), magnitude)) != 0;
}
#endif

// x0 x1 ... xn -> x0 x0 x1 x1 ...: the first and the last half of that.
#if defined(__AVX512F__)
inline void each_twice(__m512 x, __m512& low, __m512& high) noexcept {
  auto const first = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  low = _mm512_permutexvar_ps(first, x);
  high = _mm512_permutexvar_ps(_mm512_add_epi32(first, _mm512_set1_epi32(8)), x);
}
inline void each_twice(__m512d x, __m512d& low, __m512d& high) noexcept {
  auto const first = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
  low = _mm512_permutexvar_pd(first, x);
  high = _mm512_permutexvar_pd(_mm512_add_epi64(first, _mm512_set1_epi64(4)), x);
}
#endif
#if defined(__AVX2__)
inline void each_twice(__m256 x, __m256& low, __m256& high) noexcept {
  auto const pairs = _mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8);  // x0 x1 x4 x5 x2 x3 x6 x7
  low = _mm256_unpacklo_ps(_mm256_castpd_ps(pairs), _mm256_castpd_ps(pairs));
  high = _mm256_unpackhi_ps(_mm256_castpd_ps(pairs), _mm256_castpd_ps(pairs));
}
inline void each_twice(__m256d x, __m256d& low, __m256d& high) noexcept {
  low = _mm256_permute4x64_pd(x, 0x50), high = _mm256_permute4x64_pd(x, 0xfa);
}
#endif

#if defined(__SSE2__)
inline void each_twice(__m128 x, __m128& low, __m128& high) noexcept {
  low = _mm_unpacklo_ps(x, x), high = _mm_unpackhi_ps(x, x);
}
inline void each_twice(__m128d x, __m128d& low, __m128d& high) noexcept {
  low = _mm_unpacklo_pd(x, x), high = _mm_unpackhi_pd(x, x);
}
#endif

/// A register of float or double. Only its type says how wide it is: XSIMD_DEFAULT_ARCH may choose
/// a narrower one than the CPU has.
template <class Number, class Batch = xsimd::batch<Number>>
struct register_arithmetic {
  using number = Batch;
  static constexpr std::size_t size = number::size, bytes = sizeof(Number) * size;

  static number multiply_add(number const& a, number const& b, number const& c) noexcept {
    if constexpr (requires { fused(a.data, b.data, c.data); }) {
      return number(fused(a.data, b.data, c.data));
    } else {
      return xsimd::fma(a, b, c);
    }
  }
  static number multiply_subtract(number const& a, number const& b, number const& c) noexcept {
    if constexpr (requires { fused(a.data, b.data, c.data); }) {
      return number(fused(a.data, b.data, -c.data));
    } else {
      return xsimd::fms(a, b, c);
    }
  }

  static number square_root(number const& x) noexcept { return xsimd::sqrt(x); }
  static number larger(number const& x, number const& y) noexcept { return xsimd::max(x, y); }
  static Number sum(number const& x) noexcept {
    if constexpr (requires { reduce_add(x); }) {
      return reduce_add(x);
    } else {
      return hadd(x);  // 8.1
    }
  }

  /// Lane i of the result: the sum of the lanes of x[i]. x: [size].
  static number sums(number const* x) noexcept {
#if defined(__AVX512F__)
    if constexpr (bytes == 64 && sizeof(Number) == 4) {  // xsimd 8.1 mixes up their order
      __m512 fours[4];  // each quarter: partial sums of four registers
      for (std::size_t i = 0; i < 4; ++i) {
        auto const two = [](__m512 a, __m512 b) {
          return _mm512_castps_pd(_mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b));
        };
        auto const first = two(x[4 * i].data, x[4 * i + 1].data),
                   second = two(x[4 * i + 2].data, x[4 * i + 3].data);
        fours[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(first, second)) +
                   _mm512_castpd_ps(_mm512_unpackhi_pd(first, second));
      }
      auto const quarters = [](__m512 a, __m512 b) {
        return _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
      };
      return number(quarters(quarters(fours[0], fours[1]), quarters(fours[2], fours[3])));
    }
#endif
#if defined(__VSX__)
    if constexpr (sizeof(Number) ==
                  4) {  // xsimd 14.3 adds the first two registers twice, the others never
      std::array<Number, size> each;
      for (std::size_t i = 0; i < size; ++i) each[i] = sum(x[i]);
      return number::load_unaligned(each.data());
    }
#endif
    return xsimd::haddp(x);
  }

  /// x0 x1 x2 x3 ... -> x1 x0 x3 x2 ...
  static number neighbours_swapped(number const& x) noexcept {
    struct neighbour {
      static constexpr unsigned get(unsigned i, unsigned) noexcept { return i ^ 1; }
    };
    using index = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
    using arch = typename Batch::arch_type;
    if constexpr (requires { xsimd::make_batch_constant<index, neighbour, arch>(); }) {
      return xsimd::swizzle(x, xsimd::make_batch_constant<index, neighbour, arch>());
    } else {  // 8.1
      return xsimd::swizzle(x, xsimd::make_batch_constant<xsimd::batch<index, arch>, neighbour>());
    }
  }

  /// x0 x1 ... xn -> x0 x0 x1 x1 ...: the first and the last half of that.
  static void duplicated(number const& x, number& low, number& high) noexcept {
    if constexpr (requires { each_twice(x.data, low.data, high.data); }) {
      each_twice(x.data, low.data, high.data);
    } else {
      alignas(64) Number both[2 * size];
      xsimd::batch<std::complex<Number>, typename Batch::arch_type>(x, x).store_unaligned(
          reinterpret_cast<std::complex<Number>*>(both));
      low = number::load_unaligned(both), high = number::load_unaligned(both + size);
    }
  }

  /// Keeps x in a register. g++ would fold the load into every use, as a memory operand.
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
