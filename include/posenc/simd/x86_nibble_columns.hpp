// Codes of 4 bits of 16 heads side by side, for AVX-512: lane i of a register belongs to head i.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/intrinsics.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Whether there are such registers.
#if defined(POSENC_HAS_NIBBLE_COLUMNS)
inline constexpr bool has_nibble_columns = lanes<float>::size == 16;
#else
inline constexpr bool has_nibble_columns = false;
#endif

#if defined(POSENC_HAS_NIBBLE_COLUMNS)

POSENC_QUIET_BEGIN

/// Lane i of words[j]: word j of the 16 bytes at at(i).
POSENC_ALWAYS_INLINE inline void load_words_of_each(auto const& at, __m512i (&words)[4]) noexcept {
  auto const sixteen = [&](std::size_t i) POSENC_INLINED {
    return _mm_loadu_si128(reinterpret_cast<__m128i const*>(at(i)));
  };
  __m512i x[4];
  for (std::size_t i = 0; i < 4; ++i) {
    x[i] = _mm512_castsi128_si512(sixteen(i));
    x[i] = _mm512_inserti32x4(x[i], sixteen(i + 4), 1);
    x[i] = _mm512_inserti32x4(x[i], sixteen(i + 8), 2);
    x[i] = _mm512_inserti32x4(x[i], sixteen(i + 12), 3);
  }
  auto const low = _mm512_unpacklo_epi32(x[0], x[1]), high = _mm512_unpackhi_epi32(x[0], x[1]),
             other_low = _mm512_unpacklo_epi32(x[2], x[3]),
             other_high = _mm512_unpackhi_epi32(x[2], x[3]);
  words[0] = _mm512_unpacklo_epi64(low, other_low);
  words[1] = _mm512_unpackhi_epi64(low, other_low);
  words[2] = _mm512_unpacklo_epi64(high, other_high);
  words[3] = _mm512_unpackhi_epi64(high, other_high);
}
/// Lane i: the half at at(i).
POSENC_ALWAYS_INLINE inline lanes<float>::number half_of_each(auto const& at) noexcept {
  auto const word = [&](std::size_t i) POSENC_INLINED {
    std::int16_t bits;
    std::memcpy(&bits, at(i), sizeof bits);
    return bits;
  };
  auto const eight = [&](std::size_t i) POSENC_INLINED {
    auto x = _mm_cvtsi32_si128(word(i));
    x = _mm_insert_epi16(x, word(i + 1), 1);
    x = _mm_insert_epi16(x, word(i + 2), 2);
    x = _mm_insert_epi16(x, word(i + 3), 3);
    x = _mm_insert_epi16(x, word(i + 4), 4);
    x = _mm_insert_epi16(x, word(i + 5), 5);
    x = _mm_insert_epi16(x, word(i + 6), 6);
    return _mm_insert_epi16(x, word(i + 7), 7);
  };
  return lanes<float>::number(
      _mm512_cvtph_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(eight(0)), eight(8), 1)));
}
/// The numbers of a table that code N of each word means, that of the lowest bits first.
template <std::size_t N>
POSENC_ALWAYS_INLINE inline lanes<float>::number nibble_of_each(
    __m512i words, std::array<float, 16> const& table) noexcept {
  return lanes<float>::number(_mm512_permutexvar_ps(
      N == 0 ? words : _mm512_srli_epi32(words, 4 * N), _mm512_loadu_ps(table.data())));
}
/// Quarter i of x goes to to + i apart.
POSENC_ALWAYS_INLINE inline void store_quarters(float* to, std::size_t apart,
                                                lanes<float>::number const& x) noexcept {
  _mm_storeu_ps(to, _mm512_castps512_ps128(x.data));
  _mm_storeu_ps(to + apart, _mm512_extractf32x4_ps(x.data, 1));
  _mm_storeu_ps(to + 2 * apart, _mm512_extractf32x4_ps(x.data, 2));
  _mm_storeu_ps(to + 3 * apart, _mm512_extractf32x4_ps(x.data, 3));
}

POSENC_QUIET_END

#endif

}}}  // namespace posenc::detail
