// Loads and stores a register of numbers of any storage type. Here are the types of 16 bits.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "posenc/core/compiler.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/batch_lanes.hpp"
#include "posenc/simd/for_16_bits.hpp"
#include "posenc/simd/registers.hpp"

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // g++ 12 warns of its own AVX headers
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

namespace posenc::inline POSENC_TARGET::detail {

/// A narrower register, of `Size` numbers of type half, where the CPU converts them.
template <storable T, std::size_t Size>
struct narrow_half_lanes
    : register_arithmetic<float, typename xsimd::make_sized_batch<float, Size>::type> {
  using arithmetic_lanes = typename narrow_lanes<float, Size>::type;
  using number = typename arithmetic_lanes::number;
  static constexpr bool converts = true;

  [[gnu::always_inline]] static number load(T const* from) noexcept {
    number x;
    load_halves(from, x.data);
    return x;
  }
  [[gnu::always_inline]] static void store(T* to, number const& x) noexcept {
    store_halves(to, x.data);
  }
  [[gnu::always_inline]] static void store(T* to_x, number const& x, T* to_y,
                                           number const& y) noexcept {
    store(to_x, x), store(to_y, y);
  }
};

/// A register of floats and its bits, for the conversions of half and bfloat16.
struct register_bits {
  using bits = xsimd::batch<std::uint32_t>;
  using number = xsimd::batch<float>;
  static bits as_bits(number const& x) noexcept { return bits_as<std::uint32_t>(x); }
  static number as_number(bits const& x) noexcept { return bits_as<float>(x); }
};

/// half and bfloat16: stored in 16 bits, computed in float.
template <storable T, class Format>
struct lanes<T, Format, 2, true> : register_arithmetic<arithmetic_t<T>> {
  using arithmetic_lanes = lanes<float>;
  using typename register_arithmetic<arithmetic_t<T>>::number;
  using register_arithmetic<arithmetic_t<T>>::size;
  using bits = register_bits::bits;
  static constexpr bool first_is_low = std::endian::native == std::endian::little;  // in 32 bits
  // Whether the CPU converts halves, and whether it rounds to bfloat16 (flushing subnormals).
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

  [[gnu::always_inline]] static number load(T const* from) noexcept {
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
      return Format::template decode<register_bits>(wide);
    } else {
      std::array<std::uint16_t, size> narrow;
      std::memcpy(narrow.data(), from, sizeof narrow);
      std::array<std::uint32_t, size> wide;
      for (std::size_t i = 0; i < size; ++i) wide[i] = narrow[i];
      return Format::template decode<register_bits>(bits::load_unaligned(wide.data()));
    }
  }
  [[gnu::always_inline]] static void store(T* to, number const& x) noexcept {
    if constexpr (converts) return store_halves(to, x.data);
    if constexpr (rounds) {
      if (!any_subnormal(x.data, x.data)) [[likely]]
        return store_bfloat16(to, x.data);
    }
    if constexpr (tells_nan) {
      if (!any_nan(x.data, x.data)) [[likely]]
        return store_words(to, rounded(x) >> 16);
    }
    store_words(to, Format::template encode<register_bits>(x));
  }
  [[gnu::always_inline]] static void store(T* to_x, number const& x, T* to_y,
                                           number const& y) noexcept {
    if constexpr (rounds) {
      if (!any_subnormal(x.data, y.data)) [[likely]]
        return store_bfloat16(to_x, x.data), store_bfloat16(to_y, y.data);
    }
    if constexpr (tells_nan) {
      if (!any_nan(x.data, y.data)) [[likely]]
        return store_words(to_x, rounded(x) >> 16), store_words(to_y, rounded(y) >> 16);
    }
    store(to_x, x), store(to_y, y);
  }
  [[gnu::always_inline]] static void load_pairs(T const* from, number& x, number& y) noexcept {
    if constexpr (widens) return load_bfloat16_pairs(from, x.data, y.data);
    split(bits::load_unaligned(reinterpret_cast<std::uint32_t const*>(from)), x, y);
  }
  /// Neighbours x and y from the halves of 32 bits.
  [[gnu::always_inline]] static void split(bits const& both, number& x, number& y) noexcept {
    auto& low = first_is_low ? x : y;
    auto& high = first_is_low ? y : x;
    if constexpr (std::same_as<Format, bfloat16>) {
      low = register_bits::as_number(both << 16);
      high = register_bits::as_number(both & bits(0xffff'0000u));  // the upper 16 bits are in place
    } else {
      low = Format::template decode<register_bits>(both & bits(0xffffu));
      high = Format::template decode<register_bits>(both >> 16);
    }
  }
  [[gnu::always_inline]] static void store_pairs(T* to, number const& x, number const& y) noexcept {
    if constexpr (rounds) {
      if (!any_subnormal(x.data, y.data)) [[likely]]
        return store_bfloat16_pairs(to, x.data, y.data);
    }
    auto const& low = first_is_low ? x : y;
    auto const& high = first_is_low ? y : x;
    auto const join = [to](bits const& first, bits const& second) POSENC_INLINED {
      (first | second).store_unaligned(reinterpret_cast<std::uint32_t*>(to));
    };
    if constexpr (tells_nan) {
      if (!any_nan(x.data, y.data)) [[likely]]
        return join(rounded(low) >> 16, rounded(high) & bits(0xffff'0000u));
    }
    join(Format::template encode<register_bits>(low), Format::template encode<register_bits>(high)
                                                          << 16);
  }

 private:
  static bits rounded(number const& x) noexcept {
    return Format::template rounded<bits>(register_bits::as_bits(x));
  }
  [[gnu::always_inline]] static void store_words(T* to, bits const& encoded) noexcept {
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

}  // namespace posenc::detail

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif
