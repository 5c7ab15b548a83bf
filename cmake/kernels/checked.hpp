// The C API: posenc1_heads and posenc1_cache, checked by posenc's own addresses.
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

#include "formats.hpp"
#include "handles.hpp"
#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/in_pages.hpp"
#include "posenc/heads/overlap.hpp"

namespace posenc_kernels {

constexpr std::size_t size_of(posenc1_type type) noexcept {
  return type == POSENC1_F64 ? 8 : type == POSENC1_F32 ? 4 : 2;
}

/// Whether the product fits; else product is its lowest bits. (Without GNU's builtin, and mostly
/// without a division.)
template <std::unsigned_integral T>
constexpr bool multiply(T a, T b, T& product) noexcept {
  product = a * b;
  return (a | b) >> (std::numeric_limits<T>::digits / 2) == 0 || a == 0 || product / a == b;
}

inline bool is_zero(double x) noexcept { return posenc::detail::bit_cast<std::uint64_t>(x) == 0; }

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

/// The pairs of a rotation or a step.
std::size_t pairs_of(auto const& of, char const* function) {
  auto const pairs = of.pairs == 0 && of.maker != nullptr ? of.maker->rotated.pairs : of.pairs;
  require(pairs > 0 && (of.maker == nullptr || pairs == of.maker->rotated.pairs), function,
          ": pairs must be positive, and the maker's if it is given, got ", pairs);
  return pairs;
}
/// Where the rotary block of heads begins. names: what an error begins with.
std::size_t first_dim_of(auto const& heads, std::size_t pairs, auto const&... names) {
  require(pairs <= heads.head_dim / 2 && (heads.first_dim == POSENC1_LAST_DIMS ||
                                          heads.first_dim <= heads.head_dim - 2 * pairs),
          names..., ": the rotary block must lie within the head, got ", 2 * pairs,
          " dims from dim ", heads.first_dim, " of head_dim ", heads.head_dim);
  return heads.first_dim == POSENC1_LAST_DIMS ? heads.head_dim - 2 * pairs : heads.first_dim;
}

struct heads_shape {
  std::size_t batches, tokens, heads, head_dim;
  std::size_t first = 0, last = std::numeric_limits<std::size_t>::max();  ///< tokens of the call
};

/// What an error calls heads.
struct heads_name {
  char const *function, *heads, *part = "";

