// A register of numbers, whatever type stores them: loads, stores and fused multiply-adds. The one header that includes xsimd, and
// that knows what differs between its versions 8.1 to 14.
#pragma once

#include <xsimd/xsimd.hpp>

#include <array>
#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "posenc/core/storage.hpp"

namespace posenc::detail {

/// One number at a time: tails, and everything where xsimd knows no architecture.
template <storable T>
struct one_lane {
  using number = arithmetic_t<T>;
  static constexpr std::size_t size = 1;

  static number load(T const* from) noexcept { return posenc::load(*from); }
  static void store(T* to, number x) noexcept { posenc::store(*to, x); }
  static void load_pairs(T const* from, number& x, number& y) noexcept { x = load(from), y = load(from + 1); }
  static void store_pairs(T* to, number x, number y) noexcept { store(to, x), store(to + 1, y); }
  static number load_row(number const* from) noexcept { return *from; }
  static number multiply_add(number a, number b, number c) noexcept { return a * b + c; }
  static number multiply_subtract(number a, number b, number c) noexcept { return a * b - c; }
};

#if defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

template <storable T>
struct lanes : one_lane<T> {};

#else

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // g++ 12 takes the undefined registers within its own AVX headers for uninitialised ones
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
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

  static number load_row(Number const* from) noexcept { return number::load_unaligned(from); }
  static number multiply_add(number const& a, number const& b, number const& c) noexcept { return xsimd::fma(a, b, c); }
  static number multiply_subtract(number const& a, number const& b, number const& c) noexcept { return xsimd::fms(a, b, c); }
};

/// float and double: stored as they are computed with.
template <storable T, class Format = storage_format_t<T>, std::size_t Bytes = sizeof(Format)>
struct lanes : register_arithmetic<Format> {
  using typename register_arithmetic<Format>::number;
  using pairs = xsimd::batch<std::complex<Format>>;

  static number load(T const* from) noexcept { return number::load_unaligned(reinterpret_cast<Format const*>(from)); }
  static void store(T* to, number const& x) noexcept { x.store_unaligned(reinterpret_cast<Format*>(to)); }
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
  static bits select(xsimd::batch_bool<std::uint32_t> const& condition, bits const& yes, bits const& no) noexcept {
    return xsimd::select(condition, yes, no);
  }
};

/// half and bfloat16: stored in 16 bits, computed with in float.
template <storable T, class Format>
struct lanes<T, Format, 2> : register_arithmetic<float> {
  using register_arithmetic<float>::size;
  using bits = word_register::bits;
  static_assert(std::endian::native == std::endian::little, "the first of a pair is the low half of its word");

  static number load(T const* from) noexcept {
    std::array<std::uint16_t, size> narrow;
    std::memcpy(narrow.data(), from, sizeof narrow);
    std::array<std::uint32_t, size> wide;
    for (std::size_t i = 0; i < size; ++i) wide[i] = narrow[i];
    return Format::template decode<word_register>(bits::load_unaligned(wide.data()));
  }
  static void store(T* to, number const& x) noexcept {
    std::array<std::uint32_t, size> wide;
    Format::template encode<word_register>(x).store_unaligned(wide.data());
    std::array<std::uint16_t, size> narrow;
    for (std::size_t i = 0; i < size; ++i) narrow[i] = static_cast<std::uint16_t>(wide[i]);
    std::memcpy(static_cast<void*>(to), narrow.data(), sizeof narrow);
  }
  static void load_pairs(T const* from, number& x, number& y) noexcept {
    std::array<std::uint32_t, size> words;
    std::memcpy(words.data(), from, sizeof words);
    auto const both = bits::load_unaligned(words.data());
    x = Format::template decode<word_register>(both & bits(0xffffu));
    y = Format::template decode<word_register>(both >> 16);
  }
  static void store_pairs(T* to, number const& x, number const& y) noexcept {
    auto const both = Format::template encode<word_register>(x) | (Format::template encode<word_register>(y) << 16);
    std::array<std::uint32_t, size> words;
    both.store_unaligned(words.data());
    std::memcpy(static_cast<void*>(to), words.data(), sizeof words);
  }
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif

}  // namespace posenc::detail
