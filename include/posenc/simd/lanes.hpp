// Loads and stores one number, or a register of numbers, of any storage type.
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

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/multiply_add.hpp"
#include "posenc/simd/registers.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// One number at a time: tails, and types that xsimd has no registers for.
template <storable T>
struct one_lane {
  using number = arithmetic_t<T>;
  static constexpr std::size_t size = 1;
  static constexpr bool converts = false;  ///< in registers

  static number load(T const* from) noexcept { return posenc::load(*from); }
  static void store(T* to, number x) noexcept { posenc::store(*to, x); }
  static void load_pairs(T const* from, number& x, number& y) noexcept {
    x = load(from);
    y = load(from + 1);
  }
  static void store_pairs(T* to, number x, number y) noexcept { store(to, x), store(to + 1, y); }
  using arithmetic_lanes = one_lane<number>;  ///< for cosines, sines and weights
  static number square_root(number x) noexcept { return std::sqrt(x); }
  static number sum(number x) noexcept { return x; }
  static number sums(number const* x) noexcept { return *x; }
  static void transpose(number*) noexcept {}
  static number larger(number x, number y) noexcept { return x < y ? y : x; }
  static number multiply_add(number a, number b, number c) noexcept {
    return detail::multiply_add(a, b, c);
  }
  static number multiply_subtract(number a, number b, number c) noexcept {
    return detail::multiply_add(a, b, -c);
  }
};

/// A register of numbers.
template <storable T, class Format = storage_format_t<T>, std::size_t Bytes = sizeof(Format),
          bool InRegisters = has_registers<arithmetic_t<T>>>
struct lanes : one_lane<T> {};

/// Registers, not one_lane.
template <class Lanes>
concept several_lanes = Lanes::size >
1;

#if !defined(POSENC_NO_REGISTERS)

POSENC_QUIET_BEGIN

/// Lanes of half as many numbers as a Batch has, where the CPU has such registers.
template <template <class, class, class> class Lanes, class T, class Format, class Batch,
          class Half =
              typename vectors::make_sized_batch<typename Batch::value_type, Batch::size / 2>::type>
using half_of_lanes = std::conditional_t<std::is_void_v<Half>, one_lane<T>, Lanes<T, Format, Half>>;

/// A register of floats or doubles, computed in the type that is stored.
template <storable T, class Format, class Batch>
struct batch_lanes : register_arithmetic<Format, Batch> {
  using arithmetic_lanes = batch_lanes<Format, Format, Batch>;
  using narrower = half_of_lanes<posenc::detail::batch_lanes, T, Format, Batch>;
  using number = Batch;
  using pairs = vectors::batch<std::complex<Format>, typename Batch::arch_type>;

  static constexpr bool converts = false;           ///< the CPU does, as it loads and stores
  static constexpr bool free_deinterleave = false;  ///< load_pairs costs no more than two loads
  static constexpr std::size_t registers = 1;       ///< for a number, with what conversions take

  static number load(T const* from) noexcept {
    return register_arithmetic<Format, Batch>::kept_in_order(
        number::load_unaligned(reinterpret_cast<Format const*>(from)));
  }
  static void store(T* to, number const& x) noexcept {
    x.store_unaligned(reinterpret_cast<Format*>(to));
  }
  static void load_pairs(T const* from, number& x, number& y) noexcept {
    auto const both = pairs::load_unaligned(reinterpret_cast<std::complex<Format> const*>(from));
    x = both.real(), y = both.imag();
  }
  static void store_pairs(T* to, number const& x, number const& y) noexcept {
    pairs(x, y).store_unaligned(reinterpret_cast<std::complex<Format>*>(to));
  }
};
template <storable T, class Format, std::size_t Bytes>
struct lanes<T, Format, Bytes, true> : batch_lanes<T, Format, vectors::batch<Format>> {
  using arithmetic_lanes = lanes<Format>;  ///< for cosines, sines and weights
};

/// Used if no overload asks for more.
inline void load_here(auto&) noexcept {}

/// A register of floats and its bits, for the conversions of half and bfloat16.
template <class Batch>
struct register_bits {
  using bits = vectors::batch<std::uint32_t, typename Batch::arch_type>;
  using number = Batch;
  static bits as_bits(number const& x) noexcept { return bits_as<std::uint32_t>(x); }
  static number as_number(bits const& x) noexcept { return bits_as<float>(x); }
};

