// Storage types: float, double, half, bfloat16, an engine's own.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {
namespace detail {

/// One float and its bits; simd/lanes.hpp has a register of them.
struct scalar_bits {
  using bits = std::uint32_t;
  using number = float;
  static constexpr bits as_bits(number x) noexcept { return detail::bit_cast<bits>(x); }
  static constexpr number as_number(bits x) noexcept { return detail::bit_cast<number>(x); }
};

/// All ones if a < b, else 0; both are below 2^31.
template <class Bits>
constexpr Bits below(Bits const& a, Bits const& b) noexcept {
  return Bits(0u) - ((a - b) >> 31);
}

/// `yes` if the condition is all ones, `no` if it is 0.
template <class Bits>
constexpr Bits choose(Bits const& condition, Bits const& yes, Bits const& no) noexcept {
  return no ^ ((yes ^ no) & condition);
}

/// A 16-bit Format as its bits. Format has decode and encode, between the low 16 bits of 32 and
/// floats, of one number or of a register.
template <class Format>
struct float_of_16_bits {
  std::uint16_t bits;  ///< sign, exponent, fraction

  float_of_16_bits() = default;
  /// Rounded to nearest even.
  constexpr explicit float_of_16_bits(float number) noexcept
      : bits(static_cast<std::uint16_t>(Format::template encode<scalar_bits>(number))) {}
  /// Exact.
  constexpr explicit operator float() const noexcept {
    return Format::template decode<scalar_bits>(bits);
  }

  /// The number with these bits.
  static constexpr Format from_bits(std::uint16_t bits) noexcept {
    Format result{};
    result.bits = bits;
    return result;
  }
  /// As floats compare: +0 equals -0, and NaN nothing.
  friend constexpr bool operator==(Format a, Format b) noexcept { return float(a) == float(b); }
};

}  // namespace detail

/// IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits; bit-compatible with _Float16,
/// CUDA's __half and ggml_fp16_t. From float: rounded once, to nearest even; infinity from 65520
/// on; subnormals are kept, by CPUs that flush them too; NaN gives a quiet NaN. To float: exact.
struct half : detail::float_of_16_bits<half> {
  using float_of_16_bits::float_of_16_bits;

  /// The numbers of bits.
  template <class Bits>
  POSENC_ALWAYS_INLINE static constexpr auto decode(typename Bits::bits bits) noexcept {
    using u32 = typename Bits::bits;
    auto const sign = (bits & u32(0x8000u)) << 16, shifted = (bits & u32(0x7fffu)) << 13,
               rebias = u32(112u << 23), normal = shifted + rebias, not_finite = normal + rebias,
               leading = u32(smallest_normal);
    // Subnormal: the fraction behind a leading 1 of weight 2^-14, less 2^-14, is fraction * 2^-24.
    auto const subnormal =
        Bits::as_bits(Bits::as_number(shifted | leading) - Bits::as_number(leading));
    auto const finite = detail::choose(detail::below(shifted, u32(1u << 23)), subnormal, normal);
    return Bits::as_number(
        sign | detail::choose(detail::below(shifted, u32(31u << 23)), finite, not_finite));
  }

