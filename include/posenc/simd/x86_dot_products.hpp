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

/// The same by words of 32 bits: quarter L of to[j] has word 4 L + j of each.
[[gnu::always_inline]] inline void words_in_turn(__m512i const* x, __m512i* to) noexcept {
  auto const low = _mm512_unpacklo_epi32(x[0], x[1]), high = _mm512_unpackhi_epi32(x[0], x[1]),
             other_low = _mm512_unpacklo_epi32(x[2], x[3]),
             other_high = _mm512_unpackhi_epi32(x[2], x[3]);
  to[0] = _mm512_unpacklo_epi64(low, other_low), to[1] = _mm512_unpackhi_epi64(low, other_low);
  to[2] = _mm512_unpacklo_epi64(high, other_high), to[3] = _mm512_unpackhi_epi64(high, other_high);
}
/// 32 bytes of each address: first those of one; or in turn, by eight.
[[gnu::always_inline]] inline __m512i load_32_twice(void const* a, void const* b) noexcept {
  return _mm512_inserti64x4(
      _mm512_castsi256_si512(_mm256_loadu_si256(static_cast<__m256i const*>(a))),
      _mm256_loadu_si256(static_cast<__m256i const*>(b)), 1);
}
[[gnu::always_inline]] inline __m512i load_32_in_turn(void const* a, void const* b) noexcept {
  return _mm512_permutex2var_epi64(
      _mm512_castsi256_si512(_mm256_loadu_si256(static_cast<__m256i const*>(a))),
      _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0),
      _mm512_castsi256_si512(_mm256_loadu_si256(static_cast<__m256i const*>(b))));
}
/// Word i of a register, four times, is four bytes of heads[i], from byte `at` on.
[[gnu::always_inline]] inline __m512i word_of_each(std::byte const* const* heads,
                                                   std::size_t at) noexcept {
  auto const word = [=](int i) POSENC_INLINED {
    std::int32_t x;
    std::memcpy(&x, heads[i] + at, 4);
    return x;
  };
  auto x = _mm512_set1_epi32(word(0));
  x = _mm512_mask_set1_epi32(x, 0x2222, word(1)), x = _mm512_mask_set1_epi32(x, 0x4444, word(2));
  return _mm512_mask_set1_epi32(x, 0x8888, word(3));
}
/// The first half of one register, the last of another.
[[gnu::always_inline]] inline __m512i halves_of(__m512i a, __m512i b) noexcept {
  return _mm512_mask_mov_epi32(a, 0xff00, b);
}
/// Quarter L is that of register L.
[[gnu::always_inline]] inline __m512i quarters_of(__m512i a, __m512i b, __m512i c,
                                                  __m512i d) noexcept {
  return halves_of(_mm512_mask_mov_epi32(a, 0x00f0, b), _mm512_mask_mov_epi32(c, 0xf000, d));
}
/// The lower 16 bits of each word, a half, as a float.
[[gnu::always_inline]] inline lanes<float>::number low_halves(__m512i x) noexcept {
  return lanes<float>::number(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)));
}
/// The half at byte `at` of each of 16 heads, as floats.
[[gnu::always_inline]] inline lanes<float>::number half_of_each(std::byte const* const* heads,
                                                                std::size_t at) noexcept {
  return low_halves(quarters_of(word_of_each(heads, at), word_of_each(heads + 4, at),
                                word_of_each(heads + 8, at), word_of_each(heads + 12, at)));
}
/// A mask of the numbers that are not 0.
inline std::uint32_t which_are_some(lanes<float>::number const& x) noexcept {
  return _mm512_test_epi32_mask(_mm512_castps_si512(x.data), _mm512_set1_epi32(0x7fff'ffff));
}
/// The numbers that a mask has; 0 elsewhere.
[[gnu::always_inline]] inline lanes<float>::number only(std::uint32_t which,
                                                        lanes<float>::number const& x) noexcept {
  return lanes<float>::number(_mm512_maskz_mov_ps(static_cast<__mmask16>(which), x.data));
}
/// Quarter i is the sum of the quarters of x[i].
[[gnu::always_inline]] inline lanes<float>::number sums_of_quarters(
    lanes<float>::number const* x) noexcept {
  auto const pair = [](__m512 a, __m512 b) POSENC_INLINED {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  };
  return lanes<float>::number(pair(pair(x[0].data, x[1].data), pair(x[2].data, x[3].data)));
}
/// 1/255 of the largest number of a register, and 1 over that, everywhere. Of 0 both are 0; NaN
/// and 0 unless all are finite and not negative.
struct code_units {
  lanes<float>::number of_a, of_b, inverse_of_a, inverse_of_b;
  [[gnu::always_inline]] code_units(lanes<float>::number const& a,
                                    lanes<float>::number const& b) noexcept {
    // As integers without a sign, negative numbers and NaN are larger than others.
    auto const x = _mm512_castps_si512(a.data), y = _mm512_castps_si512(b.data);
    auto most =
        _mm512_max_epu32(_mm512_shuffle_i32x4(x, y, 0x88), _mm512_shuffle_i32x4(x, y, 0xdd));
    most = _mm512_max_epu32(most, _mm512_shuffle_i32x4(most, most, 0xb1));
    most = _mm512_max_epu32(most, _mm512_shuffle_epi32(most, _MM_PERM_BADC));
    most = _mm512_max_epu32(most, _mm512_shuffle_epi32(most, _MM_PERM_CDAB));
    auto const is_finite = _mm512_cmplt_epu32_mask(most, _mm512_set1_epi32(0x7f80'0000)),
               is_some = _mm512_mask_test_epi32_mask(is_finite, most, most);
    auto const unit = _mm512_mask_mul_ps(_mm512_castsi512_ps(_mm512_set1_epi32(0x7fc0'0000)),
                                         is_finite, _mm512_castsi512_ps(most),
                                         _mm512_set1_ps(1.0f / 255)),
               inverse =
                   _mm512_maskz_div_ps(is_some, _mm512_set1_ps(255), _mm512_castsi512_ps(most));
    of_a.data = _mm512_shuffle_f32x4(unit, unit, 0x00),
    of_b.data = _mm512_shuffle_f32x4(unit, unit, 0xff);
    inverse_of_a.data = _mm512_shuffle_f32x4(inverse, inverse, 0x00);
    inverse_of_b.data = _mm512_shuffle_f32x4(inverse, inverse, 0xff);
  }
};
/// Transposes 4 x 16 floats in memory.
inline void transpose_four(float const* from, float* to) noexcept {
  auto const a = load_64(from), b = load_64(from + 16), c = load_64(from + 32),
             d = load_64(from + 48);
  __m512i const rows[] = {a, b, c, d};
  __m512i x[4];
  words_in_turn(rows, x);  // quarter L of x[j] is column 4 L + j
  auto const low = _mm512_shuffle_i32x4(x[0], x[1], 0x44),
             high = _mm512_shuffle_i32x4(x[0], x[1], 0xee),
             other_low = _mm512_shuffle_i32x4(x[2], x[3], 0x44),
             other_high = _mm512_shuffle_i32x4(x[2], x[3], 0xee);
  _mm512_storeu_si512(to, _mm512_shuffle_i32x4(low, other_low, 0x88));
  _mm512_storeu_si512(to + 16, _mm512_shuffle_i32x4(low, other_low, 0xdd));
  _mm512_storeu_si512(to + 32, _mm512_shuffle_i32x4(high, other_high, 0x88));
  _mm512_storeu_si512(to + 48, _mm512_shuffle_i32x4(high, other_high, 0xdd));
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
