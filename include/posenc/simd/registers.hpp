// A register of float or double and its arithmetic. The only header that includes xsimd and knows
// the differences between its versions 8.1 to 14.
#pragma once

#if !defined(POSENC_WITHOUT_XSIMD)
#include <xsimd/xsimd.hpp>
#endif

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/neon.hpp"
#include "posenc/simd/vectors.hpp"
#include "posenc/simd/x86.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

#if !defined(POSENC_WITHOUT_XSIMD)
namespace vectors = xsimd;
#endif

/// Whether the CPU has 32 vector registers, not 16 or none.
#if defined(__AVX512F__) || defined(__aarch64__) || defined(__VSX__) || defined(__VX__)
inline constexpr bool has_32_registers = true;
#else
inline constexpr bool has_32_registers = false;
#endif

/// Orders of lanes: x1 x0 x3 x2 ..., the first or second half of x0 x0 x1 x1 ..., and lanes i and
/// i ^ Distance in each other's place.
struct neighbours_swapped {
  static constexpr unsigned get(unsigned i, unsigned) noexcept { return i ^ 1; }
};
template <unsigned Half>
struct each_twice {
  static constexpr unsigned get(unsigned i, unsigned n) noexcept { return (Half * n + i) / 2; }
};

template <unsigned Distance>
struct exchanged {
  static constexpr unsigned distance = Distance;
  static constexpr unsigned get(unsigned i, unsigned) noexcept { return i ^ Distance; }
};

/// Whether there are registers of Number. On 32-bit ARM xsimd has those of float only.
#if defined(POSENC_NO_REGISTERS)
template <class Number>
inline constexpr bool has_registers = false;
#else
template <class Number>
inline constexpr bool has_registers = [] {
  // xsimd 8.1 says yes for registers of one number.
  if constexpr (vectors::has_simd_register<Number>::value)
    return sizeof(vectors::batch<Number>) > sizeof(Number);
  return false;
}();

POSENC_QUIET_BEGIN

template <class To, class From, class Arch, class Result = vectors::batch<To, Arch>>
Result bits_as(vectors::batch<From, Arch> const& x) noexcept {
  // clang-format off
  if constexpr (requires { { vectors::bitwise_cast<To>(x) } -> std::same_as<Result>; }) {
    return vectors::bitwise_cast<To>(x);
  } else {  // 8.1
#if defined(__ARM_NEON)  // where that calls a function
    return reinterpret_cast<typename Result::register_type>(x.data);
#else
    return vectors::bitwise_cast<Result>(x);
#endif
  }
  // clang-format on
}

/// In each lane a if `first` is true, else b.
template <class T, class Arch>
vectors::batch<T, Arch> chosen(vectors::batch_bool<T, Arch> const& first,
                               vectors::batch<T, Arch> const& a,
                               vectors::batch<T, Arch> const& b) noexcept {
#if defined(__AVX512BW__) && !defined(__OPTIMIZE__) && !defined(POSENC_WITHOUT_XSIMD)
  // At -O0, g++'s intrinsics of AVX512BW are macros that take no batch, as xsimd 8.1 passes them.
  if constexpr (sizeof(a) == 64 && sizeof(T) == 4)
    return _mm512_mask_blend_epi32(first, b.data, a.data);
  else if constexpr (sizeof(a) == 64 && sizeof(T) == 8)
    return _mm512_mask_blend_epi64(first, b.data, a.data);
  else
#endif
    return select(first, a, b);
}

/// A register of float or double, as wide as its type says: XSIMD_DEFAULT_ARCH may choose a
/// narrower one than the CPU has.
template <class Number, class Batch = vectors::batch<Number>>
struct register_arithmetic {
  using number = Batch;
  static constexpr std::size_t size = number::size, bytes = sizeof(Number) * size;

  static number multiply_add(number const& a, number const& b, number const& c) noexcept {
    if constexpr (requires { fused(a.data, b.data, c.data); }) {
      return number(fused(a.data, b.data, c.data));
    } else {
      return fma(a, b, c);
    }
  }
  static number multiply_subtract(number const& a, number const& b, number const& c) noexcept {
    if constexpr (requires { fused(a.data, b.data, c.data); }) {
      return number(fused(a.data, b.data, -c.data));
    } else {
      return fms(a, b, c);
    }
  }

