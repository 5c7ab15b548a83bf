// The C API: checks of posenc1_cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "checked_heads.hpp"
#include "handles.hpp"
#include "posenc/core/heads_in_format.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/core/bit_cast.hpp"

namespace posenc_kernels {

/// The bytes of a head.
struct sizes_of_head {
  std::size_t codes, scales;
};
inline sizes_of_head sizes_of(heads_name what, posenc1_format format, std::size_t head_dim) {
  using namespace posenc;
  auto const bits = bits_of(format);
  require(bits < formats && bits != 1, what.function, ": ", what.heads,
          ": format must be one of the header, got ", bits);
  switch (bits) {
    case POSENC1_FORMAT_F32:
      return {4 * head_dim, 0};
    case POSENC1_FORMAT_F16:
    case POSENC1_FORMAT_BF16:
      return {2 * head_dim, 0};
    case POSENC1_FORMAT_U8_PER_HEAD:
      return {u8_per_head().bytes(head_dim), 0};
    case POSENC1_FORMAT_Q8_0:
    case POSENC1_FORMAT_Q8_0_AVX2:
      return {q8_0().bytes(head_dim), 0};
    case POSENC1_FORMAT_INT8_PER_HEAD:
    case POSENC1_FORMAT_INT8_PER_HEAD_TRUNCATED:
      return {int8_per_head().bytes(head_dim), int8_per_head().scale_bytes(head_dim)};
    case POSENC1_FORMAT_DEEPSEEK_V4:
    case POSENC1_FORMAT_DEEPSEEK_V4_CPU:
      return {deepseek_v4().bytes(head_dim), deepseek_v4().scale_bytes(head_dim)};
    default:
      return {head_dim, 0};
  }
}

/// A source or a target, checked: a view, or a cache.
struct checked_place {
  checked_heads codes, scales;
  bool is_cache, has_scales;
  std::size_t format, layout;
  float scale, inverse;

