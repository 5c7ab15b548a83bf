// Loads and stores one number, or a register of floats or doubles.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
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
    x = load(from), y = load(from + 1);
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

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

POSENC_QUIET_BEGIN

/// Lanes of half as many numbers as a Batch has, where the CPU has such registers.
template <template <class, class, class> class Lanes, class T, class Format, class Batch,
          class Half =
              typename xsimd::make_sized_batch<typename Batch::value_type, Batch::size / 2>::type>
using half_of_lanes = std::conditional_t<std::is_void_v<Half>, one_lane<T>, Lanes<T, Format, Half>>;

/// A register of floats or doubles, computed in the type that is stored.
template <storable T, class Format, class Batch>
struct batch_lanes : register_arithmetic<Format, Batch> {
  using arithmetic_lanes = batch_lanes<Format, Format, Batch>;
  using narrower = half_of_lanes<posenc::detail::batch_lanes, T, Format, Batch>;
  using number = Batch;
  using pairs = xsimd::batch<std::complex<Format>, typename Batch::arch_type>;

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
struct lanes<T, Format, Bytes, true> : batch_lanes<T, Format, xsimd::batch<Format>> {
  using arithmetic_lanes = lanes<Format>;  ///< for cosines, sines and weights
};

POSENC_QUIET_END

#endif

}}}  // namespace posenc::detail
