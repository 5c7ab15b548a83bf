// Heads in the pages of a cache of any format: where each is, in bytes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "posenc/cache/bytes_at.hpp"
#include "posenc/cache/format.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/paged_heads.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/checked.hpp"

namespace posenc::inline POSENC_TARGET {

/// Heads in the pages of a cache, as Format (or Format const, to read them) has them; token t is in
/// slot slots[t], as paged_heads has it. A sink of write_step, and a source of attention.
///
///     encoded_heads keys(q8_0{}, memory, {.pages = 9, .page_tokens = 16, .heads = 8, .head_dim =
///                        128}, slots);                        dense: [page][token][head][bytes]
///     encoded_heads keys(int8_per_head{}, bytes_at{memory, strides},
///                        bytes_at{scales, scale_strides}, shape, slots);
///
/// A dense page of a format with scales elsewhere has them behind its codes: DeepSeek V4's. A view:
/// memory and slots must outlive it. Throws std::invalid_argument where paged_heads would, and
/// where the format has no such head_dim, or scales overlap codes.
template <class Format>
requires cache_format<std::remove_const_t<Format>>
class encoded_heads {
  static constexpr bool reads = std::is_const_v<Format>;
  using byte = std::conditional_t<reads, detail::cached_byte const, detail::cached_byte>;
  using raw = std::conditional_t<reads, void const, void>;

 public:
  using element_type = std::conditional_t<reads, float const, float>;  ///< as they are decoded
  using format_type = std::remove_const_t<Format>;                     ///< not const
  static constexpr bool is_scaled = scaled_format<format_type>;        ///< scales are elsewhere

  /// Dense pages.
  template <class Slots>
  encoded_heads(format_type format, raw* data, pages_shape const& shape, Slots const& slots)
      : encoded_heads(format, shape, dense(format, data, shape), slots) {}
  /// With any strides, of a format with all bytes in one place.
  template <class Slots>
  encoded_heads(format_type format, bytes_at<raw> const& codes, pages_shape const& shape,
                Slots const& slots) requires(!is_scaled)
      : encoded_heads(format, shape, places{codes, codes}, slots) {}
  /// With any strides, of a format with scales elsewhere.
  template <class Slots>
  encoded_heads(format_type format, bytes_at<raw> const& codes, bytes_at<raw> const& scales,
                pages_shape const& shape, Slots const& slots) requires(is_scaled)
      : encoded_heads(format, shape, places{codes, scales}, slots) {
    detail::require(!detail::may_overlap(codes_, scales_),
                    "encoded_heads: scales must not overlap codes");
  }

  std::size_t tokens() const noexcept { return codes_.tokens(); }  ///< as many as slots
  std::size_t heads() const noexcept { return codes_.heads(); }    ///< of each token
  std::size_t head_dim() const noexcept { return head_dim_; }      ///< of each head
  static constexpr bool is_encoded = true;                         ///< how write_step knows it
  /// Whether a token has a slot that is not negative.
  bool has(std::size_t token) const noexcept { return slots_[token] >= 0; }

  /// Encodes a head; nothing where the token has no slot. Not checked: numbers has head_dim().
  void write(std::size_t token, std::size_t head, std::span<float const> numbers) const noexcept
      requires(!reads) {
    write_some(token, head, 1, numbers.data(), 0);
  }
  /// `count` heads from `head` on, each `stride` numbers behind the one before.
  void write_some(std::size_t token, std::size_t head, std::size_t count, float const* numbers,
                  std::ptrdiff_t stride) const noexcept requires(!reads) {
    auto* to = at(codes_, token, head);
    if (to == nullptr) return;
    auto* const scales = is_scaled ? at(scales_view(), token, head) : nullptr;
    detail::heads_to_encode heads({numbers, head_dim_}, to, scales);
    heads.stride = stride, heads.count = count, heads.to_stride = codes_.head_stride();
    heads.scales_stride = scales_view().head_stride();
    if constexpr (requires { format_.encode_some(heads); }) {
      format_.encode_some(heads);
    } else {
      for (; heads.count != 0; heads.next()) {
        if constexpr (is_scaled) {
          format_.encode(heads.head(), heads.to, heads.scales);
        } else {
          format_.encode(heads.head(), heads.to);
        }
      }
    }
  }
  /// Of numbers_of: the first number of a token's head, and the stride to the next head in numbers;
  /// null where the token has no slot, or numbers are not aligned.
  auto numbers(std::size_t token, std::size_t head) const noexcept
      requires(!reads && detail::has_numbers<format_type>) {
    using T = typename format_type::number_type;
    auto* const first = at(codes_, token, head);
    auto const stride = codes_.head_stride(), size = static_cast<std::ptrdiff_t>(sizeof(T));
    bool const aligned =
        reinterpret_cast<std::uintptr_t>(first) % alignof(T) == 0 && stride % size == 0;
    return std::pair{aligned ? reinterpret_cast<T*>(first) : nullptr, stride / size};
  }
  /// Decodes a head. Not checked: the token has a slot.
  void read(std::size_t token, std::size_t head, std::span<float> numbers) const noexcept {
    if constexpr (is_scaled) {
      format_.decode(at(codes_, token, head), at(scales_, token, head), numbers);
    } else {
      format_.decode(at(codes_, token, head), numbers);
    }
  }
  /// The bytes of head h of token t. Not checked: the token has a slot.
  std::byte const* codes(std::size_t t, std::size_t h) const noexcept { return at(codes_, t, h); }
  /// Its scales.
  std::byte const* scales(std::size_t t, std::size_t h) const noexcept {
    return at(scales_view(), t, h);
  }
  format_type const& format() const noexcept { return format_; }  ///< of all heads

