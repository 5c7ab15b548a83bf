// posenc1_heads, checked by posenc's own addresses.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "posenc/c/detail/formats.hpp"
#include "posenc/c/detail/handles.hpp"
#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/in_pages.hpp"
#include "posenc/heads/overlap.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

/// The bytes of a number.
constexpr std::size_t size_of(std::uint32_t format) noexcept {
  return format == POSENC1_F64 ? 8 : format == POSENC1_F32 ? 4 : 2;
}
/// Whether a format is one of numbers; what is no format is not.
constexpr bool is_of_numbers(std::uint32_t format) noexcept { return format - 1 < types; }

/// Whether the product fits; else product is its lowest bits. (This takes no builtin of GNU, and
/// mostly no division.)
template <std::unsigned_integral T>
constexpr bool multiply(T a, T b, T& product) noexcept {
  product = a * b;
  return (a | b) >> (std::numeric_limits<T>::digits / 2) == 0 || a == 0 || product / a == b;
}

inline bool is_zero(double x) noexcept { return bit_cast<std::uint64_t>(x) == 0; }

/// Throws unless an array begins at a multiple of its elements' size.
inline void require_aligned(char const* function, char const* name, void const* array,
                            std::size_t size) {
  auto const rest = reinterpret_cast<std::uintptr_t>(array) & (size - 1);
  require(rest == 0, function, ": ", name, " must begin at a multiple of the ", size,
          " bytes of an element, got a remainder of ", rest);
}

inline void require_dim(char const* function, char const* name, std::size_t dim) {
  require(dim > 0 && dim <= std::numeric_limits<std::uint32_t>::max(), function, ": ", name,
          " must be positive and below 2^32, got ", dim);
}

/// The shape of all heads of a call.
struct call_shape {
  std::size_t batches, tokens, heads, head_dim;
};

/// The name of heads in an error.
struct heads_name {
  char const *function, *heads, *index = "", *part = "";

  [[gnu::always_inline]] void require(bool holds, auto const&... parts) const {
    detail::require(holds, function, ": ", heads, index, part, ": ", parts...);
  }
};
/// Throws unless data begins, and strides are, at multiples of the size of what they are of.
inline void require_multiples(heads_name const& what, char const* element, std::size_t size,
                              void const* data, std::ptrdiff_t a, std::ptrdiff_t b,
                              std::ptrdiff_t c) {
  auto const rest = reinterpret_cast<std::uintptr_t>(data) & (size - 1);
  what.require(rest == 0, "data must begin at a multiple of the ", size, " bytes of ", element,
               ", got a remainder of ", rest);
  what.require((static_cast<std::uintptr_t>(a | b | c) & (size - 1)) == 0,
               "strides must be multiples of the ", size, " bytes of ", element, ", got ", a, ", ",
               b, " and ", c);
}
/// Calls check(); what it throws is said of these heads.
auto named(heads_name const& what, auto const& check) {
  try {
    return check();
  } catch (std::invalid_argument const& error) {
    std::string_view sentence(error.what());
    for (std::string_view const prefix : {"posenc: ", "heads_view: ", "rotary_block: "})
      if (sentence.starts_with(prefix)) sentence.remove_prefix(prefix.size());
    refuse(what.function, ": ", what.heads, what.index, what.part, ": ", sentence);
  }
}

/// Codes or scales, or numbers, of bytes each; strides of 0 become those of contiguous heads.
struct checked_places {
  places at;  ///< all strides are given
  pages_shape shape;
  std::size_t tokens;
  memory_range memory;  ///< gaps included; none: the heads are nowhere

  strided_memory strided() const noexcept {
    auto const data = reinterpret_cast<std::uintptr_t>(at.data);
    strided_memory all{{data, data + shape.head_dim}, {}};
    all.repeat(0, shape.heads, at.head, 1), all.repeat(1, shape.page_tokens, at.token, 1);
    all.repeat(2, shape.pages, at.page, 1);
    return all;
  }
  /// The same as views have it.
  template <class Byte = head_byte const>
  paged_address<Byte> address() const {
    auto* const data = reinterpret_cast<Byte*>(at.data);
    pages_strides const strides{at.page, at.token, at.head};
    if (at.slots == nullptr) return {data, shape, strides, slots_in_order{tokens}};
    return {data, shape, strides, std::span(at.slots, tokens)};
  }
  bool overlaps(checked_places const& other) const {
    return overlap(memory, other.memory) && share_a_byte(strided(), other.strided()) &&
           addresses_overlap(address(), other.address());
  }
  bool are(checked_places const& other) const {
    return overlap(memory, other.memory) && same_address(address(), other.address());
  }

  /// Throws unless the heads are within memory, slots within pages and, if they are written, no two
  /// heads overlap. Plain cases are decided here. A view decides the others, which takes as
  /// long as rotating two heads.
  void check(bool written) {
    auto const times = [](std::ptrdiff_t stride, std::size_t n) {
      return static_cast<std::ptrdiff_t>(static_cast<std::uint64_t>(stride) * n);
    };
    if (at.head == 0) at.head = static_cast<std::ptrdiff_t>(shape.head_dim);
    if (at.token == 0) at.token = times(at.head, shape.heads);
    if (at.page == 0) at.page = times(at.token, shape.page_tokens);
    auto const n = at.page_tokens;  // (has_single_bit is a call on the oldest CPUs)
    at.log2 = n != 0 && (n & (n - 1)) == 0 ? std::countr_zero(n) : -1;
    auto const data = reinterpret_cast<std::uintptr_t>(at.data);
    auto const all = strided();
    memory = all.all();
    auto const size = shape.pages * shape.page_tokens;
    bool right = data != 0 && size != 0 && shape.heads != 0 && (!written || all.is_nested()) &&
                 (at.slots != nullptr || tokens <= size);
    std::uint64_t reach = 0;
    for (auto const& [count, stride] : all.of_head)
      right = right && multiply<std::uint64_t>(count, stride, reach) && reach >> 54 == 0;
    for (std::size_t t = 0; right && at.slots != nullptr && t < tokens; ++t)
      right = at.slots[t] < 0 || static_cast<std::uint64_t>(at.slots[t]) < size;
    if (!right) memory = written ? address<head_byte>().memory() : address().memory();
    // No memory has 2^56 bytes, and none goes on from address 0 after the last.
    auto const [first, last] = memory;
    require(first == last || (first <= data && data < last &&
                              static_cast<std::uint64_t>(last - first) >> 56 == 0),
            "heads must fit into memory, got strides of ", at.page, ", ", at.token, " and ",
            at.head, " bytes");
  }
};

/// Heads that are read or written, checked. (Not cleared at first, which takes as long as two.)
struct checked_heads {
  std::uint32_t format;
  float scale, inverse;
  checked_places codes, scales;  ///< scales: of formats that have them elsewhere

  stored_heads stored() const noexcept { return {codes.at, scales.at, format, scale, inverse}; }
  bool overlaps(checked_heads const& other) const {
    return codes.overlaps(other.codes) || codes.overlaps(other.scales) ||
           scales.overlaps(other.codes) || scales.overlaps(other.scales);
  }
  bool overlaps(memory_range memory) const noexcept {
    return overlap(codes.memory, memory) || overlap(scales.memory, memory);
  }
  /// Whether they are the same heads, stored alike.
  bool are(checked_heads const& other) const {
    return format == other.format && codes.are(other.codes) &&
           (scales.at.data == nullptr || scales.are(other.scales));
  }
};

/// The bytes of a head of codes, and of its scales.
inline std::pair<std::size_t, std::size_t> sizes_of(heads_name const& what,
                                                    stored_heads const& heads,
                                                    std::size_t head_dim) {
  return named(what, [&] {
    return with_format(
        heads, [&]<class Format>(Format const& format) -> std::pair<std::size_t, std::size_t> {
          if constexpr (scaled_format<Format>)
            return {format.bytes(head_dim), format.scale_bytes(head_dim)};
          return {format.bytes(head_dim), 0};
        });
  });
}

/// A factor as the arithmetic has it; 0 stands for another, or, where that is 0, for none.
inline float factor(heads_name const& what, char const* name, double given, float otherwise,
                    bool has) {
  auto const x = static_cast<float>(given);
  bool const is_given = !is_zero(given), must = has && !(otherwise > 0);
  what.require(!is_given || has, name, " must be 0 for this format, got ", given);
  what.require((!is_given && !must) || (is_finite(double{x}) && x > 0 && is_finite(double{1 / x})),
               name, " must be finite and positive as float, with a finite inverse",
               must ? "" : ", or 0", ", got ", given);
  return is_given ? x : otherwise;
}

/// Numbers, at strides or in slots.
inline void check_numbers(heads_name const& what, posenc1_heads const& given,
                          call_shape const& shape, checked_heads& heads) {
  auto const size = size_of(heads.format);
  require_multiples(what, "an element", size, given.data, given.page_stride, given.token_stride,
                    given.head_stride);
  what.require(given.scales == nullptr && (given.scales_page_stride | given.scales_token_stride |
                                           given.scales_head_stride) == 0,
               "scales must be null for numbers");
  factor(what, "scale", given.scale, 1, false), factor(what, "inverse", given.inverse, 1, false);
  heads.scale = heads.inverse = 1;
  heads.codes.shape.head_dim = shape.head_dim * size;
}

/// Codes, and their scales, which may lie behind all codes of a page.
inline void check_codes(heads_name const& what, posenc1_heads const& given, call_shape const& shape,
                        bool written, checked_heads& heads) {
  auto const format = heads.format;
  auto const [has_scale, has_inverse] =
      with_format({{}, {}, format, 1, 1}, []<class Format>(Format const&) {
        return std::pair(
            requires(Format of) { of.scale; }, requires(Format of) { of.inverse; });
      });
  heads.scale = factor(what, "scale", given.scale, has_scale && !has_inverse ? 0 : 1, has_scale);
  heads.inverse = factor(what, "inverse", given.inverse, 1 / heads.scale, has_inverse);
  auto& codes = heads.codes;
  auto& scales = heads.scales;
  std::size_t bytes = 0, scale_bytes = 0;
  std::tie(bytes, scale_bytes) =
      sizes_of(what, {{}, {}, format, heads.scale, heads.inverse}, shape.head_dim);
  bool const has_scales = scale_bytes != 0, behind = has_scales && given.scales == nullptr;
  what.require(has_scales || given.scales == nullptr,
               "scales must be null for a format that has them among its bytes");
  what.require(!behind || given.slots != nullptr,
               "scales must be given for this format where there are no slots, got null");
  what.require(!behind || (given.token_stride | given.head_stride | given.scales_page_stride |
                           given.scales_token_stride | given.scales_head_stride) == 0,
               "scales must be given where strides within a page are");
  codes.shape.head_dim = bytes;
  if (!has_scales) return;
  scales.at = {
      static_cast<char*>(given.scales), given.scales_page_stride, given.scales_token_stride,
      given.scales_head_stride,         codes.at.slots,           codes.at.page_tokens};
  if (behind) {
    auto const of_page = [&](std::size_t of_head) {  // views refuse what does not fit
      return static_cast<std::uint64_t>(given.page_tokens) * shape.heads * of_head;
    };
    if (codes.at.page == 0)
      codes.at.page = static_cast<std::ptrdiff_t>(of_page(bytes) + of_page(scale_bytes));
    scales.at.page = codes.at.page;
    scales.at.data = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(given.data) +
                                             static_cast<std::uintptr_t>(of_page(bytes)));
  }
  named(what, [&] {
    scales.shape = codes.shape, scales.shape.head_dim = scale_bytes, scales.tokens = codes.tokens;
    scales.check(written);
  });
}

/// (Into heads that are there: to copy them takes as long as to check them.)
inline void check(heads_name const& what, posenc1_heads const& given, call_shape const& shape,
                  bool written, checked_heads& heads) {
  // As bits: to C++ an enum has no other value than its own, so that the check would go.
  heads.format = bits_of(given.format);
  what.require(heads.format - 1 < formats, "format must be one of the header, got ", heads.format);
  bool const paged = given.slots != nullptr;
  std::size_t slots = 0;
  what.require(paged || (given.pages | given.page_tokens) == 0,
               "slots must be given where pages are, got null for ", given.pages, " pages of ",
               given.page_tokens, " tokens");
  what.require(!paged || (given.page_tokens > 0 && multiply(given.pages, given.page_tokens, slots)),
               "pages must have tokens and fit into memory, got ", given.pages, " of ",
               given.page_tokens);
  heads.scales.at = {}, heads.scales.memory = {};
  heads.codes.at = {static_cast<char*>(given.data), given.page_stride, given.token_stride,
                    given.head_stride, given.slots};
  heads.codes.shape = {paged ? given.pages : shape.batches,
                       paged ? given.page_tokens : shape.tokens, shape.heads, 0};
  if (paged || shape.batches > 1) heads.codes.at.page_tokens = heads.codes.shape.page_tokens;
  heads.codes.tokens = shape.batches * shape.tokens;
  is_of_numbers(heads.format) ? check_numbers(what, given, shape, heads)
                              : check_codes(what, given, shape, written, heads);
  named(what, [&] {
    heads.codes.check(written);
    if (heads.scales.at.data != nullptr)
      detail::require(!heads.codes.overlaps(heads.scales), "scales must not overlap codes");
  });
}

}}}  // namespace c