/// half and bfloat16: stored in 16 bits, computed in float.
template <storable T, class Format, class Batch>
struct lanes_of_16_bits : register_arithmetic<float, Batch> {
  using arithmetic_lanes = batch_lanes<float, float, Batch>;
  using narrower = half_of_lanes<posenc::detail::lanes_of_16_bits, T, Format, Batch>;
  using typename register_arithmetic<float, Batch>::number;
  using register_arithmetic<float, Batch>::size;
  using as_bits = register_bits<Batch>;
  using bits = typename as_bits::bits;
  static constexpr bool first_is_low = std::endian::native == std::endian::little;  // in 32 bits
  // Whether the CPU converts halves, and whether it rounds to bfloat16.
  static constexpr bool converts = std::same_as<Format, half> && requires(number x) {
    load_halves(nullptr, x.data);
  };
  static constexpr bool computes_halves = std::same_as<Format, half> && !converts;
  static constexpr bool rounds = std::same_as<Format, bfloat16> && requires(number x) {
    store_bfloat16(nullptr, x.data);
  };
  // Whether it is cheaper to look for NaN, which few numbers are, than to encode them all with it.
  static constexpr bool tells_nan =
      !rounds && std::same_as<Format, bfloat16> && requires(number x) {
    any_nan(x.data, x.data);
  };
  // Whether it has loads of bfloat16.
  static constexpr bool widens = std::same_as<Format, bfloat16> && requires(number x) {
    load_bfloat16(nullptr, x.data);
  };

  static constexpr bool free_deinterleave = !converts;
  static constexpr std::size_t registers = converts || (rounds && has_32_registers) ? 1 : 2;

