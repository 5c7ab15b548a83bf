// Formats of heads: the functions that a format has.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>

#include "posenc/core/target.hpp"
#include "posenc/heads/storage.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// A format with all bytes of a head in one place. One of your own is used like the library's:
///
///     struct signs {                                        one bit per dim
///       std::size_t bytes(std::size_t head_dim) const;      of a head; throws if it has none such
///       void encode(std::span<float const> head, std::byte* to) const noexcept;
///       void decode(std::byte const* from, std::span<float> head) const noexcept;
///     };
template <class F>
concept inline_format = std::copyable<F> &&
    requires(F const& f, std::span<float const> head, std::byte* to, std::byte const* from,
             std::span<float> decoded) {
  { f.bytes(head.size()) } -> std::convertible_to<std::size_t>;
  f.encode(head, to);
  f.decode(from, decoded);
};

/// A format whose scales are elsewhere: it says also how many bytes they have, and takes both
/// addresses.
template <class F>
concept scaled_format = std::copyable<F> &&
    requires(F const& f, std::span<float const> head, std::byte* to, std::byte const* from,
             std::span<float> decoded) {
  { f.bytes(head.size()) } -> std::convertible_to<std::size_t>;
  { f.scale_bytes(head.size()) } -> std::convertible_to<std::size_t>;
  f.encode(head, to, to);
  f.decode(from, from, decoded);
};

/// inline_format or scaled_format.
template <class F>
concept cache_format = inline_format<F> || scaled_format<F>;

/// A format whose numbers need more of what is elsewhere than a factor: load(head, scales, i).
template <class F, class Lanes>
concept loads_with_scales = scaled_format<F> && requires(std::byte const* head, std::size_t i) {
  F::template load<Lanes>(head, head, i);
};

/// A format that attention reads in registers, without decoding heads to memory: it has also
///
///     template <class Lanes>
///     static typename Lanes::number load(std::byte const* head, std::size_t i);
///
/// Lanes::size dims from i on, made by Lanes::load(float const*); of one dim, too, for the last. If
/// these are to be multiplied by a factor, factor() of all heads, or factor(scales) of one whose
/// scales are elsewhere.
template <class F, class Lanes>
concept loads_registers = loads_with_scales<F, Lanes> ||
    (cache_format<F>&& requires(std::byte const* head, std::size_t i) {
      F::template load<Lanes>(head, i);
    });

/// How a format lays its codes of 8 bits out, if decoding may multiply them as integers
/// (decode/dot_products.hpp): it says so by `static constexpr auto codes_are = code_layout::...`
enum class code_layout {
  int8,          ///< codes alone, to be multiplied by a factor
  scaled_uint8,  ///< a float scale, a float zero point, then the codes
  groups_of_32   ///< of each 32 dims a scale, half, and codes of int8
};

namespace detail {

/// A byte of a head in a format. Nothing is computed with it.
struct [[gnu::may_alias]] head_byte {
  std::byte value;
};

/// A format that stores each dim as a number, and computes with it in float.
template <class F>
concept has_numbers = requires(typename F::number_type x) {
  { load(x) } -> std::same_as<float>;
};

/// A number at any address.
template <class Number>
POSENC_ALWAYS_INLINE inline Number number_at(std::byte const* from) noexcept {
  Number x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
template <class Number>
POSENC_ALWAYS_INLINE inline void put(std::byte* to, Number x) noexcept {
  std::memcpy(to, &x, sizeof x);
}

/// Heads to be encoded: where their numbers are, and where codes and scales go. Strides lead
/// from head to head, those of codes and scales in bytes.
struct heads_to_encode {
  float const* numbers;
  std::ptrdiff_t stride;
  std::size_t count, head_dim;
  std::byte* to;
  std::ptrdiff_t to_stride;
  std::byte* scales = nullptr;
  std::ptrdiff_t scales_stride = 0;

  heads_to_encode(std::span<float const> head, std::byte* codes, std::byte* scale = nullptr)
      : numbers(head.data()),
        stride(0),
        count(1),
        head_dim(head.size()),
        to(codes),
        to_stride(0),
        scales(scale) {}
  std::span<float const> head() const noexcept { return {numbers, head_dim}; }  ///< the first one
  /// Goes on to the next.
  void next() noexcept {
    numbers += stride, to += to_stride, --count;
    if (scales != nullptr) scales += scales_stride;
  }
};

/// Encodes heads, all in one call where the format has that.
template <cache_format F>
void encode(F const& format, heads_to_encode& heads) noexcept {
  if constexpr (requires { format.encode_some(heads); }) {
    format.encode_some(heads);
  } else {
    for (; heads.count != 0; heads.next()) {
      if constexpr (scaled_format<F>) {
        format.encode(heads.head(), heads.to, heads.scales);
      } else {
        format.encode(heads.head(), heads.to);
      }
    }
  }
}

}  // namespace detail
}}  // namespace posenc