  static number square_root(number const& x) noexcept {
    if constexpr (requires { root(x.data); }) {
      return number(root(x.data));
    } else {
      return sqrt(x);
    }
  }
  static number larger(number const& x, number const& y) noexcept {
    if constexpr (requires { larger_of(x.data, y.data); }) {
      return number(larger_of(x.data, y.data));
    } else {
      return max(x, y);
    }
  }
  static Number sum(number const& x) noexcept {
    if constexpr (requires { total(x.data); }) {
      return total(x.data);
    } else if constexpr (requires { reduce_add(x); }) {
      return reduce_add(x);
    } else {
      return hadd(x);  // 8.1
    }
  }

  /// Lane i of the result: the sum of the lanes of x[i]. x: [size].
  static number sums(number const* x) noexcept {
    if constexpr (requires { totals(&x->data); }) {
      decltype(x->data) all[size];
      for (std::size_t i = 0; i < size; ++i) all[i] = x[i].data;
      return number(totals(all));
    } else {
#if defined(__VSX__)
      if constexpr (sizeof(Number) == 4) {  // xsimd 14.3 adds the first two twice, the others never
        std::array<Number, size> each;
        for (std::size_t i = 0; i < size; ++i) each[i] = sum(x[i]);
        return number::load_unaligned(each.data());
      }
#endif
      return haddp(x);
    }
  }

  /// Makes lane j of x[i] lane i of x[j]. x: [size].
  static void transpose(number* x) noexcept {
    if constexpr (requires { zip(x->data, x->data); }) {
      for (std::size_t done = 1; done < size; done *= 2) {  // each time a perfect shuffle
        std::array<number, size> y;
        for (std::size_t i = 0; i < size / 2; ++i) {
          y[2 * i] = x[i];
          y[2 * i + 1] = x[i + size / 2];
          zip(y[2 * i].data, y[2 * i + 1].data);
        }
        for (std::size_t i = 0; i < size; ++i) x[i] = y[i];
      }
    } else {
      std::array<Number, size * size> rows;
      for (std::size_t i = 0; i < size; ++i) x[i].store_unaligned(rows.data() + i * size);
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < i; ++j) std::swap(rows[i * size + j], rows[j * size + i]);
      }
      for (std::size_t i = 0; i < size; ++i) x[i] = number::load_unaligned(rows.data() + i * size);
    }
  }

  /// Lane i of the result: lane Order::get(i, size) of x.
  template <class Order>
  static number in_order(number const& x) noexcept {
    using index = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
    using arch = typename Batch::arch_type;
#if defined(__has_builtin) && !defined(__ARM_FEATURE_SVE_BITS)
#if __has_builtin(__builtin_shufflevector)  // the CPU's cheapest shuffle; 0.9 of the time
    if constexpr (requires { Order::distance; }) {
      return [&]<unsigned... i>(std::integer_sequence<unsigned, i...>) POSENC_INLINED {
        return number(__builtin_shufflevector(x.data, x.data, (i ^ Order::distance)...));
      }
      (std::make_integer_sequence<unsigned, size>());
    }
#endif
#endif
    if constexpr (std::same_as<Order, neighbours_swapped> && requires { swapped(x.data); }) {
      return swapped(x.data);
    } else if constexpr (requires { vectors::make_batch_constant<index, Order, arch>(); }) {
      return vectors::swizzle(x, vectors::make_batch_constant<index, Order, arch>());
    } else if constexpr (requires { vectors::make_batch_constant<index, arch, Order>(); }) {  // 13
      return vectors::swizzle(x, vectors::make_batch_constant<index, arch, Order>());
    } else {  // 8.1
      return vectors::swizzle(x,
                              vectors::make_batch_constant<vectors::batch<index, arch>, Order>());
    }
  }

  /// Makes g++ load x once and in order: CPUs fetch ahead of loads whose addresses ascend.
  static number kept_in_order(number x) noexcept {
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
    asm volatile("" : "+v"(x.data));
#endif
    return x;
  }
};

POSENC_QUIET_END

#endif

}}}  // namespace posenc::detail
