// Dot products of integers of 8 bits by the CPU's own instructions (AVX512-VNNI), 64 bytes at once,
// and the orders of bytes that they ask for. A quarter of a register has 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/intrinsics.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Whether there are such instructions.
#if defined(POSENC_HAS_DOT_PRODUCTS)
inline constexpr bool multiplies_bytes = lanes<float>::size == 16;
#else
inline constexpr bool multiplies_bytes = false;
#endif

#if defined(POSENC_HAS_DOT_PRODUCTS)

POSENC_QUIET_BEGIN

using register_of_bytes = __m512i;

/// A mask of the bytes that load_64 loads; it makes the others 0.
using loaded_bytes = __mmask64;
/// The first `count` bytes, or all 64.
POSENC_ALWAYS_INLINE inline loaded_bytes first_bytes(std::size_t count) noexcept {
  return count < 64 ? ~(~std::uint64_t{0} << count) : ~std::uint64_t{0};
}
POSENC_ALWAYS_INLINE inline __m512i load_64(void const* from, loaded_bytes which) noexcept {
  return _mm512_maskz_loadu_epi8(which, from);
}
/// 32 bytes of each address, alternately by eight.
POSENC_ALWAYS_INLINE inline __m512i load_alternately(void const* a, void const* b) noexcept {
  return _mm512_permutex2var_epi64(
      _mm512_castsi256_si512(_mm256_loadu_si256(static_cast<__m256i const*>(a))),
      _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0),
      _mm512_castsi256_si512(_mm256_loadu_si256(static_cast<__m256i const*>(b))));
}
/// Four bytes sixteen times, and sixteen bytes four times.
POSENC_ALWAYS_INLINE inline __m512i four_bytes(void const* from) noexcept {
  std::int32_t bytes;
  std::memcpy(&bytes, from, 4);
  return _mm512_set1_epi32(bytes);
}
POSENC_ALWAYS_INLINE inline __m512i sixteen_bytes(void const* from) noexcept {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(static_cast<__m128i const*>(from)));
}
/// Makes signed bytes unsigned by adding 128, and unsigned ones signed by subtracting it.
POSENC_ALWAYS_INLINE inline __m512i other_sign(__m512i x) noexcept {
  return _mm512_xor_si512(x, _mm512_set1_epi8(-128));
}

/// Interleaves the bytes of four registers. Quarter L of to[j] has bytes 16 L + 4 j to
/// 16 L + 4 j + 3 of each: first the four bytes 16 L + 4 j, one of each register.
POSENC_ALWAYS_INLINE inline void interleave(__m512i const* x, __m512i* to) noexcept {
  auto const low = _mm512_unpacklo_epi8(x[0], x[1]), high = _mm512_unpackhi_epi8(x[0], x[1]),
             other_low = _mm512_unpacklo_epi8(x[2], x[3]),
             other_high = _mm512_unpackhi_epi8(x[2], x[3]);
  to[0] = _mm512_unpacklo_epi16(low, other_low);
  to[1] = _mm512_unpackhi_epi16(low, other_low);
  to[2] = _mm512_unpacklo_epi16(high, other_high);
  to[3] = _mm512_unpackhi_epi16(high, other_high);
}
/// Quarter L of to[j] is quarter j of x[L].
POSENC_ALWAYS_INLINE inline void transpose_quarters(__m512i const* x, __m512i* to) noexcept {
  auto const low = _mm512_shuffle_i32x4(x[0], x[1], 0x44),
             high = _mm512_shuffle_i32x4(x[0], x[1], 0xee),
             other_low = _mm512_shuffle_i32x4(x[2], x[3], 0x44),
             other_high = _mm512_shuffle_i32x4(x[2], x[3], 0xee);
  to[0] = _mm512_shuffle_i32x4(low, other_low, 0x88);
  to[1] = _mm512_shuffle_i32x4(low, other_low, 0xdd);
  to[2] = _mm512_shuffle_i32x4(high, other_high, 0x88);
  to[3] = _mm512_shuffle_i32x4(high, other_high, 0xdd);
}
/// Transposes 4 x 16 floats in memory, in place.
inline void transpose_four(float* x) noexcept {
  __m512i rows[4], columns[4];
  for (std::size_t i = 0; i < 4; ++i) rows[i] = _mm512_loadu_si512(x + 16 * i);
  auto const low = _mm512_unpacklo_epi32(rows[0], rows[1]),
             high = _mm512_unpackhi_epi32(rows[0], rows[1]),
             other_low = _mm512_unpacklo_epi32(rows[2], rows[3]),
             other_high = _mm512_unpackhi_epi32(rows[2], rows[3]);
  // Quarter L of rows[j]: column 4 L + j.
  rows[0] = _mm512_unpacklo_epi64(low, other_low);
  rows[1] = _mm512_unpackhi_epi64(low, other_low);
  rows[2] = _mm512_unpacklo_epi64(high, other_high);
  rows[3] = _mm512_unpackhi_epi64(high, other_high);
  transpose_quarters(rows, columns);
  for (std::size_t i = 0; i < 4; ++i) _mm512_storeu_si512(x + 16 * i, columns[i]);
}