  /// `count` tokens, from `first` on. Throws if they reach beyond this view.
  encoded_heads slice_tokens(std::size_t first, std::size_t count) const {
    auto slice = *this;
    slice.codes_ = codes_.slice_tokens(first, count), slice.slots_ = slots_.subspan(first, count);
    if constexpr (is_scaled) slice.scales_ = scales_.slice_tokens(first, count);
    return slice;
  }
  /// `count` heads of every token, from `first` on. Throws if they reach beyond this view.
  encoded_heads slice_heads(std::size_t first, std::size_t count) const {
    auto slice = *this;
    slice.codes_ = codes_.slice_heads(first, count);
    if constexpr (is_scaled) slice.scales_ = scales_.slice_heads(first, count);
    return slice;
  }

  /// Throws std::invalid_argument if a slot comes twice: it would be written twice, in the order of
  /// tasks. Quick where slots ascend, or are runs of neighbours, as pages have them.
  void require_each_slot_once() const { detail::require_each_slot_once(slots_, "encoded_heads"); }

  /// Whether these are the heads of a target, in the same places.
  bool are(encoded_heads<format_type> const& target) const noexcept {
    return tokens() == target.tokens() && heads() == target.heads() &&
           detail::same_heads(codes_, target.codes_) &&
           detail::same_heads(scales_view(), target.scales_view());
  }
  /// Whether is(bytes) holds of its codes, or of its scales that are elsewhere.
  bool any_of_bytes(auto const& is) const {
    if constexpr (is_scaled) {
      return is(codes_) || is(scales_);
    } else {
      return is(codes_);
    }
  }

 private:
  template <class Other>
  requires cache_format<std::remove_const_t<Other>>
  friend class encoded_heads;
  using pages = paged_heads<byte>;
  struct no_scales {};
  struct places {
    bytes_at<raw> codes, scales;
  };
  template <class Slots>
  encoded_heads(format_type const& format, pages_shape const& shape, places const& where,
                Slots const& slots)
      : format_(format),
        head_dim_(shape.head_dim),
        codes_(view(where.codes, shape, format.bytes(shape.head_dim), slots)),
        scales_(view_of_scales(where.scales, shape, format, slots)),
        slots_(slots) {}
  template <class Slots>
  static auto view_of_scales(bytes_at<raw> const& where, pages_shape const& shape,
                             format_type const& format, Slots const& slots) {
    if constexpr (is_scaled) {
      return view(where, shape, format.scale_bytes(shape.head_dim), slots);
    } else {
      return no_scales();
    }
  }
  // Codes themselves where no scales are elsewhere.
  pages const& scales_view() const noexcept {
    if constexpr (is_scaled) {
      return scales_;
    } else {
      return codes_;
    }
  }
  static places dense(format_type const& format, raw* data, pages_shape const& shape) {
    auto const stride = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
    auto const heads = shape.heads, tokens = shape.page_tokens,
               bytes = format.bytes(shape.head_dim);
    std::size_t scales = 0;
    if constexpr (is_scaled) scales = format.scale_bytes(shape.head_dim);
    auto const page = stride(tokens * heads * (bytes + scales));
    return {{data, {page, stride(heads * bytes), stride(bytes)}},
            {data == nullptr ? nullptr : static_cast<byte*>(data) + tokens * heads * bytes,
             {page, stride(heads * scales), stride(scales)}}};
  }
  template <class Slots>
  static pages view(bytes_at<raw> const& where, pages_shape const& shape, std::size_t bytes,
                    Slots const& slots) {
    return {static_cast<byte*>(where.data),
            {shape.pages, shape.page_tokens, shape.heads, bytes},
            where.strides,
            slots};
  }
  static auto* at(pages const& view, std::size_t token, std::size_t head) noexcept {
    auto* first = view.token(token);
    if (first != nullptr) first += static_cast<std::ptrdiff_t>(head) * view.head_stride();
    return reinterpret_cast<std::conditional_t<reads, std::byte const, std::byte>*>(first);
  }

  format_type format_;
  std::size_t head_dim_;
  pages codes_;
  // Not where there are none: a step copies views, which takes longer than to encode a head.
  [[no_unique_address]] std::conditional_t<is_scaled, pages, no_scales> scales_;
  std::span<std::int64_t const> slots_;
};

namespace detail {
/// encoded_heads.
template <class S>
concept encoded_source = requires {
  requires S::is_encoded;
};
}  // namespace detail

template <class Format, class Void, class Slots>
encoded_heads(Format, Void*, pages_shape, Slots const&)
    -> encoded_heads<std::conditional_t<std::is_const_v<Void>, Format const, Format>>;
template <class Format, class Void, class Slots>
encoded_heads(Format, bytes_at<Void>, pages_shape, Slots const&)
    -> encoded_heads<std::conditional_t<std::is_const_v<Void>, Format const, Format>>;
template <class Format, class Void, class Slots>
encoded_heads(Format, bytes_at<Void>, bytes_at<Void>, pages_shape, Slots const&)
    -> encoded_heads<std::conditional_t<std::is_const_v<Void>, Format const, Format>>;

}  // namespace posenc
