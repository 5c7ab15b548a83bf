// The codes of E4M3, the 8-bit float of DeepSeek, vLLM and FlashInfer.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/registers.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// E4M3 of OCP: 1 sign bit, 4 exponent bits of bias 7, 3 fraction bits. The largest number is 448,
/// the least normal one 2^-6, the least one 2^-9; no infinity; NaN is 0x7f and 0xff.
struct e4m3_codes {
  static constexpr std::uint32_t most = 0x43e0'0000, rebias = 120u << 23, least_normal = 121u << 23,
                                 infinity = 0x7f80'0000, magnitude_bits = 0x7fff'ffff;

  /// Rounds to the nearest code, ties to even. Magnitudes above 448 become 448, NaN stays NaN, as
  /// the conversion instructions of CPUs and GPUs do when they saturate. flush: magnitudes below
  /// 2^-6 become 0.
  template <class Number>
  POSENC_ALWAYS_INLINE static constexpr auto to_nearest(Number const& x,
                                                        bool flush = false) noexcept {
    using b = code_bits<Number>;
    using u32 = typename b::bits;
    // `one` is about 2^20 times the power of 2 in m. Its last bit weighs as much as the last bit of
    // the code, so that adding m rounds m there, and the low byte of the sum has the mantissa. The
    // code's exponent is that of m less 120: in the low byte, 8 per exponent, and 56 for the rest,
    // which leaves its bit 7 clear. The bytes above the low one are ignored.
    u32 const all = b::as_bits(x), whole = all & u32(magnitude_bits), m = less_of(whole, u32(most)),
              exponent = more_of(m, u32(least_normal)) & u32(infinity),
              one = exponent + u32((20u << 23) + 56),
              code = b::as_bits(b::as_number(m) + b::as_number(one)) + (exponent >> 20),
              finite = flush ? where_below(m, u32(least_normal), u32(0u), code) : code,
              positive = where_below(u32(infinity), whole, u32(0x7fu), finite);
    return positive | ((all >> 24) & u32(0x80u));
  }
  /// Towards zero, as vLLM's writer for CPUs: below 2^-6 rounded to a multiple of 2^-29 first, by
  /// the product that it makes; -0 gives 0, and NaN 448.
  template <class Number>
  POSENC_ALWAYS_INLINE static constexpr auto towards_zero(Number const& x) noexcept {
    using b = code_bits<Number>;
    using u32 = typename b::bits;
    u32 const leading(least_normal);  // 2^-6, whose last bit has the weight 2^-29
    u32 const all = b::as_bits(x), whole = all & u32(magnitude_bits), m = less_of(whole, u32(most)),
              normal = (m - u32(rebias)) >> 20,
              subnormal = (b::as_bits(b::as_number(m) + b::as_number(leading)) - leading) >> 20,
              positive = where_below(u32(infinity), whole, u32(0u), u32(0x80u)),
              signs = where_below(u32(0u), m, positive, u32(0u));
    return ((all >> 24) & signs) | where_below(m, u32(least_normal), subnormal, normal);
  }
  /// Exact. Code: std::uint32_t, or a register of them.
  template <class Code>
  POSENC_ALWAYS_INLINE static constexpr auto number(Code const& code) noexcept {
    Code const sign = (code & Code(0x80u)) << 24, shifted = (code & Code(0x7fu)) << 20,
               leading(least_normal);
    // Subnormal: the fraction behind a leading 1 of weight 2^-6, less 2^-6.
    Code const subnormal = bits_as<std::uint32_t>(bits_as<float>(shifted | leading) -
                                                  bits_as<float>(leading)),
               finite = where_below(shifted, Code(1u << 23), subnormal, shifted + Code(rebias));
    return bits_as<float>(sign |
                          where_below(Code(0x7eu << 20), shifted, Code(0x7fc0'0000u), finite));
  }
  /// 2^-8 times the numbers of Lanes::size codes.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static typename Lanes::number load(std::byte const* from) noexcept {
    if constexpr (requires(typename Lanes::number x) { load_e4m3(from, x.data); }) {
      typename Lanes::number x;
      load_e4m3(from, x.data);
      return x;
    } else {
      return number(load_codes<std::uint8_t, Lanes>(from)) * typename Lanes::number(0x1p-8f);
    }
  }
  /// Some codes, each times the scale.
  POSENC_ALWAYS_INLINE static void read(std::byte const* from, std::span<float> x,
                                        float scale) noexcept {
    read_codes(from, x,
               [&](auto const& code) POSENC_INLINED { return product(number(code), scale); });
  }
};

}}}  // namespace posenc::detail