/// Quarter i is four bytes of heads[i step], from byte `at` on, four times.
template <int Step = 1>
POSENC_ALWAYS_INLINE inline __m512i word_of_each(std::byte const* const* heads,
                                                 std::size_t at) noexcept {
  auto const word = [=](int i) POSENC_INLINED {
    std::int32_t x;
    std::memcpy(&x, heads[i * Step] + at, 4);
    return x;
  };
  auto x = _mm512_set1_epi32(word(0));
  x = _mm512_mask_set1_epi32(x, 0x00f0, word(1));
  x = _mm512_mask_set1_epi32(x, 0x0f00, word(2));
  return _mm512_mask_set1_epi32(x, 0xf000, word(3));
}
/// The first half of each quarter of one register, the last of another.
POSENC_ALWAYS_INLINE inline __m512i halves_of(__m512i a, __m512i b) noexcept {
  return _mm512_mask_mov_epi32(a, 0xcccc, b);
}
/// Words as floats: as their bits; or the half in the lower 16 bits of each.
POSENC_ALWAYS_INLINE inline lanes<float>::number floats_of(__m512i x) noexcept {
  return lanes<float>::number(_mm512_castsi512_ps(x));
}
POSENC_ALWAYS_INLINE inline lanes<float>::number low_halves(__m512i x) noexcept {
  return lanes<float>::number(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)));
}
/// The half at byte `at` of each of 16 heads, as floats.
POSENC_ALWAYS_INLINE inline lanes<float>::number half_of_each(std::byte const* const* heads,
                                                              std::size_t at) noexcept {
  auto const four = [=](int i) POSENC_INLINED { return word_of_each<4>(heads + i, at); };
  return low_halves(halves_of(_mm512_mask_mov_epi32(four(0), 0x2222, four(1)),
                              _mm512_mask_mov_epi32(four(2), 0x8888, four(3))));
}

/// The largest of floats, and 1 over that; 0 of less than 2^-118. NaN and 0 unless all are finite
/// and not negative: as integers without a sign, NaN and negative numbers are larger than others.
struct largest_float {
  float number, inverse;
  POSENC_ALWAYS_INLINE explicit largest_float(__m512i bits) noexcept {
    auto const most = _mm512_reduce_max_epu32(bits);
    auto const x = detail::bit_cast<float>(most);
    bool const is_finite = most < 0x7f80'0000u;
    number = is_finite ? x : detail::bit_cast<float>(0x7fc0'0000u);
    inverse = is_finite && x >= 0x1p-118f ? 1 / x : 0.0f;
  }
  POSENC_ALWAYS_INLINE explicit largest_float(lanes<float>::number const& x) noexcept
      : largest_float(_mm512_castps_si512(x.data)) {}
  /// From 64 numbers.
  POSENC_ALWAYS_INLINE explicit largest_float(float const* x) noexcept
      : largest_float(_mm512_max_epu32(
            _mm512_max_epu32(_mm512_loadu_si512(x), _mm512_loadu_si512(x + 16)),
            _mm512_max_epu32(_mm512_loadu_si512(x + 32), _mm512_loadu_si512(x + 48)))) {}
};
/// A mask of the numbers that are not 0.
inline std::uint32_t which_are_some(lanes<float>::number const& x) noexcept {
  return _mm512_test_epi32_mask(_mm512_castps_si512(x.data), _mm512_set1_epi32(0x7fff'ffff));
}
/// The numbers that a mask has; 0 elsewhere.
POSENC_ALWAYS_INLINE inline lanes<float>::number only(std::uint32_t which,
                                                      lanes<float>::number const& x) noexcept {
  return lanes<float>::number(_mm512_maskz_mov_ps(static_cast<__mmask16>(which), x.data));
}
/// Lane 4 i + L is the sum of quarter L of x[i].
POSENC_ALWAYS_INLINE inline lanes<float>::number sums_of_quarters(
    lanes<float>::number const* x) noexcept {
  auto const pair = [](__m512 a, __m512 b) POSENC_INLINED {
    return _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)));
  };
  auto const first = pair(x[0].data, x[1].data), last = pair(x[2].data, x[3].data);
  auto const sums = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(first, last)),
                                  _mm512_castpd_ps(_mm512_unpackhi_pd(first, last)));
  auto const order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  return lanes<float>::number(_mm512_permutexvar_ps(order, sums));
}

/// Sixteen 32-bit sums of products of bytes. `number` is a vector of 32-bit integers: of __m512i,
/// g++ would copy registers.
struct integer_sums {
  using number [[gnu::vector_size(64)]] = std::int32_t;
  /// Four of them, four times.
  POSENC_ALWAYS_INLINE static number load(std::int32_t const* four) noexcept {
    return reinterpret_cast<number>(sixteen_bytes(four));
  }
  POSENC_ALWAYS_INLINE static lanes<float>::number as_floats(number x) noexcept {
    return lanes<float>::number(_mm512_cvtepi32_ps(reinterpret_cast<__m512i>(x)));
  }
  /// Adds four products to each integer: sum[i] += u[n] s[n] for n from 4 i to 4 i + 3.
  POSENC_ALWAYS_INLINE static number add(number sum, __m512i u, __m512i s) noexcept {
    return reinterpret_cast<number>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), u, s));
  }
};

POSENC_QUIET_END

#endif

}}}  // namespace posenc::detail
