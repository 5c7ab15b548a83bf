// Numbers in registers, whatever type stores them: how they are read and written.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "posenc/core/multiply_add.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/registers.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// One number at a time: tails, and everything where xsimd knows no architecture.
template <storable T>
struct one_lane {
  using number = arithmetic_t<T>;
  static constexpr std::size_t size = 1;

  static number load(T const* from) noexcept { return posenc::load(*from); }
  static void store(T* to, number x) noexcept { posenc::store(*to, x); }
  static void store(T* to_x, number x, T* to_y, number y) noexcept { store(to_x, x), store(to_y, y); }
  static void load_pairs(T const* from, number& x, number& y) noexcept { x = load(from), y = load(from + 1); }
  static void store_pairs(T* to, number x, number y) noexcept { store(to, x), store(to + 1, y); }
  using row = one_lane<number>;  ///< of the numbers that cosines, sines and weights are
  static number square_root(number x) noexcept { return std::sqrt(x); }
  static number sum(number x) noexcept { return x; }
  static number sums(number const* x) noexcept { return *x; }
  static number larger(number x, number y) noexcept { return x < y ? y : x; }
  static number one_if_above(number x, number bound) noexcept { return x >= bound ? 1 : 0; }
  static number multiply_add(number a, number b, number c) noexcept { return detail::multiply_add(a, b, c); }
  static number multiply_subtract(number a, number b, number c) noexcept { return detail::multiply_add(a, b, -c); }
};

#if defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

template <storable T>
struct lanes : one_lane<T> {};

#else

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // g++ 12 warns of its own AVX headers
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

/// float and double: stored as they are computed with.
template <storable T, class Format = storage_format_t<T>, std::size_t Bytes = sizeof(Format)>
struct lanes : register_arithmetic<Format> {
  using row = lanes<Format>;  ///< of the numbers that cosines, sines and weights are
  using typename register_arithmetic<Format>::number;
  using pairs = xsimd::batch<std::complex<Format>>;
  static constexpr bool apart = false;  ///< whether load_pairs costs nothing over two loads

  static number load(T const* from) noexcept {
    return register_arithmetic<Format>::kept(number::load_unaligned(reinterpret_cast<Format const*>(from)));
  }
  static void store(T* to, number const& x) noexcept { x.store_unaligned(reinterpret_cast<Format*>(to)); }
  static void store(T* to_x, number const& x, T* to_y, number const& y) noexcept { store(to_x, x), store(to_y, y); }
  static void load_pairs(T const* from, number& x, number& y) noexcept {
    auto const both = pairs::load_unaligned(reinterpret_cast<std::complex<Format> const*>(from));
    x = both.real(), y = both.imag();
  }
  static void store_pairs(T* to, number const& x, number const& y) noexcept {
    pairs(x, y).store_unaligned(reinterpret_cast<std::complex<Format>*>(to));
  }
};

/// A register of 32-bit words, for the conversions of half and bfloat16.
struct word_register {
  using bits = xsimd::batch<std::uint32_t>;
  using number = xsimd::batch<float>;
  static bits as_bits(number const& x) noexcept { return bits_as<std::uint32_t>(x); }
  static number as_number(bits const& x) noexcept { return bits_as<float>(x); }
};

/// half and bfloat16: stored in 16 bits, computed with in float.
template <storable T, class Format>
struct lanes<T, Format, 2> : register_arithmetic<float> {
  using row = lanes<float>;
  using register_arithmetic<float>::size;
  using bits = word_register::bits;
  static_assert(std::endian::native == std::endian::little, "the first of a pair is the low half of its word");
#if defined(__F16C__)
  static constexpr bool converts = std::same_as<Format, half>;  // the CPU does, of halves side by side
#else
  static constexpr bool converts = false;
#endif
  static constexpr bool apart = !converts;
#if defined(__AVX512BF16__)
  static constexpr bool rounds = std::same_as<Format, bfloat16>;  // the CPU does, but for subnormals
#else
  static constexpr bool rounds = false;
#endif

