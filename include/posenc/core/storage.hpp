// Storage types: float, double, half, bfloat16, and an engine's own 16-bit types.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "posenc/core/bfloat16.hpp"
#include "posenc/core/half.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Base of a storage_format: the type has the bits of Format.
template <class Format>
struct stored_as {
  using type = Format;  ///< whose bits the type has
};

/// The format of T: float, double, half or bfloat16. Types described by std::numeric_limits
/// (Eigen::half, Eigen::bfloat16, std::float16_t ...) are recognised. Any other trivially copyable
/// type of the same size takes one line:
///
///     template <> struct posenc::storage_format<my_bf16> : posenc::stored_as<posenc::bfloat16> {};
template <class T>
struct storage_format {};

template <>
struct storage_format<float> : stored_as<float> {};
template <>
struct storage_format<double> : stored_as<double> {};
template <>
struct storage_format<half> : stored_as<half> {};
template <>
struct storage_format<bfloat16> : stored_as<bfloat16> {};

/// A type of two bytes that std::numeric_limits describes so.
template <class T, int digits, int max_exponent>
concept two_bytes_with = sizeof(T) == 2 && (std::numeric_limits<T>::digits == digits) &&
                         (std::numeric_limits<T>::max_exponent == max_exponent);
template <two_bytes_with<11, 16> T>
struct storage_format<T> : stored_as<half> {};
template <two_bytes_with<8, 128> T>
struct storage_format<T> : stored_as<bfloat16> {};

/// An element whose 16 bits have the format that is named with the view: for engines that hold
/// every 16-bit format as std::uint16_t, where a storage_format could name only one.
///
///     heads_view<as<bfloat16>> const k(words, shape);           std::uint16_t* words
///     heads_view<as<half> const> const q(more_words, shape);    std::uint16_t const* more_words
template <class Format>
struct [[gnu::may_alias]] as {
  std::uint16_t bits;  ///< as the engine has them
};
template <>
struct storage_format<as<half>> : stored_as<half> {};
template <>
struct storage_format<as<bfloat16>> : stored_as<bfloat16> {};

/// float, double, half or bfloat16, of const types too.
template <class T>
using storage_format_t = typename storage_format<std::remove_cv_t<T>>::type;

// clang-format off

/// T (const or not) can be an element of a heads_view.
template <class T>
concept storable = std::is_trivially_copyable_v<T> && requires { typename storage_format_t<T>; } &&
                   sizeof(T) == sizeof(storage_format_t<T>);

// clang-format on

namespace detail {

template <class T>
inline constexpr bool is_as = false;
template <class Format>
inline constexpr bool is_as<as<Format>> = true;

/// What holds elements T = as<...>.
template <class T>
using words_of = std::conditional_t<std::is_const_v<T>, std::uint16_t const, std::uint16_t>;
template <class T>
T* elements_of(words_of<T>* words) noexcept {
  return reinterpret_cast<T*>(words);
}

}  // namespace detail

/// T can be an element of a heads_view that is written.
template <class T>
concept writable = storable<T> && !std::is_const_v<T>;

/// The type of arithmetic on T: double for double, float for all others.
template <storable T>
using arithmetic_t = std::conditional_t<std::same_as<storage_format_t<T>, double>, double, float>;

/// The number that `element` stores, exactly.
template <storable T>
constexpr arithmetic_t<T> load(T const& element) noexcept {
  return static_cast<arithmetic_t<T>>(std::bit_cast<storage_format_t<T>>(element));
}

/// Stores `number`, rounded once to nearest even.
template <storable T>
constexpr void store(T& element, arithmetic_t<T> number) noexcept {
  element = std::bit_cast<T>(static_cast<storage_format_t<T>>(number));
}

}  // namespace posenc