  [[gnu::always_inline]] void require(bool holds, auto const&... parts) const {
    posenc_kernels::require(holds, function, ": ", heads, part, ": ", parts...);
  }
};
/// Throws unless data begins, and strides are, at multiples of the size of what they are of.
inline void require_multiples(heads_name what, char const* element, std::size_t size,
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
auto named(heads_name what, auto const& check) {
  try {
    return check();
  } catch (std::invalid_argument const& error) {
    std::string_view sentence(error.what());
    for (std::string_view const prefix : {"posenc: ", "heads_view: "})
      if (sentence.starts_with(prefix)) sentence.remove_prefix(prefix.size());
    posenc::detail::refuse(what.function, ": ", what.heads, what.part, ": ", sentence);
  }
}

/// Codes or scales, or numbers, of bytes each; strides of 0 become those of contiguous heads.
struct checked_places {
  places at;  ///< all strides are given
  posenc::pages_shape shape;
  std::size_t tokens;
  posenc::memory_range memory;  ///< gaps included; none: the heads are nowhere

  posenc::detail::strided_memory strided() const noexcept {
    auto const data = reinterpret_cast<std::uintptr_t>(at.data);
    posenc::detail::strided_memory all{{data, data + shape.head_dim}, {}};
    all.repeat(0, shape.heads, at.head, 1), all.repeat(1, shape.page_tokens, at.token, 1);
    all.repeat(2, shape.pages, at.page, 1);
    return all;
  }
  /// The same as views have it.
  template <class Byte = posenc::detail::head_byte const>
  posenc::detail::paged_address<Byte> address() const {
    auto* const data = reinterpret_cast<Byte*>(at.data);
    posenc::pages_strides const strides{at.page, at.token, at.head};
    if (at.slots == nullptr) return {data, shape, strides, posenc::detail::slots_in_order{tokens}};
    return {data, shape, strides, std::span(at.slots, tokens)};
  }
  bool overlaps(checked_places const& other) const {
    return overlap(memory, other.memory) &&
           posenc::detail::share_a_byte(strided(), other.strided()) &&
           posenc::detail::addresses_overlap(address(), other.address());
  }
  bool are(checked_places const& other) const {
    return overlap(memory, other.memory) &&
           posenc::detail::same_address(address(), other.address());
  }

  /// Throws unless the heads are within memory, the slots of tokens of the call within pages and,
  /// if they are written, no two heads overlap. What is not plainly so a view decides, which takes
  /// as long as rotating two heads.
  void check(bool written, heads_shape const& of) {
    auto const times = [](std::ptrdiff_t stride, std::size_t n) {
      return static_cast<std::ptrdiff_t>(static_cast<std::uint64_t>(stride) * n);
    };
    if (at.head == 0) at.head = static_cast<std::ptrdiff_t>(shape.head_dim);
    if (at.token == 0) at.token = times(at.head, shape.heads);
    if (at.page == 0) at.page = times(at.token, shape.page_tokens);
    at.log2 = std::has_single_bit(at.page_tokens) ? std::countr_zero(at.page_tokens) : -1;
    auto const data = reinterpret_cast<std::uintptr_t>(at.data);
    auto const all = strided();
    memory = all.all();
    auto const size = shape.pages * shape.page_tokens;
    bool right = data != 0 && size != 0 && shape.heads != 0 && (!written || all.is_nested()) &&
                 (at.slots != nullptr || tokens <= size);
    std::uint64_t reach = 0;
    for (auto const& [count, stride] : all.of_head)
      right = right && multiply<std::uint64_t>(count, stride, reach) && reach >> 54 == 0;
    for (auto t = of.first; right && at.slots != nullptr && t < std::min(of.last, tokens); ++t)
      right = at.slots[t] < 0 || static_cast<std::uint64_t>(at.slots[t]) < size;
    if (!right)
      memory = written ? address<posenc::detail::head_byte>().memory() : address().memory();
    // No memory has 2^56 bytes, and none goes on from address 0 after the last.
    auto const [first, last] = memory;
    require(first == last || (first <= data && data < last &&
                              static_cast<std::uint64_t>(last - first) >> 56 == 0),
            "heads must fit into memory, got strides of ", at.page, ", ", at.token, " and ",
            at.head, " bytes");
  }
};

/// A source or a target, checked. (Not cleared at first, which takes as long as two heads.)
struct checked_heads {
  std::size_t format;
  float scale, inverse;
  std::uint32_t layout;
  checked_places codes, scales;  ///< scales: of formats that have them elsewhere

  stored_heads stored() const noexcept { return {codes.at, scales.at, format, scale, inverse}; }
  bool overlaps(checked_heads const& other) const {
    return codes.overlaps(other.codes) || codes.overlaps(other.scales) ||
           scales.overlaps(other.codes) || scales.overlaps(other.scales);
  }
  bool overlaps(posenc::memory_range memory) const noexcept {
    return overlap(codes.memory, memory) || overlap(scales.memory, memory);
  }
  /// Whether they are the same heads, stored alike.
  bool are(checked_heads const& other) const {
    return format == other.format && layout == other.layout && codes.are(other.codes) &&
           (scales.at.data == nullptr || scales.are(other.scales));
  }
};

inline checked_heads checked(heads_name what, posenc1_heads const& given, heads_shape const& shape,
                             bool written) {
  // As bits: to C++ an enum has no other value than its own, so that the check would go.
  auto const type = bits_of(given.type), layout = bits_of(given.layout);
  what.require(type < types && layout < layouts, "type and layout must be ones of the header, got ",
               type, " and ", layout);
  auto const size = size_of(given.type);
  require_multiples(what, "an element", size, given.data, given.batch_stride, given.token_stride,
                    given.head_stride);
  bool const paged = given.slots != nullptr;
  checked_heads heads;
  heads.format = type, heads.scale = heads.inverse = 1, heads.layout = layout;
  heads.scales.at = {};
  heads.codes.at = {static_cast<char*>(given.data), given.batch_stride, given.token_stride,
                    given.head_stride, given.slots};
  heads.codes.shape = {paged ? given.pages : shape.batches,
                       paged ? given.page_tokens : shape.tokens, shape.heads,
                       shape.head_dim * size};
  if (paged || shape.batches > 1) heads.codes.at.page_tokens = heads.codes.shape.page_tokens;
  heads.codes.tokens = shape.batches * shape.tokens;
  named(what, [&] { heads.codes.check(written, shape); });
  return heads;
}

/// The bytes of a head, and of its scales.
inline std::pair<std::size_t, std::size_t> sizes_of(heads_name what, stored_heads const& heads,
                                                    std::size_t head_dim) {
  what.require(heads.format < formats && heads.format != POSENC1_F64,
               "format must be one of the header, got ", heads.format);
  return named(what, [&] {
    return with_format(
        heads, [&]<class Format>(Format const& format) -> std::pair<std::size_t, std::size_t> {
          if constexpr (posenc::scaled_format<Format>)
            return {format.bytes(head_dim), format.scale_bytes(head_dim)};
          return {format.bytes(head_dim), 0};
        });
  });
}

/// A factor as the arithmetic has it; 0 stands for another.
inline float factor(heads_name what, char const* name, double given, float otherwise, bool has) {
  auto const x = static_cast<float>(given);
  bool const is_given = !is_zero(given);
  what.require(!is_given || has, name, " must be 0 for this format, got ", given);
  what.require(
      !is_given || (posenc::is_finite(double{x}) && x > 0 && posenc::is_finite(double{1 / x})),
      name, " must be finite and positive as float, with a finite inverse, or 0, got ", given);
  return is_given ? x : otherwise;
}

inline checked_heads checked(heads_name what, posenc1_cache const& given, heads_shape const& shape,
                             bool written) {
  auto const layout = bits_of(given.layout), format = bits_of(given.format);
  what.require(layout < layouts, "layout must be one of the header, got ", layout);
  std::size_t slots = 0;
  what.require(given.page_tokens > 0 && multiply(given.pages, given.page_tokens, slots),
               "pages must have tokens and fit into memory, got ", given.pages, " of ",
               given.page_tokens);
  bool const is_e4m3 = format == POSENC1_FORMAT_E4M3 || format == POSENC1_FORMAT_E4M3_TRUNCATED;
  auto const scale = factor(
      what, "scale", given.scale, 1,
      is_e4m3 || format == POSENC1_FORMAT_INT8_STATIC || format == POSENC1_FORMAT_INT4_STATIC);
  checked_heads heads;
  heads.format = format, heads.layout = layout, heads.scale = scale;
  heads.inverse = factor(what, "inverse", given.inverse, 1 / scale, is_e4m3);
  auto& codes = heads.codes.at;
  auto& scales = heads.scales.at;
  codes = {static_cast<char*>(given.data),
           given.page_stride,
           given.token_stride,
           given.head_stride,
           given.slots,
           given.page_tokens};
  std::size_t bytes = 0, scale_bytes = 0;
  std::tie(bytes, scale_bytes) =
      sizes_of(what, {{}, {}, format, scale, heads.inverse}, shape.head_dim);
  bool const has_scales = scale_bytes != 0, behind = has_scales && given.scales == nullptr;
  what.require(has_scales || given.scales == nullptr,
               "scales must be null for a format that has them among its bytes");
  what.require(!behind || (given.token_stride | given.head_stride | given.scales_page_stride |
                           given.scales_token_stride | given.scales_head_stride) == 0,
               "scales must be given where strides within a page are");
  scales = {};
  if (has_scales)
    scales = {static_cast<char*>(given.scales),
              given.scales_page_stride,
              given.scales_token_stride,
              given.scales_head_stride,
              given.slots,
              given.page_tokens};
  if (behind) {
    auto const of_page = [&](std::size_t of_head) {  // views refuse what does not fit
      return static_cast<std::uint64_t>(given.page_tokens) * shape.heads * of_head;
    };
    if (codes.page == 0)
      codes.page = static_cast<std::ptrdiff_t>(of_page(bytes) + of_page(scale_bytes));
    scales.page = codes.page;
    scales.data = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(given.data) +
                                          static_cast<std::uintptr_t>(of_page(bytes)));
  }
  named(what, [&] {
    heads.codes.shape = {given.pages, given.page_tokens, shape.heads, bytes};
    heads.codes.tokens = shape.tokens;
    heads.codes.check(written, shape);
    if (!has_scales) return;
    heads.scales.shape = heads.codes.shape, heads.scales.shape.head_dim = scale_bytes;
    heads.scales.tokens = shape.tokens;
    heads.scales.check(written, shape);
    require(!heads.codes.overlaps(heads.scales), "scales must not overlap codes");
  });
  return heads;
}

}  // namespace posenc_kernels
