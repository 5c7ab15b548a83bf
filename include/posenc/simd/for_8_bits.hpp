// Loads of integers of 8 bits, and of E4M3, as a register of floats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "posenc/core/compiler.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/batch_lanes.hpp"
#include "posenc/simd/intrinsics.hpp"

POSENC_QUIET_BEGIN

namespace posenc::inline POSENC_TARGET::detail {

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
#if defined(__AVX512F__)
inline void load_integers(std::int8_t const* from, __m512& x) noexcept {
  auto const bytes = _mm_loadu_si128(reinterpret_cast<__m128i const*>(from));
  x = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}
inline void load_integers(std::uint8_t const* from, __m512& x) noexcept {
  auto const bytes = _mm_loadu_si128(reinterpret_cast<__m128i const*>(from));
  x = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}
#endif
#if defined(__AVX2__)
inline void load_integers(std::int8_t const* from, __m256& x) noexcept {
  auto const bytes = _mm_loadl_epi64(reinterpret_cast<__m128i const*>(from));
  x = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}
inline void load_integers(std::uint8_t const* from, __m256& x) noexcept {
  auto const bytes = _mm_loadl_epi64(reinterpret_cast<__m128i const*>(from));
  x = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}
#endif
// E4M3 as halves of the same sign, exponent and fraction bits: 2^-8 times the number, exactly. Bit
// 14 of a word, its sign again, is cleared; of NaN, whose lower bits are ones, a carry turns it
// over.
#if defined(__AVX512F__) && defined(__AVX2__)
inline void load_e4m3(void const* from, __m512& x) noexcept {
  auto const bytes = _mm_loadu_si128(static_cast<__m128i const*>(from));
  auto const words = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7),
             sum = _mm256_add_epi16(words, _mm256_set1_epi16(0x80)),
             second = _mm256_set1_epi16(0x4000);
#if defined(__AVX512VL__)
  x = _mm512_cvtph_ps(_mm256_ternarylogic_epi64(words, sum, second, 0x78));
#else
  x = _mm512_cvtph_ps(_mm256_xor_si256(words, _mm256_and_si256(sum, second)));
#endif
}
#endif
#if defined(__F16C__) && defined(__AVX2__)
inline void load_e4m3(void const* from, __m256& x) noexcept {
  auto const bytes = _mm_loadl_epi64(static_cast<__m128i const*>(from));
  auto const words = _mm_slli_epi16(_mm_cvtepi8_epi16(bytes), 7),
             sum = _mm_add_epi16(words, _mm_set1_epi16(0x80));
  x = _mm256_cvtph_ps(_mm_xor_si128(words, _mm_and_si128(sum, _mm_set1_epi16(0x4000))));
}
#endif
#endif

#if defined(__F16C__) && defined(__AVX2__) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
#if defined(__AVX512F__)
inline void broadcast_half(std::uint16_t bits, __m512& x) noexcept {
  x = _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<short>(bits)));
}
#endif
inline void broadcast_half(std::uint16_t bits, __m256& x) noexcept {
  x = _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(bits)));
}
#endif
/// A half at any address, as a float, in every lane.
template <class Lanes>
[[gnu::always_inline]] inline typename Lanes::number half_everywhere(
    std::byte const* from) noexcept {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  if constexpr (requires(typename Lanes::number x) { broadcast_half(bits, x.data); }) {
    typename Lanes::number x;
    broadcast_half(bits, x.data);
    return x;
  } else {
    return typename Lanes::number(static_cast<float>(half::from_bits(bits)));
  }
}

/// Lanes::size numbers, number(i) each.
template <class Lanes>
[[gnu::always_inline]] inline typename Lanes::number each_lane(auto const& number) noexcept {
  std::array<float, Lanes::size> x;
  for (std::size_t i = 0; i < Lanes::size; ++i) x[i] = number(i);
  return Lanes::load(x.data());
}

/// Integers of 8 bits as floats.
template <class Integer, class Lanes>
[[gnu::always_inline]] inline typename Lanes::number integers(std::byte const* from) noexcept {
  auto const* const bytes = reinterpret_cast<Integer const*>(from);
  if constexpr (requires(typename Lanes::number x) { load_integers(bytes, x.data); }) {
    typename Lanes::number x;
    load_integers(bytes, x.data);
    return x;
  } else {
    return each_lane<Lanes>([&](std::size_t i) { return static_cast<float>(bytes[i]); });
  }
}

/// Whether there are loads of E4M3.
template <class Lanes>
concept loads_e4m3 = requires(void const* from, typename Lanes::number x) {
  load_e4m3(from, x.data);
};
/// 2^-8 times the numbers.
template <loads_e4m3 Lanes>
[[gnu::always_inline]] inline typename Lanes::number e4m3_numbers(std::byte const* from) noexcept {
  typename Lanes::number x;
  load_e4m3(from, x.data);
  return x;
}

}  // namespace posenc::detail

POSENC_QUIET_END