  [[gnu::always_inline]] static number load(T const* from) noexcept {
#if defined(__AVX512F__)
    if constexpr (converts) return number(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<__m256i const*>(from))));
#elif defined(__F16C__)
    if constexpr (converts) return number(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(from))));
#endif
    std::array<std::uint16_t, size> narrow;
    std::memcpy(narrow.data(), from, sizeof narrow);
    std::array<std::uint32_t, size> wide;
    for (std::size_t i = 0; i < size; ++i) wide[i] = narrow[i];
    return Format::template decode<word_register>(bits::load_unaligned(wide.data()));
  }
  [[gnu::always_inline]] static void store(T* to, number const& x) noexcept {
#if defined(__AVX512F__)
    if constexpr (converts) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(x.data, 0));
#elif defined(__F16C__)
    if constexpr (converts) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(x.data, 0));
#endif
#if defined(__AVX512BF16__)
    if constexpr (rounds) {
      if (!any_tiny(x, x)) [[likely]]
        return round_and_store(to, x);
    }
#endif
    encode_and_store(to, x);
  }
  [[gnu::always_inline]] static void store(T* to_x, number const& x, T* to_y, number const& y) noexcept {
#if defined(__AVX512BF16__)
    if constexpr (rounds) {
      if (!any_tiny(x, y)) [[likely]]
        return round_and_store(to_x, x), round_and_store(to_y, y);
    }
#endif
    store(to_x, x), store(to_y, y);
  }
  [[gnu::always_inline]] static void load_pairs(T const* from, number& x, number& y) noexcept {
    auto const both = bits::load_unaligned(reinterpret_cast<std::uint32_t const*>(from));
    x = Format::template decode<word_register>(both & bits(0xffffu));
    if constexpr (std::same_as<Format, bfloat16>) {
      y = word_register::as_number(both & bits(0xffff'0000u));  // in place already
    } else {
      y = Format::template decode<word_register>(both >> 16);
    }
  }
  [[gnu::always_inline]] static void store_pairs(T* to, number const& x, number const& y) noexcept {
#if defined(__AVX512BF16__)
    if constexpr (rounds) {
      if (!any_tiny(x, y)) [[likely]] {
        auto const in_turn = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19,
                                              3, 18, 2, 17, 1, 16, 0);
        auto const all_x_all_y = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(y.data, x.data));
        return _mm512_storeu_si512(to, _mm512_permutexvar_epi16(in_turn, all_x_all_y));
      }
    }
#endif
    encode_and_store_pairs(to, x, y);
  }

 private:
  static void encode_and_store(T* to, number const& x) noexcept {
    std::array<std::uint32_t, size> wide;
    Format::template encode<word_register>(x).store_unaligned(wide.data());
    std::array<std::uint16_t, size> narrow;
    for (std::size_t i = 0; i < size; ++i) narrow[i] = static_cast<std::uint16_t>(wide[i]);
    std::memcpy(static_cast<void*>(to), narrow.data(), sizeof narrow);
  }
  static void encode_and_store_pairs(T* to, number const& x, number const& y) noexcept {
    auto const both = Format::template encode<word_register>(x) | (Format::template encode<word_register>(y) << 16);
    both.store_unaligned(reinterpret_cast<std::uint32_t*>(to));
  }

#if defined(__AVX512BF16__)
  static void round_and_store(T* to, number const& x) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x.data)));
  }
  // Zeros, or subnormals, which the CPU would make zeros.
  static bool any_tiny(number const& x, number const& y) noexcept {
    auto const exponent = _mm512_set1_epi32(0x7f80'0000);
    return (_mm512_testn_epi32_mask(_mm512_castps_si512(x.data), exponent) |
            _mm512_testn_epi32_mask(_mm512_castps_si512(y.data), exponent)) != 0;
  }
#endif
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif

}  // namespace posenc::detail