  stored_heads stored() const noexcept {
    auto const in_bytes = [this](checked_heads const& h) -> heads_in_bytes {
      bool const paged = is_cache || h.slots != nullptr;
      return {h.data,        h.batch.stride, h.token.stride,
              h.head.stride, h.slots,        paged ? std::max<std::size_t>(h.page_tokens, 1) : 0};
    };
    return {in_bytes(codes), has_scales ? in_bytes(scales) : heads_in_bytes{}, format, scale,
            inverse};
  }
  /// Calls each(heads) for what it has in memory.
  void for_each(auto const& each) const {
    each(codes);
    if (has_scales) each(scales);
  }
  bool is(checked_place const& other) const noexcept {
    return format == other.format && layout == other.layout && is_cache == other.is_cache &&
           same(codes, other.codes) && (!has_scales || same(scales, other.scales));
  }
  bool is_apart(checked_place const& other) const noexcept {
    bool result = true;
    for_each([&](auto const& a) {
      other.for_each([&](auto const& b) { result = result && apart(a, b); });
    });
    return result;
  }
};

inline checked_place place_of(heads_name what, posenc1_heads const& given, heads_shape const& shape,
                              bool written) {
  auto const heads = checked(what, given, shape, written);
  check_slots(what, heads, 0, shape.tokens);
  return {heads, {}, false, false, bits_of(given.type), bits_of(given.layout), 1, 1};
}

inline bool is_zero(double x) noexcept { return posenc::detail::bit_cast<std::uint64_t>(x) == 0; }

/// A factor as the arithmetic has it; 0 stands for another.
inline float factor(heads_name what, char const* name, double given, float otherwise, bool has) {
  auto const x = static_cast<float>(given);
  bool const is_given = !is_zero(given);
  require(!is_given || has, what.function, ": ", what.heads, ": ", name,
          " must be 0 for this format, got ", given);
  require(!is_given || (posenc::is_finite(static_cast<double>(x)) && x > 0 &&
                        posenc::is_finite(static_cast<double>(1 / x))),
          what.function, ": ", what.heads, ": ", name,
          " must be finite and positive as float, with a finite inverse, or 0, got ", given);
  return is_given ? x : otherwise;
}

inline checked_place place_of(heads_name what, posenc1_cache const& given, heads_shape const& shape,
                              bool written) {
  auto const sizes = sizes_of(what, given.format, shape.head_dim);
  auto const layout = bits_of(given.layout), format = bits_of(given.format);
  require(layout < layouts, what.function, ": ", what.heads,
          ": layout must be one of the header, got ", layout);
  std::size_t slots = 0;
  require(given.page_tokens > 0 && multiply(given.pages, given.page_tokens, slots), what.function,
          ": ", what.heads, ": pages must have tokens and fit into memory, got ", given.pages,
          " of ", given.page_tokens);
  require(given.slots != nullptr || shape.tokens <= slots, what.function, ": ", what.heads,
          ": pages must have room for all tokens where slots are not given, got ", slots, " for ",
          shape.tokens);
  bool const has_scales = sizes.scales != 0, behind = has_scales && given.scales == nullptr;
  require(has_scales || given.scales == nullptr, what.function, ": ", what.heads,
          ": scales must be null for a format that has them among its bytes");
  require(!behind ||
              (given.token_stride == 0 && given.head_stride == 0 && given.scales_page_stride == 0 &&
               given.scales_token_stride == 0 && given.scales_head_stride == 0),
          what.function, ": ", what.heads,
          ": scales must be given where strides within a page are");
  bool const of_tensor = format == POSENC1_FORMAT_INT8_STATIC || format == POSENC1_FORMAT_E4M3 ||
                         format == POSENC1_FORMAT_E4M3_TRUNCATED;
  auto const scale = factor(what, "scale", given.scale, 1, of_tensor);
  auto const inverse = factor(what, "inverse", given.inverse, 1 / scale,
                              of_tensor && format != POSENC1_FORMAT_INT8_STATIC);
  require(!of_tensor || format == POSENC1_FORMAT_INT8_STATIC || scale < 0x1p120, what.function,
          ": ", what.heads, ": scale must be below 2^120 for E4M3, got ", scale);

  posenc1_heads codes{};
  codes.data = given.data;
  codes.batch_stride = given.page_stride, codes.token_stride = given.token_stride;
  codes.head_stride = given.head_stride, codes.slots = given.slots;
  codes.pages = given.pages, codes.page_tokens = given.page_tokens;
  auto scales = codes;
  if (behind) {
    auto const of_page = [&](std::size_t bytes) {  // what does not fit is refused as such below
      return static_cast<std::uint64_t>(given.page_tokens) * shape.heads * bytes;
    };
    auto const of_codes = of_page(sizes.codes);
    if (codes.batch_stride == 0)
      codes.batch_stride = static_cast<std::ptrdiff_t>(of_codes + of_page(sizes.scales));
    scales.batch_stride = codes.batch_stride;
    scales.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(given.data) +
                                          static_cast<std::uintptr_t>(of_codes));
  } else {
    scales.data = given.scales, scales.batch_stride = given.scales_page_stride;
    scales.token_stride = given.scales_token_stride, scales.head_stride = given.scales_head_stride;
  }
  checked_place result{placed(what, codes, true, sizes.codes, shape, written),
                       {},
                       true,
                       has_scales,
                       format,
                       layout,
                       scale,
                       inverse};
  if (has_scales) {
    result.scales = placed(what, scales, true, sizes.scales, shape, written);
    require(apart(result.codes, result.scales), what.function, ": ", what.heads,
            ": scales must not overlap codes");
  }
  check_slots(what, result.codes, 0, shape.tokens);
  if (written && given.slots != nullptr)
    posenc::detail::require_each_slot_once({given.slots, shape.tokens}, what.function, ": ",
                                           what.heads);
  return result;
}

}  // namespace posenc_kernels