  /// The bits of numbers.
  template <class Bits>
  POSENC_ALWAYS_INLINE static constexpr auto encode(typename Bits::number number) noexcept {
    using u32 = typename Bits::bits;
    auto const all = Bits::as_bits(number), sign = (all >> 16) & u32(0x8000u),
               magnitude = all & u32(0x7fff'ffffu), shifted = magnitude >> 13,
               quiet_nan = u32(0x7e00u) | (shifted & u32(0x3ffu)), one_half = u32(0x3f00'0000u);
    // Rounding may carry into the exponent.
    auto const normal = (magnitude - u32(112u << 23) + u32(0xfffu) + (shifted & u32(1u))) >> 13;
    // Subnormal: adding 1/2 rounds to a multiple of 2^-24, the smallest half.
    auto const subnormal =
        Bits::as_bits(Bits::as_number(magnitude) + Bits::as_number(one_half)) - one_half;
    auto const finite =
        detail::choose(detail::below(magnitude, u32(smallest_normal)), subnormal, normal);
    // Infinity from 2^16 on.
    auto const ordered =
        detail::choose(detail::below(magnitude, u32(0x4780'0000u)), finite, u32(0x7c00u));
    return sign | detail::choose(detail::below(u32(0x7f80'0000u), magnitude), quiet_nan, ordered);
  }

 private:
  static constexpr std::uint32_t smallest_normal = 0x3880'0000u;  // 2^-14, as the bits of a float
};

/// The upper half of a float: 1 sign bit, 8 exponent bits, 7 fraction bits; bit-compatible with
/// __bf16, CUDA's __nv_bfloat16 and ggml_bf16_t. Conversions are as half's.
struct bfloat16 : detail::float_of_16_bits<bfloat16> {
  using float_of_16_bits::float_of_16_bits;

  /// The numbers of bits.
  template <class Bits>
  POSENC_ALWAYS_INLINE static constexpr auto decode(typename Bits::bits bits) noexcept {
    return Bits::as_number(bits << 16);
  }
  /// The bits of numbers.
  template <class Bits>
  POSENC_ALWAYS_INLINE static constexpr auto encode(typename Bits::number number) noexcept {
    using u32 = typename Bits::bits;
    auto const all = Bits::as_bits(number);
    auto const is_nan = detail::below(u32(0x7f80'0000u), all & u32(0x7fff'ffffu));
    return detail::choose(is_nan, (all >> 16) | u32(0x40u), rounded<u32>(all) >> 16);
  }
  /// The rounded value, in the upper 16 bits; not for NaN.
  template <class U32>
  POSENC_ALWAYS_INLINE static constexpr U32 rounded(U32 const& all) noexcept {
    return all + U32(0x7fffu) + ((all >> 16) & U32(1u));
  }
};

/// Base of a storage_format: the type has the bits of Format.
template <class Format>
struct stored_as {
  using type = Format;  ///< whose bits the type has
};

/// The format of T: float, double, half or bfloat16. Types that std::numeric_limits describes
/// (Eigen::half, std::float16_t ...) are recognised. Any other trivially copyable type of the same
/// size takes one line:
///
///     template <> struct posenc::storage_format<my_bf16> : posenc::stored_as<posenc::bfloat16> {};
template <class T>
struct storage_format {};
/// An element whose 16 bits have the format that the view names, of words of an engine:
///
///     heads_view<as<bfloat16>> const k(words, shape);           std::uint16_t* words
///     heads_view<as<half> const> const q(more_words, shape);    std::uint16_t const* more_words
template <class Format>
struct [[gnu::may_alias]] as {
  std::uint16_t bits;  ///< as the engine has them
};

namespace detail {

/// A type of two bytes that std::numeric_limits describes so.
template <class T, int digits, int max_exponent>
concept two_bytes_with = sizeof(T) == 2 && (std::numeric_limits<T>::digits == digits) &&
                         (std::numeric_limits<T>::max_exponent == max_exponent);

}  // namespace detail

// clang-format off

template <> struct storage_format<float> : stored_as<float> {};
template <> struct storage_format<double> : stored_as<double> {};
template <> struct storage_format<half> : stored_as<half> {};
template <> struct storage_format<bfloat16> : stored_as<bfloat16> {};
template <> struct storage_format<as<half>> : stored_as<half> {};
template <> struct storage_format<as<bfloat16>> : stored_as<bfloat16> {};
template <detail::two_bytes_with<11, 16> T> struct storage_format<T> : stored_as<half> {};
template <detail::two_bytes_with<8, 128> T> struct storage_format<T> : stored_as<bfloat16> {};

/// float, double, half or bfloat16, of const types too.
template <class T>
using storage_format_t = typename storage_format<std::remove_cv_t<T>>::type;

/// T (const or not) can be an element of a heads_view.
template <class T>
concept storable = std::is_trivially_copyable_v<T> && requires { typename storage_format_t<T>; } &&
                   sizeof(T) == sizeof(storage_format_t<T>);
/// T can be an element of a heads_view that is written.
template <class T>
concept writable = storable<T> && !std::is_const_v<T>;

// clang-format on

/// The type of arithmetic on T: double for double, float for all others.
template <storable T>
using arithmetic_t = std::conditional_t<std::same_as<storage_format_t<T>, double>, double, float>;

/// The number that `element` stores, exactly.
template <storable T>
constexpr arithmetic_t<T> load(T const& element) noexcept {
  return static_cast<arithmetic_t<T>>(detail::bit_cast<storage_format_t<T>>(element));
}

/// Stores `number`, rounded once to nearest even.
template <storable T>
constexpr void store(T& element, arithmetic_t<T> number) noexcept {
  element = detail::bit_cast<T>(static_cast<storage_format_t<T>>(number));
}

}}  // namespace posenc
