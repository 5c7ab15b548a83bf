// Dot products of integers of 8 bits and of bfloat16 by the CPU's own instructions, 64 bytes at
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/intrinsics.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

// Whether there are such instructions for integers, and for bfloat16.
#if defined(POSENC_HAS_DOT_PRODUCTS)
inline constexpr bool multiplies_bytes = lanes<float>::size == 16;
#else
inline constexpr bool multiplies_bytes = false;
#endif
#if defined(__AVX512BF16__)
inline constexpr bool multiplies_bfloat16 = multiplies_bytes;
#else
inline constexpr bool multiplies_bfloat16 = false;
#endif

#if defined(POSENC_HAS_DOT_PRODUCTS)

POSENC_QUIET_BEGIN

using register_of_bytes = __m512i;

/// A mask of the bytes that load_64 loads; it makes the others 0.
using loaded_bytes = __mmask64;
/// The first `count` bytes, or all 64.
[[gnu::always_inline]] inline loaded_bytes first_bytes(std::size_t count) noexcept {
  return count < 64 ? ~(~std::uint64_t{0} << count) : ~std::uint64_t{0};
}
[[gnu::always_inline]] inline __m512i load_64(void const* from, loaded_bytes which) noexcept {
  return _mm512_maskz_loadu_epi8(which, from);
}
[[gnu::always_inline]] inline __m512i load_64(void const* from) noexcept {
  return _mm512_loadu_si512(from);
}
/// Four bytes, at any address, sixteen times.
[[gnu::always_inline]] inline __m512i four_bytes(void const* from) noexcept {
  std::int32_t bytes;
  std::memcpy(&bytes, from, 4);
  return _mm512_set1_epi32(bytes);
}
/// Makes signed bytes unsigned by adding 128, and unsigned ones signed by subtracting it.
[[gnu::always_inline]] inline __m512i other_sign(__m512i x) noexcept {
  return _mm512_xor_si512(x, _mm512_set1_epi8(-128));
}

/// The largest of `count` floats, compared as unsigned integers of the same bits. count: a multiple
/// of 16.
inline std::uint32_t largest_bits(float const* x, std::size_t count) noexcept {
  auto most = _mm512_setzero_si512();
  for (std::size_t i = 0; i < count; i += 16) most = _mm512_max_epu32(most, load_64(x + i));
  return _mm512_reduce_max_epu32(most);
}

/// Interleaves the bytes of four registers. Quarter L of to[j] has bytes 16 L + 4 j to
/// 16 L + 4 j + 3 of each: first the four bytes 16 L + 4 j, one of each register.
[[gnu::always_inline]] inline void in_turn(__m512i const* x, __m512i* to) noexcept {
  auto const low = _mm512_unpacklo_epi8(x[0], x[1]), high = _mm512_unpackhi_epi8(x[0], x[1]),
             other_low = _mm512_unpacklo_epi8(x[2], x[3]),
             other_high = _mm512_unpackhi_epi8(x[2], x[3]);
  to[0] = _mm512_unpacklo_epi16(low, other_low), to[1] = _mm512_unpackhi_epi16(low, other_low);
  to[2] = _mm512_unpacklo_epi16(high, other_high), to[3] = _mm512_unpackhi_epi16(high, other_high);
}

/// Sixteen 32-bit sums of products of bytes. `number` is a vector of 32-bit integers: of __m512i,
/// g++ would copy registers.
struct integer_sums {
  using element = std::int32_t;
  using number [[gnu::vector_size(64)]] = element;
  [[gnu::always_inline]] static number load(element const* from) noexcept {
    return as_numbers(_mm512_loadu_si512(from));
  }
  [[gnu::always_inline]] static void store(element* to, number x) noexcept {
    _mm512_storeu_si512(to, reinterpret_cast<__m512i>(x));
  }
  [[gnu::always_inline]] static lanes<float>::number as_floats(number x) noexcept {
    return lanes<float>::number(_mm512_cvtepi32_ps(reinterpret_cast<__m512i>(x)));
  }
  /// Adds four products to each integer: sum[i] += u[n] s[n] for n from 4 i to 4 i + 3.
  [[gnu::always_inline]] static number add(number sum, __m512i u, __m512i s) noexcept {
    return as_numbers(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), u, s));
  }

 private:
  [[gnu::always_inline]] static number as_numbers(__m512i x) noexcept {
    return reinterpret_cast<number>(x);
  }
};
/// Sums of products of bfloat16.
struct float_sums : lanes<float> {
  using element = float;
  [[gnu::always_inline]] static number as_floats(number const& x) noexcept { return x; }
#if defined(__AVX512BF16__)
  /// Adds two products of bfloat16 to each float: sum[i] += a[n] b[n] for n of 2 i and 2 i + 1.
  [[gnu::always_inline]] static number add(number const& sum, __m512i a, __m512i b) noexcept {
    return number(
        _mm512_dpbf16_ps(sum.data, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
  }
#endif
};

POSENC_QUIET_END

#endif

}  // namespace posenc::detail