  POSENC_ALWAYS_INLINE static number load(T const* from) noexcept {
    if constexpr (converts) {
      number x;
      load_halves(from, x.data);
      return x;
    } else if constexpr (widens) {
      number x;
      load_bfloat16(from, x.data);
      return x;
    } else if constexpr (requires(bits x) { load_wider(from, x.data); }) {
      bits wide;
      load_wider(from, wide.data);
      return Format::template decode<as_bits>(wide);
    } else {
      std::array<std::uint16_t, size> narrow;
      std::memcpy(narrow.data(), from, sizeof narrow);
      std::array<std::uint32_t, size> wide;
      for (std::size_t i = 0; i < size; ++i) wide[i] = narrow[i];
      return Format::template decode<as_bits>(bits::load_unaligned(wide.data()));
    }
  }
  POSENC_ALWAYS_INLINE static void store(T* to, number const& x) noexcept {
    if constexpr (converts) return store_halves(to, x.data);
    if constexpr (rounds) return store_bfloat16(to, x.data);
    if constexpr (tells_nan) {
      if (!any_nan(x.data, x.data)) [[likely]]
        return store_words(to, rounded(x) >> 16);
    }
    store_words(to, Format::template encode<as_bits>(x));
  }
  /// Stores x and then y. If the CPU converts two registers with one instruction, that is used.
  POSENC_ALWAYS_INLINE static void store_two(T* to, number const& x, number const& y) noexcept {
    if constexpr (requires { store_bfloat16(to, x.data, y.data); } && rounds) {
      store_bfloat16(to, x.data, y.data);
    } else {
      store(to, x);
      store(to + size, y);
    }
  }
  POSENC_ALWAYS_INLINE static void load_pairs(T const* from, number& x, number& y) noexcept {
    if constexpr (widens) return load_bfloat16_pairs(from, x.data, y.data);
    auto both = bits::load_unaligned(reinterpret_cast<std::uint32_t const*>(from));
    load_here(both.data);
    auto& low = first_is_low ? x : y;
    auto& high = first_is_low ? y : x;
    if constexpr (std::same_as<Format, bfloat16>) {
      low = as_bits::as_number(both << 16);
      high = as_bits::as_number(both & bits(0xffff'0000u));  // the upper 16 bits are in place
    } else {
      low = Format::template decode<as_bits>(both & bits(0xffffu));
      high = Format::template decode<as_bits>(both >> 16);
    }
  }
  POSENC_ALWAYS_INLINE static void store_pairs(T* to, number const& x, number const& y) noexcept {
    if constexpr (rounds) return store_bfloat16_pairs(to, x.data, y.data);
    auto const& low = first_is_low ? x : y;
    auto const& high = first_is_low ? y : x;
    auto const join = [to](bits const& first, bits const& second) POSENC_INLINED {
      (first | second).store_unaligned(reinterpret_cast<std::uint32_t*>(to));
    };
    if constexpr (tells_nan) {
      if (!any_nan(x.data, y.data)) [[likely]]
        return join(rounded(low) >> 16, rounded(high) & bits(0xffff'0000u));
    }
    join(Format::template encode<as_bits>(low), Format::template encode<as_bits>(high) << 16);
  }

 private:
  static bits rounded(number const& x) noexcept {
    return Format::template rounded<bits>(as_bits::as_bits(x));
  }
  POSENC_ALWAYS_INLINE static void store_words(T* to, bits const& encoded) noexcept {
    if constexpr (requires { store_narrower(to, encoded.data); }) {
      store_narrower(to, encoded.data);
    } else {
      std::array<std::uint32_t, size> wide;
      encoded.store_unaligned(wide.data());
      std::array<std::uint16_t, size> narrow;
      for (std::size_t i = 0; i < size; ++i) narrow[i] = static_cast<std::uint16_t>(wide[i]);
      std::memcpy(static_cast<void*>(to), narrow.data(), sizeof narrow);
    }
  }
};
template <storable T, class Format>
struct lanes<T, Format, 2, true> : lanes_of_16_bits<T, Format, vectors::batch<float>> {
  using arithmetic_lanes = lanes<float>;
};

/// Two registers of numbers.
template <class Number>
struct two_registers {
  Number a, b;
  friend two_registers operator*(two_registers const& x, auto const& y) noexcept {
    if constexpr (std::same_as<decltype(y), two_registers const&>) {
      return {x.a * y.a, x.b * y.b};
    } else {
      return {x.a * Number(y), x.b * Number(y)};
    }
  }
};

/// A whole register of 16-bit words, which are two registers of floats: those of even and of odd
/// index, apart by a mask and a shift; or the first and the last, where the CPU loads them so.
template <storable T>
struct word_lanes {
  using half_of = lanes<T>;
  using number = two_registers<typename half_of::number>;
  static constexpr std::size_t size = 2 * half_of::size;
  // Conversions of type half that are computed take all of 16.
  static constexpr std::size_t registers = half_of::computes_halves && !has_32_registers ? 8 : 2;
  static constexpr bool in_order = half_of::rounds && requires(typename half_of::number x) {
    load_bfloat16(nullptr, x.data, x.data);
  };

  /// Floats in the same order.
  struct arithmetic_lanes {
    using number = word_lanes::number;
    POSENC_ALWAYS_INLINE static number load(float const* from) noexcept {
      number x;
      if constexpr (in_order) {
        x.a = lanes<float>::load(from);
        x.b = lanes<float>::load(from + half_of::size);
      } else {
        lanes<float>::load_pairs(from, x.a, x.b);
      }
      return x;
    }
  };

  POSENC_ALWAYS_INLINE static number load(T const* from) noexcept {
    number x;
    if constexpr (in_order) {
      load_bfloat16(from, x.a.data, x.b.data);
    } else {
      half_of::load_pairs(from, x.a, x.b);
    }
    return x;
  }
  POSENC_ALWAYS_INLINE static void store(T* to, number const& x) noexcept {
    if constexpr (in_order) {
      half_of::store_two(to, x.a, x.b);
    } else {
      half_of::store_pairs(to, x.a, x.b);
    }
  }
  static number multiply_add(number const& a, number const& b, number const& c) noexcept {
    return {half_of::multiply_add(a.a, b.a, c.a), half_of::multiply_add(a.b, b.b, c.b)};
  }
  static number multiply_subtract(number const& a, number const& b, number const& c) noexcept {
    return {half_of::multiply_subtract(a.a, b.a, c.a), half_of::multiply_subtract(a.b, b.b, c.b)};
  }
};

POSENC_QUIET_END

#endif

}}}  // namespace posenc::detail
